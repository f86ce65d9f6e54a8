// scan on a device: the conformance matrix (every tier, strategy, addressing, type, operator, kind
// and direction, at sizes where such kernels break), then what the header promises of values, of
// outputs in place and of tiles that never publish, and the faults that users of other libraries
// met. The passes are scan_sums, scan_tiles and scan_lookback.
#include "lanewise/scan.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "primitives/scan/scan_reference.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/scan_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

constexpr ScanStrategy kStrategies[] = {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan,
                                        ScanStrategy::look_back, ScanStrategy::reduce_ahead};
constexpr ScanKind kKinds[] = {ScanKind::inclusive, ScanKind::exclusive};
constexpr Direction kDirections[] = {Direction::forward, Direction::reverse};

bool looks_back(ScanStrategy strategy) {
    return strategy == ScanStrategy::look_back || strategy == ScanStrategy::reduce_ahead;
}

// argmin and argmax take no initial value; min and max one of the element's own type.
bool takes_initial(const Types& types, Operator op) {
    if (is_arg(op)) return false;
    return (op != Operator::min && op != Operator::max) || types.accumulator == types.element;
}

// Float sums and products in an order that is not the same on every run.
Determinism determinism_of(Scalar element, Operator op, ScanStrategy strategy) {
    const bool rounded = is_float(element) && (op == Operator::sum || op == Operator::product);
    return rounded && looks_back(strategy) ? Determinism::unordered : Determinism::run_to_run;
}

// Tiny, so that a few thousand items cross many tiles, and workgroups take several.
struct TinyPolicy {
    std::uint32_t workgroup_size;
    std::uint32_t vectors;
    std::uint32_t max_groups;
    std::uint32_t ahead;  // for reduce_ahead
    std::uint32_t patience;
};
constexpr TinyPolicy kPolicies[] = {
    {16, 1, 3, 1, 4},  {32, 2, 5, 2, 1},    {64, 1, 7, 5, 64},
    {128, 1, 4, 1, 2}, {16, 4, 6, 3, 4096}, {64, 2, 16, 4, 16},
};

std::uint32_t tile_items(const TinyPolicy& policy, Scalar element) {
    return policy.workgroup_size * policy.vectors * 16 / size_of(element);
}

ScanPolicy policy_of(const TinyPolicy& tiny, ScanStrategy strategy) {
    return {.strategy = strategy,
            .workgroup_size = tiny.workgroup_size,
            .vectors = tiny.vectors,
            .max_groups = tiny.max_groups,
            .ahead = strategy == ScanStrategy::reduce_ahead ? tiny.ahead : 0,
            .patience = tiny.patience};
}

struct Row {
    Types types{};
    Operator op = Operator::sum;
    Tier tier = Tier::barrier;
    ScanStrategy strategy = ScanStrategy::reduce_then_scan;
    Addressing addressing = Addressing::descriptor;
    ScanKind kind = ScanKind::inclusive;
    Direction direction = Direction::forward;
    bool initial = false;
    TinyPolicy policy{};

    ScanDesc desc(std::uint64_t max_count) const {
        ScanDesc made{.element = types.element,
                      .op = op,
                      .kind = kind,
                      .direction = direction,
                      .accumulator = types.accumulator,
                      .max_count = max_count,
                      .determinism = determinism_of(types.element, op, strategy),
                      .tier = tier,
                      .addressing = addressing,
                      .policy = policy_of(policy, strategy)};
        if (initial) made.initial = initial_bits(made, hash(static_cast<std::uint64_t>(op)));
        return made;
    }
    std::string name() const {
        return fmt::format("{}_of_{}_into_{}_{}_{}{}_{}_{}_{}_w{}x{}g{}a{}p{}", to_text(op),
                           to_text(types.element), to_text(types.accumulator), to_text(kind),
                           to_text(direction), initial ? "_from" : "", to_text(tier),
                           to_text(strategy), to_text(addressing), policy.workgroup_size,
                           policy.vectors, policy.max_groups, policy.ahead, policy.patience);
    }
};

// gtest prints parameters with this.
void PrintTo(const Row& row, std::ostream* out) { *out << row.name(); }

// Combinations that mean something and that the device can do.
bool possible(const Caps& caps, const Row& row) {
    if (!has_types(caps, row.types, row.op) || !lacking(caps, row.tier).empty()) return false;
    if (row.addressing == Addressing::device_address && !caps.device_addresses) return false;
    if (!has_workgroups(caps, row.tier, row.policy.workgroup_size)) return false;
    if (row.initial && !takes_initial(row.types, row.op)) return false;
    // Those that wait for nobody are for everything that the device can do at all.
    if (!looks_back(row.strategy)) return true;
    // Of the others the planner says whether the device can. Kind, direction and initial value make
    // no difference to that: what it says is kept.
    using Key = std::tuple<Scalar, Scalar, Operator, Tier, ScanStrategy, Addressing, std::uint32_t,
                           std::uint32_t>;
    static std::map<Key, bool> known;
    const Key key{row.types.element,
                  row.types.accumulator,
                  row.op,
                  row.tier,
                  row.strategy,
                  row.addressing,
                  row.policy.workgroup_size,
                  row.policy.vectors};
    const auto [found, is_new] = known.try_emplace(key, false);
    if (is_new) {
        const auto plan = plan_scan(caps, row.desc(5000));
        // Any other error is for the test to show.
        found->second = plan || plan.error().code != ErrorCode::unsupported;
    }
    return found->second;
}

// The matrix as numbers: a row is one choice for each factor.
const std::vector<std::size_t> kSizes = {std::size(kTypes),
                                         std::size(kOperators),
                                         std::size(kTiers),
                                         std::size(kStrategies),
                                         2,
                                         std::size(kKinds),
                                         std::size(kDirections),
                                         2,
                                         std::size(kPolicies)};

Row row_of(const Choice& choice) {
    return {kTypes[choice[0]],
            kOperators[choice[1]],
            kTiers[choice[2]],
            kStrategies[choice[3]],
            choice[4] == 0 ? Addressing::descriptor : Addressing::device_address,
            kKinds[choice[5]],
            kDirections[choice[6]],
            choice[7] == 1,
            kPolicies[choice[8]]};
}

// One row of how many is taken. A driver takes half a second to compile what a simulated device
// runs in a twentieth.
std::size_t share_of_rows() {
    // Nobody caches what implementations of WebGPU compile.
    if (test_all()) return TestDevice::shared().is_webgpu() ? 8 : 1;
    if (!TestDevice::shared().is_simulated()) return 6;
    // Rows differ in the kernels that they run, hardly in the host code.
    if (is_sanitized()) return 4;
    return has_small_subgroups() ? 3 : 1;
}

std::vector<Row> rows_here() {
    const Caps& caps = TestDevice::shared().caps();
    const auto can = [&](const Choice& choice) { return possible(caps, row_of(choice)); };
    std::vector<Row> rows;
    for (const Choice& choice :
         test_all() ? all_choices(kSizes, can) : pairwise_choices(kSizes, can))
        rows.push_back(row_of(choice));
    const std::size_t step = share_of_rows();
    std::vector<Row> some;
    for (std::size_t i = device_number() % step; i < rows.size(); i += step)
        some.push_back(rows[i]);
    return some;
}

