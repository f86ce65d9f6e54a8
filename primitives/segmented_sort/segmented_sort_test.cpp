// segmented_sort on a device: the conformance matrix (every tier, addressing, key, value, order,
// range of bits and shape of segments), then what the header promises of segments at the limits of
// a tile, of items outside of all segments, and of offsets that are wrong. The pass is
// segmented_sort_tiles, and sort_pack for narrow keys.
#include "lanewise/segmented_sort.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "primitives/segmented_sort/segmented_sort_reference.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/sort_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

using U32 = std::vector<std::uint32_t>;

constexpr Scalar kKeys[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                            Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                            Scalar::u64, Scalar::i64, Scalar::f64};
constexpr SortOrder kOrders[] = {SortOrder::ascending, SortOrder::descending};
// Bytes of a value; 1 stands for argsort.
constexpr std::uint32_t kValues[] = {0, 4, 8, 12, 16, 1};
constexpr std::uint32_t kArgsort = 1;

enum class Bits : std::uint8_t { all, low, none, odd };
constexpr Bits kBits[] = {Bits::all, Bits::low, Bits::none, Bits::odd};

std::pair<std::uint32_t, std::uint32_t> range_of(Bits bits, std::uint32_t width) {
    switch (bits) {
        case Bits::all: return {0, width};
        case Bits::low: return {0, width / 2};
        case Bits::none: return {width / 2, width / 2};
        case Bits::odd: return {width / 8 + 1, width - 2};  // no multiple of a digit
    }
    return {};
}

// How the items are cut.
enum class Cut : std::uint8_t {
    none,    // one number, no segment
    empty,   // segments without an item
    ones,    // an item each
    whole,   // one segment of everything
    small,   // many in a tile
    edges,   // around half a tile, a tile, and longer
    sparse,  // more segments than items, most of them empty
    inner,   // not from the first item on, nor to the last
    beyond,  // past the count
};
constexpr Cut kCuts[] = {Cut::none,  Cut::empty,  Cut::ones,  Cut::whole, Cut::small,
                         Cut::edges, Cut::sparse, Cut::inner, Cut::beyond};

const char* to_text(Cut cut) {
    constexpr const char* kNames[] = {"none",  "empty",  "ones",  "whole", "small",
                                      "edges", "sparse", "inner", "beyond"};
    return kNames[static_cast<std::size_t>(cut)];
}

// Offsets of lengths that `next` gives, from `first` on until `end` is reached.
template <class Next>
U32 cut_by(std::uint64_t first, std::uint64_t end, Next&& next) {
    U32 offsets{static_cast<std::uint32_t>(first)};
    while (first < end) {
        first = std::min<std::uint64_t>(end, first + next(offsets.size()));
        offsets.push_back(static_cast<std::uint32_t>(first));
    }
    return offsets;
}

U32 make_offsets(Cut cut, std::uint64_t count, std::uint64_t tile, std::uint64_t seed) {
    const auto small = [&](std::size_t i) { return hash(seed, i) % (tile / 4 + 1); };
    switch (cut) {
        case Cut::none: return {static_cast<std::uint32_t>(count / 2)};
        case Cut::empty: return U32(9, static_cast<std::uint32_t>(count / 3));
        case Cut::ones: return cut_by(0, count, [](std::size_t) { return 1u; });
        case Cut::whole: return {0, static_cast<std::uint32_t>(count)};
        case Cut::small: return cut_by(0, count, small);
        case Cut::edges: {
            const std::uint64_t lengths[] = {tile / 2, tile + 1, 3, tile / 2 - 1, tile / 2 + 1,
                                             tile,     0,        1, 2 * tile + 3, tile - 1};
            return cut_by(0, count, [&](std::size_t i) {
                return lengths[(hash(seed) + i) % std::size(lengths)];
            });
        }
        case Cut::sparse: {
            U32 offsets(3 * count + 40);
            for (std::size_t i = 0; i < offsets.size(); ++i) {
                // Half of them in a few places.
                const std::uint64_t at = hash(seed, i) % (count + 1);
                offsets[i] = static_cast<std::uint32_t>(i % 2 == 0 ? at : at / 32 * 32);
            }
            std::ranges::sort(offsets);
            return offsets;
        }
        case Cut::inner: return cut_by(count / 5, count - count / 4, small);
        case Cut::beyond: {
            U32 offsets = cut_by(0, count, small);
            offsets.pop_back();
            for (const std::uint64_t more : {count + 3, count + 3, count + tile})
                offsets.push_back(static_cast<std::uint32_t>(more));
            offsets.push_back(0xffffffff);
            return offsets;
        }
    }
    return {};
}

