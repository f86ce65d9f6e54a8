// split on a device: the conformance matrix (every tier, strategy, addressing, key, value and width
// of buckets), then what the header promises of offsets, of empty inputs and of counts in buffers.
// The passes are those of sort, and split_offsets.
#include "lanewise/split.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <ostream>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "primitives/split/split_reference.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/sort_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

constexpr SortStrategy kStrategies[] = {SortStrategy::count_then_scatter, SortStrategy::look_back};
constexpr Scalar kKeys[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                            Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                            Scalar::u64, Scalar::i64, Scalar::f64};
// Bytes of a value; 1 stands for indices.
constexpr std::uint32_t kValues[] = {0, 4, 8, 12, 16, 1};
constexpr std::uint32_t kIndices = 1;

// Of a key's bits, from the top: so many are the bucket.
constexpr std::uint32_t kBits[] = {0, 1, 3, 5, 8, 11};

struct TinyPolicy {
    std::uint32_t workgroup_size;
    std::uint32_t items;
    std::uint32_t digit_bits;
    std::uint32_t max_groups;
};
constexpr TinyPolicy kPolicies[] = {{16, 2, 4, 3}, {32, 2, 3, 5}, {64, 2, 4, 2}, {128, 2, 2, 4}};

struct Row {
    Scalar key = Scalar::u32;
    std::uint32_t values = 0;
    Tier tier = Tier::barrier;
    SortStrategy strategy = SortStrategy::count_then_scatter;
    Addressing addressing = Addressing::descriptor;
    TinyPolicy policy{};
    std::uint32_t bits = 4;
    SortData data = SortData::hashed;

    SplitDesc desc(std::uint64_t max_count) const {
        const std::uint32_t width = size_of(key) * 8;
        const std::uint32_t end = width - (policy.items + bits) % 3;
        return {.key = key,
                .value_bytes = values == kIndices ? 0 : values,
                .indices = values == kIndices,
                .begin_bit = end - std::min(bits, end),
                .end_bit = end,
                .max_count = max_count,
                .tier = tier,
                .addressing = addressing,
                .policy = SortPolicy{.strategy = strategy,
                                     .workgroup_size = policy.workgroup_size,
                                     .items = policy.items,
                                     .digit_bits = policy.digit_bits,
                                     .max_groups = policy.max_groups,
                                     .patience = 16}};
    }
    std::string name() const {
        const std::string what = values == kIndices ? "indices"
                                 : values == 0      ? "alone"
                                                    : fmt::format("with{}", values);
        return fmt::format("{}_{}_{}bits_{}_{}_{}_w{}x{}d{}g{}_{}", to_text(key), what, bits,
                           to_text(tier), to_text(strategy), to_text(addressing),
                           policy.workgroup_size, policy.items, policy.digit_bits,
                           policy.max_groups, to_text(data));
    }
};

// gtest prints parameters with this.
void PrintTo(const Row& row, std::ostream* out) { *out << row.name(); }

bool possible(const Caps& caps, const Row& row) {
    if (!lacking(caps, row.tier).empty()) return false;
    if (row.addressing == Addressing::device_address && !caps.device_addresses) return false;
    return has_workgroups(caps, row.tier, row.policy.workgroup_size);
}

const std::vector<std::size_t> kSizes = {
    std::size(kKeys),     std::size(kValues), std::size(kTiers),   std::size(kStrategies), 2,
    std::size(kPolicies), std::size(kBits),   std::size(kSortData)};

Row row_of(const Choice& choice) {
    return {kKeys[choice[0]],
            kValues[choice[1]],
            kTiers[choice[2]],
            kStrategies[choice[3]],
            choice[4] == 0 ? Addressing::descriptor : Addressing::device_address,
            kPolicies[choice[5]],
            kBits[choice[6]],
            kSortData[choice[7]]};
}

std::vector<Row> rows_here() {
    const Caps& caps = TestDevice::shared().caps();
    const auto can = [&](const Choice& choice) { return possible(caps, row_of(choice)); };
    const std::vector<Choice> choices = pairwise_choices(kSizes, can);
    // What it adds to a sort is one small kernel: a few rows on drivers, which compile each.
    const bool simulated = TestDevice::shared().is_simulated();
    const std::size_t step = test_all() ? (simulated ? 1 : 3) : simulated ? 3 : 16;
    std::vector<Row> some;
    for (std::size_t i = device_number() % step; i < choices.size(); i += step)
        some.push_back(row_of(choices[i]));
    return some;
}

// Runs it and holds keys, values and offsets against the reference.
void expect_right(SortRunner& runner, const SplitDesc& desc, std::span<const std::byte> keys,
                  std::span<const std::byte> values, const RunOptions& options = {}) {
    const auto sorted = runner.run(keys, values, options);
    if (!sorted) return;
    const std::size_t count = sorted->keys.size() / size_of(desc.key);
    std::string why;
    EXPECT_TRUE(split_matches(desc, keys.first(count * size_of(desc.key)),
                              values.first(count * desc.value_bytes),
                              {sorted->keys, sorted->values, runner.offsets()}, &why))
        << count << " items: " << why;
}

// What its runner knows of keys and values.
SortDesc sort_of(const SplitDesc& desc) {
    SortDesc sort = split_sort(desc);
    sort.tier = desc.tier;
    if (desc.indices) sort.argsort = true;
    return sort;
}

std::optional<SortRunner> runner_of(TestDevice& device, const SplitDesc& desc) {
    auto plan = plan_split(device.caps(), desc);
    if (!plan) {
        ADD_FAILURE() << "no plan: " << plan.error().message;
        return std::nullopt;
    }
    EXPECT_EQ(plan->primitive, "split");
    EXPECT_EQ(plan->passes.back().name, "split_offsets");
    SortRunner runner(device, sort_of(desc), *std::move(plan));
    if (!runner) return std::nullopt;
    return runner;
}