// Sizes where tails, lanes, subgroups, tiles and workgroups begin and end.
std::vector<std::uint64_t> sizes_of(const Row& row, const Caps& caps) {
    const std::uint64_t tile = tile_items(row.policy, row.types.element);
    const std::uint64_t group = row.policy.workgroup_size;
    const std::uint64_t subgroup = std::max(caps.subgroup.size, 4u);
    const std::uint64_t full = tile * row.policy.max_groups;  // one tile for each workgroup
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

class ScanMatrix : public DeviceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(ScanMatrix, AtEverySize) {
    const Row& row = GetParam();
    claim(row.tier);
    const std::vector<std::uint64_t> sizes = sizes_of(row, device().caps());
    const std::uint64_t max_count = sizes.back();
    const ScanDesc desc = row.desc(max_count);
    ScanRunner runner(device(), desc);
    ASSERT_TRUE(runner);
    EXPECT_EQ(runner.plan().addressing, row.addressing);
    if (row.strategy != ScanStrategy::one_workgroup) {
        EXPECT_GT(share_out(runner.plan().share, max_count).groups, 1u)
            << "one workgroup is no test of many";
    }
    const std::uint64_t seed = hash(std::hash<std::string>()(row.name()));

    // Up with the count on the host, down with it in a buffer: one Executable, sizes both ways. A
    // size takes one of the two each time it comes up in another row; the ends take both.
    for (std::size_t i = 0; i < sizes.size() * 2; ++i) {
        const bool in_buffer = i >= sizes.size();
        const std::size_t at = in_buffer ? sizes.size() * 2 - 1 - i : i;
        const std::uint64_t count = sizes[at];
        const bool both = test_all() || at == 0 || count == max_count;
        if (!both && ((at + seed) % 2 == 0) != in_buffer) continue;
        SCOPED_TRACE(
            fmt::format("{} items, count {}", count, in_buffer ? "in a buffer" : "on the host"));
        FloatData floats = i % 4 < 2 ? FloatData::exact : FloatData::rounded;
        const bool picks = row.op == Operator::min || row.op == Operator::max || is_arg(row.op);
        if (picks && floats == FloatData::rounded) floats = FloatData::special;
        const Elements data = make_scan_elements(desc, count, seed + i, floats);
        RunOptions options{.count_in_buffer = in_buffer,
                           .timestamps = i % 4 == 0,
                           .in_place = runner.plan().in_place && i % 3 == 1};
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

INSTANTIATE_TEST_SUITE_P(Scan, ScanMatrix, ::testing::ValuesIn(rows_here()),
                         [](const auto& row) { return row.param.name(); });

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<T> values_of(const std::optional<std::vector<std::byte>>& bytes) {
    if (!bytes) return {};
    std::vector<T> values(bytes->size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes->data(), values.size() * sizeof(T));
    return values;
}

using U32 = std::vector<std::uint32_t>;

class ScanTest : public TierTest {
protected:
    // Calls f with each tier and each strategy that the device has for sums of u32 (it has all:
    // DeviceHasItsTiers).
    template <class F>
    void for_each_tier_and_strategy(F&& f) {
        for_each_tier([&](Tier tier) {
            for (const ScanStrategy strategy : possible_strategies(
                     device().caps(), {.max_count = 5000, .tier = tier, .policy = tiny()})) {
                SCOPED_TRACE(to_text(strategy));
                f(tier, strategy);
            }
        });
    }

    template <class F>
    void for_each_tier_and_look_back(F&& f) {
        for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
            if (looks_back(strategy)) f(tier, strategy);
        });
    }

    // Whether this device takes the i-th choice of a test in that tier: simulated devices take one
    // of `simulated`, drivers one of `drivers`, each another one. At least one in each tier where
    // there are as many choices.
    static bool takes(std::size_t i, Tier tier, std::size_t drivers, std::size_t simulated = 1) {
        if (test_all()) return true;
        const std::size_t of = !device().is_simulated() ? drivers
                               : has_small_subgroups()  ? std::min(drivers, 3 * simulated)
                                                        : simulated;
        return (i + static_cast<std::size_t>(tier) + device_number()) % of == 0;
    }

    // What tests have where it does not matter: the same in all of them, so that it is compiled
    // once. Kind and direction take turns.
    static ScanDesc standard(Tier tier, ScanStrategy strategy) {
        const auto form = static_cast<std::size_t>(tier) + static_cast<std::size_t>(strategy);
        return {.kind = kKinds[form % 2],
                .direction = kDirections[(form + form / 2) % 2],
                .max_count = 20 * tiny_tile() + 1,
                .tier = tier,
                .policy = tiny(strategy)};
    }

    // As small as every tier can be.
    static std::uint32_t tiny_workgroup() { return std::max(32u, lanes()); }
    static std::uint32_t tiny_tile() { return tiny_workgroup() * 4; }  // of u32
    static std::uint32_t lanes() { return std::max(device().caps().subgroup.size, 4u); }

    static ScanPolicy tiny(ScanStrategy strategy = ScanStrategy::reduce_then_scan) {
        return {.strategy = strategy,
                .workgroup_size = tiny_workgroup(),
                .vectors = 1,
                .max_groups = 5,
                .ahead = strategy == ScanStrategy::reduce_ahead ? 2u : 0u,
                .patience = 16};
    }

    // A strategy that can do `desc` in its tier, another one each time.
    ScanStrategy next_strategy(ScanDesc desc) {
        const auto can = [&](ScanStrategy strategy) {
            desc.policy = tiny(strategy);
            desc.determinism = determinism_of(desc.element, desc.op, strategy);
            return is_possible(device().caps(), desc);
        };
        for (std::size_t tried = 0; tried < std::size(kStrategies); ++tried) {
            const ScanStrategy strategy = kStrategies[turn_++ % std::size(kStrategies)];
            if (can(strategy)) return strategy;
        }
        ADD_FAILURE() << "no strategy for " << to_text(desc.op) << " of " << to_text(desc.element);
        return ScanStrategy::reduce_then_scan;
    }
    // With it, and the determinism that it can have.
    ScanDesc with_next_strategy(ScanDesc desc) {
        const ScanStrategy strategy = next_strategy(desc);
        desc.policy = tiny(strategy);
        desc.determinism = determinism_of(desc.element, desc.op, strategy);
        return desc;
    }

private:
    std::size_t turn_ = 0;
};

// The rig must have the tiers and strategies that this device is here for: what is never possible
// is never tested.
TEST_F(ScanTest, DeviceHasItsTiersAndStrategies) {
    const Caps& caps = device().caps();
    std::set<std::pair<Tier, ScanStrategy>> found;
    std::set<std::pair<Scalar, ScanStrategy>> types;
    for (const Row& row : rows_here()) {
        found.insert({row.tier, row.strategy});
        types.insert({row.types.element, row.strategy});
    }
    for (const Tier tier : kTiers) {
        for (const ScanStrategy strategy : kStrategies) {
            if (share_of_rows() == 1) {
                EXPECT_EQ(found.contains({tier, strategy}), lacking(caps, tier).empty())
                    << to_text(tier) << ' ' << to_text(strategy);
            }
            if (!lacking(caps, tier).empty()) continue;
            for (const auto addressing : {Addressing::descriptor, Addressing::device_address}) {
                if (addressing == Addressing::device_address && !caps.device_addresses) continue;
                const auto plan = plan_scan(caps, {.max_count = 100000,
                                                   .tier = tier,
                                                   .addressing = addressing,
                                                   .policy = tiny(strategy)});
                EXPECT_TRUE(plan) << to_text(tier) << ' ' << to_text(strategy) << ": "
                                  << plan.error().message;
            }
        }
    }
    for (const Scalar element :
         {Scalar::u8, Scalar::i16, Scalar::u32, Scalar::i32, Scalar::f16, Scalar::f32}) {
        for (const ScanStrategy strategy : kStrategies) {
            if (share_of_rows() > 1) continue;  // not every pair is among them
            EXPECT_TRUE(types.contains({element, strategy}))
                << to_text(element) << ' ' << to_text(strategy);
        }
    }
}

// C8, and the answers in so many words, not by way of the reference: 1, 2, ... 27.
TEST_F(ScanTest, TwentySevenItems) {
    U32 values(27);
    for (std::uint32_t i = 0; i < 27; ++i) values[i] = i + 1;
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        const ScanDesc desc = standard(tier, strategy);
        const bool inclusive = desc.kind == ScanKind::inclusive;
        const bool forward = desc.direction == Direction::forward;
        ScanRunner runner(device(), desc);
        const auto sums = values_of<std::uint32_t>(runner.run(bytes_of(values)));
        U32 expected;
        for (std::uint32_t i = 1; i <= 27; ++i) {
            const std::uint32_t before = i * (i - 1) / 2, through = i * (i + 1) / 2;
            expected.push_back(forward ? (inclusive ? through : before)
                                       : 378 - (inclusive ? before : through));
        }
        EXPECT_EQ(sums, expected);
    });
}

// A1: an empty input has no output, and writes nothing, on the host and from a buffer; then the
// next use is right.
TEST_F(ScanTest, EmptyInputWritesNothing) {
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        ScanDesc desc = standard(tier, strategy);
        ScanRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        runner.expect_right({});
        runner.expect_right({}, {.count_in_buffer = true});
        runner.expect_right(make_scan_elements(desc, 500, 3).bytes());
        if (!takes(static_cast<std::size_t>(strategy), tier, 4)) return;
        desc.max_count = 0;
        ScanRunner none(device(), desc);
        ASSERT_TRUE(none);
        none.expect_right({});
        none.expect_right({}, {.count_in_buffer = true});
        // Clamped to max_count, which is 0.
        none.expect_right({}, {.count_in_buffer = true, .count_value = 12345});
    });
}

// The first output of an exclusive scan is the identity, for every operator and type; B6: whatever
// the items are.
TEST_F(ScanTest, ExclusiveScansBeginWithTheIdentity) {
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const Types& types : kTypes) {
            for (const Operator op : kOperators) {
                if (!has_types(device().caps(), types, op)) continue;
                // The matrix has many of these, too.
                if (!takes(turn++, tier, 100, 5)) continue;
                const ScanDesc desc = with_next_strategy({.element = types.element,
                                                          .op = op,
                                                          .kind = ScanKind::exclusive,
                                                          .direction = kDirections[turn / 5 % 2],
                                                          .accumulator = types.accumulator,
                                                          .max_count = 300,
                                                          .tier = tier});
                SCOPED_TRACE(fmt::format("{} of {} into {}", to_text(op), to_text(types.element),
                                         to_text(types.accumulator)));
                ScanRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                for (const std::size_t count : {1u, 2u, 300u})
                    runner.expect_right(make_scan_elements(desc, count, count).bytes());
            }
        }
    });
}