// Tiny, so that a few hundred items cross many windows, and workgroups take several.
constexpr SegmentedSortPolicy kPolicies[] = {
    {16, 2, 4, 3}, {32, 4, 8, 4}, {64, 2, 2, 2}, {32, 2, 3, 5}, {128, 2, 4, 3}};

struct Row {
    Scalar key = Scalar::u32;
    std::uint32_t values = 0;
    SortOrder order = SortOrder::ascending;
    Tier tier = Tier::barrier;
    Addressing addressing = Addressing::descriptor;
    SegmentedSortPolicy policy{};
    SortData data = SortData::hashed;
    Bits bits = Bits::all;
    Cut cut = Cut::small;

    SegmentedSortDesc desc(std::uint64_t max_count) const {
        SegmentedSortDesc made{.key = key,
                               .value_bytes = values == kArgsort ? 0 : values,
                               .argsort = values == kArgsort,
                               .order = order,
                               .max_count = max_count,
                               .tier = tier,
                               .addressing = addressing,
                               .policy = policy};
        const auto [begin, end] = range_of(bits, size_of(key) * 8);
        made.begin_bit = begin;
        if (bits != Bits::all) made.end_bit = end;
        return made;
    }
    std::string name() const {
        const auto [begin, end] = range_of(bits, size_of(key) * 8);
        const std::string what = values == kArgsort ? "indices"
                                 : values == 0      ? "alone"
                                                    : fmt::format("with{}", values);
        return fmt::format("{}_{}_{}_{}to{}_{}_{}_{}_w{}x{}d{}g{}_{}", lanewise::to_text(key), what,
                           lanewise::to_text(order), begin, end, to_text(cut),
                           lanewise::to_text(tier), lanewise::to_text(addressing),
                           policy.workgroup_size, policy.items, policy.digit_bits,
                           policy.max_groups, test::to_text(data));
    }
};

// gtest prints parameters with this.
void PrintTo(const Row& row, std::ostream* out) { *out << row.name(); }

bool possible(const Caps& caps, const Row& row) {
    if (!lacking(caps, row.tier).empty()) return false;
    if (row.addressing == Addressing::device_address && !caps.device_addresses) return false;
    if (row.values != 0 && caps.limits.max_storage_buffers < 8) return false;
    if (row.tier == Tier::barrier && row.policy.digit_bits > 4) return false;
    return has_workgroups(caps, row.tier, row.policy.workgroup_size);
}

const std::vector<std::size_t> kSizes = {
    std::size(kKeys),     std::size(kValues),   std::size(kOrders), std::size(kTiers), 2,
    std::size(kPolicies), std::size(kSortData), std::size(kBits),   std::size(kCuts)};

Row row_of(const Choice& choice) {
    return {kKeys[choice[0]],
            kValues[choice[1]],
            kOrders[choice[2]],
            kTiers[choice[3]],
            choice[4] == 0 ? Addressing::descriptor : Addressing::device_address,
            kPolicies[choice[5]],
            kSortData[choice[6]],
            kBits[choice[7]],
            kCuts[choice[8]]};
}

std::vector<Row> rows_here() {
    const Caps& caps = TestDevice::shared().caps();
    const auto can = [&](const Choice& choice) { return possible(caps, row_of(choice)); };
    const std::vector<Choice> choices = pairwise_choices(kSizes, can);
    const bool simulated = TestDevice::shared().is_simulated();
    const std::size_t step = test_all()              ? (simulated ? 1 : 3)
                             : !simulated            ? 16
                             : has_small_subgroups() ? 6
                                                     : 3;
    std::vector<Row> some;
    for (std::size_t i = device_number() % step; i < choices.size(); i += step)
        some.push_back(row_of(choices[i]));
    return some;
}

// What its runner knows of keys and values.
SortDesc sort_of(const SegmentedSortDesc& desc) {
    SortDesc sort = segmented_sort_sort(desc);
    sort.tier = desc.tier;
    return sort;
}

