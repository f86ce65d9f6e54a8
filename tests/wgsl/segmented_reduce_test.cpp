// segmented_reduce in WGSL, in the simulator: at every subgroup size, full and partial, against the
// serial reference, and bit by bit against the kernels in GLSL.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <vector>

#include "primitives/segmented_reduce/segmented_reduce_plan.hpp"
#include "primitives/segmented_reduce/segmented_reduce_reference.hpp"
#include "tests/support/custom_cases.hpp"
#include "tests/support/test_data.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

using simulator::Machine;
using U32 = std::vector<std::uint32_t>;

constexpr Tier kTiers[] = {Tier::portable, Tier::barrier};

class WgslSegmentedReduce : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override {
        if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    }
    std::uint32_t size() const { return GetParam(); }
    std::uint32_t workgroup_size() const { return std::max(16u, size()); }
    std::uint32_t tile(Scalar element) const { return workgroup_size() * 16 / size_of(element); }

    // Around a tile, and longer; short ones, empty ones, and items of none.
    static U32 make_offsets(std::uint32_t count, std::uint32_t tile, std::uint64_t seed) {
        const std::uint32_t lengths[] = {5,    0, tile / 2, tile + 1,     3, 7,
                                         tile, 1, 2,        2 * tile + 3, 0, 9};
        U32 offsets{std::min(count, static_cast<std::uint32_t>(seed % 4))};
        for (std::uint64_t i = seed; offsets.back() + 4 < count; ++i)
            offsets.push_back(std::min(count, offsets.back() + lengths[i % std::size(lengths)]));
        return offsets;
    }

    SegmentedReduceDesc desc(Scalar element, Operator op, Tier tier) const {
        return {.element = element,
                .op = op,
                .max_count = 9 * tile(element),
                .max_segments = 300,
                .tier = tier,
                .policy = SegmentedReducePolicy{SegmentedReduceStrategy::two_pass, workgroup_size(),
                                                1, 4}};
    }

    // The results of the segments, where what is behind them is as it was.
    static std::optional<std::vector<std::byte>> run(const Machine& machine, const Caps& caps,
                                                     const Plan& plan, std::size_t result_bytes,
                                                     std::span<const std::byte> items,
                                                     const U32& offsets, WgslRun how) {
        how.offsets = offsets;
        auto output = run_plan(machine, caps, plan, items, how);
        if (!output) return std::nullopt;
        const std::size_t used = (offsets.size() - 1) * result_bytes;
        for (std::size_t i = used; i < output->size(); ++i) {
            if ((*output)[i] == std::byte{0xab}) continue;
            ADD_FAILURE() << "result " << i / result_bytes << " of " << offsets.size() - 1
                          << " is written";
            return std::nullopt;
        }
        output->resize(used);
        return output;
    }

    void expect_reduced(const Machine& machine, const SegmentedReduceDesc& desc,
                        std::uint32_t count, std::uint64_t seed, WgslRun how = {}) {
        const Caps caps = webgpu_caps(desc.tier == Tier::barrier ? 0 : machine.subgroup_size);
        const auto plan = plan_segmented_reduce(caps, desc);
        ASSERT_TRUE(plan) << plan.error().message;
        const Elements data = make_elements(desc.element, desc.op, count, seed, FloatData::rounded);
        const U32 offsets = make_offsets(count, plan->share.tile_items, seed);
        const auto result = run(machine, caps, *plan, segmented_reduce_result_bytes(desc),
                                data.bytes(), offsets, how);
        ASSERT_TRUE(result);
        std::string why;
        ASSERT_TRUE(segmented_reduce_matches(desc, data.bytes(), offsets, *result, &why))
            << to_text(machine) << "\n"
            << to_text(*plan) << count << " items: " << why;
        how.built_in = true;
        const auto glsl = run(machine, caps, *plan, segmented_reduce_result_bytes(desc),
                              data.bytes(), offsets, how);
        EXPECT_TRUE(glsl == result) << "GLSL gives other bits\n" << to_text(*plan);
    }
};