// Initial values: in every accumulator width, at both ends of its range.
TEST_F(ScanTest, InitialValues) {
    const std::size_t count = tiny_tile() * 3 + 5;
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        const auto check = [&](Scalar element, Scalar accumulator, Operator op,
                               std::uint64_t initial, std::size_t form) {
            if (!takes(turn++, tier, 12)) return;
            const ScanDesc desc = with_next_strategy({.element = element,
                                                      .op = op,
                                                      .kind = kKinds[form % 2],
                                                      .direction = kDirections[form / 2],
                                                      .accumulator = accumulator,
                                                      .initial = initial,
                                                      .max_count = count,
                                                      .tier = tier});
            SCOPED_TRACE(fmt::format("{} of {} into {} from {:x}", to_text(op), to_text(element),
                                     to_text(accumulator), initial));
            ScanRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            runner.expect_right(make_scan_elements(desc, count, initial | 2).bytes());
            runner.expect_right(make_scan_elements(desc, 1, 1).bytes());
        };
        check(Scalar::u32, Scalar::u32, Operator::sum, 0xffffffff, 0);
        check(Scalar::u8, Scalar::u64, Operator::sum, 0xfffffffffffffff0, 1);
        check(Scalar::i16, Scalar::i64, Operator::sum, 0x8000000000000000, 2);
        check(Scalar::i32, Scalar::i32, Operator::max, 0xfffffff0, 3);  // -16
        check(Scalar::i64, Scalar::i64, Operator::min, 0xffffffff00000000, 0);
        check(Scalar::u32, Scalar::u32, Operator::min, 0x80000000, 1);
        check(Scalar::u64, Scalar::u64, Operator::max, 0x100000000, 2);
        check(Scalar::u32, Scalar::u32, Operator::bit_xor, 0x80000001, 3);
        check(Scalar::f32, Scalar::f32, Operator::sum, 0xc1200000, 0);  // -10
        check(Scalar::f32, Scalar::f32, Operator::min, 0x80000000, 1);  // -0
        check(Scalar::f16, Scalar::f32, Operator::sum, 0x3f000000, 2);  // 0.5
        check(Scalar::f32, Scalar::f32, Operator::max, 0x7fc00000, 3);  // ignored, as any NaN
        if (device().caps().types.float64)
            check(Scalar::f32, Scalar::f64, Operator::product, 0xc000000000000000, 3);
    });
}

// B1: a type's own extreme values, and infinities, are values like others: the identity of a padded
// tail or of an empty prefix must not win against them.
TEST_F(ScanTest, ExtremeValuesAreNoIdentities) {
    const std::size_t tile = tiny_tile();
    for_each_tier([&](Tier tier) {
        std::size_t form = 0;
        const auto check = [&](Scalar element, Operator op,
                               std::initializer_list<std::uint64_t> extremes) {
            if (!takes(form++, tier, 12)) return;
            const ScanDesc desc = with_next_strategy({.element = element,
                                                      .op = op,
                                                      .direction = kDirections[form / 3 % 2],
                                                      .max_count = 5 * tile + 3,
                                                      .tier = tier});
            ScanRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            for (const std::uint64_t bits : extremes) {
                for (const std::size_t count :
                     {std::size_t{1}, std::size_t{10}, tile, tile + 1, 5 * tile + 3}) {
                    SCOPED_TRACE(fmt::format("{} of {} times {:x} ({})", to_text(op), count, bits,
                                             to_text(element)));
                    Elements data(element, count);
                    data.fill(bits);
                    runner.expect_right(data.bytes());
                }
            }
        };
        for (const Operator op :
             {Operator::min, Operator::argmin, Operator::max, Operator::argmax}) {
            check(Scalar::f32, op,
                  {infinity_bits(Scalar::f32, false), infinity_bits(Scalar::f32, true)});
            check(Scalar::u32, op, {0xffffffff, 0});
            check(Scalar::i32, op, {0x80000000, 0x7fffffff});
        }
    });
}

// B13: NaN is ignored wherever it stands, and a prefix of nothing but NaN gives NaN.
TEST_F(ScanTest, NanIsIgnoredUnlessAllAreNan) {
    const std::size_t count = tiny_tile() * 3 + 5;
    const std::size_t s = lanes();
    for_each_tier([&](Tier tier) {
        std::size_t form = static_cast<std::size_t>(tier), turn = 0;
        for (const Operator op :
             {Operator::min, Operator::max, Operator::argmin, Operator::argmax}) {
            if (!takes(turn++, tier, 4)) continue;
            const ScanDesc desc = with_next_strategy({.element = Scalar::f32,
                                                      .op = op,
                                                      .kind = kKinds[form / 2 % 2],
                                                      .direction = kDirections[form % 2],
                                                      .max_count = count,
                                                      .tier = tier});
            ++form;
            ScanRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            const auto check = [&](const char* where, auto is_nan) {
                SCOPED_TRACE(fmt::format("{}: NaN {}", to_text(op), where));
                U32 bits(count);
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
            check("nowhere", [](std::size_t) { return false; });
            check("at index 0", [](std::size_t i) { return i == 0; });
            check("in lane 0", [&](std::size_t i) { return i / 4 % s == 0; });
            check("in lane S - 1", [&](std::size_t i) { return i / 4 % s == s - 1; });
            check("in a whole subgroup", [&](std::size_t i) { return i < 4 * s; });
            check("in the first two tiles", [&](std::size_t i) { return i < 2 * tiny_tile(); });
            check("in the last two tiles", [&](std::size_t i) { return i > tiny_tile(); });
            check("in every second item", [](std::size_t i) { return i % 2 == 1; });
            check("everywhere but in one item", [&](std::size_t i) { return i != 200; });
            check("everywhere but in the last", [&](std::size_t i) { return i != count - 1; });
            check("everywhere", [](std::size_t) { return true; });
        }
    });
}

// NaN and infinities go through sums and products as IEEE arithmetic has it: all outputs from there
// on have them, none before.
TEST_F(ScanTest, SumsAndProductsKeepWhatIsNotFinite) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float infinity = std::numeric_limits<float>::infinity();
    const std::size_t count = tiny_tile() * 3 + 16;
    for_each_tier([&](Tier tier) {
        std::size_t form = static_cast<std::size_t>(tier), turn = 0;
        for (const Operator op : {Operator::sum, Operator::product}) {
            if (!takes(turn++, tier, 2)) continue;
            const ScanDesc desc = with_next_strategy({.element = Scalar::f32,
                                                      .op = op,
                                                      .kind = kKinds[form / 2 % 2],
                                                      .direction = kDirections[form % 2],
                                                      .max_count = count,
                                                      .tier = tier});
            ++form;
            ScanRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            const auto check = [&](std::initializer_list<std::pair<std::size_t, float>> odd) {
                std::vector<float> values(count, op == Operator::sum ? 0.5f : -1.0f);
                for (const auto& [index, value] : odd) values[index] = value;
                runner.expect_right(bytes_of(values));
            };
            check({{count - 1, nan}});
            check({{0, nan}, {100, infinity}});
            check({{130, infinity}});
            check({{131, -infinity}});
            check({{7, infinity}, {300, -infinity}});
            check({{5, 0.0f}, {200, -infinity}});
            check({{5, 0.0f}});
        }
    });
}

// Ties go to the lowest index, in both directions, wherever the equal elements lie. B4: of zeros
// that differ in sign the negative one is the lesser.
TEST_F(ScanTest, TiesGoToTheLowestIndex) {
    const std::uint32_t tile = tiny_tile();
    const std::uint32_t count = tile * 11 + 17;
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const Operator op : {Operator::argmin, Operator::argmax}) {
            for (const Direction direction : kDirections) {
                if (!takes(turn++, tier, 4)) continue;
                const ScanDesc desc = with_next_strategy(
                    {.op = op, .direction = direction, .max_count = count, .tier = tier});
                ScanRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                for (const std::uint32_t first : {0u, 3u, lanes() * 4, tile - 1, tile, 5 * tile}) {
                    U32 values(count, 5);
                    const std::uint32_t extreme = op == Operator::argmin ? 4 : 6;
                    for (std::uint32_t i = first; i < count; i += 1 + (i * 7) % 50)
                        values[i] = extreme;
                    runner.expect_right(bytes_of(values));
                }
                const auto equal = values_of<std::uint32_t>(runner.run(bytes_of(U32(count, 9))));
                ASSERT_EQ(equal.size(), count * std::size_t{2});
                for (std::uint32_t i = 0; i < count; ++i) {
                    ASSERT_EQ(equal[2 * i], 9u);
                    ASSERT_EQ(equal[2 * i + 1], direction == Direction::forward ? 0 : i);
                }
            }
        }
    });
    const std::vector<float> zeros{0.0f, -0.0f, 0.0f, -0.0f};
    ScanRunner least(device(), {.element = Scalar::f32, .op = Operator::argmin, .max_count = 4});
    EXPECT_EQ(values_of<std::uint32_t>(least.run(bytes_of(zeros))),
              (U32{0, 0, 0x80000000, 1, 0x80000000, 1, 0x80000000, 1}));
}

// Integer sums and products wrap in the accumulator.
TEST_F(ScanTest, IntegersWrap) {
    for_each_tier([&](Tier tier) {
        const std::size_t count = tiny_tile() * 4 + 3;
        std::size_t turn = 0;
        const auto check = [&](Scalar element, Operator op, std::uint64_t bits) {
            if (!takes(turn++, tier, 4)) return;
            const ScanDesc desc = with_next_strategy(
                {.element = element, .op = op, .max_count = count, .tier = tier});
            ScanRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            Elements data(element, count);
            data.fill(bits);
            runner.expect_right(data.bytes());
        };
        check(Scalar::u32, Operator::sum, 0xfffffff1);
        check(Scalar::i32, Operator::sum, 0x7fffffff);
        check(Scalar::i32, Operator::product, 0xfffffffd);  // -3
        check(Scalar::u64, Operator::sum, 0xfffffffffffffff1);
    });
}

