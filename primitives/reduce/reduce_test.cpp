// reduce on a device: the conformance matrix (every tier, strategy, addressing, type and operator,
// at sizes where such kernels break), then what the header promises of values, and the faults that
// users of other libraries met.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/reduce.hpp"
#include "primitives/reduce/reduce_reference.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

// With those that not every device has, and the one that is for sums of integers in 32 bits alone.
constexpr ReduceStrategy kMatrixStrategies[] = {
    ReduceStrategy::one_workgroup, ReduceStrategy::last_workgroup, ReduceStrategy::two_pass,
    ReduceStrategy::arrival_sum};
// Tiny, so that a few thousand items cross many tiles, workgroups and dispatches.
// tiles_per_dispatch is in tiles: 0 is no bound.
struct TinyPolicy {
    std::uint32_t workgroup_size;
    std::uint32_t vectors;
    std::uint32_t max_groups;
    std::uint32_t tiles_per_dispatch;
};
constexpr TinyPolicy kPolicies[] = {
    {16, 1, 3, 0}, {32, 2, 5, 5}, {64, 1, 7, 14}, {128, 1, 4, 0}, {16, 4, 7, 7}, {64, 2, 3, 3},
};

std::uint32_t tile_items(const TinyPolicy& policy, Scalar element) {
    return policy.workgroup_size * policy.vectors * 16 / size_of(element);
}

ReducePolicy policy_of(const TinyPolicy& tiny, ReduceStrategy strategy, Scalar element) {
    return {.strategy = strategy,
            .workgroup_size = tiny.workgroup_size,
            .vectors = tiny.vectors,
            .max_groups = tiny.max_groups,
            .max_items_per_dispatch =
                std::uint64_t{tiny.tiles_per_dispatch} * tile_items(tiny, element)};
}

struct Row {
    Types types{};
    Operator op = Operator::sum;
    Tier tier = Tier::barrier;
    ReduceStrategy strategy = ReduceStrategy::two_pass;
    Addressing addressing = Addressing::descriptor;
    TinyPolicy policy{};

    ReduceDesc desc(std::uint64_t max_count) const {
        return {.element = types.element,
                .op = op,
                .accumulator = types.accumulator,
                .max_count = max_count,
                .tier = tier,
                .addressing = addressing,
                .policy = policy_of(policy, strategy, types.element)};
    }
    std::string name() const {
        return fmt::format("{}_of_{}_into_{}_{}_{}_{}_w{}x{}g{}d{}", to_text(op),
                           to_text(types.element), to_text(types.accumulator), to_text(tier),
                           to_text(strategy), to_text(addressing), policy.workgroup_size,
                           policy.vectors, policy.max_groups, policy.tiles_per_dispatch);
    }
};

// gtest prints parameters with this.
void PrintTo(const Row& row, std::ostream* out) { *out << row.name(); }

// Combinations that mean something and that the device can do.
bool possible(const Caps& caps, const Row& row) {
    if (!has_types(caps, row.types, row.op) || !lacking(caps, row.tier).empty()) return false;
    if (row.addressing == Addressing::device_address && !caps.device_addresses) return false;
    if (!has_workgroups(caps, row.tier, row.policy.workgroup_size)) return false;
    if (row.strategy == ReduceStrategy::last_workgroup && !caps.device_scope_barrier) return false;
    return row.strategy != ReduceStrategy::arrival_sum ||
           (row.op == Operator::sum && !is_float(row.types.element) &&
            size_of(row.types.accumulator) == 4 && caps.int64_atomics);
}

// The matrix as numbers: a row is one choice for each factor.
const std::vector<std::size_t> kSizes = {
    std::size(kTypes),   std::size(kOperators), 3, std::size(kMatrixStrategies), 2,
    std::size(kPolicies)};

Row row_of(const Choice& choice) {
    return {kTypes[choice[0]],
            kOperators[choice[1]],
            kTiers[choice[2]],
            kMatrixStrategies[choice[3]],
            choice[4] == 0 ? Addressing::descriptor : Addressing::device_address,
            kPolicies[choice[5]]};
}

// Sizes where tails, lanes, subgroups, tiles, workgroups and dispatches begin and end.
std::vector<std::uint64_t> sizes_of(const Row& row, const Caps& caps) {
    const std::uint64_t tile = tile_items(row.policy, row.types.element);
    const std::uint64_t group = row.policy.workgroup_size;
    const std::uint64_t subgroup = std::max(caps.subgroup.size, 4u);
    const std::uint64_t full =
        tile * row.policy.max_groups;  // one tile for each workgroup of a dispatch
    std::set<std::uint64_t> sizes{0,
                                  1,
                                  2,
                                  3,
                                  subgroup - 1,
                                  subgroup,
                                  subgroup + 1,
                                  group - 1,
                                  group,
                                  group + 1,
                                  tile - 1,
                                  tile,
                                  tile + 1,
                                  2 * tile + 1,
                                  full - 1,
                                  full,
                                  full + 1,
                                  full + tile / 2 + 3,
                                  2 * full + tile + 5};
    return {sizes.begin(), sizes.end()};
}

std::vector<Row> rows_here() {
    const Caps& caps = TestDevice::shared().caps();
    const auto can = [&](const Choice& choice) { return possible(caps, row_of(choice)); };
    std::vector<Row> rows;
    for (const Choice& choice :
         test_all() ? all_choices(kSizes, can) : pairwise_choices(kSizes, can))
        rows.push_back(row_of(choice));
    if (test_all()) return rows;
    // Rows differ in the kernels that they run, hardly in the host code; and nobody caches what
    // implementations of WebGPU compile.
    const std::size_t step = is_sanitized() ? 4 : TestDevice::shared().is_webgpu() ? 2 : 1;
    const bool lavapipe = caps.vendor_id == 0x10005;  // Mesa's Khronos number
    std::vector<Row> some;
    for (std::size_t i = lavapipe ? 0 : step - 1; i < rows.size(); i += step)
        some.push_back(rows[i]);
    return some;
}

class ReduceMatrix : public DeviceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(ReduceMatrix, AtEverySize) {
    const Row& row = GetParam();
    claim(row.tier);
    const std::vector<std::uint64_t> sizes = sizes_of(row, device().caps());
    const std::uint64_t max_count = sizes.back();
    ReduceRunner runner(device(), row.desc(max_count));
    ASSERT_TRUE(runner);
    EXPECT_EQ(runner.plan().addressing, row.addressing);
    if (row.strategy != ReduceStrategy::one_workgroup) {
        EXPECT_GT(share_out(runner.plan().share, max_count).groups, 1u)
            << "one workgroup is no test of many";
    }
    const std::uint64_t seed = hash(std::hash<std::string>()(row.name()));