TEST_P(WgslSegmentedReduce, Reduced) {
    const auto machines = wgsl_machines(size());
    std::uint64_t seed = 1;
    for (const Scalar element :
         {Scalar::u8, Scalar::i16, Scalar::f16, Scalar::u32, Scalar::f32, Scalar::i64}) {
        for (const Operator op : {Operator::sum, Operator::product, Operator::max,
                                  Operator::bit_and, Operator::argmin}) {
            ++seed;
            // Each on two of the six sizes.
            if ((seed + std::bit_width(size())) % 3 != 0) continue;
            if (op == Operator::bit_and && is_float(element)) continue;
            const std::uint64_t choice = hash(seed, size());
            SegmentedReduceDesc made = desc(element, op, kTiers[choice % 2]);
            if (op == Operator::sum && element == Scalar::u8) made.accumulator = Scalar::u64;
            const Machine& machine = machines[choice / 4 % machines.size()];
            for (const std::uint32_t count : {1u, tile(element) + 3, 9 * tile(element) - 5}) {
                expect_reduced(machine, made, count, seed + count,
                               {.options = {.subgroup_id = seed % 2 == 0}});
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(WgslSegmentedReduce, CountInBuffer) {
    for (const Tier tier : kTiers) {
        const SegmentedReduceDesc made = desc(Scalar::u32, Operator::sum, tier);
        for (const std::uint32_t count : {0u, 1u, 6 * tile(Scalar::u32) + 1}) {
            expect_reduced(wgsl_machines(size())[1], made, count, count + 1,
                           {.count_in_buffer = true, .uses = 2, .earlier_counts = {77}});
            if (HasFailure()) return;
        }
    }
}

// The number of segments in a buffer; offsets that another pass may have written.
TEST_P(WgslSegmentedReduce, SegmentsByABuffer) {
    const Machine machine = wgsl_machines(size())[0];
    const Caps caps = webgpu_caps(size());
    detail::SegmentedReduceTask task{desc(Scalar::u32, Operator::sum, Tier::portable), {}};
    task.segment_total = Role::values;
    auto plan = plan_segmented_reduce(caps, task);
    ASSERT_TRUE(plan);
    const auto part = detail::segmented_reduce_part(caps, task, plan->tier, plan->addressing);
    ASSERT_TRUE(part) << part.error().message;
    plan->passes.resize(1);
    std::ranges::copy(part->passes, std::back_inserter(plan->passes));
    Argument total = *plan->argument(Role::offsets);
    total.role = Role::values;
    plan->arguments.push_back(total);
    plan->segment_result_bytes = 0;
    plan->result_bytes = 4;
    const std::uint32_t t = tile(Scalar::u32);
    const U32 items(3 * t, 1);
    const U32 offsets{1, 5, 5, t + 1, t + 3, t + 4, 3 * t};
    const U32 sums{4, 0, t - 4, 2, 1, 2 * t - 4};
    for (const std::uint32_t segments : {0u, 1u, 5u, 6u}) {
        const U32 number{segments};
        plan->max_results = segments;
        const auto result =
            run_plan_with_values(machine, caps, *plan, std::as_bytes(std::span(items)),
                                 {.values = std::as_bytes(std::span(number)), .offsets = offsets});
        ASSERT_TRUE(result);
        U32 words(result->output.size() / 4);
        if (!words.empty()) std::memcpy(words.data(), result->output.data(), 4 * words.size());
        EXPECT_EQ(words, U32(sums.begin(), sums.begin() + segments));
    }
}

TEST_P(WgslSegmentedReduce, CustomOperators) {
    const auto machines = wgsl_machines(size());
    std::uint64_t seed = std::bit_width(size());
    for (const CustomCase& custom :
         {custom_cases::matrix().in_wgsl(), custom_cases::farthest().in_wgsl(),
          custom_cases::three_words().in_wgsl()}) {
        ++seed;
        const Tier tier = kTiers[seed % 2];
        SegmentedReduceDesc made = desc(Scalar::u32, Operator::sum, tier);
        made.custom = custom.op;
        made.custom->nothing = custom.nothing;
        const Caps caps = webgpu_caps(tier == Tier::barrier ? 0 : size());
        const auto plan = plan_segmented_reduce(caps, made);
        ASSERT_TRUE(plan) << plan.error().message;
        const std::uint32_t count = 8 * plan->share.tile_items - 3;
        const Bytes items = custom.make(count, seed, Direction::forward);
        const U32 offsets = make_offsets(count, plan->share.tile_items, seed);
        const auto result = run(machines[seed % machines.size()], caps, *plan,
                                segmented_reduce_result_bytes(made), items, offsets, {});
        ASSERT_TRUE(result);
        Bytes expected;
        for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
            const Bytes one = custom.reduce_part(*made.custom, items, offsets[s], offsets[s + 1]);
            expected.insert(expected.end(), one.begin(), one.end());
        }
        EXPECT_TRUE(*result == expected) << custom.name() << "\n" << to_text(*plan);
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WgslSegmentedReduce, testing::Values(4u, 8u, 16u, 32u, 64u, 128u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace lanewise::test