// Wide sums past 2^32 and past 2^63: carries between the two words of an accumulator, and between
// the two words of a published sum.
TEST_F(ScanTest, SixtyFourBitCarries) {
    const std::size_t count = tiny_tile() * 10 + 20;
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        const auto check = [&](Scalar element, Scalar accumulator, Operator op, auto value) {
            if (!takes(turn++, tier, 9)) return;
            const ScanDesc desc = with_next_strategy({.element = element,
                                                      .op = op,
                                                      .accumulator = accumulator,
                                                      .max_count = count,
                                                      .tier = tier});
            SCOPED_TRACE(desc.policy ? to_text(*desc.policy) : "");
            ScanRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            Elements data(element, count);
            for (std::size_t i = 0; i < count; ++i)
                data.set(i, static_cast<std::uint64_t>(value(i)));
            runner.expect_right(data.bytes());
        };
        for (std::size_t strategy = 0; strategy < std::size(kStrategies); ++strategy) {
            check(Scalar::u32, Scalar::u64, Operator::sum, [](std::size_t) { return 0xffffffffu; });
            // Every prefix has another low word, and now and then one with all bits clear or set.
            check(Scalar::u64, Scalar::u64, Operator::sum, [](std::size_t i) {
                return i % 64 == 0 ? 0x00000000ffffffffu : i % 64 == 1 ? 1u : hash(5, i);
            });
            if (!test_all() && strategy % 2 == 1) continue;
            check(Scalar::i32, Scalar::i64, Operator::sum,
                  [](std::size_t i) { return i % 3 == 0 ? 1 : -2147483647; });
            check(Scalar::u64, Scalar::u64, Operator::product,
                  [](std::size_t i) { return hash(6, i) | 1; });
            check(Scalar::i64, Scalar::i64, Operator::min,
                  [](std::size_t i) { return static_cast<std::int64_t>(hash(7, i) >> 1) - 1; });
            // Equal high words: only the low ones tell.
            check(Scalar::u64, Scalar::u64, Operator::argmin, [](std::size_t i) {
                return 0x7fffffff00000000u | ((0x10000u - i) << 8) | (hash(9, i) & 0xfff);
            });
        }
    });
}

// B12: one input, one bit pattern, however often it runs: for the strategies that may be asked for
// it, and for the one that is chosen.
TEST_F(ScanTest, FloatSumsAreTheSameOnEveryRun) {
    const std::size_t count = tiny_tile() * 12 + 7;
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const Scalar element : {Scalar::f32, Scalar::f16}) {
            ScanDesc desc{.element = element, .max_count = count, .tier = tier};
            std::vector<std::optional<ScanPolicy>> policies{std::nullopt};
            if (element == Scalar::f32) {
                policies.push_back(tiny(ScanStrategy::one_workgroup));
                policies.push_back(tiny(ScanStrategy::reduce_then_scan));
            }
            for (const auto& policy : policies) {
                if (!takes(turn++, tier, 4, 2)) continue;
                desc.policy = policy;
                SCOPED_TRACE(policy ? to_text(*policy) : "the policy that is chosen");
                ScanRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                const Elements data =
                    make_elements(element, Operator::sum, count, 77, FloatData::rounded);
                std::set<std::vector<std::byte>> results;
                for (int run = 0; run < 20; ++run) {
                    const auto result = runner.run(
                        data.bytes(), {.count_in_buffer = run % 2 == 1, .timestamps = false});
                    ASSERT_TRUE(result);
                    results.insert(*result);
                }
                EXPECT_EQ(results.size(), 1u);
                runner.expect_matches(data.bytes(), *results.begin());
            }
        }
    });
}

// The order is fixed by the policy, the subgroup size and max_count: with full subgroups the two
// subgroup tiers have the same.
TEST_F(ScanTest, FloatSumsAreTheSameInPinnedAndPortable) {
    if (!lacking(device().caps(), Tier::pinned).empty())
        GTEST_SKIP() << "no tier pinned on this device";
    claim(Tier::pinned);
    claim(Tier::portable);
    for (const ScanStrategy strategy :
         {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan}) {
        if (!takes(static_cast<std::size_t>(strategy), Tier::pinned, 2)) continue;
        SCOPED_TRACE(to_text(strategy));
        const std::size_t count = tiny_tile() * 12 + 9;
        const Elements data =
            make_elements(Scalar::f32, Operator::sum, count, 5, FloatData::rounded);
        std::vector<std::vector<std::byte>> results;
        for (const Tier tier : {Tier::pinned, Tier::portable}) {
            ScanPolicy policy = tiny(strategy);
            policy.workgroup_size = std::max(64u, lanes());  // a multiple of every size
            ScanRunner runner(
                device(),
                {.element = Scalar::f32, .max_count = count, .tier = tier, .policy = policy});
            const auto result = runner.run(data.bytes());
            ASSERT_TRUE(result);
            results.push_back(*result);
        }
        EXPECT_EQ(results[0], results[1]);
    }
}

// unordered allows any order, not any answer; and what is not rounded is the same as ever.
TEST_F(ScanTest, UnorderedFloatSumsAreRight) {
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const Operator op : {Operator::sum, Operator::product}) {
            const ScanDesc any{.element = Scalar::f32,
                               .op = op,
                               .max_count = tiny_tile() * 20,
                               .determinism = Determinism::unordered,
                               .tier = tier,
                               .policy = tiny()};
            for (const ScanStrategy strategy : possible_strategies(device().caps(), any)) {
                if (!looks_back(strategy) || !takes(turn++, tier, 4)) continue;
                SCOPED_TRACE(to_text(strategy));
                ScanDesc desc = any;
                desc.policy = tiny(strategy);
                ScanRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                for (const std::size_t count :
                     {std::size_t{1}, std::size_t{129}, std::size_t{desc.max_count}}) {
                    for (const FloatData floats : {FloatData::exact, FloatData::rounded})
                        runner.expect_right(
                            make_elements(Scalar::f32, op, count, count, floats).bytes());
                }
            }
        }
    });
}

// Integers: one answer, whatever the tier, strategy and policy.
TEST_F(ScanTest, IntegersAreTheSameEverywhere) {
    const std::size_t count = 4321;
    const Elements data = make_elements(Scalar::i16, Operator::product, count, 99);
    std::set<std::vector<std::byte>> results;
    std::size_t runs = 0;
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        if (!takes(static_cast<std::size_t>(strategy), tier, 4)) return;
        ScanPolicy policy = tiny(strategy);
        policy.workgroup_size = tiny_workgroup() << (runs++ % 2);
        ScanRunner runner(device(), {.element = Scalar::i16,
                                     .op = Operator::product,
                                     .max_count = count,
                                     .tier = tier,
                                     .policy = policy});
        const auto result = runner.run(data.bytes());
        ASSERT_TRUE(result);
        results.insert(*result);
    });
    EXPECT_EQ(results.size(), 1u);
    EXPECT_GE(runs, subgroup_tier() == Tier::barrier ? 1u : 2u);
}

// A2: every size from one tile to two, where a tail of every length follows a full tile.
TEST_F(ScanTest, EverySizeFromOneTileToTwo) {
    const std::size_t step = device().is_simulated() && !test_all() ? 3 : 1;
    std::size_t turn = 0;
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        const std::size_t tile = tiny_tile();
        const ScanDesc desc = standard(tier, strategy);
        ScanRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        const Elements data = make_scan_elements(desc, 2 * tile, ++turn);
        for (std::size_t count = tile + turn % step; count <= 2 * tile; count += step) {
            runner.expect_right(std::span(data.bytes()).first(count * 4), {.timestamps = false});
            if (HasFailure()) return;
        }
    });
}

// D9: a tail of one live item after full tiles, one to many of them for each workgroup.
TEST_F(ScanTest, ATailOfOneItem) {
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        const std::size_t tile = tiny_tile();
        const ScanDesc desc = standard(tier, strategy);
        ScanRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        for (const std::size_t tiles : {1u, 2u, 5u, 6u, 11u, 20u})
            runner.expect_right(make_scan_elements(desc, tiles * tile + 1, tiles).bytes());
    });
}

// A3, A4, E7: more tiles than a dispatch has workgroups, with the limit lowered to 7, and 1.
TEST_F(ScanTest, MoreTilesThanADispatchTakes) {
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        for (const std::uint32_t groups : {7u, 1u}) {
            if (!takes(static_cast<std::size_t>(strategy) + groups / 7 * 4, tier, 8)) continue;
            Caps caps = device().caps();
            caps.limits.max_groups_x = groups;
            const std::size_t tile = tiny_tile();
            ScanPolicy policy = tiny(strategy);
            policy.max_groups = 1024;
            const std::size_t max_count = 3 * 7 * tile + 1;
            ScanRunner runner(device(), {.max_count = max_count, .tier = tier, .policy = policy},
                              caps);
            ASSERT_TRUE(runner);
            EXPECT_LE(runner.plan().share.max_groups, groups);
            for (const std::size_t count : {7 * tile, 7 * tile + 1, max_count}) {
                SCOPED_TRACE(fmt::format("{} items, {} workgroups", count, groups));
                const std::vector<std::byte> ones = bytes_of(U32(count, 1));
                for (const bool in_buffer : {false, true}) {
                    const auto result =
                        values_of<std::uint32_t>(runner.run(ones, {.count_in_buffer = in_buffer}));
                    ASSERT_EQ(result.size(), count);
                    for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(result[i], i + 1);
                }
            }
        }
    });
}