    // Up with the count on the host, down with it in a buffer: one Executable, sizes both ways.
    for (std::size_t i = 0; i < sizes.size() * 2; ++i) {
        const bool in_buffer = i >= sizes.size();
        const std::uint64_t count = in_buffer ? sizes[sizes.size() * 2 - 1 - i] : sizes[i];
        SCOPED_TRACE(
            fmt::format("{} items, count {}", count, in_buffer ? "in a buffer" : "on the host"));
        FloatData floats = i % 2 == 0 ? FloatData::exact : FloatData::rounded;
        const bool picks = row.op == Operator::min || row.op == Operator::max || is_arg(row.op);
        if (picks && i % 2 == 1) floats = FloatData::special;
        const Elements data = make_elements(row.types.element, row.op, count, seed + i, floats);
        RunOptions options{.count_in_buffer = in_buffer, .timestamps = i % 4 == 0};
        // Above the maximum means the maximum, however far above.
        if (in_buffer && count == max_count) {
            options.count_value = row.addressing == Addressing::device_address
                                      ? (std::uint64_t{1} << 32) + 1
                                      : std::uint64_t{0xffffffff};
        }
        runner.expect_right(data.bytes(), options);
        if (HasFailure()) return;  // one size says it; the rest repeats it
    }
}

INSTANTIATE_TEST_SUITE_P(Reduce, ReduceMatrix, ::testing::ValuesIn(rows_here()),
                         [](const auto& row) { return row.param.name(); });

class ReduceTest : public TierTest {
protected:
    // Calls f with each tier and each strategy.
    template <class F>
    void for_each_tier_and_strategy(F&& f) {
        for_each_tier([&](Tier tier) {
            for (const ReduceStrategy strategy : strategies()) {
                SCOPED_TRACE(to_text(strategy));
                f(tier, strategy);
            }
        });
    }

    // The same for sums of u32, which one strategy more can do.
    template <class F>
    void for_each_tier_and_sum_strategy(F&& f) {
        for_each_tier_and_strategy(f);
        if (!device().caps().int64_atomics) return;
        for_each_tier([&](Tier tier) {
            SCOPED_TRACE(to_text(ReduceStrategy::arrival_sum));
            f(tier, ReduceStrategy::arrival_sum);
        });
    }

    static std::vector<ReduceStrategy> strategies() { return reduce_strategies(device().caps()); }

    // As small as every tier can be.
    static std::uint32_t tiny_workgroup() { return std::max(32u, lanes()); }
    static std::uint32_t tiny_tile() { return tiny_workgroup() * 4; }  // of u32
    static std::uint32_t lanes() { return std::max(device().caps().subgroup.size, 4u); }

