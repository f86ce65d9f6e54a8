// sort on a device: the conformance matrix (every tier, strategy, addressing, key, value, order and
// range of bits, at sizes where such kernels break), then what the header promises of values, of
// ping-pong and of tiles that never publish, and the faults that users of other libraries met. The
// passes are sort_workgroup; sort_counts, sort_offsets and sort_scatter; sort_histograms,
// sort_bases and sort_lookback; sort_bitonic.
#include "lanewise/sort.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "primitives/sort/sort_reference.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/sort_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

constexpr SortStrategy kStrategies[] = {SortStrategy::one_workgroup,
                                        SortStrategy::count_then_scatter, SortStrategy::look_back,
                                        SortStrategy::bitonic};
// Those of one workgroup, which sort one tile.
bool is_alone(SortStrategy strategy) {
    return strategy == SortStrategy::one_workgroup || strategy == SortStrategy::bitonic;
}
constexpr Scalar kKeys[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                            Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                            Scalar::u64, Scalar::i64, Scalar::f64};
constexpr SortOrder kOrders[] = {SortOrder::ascending, SortOrder::descending};
// Bytes of a value; 1 stands for argsort.
constexpr std::uint32_t kValues[] = {0, 4, 8, 12, 16, 1};
constexpr std::uint32_t kArgsort = 1;

// Which bits count, for keys of any width.
enum class Bits : std::uint8_t { all, low, middle, high, odd };
constexpr Bits kBits[] = {Bits::all, Bits::low, Bits::middle, Bits::high, Bits::odd};

std::pair<std::uint32_t, std::uint32_t> range_of(Bits bits, std::uint32_t width) {
    switch (bits) {
        case Bits::all: return {0, width};
        case Bits::low: return {0, width / 2};
        case Bits::middle: return {width / 4, width / 4 * 3};
        case Bits::high: return {width - width / 4, width};
        case Bits::odd: return {width / 8 + 1, width - 2};  // no multiple of a digit
    }
    return {};
}

// Tiny, so that a few hundred items cross many tiles, and workgroups take several.
struct TinyPolicy {
    std::uint32_t workgroup_size;
    std::uint32_t items;
    std::uint32_t digit_bits;
    std::uint32_t max_groups;
    std::uint32_t patience;
};
constexpr TinyPolicy kPolicies[] = {
    {16, 1, 4, 3, 4},  {32, 3, 8, 5, 1}, {64, 2, 2, 3, 64},     {16, 5, 3, 4, 2},
    {32, 4, 7, 7, 16}, {64, 1, 1, 6, 8}, {128, 2, 5, 16, 4096},
};

SortPolicy policy_of(const TinyPolicy& tiny, SortStrategy strategy) {
    return {.strategy = strategy,
            .workgroup_size = tiny.workgroup_size,
            .items = tiny.items,
            .digit_bits = tiny.digit_bits,
            .max_groups = tiny.max_groups,
            .patience = tiny.patience};
}

struct Row {
    Scalar key = Scalar::u32;
    std::uint32_t values = 0;
    SortOrder order = SortOrder::ascending;
    Tier tier = Tier::barrier;
    SortStrategy strategy = SortStrategy::count_then_scatter;
    Addressing addressing = Addressing::descriptor;
    TinyPolicy policy{};
    SortData data = SortData::hashed;
    Bits bits = Bits::all;
    bool ping_pong = false;

    SortDesc desc(std::uint64_t max_count) const {
        SortDesc made{.key = key,
                      .value_bytes = values == kArgsort ? 0 : values,
                      .argsort = values == kArgsort,
                      .order = order,
                      .ping_pong = ping_pong,
                      .max_count = max_count,
                      .tier = tier,
                      .addressing = addressing,
                      .policy = policy_of(policy, strategy)};
        const auto [begin, end] = range_of(bits, size_of(key) * 8);
        made.begin_bit = begin;
        if (bits != Bits::all) made.end_bit = end;
        return made;
    }
    std::uint32_t tile() const { return policy.workgroup_size * policy.items; }
    std::string name() const {
        const auto [begin, end] = range_of(bits, size_of(key) * 8);
        const std::string what = values == kArgsort ? "indices"
                                 : values == 0      ? "alone"
                                                    : fmt::format("with{}", values);
        return fmt::format("{}_{}_{}_{}to{}{}_{}_{}_{}_w{}x{}d{}g{}p{}_{}", to_text(key), what,
                           to_text(order), begin, end, ping_pong ? "_pingpong" : "", to_text(tier),
                           to_text(strategy), to_text(addressing), policy.workgroup_size,
                           policy.items, policy.digit_bits, policy.max_groups, policy.patience,
                           to_text(data));
    }
};

// gtest prints parameters with this.
void PrintTo(const Row& row, std::ostream* out) { *out << row.name(); }

// Combinations that mean something and that the device can do.
bool possible(const Caps& caps, const Row& row) {
    if (!lacking(caps, row.tier).empty()) return false;
    if (row.addressing == Addressing::device_address && !caps.device_addresses) return false;
    if (!has_workgroups(caps, row.tier, row.policy.workgroup_size)) return false;
    if (row.strategy == SortStrategy::bitonic) {
        if (!std::has_single_bit(row.policy.items) || row.policy.items < 2) return false;
    } else if (row.tier == Tier::barrier && row.policy.digit_bits > 4) {
        return false;
    }
    return !row.ping_pong || (size_of(row.key) >= 4 && row.values != kArgsort);
}

// The matrix as numbers: a row is one choice for each factor.
const std::vector<std::size_t> kSizes = {std::size(kKeys),       std::size(kValues),
                                         std::size(kOrders),     std::size(kTiers),
                                         std::size(kStrategies), 2,
                                         std::size(kPolicies),   std::size(kSortData),
                                         std::size(kBits),       2};

Row row_of(const Choice& choice) {
    return {kKeys[choice[0]],
            kValues[choice[1]],
            kOrders[choice[2]],
            kTiers[choice[3]],
            kStrategies[choice[4]],
            choice[5] == 0 ? Addressing::descriptor : Addressing::device_address,
            kPolicies[choice[6]],
            kSortData[choice[7]],
            kBits[choice[8]],
            choice[9] == 1};
}

// One row of how many is taken. A driver takes half a second to compile what a simulated device
// runs in a twentieth.
std::size_t share_of_rows() {
    // All choices are more rows than anybody waits for: a share of them, prime to the factors.
    if (test_all()) return TestDevice::shared().is_simulated() ? 97 : 397;
    if (!TestDevice::shared().is_simulated()) return 14;
    // Rows differ in the kernels that they run, hardly in the host code.
    if (is_sanitized()) return 6;
    return has_small_subgroups() ? 3 : 1;
}

std::vector<Row> rows_here() {
    const Caps& caps = TestDevice::shared().caps();
    const auto can = [&](const Choice& choice) { return possible(caps, row_of(choice)); };
    const std::vector<Choice> choices =
        test_all() ? all_choices(kSizes, can) : pairwise_choices(kSizes, can);
    const std::size_t step = share_of_rows();
    std::vector<Row> some;
    for (std::size_t i = device_number() % step; i < choices.size(); i += step)
        some.push_back(row_of(choices[i]));
    return some;
}

// Sizes where tails, lanes, subgroups, tiles and workgroups begin and end.
std::vector<std::uint64_t> sizes_of(const Row& row, const Caps& caps) {
    const std::uint64_t tile = row.tile();
    const std::uint64_t group = row.policy.workgroup_size;
    const std::uint64_t subgroup = std::max(caps.subgroup.size, 4u);
    const std::uint64_t full = tile * row.policy.max_groups;  // one tile for each workgroup
    const std::set<std::uint64_t> sizes{0,
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
    std::vector<std::uint64_t> all(sizes.begin(), sizes.end());
    if (is_alone(row.strategy)) std::erase_if(all, [&](std::uint64_t size) { return size > tile; });
    // The simulator takes all of a test's time for the largest.
    if (TestDevice::shared().is_simulated() && !test_all())
        std::erase_if(all, [&](std::uint64_t size) { return size > 1000 && size > 3 * tile; });
    return all;
}

class SortMatrix : public DeviceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(SortMatrix, AtEverySize) {
    const Row& row = GetParam();
    claim(row.tier);
    const std::vector<std::uint64_t> sizes = sizes_of(row, device().caps());
    const std::uint64_t max_count = sizes.back();
    const SortDesc desc = row.desc(max_count);
    SortRunner runner(device(), desc);
    ASSERT_TRUE(runner);
    EXPECT_EQ(runner.plan().addressing, row.addressing);
    if (!is_alone(row.strategy)) {
        EXPECT_GT(share_out(runner.plan().share, max_count).groups, 1u)
            << "one workgroup is no test of many";
    }
    const std::uint64_t seed = hash(std::hash<std::string>()(row.name()));

    // Up with the count on the host, down with it in a buffer: one Executable, sizes both ways. A
    // size takes one of the two each time it comes up in another row; the end takes both.
    for (std::size_t i = 0; i < sizes.size() * 2; ++i) {
        const bool in_buffer = i >= sizes.size();
        const std::size_t at = in_buffer ? sizes.size() * 2 - 1 - i : i;
        const std::uint64_t count = sizes[at];
        const bool both = test_all() || count == max_count;
        if (!both && ((at + seed) % 2 == 0) != in_buffer) continue;
        SCOPED_TRACE(
            fmt::format("{} items, count {}", count, in_buffer ? "in a buffer" : "on the host"));
        const Elements keys = make_sort_keys(desc, count, seed + i, row.data);
        RunOptions options{.count_in_buffer = in_buffer, .timestamps = i % 4 == 0};
        // Above the maximum means the maximum, however far above.
        if (in_buffer && count == max_count) {
            options.count_value = row.addressing == Addressing::device_address
                                      ? (std::uint64_t{1} << 32) + 1
                                      : std::uint64_t{0xffffffff};
        }
        runner.expect_right_with_values(keys.bytes(), seed + i, options);
        if (HasFailure()) return;  // one size says it; the rest repeats it
    }
}

INSTANTIATE_TEST_SUITE_P(Sort, SortMatrix, ::testing::ValuesIn(rows_here()),
                         [](const auto& row) { return row.param.name(); });

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
}

