// plan_segmented_reduce on described devices, the part of it that other planners take, and its
// reference against answers worked out by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "primitives/segmented_reduce/segmented_reduce_plan.hpp"
#include "primitives/segmented_reduce/segmented_reduce_reference.hpp"
#include "tests/unit/described_devices.hpp"
#include "tests/unit/plan_rules.hpp"

namespace lanewise::test {
namespace {

using Strategy = SegmentedReduceStrategy;
using Policy = SegmentedReducePolicy;

constexpr Scalar kScalars[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                               Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                               Scalar::u64, Scalar::i64, Scalar::f64};
constexpr Operator kOperators[] = {Operator::sum,     Operator::product, Operator::min,
                                   Operator::max,     Operator::bit_and, Operator::bit_or,
                                   Operator::bit_xor, Operator::argmin,  Operator::argmax};
constexpr Tier kTiers[] = {Tier::pinned, Tier::portable, Tier::barrier};
constexpr Addressing kAddressings[] = {Addressing::descriptor, Addressing::device_address};

std::string text(const SegmentedReduceDesc& desc) {
    return fmt::format("{} of {}, {} items in {} segments, tier {}, policy {}", to_text(desc.op),
                       to_text(desc.element), desc.max_count, desc.max_segments,
                       desc.tier ? to_text(*desc.tier) : "auto",
                       desc.policy ? to_text(*desc.policy) : "auto");
}

// A plan that keeps to all rules, or a refusal that says why. True where there is a plan.
bool expect_plan_or_reason(const Caps& caps, const SegmentedReduceDesc& desc) {
    const auto plan = plan_segmented_reduce(caps, desc);
    if (!plan) {
        EXPECT_FALSE(plan.error().message.empty()) << text(desc);
        EXPECT_EQ(plan.error().message.find('\n'), std::string::npos) << plan.error().message;
        return false;
    }
    for (const std::string& rule : broken_rules(*plan, caps))
        ADD_FAILURE() << text(desc) << ": " << rule << "\n" << to_text(*plan);
    EXPECT_EQ(plan->primitive, "segmented_reduce");
    EXPECT_EQ(plan->max_count, desc.max_count);
    EXPECT_EQ(plan->element_bytes, size_of(desc.element));
    EXPECT_EQ(plan->result_bytes, 0u);
    EXPECT_EQ(plan->segment_result_bytes, segmented_reduce_result_bytes(desc));
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier));
    EXPECT_EQ(plan->addressing, desc.addressing.value_or(plan->addressing));
    EXPECT_EQ(plan->policy, desc.policy ? to_text(*desc.policy) : plan->policy);
    EXPECT_EQ(plan->result, Role::output);
    EXPECT_FALSE(plan->in_place);
    EXPECT_GE(plan->argument(Role::output)->bytes,
              desc.max_segments * segmented_reduce_result_bytes(desc));
    const Argument* offsets = plan->argument(Role::offsets);
    EXPECT_TRUE(offsets != nullptr && offsets->access == Access::read && offsets->bytes == 4);
    const bool two_pass = plan->policy.starts_with("two_pass");
    EXPECT_EQ(plan->passes.size(), two_pass ? 3u : 2u);
    EXPECT_EQ(plan->passes[1].name, "segmented_reduce_tiles");
    if (two_pass) {
        EXPECT_EQ(plan->passes[2].name, "segmented_reduce_partials");
    }
    return true;
}

void expect_refused(const SegmentedReduceDesc& desc, ErrorCode code,
                    std::initializer_list<const char*> words) {
    const auto plan = plan_segmented_reduce(described("all"), desc);
    ASSERT_FALSE(plan) << text(desc);
    EXPECT_EQ(plan.error().code, code) << plan.error().message;
    EXPECT_TRUE(plan.error().message.starts_with("segmented_reduce: ")) << plan.error().message;
    for (const char* word : words) {
        EXPECT_NE(plan.error().message.find(word), std::string::npos)
            << "no '" << word << "' in: " << plan.error().message;
    }
}