    static ReducePolicy tiny(ReduceStrategy strategy = ReduceStrategy::two_pass) {
        return {.strategy = strategy,
                .workgroup_size = tiny_workgroup(),
                .vectors = 1,
                .max_groups = 5};
    }
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

template <class T>
T value_at(const std::vector<std::byte>& bytes, std::size_t index = 0) {
    T value{};
    if (bytes.size() >= (index + 1) * sizeof(T))
        std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
    return value;
}

// The rig must have the tiers that this device is here for.
TEST_F(ReduceTest, DeviceHasItsTiers) {
    const Caps& caps = device().caps();
    const std::string name = test_device_name();
    if (name.find("_barrier") != std::string::npos) {
        // Made without subgroups: the tier is chosen by itself, and says why.
        EXPECT_NE(lacking(caps, Tier::portable), "");
        const auto plan = plan_reduce(caps, {.max_count = 1000});
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(plan->tier, Tier::barrier);
        EXPECT_NE(plan->reason.find("no subgroup operations"), std::string::npos) << plan->reason;
    } else {
        EXPECT_EQ(lacking(caps, Tier::portable), "");
    }
    const bool full = name.starts_with("lavapipe") || caps.subgroup.full_subgroups;
    EXPECT_EQ(lacking(caps, Tier::pinned).empty(), full);
    if (caps.subgroup.size != 0 && !name.empty()) {
        const std::size_t digit = name.find_first_of("0123456789");
        EXPECT_EQ(std::to_string(caps.subgroup.size),
                  name.substr(digit, name.find_first_not_of("0123456789", digit) - digit))
            << "not the device that ctest means";
    } else {
        EXPECT_TRUE(device().is_webgpu() || name.empty())
            << "only WebGPU may not know the size that shaders get";
    }
    std::set<Tier> tiers;
    for (const Row& row : rows_here()) tiers.insert(row.tier);
    for (const Tier tier : kTiers) {
        EXPECT_EQ(tiers.contains(tier), lacking(caps, tier).empty()) << to_text(tier);
    }
}

// A1: the empty input writes the identity, for every operator and type.
TEST_F(ReduceTest, EmptyInputWritesTheIdentity) {
    for_each_tier([&](Tier tier) {
        for (const Types& types : kTypes) {
            for (const Operator op : kOperators) {
                // One policy for all: pipelines are what takes time here, so strategies take turns.
                const auto turn =
                    static_cast<std::size_t>(types.element) + static_cast<std::size_t>(op);
                Row row{types,
                        op,
                        tier,
                        strategies()[turn % strategies().size()],
                        Addressing::descriptor,
                        kPolicies[3]};
                if (!possible(device().caps(), row)) continue;
                // The matrix has a count of 0 for every type with every operator.
                if (!test_all() && turn % 12 != static_cast<std::size_t>(tier)) continue;
                ReduceDesc desc = row.desc(0);
                desc.policy->max_groups = 1;
                SCOPED_TRACE(row.name());
                ReduceRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                runner.expect_right({});
                runner.expect_right({}, {.count_in_buffer = true});
                // Clamped to max_count, which is 0.
                runner.expect_right({}, {.count_in_buffer = true, .count_value = 12345});
            }
        }
    });
}

// B1: a type's own extreme values, and infinities, are values like others: the identity of a padded
// tail must not win against them.
TEST_F(ReduceTest, ExtremeValuesAreNoIdentities) {
    const ReducePolicy policy = tiny();
    const std::size_t tile = 32 * 4;
    for_each_tier([&](Tier tier) {
        const auto check = [&](Scalar element, Operator op, std::uint64_t bits) {
            for (const std::size_t count :
                 {std::size_t{1}, std::size_t{10}, tile, tile + 1, 5 * tile + 3}) {
                SCOPED_TRACE(fmt::format("{} of {} times {:x} ({})", to_text(op), count, bits,
                                         to_text(element)));
                ReduceRunner runner(device(), {.element = element,
                                               .op = op,
                                               .max_count = 1000,
                                               .tier = tier,
                                               .policy = policy});
                ASSERT_TRUE(runner);
                Elements data(element, count);
                data.fill(bits);
                runner.expect_right(data.bytes());
            }
        };
        for (const Operator op :
             {Operator::min, Operator::argmin, Operator::max, Operator::argmax}) {
            check(Scalar::f32, op, infinity_bits(Scalar::f32, false));
            check(Scalar::f32, op, infinity_bits(Scalar::f32, true));
            check(Scalar::u32, op, 0xffffffff);
            check(Scalar::u32, op, 0);
            check(Scalar::i32, op, 0x80000000);
            check(Scalar::i32, op, 0x7fffffff);
            if (!device().caps().types.float64) continue;
            check(Scalar::f64, op, infinity_bits(Scalar::f64, false));
            check(Scalar::f64, op, infinity_bits(Scalar::f64, true));
        }
    });
}

// The answers that B1 gives in so many words, not by way of the reference.
TEST_F(ReduceTest, InfinitiesOnly) {
    for_each_tier([&](Tier tier) {
        const auto result = [&](Operator op, float value) {
            ReduceRunner runner(device(), {.element = Scalar::f32,
                                           .op = op,
                                           .max_count = 1000,
                                           .tier = tier,
                                           .policy = tiny()});
            return runner.run(bytes_of(std::vector<float>(10, value)));
        };
        const float infinity = std::numeric_limits<float>::infinity();
        EXPECT_EQ(value_at<float>(result(Operator::min, infinity)), infinity);
        EXPECT_EQ(value_at<float>(result(Operator::argmin, infinity)), infinity);
        EXPECT_EQ(value_at<std::uint32_t>(result(Operator::argmin, infinity), 1), 0u);
        EXPECT_EQ(value_at<float>(result(Operator::max, -infinity)), -infinity);
        EXPECT_EQ(value_at<std::uint32_t>(result(Operator::argmax, -infinity), 1), 0u);
    });
}

// B13: NaN is ignored wherever it stands: in lane 0, in lane S - 1, alone in a subgroup,
// everywhere.
TEST_F(ReduceTest, NanIsIgnoredUnlessAllAreNan) {
    const std::size_t count = 32 * 4 * 3 + 5;
    const std::size_t s = lanes();
    for_each_tier([&](Tier tier) {
        for (const Operator op :
             {Operator::min, Operator::max, Operator::argmin, Operator::argmax}) {
            ReduceRunner runner(device(), {.element = Scalar::f32,
                                           .op = op,
                                           .max_count = count,
                                           .tier = tier,
                                           .policy = tiny()});
            ASSERT_TRUE(runner);
            const auto check = [&](const char* where, auto is_nan) {
                SCOPED_TRACE(fmt::format("{}: NaN {}", to_text(op), where));
                std::vector<std::uint32_t> bits(count);
                for (std::size_t i = 0; i < count; ++i) {
                    const float value =
                        static_cast<float>(static_cast<int>(hash(3, i) % 2000) - 1000);
                    // With sign and payload: every NaN is one.
                    bits[i] = is_nan(i) ? (i % 2 == 0 ? 0x7fc00000 : 0xff800000) |
                                              static_cast<std::uint32_t>(1 + i)
                                        : std::bit_cast<std::uint32_t>(value);
                }
                runner.expect_right(bytes_of(bits));
            };
            // Items are handed to invocations four at a time (16-byte loads), and loads go round
            // robin; covering a lane means covering all that it may be given.
            check("nowhere", [](std::size_t) { return false; });
            check("at index 0", [](std::size_t i) { return i == 0; });
            check("in lane 0", [&](std::size_t i) { return i / 4 % s == 0; });
            check("in lane S - 1", [&](std::size_t i) { return i / 4 % s == s - 1; });
            check("in a whole subgroup", [&](std::size_t i) { return i < 4 * s; });
            check("in every second item", [](std::size_t i) { return i % 2 == 1; });
            check("in the tail", [&](std::size_t i) { return i >= count - 5; });
            check("everywhere but in one item", [&](std::size_t i) { return i != 200; });
            check("everywhere but in the last item", [&](std::size_t i) { return i != count - 1; });
            check("everywhere", [](std::size_t) { return true; });
        }
    });
}

TEST_F(ReduceTest, OneValueThatIsNoNan) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    for_each_tier([&](Tier tier) {
        ReduceRunner least(device(), {.element = Scalar::f32,
                                      .op = Operator::argmin,
                                      .max_count = 1000,
                                      .tier = tier,
                                      .policy = tiny()});
        ASSERT_TRUE(least);
        const auto result = least.run(bytes_of(std::vector<float>{nan, 1, 2}));
        EXPECT_EQ(value_at<float>(result), 1.0f);
        EXPECT_EQ(value_at<std::uint32_t>(result, 1), 1u);
        const auto all = least.run(bytes_of(std::vector<float>{nan, -nan, nan}));
        EXPECT_EQ(value_at<std::uint32_t>(all), 0x7fc00000u);
        EXPECT_EQ(value_at<std::uint32_t>(all, 1), 0u);
        const auto zeros = least.run(bytes_of(std::vector<float>{0.0f, -0.0f, 0.0f}));
        EXPECT_EQ(value_at<std::uint32_t>(zeros), 0x80000000u) << "-0 is below +0";
        EXPECT_EQ(value_at<std::uint32_t>(zeros, 1), 1u);
    });
}

// NaN and infinities go through sums and products as IEEE arithmetic has it.
TEST_F(ReduceTest, SumsAndProductsKeepWhatIsNotFinite) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const std::size_t count = 400;
    for_each_tier([&](Tier tier) {
        for (const Operator op : {Operator::sum, Operator::product}) {
            ReduceRunner runner(device(), {.element = Scalar::f32,
                                           .op = op,
                                           .max_count = count,
                                           .tier = tier,
                                           .policy = tiny()});
            ASSERT_TRUE(runner);
            const auto check = [&](std::initializer_list<std::pair<std::size_t, float>> odd) {
                std::vector<float> values(count, op == Operator::sum ? 0.5f : -1.0f);
                for (const auto& [index, value] : odd) values[index] = value;
                runner.expect_right(bytes_of(values));
            };
            check({{399, nan}});
            check({{0, nan}, {100, infinity}});
            check({{130, infinity}});
            check({{131, -infinity}});
            check({{7, infinity}, {300, -infinity}});
            check({{5, 0.0f}, {200, -infinity}});
            check({{5, 0.0f}});
        }
    });
}