using U32 = std::vector<std::uint32_t>;

U32 iota(std::size_t count) {
    U32 all(count);
    std::iota(all.begin(), all.end(), 0u);
    return all;
}

class SortTest : public TierTest {
protected:
    // Calls f with each tier and each strategy: every device has all of them.
    template <class F>
    void for_each_tier_and_strategy(F&& f) {
        for_each_tier([&](Tier tier) {
            for (const SortStrategy strategy : kStrategies) {
                SCOPED_TRACE(to_text(strategy));
                f(tier, strategy);
            }
        });
    }

    // The same with the strategies that cut the input into tiles.
    template <class F>
    void for_each_tier_and_tiled_strategy(F&& f) {
        for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
            if (!is_alone(strategy)) f(tier, strategy);
        });
    }
    // Drivers have one of the tiers, each another one, where a test takes long.
    template <class F>
    void for_some_tiers(F&& f) {
        std::vector<Tier> tiers;
        for (const Tier tier : kTiers) {
            if (lacking(device().caps(), tier).empty()) tiers.push_back(tier);
        }
        if (!device().is_simulated() && !test_all())
            tiers = {tiers[device_number() % tiers.size()]};
        for (const Tier tier : tiers) {
            SCOPED_TRACE(to_text(tier));
            claim(tier);
            f(tier);
        }
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
    static bool takes(SortStrategy strategy, Tier tier, std::size_t drivers,
                      std::size_t simulated = 1) {
        return takes(static_cast<std::size_t>(strategy), tier, drivers, simulated);
    }

    static std::uint32_t lanes() { return std::max(device().caps().subgroup.size, 4u); }
    // As small as every tier can be.
    static std::uint32_t workgroup() { return std::max(16u, lanes()); }
    static std::uint32_t items() { return workgroup() == 16 ? 3 : workgroup() == 32 ? 2 : 1; }
    static std::uint32_t tile() { return workgroup() * items(); }
    // That a single workgroup sorts: several for each of its invocations.
    static std::uint32_t largest_tile() { return workgroup() * 8; }

    static SortPolicy tiny(SortStrategy strategy) {
        return {.strategy = strategy,
                .workgroup_size = workgroup(),
                .items = is_alone(strategy) ? 8 : items(),
                .digit_bits = 4,
                .max_groups = 3,
                .patience = 16};
    }

    // What tests have where it does not matter: the same in all of them, so that it is compiled
    // once, and two digits, each of which drivers compile for itself. Orders take turns.
    static SortDesc standard(Tier tier, SortStrategy strategy) {
        const auto form = static_cast<std::size_t>(tier) + static_cast<std::size_t>(strategy);
        return {.value_bytes = 4,
                .order = kOrders[form % 2],
                .end_bit = 8,
                .max_count = is_alone(strategy) ? largest_tile() : 11 * tile() + 1,
                .tier = tier,
                .policy = tiny(strategy)};
    }
    // The same of so many items, however large the tile that one workgroup sorts then is.
    static SortDesc standard(Tier tier, SortStrategy strategy, std::uint64_t max_count) {
        SortDesc desc = standard(tier, strategy);
        desc.max_count = max_count;
        if (is_alone(strategy) && max_count > largest_tile()) {
            // 16 items, of 12 bytes at most, in half of what any device has of workgroup memory.
            desc.policy->workgroup_size = std::bit_ceil(static_cast<std::uint32_t>(
                std::max<std::uint64_t>(workgroup(), (max_count + 15) / 16)));
            desc.policy->items = 16;
        }
        return desc;
    }

    // All bits of the key, in digits as wide as the tier has them.
    static SortDesc whole_keys(Tier tier, SortStrategy strategy) {
        SortDesc desc = standard(tier, strategy);
        desc.end_bit.reset();
        if (tier != Tier::barrier) desc.policy->digit_bits = 8;
        return desc;
    }

    // The order of `keys`, as indices, in so many words.
    template <class T>
    static void expect_indices(SortDesc desc, const std::vector<T>& keys, const U32& expected) {
        desc.value_bytes = 0;
        desc.argsort = true;
        desc.max_count = std::max<std::uint64_t>(desc.max_count, keys.size());
        SortRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        const auto sorted = runner.run(bytes_of(keys));
        ASSERT_TRUE(sorted);
        EXPECT_EQ(values_of<std::uint32_t>(sorted->values), expected);
    }
};

// The rig must have the tiers that this device is here for: what is never possible is never tested.
TEST_F(SortTest, DeviceHasItsTiersAndStrategies) {
    const Caps& caps = device().caps();
    std::set<std::pair<Tier, SortStrategy>> found;
    std::set<std::pair<Scalar, SortStrategy>> types;
    for (const Row& row : rows_here()) {
        found.insert({row.tier, row.strategy});
        types.insert({row.key, row.strategy});
    }
    for (const Tier tier : kTiers) {
        for (const SortStrategy strategy : kStrategies) {
            if (share_of_rows() == 1) {
                EXPECT_EQ(found.contains({tier, strategy}), lacking(caps, tier).empty())
                    << to_text(tier) << ' ' << to_text(strategy);
            }
            if (!lacking(caps, tier).empty()) continue;
            for (const auto addressing : {Addressing::descriptor, Addressing::device_address}) {
                if (addressing == Addressing::device_address && !caps.device_addresses) continue;
                SortDesc desc = standard(tier, strategy);
                desc.addressing = addressing;
                const auto plan = plan_sort(caps, desc);
                EXPECT_TRUE(plan) << to_text(tier) << ' ' << to_text(strategy) << ": "
                                  << plan.error().message;
            }
        }
    }
    for (const Scalar key : kKeys) {
        for (const SortStrategy strategy : kStrategies) {
            if (share_of_rows() > 1) continue;  // not every pair is among them
            EXPECT_TRUE(types.contains({key, strategy}))
                << to_text(key) << ' ' << to_text(strategy);
        }
    }
}

// B3: one total order, NaNs and zeros included, and bits come back unchanged.
TEST_F(SortTest, FloatsAreInTheTotalOrder) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float d = std::numeric_limits<float>::denorm_min();
    const float inf = std::numeric_limits<float>::infinity();
    const std::vector<float> f32{3, nan, -0.0f, 0.0f, -inf, d, -d, inf, -2.5f};
    const std::vector<double> f64{3,
                                  std::numeric_limits<double>::quiet_NaN(),
                                  -0.0,
                                  0.0,
                                  -inf,
                                  std::numeric_limits<double>::denorm_min(),
                                  -std::numeric_limits<double>::denorm_min(),
                                  inf,
                                  -2.5};
    const std::vector<std::uint16_t> f16{0x4200, 0x7e00, 0x8000, 0x0000, 0xfc00,
                                         0x0001, 0x8001, 0x7c00, 0xc100};
    const U32 ascending{4, 8, 6, 2, 3, 5, 0, 7, 1};
    const auto in_order = [&](SortOrder order) {
        return order == SortOrder::ascending ? ascending
                                             : U32(ascending.rbegin(), ascending.rend());
    };
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        if (!takes(strategy, tier, 3)) return;
        SortDesc desc = whole_keys(tier, strategy);
        desc.key = Scalar::f16;
        expect_indices(desc, f16, in_order(desc.order));
    });
    for_some_tiers([&](Tier tier) {
        for (const SortStrategy strategy : kStrategies) {
            if (!takes(strategy, tier, 3)) continue;
            SortDesc desc = whole_keys(tier, strategy);
            desc.key = Scalar::f64;
            if (device().is_simulated()) expect_indices(desc, f64, in_order(desc.order));
            desc.key = Scalar::f32;
            expect_indices(desc, f32, in_order(desc.order));
            // NaNs by sign and payload.
            desc.value_bytes = 0;
            desc.order = SortOrder::ascending;
            SortRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            const auto sorted = runner.run(bytes_of(
                U32{0x7fc00001, 0xff800001, 0x7f800000, 0xffffffff, 0xff800000, 0x7fc00000}));
            ASSERT_TRUE(sorted);
            EXPECT_EQ(
                values_of<std::uint32_t>(sorted->keys),
                (U32{0xffffffff, 0xff800001, 0xff800000, 0x7f800000, 0x7fc00000, 0x7fc00001}));
        }
    });
}