std::optional<SortRunner> runner_of(TestDevice& device, const SegmentedSortDesc& desc) {
    auto plan = plan_segmented_sort(device.caps(), desc);
    if (!plan) {
        ADD_FAILURE() << "no plan: " << plan.error().message;
        return std::nullopt;
    }
    EXPECT_EQ(plan->passes[1].name, "segmented_sort_tiles");
    SortRunner runner(device, sort_of(desc), *std::move(plan));
    if (!runner) return std::nullopt;
    return runner;
}

// Runs it and holds what it gives against the reference.
void expect_right(SortRunner& runner, const SegmentedSortDesc& desc,
                  std::span<const std::byte> keys, std::span<const std::byte> values,
                  const U32& offsets, RunOptions options = {}) {
    options.offsets = offsets;
    const auto sorted = runner.run(keys, values, options);
    if (!sorted) return;
    std::string why;
    EXPECT_TRUE(
        segmented_sort_matches(desc, keys, values, offsets, sorted->keys, sorted->values, &why))
        << keys.size() / size_of(desc.key) << " items in " << offsets.size() - 1
        << " segments: " << why;
}

void expect_right_of(SortRunner& runner, const SegmentedSortDesc& desc, std::uint64_t count,
                     const U32& offsets, std::uint64_t seed, SortData data = SortData::hashed,
                     const RunOptions& options = {}) {
    const SortDesc sort = sort_of(desc);
    const Elements keys = make_sort_keys(sort, count, seed, data);
    expect_right(runner, desc, keys.bytes(), make_sort_values(sort, count, seed), offsets, options);
}