// Ties go to the lowest index: also when the equal elements lie in different lanes, subgroups,
// tiles, workgroups and dispatches.
TEST_F(ReduceTest, TiesGoToTheLowestIndex) {
    const std::uint32_t count = 32 * 4 * 5 * 3 + 17;
    for_each_tier_and_strategy([&](Tier tier, ReduceStrategy strategy) {
        ReducePolicy policy = tiny(strategy);
        policy.max_items_per_dispatch = 5 * 32 * 4;
        for (const auto& [element, op] :
             {std::pair{Scalar::u32, Operator::argmin}, std::pair{Scalar::u32, Operator::argmax},
              std::pair{Scalar::u64, Operator::argmin}}) {
            SCOPED_TRACE(fmt::format("{} of {}", to_text(op), to_text(element)));
            ReduceRunner runner(
                device(),
                {.element = element, .op = op, .max_count = count, .tier = tier, .policy = policy});
            ASSERT_TRUE(runner);
            const bool wide = element == Scalar::u64;
            const auto expect = [&](const Elements& data, std::uint64_t value,
                                    std::uint64_t index) {
                const auto result = runner.run(data.bytes());
                EXPECT_EQ(wide ? value_at<std::uint64_t>(result) : value_at<std::uint32_t>(result),
                          value);
                EXPECT_EQ(
                    wide ? value_at<std::uint64_t>(result, 1) : value_at<std::uint32_t>(result, 1),
                    index);
            };
            for (const std::uint32_t first :
                 {0u, 1u, 3u, 4u, lanes() * 4, 127u, 128u, 640u, 641u, count - 2}) {
                Elements values(element, count);
                values.fill(5);
                const std::uint64_t extreme = op == Operator::argmin ? 4 : 6;
                for (std::uint32_t i = first; i < count; i += 1 + (i * 7) % 50)
                    values.set(i, extreme);
                values.set(count - 1, extreme);
                expect(values, extreme, first);
            }
            Elements all_equal(element, count);
            all_equal.fill(9);
            expect(all_equal, 9, 0);
        }
    });
}

// B12: one input, one bit pattern, however often it runs.
TEST_F(ReduceTest, FloatSumsAreTheSameOnEveryRun) {
    for_each_tier([&](Tier tier) {
        const bool many = !device().is_simulated() && (tier == Tier::portable || test_all());
        const std::size_t count = many ? 250000 : 60001;
        const std::vector<std::byte> data = bytes_of(std::vector<float>(count, 0.1f));
        const ReduceDesc desc{.element = Scalar::f32, .max_count = count, .tier = tier};
        const auto plan = plan_reduce(device().caps(), desc);
        ASSERT_TRUE(plan);
        expect_kernels_of_tier(*plan);
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable);
        const PlainUse memory = make_plain_use(device(), *plan);
        ASSERT_TRUE(memory.input->write(0, data));
        const auto use = (*executable)->bind(memory.buffers(*plan), count);
        ASSERT_TRUE(use) << use.error().message;
        std::set<std::uint32_t> patterns;
        std::vector<std::byte> result(4);
        const int runs = device().is_simulated() ? 10 : 200;
        for (int run = 0; run < runs; ++run) {
            ASSERT_TRUE((*use)->run());
            count_dispatch(tier);
            ASSERT_TRUE(memory.output->read(0, result));
            patterns.insert(value_at<std::uint32_t>(result));
        }
        EXPECT_EQ(patterns.size(), 1u);
        std::string why;
        EXPECT_TRUE(reduce_matches(desc, data, result, &why, reduce_depth(*plan, count))) << why;
    });
}

// The same with what varies most: hashed data, many workgroups, every strategy.
TEST_F(ReduceTest, RoundedFloatSumsRepeatWithinEveryStrategy) {
    const std::size_t count = 5000;
    const Elements data = make_elements(Scalar::f32, Operator::sum, count, 77, FloatData::rounded);
    for_each_tier_and_strategy([&](Tier tier, ReduceStrategy strategy) {
        ReduceRunner runner(
            device(),
            {.element = Scalar::f32, .max_count = count, .tier = tier, .policy = tiny(strategy)});
        ASSERT_TRUE(runner);
        std::set<std::vector<std::byte>> results;
        for (int run = 0; run < 20; ++run) {
            results.insert(
                runner.run(data.bytes(), {.count_in_buffer = run % 2 == 1, .timestamps = false}));
        }
        EXPECT_EQ(results.size(), 1u);
        runner.expect_matches(data.bytes(), *results.begin());
    });
}

// With full subgroups and one policy the tree is the same in both subgroup tiers: so are the bits.
TEST_F(ReduceTest, FloatSumsAreTheSameInPinnedAndPortable) {
    if (!lacking(device().caps(), Tier::pinned).empty())
        GTEST_SKIP() << "no tier pinned on this device";
    claim(Tier::pinned);
    claim(Tier::portable);
    std::vector<Scalar> elements{Scalar::f32, Scalar::f16};
    if (device().caps().types.float64) elements.push_back(Scalar::f64);
    for (const Scalar element : elements) {
        for (const ReduceStrategy strategy : strategies()) {
            for (const std::size_t count : {std::size_t{1000}, std::size_t{4999}}) {
                SCOPED_TRACE(fmt::format("{} {} {}", to_text(element), to_text(strategy), count));
                const Elements data =
                    make_elements(element, Operator::sum, count, 5, FloatData::rounded);
                std::vector<std::vector<std::byte>> results;
                for (const Tier tier : {Tier::pinned, Tier::portable}) {
                    ReducePolicy policy = tiny(strategy);
                    policy.workgroup_size = std::max(64u, lanes());  // a multiple of every size
                    ReduceRunner runner(
                        device(),
                        {.element = element, .max_count = 5000, .tier = tier, .policy = policy});
                    ASSERT_TRUE(runner);
                    results.push_back(runner.run(data.bytes()));
                    runner.expect_matches(data.bytes(), results.back());
                }
                EXPECT_EQ(results[0], results[1]);
            }
        }
    }
}

// Integers: one answer, whatever the tier, strategy, addressing and policy.
TEST_F(ReduceTest, IntegersAreTheSameEverywhere) {
    const std::size_t count = 4321;
    const Elements data = make_elements(Scalar::i16, Operator::product, count, 99);
    std::set<std::vector<std::byte>> results;
    std::size_t runs = 0;
    for_each_tier_and_strategy([&](Tier tier, ReduceStrategy strategy) {
        ReducePolicy policy = tiny(strategy);
        policy.workgroup_size = tiny_workgroup() << (runs++ % 2);
        ReduceRunner runner(device(), {.element = Scalar::i16,
                                       .op = Operator::product,
                                       .accumulator = Scalar::i64,
                                       .max_count = count,
                                       .tier = tier,
                                       .policy = policy});
        ASSERT_TRUE(runner);
        results.insert(runner.run(data.bytes()));
    });
    EXPECT_EQ(results.size(), 1u);
    const std::size_t tiers = subgroup_tier() == Tier::barrier ? 1 : 2;
    EXPECT_GE(runs, tiers * strategies().size());
}

// unordered allows any order, not any answer.
TEST_F(ReduceTest, UnorderedSumsAreRight) {
    for_each_tier([&](Tier tier) {
        for (const Operator op : {Operator::sum, Operator::product}) {
            ReduceRunner runner(device(), {.element = Scalar::f32,
                                           .op = op,
                                           .max_count = 5000,
                                           .determinism = Determinism::unordered,
                                           .tier = tier,
                                           .policy = tiny(strategies()[1])});
            ASSERT_TRUE(runner);
            for (const std::size_t count :
                 {std::size_t{0}, std::size_t{1}, std::size_t{129}, std::size_t{5000}}) {
                for (const FloatData floats : {FloatData::exact, FloatData::rounded}) {
                    runner.expect_right(
                        make_elements(Scalar::f32, op, count, count, floats).bytes());
                }
            }
        }
    });
}