// B4: -0 and +0 are two keys.
TEST_F(SortTest, ZerosDifferInSign) {
    const std::vector<float> keys{0.0f, -0.0f, 0.0f, -0.0f};
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        if (!takes(strategy, tier, 3)) return;
        SortDesc desc = standard(tier, strategy);
        desc.key = Scalar::f32;
        desc.begin_bit = 24;
        desc.end_bit.reset();
        SortRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        const auto sorted = runner.run(bytes_of(keys), bytes_of(iota(4)));
        ASSERT_TRUE(sorted);
        const bool up = desc.order == SortOrder::ascending;
        EXPECT_EQ(values_of<std::uint32_t>(sorted->values),
                  (up ? U32{1, 3, 0, 2} : U32{0, 2, 1, 3}));
        EXPECT_EQ(values_of<std::uint32_t>(sorted->keys),
                  (up ? U32{0x80000000, 0x80000000, 0, 0} : U32{0, 0, 0x80000000, 0x80000000}));
    });
}

// B5: negative floats, in both orders; denormals are not flushed.
TEST_F(SortTest, NegativeFloatsInBothOrders) {
    // -1.5, 2, -3, 0.5, -0.25 and denormals of both signs.
    const std::vector<std::uint16_t> keys{0xbe00, 0x4000, 0xc200, 0x3800, 0xb400,
                                          0x0002, 0x0001, 0x8001, 0x8002};
    const U32 ascending{2, 0, 4, 8, 7, 6, 5, 3, 1};
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        for (const SortOrder order : kOrders) {
            if (!takes(static_cast<std::size_t>(strategy) * 2 + static_cast<std::size_t>(order),
                       tier, 6))
                continue;
            SortDesc desc = whole_keys(tier, strategy);
            desc.key = Scalar::f16;
            desc.order = order;
            const bool up = order == SortOrder::ascending;
            expect_indices(desc, keys, up ? ascending : U32(ascending.rbegin(), ascending.rend()));
        }
    });
    const std::vector<float> f32{-1.5f, 2, -3, 0.5f, -0.25f};
    for_some_tiers([&](Tier tier) {
        for (const SortStrategy strategy : kStrategies) {
            if (!takes(strategy, tier, 3)) continue;
            SortDesc desc = whole_keys(tier, strategy);
            desc.key = Scalar::f32;
            desc.value_bytes = 0;
            desc.order = SortOrder::ascending;  // as the test before has it: compiled once
            SortRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            const auto sorted = runner.run(bytes_of(f32));
            ASSERT_TRUE(sorted);
            EXPECT_EQ(values_of<float>(sorted->keys),
                      (std::vector<float>{-3, -1.5f, -0.25f, 0.5f, 2}));
            const auto denormals = runner.run(bytes_of(U32{2, 1, 0x80000001, 0x80000002}));
            ASSERT_TRUE(denormals);
            EXPECT_EQ(values_of<std::uint32_t>(denormals->keys),
                      (U32{0x80000002, 0x80000001, 1, 2}));
        }
    });
}

// B6: a key of all bits set (as a float a NaN), or of none, is a key like others: no padding is
// taken for an item, and no item for padding.
TEST_F(SortTest, ExtremeKeysAreNoPadding) {
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        std::size_t turn = static_cast<std::size_t>(strategy) * 4;
        for (const Scalar key : {Scalar::u32, Scalar::f32}) {
            for (const SortOrder order : kOrders) {
                if (!takes(turn++, tier, 6)) continue;
                SortDesc desc = standard(tier, strategy);
                desc.key = key;
                desc.order = order;
                SCOPED_TRACE(fmt::format("{} {}", to_text(key), to_text(order)));
                SortRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                for (const std::size_t count : {std::size_t{tile() - 1}, std::size_t{tile() + 1},
                                                static_cast<std::size_t>(desc.max_count)}) {
                    for (const std::uint32_t bits : {0xffffffffu, 0u}) {
                        const auto sorted =
                            runner.run(bytes_of(U32(count, bits)), bytes_of(iota(count)));
                        ASSERT_TRUE(sorted);
                        EXPECT_EQ(values_of<std::uint32_t>(sorted->values), iota(count));
                        EXPECT_EQ(values_of<std::uint32_t>(sorted->keys), U32(count, bits));
                    }
                }
            }
        }
    });
}

// B8: equal keys keep their order, which every pass of a radix sort stands on.
TEST_F(SortTest, EqualKeysKeepTheirOrder) {
    const std::size_t count = 4097;
    U32 keys(count);
    for (std::uint32_t i = 0; i < count; ++i) keys[i] = 7 * i % 4;
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        const bool alone = is_alone(strategy);
        if (!takes(alone ? 0 : static_cast<std::size_t>(strategy), tier, 2)) return;
        SortDesc desc = standard(tier, strategy, count);
        desc.order = SortOrder::ascending;
        desc.end_bit = 4;
        const auto plan = plan_sort(device().caps(), desc);
        // A single workgroup's memory holds no such tile on all devices.
        if (alone && !plan) {
            EXPECT_EQ(plan.error().code, ErrorCode::limit_exceeded) << plan.error().message;
            return;
        }
        SortRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        const auto sorted = runner.run(bytes_of(keys), bytes_of(iota(count)));
        ASSERT_TRUE(sorted);
        const U32 values = values_of<std::uint32_t>(sorted->values);
        ASSERT_EQ(values.size(), count);
        EXPECT_EQ((U32{values[0], values[1], values[2]}), (U32{0, 4, 8}));
        EXPECT_EQ((U32{values[4094], values[4095], values[4096]}), (U32{4085, 4089, 4093}));
        const U32 in_order = values_of<std::uint32_t>(sorted->keys);
        EXPECT_EQ(std::ranges::count(in_order, 0u), 1025);
        for (const std::uint32_t key : {1u, 2u, 3u})
            EXPECT_EQ(std::ranges::count(in_order, key), 1024);
        expect_sorted(desc, bytes_of(keys), bytes_of(iota(count)), *sorted);
    });
}

// B9: ranges of bits, with answers in so many words.
TEST_F(SortTest, RangesOfBits) {
    const U32 keys{0x00100003, 0x00100001, 0xfff00000, 2, 9, 0x80000007};
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        SortDesc desc = standard(tier, strategy);
        desc.order = SortOrder::ascending;
        const auto expect = [&](std::uint32_t begin, std::optional<std::uint32_t> end,
                                const U32& order, std::size_t turn) {
            if (!takes(turn + static_cast<std::size_t>(strategy), tier, 3)) return;
            SCOPED_TRACE(fmt::format("bits from {}", begin));
            desc.begin_bit = begin;
            desc.end_bit = end;
            expect_indices(desc, keys, order);
        };
        expect(20, 32, {3, 4, 0, 1, 5, 2}, 0);
        expect(20, std::nullopt, {3, 4, 0, 1, 5, 2}, 1);
        expect(0, 8, {2, 1, 3, 0, 5, 4}, 2);
        expect(13, 13, {0, 1, 2, 3, 4, 5}, 0);
    });
}

// B9: no bits at all: a copy, whatever the size and the order.
TEST_F(SortTest, NoBitsLeaveEverythingWhereItStands) {
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        std::size_t turn = static_cast<std::size_t>(strategy) * 4;
        for (const std::uint32_t values : {0u, 4u, 12u, kArgsort}) {
            for (const bool ping_pong : {false, true}) {
                if (!takes(turn++, tier, 8, 2)) continue;
                if (ping_pong && values == kArgsort) continue;
                SortDesc desc = standard(tier, strategy);
                desc.value_bytes = values == kArgsort ? 0 : values;
                desc.argsort = values == kArgsort;
                desc.ping_pong = ping_pong;
                desc.begin_bit = static_cast<std::uint32_t>(turn * 5 % 33);
                desc.end_bit = desc.begin_bit;
                SCOPED_TRACE(
                    fmt::format("{} bytes of values{}", values, ping_pong ? ", ping-pong" : ""));
                SortRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                for (const std::size_t count :
                     {std::size_t{0}, std::size_t{5}, std::size_t{5 * tile()}}) {
                    if (count > desc.max_count) continue;
                    const Elements keys = make_sort_keys(desc, count, count);
                    for (const bool in_buffer : {false, true})
                        runner.expect_right_with_values(keys.bytes(), count,
                                                        {.count_in_buffer = in_buffer});
                }
            }
        }
    });
}