// A3 at the limit that all APIs share: 65535 workgroups.
TEST_F(ScanTest, OneMoreThan65535Tiles) {
    if (device().is_simulated()) GTEST_SKIP() << "a lowered limit shows it: the test before";
    Caps caps = device().caps();
    caps.limits.max_groups_x = 65535;
    const std::uint32_t workgroup_size = std::max(16u, lanes());
    const std::size_t tile = workgroup_size * 16;  // u8
    const std::size_t count = 65535 * tile + 1;
    const std::vector<std::byte> ones(count, std::byte{1});
    for (const Tier tier : kTiers) {
        for (const ScanStrategy strategy :
             {ScanStrategy::reduce_then_scan, ScanStrategy::look_back}) {
            // One of them all in the default run: it takes a second or more.
            if (!test_all() && (tier != subgroup_tier() || strategy != ScanStrategy::look_back))
                continue;
            if (!lacking(device().caps(), tier).empty()) continue;
            SCOPED_TRACE(fmt::format("{} {}", to_text(tier), to_text(strategy)));
            claim(tier);
            ScanPolicy policy = tiny(strategy);
            policy.workgroup_size = workgroup_size;
            policy.max_groups = 1u << 20;
            ScanRunner runner(
                device(),
                {.element = Scalar::u8, .max_count = count, .tier = tier, .policy = policy}, caps);
            ASSERT_TRUE(runner);
            const auto result = values_of<std::uint32_t>(runner.run(ones));
            ASSERT_EQ(result.size(), count);
            for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(result[i], i + 1);
        }
    }
}

// A9: an output larger than a binding can be (four times the input here) goes by address, whole.
TEST_F(ScanTest, OutputsAboveTheLargestBinding) {
    Caps caps = device().caps();
    const std::size_t count = (1u << 14) + 1;
    caps.limits.max_storage_range = 1u << 16;
    ScanDesc desc{.element = Scalar::u8, .max_count = count};
    const auto plan = plan_scan(caps, desc);
    if (!caps.device_addresses) {
        ASSERT_FALSE(plan);
        EXPECT_EQ(plan.error().code, ErrorCode::limit_exceeded);
        return;
    }
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->addressing, Addressing::device_address);
    claim(subgroup_tier());
    desc.tier = subgroup_tier();
    ScanRunner runner(device(), desc, caps);
    ASSERT_TRUE(runner);
    runner.expect_right(make_scan_elements(desc, count, 30).bytes());
}

// A5: lesser limits than the device has lead to a plan that runs.
TEST_F(ScanTest, FakeLimits) {
    const std::size_t count = 9000;
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const auto& [invocations, memory] : {std::pair{128u, 16384u}, std::pair{768u, 16384u},
                                                  std::pair{1024u, 2048u}, std::pair{32u, 1024u}}) {
            if (tier == Tier::pinned && invocations < lanes()) continue;
            if (!takes(turn++, tier, 3)) continue;
            SCOPED_TRACE(fmt::format("{} invocations, {} bytes", invocations, memory));
            Caps caps = device().caps();
            caps.limits.max_workgroup_invocations =
                std::min(caps.limits.max_workgroup_invocations, invocations);
            caps.limits.max_workgroup_size_x =
                std::min(caps.limits.max_workgroup_size_x, invocations);
            caps.limits.max_workgroup_memory = memory;
            const ScanDesc desc{.max_count = count, .tier = tier};
            ScanRunner runner(device(), desc, caps);
            ASSERT_TRUE(runner);
            for (const Pass& pass : runner.plan().passes) {
                EXPECT_LE(pass.workgroup_size, invocations);
                EXPECT_LE(pass.workgroup_memory, memory);
            }
            runner.expect_right(make_scan_elements(desc, count, 4).bytes());
        }
    });
}

// C1, C2: as many subgroups as a workgroup can have (64 partials of 4 lanes), and one alone.
TEST_F(ScanTest, ManySubgroupsAndOne) {
    const std::uint32_t most = device().caps().limits.max_workgroup_invocations;
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        std::size_t turn = static_cast<std::size_t>(strategy) * 4;
        for (const std::uint32_t workgroup_size : {lanes(), lanes() * 2, 256u, most}) {
            if (!takes(turn++, tier, 7, 2)) continue;
            if (!has_workgroups(device().caps(), tier, workgroup_size)) continue;
            SCOPED_TRACE(fmt::format("W {}", workgroup_size));
            ScanPolicy policy = tiny(strategy);
            policy.workgroup_size = workgroup_size;
            policy.max_groups = 2;
            const std::size_t count = workgroup_size * 4 * 3 + 7;
            const ScanDesc desc{
                .kind = ScanKind::exclusive, .max_count = count, .tier = tier, .policy = policy};
            ScanRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            runner.expect_right(make_scan_elements(desc, count, 1).bytes());
            runner.expect_right(make_scan_elements(desc, workgroup_size, 2).bytes());
        }
    });
}

// C8: a workgroup smaller than a subgroup has a partial one.
TEST_F(ScanTest, WorkgroupsSmallerThanASubgroup) {
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        if (!lacking(device().caps(), tier).empty()) continue;
        claim(tier);
        std::size_t turn = 0;
        for (const std::uint32_t workgroup_size : {4u, 8u}) {
            for (const ScanStrategy strategy : kStrategies) {
                for (const Operator op : {Operator::sum, Operator::argmin}) {
                    SCOPED_TRACE(fmt::format("{} W {} {} {}", to_text(tier), workgroup_size,
                                             to_text(strategy), to_text(op)));
                    ScanPolicy policy = tiny(strategy);
                    policy.workgroup_size = workgroup_size;
                    const ScanDesc desc{.op = op, .max_count = 500, .tier = tier, .policy = policy};
                    if (looks_back(strategy) && !is_possible(device().caps(), desc)) continue;
                    if (!takes(turn++, tier, 7)) continue;
                    ScanRunner runner(device(), desc);
                    ASSERT_TRUE(runner);
                    for (const std::size_t count : {1u, 3u, 15u, 16u, 17u, 33u, 27u, 499u})
                        runner.expect_right(make_scan_elements(desc, count, count).bytes());
                }
            }
        }
    }
}

// Counts in a buffer: 0, 1, the maximum, and values above it, which count as it. Outputs past the
// count are not written.
TEST_F(ScanTest, CountsInABuffer) {
    const std::uint64_t tile = tiny_tile();
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        for (const bool by_address : {false, true}) {
            if (by_address && (!device().caps().device_addresses ||
                               !takes(static_cast<std::size_t>(strategy), tier, 4)))
                continue;
            ScanDesc desc = standard(tier, strategy);
            if (by_address) desc.addressing = Addressing::device_address;
            const std::uint64_t max_count = desc.max_count;
            ScanRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            SCOPED_TRACE(to_text(runner.plan().addressing));
            const Elements all = make_scan_elements(desc, max_count, 8);
            std::vector<std::uint64_t> values{0,
                                              1,
                                              tile - 1,
                                              tile,
                                              tile + 1,
                                              5 * tile,
                                              5 * tile + 1,
                                              max_count - 1,
                                              max_count,
                                              max_count + 1,
                                              0x80000000,
                                              0xffffffff};
            if (runner.plan().addressing == Addressing::device_address) {
                values.insert(values.end(), {std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 5,
                                             ~std::uint64_t{0}});
            }
            for (const std::uint64_t value : values) {
                SCOPED_TRACE(fmt::format("count {}", value));
                // The whole input is there; only `value` items of it are to be taken.
                runner.expect_right(
                    all.bytes(),
                    {.count_in_buffer = true, .count_value = value, .timestamps = false});
                if (HasFailure()) return;
            }
        }
    });
}

// Up and down, with counts of both kinds, on one Executable.
TEST_F(ScanTest, SizesUpAndDown) {
    const std::size_t tile = tiny_tile();
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        const ScanDesc desc = standard(tier, strategy);
        ScanRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        std::uint64_t seed = 0;
        for (const std::size_t count :
             {std::size_t{1}, 9 * tile, std::size_t{0}, tile + 1, 9 * tile - 1, tile, 6 * tile}) {
            ++seed;
            runner.expect_right(make_scan_elements(desc, count, seed).bytes(),
                                {.count_in_buffer = seed % 2 == 0, .timestamps = false});
        }
    });
}

// In place, the answer is the same as out of place, and nothing past the count is touched.
TEST_F(ScanTest, InPlaceEqualsOutOfPlace) {
    const std::size_t tile = tiny_tile();
    const std::size_t max_count = 12 * tile + 9;
    std::size_t turn = 0;
    for_each_tier([&](Tier tier) {
        for (const ScanStrategy strategy :
             {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan}) {
            for (const Scalar element : {Scalar::u32, Scalar::f32, Scalar::i64}) {
                const std::size_t form = turn++;
                if (!takes(form % 6, tier, 6)) continue;
                const ScanDesc desc{.element = element,
                                    .kind = kKinds[form % 2],
                                    .direction = kDirections[form / 2 % 2],
                                    .max_count = max_count,
                                    .tier = tier,
                                    .policy = tiny(strategy)};
                SCOPED_TRACE(fmt::format("{} {} {} {}", to_text(strategy), to_text(element),
                                         to_text(desc.kind), to_text(desc.direction)));
                ScanRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                ASSERT_TRUE(runner.plan().in_place);
                for (const std::size_t count :
                     {std::size_t{1}, tile, tile + 1, 5 * tile, max_count}) {
                    const Elements data =
                        make_elements(element, Operator::sum, count, count, FloatData::rounded);
                    for (const bool in_buffer : {false, true}) {
                        const auto apart = runner.run(data.bytes(), {.count_in_buffer = in_buffer});
                        const auto inside = runner.run(
                            data.bytes(), {.count_in_buffer = in_buffer, .in_place = true});
                        ASSERT_TRUE(apart && inside);
                        EXPECT_EQ(*apart, *inside) << count << " items";
                        runner.expect_matches(data.bytes(), *inside);
                    }
                }
            }
        }
    });
}