// A3, E7: one item more than the workgroups of a dispatch can take, with the limit lowered.
TEST_F(ReduceTest, MoreTilesThanADispatchTakes) {
    Caps caps = device().caps();
    caps.limits.max_groups_x = 7;
    for_each_tier_and_sum_strategy([&](Tier tier, ReduceStrategy strategy) {
        const std::size_t tile = tiny_tile();
        for (const std::uint64_t budget : {std::uint64_t{0}, std::uint64_t{7 * tile}}) {
            const ReducePolicy policy{.strategy = strategy,
                                      .workgroup_size = tiny_workgroup(),
                                      .vectors = 1,
                                      .max_groups = 1024,
                                      .max_items_per_dispatch = budget};
            const std::size_t max_count = 5 * 7 * tile + 1;
            ReduceRunner runner(device(), {.max_count = max_count, .tier = tier, .policy = policy},
                                caps);
            ASSERT_TRUE(runner);
            EXPECT_LE(runner.plan().share.max_groups, 7u);
            for (const std::size_t count :
                 {7 * tile - 1, 7 * tile, 7 * tile + 1, 14 * tile + 1, max_count}) {
                SCOPED_TRACE(fmt::format("{} items, budget {}", count, budget));
                const std::vector<std::byte> ones = bytes_of(std::vector<std::uint32_t>(count, 1));
                EXPECT_EQ(value_at<std::uint32_t>(runner.run(ones)), count);
                EXPECT_EQ(value_at<std::uint32_t>(runner.run(ones, {.count_in_buffer = true})),
                          count);
            }
        }
    });
}

// A3 at the limit that all APIs share: 65535 workgroups, on the host and from a buffer.
TEST_F(ReduceTest, OneMoreThan65535Tiles) {
    if (device().is_simulated()) GTEST_SKIP() << "a lowered limit shows it: the test before";
    Caps caps = device().caps();
    caps.limits.max_groups_x = 65535;
    const std::uint32_t workgroup_size = std::max(16u, lanes());
    const std::size_t tile = workgroup_size * 16;  // u8
    const std::size_t count = 65535 * tile + 1;
    std::vector<std::byte> ones(count, std::byte{1});
    ones.back() = std::byte{3};
    for (const Tier tier : kTiers) {
        // One tier of the three in the default run: it takes a second or more.
        if (!lacking(device().caps(), tier).empty() || (!test_all() && tier != subgroup_tier()))
            continue;
        SCOPED_TRACE(to_text(tier));
        claim(tier);
        const ReduceDesc desc{.element = Scalar::u8,
                              .max_count = count,
                              .tier = tier,
                              .policy = ReducePolicy{.workgroup_size = workgroup_size,
                                                     .vectors = 1,
                                                     .max_groups = 1u << 20,
                                                     .max_items_per_dispatch = 65535 * tile}};
        ReduceRunner runner(device(), desc, caps);
        ASSERT_TRUE(runner);
        EXPECT_EQ(share_out(runner.plan().share, count).dispatches, 2u);
        EXPECT_EQ(value_at<std::uint32_t>(runner.run(ones)), count + 2);
        EXPECT_EQ(value_at<std::uint32_t>(runner.run(ones, {.count_in_buffer = true})), count + 2);
    }
}

// A9: an input larger than a binding can be goes by address, whole.
TEST_F(ReduceTest, InputsAboveTheLargestBinding) {
    Caps caps = device().caps();
    caps.limits.max_storage_range = 1u << 20;
    const std::size_t count = (1u << 18) + 1;
    const auto plan = plan_reduce(caps, {.max_count = count});
    if (!caps.device_addresses) {
        ASSERT_FALSE(plan);
        EXPECT_EQ(plan.error().code, ErrorCode::limit_exceeded);
        return;
    }
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->addressing, Addressing::device_address);
    claim(subgroup_tier());
    ReduceRunner runner(device(), {.max_count = count, .tier = subgroup_tier()}, caps);
    ASSERT_TRUE(runner);
    runner.expect_right(make_elements(Scalar::u32, Operator::sum, count, 30).bytes());
}

// A5: lesser limits than the device has lead to a plan that runs.
TEST_F(ReduceTest, FakeLimits) {
    const std::size_t count = 20000;
    const Elements data = make_elements(Scalar::u32, Operator::sum, count, 4);
    for_each_tier([&](Tier tier) {
        for (const auto& [invocations, memory] : {std::pair{128u, 16384u}, std::pair{768u, 16384u},
                                                  std::pair{1024u, 2048u}, std::pair{32u, 1024u}}) {
            if (tier == Tier::pinned && invocations < lanes()) continue;
            SCOPED_TRACE(fmt::format("{} invocations, {} bytes", invocations, memory));
            Caps caps = device().caps();
            caps.limits.max_workgroup_invocations =
                std::min(caps.limits.max_workgroup_invocations, invocations);
            caps.limits.max_workgroup_size_x =
                std::min(caps.limits.max_workgroup_size_x, invocations);
            caps.limits.max_workgroup_memory = memory;
            ReduceRunner runner(device(), {.max_count = count, .tier = tier}, caps);
            ASSERT_TRUE(runner);
            for (const Pass& pass : runner.plan().passes) {
                EXPECT_LE(pass.workgroup_size, invocations);
                EXPECT_LE(pass.workgroup_memory, memory);
            }
            runner.expect_right(data.bytes());
        }
    });
}

// C1, C2: as many subgroups as a workgroup can have (64 partials of 4 lanes), and one alone.
TEST_F(ReduceTest, ManySubgroupsAndOne) {
    const std::uint32_t most = device().caps().limits.max_workgroup_invocations;
    for_each_tier_and_sum_strategy([&](Tier tier, ReduceStrategy strategy) {
        for (const std::uint32_t workgroup_size : {lanes(), lanes() * 2, 256u, most}) {
            if (workgroup_size > most) continue;
            if (tier == Tier::pinned &&
                workgroup_size / lanes() > device().caps().subgroup.max_workgroup_subgroups) {
                continue;
            }
            SCOPED_TRACE(fmt::format("W {}", workgroup_size));
            const ReducePolicy policy{.strategy = strategy,
                                      .workgroup_size = workgroup_size,
                                      .vectors = 1,
                                      .max_groups = 3};
            const std::size_t count = workgroup_size * 4 * 4 + 7;
            ReduceRunner runner(device(), {.max_count = count, .tier = tier, .policy = policy});
            ASSERT_TRUE(runner);
            runner.expect_right(make_elements(Scalar::u32, Operator::sum, count, 1).bytes());
            runner.expect_right(
                make_elements(Scalar::u32, Operator::sum, workgroup_size, 2).bytes());
        }
    });
}