// B9: every beginning with every end, or every so many of them. No key is lost.
TEST_F(SortTest, EveryRangeOfBits) {
    const std::size_t count = 2 * tile() + 7;
    // Of 2904 ranges. Each has passes of its own, which drivers compile.
    const std::size_t step = test_all() ? 31 : device().is_simulated() ? 401 : 1409;
    const std::uint32_t widest = device().is_simulated() || test_all() ? 64 : 9;
    std::size_t turn = 0;
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        for (const Scalar key : {Scalar::i32, Scalar::u8, Scalar::f64, Scalar::f16}) {
            const std::uint32_t width = size_of(key) * 8;
            for (std::uint32_t begin = 0; begin <= width; ++begin) {
                for (std::uint32_t end = begin; end <= std::min(width, begin + widest); ++end) {
                    if ((turn++ + device_number()) % step != 0) continue;
                    SCOPED_TRACE(fmt::format("{}: bits {} to {}", to_text(key), begin, end));
                    SortDesc desc = standard(tier, strategy, count);
                    desc.key = key;
                    desc.begin_bit = begin;
                    desc.end_bit = end;
                    desc.policy->digit_bits = static_cast<std::uint32_t>(1 + turn % 4);
                    SortRunner runner(device(), desc);
                    ASSERT_TRUE(runner);
                    runner.expect_right_with_values(
                        make_sort_keys(desc, count, turn, kSortData[turn % 6]).bytes(), turn);
                }
            }
        }
    });
}

// A1: an empty input has no output, and writes nothing, on the host and from a buffer; then the
// next use is right.
TEST_F(SortTest, EmptyInputWritesNothing) {
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        SortDesc desc = standard(tier, strategy);
        SortRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        runner.expect_right({});
        runner.expect_right({}, {}, {.count_in_buffer = true});
        runner.expect_right_with_values(make_sort_keys(desc, 100, 3).bytes(), 3);
        if (!takes(strategy, tier, 3)) return;
        desc.max_count = 0;
        SortRunner none(device(), desc);
        ASSERT_TRUE(none);
        none.expect_right({});
        none.expect_right({}, {}, {.count_in_buffer = true});
        // Clamped to max_count, which is 0.
        none.expect_right({}, {}, {.count_in_buffer = true, .count_value = 12345});
    });
}

// Every number of items that a bitonic sort's workgroup holds (some, where it holds many): each
// stage with a last block of every length. Keys alone and with what tells equal ones apart; in
// every order that such networks are known to get wrong.
TEST_F(SortTest, EverySizeOfABitonicSort) {
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const std::uint32_t items : {2u, 4u, 16u}) {
            for (const std::uint32_t value_bytes : {0u, 4u}) {
                if (!takes(turn++, tier, 3)) continue;
                SortDesc desc = standard(tier, SortStrategy::bitonic);
                desc.value_bytes = value_bytes;
                if (value_bytes == 0) desc.end_bit.reset();
                desc.policy->items = items;
                desc.max_count = workgroup() * items;
                SCOPED_TRACE(fmt::format("{} items, {} bytes of values", items, value_bytes));
                SortRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                const std::size_t step = items < 16 ? 1 : 37;
                for (std::size_t count = 0; count <= desc.max_count; count += step) {
                    const SortData data = kSortData[count % std::size(kSortData)];
                    runner.expect_right_with_values(
                        make_sort_keys(desc, count, count, data).bytes(), count,
                        {.count_in_buffer = count % 2 == 0, .timestamps = false});
                    if (HasFailure()) return;
                }
                for (const SortData data : kSortData) {
                    runner.expect_right_with_values(
                        make_sort_keys(desc, desc.max_count, 2, data).bytes(), 2,
                        {.timestamps = false});
                }
                // Up to the middle and down again.
                U32 pipe(desc.max_count);
                for (std::size_t i = 0; i < pipe.size(); ++i)
                    pipe[i] = static_cast<std::uint32_t>(std::min(i, pipe.size() - 1 - i));
                runner.expect_right_with_values(bytes_of(pipe), 3, {.timestamps = false});
            }
        }
    });
}

// A network that sorts every input of zeros and ones sorts every input (Knuth, The Art of Computer
// Programming, volume 3, 5.3.4, theorem Z).
TEST_F(SortTest, EveryBitonicSortOfZerosAndOnes) {
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        if (!lacking(device().caps(), tier).empty()) continue;
        SCOPED_TRACE(to_text(tier));
        claim(tier);
        SortDesc desc = standard(tier, SortStrategy::bitonic);
        desc.value_bytes = 0;
        desc.end_bit.reset();
        desc.policy->workgroup_size = 4;
        desc.policy->items = 2;
        desc.max_count = 8;
        SortRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        for (std::uint32_t choice = 0; choice < 256; ++choice) {
            U32 keys(8);
            for (std::uint32_t i = 0; i < 8; ++i) keys[i] = choice >> i & 1;
            runner.expect_right(bytes_of(keys), {}, {.timestamps = false});
            if (HasFailure()) return;
        }
    }
}

// A2: every size from one tile to two, where a tail of every length follows a full tile.
TEST_F(SortTest, EverySizeFromOneTileToTwo) {
    const std::size_t step = device().is_simulated() && !test_all() ? 3 : 1;
    std::size_t turn = 0;
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        const SortDesc desc = standard(tier, strategy);
        SortRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        ++turn;
        const Elements keys = make_sort_keys(desc, 2 * tile(), turn,
                                             turn % 2 == 0 ? SortData::hashed : SortData::few);
        const auto values = make_sort_values(desc, 2 * tile(), turn);
        for (std::size_t count = tile() + turn % step; count <= 2 * tile(); count += step) {
            runner.expect_right(std::span(keys.bytes()).first(count * 4),
                                std::span(values).first(count * 4), {.timestamps = false});
            if (HasFailure()) return;
        }
    });
}

// A2 for keys of a byte: tails that begin and end inside words.
TEST_F(SortTest, EverySizeOfNarrowKeys) {
    const std::size_t step = device().is_simulated() && !test_all() ? 3 : 1;
    std::size_t turn = 0;
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        for (const Scalar key : {Scalar::i8, Scalar::u16}) {
            if (!takes(turn++, tier, 6, 2)) continue;
            SortDesc desc = standard(tier, strategy);
            desc.key = key;
            SortRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            const std::size_t size = size_of(key);
            const Elements keys = make_sort_keys(desc, tile() + 40, turn);
            const auto values = make_sort_values(desc, tile() + 40, turn);
            for (std::size_t count = turn % step; count <= tile() + 40; count += step) {
                runner.expect_right(std::span(keys.bytes()).first(count * size),
                                    std::span(values).first(count * 4), {.timestamps = false});
                if (HasFailure()) return;
            }
        }
    });
}

// A3, A4: more tiles than a dispatch has workgroups, with the limit lowered to 7, and 1.
TEST_F(SortTest, MoreTilesThanADispatchTakes) {
    for_each_tier_and_tiled_strategy([&](Tier tier, SortStrategy strategy) {
        for (const std::uint32_t groups : {7u, 1u}) {
            if (!takes(static_cast<std::size_t>(strategy) * 2 + groups / 7, tier, 4)) continue;
            Caps caps = device().caps();
            caps.limits.max_groups_x = groups;
            SortDesc desc = standard(tier, strategy, 3 * 7 * tile() + 1);
            desc.policy->max_groups = 1024;
            SortRunner runner(device(), desc, caps);
            ASSERT_TRUE(runner);
            EXPECT_LE(runner.plan().share.max_groups, groups);
            for (const std::size_t count : {std::size_t{7 * tile()}, std::size_t{7 * tile() + 1},
                                            static_cast<std::size_t>(desc.max_count)}) {
                SCOPED_TRACE(fmt::format("{} items, {} workgroups", count, groups));
                const Elements keys = make_sort_keys(desc, count, groups);
                for (const bool in_buffer : {false, true})
                    runner.expect_right_with_values(keys.bytes(), count,
                                                    {.count_in_buffer = in_buffer});
            }
        }
    });
}

// A3 at the limit that all APIs share: 65535 workgroups.
TEST_F(SortTest, OneMoreThan65535Tiles) {
    if (device().is_simulated()) GTEST_SKIP() << "a lowered limit shows it: the test before";
    Caps caps = device().caps();
    caps.limits.max_groups_x = 65535;
    for_each_tier([&](Tier tier) {
        for (const SortStrategy strategy :
             {SortStrategy::count_then_scatter, SortStrategy::look_back}) {
            if (!test_all() && strategy != SortStrategy::look_back) continue;
            SCOPED_TRACE(to_text(strategy));
            const std::uint32_t workgroup_size = workgroup();
            const SortDesc desc{.key = Scalar::u8,
                                .max_count = 65535 * workgroup_size + 1,
                                .tier = tier,
                                .policy = SortPolicy{.strategy = strategy,
                                                     .workgroup_size = workgroup_size,
                                                     .items = 1,
                                                     .digit_bits = 4,
                                                     .max_groups = 1u << 20}};
            SortRunner runner(device(), desc, caps);
            ASSERT_TRUE(runner);
            runner.expect_right(make_sort_keys(desc, desc.max_count, 1).bytes());
        }
    });
}