// D1, D2: in place where the plan does not have it is refused, and so is any other overlap,
// whatever the plan.
TEST_F(ScanTest, OverlapsAreRefused) {
    const std::size_t count = 1024;
    const Tier tier = Tier::barrier;
    const auto in_place = [&](ScanDesc desc) {
        desc.max_count = count;
        desc.tier = tier;
        const auto plan = plan_scan(device().caps(), desc);
        EXPECT_TRUE(plan) << plan.error().message;
        if (!plan) return false;
        const auto executable = device().prepare(*plan);
        EXPECT_TRUE(executable);
        if (!executable) return false;
        const PlainUse memory = make_plain_use(device(), *plan);
        TestBuffers buffers = memory.buffers(*plan);
        EXPECT_TRUE((*executable)->bind(buffers, count));
        // One range for both, as large as the larger.
        const auto both = device().make_memory(64 * count);
        EXPECT_TRUE(both);
        if (!both) return false;
        const auto refused = [&](const TestRange& input, const TestRange& output,
                                 const TestRange& scratch, const char* word = "overlap") {
            const auto use = (*executable)
                                 ->bind({.input = input, .output = output, .scratch = scratch},
                                        std::uint64_t{count});
            if (use) return false;
            EXPECT_EQ(use.error().code, ErrorCode::bad_argument) << use.error().message;
            EXPECT_NE(use.error().message.find(word), std::string::npos) << use.error().message;
            return true;
        };
        const std::size_t input_bytes = buffers.input.bytes, output_bytes = buffers.output.bytes;
        const std::size_t shift = 256;  // a multiple of any alignment
        const auto at = [&](std::size_t offset, std::size_t bytes) {
            return TestRange{both->get(), offset, bytes};
        };
        EXPECT_TRUE(refused(at(0, input_bytes), at(shift, output_bytes), buffers.scratch));
        EXPECT_TRUE(refused(at(shift, input_bytes), at(0, output_bytes), buffers.scratch));
        EXPECT_TRUE(refused(at(0, input_bytes), at(input_bytes / 512 * 256, output_bytes),
                            buffers.scratch));
        if (buffers.scratch.memory != nullptr && buffers.scratch.bytes != 0) {
            EXPECT_TRUE(refused(buffers.input, at(0, output_bytes), at(0, buffers.scratch.bytes)));
            EXPECT_TRUE(refused(at(0, input_bytes), buffers.output, at(0, buffers.scratch.bytes)));
        }
        // Ranges that touch do not overlap.
        const std::size_t behind = (input_bytes + 255) / 256 * 256;
        // WebGPU does not let a pass both read and write a buffer, whatever its ranges are.
        EXPECT_EQ(
            refused(at(0, input_bytes), at(behind, output_bytes), buffers.scratch, "one buffer"),
            device().is_webgpu());
        const std::size_t larger = std::max(input_bytes, output_bytes);
        const bool allowed = !refused(at(0, larger), at(0, larger), buffers.scratch);
        EXPECT_EQ(allowed, plan->in_place);
        return allowed;
    };
    EXPECT_TRUE(in_place({.policy = tiny(ScanStrategy::one_workgroup)}));
    EXPECT_TRUE(in_place({.policy = tiny(ScanStrategy::reduce_then_scan)}));
    EXPECT_FALSE(in_place({.policy = tiny(ScanStrategy::look_back)}));
    EXPECT_FALSE(in_place({.policy = tiny(ScanStrategy::reduce_ahead)}));
    EXPECT_FALSE(in_place({.element = Scalar::u8, .policy = tiny()}));
    EXPECT_FALSE(in_place({.accumulator = Scalar::u64, .policy = tiny()}));
    EXPECT_FALSE(in_place({.op = Operator::argmax, .policy = tiny()}));
}

// D6: ranges that begin anywhere: refused, or right; never silently wrong.
TEST_F(ScanTest, OffsetsThatAreNotAligned) {
    const std::size_t count = 5 * tiny_tile() + 60;
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        for (const bool by_address : {false, true}) {
            if (by_address && (!device().caps().device_addresses ||
                               !takes(static_cast<std::size_t>(strategy), tier, 4)))
                continue;
            ScanDesc desc = standard(tier, strategy);
            if (by_address) desc.addressing = Addressing::device_address;
            const auto plan = plan_scan(device().caps(), desc);
            ASSERT_TRUE(plan);
            const auto executable = device().prepare(*plan);
            ASSERT_TRUE(executable);
            const Elements data = make_scan_elements(desc, count, 3);
            for (const Role moved : {Role::input, Role::output, Role::scratch}) {
                if (plan->argument(moved) == nullptr) continue;
                for (const std::size_t offset : {1u, 2u, 4u, 8u, 16u, 64u, 252u, 256u}) {
                    SCOPED_TRACE(fmt::format("{} {} at +{}", to_text(plan->addressing),
                                             to_text(moved), offset));
                    const auto bytes_of_role = [&](Role role) {
                        const Argument* argument = plan->argument(role);
                        return argument != nullptr ? static_cast<std::size_t>(argument->bytes) : 0;
                    };
                    const auto make = [&](Role role) {
                        return GuardedBuffer(device(), bytes_of_role(role),
                                             role == moved ? offset : 0);
                    };
                    GuardedBuffer input = make(Role::input), output = make(Role::output),
                                  scratch = make(Role::scratch);
                    const std::size_t scratch_bytes = bytes_of_role(Role::scratch);
                    input.reset(data.bytes());
                    output.reset_poisoned(count * 4);
                    scratch.reset_poisoned(scratch_bytes);
                    TestBuffers buffers{.input = input.range(input.capacity()),
                                        .output = output.range(count * 4)};
                    if (plan->argument(Role::scratch) != nullptr)
                        buffers.scratch = scratch.range(scratch_bytes);
                    const auto use = (*executable)->bind(buffers, count);
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
                    EXPECT_TRUE(scan_matches(desc, data.bytes(), output.read(count * 4), &why))
                        << why;
                    output.expect_guards(count * 4, "output");
                    scratch.expect_guards(scratch_bytes, "scratch");
                }
            }
        }
    });
}

// Indices of 64 bits, though the data are small: plans for more than 2^32 items.
TEST_F(ScanTest, PlansForMoreThan32BitsOfItems) {
    if (!device().caps().device_addresses) GTEST_SKIP() << "no device addresses on this device";
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const ScanStrategy strategy : kStrategies) {
            for (const auto& [element, op] :
                 {std::pair{Scalar::u8, Operator::sum}, std::pair{Scalar::i32, Operator::argmax}}) {
                if (!takes(turn++, tier, 4)) continue;
                ScanDesc desc{.element = element,
                              .op = op,
                              .direction = kDirections[static_cast<std::size_t>(strategy) % 2],
                              .max_count = (std::uint64_t{1} << 32) + 100,
                              .tier = tier,
                              .policy = tiny(strategy)};
                desc.policy->workgroup_size = std::max(64u, lanes());
                desc.policy->vectors = 8;
                desc.policy->max_groups = 65535;
                SCOPED_TRACE(fmt::format("{} {}", to_text(strategy), to_text(op)));
                if (looks_back(strategy) && !is_possible(device().caps(), desc)) continue;
                const auto plan = plan_scan(device().caps(), desc);
                ASSERT_TRUE(plan) << plan.error().message;
                EXPECT_EQ(plan->addressing, Addressing::device_address);
                EXPECT_EQ(plan->result_bytes, op == Operator::sum ? 4u : 16u);
                expect_kernels_of_tier(*plan);
                const auto executable = device().prepare(*plan);
                ASSERT_TRUE(executable) << executable.error().message;
                const std::size_t count = 20001;
                const Elements data = make_scan_elements(desc, count, 12);
                // Of each role, what this use needs.
                const auto make = [&](Role role) -> std::unique_ptr<TestMemory> {
                    const std::uint64_t bytes = bytes_needed(*plan, role, count);
                    auto memory = device().make_memory(
                        std::max<std::size_t>(static_cast<std::size_t>(bytes), 16));
                    EXPECT_TRUE(memory) << memory.error().message;
                    return memory ? *std::move(memory) : nullptr;
                };
                const auto range = [&](const std::unique_ptr<TestMemory>& memory, Role role) {
                    if (plan->argument(role) == nullptr) return TestRange{};
                    return TestRange{memory.get(), 0,
                                     static_cast<std::size_t>(bytes_needed(*plan, role, count))};
                };
                const auto input = make(Role::input), output = make(Role::output),
                           scratch = make(Role::scratch);
                ASSERT_TRUE(input && output && scratch);
                ASSERT_TRUE(input->write(0, data.bytes()));
                const auto use = (*executable)
                                     ->bind({.input = range(input, Role::input),
                                             .output = range(output, Role::output),
                                             .scratch = range(scratch, Role::scratch)},
                                            count);
                ASSERT_TRUE(use) << use.error().message;
                ASSERT_TRUE((*use)->run());
                count_dispatch(tier);
                std::vector<std::byte> result(count * plan->result_bytes);
                ASSERT_TRUE(output->read(0, result));
                std::string why;
                EXPECT_TRUE(scan_matches(desc, data.bytes(), result, &why)) << why;
            }
        }
    });
}