// C8: a workgroup smaller than a subgroup has a partial one.
TEST_F(ReduceTest, WorkgroupsSmallerThanASubgroup) {
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        if (!lacking(device().caps(), tier).empty()) continue;
        claim(tier);
        for (const std::uint32_t workgroup_size : {4u, 8u}) {
            for (const ReduceStrategy strategy : strategies()) {
                for (const Operator op : {Operator::sum, Operator::argmin}) {
                    SCOPED_TRACE(fmt::format("{} W {} {} {}", to_text(tier), workgroup_size,
                                             to_text(strategy), to_text(op)));
                    const ReducePolicy policy{.strategy = strategy,
                                              .workgroup_size = workgroup_size,
                                              .vectors = 1,
                                              .max_groups = 3};
                    ReduceRunner runner(
                        device(), {.op = op, .max_count = 500, .tier = tier, .policy = policy});
                    ASSERT_TRUE(runner);
                    for (const std::size_t count : {1u, 3u, 15u, 16u, 17u, 31u, 33u, 27u, 499u}) {
                        runner.expect_right(make_elements(Scalar::u32, op, count, count).bytes());
                    }
                }
            }
        }
    }
}

TEST_F(ReduceTest, TwentySevenItems) {
    std::vector<std::uint32_t> values(27);
    for (std::uint32_t i = 0; i < 27; ++i) values[i] = i + 1;
    for_each_tier_and_sum_strategy([&](Tier tier, ReduceStrategy strategy) {
        ReduceRunner runner(device(), {.max_count = 27, .tier = tier, .policy = tiny(strategy)});
        ASSERT_TRUE(runner);
        EXPECT_EQ(value_at<std::uint32_t>(runner.run(bytes_of(values))), 378u);
    });
}

// Partials that fill scratch to its last byte: whoever looks at one more is out of bounds.
TEST_F(ReduceTest, PartialsFillScratch) {
    for_each_tier_and_strategy([&](Tier tier, ReduceStrategy strategy) {
        if (strategy == ReduceStrategy::one_workgroup) return;
        ReducePolicy policy = tiny(strategy);
        const std::uint32_t w = std::max(64u, lanes());
        // One to each lane, more, lanes without any, and more than a lane loads at once.
        for (const auto& [workgroup_size, groups] :
             {std::pair{w, 64u}, std::pair{w, 2 * w}, std::pair{128u, 64u}, std::pair{8u, 64u}}) {
            if (!has_workgroups(device().caps(), tier, workgroup_size)) continue;
            policy.workgroup_size = workgroup_size;
            policy.max_groups = groups;
            const std::size_t count = std::size_t{groups} * workgroup_size * 4;
            ReduceRunner runner(device(), {.max_count = count, .tier = tier, .policy = policy});
            ASSERT_TRUE(runner);
            EXPECT_EQ(runner.plan().argument(Role::scratch)->bytes, 256u + groups * 4u)
                << "it has room to spare";
            runner.expect_right(make_elements(Scalar::u32, Operator::sum, count, 41).bytes());
        }
    });
}

// The same with the arguments of indirect dispatches: 14 of them and the parameters take 256 bytes.
TEST_F(ReduceTest, IndirectArgumentsFillScratch) {
    if (!device().caps().int64_atomics) GTEST_SKIP() << "only arrival_sum has no partials";
    for_each_tier([&](Tier tier) {
        ReducePolicy policy = tiny(ReduceStrategy::arrival_sum);
        policy.max_items_per_dispatch = tiny_tile();
        const std::size_t count = std::size_t{14} * tiny_tile();
        ReduceRunner runner(device(), {.max_count = count, .tier = tier, .policy = policy});
        ASSERT_TRUE(runner);
        EXPECT_EQ(runner.plan().argument(Role::scratch)->bytes, 256u) << "it has room to spare";
        runner.expect_right(make_elements(Scalar::u32, Operator::sum, count, 42).bytes(),
                            {.count_in_buffer = true});
    });
}

// D9: a workgroup with one live item, and all others idle.
TEST_F(ReduceTest, ATailOfOneItem) {
    for_each_tier_and_sum_strategy([&](Tier tier, ReduceStrategy strategy) {
        const std::size_t tile = tiny_tile();
        ReduceRunner runner(device(),
                            {.max_count = 20 * tile + 1, .tier = tier, .policy = tiny(strategy)});
        ASSERT_TRUE(runner);
        for (const std::size_t tiles : {1u, 2u, 5u, 6u, 11u, 20u}) {
            runner.expect_right(
                make_elements(Scalar::u32, Operator::sum, tiles * tile + 1, tiles).bytes());
        }
    });
}

// Counts in a buffer: 0, 1, the maximum, and values above it, which count as it.
TEST_F(ReduceTest, CountsInABuffer) {
    const std::uint64_t max_count = 3000;
    for_each_tier_and_sum_strategy([&](Tier tier, ReduceStrategy strategy) {
        for (const Addressing addressing : {Addressing::descriptor, Addressing::device_address}) {
            if (addressing == Addressing::device_address && !device().caps().device_addresses)
                continue;
            SCOPED_TRACE(to_text(addressing));
            ReducePolicy policy = tiny(strategy);
            policy.max_items_per_dispatch = 5 * tiny_tile();
            ReduceRunner runner(
                device(),
                {.max_count = max_count, .tier = tier, .addressing = addressing, .policy = policy});
            ASSERT_TRUE(runner);
            const Elements all = make_elements(Scalar::u32, Operator::sum, max_count, 8);
            std::vector<std::uint64_t> values{0,   1,    127,  128,  129,        640,
                                              641, 2999, 3000, 3001, 0x80000000, 0xffffffff};
            if (addressing == Addressing::device_address) {
                values.insert(values.end(), {std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 5,
                                             ~std::uint64_t{0}});
            }
            for (const std::uint64_t value : values) {
                SCOPED_TRACE(fmt::format("count {}", value));
                // The whole input is there; only `value` items of it are to be taken.
                const auto result = runner.run(
                    all.bytes(),
                    {.count_in_buffer = true, .count_value = value, .timestamps = false});
                const std::size_t used = static_cast<std::size_t>(std::min(value, max_count)) * 4;
                if (!result.empty())
                    runner.expect_matches(std::span(all.bytes()).first(used), result);
            }
        }
    });
}