TEST(SegmentedReducePlan, EveryRequestOnEveryDevice) {
    std::size_t turn = 0;
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        int plans = 0;
        for (const Scalar element : kScalars) {
            for (const Operator op : kOperators) {
                for (const Tier tier : kTiers) {
                    for (const Addressing addressing : kAddressings) {
                        // The rest takes turns.
                        const std::size_t form = turn++;
                        SegmentedReduceDesc desc{.element = element,
                                                 .op = op,
                                                 .max_count = form % 3 == 0 ? 300u : 1u << 22,
                                                 .max_segments = form % 7 * 1000,
                                                 .tier = tier,
                                                 .addressing = addressing};
                        if (form % 4 == 0 && !is_arg(op)) {
                            desc.accumulator = is_float(element)            ? Scalar::f64
                                               : is_signed_integer(element) ? Scalar::i64
                                                                            : Scalar::u64;
                        }
                        if (form % 5 == 0) desc.policy = Policy{Strategy::two_pass, 128, 1, 7};
                        plans += expect_plan_or_reason(device.caps, desc) ? 1 : 0;
                    }
                }
            }
        }
        // A device of 4 storage buffers and no addresses can do nothing.
        if (device.caps.device_addresses || device.caps.limits.max_storage_buffers >= 5) {
            EXPECT_GT(plans, 0);
        }
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(SegmentedReducePlan, RefusalsSayWhy) {
    const SegmentedReduceDesc some{.max_count = 10, .max_segments = 3};
    const auto with = [&](auto&& change) {
        SegmentedReduceDesc desc = some;
        change(desc);
        return desc;
    };
    constexpr ErrorCode kBad = ErrorCode::bad_argument;
    constexpr ErrorCode kLimit = ErrorCode::limit_exceeded;
    expect_refused(with([](auto& d) { d.element = Scalar::f32, d.op = Operator::bit_xor; }), kBad,
                   {"xor", "f32"});
    expect_refused(with([](auto& d) { d.accumulator = Scalar::f64; }), kBad, {"u32", "f64"});
    expect_refused(with([](auto& d) { d.max_count = std::uint64_t{1} << 32; }), kLimit,
                   {"max_count 4294967296", "32 bits"});
    expect_refused(with([](auto& d) { d.max_segments = std::uint64_t{1} << 31; }), kLimit,
                   {"max_segments 2147483648"});
    expect_refused(with([](auto& d) {
                       d.element = Scalar::i64, d.op = Operator::argmin;
                       d.max_segments = std::uint64_t{1} << 30;
                   }),
                   kLimit, {"max_segments 1073741824", "16 bytes"});
    CustomOperator custom{
        .name = "add", .element = {{Scalar::u32, 1, {}}}, .combine = "a + b", .commutative = true};
    custom.initial.resize(4);
    expect_refused(with([&](auto& d) { d.custom = custom; }), kBad, {"initial"});
    const auto refused = [&](Policy policy, std::initializer_list<const char*> words) {
        expect_refused(with([&](auto& d) { d.policy = policy; }), kBad, words);
    };
    refused({Strategy::two_pass, 63, 4, 9}, {"workgroup_size 63"});
    refused({Strategy::two_pass, 2048, 4, 9}, {"workgroup_size 2048"});
    refused({Strategy::two_pass, 64, 3, 9}, {"vectors 3"});
    refused({Strategy::two_pass, 64, 16, 9}, {"vectors 16"});
    refused({Strategy::two_pass, 64, 4, 0}, {"max_groups"});
    Caps caps = described("all");
    caps.limits.max_workgroup_memory = 4096;
    SegmentedReduceDesc large = some;
    large.policy = Policy{Strategy::two_pass, 256, 4, 9};
    const auto plan = plan_segmented_reduce(caps, large);
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find("workgroup memory"), std::string::npos);
    // Many results of few items: it says so.
    caps = described("webgpu-minimum");
    const auto results = plan_segmented_reduce(caps, {.max_count = 10, .max_segments = 1u << 28});
    ASSERT_FALSE(results);
    EXPECT_NE(results.error().message.find("268435456 results of u32"), std::string::npos)
        << results.error().message;
}