// A5: lesser limits than the device has lead to a plan that runs.
TEST_F(SortTest, FakeLimits) {
    const std::size_t count = 2000;
    for_some_tiers([&](Tier tier) {
        std::size_t turn = 0;
        for (const auto& [invocations, memory] :
             {std::pair{128u, 16384u}, std::pair{768u, 16384u}, std::pair{256u, 16384u}}) {
            if (tier == Tier::pinned && invocations < lanes()) continue;
            if (!takes(turn++, tier, 3)) continue;
            SCOPED_TRACE(fmt::format("{} invocations, {} bytes", invocations, memory));
            Caps caps = device().caps();
            caps.limits.max_workgroup_invocations =
                std::min(caps.limits.max_workgroup_invocations, invocations);
            caps.limits.max_workgroup_size_x =
                std::min(caps.limits.max_workgroup_size_x, invocations);
            caps.limits.max_workgroup_memory = memory;
            const SortDesc desc{.value_bytes = 4, .end_bit = 8, .max_count = count, .tier = tier};
            SortRunner runner(device(), desc, caps);
            ASSERT_TRUE(runner);
            for (const Pass& pass : runner.plan().passes) {
                EXPECT_LE(pass.workgroup_size, invocations);
                EXPECT_LE(pass.workgroup_memory, memory);
            }
            runner.expect_right_with_values(make_sort_keys(desc, count, 4).bytes(), 4);
        }
    });
}

// C1, C2: as many subgroups as a workgroup can have (64 of 4 lanes), and one alone.
TEST_F(SortTest, ManySubgroupsAndOne) {
    const std::uint32_t most = device().caps().limits.max_workgroup_invocations;
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        std::size_t turn = static_cast<std::size_t>(strategy) * 5;
        for (const std::uint32_t workgroup_size : {lanes(), lanes() * 2, 256u, most}) {
            if (!takes(turn++, tier, 4, 2)) continue;
            if (!has_workgroups(device().caps(), tier, workgroup_size)) continue;
            SCOPED_TRACE(fmt::format("W {}", workgroup_size));
            SortDesc desc = standard(tier, strategy);
            desc.policy->workgroup_size = workgroup_size;
            desc.policy->items = strategy == SortStrategy::bitonic ? 2 : 1;
            desc.policy->max_groups = 2;
            desc.max_count =
                is_alone(strategy) ? workgroup_size * desc.policy->items : workgroup_size * 3 + 7;
            const auto plan = plan_sort(device().caps(), desc);
            if (!plan && workgroup_size == most) {
                // For so many counters not every device has the workgroup memory.
                EXPECT_EQ(plan.error().code, ErrorCode::limit_exceeded) << plan.error().message;
                continue;
            }
            SortRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            runner.expect_right_with_values(make_sort_keys(desc, desc.max_count, 1).bytes(), 1);
            runner.expect_right_with_values(make_sort_keys(desc, workgroup_size, 2).bytes(), 2);
        }
    });
}

// C8: a workgroup smaller than a subgroup has a partial one.
TEST_F(SortTest, WorkgroupsSmallerThanASubgroup) {
    // Drivers take minutes to compile as many items as 100 keys take.
    const bool many = device().is_simulated() || test_all();
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        if (!lacking(device().caps(), tier).empty()) continue;
        claim(tier);
        std::size_t turn = 0;
        for (const std::uint32_t workgroup_size : {4u, 8u}) {
            for (const SortStrategy strategy : kStrategies) {
                if (!takes(turn++, tier, 6, 2)) continue;
                SCOPED_TRACE(
                    fmt::format("{} W {} {}", to_text(tier), workgroup_size, to_text(strategy)));
                SortDesc desc = standard(tier, strategy, 100);
                desc.policy->workgroup_size = workgroup_size;
                desc.policy->items = strategy == SortStrategy::bitonic ? (many ? 32 : 8)
                                     : is_alone(strategy)              ? (many ? 25 : 7)
                                                                       : 3;
                if (is_alone(strategy)) desc.max_count = desc.policy->items * workgroup_size;
                SortRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                for (const std::size_t count : {1u, 3u, 12u, 13u, 27u, 100u}) {
                    if (count > desc.max_count) continue;
                    runner.expect_right_with_values(make_sort_keys(desc, count, count).bytes(), 1);
                }
            }
        }
    }
}

// The most items and the most digits that a policy can have, and the least.
TEST_F(SortTest, PoliciesAtTheirEnds) {
    // Drivers take many seconds to compile 32 items.
    const std::uint32_t most = device().is_simulated() || test_all() ? 32 : 12;
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        std::size_t turn = static_cast<std::size_t>(strategy) * 4;
        for (const std::uint32_t digit_bits : {1u, 8u}) {
            for (const std::uint32_t items : {1u, most}) {
                if (!takes(turn++, tier, 7, 2)) continue;
                SortDesc desc = standard(tier, strategy);
                desc.policy->digit_bits =
                    tier == Tier::barrier ? std::min(digit_bits, 4u) : digit_bits;
                const bool bitonic = strategy == SortStrategy::bitonic;
                desc.policy->items = bitonic ? std::bit_floor(std::max(items, 2u)) : items;
                desc.end_bit = digit_bits;
                const std::uint32_t tile_items = workgroup() * desc.policy->items;
                desc.max_count = is_alone(strategy) ? tile_items : tile_items + 11;
                SCOPED_TRACE(fmt::format("{} bits, {} items", digit_bits, items));
                const auto plan = plan_sort(device().caps(), desc);
                if (!plan) {
                    // For such a tile not every device has the workgroup memory.
                    EXPECT_EQ(plan.error().code, ErrorCode::limit_exceeded) << plan.error().message;
                    EXPECT_EQ(items, most) << plan.error().message;
                    continue;
                }
                SortRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                for (const std::size_t count : {desc.max_count, desc.max_count / 2})
                    runner.expect_right_with_values(make_sort_keys(desc, count, items).bytes(), 1);
            }
        }
    });
}

// Counts in a buffer: 0, 1, the maximum, and values above it, which count as it. Outputs past the
// count are not written.
TEST_F(SortTest, CountsInABuffer) {
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        for (const bool by_address : {false, true}) {
            if (by_address && (!device().caps().device_addresses || !takes(strategy, tier, 3)))
                continue;
            SortDesc desc = standard(tier, strategy);
            if (by_address) desc.addressing = Addressing::device_address;
            const std::uint64_t max_count = desc.max_count;
            SortRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            SCOPED_TRACE(to_text(runner.plan().addressing));
            const Elements all = make_sort_keys(desc, max_count, 8);
            const auto values = make_sort_values(desc, max_count, 8);
            std::vector<std::uint64_t> counts{0,
                                              1,
                                              tile() - 1,
                                              tile(),
                                              tile() + 1,
                                              3 * tile(),
                                              3 * tile() + 1,
                                              max_count - 1,
                                              max_count,
                                              max_count + 1,
                                              0x80000000,
                                              0xffffffff};
            if (runner.plan().addressing == Addressing::device_address) {
                counts.insert(counts.end(), {std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 5,
                                             ~std::uint64_t{0}});
            }
            for (const std::uint64_t value : counts) {
                SCOPED_TRACE(fmt::format("count {}", value));
                // The whole input is there; only `value` items of it are to be taken.
                runner.expect_right(
                    all.bytes(), values,
                    {.count_in_buffer = true, .count_value = value, .timestamps = false});
                if (HasFailure()) return;
            }
        }
    });
}

// Up and down, with counts of both kinds, on one Executable.
TEST_F(SortTest, SizesUpAndDown) {
    const std::uint64_t t = tile();
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        const SortDesc desc = standard(tier, strategy);
        SortRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        std::uint64_t seed = 0;
        for (const std::uint64_t count :
             {std::uint64_t{1}, 9 * t, std::uint64_t{0}, t + 1, 9 * t - 1, t, 6 * t}) {
            ++seed;
            const std::size_t some = static_cast<std::size_t>(std::min(count, desc.max_count));
            runner.expect_right_with_values(
                make_sort_keys(desc, some, seed, kSortData[seed % 6]).bytes(), seed,
                {.count_in_buffer = seed % 2 == 0, .timestamps = false});
        }
    });
}

// Memory for one use, every buffer as large as the largest of its kind: keys and values can change
// places with their outputs.
struct SwappingUse {
    std::unique_ptr<TestMemory> keys[2], values[2], scratch;

    SwappingUse(TestDevice& device, const Plan& plan) {
        const auto bytes_of_role = [&](Role role) {
            const Argument* argument = plan.argument(role);
            return argument != nullptr ? static_cast<std::size_t>(argument->bytes) : 0;
        };
        const auto make = [&](std::size_t bytes) -> std::unique_ptr<TestMemory> {
            bytes = std::max<std::size_t>(bytes, 16);
            auto memory = device.make_memory(bytes);
            if (!memory) {
                ADD_FAILURE() << memory.error().message;
                return nullptr;
            }
            EXPECT_TRUE((*memory)->write(0, poison(bytes)));
            return *std::move(memory);
        };
        for (int i = 0; i < 2; ++i) {
            keys[i] = make(std::max(bytes_of_role(Role::input), bytes_of_role(Role::output)));
            values[i] =
                make(std::max(bytes_of_role(Role::values), bytes_of_role(Role::values_out)));
        }
        scratch = make(bytes_of_role(Role::scratch));
    }