// Indices of 64 bits, though the data are small: a plan for more than 2^32 items.
TEST_F(ReduceTest, PlansForMoreThan32BitsOfItems) {
    if (!device().caps().device_addresses) GTEST_SKIP() << "no device addresses on this device";
    for_each_tier([&](Tier tier) {
        for (const Scalar element : {Scalar::u8, Scalar::i32}) {
            const ReduceDesc desc{
                .element = element,
                .op = Operator::argmax,
                .max_count = (std::uint64_t{1} << 32) + 100,
                .tier = tier,
                .policy = ReducePolicy{
                    .workgroup_size = std::max(64u, lanes()), .vectors = 4, .max_groups = 64}};
            const auto plan = plan_reduce(device().caps(), desc);
            ASSERT_TRUE(plan) << plan.error().message;
            EXPECT_EQ(plan->addressing, Addressing::device_address);
            expect_kernels_of_tier(*plan);
            const auto executable = device().prepare(*plan);
            ASSERT_TRUE(executable) << executable.error().message;
            const std::size_t count = 3001;
            const Elements data = make_elements(element, Operator::argmax, count, 12);
            const auto make = [&](std::uint64_t bytes) {
                return *device().make_memory(std::max<std::size_t>(bytes, 16));
            };
            // Of the input, what this use needs.
            const std::size_t input_bytes = bytes_needed(*plan, Role::input, count);
            const auto input = make(input_bytes);
            const auto output = make(plan->argument(Role::output)->bytes);
            const auto scratch = make(plan->argument(Role::scratch)->bytes);
            ASSERT_TRUE(input->write(0, data.bytes()));
            const auto use =
                (*executable)
                    ->bind({.input = {input.get(), 0, input_bytes},
                            .output = {output.get(), 0, 16},
                            .scratch = {scratch.get(), 0, plan->argument(Role::scratch)->bytes}},
                           count);
            ASSERT_TRUE(use) << use.error().message;
            ASSERT_TRUE((*use)->run());
            count_dispatch(tier);
            std::vector<std::byte> result(16);
            ASSERT_TRUE(output->read(0, result));
            std::string why;
            EXPECT_TRUE(reduce_matches(desc, data.bytes(), result, &why)) << why;
        }
    });
}

// Wide sums past 2^32 and past 2^63: carries between the two words of an accumulator.
TEST_F(ReduceTest, SixtyFourBitCarries) {
    std::size_t turn = 0;
    for_each_tier([&](Tier tier) {
        const auto check = [&](Scalar element, Scalar accumulator, Operator op, auto value) {
            const std::size_t count = 1300;
            const ReduceStrategy strategy = strategies()[turn++ % strategies().size()];
            ReduceRunner runner(device(), {.element = element,
                                           .op = op,
                                           .accumulator = accumulator,
                                           .max_count = count,
                                           .tier = tier,
                                           .policy = tiny(strategy)});
            ASSERT_TRUE(runner);
            Elements data(element, count);
            for (std::size_t i = 0; i < count; ++i)
                data.set(i, static_cast<std::uint64_t>(value(i)));
            runner.expect_right(data.bytes());
        };
        check(Scalar::u32, Scalar::u64, Operator::sum, [](std::size_t) { return 0xffffffffu; });
        check(Scalar::i32, Scalar::i64, Operator::sum,
              [](std::size_t i) { return i % 3 == 0 ? 1 : -2147483647; });
        check(Scalar::u64, Scalar::u64, Operator::sum,
              [](std::size_t i) { return ~std::uint64_t{0} - i; });
        check(Scalar::u64, Scalar::u64, Operator::product,
              [](std::size_t i) { return hash(6, i) | 1; });
        check(Scalar::i64, Scalar::i64, Operator::min,
              [](std::size_t i) { return static_cast<std::int64_t>(hash(7, i)); });
        // Equal high words: only the low ones tell.
        check(Scalar::i64, Scalar::i64, Operator::max, [](std::size_t i) {
            return static_cast<std::int64_t>(0xfffffffe00000000u | (hash(8, i) & 0xffffffff));
        });
        check(Scalar::u64, Scalar::u64, Operator::argmin,
              [](std::size_t i) { return 0x7fffffff00000000u | (hash(9, i) & 0xff); });
    });
}

// D8: a thousand uses of one binding, each with another answer.
TEST_F(ReduceTest, AThousandRepeats) {
    if (!device().caps().device_scope_barrier && !device().caps().int64_atomics)
        GTEST_SKIP() << "no strategy of this device keeps anything from one use to the next";
    const std::size_t count = 32 * 4 * 11 + 3;
    for_each_tier_and_sum_strategy([&](Tier tier, ReduceStrategy strategy) {
        // Those that keep something from one use to the next: it must be left as it was found.
        if (strategy != ReduceStrategy::last_workgroup && strategy != ReduceStrategy::arrival_sum) {
            return;
        }
        const ReduceDesc desc{.max_count = count, .tier = tier, .policy = tiny(strategy)};
        const auto plan = plan_reduce(device().caps(), desc);
        ASSERT_TRUE(plan);
        ASSERT_GT(plan->state_bytes, 0u);
        expect_kernels_of_tier(*plan);
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable);
        const PlainUse memory = make_plain_use(device(), *plan);
        const auto use = (*executable)->bind(memory.buffers(*plan), count);
        ASSERT_TRUE(use) << use.error().message;
        std::vector<std::uint32_t> values(count);
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < count; ++i)
            sum += values[i] = static_cast<std::uint32_t>(hash(1, i));
        ASSERT_TRUE(memory.input->write(0, bytes_of(values)));
        const std::uint32_t runs = device().is_simulated() && !test_all() ? 100 : 1000;
        for (std::uint32_t run = 0; run < runs; ++run) {
            // One element of the input changes from run to run.
            const std::size_t changed = hash(2, run) % count;
            const auto value = static_cast<std::uint32_t>(hash(3, run));
            sum += value - values[changed];
            values[changed] = value;
            ASSERT_TRUE(
                memory.input->write(changed * 4, bytes_of(std::vector<std::uint32_t>{value})));
            ASSERT_TRUE((*use)->run({.replay = true}));
            count_dispatch(tier);
            std::vector<std::byte> result(4);
            ASSERT_TRUE(memory.output->read(0, result));
            ASSERT_EQ(value_at<std::uint32_t>(result), sum) << "run " << run;
        }
    });
}

TEST_F(ReduceTest, ReplaysWithTheCountInABuffer) {
    const std::uint32_t max_count = 2500;
    for_each_tier_and_sum_strategy([&](Tier tier, ReduceStrategy strategy) {
        ReducePolicy policy = tiny(strategy);
        policy.max_items_per_dispatch = 5 * tiny_tile();
        const ReduceDesc desc{.max_count = max_count, .tier = tier, .policy = policy};
        const auto plan = plan_reduce(device().caps(), desc);
        ASSERT_TRUE(plan);
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable);
        const PlainUse memory = make_plain_use(device(), *plan);
        const auto use = (*executable)->bind(memory.buffers(*plan), memory.count_range(*plan));
        ASSERT_TRUE(use) << use.error().message;
        for (const std::uint32_t count : {2500u, 0u, 1u, 641u, 2499u, 0u, 640u, 9999u, 128u}) {
            const Elements data = make_elements(Scalar::u32, Operator::sum, max_count, count);
            ASSERT_TRUE(memory.input->write(0, data.bytes()));
            ASSERT_TRUE(memory.count->write(0, bytes_of(std::vector<std::uint32_t>{count})));
            ASSERT_TRUE((*use)->run({.replay = true}));
            count_dispatch(tier);
            std::vector<std::byte> result(4);
            ASSERT_TRUE(memory.output->read(0, result));
            std::string why;
            const std::size_t used = std::min(count, max_count) * std::size_t{4};
            EXPECT_TRUE(reduce_matches(desc, std::span(data.bytes()).first(used), result, &why))
                << count << ": " << why;
        }
    });
}