TEST(SegmentedReducePlan, PoliciesPrintAndCompare) {
    const Policy policy{Strategy::two_pass, 64, 4, 7};
    for (const Policy& other :
         {Policy{Strategy::one_workgroup, 64, 4, 7}, Policy{Strategy::two_pass, 32, 4, 7},
          Policy{Strategy::two_pass, 64, 2, 7}, Policy{Strategy::two_pass, 64, 4, 8}}) {
        EXPECT_NE(other, policy);
        EXPECT_NE(to_text(other), to_text(policy));
    }
    for (const Strategy strategy : {Strategy::one_workgroup, Strategy::two_pass})
        EXPECT_EQ(segmented_reduce_strategy_from_text(to_text(strategy)), strategy);
    EXPECT_FALSE(segmented_reduce_strategy_from_text("look_back"));
}

TEST(SegmentedReducePlan, ScratchGrowsWithTheCount) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const Operator op : {Operator::sum, Operator::argmax}) {
            std::uint64_t before = 0;
            for (std::uint64_t count = 1; count < std::uint64_t{1} << 32; count *= 2) {
                for (const std::uint64_t near : {count - 1, count, count + 1}) {
                    const auto plan = plan_segmented_reduce(
                        device.caps, {.op = op, .max_count = near, .max_segments = 5});
                    if (!plan) continue;
                    const std::uint64_t bytes = plan->argument(Role::scratch)->bytes;
                    EXPECT_GE(bytes, before) << near;
                    before = bytes;
                }
            }
        }
    }
}

TEST(SegmentedReducePlan, LimitsOfAnySize) {
    for (const std::uint32_t invocations : {32u, 128u, 768u}) {
        for (const std::uint32_t memory : {512u, 2048u, 16384u}) {
            for (const std::uint32_t groups : {1u, 7u, ~0u}) {
                Caps caps = described("all");
                caps.limits.max_workgroup_invocations = invocations;
                caps.limits.max_workgroup_size_x = invocations;
                caps.limits.max_workgroup_memory = memory;
                caps.limits.max_groups_x = groups;
                for (const Tier tier : kTiers) {
                    for (const Scalar element : {Scalar::u8, Scalar::u32, Scalar::i64}) {
                        for (const std::uint64_t count : {1000u, 1u << 20}) {
                            const SegmentedReduceDesc desc{.element = element,
                                                           .op = Operator::argmin,
                                                           .max_count = count,
                                                           .max_segments = count,
                                                           .tier = tier};
                            // 512 bytes are below what any API guarantees; 16 KiB they all do.
                            EXPECT_TRUE(expect_plan_or_reason(caps, desc) || memory < 16384 ||
                                        (tier == Tier::pinned && invocations < 128))
                                << text(desc);
                        }
                    }
                }
            }
        }
    }
    EXPECT_FALSE(plan_segmented_reduce(Caps{}, {.max_count = 10, .max_segments = 2}));
}

// What a planner of another primitive takes: its own places for offsets and their number.
TEST(SegmentedReducePlan, PartOfAnotherPlan) {
    const Caps& caps = described("nvidia");
    detail::SegmentedReduceTask task;
    task.max_count = 1u << 20;
    task.max_segments = 1000;
    task.segment_total = PassBuffer(Role::scratch, 1u << 20, 4);
    const Tier tier = Tier::barrier;
    task.policy = segmented_reduce_policy(caps, task, tier);
    const auto part = detail::segmented_reduce_part(caps, task, tier, Addressing::descriptor);
    ASSERT_TRUE(part) << part.error().message;
    ASSERT_EQ(part->passes.size(), 2u);
    const Pass& tiles = part->passes[0];
    EXPECT_EQ(tiles.bindings,
              (std::vector<PassBuffer>{Role::input, Role::output,
                                       PassBuffer(Role::scratch, 0, part->scratch_bytes),
                                       Role::offsets, *task.segment_total}));
    const auto constant = [&](const char* name) {
        return std::ranges::find(tiles.constants, name, &Constant::name)->value;
    };
    EXPECT_EQ(constant("segments_in_buffer"), 1u);
    EXPECT_EQ(constant("most_segments"), 1000u);
    EXPECT_EQ(part->scratch_bytes % 256, 0u);
    EXPECT_GE(part->most_range_bytes, std::uint64_t{4} << 20);
    EXPECT_EQ(part->share.tile_items, plan_segmented_reduce(caps, task)->share.tile_items);
}

