// segmented_sort and split in WGSL, in the simulator: at every subgroup size, full and partial,
// against the serial references.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "primitives/segmented_sort/segmented_sort_reference.hpp"
#include "primitives/split/split_reference.hpp"
#include "tests/support/test_data.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

using simulator::Machine;
using U32 = std::vector<std::uint32_t>;

constexpr Tier kTiers[] = {Tier::portable, Tier::barrier};

// Every bit pattern, or a few of them, so that the order of equal keys counts.
std::vector<std::byte> make_keys(Scalar key, std::size_t count, std::uint64_t seed) {
    Elements keys(key, count);
    for (std::size_t i = 0; i < count; ++i)
        keys.set(i, seed % 2 == 0 ? hash(seed, i) : hash(seed, hash(seed, i) % 13));
    return keys.bytes();
}

std::vector<std::byte> make_values(std::uint32_t bytes, std::size_t count) {
    U32 words(count * bytes / 4);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(hash(i));
    const auto all = std::as_bytes(std::span(words));
    return {all.begin(), all.end()};
}

class WgslSegments : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override {
        if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    }
    std::uint32_t size() const { return GetParam(); }
    std::uint32_t workgroup_size() const { return std::max(32u, size()); }
    std::uint32_t tile() const { return workgroup_size() * 2; }

    // Around half a tile, a tile, and longer; short ones, empty ones, and items of none.
    U32 make_offsets(std::uint32_t count, std::uint64_t seed) const {
        const std::uint32_t lengths[] = {5,      0, tile() / 2, tile() + 1,     3, 7,
                                         tile(), 1, 2,          2 * tile() + 3, 0, 9};
        U32 offsets{std::min(count, static_cast<std::uint32_t>(seed % 4))};
        for (std::uint64_t i = seed; offsets.back() + 4 < count; ++i)
            offsets.push_back(std::min(count, offsets.back() + lengths[i % std::size(lengths)]));
        return offsets;
    }

    void expect_sorted(const Machine& machine, const SegmentedSortDesc& desc, std::uint32_t count,
                       std::uint64_t seed, WgslRun run = {}) {
        const Caps caps = webgpu_caps(desc.tier == Tier::barrier ? 0 : machine.subgroup_size);
        const auto plan = plan_segmented_sort(caps, desc);
        ASSERT_TRUE(plan) << plan.error().message;
        const std::vector<std::byte> keys = make_keys(desc.key, count, seed);
        const std::vector<std::byte> values = make_values(desc.value_bytes, count);
        const U32 offsets = make_offsets(count, seed);
        run.values = values;
        run.offsets = offsets;
        const auto result = run_plan_with_values(machine, caps, *plan, keys, run);
        ASSERT_TRUE(result);
        std::string why;
        ASSERT_TRUE(segmented_sort_matches(desc, keys, values, offsets, result->output,
                                           result->values_out, &why))
            << to_text(machine) << "\n"
            << to_text(*plan) << count << " items: " << why;
    }

    void expect_split(const Machine& machine, const SplitDesc& desc, std::uint32_t count,
                      std::uint64_t seed, WgslRun run = {}) {
        const Caps caps = webgpu_caps(desc.tier == Tier::barrier ? 0 : machine.subgroup_size);
        const auto plan = plan_split(caps, desc);
        ASSERT_TRUE(plan) << plan.error().message;
        const std::vector<std::byte> keys = make_keys(desc.key, count, seed);
        const std::vector<std::byte> values = make_values(desc.value_bytes, count);
        run.values = values;
        const auto result = run_plan_with_values(machine, caps, *plan, keys, run);
        ASSERT_TRUE(result);
        std::string why;
        ASSERT_TRUE(split_matches(desc, keys, values,
                                  {result->output, result->values_out, result->offsets}, &why))
            << to_text(machine) << "\n"
            << to_text(*plan) << count << " items: " << why;
    }

    SegmentedSortDesc sort(Scalar key, Tier tier) const {
        return {
            .key = key,
            .max_count = 9 * tile(),
            .tier = tier,
            .policy = SegmentedSortPolicy{workgroup_size(), 2, tier == Tier::barrier ? 4u : 6u, 3}};
    }
};

TEST_P(WgslSegments, Sorted) {
    const auto machines = wgsl_machines(size());
    std::uint64_t seed = 1;
    for (const Scalar key : {Scalar::u8, Scalar::f16, Scalar::i32, Scalar::u64, Scalar::f64}) {
        for (const std::uint32_t value_bytes : {0u, 4u, 12u, 1u}) {  // 1: argsort
            ++seed;
            // Each on two of the six sizes.
            if ((seed + std::bit_width(size())) % 3 != 0) continue;
            const std::uint64_t choice = hash(seed, size());
            SegmentedSortDesc desc = sort(key, kTiers[choice % 2]);
            desc.argsort = value_bytes == 1;
            desc.value_bytes = desc.argsort ? 0 : value_bytes;
            desc.order = choice / 2 % 2 == 0 ? SortOrder::ascending : SortOrder::descending;
            if (key == Scalar::f64) desc.begin_bit = 27;
            const Machine& machine = machines[choice / 4 % machines.size()];
            for (const std::uint32_t count : {1u, tile() + 3, 9 * tile() - 5}) {
                expect_sorted(machine, desc, count, seed + count,
                              {.options = {.subgroup_id = seed % 2 == 0}});
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(WgslSegments, CountInBuffer) {
    for (const Tier tier : kTiers) {
        SegmentedSortDesc desc = sort(Scalar::i16, tier);
        desc.value_bytes = 4;
        desc.end_bit = 8;
        for (const std::uint32_t count : {0u, 1u, 3 * tile() + 1}) {
            expect_sorted(wgsl_machines(size())[1], desc, count, count + 1,
                          {.count_in_buffer = true, .uses = 2, .earlier_counts = {77}});
            if (HasFailure()) return;
        }
    }
}

TEST_P(WgslSegments, Split) {
    const auto machines = wgsl_machines(size());
    std::uint64_t seed = 1;
    for (const Scalar key : {Scalar::u8, Scalar::i16, Scalar::f32, Scalar::u64}) {
        for (const std::uint32_t value_bytes : {0u, 8u, 1u}) {  // 1: indices
            ++seed;
            if ((seed + std::bit_width(size())) % 3 != 0) continue;
            const std::uint64_t choice = hash(seed, size());
            SplitDesc desc{.key = key, .max_count = 7 * tile(), .tier = kTiers[choice % 2]};
            desc.indices = value_bytes == 1;
            desc.value_bytes = desc.indices ? 0 : value_bytes;
            desc.begin_bit = 1;
            desc.end_bit = 1 + static_cast<std::uint32_t>(choice / 2 % 8);
            desc.policy =
                SortPolicy{.strategy = choice / 16 % 2 == 0 ? SortStrategy::count_then_scatter
                                                            : SortStrategy::look_back,
                           .workgroup_size = workgroup_size(),
                           .items = 2,
                           .digit_bits = 4,
                           .max_groups = 4,
                           .patience = 16};
            const Machine& machine = machines[choice / 32 % machines.size()];
            for (const std::uint32_t count : {0u, tile() + 3, 6 * tile() + 1}) {
                expect_split(machine, desc, count, seed + count,
                             {.count_in_buffer = count % 2 == 1});
                if (HasFailure()) return;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WgslSegments, testing::Values(4u, 8u, 16u, 32u, 64u, 128u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace lanewise::test