    TestBuffers buffers(const Plan& plan, int from) const {
        const auto range = [&](const std::unique_ptr<TestMemory>& memory, Role role) {
            const Argument* argument = plan.argument(role);
            if (argument == nullptr) return TestRange{};
            return TestRange{memory.get(), 0, static_cast<std::size_t>(argument->bytes)};
        };
        return {.input = range(keys[from], Role::input),
                .output = range(keys[1 - from], Role::output),
                .scratch = range(scratch, Role::scratch),
                .values = range(values[from], Role::values),
                .values_out = range(values[1 - from], Role::values_out)};
    }
};

// D2: odd and even numbers of passes, and the result of one sort as the input of the next, back
// into the first one's input. What is only read stays as it is.
TEST_F(SortTest, AResultIsSortedAgainIntoTheFirstInput) {
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        std::size_t turn = static_cast<std::size_t>(strategy) * 4;
        for (const std::uint32_t bits : {4u, 8u, 12u, 16u}) {
            if (!takes(turn++, tier, 6)) continue;
            SCOPED_TRACE(fmt::format("{} bits", bits));
            SortDesc desc = standard(tier, strategy);
            desc.begin_bit = 3;
            desc.end_bit = 3 + bits;
            const auto plan = plan_sort(device().caps(), desc);
            ASSERT_TRUE(plan) << plan.error().message;
            expect_kernels_of_tier(*plan);
            const auto executable = device().prepare(*plan);
            ASSERT_TRUE(executable) << executable.error().message;
            const SwappingUse memory(device(), *plan);
            const std::size_t count = static_cast<std::size_t>(desc.max_count);
            std::vector<std::byte> keys = make_sort_keys(desc, count, bits).bytes();
            std::vector<std::byte> values = make_sort_values(desc, count, bits);
            ASSERT_TRUE(memory.keys[0]->write(0, keys));
            ASSERT_TRUE(memory.values[0]->write(0, values));
            for (int from : {0, 1, 0}) {
                const auto use = (*executable)->bind(memory.buffers(*plan, from), desc.max_count);
                ASSERT_TRUE(use) << use.error().message;
                ASSERT_TRUE((*use)->run());
                count_dispatch(tier);
                std::vector<std::byte> left(keys.size()), values_left(values.size());
                ASSERT_TRUE(memory.keys[from]->read(0, left));
                ASSERT_TRUE(memory.values[from]->read(0, values_left));
                EXPECT_EQ(left, keys) << "the keys were written to";
                EXPECT_EQ(values_left, values) << "the values were written to";
                Sorted sorted{std::vector<std::byte>(keys.size()),
                              std::vector<std::byte>(values.size())};
                ASSERT_TRUE(memory.keys[1 - from]->read(0, sorted.keys));
                ASSERT_TRUE(memory.values[1 - from]->read(0, sorted.values));
                expect_sorted(desc, keys, values, sorted);
                keys = sorted.keys;
                values = sorted.values;
            }
        }
    });
}

// D2: buffers that overlap are refused, whichever two they are.
TEST_F(SortTest, OverlapsAreRefused) {
    for (const bool ping_pong : {false, true}) {
        SortDesc desc = standard(Tier::barrier, SortStrategy::count_then_scatter);
        desc.ping_pong = ping_pong;
        const auto plan = plan_sort(device().caps(), desc);
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_FALSE(plan->in_place);
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable) << executable.error().message;
        const SwappingUse memory(device(), *plan);
        const std::uint64_t count = desc.max_count;
        const TestBuffers apart = memory.buffers(*plan, 0);
        ASSERT_TRUE((*executable)->bind(apart, count));
        const std::vector<TestRange TestBuffers::*> ranges{
            &TestBuffers::input, &TestBuffers::output, &TestBuffers::values,
            &TestBuffers::values_out, &TestBuffers::scratch};
        std::size_t largest = 0;
        for (const auto range : ranges) largest = std::max(largest, (apart.*range).bytes);
        const auto shared = device().make_memory(largest + 256);
        ASSERT_TRUE(shared);
        for (const auto one : ranges) {
            for (const auto other : ranges) {
                if (one == other || (apart.*one).bytes == 0 || (apart.*other).bytes == 0) continue;
                // What is only read may be the same.
                const auto is_read = [](auto range) {
                    return range == &TestBuffers::input || range == &TestBuffers::values;
                };
                if (!ping_pong && is_read(one) && is_read(other)) continue;
                for (const std::size_t shift : {0u, 256u}) {
                    if (shift >= (apart.*one).bytes) continue;
                    TestBuffers buffers = apart;
                    (buffers.*one).memory = shared->get();
                    (buffers.*other).memory = shared->get();
                    (buffers.*other).offset = shift;
                    const auto use = (*executable)->bind(buffers, count);
                    ASSERT_FALSE(use);
                    EXPECT_EQ(use.error().code, ErrorCode::bad_argument) << use.error().message;
                    EXPECT_NE(use.error().message.find("overlap"), std::string::npos)
                        << use.error().message;
                }
            }
        }
    }
}

// A missing buffer is named.
TEST_F(SortTest, MissingBuffersAreNamed) {
    const SortDesc desc = standard(Tier::barrier, SortStrategy::count_then_scatter);
    const auto plan = plan_sort(device().caps(), desc);
    ASSERT_TRUE(plan) << plan.error().message;
    const auto executable = device().prepare(*plan);
    ASSERT_TRUE(executable) << executable.error().message;
    const SwappingUse memory(device(), *plan);
    const std::uint64_t count = desc.max_count;
    const std::pair<TestRange TestBuffers::*, const char*> ranges[] = {
        {&TestBuffers::input, "input"},
        {&TestBuffers::output, "output"},
        {&TestBuffers::values, "values"},
        {&TestBuffers::values_out, "values_out"},
        {&TestBuffers::scratch, "scratch"}};
    for (const auto& [range, name] : ranges) {
        TestBuffers buffers = memory.buffers(*plan, 0);
        buffers.*range = {};
        const auto missing = (*executable)->bind(buffers, count);
        ASSERT_FALSE(missing) << name;
        EXPECT_EQ(missing.error().code, ErrorCode::bad_argument) << missing.error().message;
        EXPECT_NE(missing.error().message.find(name), std::string::npos) << missing.error().message;
        buffers = memory.buffers(*plan, 0);
        (buffers.*range).bytes = (buffers.*range).bytes / 2 / 16 * 16;
        const auto small = (*executable)->bind(buffers, count);
        ASSERT_FALSE(small) << name;
        EXPECT_EQ(small.error().code, ErrorCode::bad_argument) << small.error().message;
        EXPECT_NE(small.error().message.find(name), std::string::npos) << small.error().message;
    }
}

// D6: ranges that begin anywhere: refused, or right; never silently wrong.
TEST_F(SortTest, OffsetsThatAreNotAligned) {
    using Member = TestRange TestBuffers::*;
    const std::pair<Role, Member> roles[] = {{Role::input, &TestBuffers::input},
                                             {Role::output, &TestBuffers::output},
                                             {Role::values, &TestBuffers::values},
                                             {Role::values_out, &TestBuffers::values_out},
                                             {Role::scratch, &TestBuffers::scratch}};
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        for (const bool by_address : {false, true}) {
            if (by_address && (!device().caps().device_addresses || !takes(strategy, tier, 3)))
                continue;
            SortDesc desc = standard(tier, strategy);
            if (by_address) desc.addressing = Addressing::device_address;
            const auto plan = plan_sort(device().caps(), desc);
            ASSERT_TRUE(plan) << plan.error().message;
            const auto executable = device().prepare(*plan);
            ASSERT_TRUE(executable) << executable.error().message;
            const std::size_t count = tile() + 3;  // of the standard's
            const Elements keys = make_sort_keys(desc, count, 3);
            const auto values = make_sort_values(desc, count, 3);
            std::size_t turn = 0;
            for (const auto& [moved, member] : roles) {
                if (plan->argument(moved) == nullptr) continue;
                for (const std::size_t offset : {1u, 2u, 4u, 8u, 16u, 64u, 252u, 256u}) {
                    SCOPED_TRACE(fmt::format("{} {} at +{}", to_text(plan->addressing),
                                             to_text(moved), offset));
                    std::map<Role, GuardedBuffer> memory;
                    TestBuffers buffers;
                    for (const auto& [role, range] : roles) {
                        const Argument* argument = plan->argument(role);
                        if (argument == nullptr) continue;
                        const auto bytes = static_cast<std::size_t>(argument->bytes);
                        memory[role] = GuardedBuffer(device(), bytes, role == moved ? offset : 0);
                        memory[role].reset_poisoned(bytes);
                        if (role == Role::input) memory[role].reset(keys.bytes());
                        if (role == Role::values) memory[role].reset(values);
                        buffers.*range = memory[role].range(bytes);
                    }
                    const auto use = (*executable)->bind(buffers, count);
                    const std::uint32_t needed = plan->argument(moved)->alignment;
                    EXPECT_EQ(use.has_value(), offset % needed == 0) << "alignment is " << needed;
                    if (!use) {
                        EXPECT_EQ(use.error().code, ErrorCode::bad_argument);
                        EXPECT_NE(use.error().message.find(to_text(moved)), std::string::npos)
                            << use.error().message;
                        continue;
                    }
                    if (!takes(turn++, tier, 4, 2)) continue;
                    ASSERT_TRUE((*use)->run());
                    count_dispatch(tier);
                    const Sorted sorted{memory[Role::output].read(count * 4),
                                        memory[Role::values_out].read(count * 4)};
                    expect_sorted(desc, keys.bytes(), values, sorted);
                    for (auto& [role, buffer] : memory)
                        buffer.expect_guards(buffer.capacity(), to_text(role));
                }
            }
        }
    });
}