class SegmentedSortMatrix : public DeviceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(SegmentedSortMatrix, AtEverySize) {
    const Row& row = GetParam();
    claim(row.tier);
    const std::uint64_t tile = row.policy.workgroup_size * row.policy.items;
    const std::uint64_t full = tile / 2 * row.policy.max_groups;  // a window for each workgroup
    const std::set<std::uint64_t> sizes{
        0, 1, 7, tile / 2, tile / 2 + 1, tile, tile + 1, full + 1, 3 * full + tile / 4 + 3};
    const SegmentedSortDesc desc = row.desc(*sizes.rbegin());
    auto runner = runner_of(device(), desc);
    ASSERT_TRUE(runner);
    EXPECT_EQ(runner->plan().addressing, row.addressing);
    const std::uint64_t seed = hash(std::hash<std::string>()(row.name()));
    std::size_t turn = 0;
    for (const std::uint64_t count : sizes) {
        for (const bool in_buffer : {false, true}) {
            // Sizes take one of the two; the largest takes both.
            if (count != desc.max_count && (turn++ + seed) % 2 == 0) continue;
            SCOPED_TRACE(fmt::format("{} items, count {}", count,
                                     in_buffer ? "in a buffer" : "on the host"));
            RunOptions options{.count_in_buffer = in_buffer, .timestamps = turn % 2 == 0};
            // Above the maximum means the maximum.
            if (in_buffer && count == desc.max_count) options.count_value = 0xffffffff;
            expect_right_of(*runner, desc, count, make_offsets(row.cut, count, tile, seed + turn),
                            seed + turn, row.data, options);
            if (HasFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(SegmentedSort, SegmentedSortMatrix, ::testing::ValuesIn(rows_here()),
                         [](const auto& row) { return row.param.name(); });

std::vector<std::byte> bytes_of(const U32& words) {
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

class SegmentedSortTest : public TierTest {
protected:
    static std::uint32_t workgroup() { return std::max(16u, device().caps().subgroup.size); }
    static std::uint32_t tile() { return 2 * workgroup(); }

    // The same in most tests, so that it is compiled once.
    static SegmentedSortDesc standard(Tier tier) {
        return {.value_bytes = device().caps().limits.max_storage_buffers >= 8 ? 4u : 0u,
                .order = kOrders[static_cast<std::size_t>(tier) % 2],
                .end_bit = 8,
                .max_count = 9 * tile() + 5,
                .tier = tier,
                .policy = SegmentedSortPolicy{workgroup(), 2, 4, 3}};
    }
};

// In so many words.
TEST_F(SegmentedSortTest, SegmentsInOrder) {
    const U32 keys{9, 8, 30, 20, 10, 5, 1, 5, 2, 4, 3};
    for_each_tier([&](Tier tier) {
        SegmentedSortDesc desc = standard(tier);
        desc.order = SortOrder::ascending;
        desc.value_bytes = 0;
        auto runner = runner_of(device(), desc);
        ASSERT_TRUE(runner);
        const U32 offsets{2, 5, 5, 6, 9};
        const auto sorted = runner->run(bytes_of(keys), {}, {.offsets = offsets});
        ASSERT_TRUE(sorted);
        EXPECT_EQ(sorted->keys, bytes_of({9, 8, 10, 20, 30, 5, 1, 2, 5, 4, 3}));
    });
}

// One segment of every length around half a tile and a tile, which part the ways of sorting; after
// others, so that it begins anywhere in its window.
TEST_F(SegmentedSortTest, LengthsAroundATile) {
    for_each_tier([&](Tier tier) {
        const SegmentedSortDesc desc = standard(tier);
        auto runner = runner_of(device(), desc);
        ASSERT_TRUE(runner);
        const std::uint32_t half = tile() / 2;
        std::uint64_t seed = 1;
        for (const std::uint32_t length : {half - 1, half, half + 1, tile() - 1, tile(), tile() + 1,
                                           2 * tile(), 3 * tile() + 1}) {
            for (const std::uint32_t before : {0u, 3u, half - 1, half}) {
                // Drivers take some.
                if (++seed % 3 != 0 && !device().is_simulated() && !test_all()) continue;
                SCOPED_TRACE(fmt::format("{} items after {}", length, before));
                const U32 offsets{0, before, before + length, before + length + 5};
                expect_right_of(*runner, desc, before + length + 7, offsets, seed, SortData::few,
                                {.timestamps = false});
                if (HasFailure()) return;
            }
        }
    });
}

// Inputs that fit a tile have no places in scratch for segments that go through memory: the longest
// segment must not.
TEST_F(SegmentedSortTest, InputsOfATileStayInWorkgroupMemory) {
    for_each_tier([&](Tier tier) {
        SegmentedSortDesc desc = standard(tier);
        desc.max_count = tile();
        auto runner = runner_of(device(), desc);
        ASSERT_TRUE(runner);
        EXPECT_LT(runner->plan().argument(Role::scratch)->bytes, 1024u);
        expect_right_of(*runner, desc, tile(), {0, tile()}, 1);
        expect_right_of(*runner, desc, tile(), {0, 3, tile()}, 2);
    });
}

// Many segments and many empty ones, in one window and between windows.
TEST_F(SegmentedSortTest, EmptySegments) {
    for_each_tier([&](Tier tier) {
        const SegmentedSortDesc desc = standard(tier);
        auto runner = runner_of(device(), desc);
        ASSERT_TRUE(runner);
        const auto count = static_cast<std::uint32_t>(desc.max_count);
        U32 offsets(700, 0);
        offsets.insert(offsets.end(), 700, 3);
        offsets.insert(offsets.end(), 3 * tile(), tile() / 2);
        offsets.insert(offsets.end(), {tile() / 2 + 1, tile() / 2 + 1, tile() + 2, 3 * tile()});
        offsets.insert(offsets.end(), 700, count);
        expect_right_of(*runner, desc, count, offsets, 1, SortData::few);
        expect_right_of(*runner, desc, count, U32(900, 0), 2);
        expect_right_of(*runner, desc, count, U32(900, count), 3);
        expect_right_of(*runner, desc, 0, U32(900, 0), 4);
    });
}

// No segment: a copy. Offsets may be a single number, whatever it is.
TEST_F(SegmentedSortTest, NoSegmentsLeaveEverythingWhereItStands) {
    for_each_tier([&](Tier tier) {
        const SegmentedSortDesc desc = standard(tier);
        auto runner = runner_of(device(), desc);
        ASSERT_TRUE(runner);
        for (const std::uint32_t offset : {0u, 5u, 0xffffffffu})
            expect_right_of(*runner, desc, tile() + 3, {offset}, offset);
    });
}

// Equal keys keep their order, in short segments and in one that is longer than a tile.
TEST_F(SegmentedSortTest, EqualKeysKeepTheirOrder) {
    for_each_tier([&](Tier tier) {
        SegmentedSortDesc desc = standard(tier);
        desc.value_bytes = 0;
        desc.argsort = true;
        if (device().caps().limits.max_storage_buffers < 8) return;
        auto runner = runner_of(device(), desc);
        ASSERT_TRUE(runner);
        const U32 offsets{0, 5, tile() / 3, tile() / 2, 3 * tile(), 3 * tile() + 9};
        const U32 keys(3 * tile() + 11, 0x55);
        const auto sorted = runner->run(bytes_of(keys), {}, {.offsets = offsets});
        ASSERT_TRUE(sorted);
        U32 indices(keys.size());
        std::iota(indices.begin(), indices.end(), 0u);
        EXPECT_EQ(sorted->values, bytes_of(indices));
    });
}

// Digits of an odd and an even number, for values that go between places by turns.
TEST_F(SegmentedSortTest, LongSegmentsOfEveryNumberOfDigits) {
    if (device().caps().limits.max_storage_buffers < 8) GTEST_SKIP() << "values take 8 buffers";
    const Tier tier = subgroup_tier();
    claim(tier);
    std::uint64_t seed = 1;
    for (const std::uint32_t end_bit : {4u, 7u, 12u, 16u}) {
        for (const std::uint32_t values : {12u, kArgsort}) {
            if (++seed % 2 != 0 && !device().is_simulated() && !test_all()) continue;
            SegmentedSortDesc desc = standard(tier);
            desc.key = end_bit == 7 ? Scalar::i16 : end_bit == 12 ? Scalar::u64 : Scalar::f32;
            desc.argsort = values == kArgsort;
            desc.value_bytes = desc.argsort ? 0 : values;
            desc.end_bit = end_bit;
            auto runner = runner_of(device(), desc);
            ASSERT_TRUE(runner);
            const std::uint32_t begin = workgroup() + 1;
            expect_right_of(*runner, desc, 4 * tile(), {3, begin, begin + 2 * tile() + 7}, seed,
                            SortData::few);
        }
    }
}

// Offsets that fall touch no memory beside the buffers, and nothing hangs. Where segments overlap,
// no promise is left but that; the simulator would call it a race.
TEST_F(SegmentedSortTest, OffsetsThatFallStayWithinTheBuffers) {
    for_each_tier([&](Tier tier) {
        const SegmentedSortDesc desc = standard(tier);
        auto runner = runner_of(device(), desc);
        ASSERT_TRUE(runner);
        const std::uint64_t count = desc.max_count;
        U32 falling(300);
        for (std::uint32_t i = 0; i < falling.size(); ++i) falling[i] = 2 * (300 - i);
        for (const U32& offsets : {U32{30, 10}, falling, U32{0xffffffff, 5, 0}})
            expect_right_of(*runner, desc, count, offsets, offsets.size());
        if (device().is_simulated()) return;
        U32 wild(500);
        for (std::size_t i = 0; i < wild.size(); ++i)
            wild[i] = static_cast<std::uint32_t>(hash(i) % (i % 7 == 0 ? ~0u : 2 * count));
        const SortDesc sort = sort_of(desc);
        const Elements keys = make_sort_keys(sort, count, 1);
        // Long segments that overlap, by workgroups that change each other's items.
        const auto most = static_cast<std::uint32_t>(count);
        for (const U32& offsets : {wild, U32{0, most / 2, most / 8, most, most / 4, most}}) {
            EXPECT_TRUE(
                runner->run(keys.bytes(), make_sort_values(sort, count, 1), {.offsets = offsets}));
        }
    });
}

// What Gpu plans by itself.
TEST_F(SegmentedSortTest, DefaultPolicy) {
    const Tier tier = subgroup_tier();
    claim(tier);
    const SegmentedSortDesc desc{.end_bit = 16, .max_count = 700, .tier = tier};
    auto runner = runner_of(device(), desc);
    ASSERT_TRUE(runner);
    for (const std::uint64_t count : {700u, 3u, 255u}) {
        expect_right_of(*runner, desc, count, make_offsets(Cut::small, count, 128, count), count,
                        SortData::few);
    }
}

}  // namespace
}  // namespace lanewise::test