// D6: ranges that begin anywhere: refused, or right; never silently wrong.
TEST_F(ReduceTest, OffsetsThatAreNotAligned) {
    const std::size_t count = 700;
    for_each_tier([&](Tier tier) {
        for (const Addressing addressing : {Addressing::descriptor, Addressing::device_address}) {
            if (addressing == Addressing::device_address && !device().caps().device_addresses)
                continue;
            const ReduceDesc desc{.max_count = count,
                                  .tier = tier,
                                  .addressing = addressing,
                                  .policy = tiny(ReduceStrategy::two_pass)};
            const auto plan = plan_reduce(device().caps(), desc);
            ASSERT_TRUE(plan);
            const auto executable = device().prepare(*plan);
            ASSERT_TRUE(executable);
            const Elements data = make_elements(Scalar::u32, Operator::sum, count, 3);
            for (const Role moved : {Role::input, Role::output, Role::scratch}) {
                for (const std::size_t offset : {1u, 2u, 4u, 8u, 16u, 64u, 252u, 256u}) {
                    SCOPED_TRACE(
                        fmt::format("{} {} at +{}", to_text(addressing), to_text(moved), offset));
                    const auto make = [&](Role role) {
                        const auto bytes = static_cast<std::size_t>(plan->argument(role)->bytes);
                        return GuardedBuffer(device(), bytes, role == moved ? offset : 0);
                    };
                    GuardedBuffer input = make(Role::input), output = make(Role::output),
                                  scratch = make(Role::scratch);
                    const auto scratch_bytes =
                        static_cast<std::size_t>(plan->argument(Role::scratch)->bytes);
                    input.reset(data.bytes());
                    output.reset_poisoned(4);
                    scratch.reset_poisoned(scratch_bytes);
                    const auto use = (*executable)
                                         ->bind({.input = input.range(input.capacity()),
                                                 .output = output.range(4),
                                                 .scratch = scratch.range(scratch_bytes)},
                                                count);
                    const std::uint32_t needed = plan->argument(moved)->alignment;
                    EXPECT_EQ(use.has_value(), offset % needed == 0) << "alignment is " << needed;
                    if (!use) {
                        EXPECT_EQ(use.error().code, ErrorCode::bad_argument);
                        EXPECT_NE(use.error().message.find(to_text(moved)), std::string::npos)
                            << use.error().message;
                        continue;
                    }
                    ASSERT_TRUE((*use)->run());
                    count_dispatch(tier);
                    std::string why;
                    EXPECT_TRUE(reduce_matches(desc, data.bytes(), output.read(4), &why)) << why;
                    output.expect_guards(4, "output");
                    scratch.expect_guards(scratch_bytes, "scratch");
                }
            }
        }
    });
}

// The data of users: all of a plan's own choosing, no policy given.
TEST_F(ReduceTest, DefaultPolicies) {
    for_each_tier([&](Tier tier) {
        for (const std::size_t count : {std::size_t{1000}, std::size_t{100003}}) {
            for (const Operator op : {Operator::sum, Operator::argmax}) {
                SCOPED_TRACE(fmt::format("{} of {}", to_text(op), count));
                ReduceRunner runner(device(), {.op = op, .max_count = count, .tier = tier});
                ASSERT_TRUE(runner);
                runner.expect_right(make_elements(Scalar::u32, op, count, 21).bytes());
                runner.expect_right(make_elements(Scalar::u32, op, count / 3, 22).bytes());
                runner.expect_right(make_elements(Scalar::u32, op, count - 1, 23).bytes(),
                                    {.count_in_buffer = true});
            }
        }
    });
}

TEST_F(ReduceTest, SecondaryCommandBuffers) {
    if (device().is_webgpu()) GTEST_SKIP() << "WebGPU has no such command buffers";
    for_each_tier_and_sum_strategy([&](Tier tier, ReduceStrategy strategy) {
        ReduceRunner runner(device(), {.max_count = 3000, .tier = tier, .policy = tiny(strategy)});
        ASSERT_TRUE(runner);
        const Elements data = make_elements(Scalar::u32, Operator::sum, 2901, 6);
        runner.expect_right(data.bytes(), {.secondary = true});
        runner.expect_right(data.bytes(), {.count_in_buffer = true, .secondary = true});
    });
}

// GPU-assisted validation sees accesses out of bounds that fall between the guards. Here always, in
// the other tests with LANEWISE_TEST_ALL.
class GpuAssisted : public DeviceTest {};

TEST_F(GpuAssisted, NoAccessIsOutOfBounds) {
    if (device().is_simulated()) GTEST_SKIP() << "the simulator sees them in every test";
    if (!device().is_vulkan()) GTEST_SKIP() << "Vulkan's validation";
    if (is_sanitized() && !test_all()) GTEST_SKIP() << "about kernels: the other build runs it";
    RigScope assisted(Rig::assisted());
    ASSERT_TRUE(assisted);
    std::size_t turn = 0;
    for (const Tier tier : kTiers) {
        if (!lacking(assisted->caps(), tier).empty()) continue;
        claim(tier);
        for (const ReduceStrategy strategy : reduce_strategies(assisted->caps())) {
            // Both addressings, each with every tier and every strategy in turn.
            const bool by_address = turn % 2 == 1 && assisted->caps().device_addresses;
            const Addressing addressing =
                by_address ? Addressing::device_address : Addressing::descriptor;
            const Types types = std::array{kTypes[10], kTypes[0], kTypes[14], kTypes[6]}[turn % 4];
            const Operator op = turn % 3 == 0 ? Operator::argmin : Operator::sum;
            ++turn;
            const Row row{types, op, tier, strategy, addressing, {32, 1, 5, 0}};
            SCOPED_TRACE(row.name());
            const std::vector<std::uint64_t> sizes = sizes_of(row, assisted->caps());
            ReduceRunner runner(*assisted, row.desc(sizes.back()));
            ASSERT_TRUE(runner);
            for (const std::uint64_t count : sizes) {
                const Elements data = make_elements(types.element, op, count, count);
                runner.expect_right(data.bytes(),
                                    {.count_in_buffer = count % 2 == 0, .timestamps = false});
            }
            fail_on_messages(assisted->take_messages());
        }
    }
}

}  // namespace
}  // namespace lanewise::test