// Ping-pong, with odd and even numbers of passes: the result is where the plan says, for all
// values.
TEST_F(SortTest, PingPong) {
    std::set<Role> results;
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        std::size_t turn = static_cast<std::size_t>(strategy) * 12;
        for (const std::uint32_t bits : {4u, 8u, 12u}) {
            for (const auto& [key, value_bytes] :
                 {std::pair{Scalar::i32, 0u}, std::pair{Scalar::u64, 4u},
                  std::pair{Scalar::f32, 16u}, std::pair{Scalar::u32, 12u}}) {
                SortDesc desc = standard(tier, strategy);
                desc.key = key;
                desc.value_bytes = value_bytes;
                desc.begin_bit = size_of(key) * 8 - bits;
                desc.end_bit = size_of(key) * 8;
                desc.ping_pong = true;
                const auto plan = plan_sort(device().caps(), desc);
                ASSERT_TRUE(plan) << plan.error().message;
                results.insert(plan->result);
                if (!takes(turn++, tier, 18, 3)) continue;
                SCOPED_TRACE(fmt::format("{} bits of {} with {} bytes, into {}", bits, to_text(key),
                                         value_bytes, to_text(plan->result)));
                SortRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{tile()},
                                                static_cast<std::size_t>(desc.max_count)}) {
                    const Elements keys = make_sort_keys(desc, count, turn);
                    for (const bool in_buffer : {false, true})
                        runner.expect_right_with_values(keys.bytes(), turn,
                                                        {.count_in_buffer = in_buffer});
                }
            }
        }
    });
    EXPECT_EQ(results, (std::set<Role>{Role::input, Role::output})) << "one of them has no test";
}

// D5: a tile that never publishes, as one whose workgroup does not run: those that wait for it
// count it themselves, and the call ends with the right answer. With one tile for each workgroup,
// and with several.
TEST_F(SortTest, ATileThatNeverPublishes) {
    const std::uint32_t tiles = 7;
    for_each_tier([&](Tier tier) {
        const std::size_t count = (tiles - 1) * tile() + 7;
        std::size_t turn = static_cast<std::size_t>(tier), position = 0;
        for (const std::uint32_t silent : {0u, 1u, tiles / 2, tiles - 2, tiles - 1}) {
            const std::size_t form = turn++;
            if (!takes(position++, tier, 2)) continue;
            SortDesc desc = standard(tier, SortStrategy::look_back, count);
            desc.order = kOrders[form % 2];
            desc.policy->max_groups = form % 2 == 0 ? tiles : 3;
            desc.policy->patience = 4;
            SCOPED_TRACE(fmt::format("tile {}, {}", silent, to_text(desc.order)));
            const auto talking = plan_sort(device().caps(), desc);
            desc.policy->silent_tile = silent;
            SortRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            ASSERT_TRUE(talking);
            EXPECT_NE(runner.plan().passes, talking->passes)
                << "no kernel knows of the silent tile";
            // Twice: what the first use leaves behind must be as it found it.
            const auto data = [&](std::size_t items, std::uint64_t seed) {
                return make_sort_keys(desc, items, seed, kSortData[seed % 2]).bytes();
            };
            runner.expect_right_with_values(data(count, 3 * silent), silent);
            runner.expect_right_with_values(data(count, 3 * silent + 1), silent,
                                            {.count_in_buffer = true});
            runner.expect_right_with_values(data(tile() + 1, silent), silent);
        }
    });
}

// The same for every key, value and patience: what is counted again is what was not published.
TEST_F(SortTest, TilesAreCountedAgainForEveryKey) {
    for_each_tier([&](Tier tier) {
        std::size_t turn = 0;
        for (const Scalar key : kKeys) {
            for (const std::uint32_t values : {0u, 8u, kArgsort}) {
                if (!takes(turn++, tier, 24, 4)) continue;
                SortDesc desc = standard(tier, SortStrategy::look_back, 4 * tile() + 1);
                desc.key = key;
                desc.value_bytes = values == kArgsort ? 0 : values;
                desc.argsort = values == kArgsort;
                desc.begin_bit = size_of(key) * 8 - 7;
                desc.end_bit = size_of(key) * 8;
                desc.policy->silent_tile = static_cast<std::uint32_t>(turn % 4);
                desc.policy->patience = std::array{1u, 16u, 100u}[turn % 3];
                SCOPED_TRACE(fmt::format("{} with {}", to_text(key), values));
                SortRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                runner.expect_right_with_values(make_sort_keys(desc, desc.max_count, 5).bytes(), 5);
            }
        }
    });
}

// A workgroup that did not see what others publish would count all of it again, and be right. With
// a patience that has no end it would never stop.
TEST_F(SortTest, WhatIsPublishedIsSeen) {
    if (!device().is_simulated()) GTEST_SKIP() << "nobody promises that those waited for go on";
    for_each_tier([&](Tier tier) {
        SortDesc desc = standard(tier, SortStrategy::look_back);
        desc.policy->max_groups = 64;
        desc.policy->patience = ~0u;
        SortRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        for (const std::uint64_t count : {desc.max_count, desc.max_count - tile()})
            runner.expect_right_with_values(make_sort_keys(desc, count, count).bytes(), 1);
    });
}

// D4, D8: a thousand uses of one binding, recorded once, each with another answer.
TEST_F(SortTest, AThousandRepeats) {
    const bool few = device().is_simulated() || is_sanitized();
    for_some_tiers([&](Tier tier) {
        SortDesc desc = standard(tier, SortStrategy::look_back, few ? 10 * tile() + 3 : 8195);
        desc.policy->max_groups = 1024;
        desc.policy->patience = 64;
        const auto count = static_cast<std::size_t>(desc.max_count);
        const auto plan = plan_sort(device().caps(), desc);
        ASSERT_TRUE(plan) << plan.error().message;
        expect_kernels_of_tier(*plan);
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable) << executable.error().message;
        const SwappingUse memory(device(), *plan);
        const auto use = (*executable)->bind(memory.buffers(*plan, 0), desc.max_count);
        ASSERT_TRUE(use) << use.error().message;
        U32 keys(count);
        for (std::size_t i = 0; i < count; ++i) keys[i] = static_cast<std::uint32_t>(hash(1, i));
        const auto values = make_sort_values(desc, count, 1);
        ASSERT_TRUE(memory.keys[0]->write(0, bytes_of(keys)));
        ASSERT_TRUE(memory.values[0]->write(0, values));
        const std::uint32_t runs = few ? 30 : 1000;
        const auto start = std::chrono::steady_clock::now();
        for (std::uint32_t run = 0; run < runs; ++run) {
            // The slowest driver takes a tenth of a second for each.
            if (!test_all() && run >= 100 &&
                std::chrono::steady_clock::now() - start > std::chrono::seconds(4))
                break;
            // One key changes from run to run.
            const std::size_t changed = hash(2, run) % count;
            keys[changed] = static_cast<std::uint32_t>(hash(3, run));
            ASSERT_TRUE(memory.keys[0]->write(changed * 4, bytes_of(U32{keys[changed]})));
            ASSERT_TRUE((*use)->run({.replay = true}));
            count_dispatch(tier);
            Sorted sorted{std::vector<std::byte>(count * 4), std::vector<std::byte>(count * 4)};
            ASSERT_TRUE(memory.keys[1]->read(0, sorted.keys));
            ASSERT_TRUE(memory.values[1]->read(0, sorted.values));
            std::string why;
            ASSERT_TRUE(
                sort_matches(desc, bytes_of(keys), values, sorted.keys, sorted.values, &why))
                << "run " << run << ": " << why;
        }
    });
}