// D5: a tile that never publishes, as one whose workgroup does not run: those that wait for it sum
// it themselves, and the call ends with the right answer. With one tile for each workgroup, and
// with several.
TEST_F(ScanTest, ATileThatNeverPublishes) {
    const std::uint32_t tiles = 13;
    for_each_tier_and_look_back([&](Tier tier, ScanStrategy strategy) {
        const std::size_t count = (tiles - 1) * tiny_tile() + 7;
        std::size_t turn = static_cast<std::size_t>(tier);
        std::size_t position = static_cast<std::size_t>(strategy) * 5;
        for (const std::uint32_t silent : {0u, 1u, tiles / 2, tiles - 2, tiles - 1}) {
            const std::size_t form = turn++;
            if (!takes(position++, tier, 5)) continue;
            ScanDesc desc{.kind = kKinds[form % 2],
                          .direction = kDirections[form / 2 % 2],
                          .max_count = count,
                          .tier = tier,
                          .policy = tiny(strategy)};
            desc.policy->max_groups = form % 2 == 0 ? tiles : 4;
            SCOPED_TRACE(fmt::format("tile {}, {}", silent, to_text(desc.direction)));
            const auto talking = plan_scan(device().caps(), desc);
            desc.policy->silent_tile = silent;
            ScanRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            ASSERT_TRUE(talking);
            EXPECT_NE(runner.plan().passes, talking->passes)
                << "no kernel knows of the silent tile";
            // Twice: what the first use leaves behind must be as it found it.
            runner.expect_right(make_scan_elements(desc, count, 3 * silent).bytes());
            runner.expect_right(make_scan_elements(desc, count, 3 * silent + 2).bytes(),
                                {.count_in_buffer = true});
            runner.expect_right(make_scan_elements(desc, tiny_tile() + 1, silent).bytes());
        }
    });
}

// The same for every type, operator and patience: what is summed again is what was not published.
TEST_F(ScanTest, TilesAreSummedAgainForEveryOperator) {
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const ScanStrategy strategy : {ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
            for (const Types& types : kTypes) {
                for (const Operator op : kOperators) {
                    if (!has_types(device().caps(), types, op)) continue;
                    ScanDesc desc{.element = types.element,
                                  .op = op,
                                  .direction = kDirections[turn / 17 % 2],
                                  .accumulator = types.accumulator,
                                  .determinism = determinism_of(types.element, op, strategy),
                                  .tier = tier,
                                  .policy = tiny(strategy)};
                    const std::size_t tile = tiny_workgroup() * 16 / size_of(types.element);
                    desc.max_count = 6 * tile + 1;
                    desc.policy->silent_tile = 2;
                    desc.policy->patience = std::array{1u, 16u, 100u}[turn % 3];
                    if (takes_initial(types, op) && turn % 2 == 0)
                        desc.initial = initial_bits(desc, turn);
                    if (!is_possible(device().caps(), desc)) continue;
                    if (!takes(turn++, tier, 130, 17)) continue;
                    SCOPED_TRACE(fmt::format("{} of {} into {}, {}", to_text(op),
                                             to_text(types.element), to_text(types.accumulator),
                                             to_text(strategy)));
                    ScanRunner runner(device(), desc);
                    ASSERT_TRUE(runner);
                    runner.expect_right(make_scan_elements(desc, desc.max_count, 5).bytes());
                }
            }
        }
    });
}

// reduce_ahead with every distance: the next tile, as far as the tiles go, and further.
TEST_F(ScanTest, AheadByAnyDistance) {
    const std::size_t count = 9 * tiny_tile() + 3;
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const std::uint32_t ahead : {1u, 2u, 3u, 7u, 9u, 10u, 50u}) {
            if (!takes(turn++, tier, 7)) continue;
            SCOPED_TRACE(ahead);
            ScanDesc desc{
                .max_count = count, .tier = tier, .policy = tiny(ScanStrategy::reduce_ahead)};
            desc.policy->ahead = ahead;
            desc.policy->max_groups = ahead % 2 == 0 ? 64 : 3;
            ScanRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            for (const std::size_t items : {count, std::size_t{tiny_tile()}, std::size_t{5}})
                runner.expect_right(make_scan_elements(desc, items, ahead).bytes());
        }
    });
}

// D4: a flag that is seen before its value. 2^19 ones: the last output is their number.
TEST_F(ScanTest, AsManyOnesAsThereAre) {
    const std::uint32_t count = device().is_simulated() ? 1u << 13 : 1u << 19;
    const std::vector<std::byte> ones = bytes_of(U32(count, 1));
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        // Two workgroups alone, or many.
        const bool two = static_cast<std::size_t>(strategy) % 2 == 0;
        if (!takes(static_cast<std::size_t>(strategy), tier, 4)) return;
        ScanPolicy policy = tiny(strategy);
        policy.max_groups = two ? 2 : 1024;
        if (!device().is_simulated()) policy.vectors = 4;
        const ScanDesc desc{.kind = two ? ScanKind::inclusive : ScanKind::exclusive,
                            .max_count = count,
                            .tier = tier,
                            .policy = policy};
        ScanRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        const auto sums = values_of<std::uint32_t>(runner.run(ones));
        ASSERT_EQ(sums.size(), count);
        const std::uint32_t first = two ? 1 : 0;
        for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(sums[i], i + first);
    });
}

// D4, D8: a thousand uses of one binding, recorded once, each with another answer.
TEST_F(ScanTest, AThousandRepeats) {
    const bool few = device().is_simulated();
    // A simulated device takes a second for what takes a driver a millisecond.
    const std::size_t count = few ? (1u << 10) + 3 : test_all() ? 1u << 19 : (1u << 15) + 3;
    for_each_tier_and_look_back([&](Tier tier, ScanStrategy strategy) {
        if (!takes(static_cast<std::size_t>(strategy), tier, 2)) return;
        ScanPolicy policy = tiny(strategy);
        policy.max_groups = 64;
        policy.patience = 64;
        const ScanDesc desc{.max_count = count, .tier = tier, .policy = policy};
        const auto plan = plan_scan(device().caps(), desc);
        ASSERT_TRUE(plan);
        ASSERT_GT(plan->state_bytes, 0u);
        expect_kernels_of_tier(*plan);
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable);
        const PlainUse memory = make_plain_use(device(), *plan);
        const auto use = (*executable)->bind(memory.buffers(*plan), count);
        ASSERT_TRUE(use) << use.error().message;
        U32 values(count), expected(count), sums(count);
        for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint32_t>(hash(1, i));
        ASSERT_TRUE(memory.input->write(0, bytes_of(values)));
        const std::uint32_t runs = few ? 100 : 1000;
        const auto start = std::chrono::steady_clock::now();
        for (std::uint32_t run = 0; run < runs; ++run) {
            // The slowest driver takes a tenth of a second for each.
            if (!test_all() && run >= 100 &&
                std::chrono::steady_clock::now() - start > std::chrono::seconds(5))
                break;
            // One element of the input changes from run to run.
            const std::size_t changed = hash(2, run) % count;
            values[changed] = static_cast<std::uint32_t>(hash(3, run));
            ASSERT_TRUE(memory.input->write(changed * 4, bytes_of(U32{values[changed]})));
            ASSERT_TRUE((*use)->run({.replay = true}));
            count_dispatch(tier);
            ASSERT_TRUE(memory.output->read(0, std::as_writable_bytes(std::span(sums))));
            std::uint32_t sum = 0;
            for (std::size_t i = 0; i < count; ++i) expected[i] = sum += values[i];
            const auto wrong = std::ranges::mismatch(sums, expected).in1;
            ASSERT_EQ(wrong, sums.end()) << "run " << run << ", output " << wrong - sums.begin();
        }
    });
}

// The number of epochs is the plan's, and large: with few of them they begin again and again, and
// what a tile published in the epoch of the same number before must not be seen.
TEST_F(ScanTest, EpochsBeginAgain) {
    const std::uint32_t tile = tiny_tile();
    const std::uint32_t max_count = 7 * tile - 3;
    for_each_tier_and_look_back([&](Tier tier, ScanStrategy strategy) {
        for (const bool atomic64 : {false, true}) {
            Caps caps = device().caps();
            if (atomic64 && !caps.int64_atomics) continue;
            if (!takes(static_cast<std::size_t>(strategy) + (atomic64 ? 1 : 0), tier, 2)) continue;
            caps.int64_atomics = atomic64;
            SCOPED_TRACE(atomic64 ? "words" : "halves");
            ScanDesc desc{.max_count = max_count, .tier = tier, .policy = tiny(strategy)};
            desc.policy->max_groups = 64;
            auto plan = plan_scan(caps, desc);
            ASSERT_TRUE(plan);
            auto& constants = plan->passes.back().constants;
            const auto epochs = std::ranges::find(constants, "most_epochs", &Constant::name);
            ASSERT_NE(epochs, constants.end());
            epochs->value = 3;
            const auto executable = device().prepare(*plan);
            ASSERT_TRUE(executable) << executable.error().message;
            const PlainUse memory = make_plain_use(device(), *plan);
            const auto use = (*executable)->bind(memory.buffers(*plan), memory.count_range(*plan));
            ASSERT_TRUE(use) << use.error().message;
            // The last use of an epoch has all tiles or few, and so has the next.
            for (std::uint32_t run = 0; run < 24; ++run) {
                const std::uint32_t tiles =
                    run % 3 == 0 ? 7 : static_cast<std::uint32_t>(hash(4, run) % 7) + 1;
                const std::uint32_t count = tiles * tile - 3;
                const Elements data = make_scan_elements(desc, max_count, run);
                ASSERT_TRUE(memory.input->write(0, data.bytes()));
                ASSERT_TRUE(memory.count->write(0, bytes_of(std::vector<std::uint64_t>{count})));
                ASSERT_TRUE((*use)->run({.replay = true}));
                count_dispatch(tier);
                std::vector<std::byte> result(count * std::size_t{4});
                ASSERT_TRUE(memory.output->read(0, result));
                std::string why;
                ASSERT_TRUE(
                    scan_matches(desc, std::span(data.bytes()).first(result.size()), result, &why))
                    << "run " << run << ", " << tiles << " tiles: " << why;
            }
        }
    });
}