void expect_right_of_size(SortRunner& runner, const SplitDesc& desc, std::uint64_t count,
                          std::uint64_t seed, SortData data, const RunOptions& options = {}) {
    const Elements keys = make_sort_keys(split_sort(desc), count, seed, data);
    expect_right(runner, desc, keys.bytes(), make_sort_values(split_sort(desc), count, seed),
                 options);
}

class SplitMatrix : public DeviceTest, public ::testing::WithParamInterface<Row> {};

TEST_P(SplitMatrix, AtEverySize) {
    const Row& row = GetParam();
    claim(row.tier);
    const std::uint64_t tile = row.policy.workgroup_size * row.policy.items;
    const std::uint64_t full = tile * row.policy.max_groups;
    const std::set<std::uint64_t> sizes{0, 1, 2, tile - 1, tile, tile + 1, full + tile / 2 + 3};
    const SplitDesc desc = row.desc(*sizes.rbegin());
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
            expect_right_of_size(*runner, desc, count, seed + turn, row.data, options);
            if (HasFailure()) return;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Split, SplitMatrix, ::testing::ValuesIn(rows_here()),
                         [](const auto& row) { return row.param.name(); });

class SplitTest : public TierTest {
protected:
    static std::uint32_t workgroup() { return std::max(16u, device().caps().subgroup.size); }

    static SplitDesc standard(Tier tier, SortStrategy strategy) {
        return {.value_bytes = 4,
                .end_bit = 3,
                .max_count = 11 * workgroup(),
                .tier = tier,
                .policy = SortPolicy{.strategy = strategy,
                                     .workgroup_size = workgroup(),
                                     .items = 2,
                                     .digit_bits = 4,
                                     .max_groups = 3,
                                     .patience = 16}};
    }
};

std::vector<std::byte> bytes_of(const std::vector<std::uint32_t>& words) {
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

// In so many words: the kinds of work, and where each begins.
TEST_F(SplitTest, BucketsInOrder) {
    const std::vector<std::uint32_t> keys{5, 2, 0x105, 7, 2, 0};
    for_each_tier([&](Tier tier) {
        const SplitDesc desc = standard(tier, kStrategies[static_cast<std::size_t>(tier) % 2]);
        auto runner = runner_of(device(), desc);
        ASSERT_TRUE(runner);
        const auto made = runner->run(bytes_of(keys), bytes_of({10, 11, 12, 13, 14, 15}));
        ASSERT_TRUE(made);
        EXPECT_EQ(made->keys, bytes_of({0, 2, 2, 5, 0x105, 7}));
        EXPECT_EQ(made->values, bytes_of({15, 11, 14, 10, 12, 13}));
        const std::vector<std::uint32_t> expected{0, 1, 1, 3, 3, 3, 5, 5, 6};
        EXPECT_EQ(runner->offsets(), expected);
    });
}

// An empty input has empty buckets, whatever offsets held; so has one whose count is in a buffer.
TEST_F(SplitTest, EmptyInputHasEmptyBuckets) {
    for_each_tier([&](Tier tier) {
        for (const SortStrategy strategy : kStrategies) {
            if (!device().is_simulated() && strategy == SortStrategy::look_back) continue;
            const SplitDesc desc = standard(tier, strategy);
            auto runner = runner_of(device(), desc);
            ASSERT_TRUE(runner);
            expect_right(*runner, desc, {}, {});
            expect_right(*runner, desc, {}, {}, {.count_in_buffer = true});
            expect_right_of_size(*runner, desc, 100, 3, SortData::hashed);
        }
    });
}

// All keys in one bucket, the first, the last or one between.
TEST_F(SplitTest, OneBucketHasEverything) {
    for_each_tier([&](Tier tier) {
        const SplitDesc desc =
            standard(tier, kStrategies[(static_cast<std::size_t>(tier) + 1) % 2]);
        auto runner = runner_of(device(), desc);
        ASSERT_TRUE(runner);
        for (const std::uint32_t bucket : {0u, 3u, 7u}) {
            const std::vector<std::uint32_t> keys(desc.max_count, 0xabcde8 + bucket);
            expect_right(*runner, desc, bytes_of(keys),
                         make_sort_values(split_sort(desc), keys.size(), bucket));
        }
    });
}

// The most buckets that there can be, of more lanes than have one each, from two digits and more.
TEST_F(SplitTest, SixteenBits) {
    const Tier tier = subgroup_tier();
    claim(tier);
    SplitDesc desc = standard(tier, SortStrategy::count_then_scatter);
    desc.key = Scalar::u16;
    desc.value_bytes = 0;
    desc.indices = true;
    desc.end_bit.reset();
    auto runner = runner_of(device(), desc);
    ASSERT_TRUE(runner);
    expect_right_of_size(*runner, desc, desc.max_count, 5, SortData::hashed);
}

// What Gpu plans by itself, up and down the sizes at which policies change.
TEST_F(SplitTest, DefaultPolicies) {
    const Tier tier = subgroup_tier();
    claim(tier);
    SplitDesc desc{.indices = true, .begin_bit = 28, .max_count = 700, .tier = tier};
    auto runner = runner_of(device(), desc);
    ASSERT_TRUE(runner);
    for (const std::uint64_t count : {700u, 3u, 255u})
        expect_right_of_size(*runner, desc, count, count, SortData::few);
}

}  // namespace
}  // namespace lanewise::test