// What a use with few items leaves behind must not be seen by the next one with many, nor the other
// way round.
TEST_F(SortTest, ReplaysWithTheCountInABuffer) {
    const std::uint64_t t = tile();
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        const SortDesc desc = standard(tier, strategy);
        const std::uint64_t max_count = desc.max_count;
        const auto plan = plan_sort(device().caps(), desc);
        ASSERT_TRUE(plan) << plan.error().message;
        const auto executable = device().prepare(*plan);
        ASSERT_TRUE(executable) << executable.error().message;
        const PlainUse memory = make_plain_use(device(), *plan);
        const auto use = (*executable)->bind(memory.buffers(*plan), memory.count_range(*plan));
        ASSERT_TRUE(use) << use.error().message;
        const std::size_t bytes = static_cast<std::size_t>(max_count) * 4;
        for (const std::uint64_t count :
             {max_count, std::uint64_t{0}, std::uint64_t{1}, 5 * t + 1, max_count - 1,
              std::uint64_t{0}, 5 * t, std::uint64_t{99999}, t}) {
            const Elements keys = make_sort_keys(desc, static_cast<std::size_t>(max_count), count);
            const auto values = make_sort_values(desc, static_cast<std::size_t>(max_count), count);
            ASSERT_TRUE(memory.input->write(0, keys.bytes()));
            ASSERT_TRUE(memory.values->write(0, values));
            ASSERT_TRUE(memory.count->write(
                0, bytes_of(std::vector<std::uint64_t>{count})));  // the low word is the first
            ASSERT_TRUE(memory.output->write(0, poison(bytes)));
            ASSERT_TRUE(memory.values_out->write(0, poison(bytes)));
            ASSERT_TRUE((*use)->run({.replay = true}));
            count_dispatch(tier);
            Sorted sorted{std::vector<std::byte>(bytes), std::vector<std::byte>(bytes)};
            ASSERT_TRUE(memory.output->read(0, sorted.keys));
            ASSERT_TRUE(memory.values_out->read(0, sorted.values));
            const std::size_t used = static_cast<std::size_t>(std::min(count, max_count)) * 4;
            for (std::vector<std::byte>* written : {&sorted.keys, &sorted.values}) {
                EXPECT_TRUE(
                    std::ranges::equal(std::span(*written).subspan(used), poison(bytes - used)))
                    << count << ": outputs past the count were written";
                written->resize(used);
            }
            SCOPED_TRACE(count);
            expect_sorted(desc, keys.bytes(), values, sorted);
        }
    });
}

// The data of users: all of a plan's own choosing, no policy given.
TEST_F(SortTest, DefaultPolicies) {
    for_some_tiers([&](Tier tier) {
        std::size_t turn = 0;
        for (const std::size_t count :
             {std::size_t{500}, std::size_t{device().is_simulated() ? 5003u : 50003u}}) {
            for (const auto& [key, value_bytes] :
                 {std::pair{Scalar::u32, 4u}, std::pair{Scalar::f64, 0u},
                  std::pair{Scalar::i16, 16u}, std::pair{Scalar::u32, 0u}}) {
                if (!takes(turn++, tier, 8, 2)) continue;
                SCOPED_TRACE(fmt::format("{} {} with {}", count, to_text(key), value_bytes));
                const SortDesc desc{
                    .key = key, .value_bytes = value_bytes, .max_count = count, .tier = tier};
                SortRunner runner(device(), desc);
                ASSERT_TRUE(runner);
                runner.expect_right_with_values(make_sort_keys(desc, count, 21).bytes(), 21);
                runner.expect_right_with_values(
                    make_sort_keys(desc, count / 3, 22, SortData::few).bytes(), 22);
                runner.expect_right_with_values(make_sort_keys(desc, count - 1, 23).bytes(), 23,
                                                {.count_in_buffer = true});
            }
        }
    });
}

// E10: every kind of values, with counts of both kinds, under validation.
TEST_F(SortTest, EveryKindOfValues) {
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        std::size_t turn = static_cast<std::size_t>(strategy) * 6;
        for (const std::uint32_t values : kValues) {
            if (!takes(turn++, tier, 9)) continue;
            SCOPED_TRACE(values);
            SortDesc desc = standard(tier, strategy);
            desc.value_bytes = values == kArgsort ? 0 : values;
            desc.argsort = values == kArgsort;
            SortRunner runner(device(), desc);
            ASSERT_TRUE(runner);
            const auto count = static_cast<std::size_t>(desc.max_count);
            for (const bool in_buffer : {false, true}) {
                runner.expect_right_with_values(make_sort_keys(desc, count, values).bytes(), values,
                                                {.count_in_buffer = in_buffer});
            }
        }
    });
}

TEST_F(SortTest, SecondaryCommandBuffers) {
    if (!device().is_vulkan()) GTEST_SKIP() << "only Vulkan has such command buffers";
    for_each_tier_and_strategy([&](Tier tier, SortStrategy strategy) {
        const SortDesc desc = standard(tier, strategy);
        SortRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        const Elements keys = make_sort_keys(desc, static_cast<std::size_t>(desc.max_count), 6);
        runner.expect_right_with_values(keys.bytes(), 6, {.secondary = true});
        runner.expect_right_with_values(keys.bytes(), 6,
                                        {.count_in_buffer = true, .secondary = true});
    });
}

// One answer, whatever the tier, strategy and policy: that of std::stable_sort, for any request.
TEST_F(SortTest, AnyRequest) {
    const bool slow = !device().is_simulated() || has_small_subgroups() || is_sanitized();
    const std::size_t requests = test_all() ? 200 : slow ? 4 : 24;
    for (std::size_t request = 0; request < requests; ++request) {
        std::uint64_t seed = hash(device_number() * 1000 + 77, request);
        const auto below = [&](std::uint64_t end) {
            seed = hash(seed);
            return static_cast<std::uint32_t>(seed % end);
        };
        const auto pick = [&](const auto& choices) { return choices[below(std::size(choices))]; };
        Row row{.key = pick(kKeys), .values = pick(kValues), .order = pick(kOrders)};
        do {
            row.tier = pick(kTiers);
            row.strategy = pick(kStrategies);
            row.addressing = below(3) == 0 ? Addressing::device_address : Addressing::descriptor;
            row.policy = {.workgroup_size = 4u << below(5),
                          .items = 1 + below(7),
                          .digit_bits = 1 + below(8),
                          .max_groups = 1 + below(9),
                          .patience = 1 + below(100)};
            row.ping_pong = below(4) == 0;
        } while (!possible(device().caps(), row));
        row.data = pick(kSortData);
        const std::uint64_t most = is_alone(row.strategy) ? row.tile() : row.tile() * 4 + below(50);
        SortDesc desc = row.desc(std::min<std::uint64_t>(most, 1000));
        // Drivers compile each digit for itself.
        const bool few = !device().is_simulated();
        if (few || below(2) == 0) {
            const std::uint32_t width = size_of(desc.key) * 8;
            desc.begin_bit = below(width + 1);
            const std::uint32_t widest = few ? 3 * row.policy.digit_bits : width;
            desc.end_bit = desc.begin_bit + below(std::min(width - desc.begin_bit, widest) + 1);
        }
        SCOPED_TRACE(fmt::format("{}, bits {} to {}, {} items", row.name(), desc.begin_bit,
                                 desc.end_bit.value_or(0), desc.max_count));
        claim(row.tier);
        SortRunner runner(device(), desc);
        ASSERT_TRUE(runner);
        for (const std::uint64_t count :
             {desc.max_count, std::uint64_t{below(desc.max_count + 1)}}) {
            runner.expect_right_with_values(make_sort_keys(desc, count, seed, row.data).bytes(),
                                            seed, {.count_in_buffer = below(2) == 0});
        }
        if (HasFailure()) return;
    }
}

// GPU-assisted validation sees accesses out of bounds that fall between the guards. Here always, in
// the other tests with LANEWISE_TEST_ALL.
class GpuAssistedSort : public DeviceTest {};

TEST_F(GpuAssistedSort, NoAccessIsOutOfBounds) {
    if (device().is_simulated()) GTEST_SKIP() << "the simulator sees them in every test";
    if (!device().is_vulkan()) GTEST_SKIP() << "Vulkan's validation";
    if (is_sanitized() && !test_all()) GTEST_SKIP() << "about kernels: the other build runs it";
    RigScope assisted(Rig::assisted());
    ASSERT_TRUE(assisted);
    std::size_t turn = 0;
    for (const Tier tier : kTiers) {
        if (!lacking(assisted->caps(), tier).empty()) continue;
        claim(tier);
        for (const SortStrategy strategy : kStrategies) {
            // Both addressings, each with every tier and every strategy in turn.
            const bool by_address = turn % 2 == 1 && assisted->caps().device_addresses;
            const Row row{
                .key = std::array{Scalar::u32, Scalar::u8, Scalar::f64}[turn % 3],
                .values = kValues[turn % std::size(kValues)],
                .order = kOrders[turn / 2 % 2],
                .tier = tier,
                .strategy = strategy,
                .addressing = by_address ? Addressing::device_address : Addressing::descriptor,
                .policy = {32, 2, 4, 3, 16},
                .bits = Bits::high};
            ++turn;
            if (!test_all() && (turn + static_cast<std::size_t>(tier)) % 3 != 0) continue;
            if (!possible(assisted->caps(), row)) continue;
            SCOPED_TRACE(row.name());
            const std::vector<std::uint64_t> sizes = sizes_of(row, assisted->caps());
            const SortDesc desc = row.desc(sizes.back());
            SortRunner runner(*assisted, desc);
            ASSERT_TRUE(runner);
            for (std::size_t i = turn % 2; i < sizes.size(); i += 2) {
                runner.expect_right_with_values(
                    make_sort_keys(desc, sizes[i], i).bytes(), i,
                    {.count_in_buffer = i / 2 % 2 == 0, .timestamps = false});
            }
            fail_on_messages(assisted->take_messages());
        }
    }
}

}  // namespace
}  // namespace lanewise::test