// A workgroup that did not see what others publish would sum all of it again, and be right. With a
// patience that has no end it would never stop.
TEST_F(ScanTest, WhatIsPublishedIsSeen) {
    if (!device().is_simulated()) GTEST_SKIP() << "nobody promises that those waited for go on";
    for_each_tier_and_look_back([&](Tier tier, ScanStrategy strategy) {
        for (const bool atomic64 : {false, true}) {
            Caps caps = device().caps();
            if (atomic64 && !caps.int64_atomics) continue;
            caps.int64_atomics = atomic64;
            SCOPED_TRACE(atomic64 ? "words" : "halves");
            ScanDesc desc{.max_count = 9 * tiny_tile() + 5, .tier = tier, .policy = tiny(strategy)};
            desc.policy->max_groups = 64;
            desc.policy->patience = ~0u;
            ScanRunner runner(device(), desc, caps);
            ASSERT_TRUE(runner);
            runner.expect_right(make_scan_elements(desc, desc.max_count, 1).bytes());
            runner.expect_right(make_scan_elements(desc, desc.max_count - tiny_tile(), 2).bytes());
        }
    });
}

// As many uses as there are epochs in halves of words, and some more. With a patience that has no
// end a use would never stop that does not see what is published in its epoch.
TEST_F(ScanTest, MoreUsesThanEpochs) {
    if (!device().is_simulated()) GTEST_SKIP() << "nobody promises that those waited for go on";
    if (has_small_subgroups() && !test_all()) GTEST_SKIP() << "takes long here";
    const Tier tier = subgroup_tier();
    claim(tier);
    Caps caps = device().caps();
    caps.int64_atomics = false;
    const std::uint32_t count = tiny_tile() + 1;
    ScanDesc desc{.max_count = count, .tier = tier, .policy = tiny(ScanStrategy::look_back)};
    desc.policy->max_groups = 64;
    desc.policy->patience = ~0u;
    const auto plan = plan_scan(caps, desc);
    ASSERT_TRUE(plan);
    const auto executable = device().prepare(*plan);
    ASSERT_TRUE(executable) << executable.error().message;
    const PlainUse memory = make_plain_use(device(), *plan);
    const auto use = (*executable)->bind(memory.buffers(*plan), count);
    ASSERT_TRUE(use) << use.error().message;
    const Elements data = make_scan_elements(desc, count, 1);
    ASSERT_TRUE(memory.input->write(0, data.bytes()));
    for (std::uint32_t run = 0; run < (1u << 14) + 20; ++run) {
        ASSERT_TRUE((*use)->run({.replay = true})) << "run " << run;
        count_dispatch(tier);
        if (run % 256 != 0 && run < (1u << 14) - 20) continue;
        std::vector<std::byte> result(count * std::size_t{4});
        ASSERT_TRUE(memory.output->read(0, result));
        std::string why;
        ASSERT_TRUE(scan_matches(desc, data.bytes(), result, &why)) << "run " << run << ": " << why;
    }
}

// What a use with few items leaves behind must not be seen by the next one with many, nor the other
// way round.
TEST_F(ScanTest, ReplaysWithTheCountInABuffer) {
    const std::uint32_t tile = tiny_tile();
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        const ScanDesc desc = standard(tier, strategy);
        const auto max_count = static_cast<std::uint32_t>(desc.max_count);
        const auto plan = plan_scan(device().caps(), desc);
        ASSERT_TRUE(plan);
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable);
        const PlainUse memory = make_plain_use(device(), *plan);
        const auto use = (*executable)->bind(memory.buffers(*plan), memory.count_range(*plan));
        ASSERT_TRUE(use) << use.error().message;
        for (const std::uint32_t count :
             {max_count, 0u, 1u, 5 * tile + 1, max_count - 1, 0u, 5 * tile, 99999u, tile}) {
            const Elements data = make_scan_elements(desc, max_count, count);
            ASSERT_TRUE(memory.input->write(0, data.bytes()));
            ASSERT_TRUE(memory.count->write(
                0, bytes_of(std::vector<std::uint64_t>{count})));  // the low word is the first
            ASSERT_TRUE(memory.output->write(0, poison(max_count * std::size_t{4})));
            ASSERT_TRUE((*use)->run({.replay = true}));
            count_dispatch(tier);
            std::vector<std::byte> result(max_count * std::size_t{4});
            ASSERT_TRUE(memory.output->read(0, result));
            std::string why;
            const std::size_t used = std::min(count, max_count) * std::size_t{4};
            EXPECT_TRUE(scan_matches(desc, std::span(data.bytes()).first(used),
                                     std::span(result).first(used), &why))
                << count << ": " << why;
            EXPECT_TRUE(
                std::ranges::equal(std::span(result).subspan(used), poison(result.size() - used)))
                << count << ": outputs past the count were written";
        }
    });
}

// The data of users: all of a plan's own choosing, no policy given.
TEST_F(ScanTest, DefaultPolicies) {
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const std::size_t count :
             {std::size_t{1000}, std::size_t{device().is_simulated() ? 20003u : 200003u}}) {
            for (const auto& [element, op] :
                 {std::pair{Scalar::u32, Operator::sum}, std::pair{Scalar::f32, Operator::argmax},
                  std::pair{Scalar::u8, Operator::max}}) {
                if (!takes(turn++, tier, 3)) continue;
                SCOPED_TRACE(fmt::format("{} of {}", to_text(op), count));
                const ScanDesc desc{.element = element, .op = op, .max_count = count, .tier = tier};
                ScanRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                runner.expect_right(make_scan_elements(desc, count, 21).bytes());
                runner.expect_right(make_scan_elements(desc, count / 3, 22).bytes());
                runner.expect_right(make_scan_elements(desc, count - 1, 23).bytes(),
                                    {.count_in_buffer = true});
            }
        }
    });
}

TEST_F(ScanTest, SecondaryCommandBuffers) {
    if (!device().is_vulkan()) GTEST_SKIP() << "only Vulkan has such command buffers";
    for_each_tier_and_strategy([&](Tier tier, ScanStrategy strategy) {
        const ScanDesc desc = standard(tier, strategy);
        ScanRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        const Elements data = make_scan_elements(desc, 11 * tiny_tile() + 9, 6);
        runner.expect_right(data.bytes(), {.secondary = true});
        runner.expect_right(data.bytes(), {.count_in_buffer = true, .secondary = true});
    });
}

// GPU-assisted validation sees accesses out of bounds that fall between the guards. Here always, in
// the other tests with LANEWISE_TEST_ALL.
class GpuAssistedScan : public DeviceTest {};

TEST_F(GpuAssistedScan, NoAccessIsOutOfBounds) {
    if (device().is_simulated()) GTEST_SKIP() << "the simulator sees them in every test";
    if (!device().is_vulkan()) GTEST_SKIP() << "Vulkan's validation";
    if (is_sanitized() && !test_all()) GTEST_SKIP() << "about kernels: the other build runs it";
    RigScope assisted(Rig::assisted());
    ASSERT_TRUE(assisted);
    std::size_t turn = 0;
    for (const Tier tier : kTiers) {
        if (!lacking(assisted->caps(), tier).empty()) continue;
        claim(tier);
        for (const ScanStrategy strategy : kStrategies) {
            // Both addressings, each with every tier and every strategy in turn.
            const bool by_address = turn % 2 == 1 && assisted->caps().device_addresses;
            const Addressing addressing =
                by_address ? Addressing::device_address : Addressing::descriptor;
            const Types types = std::array{kTypes[10], kTypes[0], kTypes[14], kTypes[6]}[turn % 4];
            // Not all that look back have room for an index.
            const bool picks = turn % 3 == 0 && !looks_back(strategy);
            const Operator op = picks ? Operator::argmin : Operator::sum;
            const Direction direction = kDirections[turn / 2 % 2];
            ++turn;
            if (!test_all() && (turn + static_cast<std::size_t>(tier)) % 4 != 0) continue;
            const Row row{types,     op,         tier,
                          strategy,  addressing, ScanKind::inclusive,
                          direction, false,      {32, 1, 5, 2, 16}};
            if (!possible(assisted->caps(), row)) continue;
            SCOPED_TRACE(row.name());
            const std::vector<std::uint64_t> sizes = sizes_of(row, assisted->caps());
            const ScanDesc desc = row.desc(sizes.back());
            ScanRunner runner(*assisted, desc);
            ASSERT_TRUE(runner);
            for (std::size_t i = turn % 2; i < sizes.size(); i += 2) {
                runner.expect_right(make_scan_elements(desc, sizes[i], i).bytes(),
                                    {.count_in_buffer = i / 2 % 2 == 0, .timestamps = false});
            }
            fail_on_messages(assisted->take_messages());
        }
    }
}

}  // namespace
}  // namespace lanewise::test