RC_GTEST_PROP(SegmentedReducePlanProperties, KeepsToTheRules, ()) {
    const auto& devices = described_devices();
    const Caps& caps = devices[*rc::gen::inRange<std::size_t>(0, devices.size())].caps;
    SegmentedReduceDesc desc;
    desc.element =
        *rc::gen::elementOf(std::vector<Scalar>(std::begin(kScalars), std::end(kScalars)));
    desc.op =
        *rc::gen::elementOf(std::vector<Operator>(std::begin(kOperators), std::end(kOperators)));
    desc.max_count = std::uint64_t{1} << *rc::gen::inRange(0, 33);
    desc.max_count -= *rc::gen::inRange<std::uint64_t>(0, 2);
    desc.max_segments = std::uint64_t{1} << *rc::gen::inRange(0, 32);
    desc.max_segments -= *rc::gen::inRange<std::uint64_t>(0, 2);
    if (*rc::gen::arbitrary<bool>()) {
        desc.policy =
            Policy{*rc::gen::arbitrary<bool>() ? Strategy::two_pass : Strategy::one_workgroup,
                   1u << *rc::gen::inRange(1, 12), 1u << *rc::gen::inRange(0, 5),
                   *rc::gen::inRange<std::uint32_t>(0, 2000)};
    }
    expect_plan_or_reason(caps, desc);
    RC_ASSERT(!::testing::Test::HasFailure());
}

using U32 = std::vector<std::uint32_t>;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& words) {
    return std::as_bytes(std::span(words));
}

// The reference, which the device tests believe, in so many words.
TEST(SegmentedReduceReference, ByHand) {
    const U32 items{9, 8, 30, 20, 30, 5, 21, 1, 5, 1, 4, 3};
    const U32 offsets{2, 5, 5, 6, 10};
    SegmentedReduceDesc desc;
    const auto reduced = [&](Operator op, const U32& at) {
        desc.op = op;
        const auto made = segmented_reduce_reference(desc, bytes_of(items), at);
        U32 words(made.size() / 4);
        if (!words.empty()) std::memcpy(words.data(), made.data(), made.size());
        std::string why;
        EXPECT_TRUE(segmented_reduce_matches(desc, bytes_of(items), at, made, &why)) << why;
        return words;
    };
    EXPECT_EQ(reduced(Operator::sum, offsets), (U32{80, 0, 5, 28}));
    EXPECT_EQ(reduced(Operator::product, {0, 2, 2}), (U32{72, 1}));
    EXPECT_EQ(reduced(Operator::max, offsets), (U32{30, 0, 5, 21}));
    EXPECT_EQ(reduced(Operator::argmax, offsets), (U32{30, 2, 0, ~0u, 5, 5, 21, 6}));
    EXPECT_EQ(reduced(Operator::argmin, {6, 10, 99}), (U32{1, 7, 3, 11}));
    EXPECT_EQ(reduced(Operator::sum, {}), U32{});
    EXPECT_EQ(reduced(Operator::sum, {7}), U32{});
    EXPECT_EQ(reduced(Operator::sum, {10, 11, 99, 400}), (U32{4, 3, 0}));
    std::string why;
    desc.op = Operator::sum;
    EXPECT_FALSE(segmented_reduce_matches(desc, bytes_of(items), offsets,
                                          bytes_of(U32{80, 0, 5, 27}), &why));
    EXPECT_NE(why.find("segment 3, items 6 to 10"), std::string::npos) << why;
    EXPECT_FALSE(
        segmented_reduce_matches(desc, bytes_of(items), offsets, bytes_of(U32{80, 0, 5}), &why));
    EXPECT_NE(why.find("12 bytes"), std::string::npos) << why;
    desc.op = Operator::argmax;
    EXPECT_FALSE(
        segmented_reduce_matches(desc, bytes_of(items), {{5, 7}}, bytes_of(U32{21, 1}), &why));
}

}  // namespace
}  // namespace lanewise::test
