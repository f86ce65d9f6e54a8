// plan_select on described devices.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanewise/jit.hpp"
#include "primitives/select/select_plan.hpp"
#include "tests/unit/described_devices.hpp"
#include "tests/unit/plan_rules.hpp"

namespace lanewise::test {
namespace {

using detail::SelectTask;

constexpr Scalar kElements[] = {Scalar::u8, Scalar::f16, Scalar::u32, Scalar::f64};
constexpr SelectStrategy kStrategies[] = {
    SelectStrategy::one_workgroup, SelectStrategy::count_then_scatter, SelectStrategy::look_back,
    SelectStrategy::count_ahead, SelectStrategy::append};
constexpr SelectRest kRests[] = {SelectRest::dropped, SelectRest::rejected, SelectRest::after};
const CustomPredicate kFarPoints{"far", {{Scalar::f32, 3}}, "dot(x, x) > 1.0"};

std::string text(const SelectTask& task) {
    return fmt::format(
        "{} {} by {}, values {}{}, items {}, {}, {}, capacity {}, tier {}, {}, policy {}",
        task.max_count, to_text(task.element),
        task.predicate ? "predicate"
        : task.changes ? "changes"
                       : fmt::format("flags of {}", task.flag_bits),
        task.value_bytes, task.indices ? " indices" : "", task.items, to_text(task.rest),
        to_text(task.order), task.capacity ? fmt::format("{}", *task.capacity) : "none",
        task.tier ? to_text(*task.tier) : "auto",
        task.addressing ? to_text(*task.addressing) : "auto",
        task.policy ? to_text(*task.policy) : "auto");
}

std::vector<std::string> passes_of(const Plan& plan) {
    std::vector<std::string> names;
    for (const Pass& pass : plan.passes) {
        if (pass.when == When::always) names.push_back(pass.name);
    }
    return names;
}

std::uint64_t scratch_of(const Plan& plan) { return plan.argument(Role::scratch)->bytes; }

// A plan that keeps to all rules, or a refusal that says why. True where there is a plan.
bool expect_plan_or_reason(const Caps& caps, const SelectTask& task) {
    const auto plan = detail::plan_select_task(caps, task);
    if (!plan) {
        EXPECT_FALSE(plan.error().message.empty()) << text(task);
        EXPECT_EQ(plan.error().message.find('\n'), std::string::npos) << plan.error().message;
        EXPECT_TRUE(plan.error().code == ErrorCode::unsupported ||
                    plan.error().code == ErrorCode::bad_argument ||
                    plan.error().code == ErrorCode::limit_exceeded)
            << to_text(plan.error().code) << ": " << plan.error().message;
        return false;
    }
    for (const std::string& rule : broken_rules(*plan, caps))
        ADD_FAILURE() << text(task) << ": " << rule << "\n" << to_text(*plan);
    const std::uint32_t bytes =
        task.predicate ? bytes_of(task.predicate->element) : size_of(task.element);
    const std::uint32_t value_bytes = task.indices ? 4 : task.value_bytes;
    const std::uint64_t results = std::min(task.capacity.value_or(task.max_count), task.max_count);
    EXPECT_EQ(plan->primitive, "select");
    EXPECT_EQ(plan->max_count, task.max_count);
    EXPECT_EQ(plan->tier, task.tier.value_or(plan->tier));
    EXPECT_EQ(plan->element_bytes, bytes);
    EXPECT_EQ(plan->value_bytes, value_bytes);
    EXPECT_EQ(plan->argument(Role::flags) != nullptr, !task.predicate && !task.changes);
    EXPECT_EQ(plan->argument(Role::output) != nullptr, task.items);
    EXPECT_EQ(plan->argument(Role::values) != nullptr, task.value_bytes != 0);
    EXPECT_EQ(plan->argument(Role::values_out) != nullptr, value_bytes != 0);
    EXPECT_EQ(plan->argument(Role::rejected) != nullptr, task.rest == SelectRest::rejected);
    EXPECT_EQ(plan->argument(Role::count_out)->bytes, 4u);
    for (const Argument& argument : plan->arguments) {
        const bool is_read = argument.role == Role::input || argument.role == Role::flags ||
                             argument.role == Role::values;
        EXPECT_EQ(argument.access == Access::read, is_read) << to_text(argument.role);
    }
    const auto words = [](std::uint64_t bits) { return (bits + 31) / 32 * 4; };
    EXPECT_EQ(bytes_needed(*plan, Role::flags, task.max_count),
              plan->argument(Role::flags) == nullptr ? 0 : words(task.max_count * task.flag_bits));
    if (task.items) {
        EXPECT_EQ(bytes_needed(*plan, Role::output, task.max_count), words(8 * results * bytes));
    }
    if (task.rest == SelectRest::rejected) {
        EXPECT_EQ(bytes_needed(*plan, Role::rejected, task.max_count),
                  words(8 * task.max_count * bytes));
    }
    EXPECT_EQ(bytes_needed(*plan, Role::values_out, task.max_count), results * value_bytes);
    return true;
}

TEST(SelectTypes, Names) {
    for (const SelectStrategy strategy : kStrategies)
        EXPECT_EQ(select_strategy_from_text(to_text(strategy)), strategy);
    EXPECT_FALSE(select_strategy_from_text("reduce_ahead"));
    EXPECT_STREQ(to_text(SelectOrder::any), "any");
    EXPECT_STREQ(to_text(SelectRest::after), "after");
}

TEST(SelectPlan, Passes) {
    const Caps caps = described("nvidia");
    const auto passes = [&](const SelectDesc& desc) {
        const auto plan = plan_select(caps, desc);
        EXPECT_TRUE(plan) << plan.error().message;
        return plan ? passes_of(*plan) : std::vector<std::string>();
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(passes({.max_count = 1000}), Names{"select_tiles"});
    EXPECT_EQ(passes({.max_count = 1u << 22}), Names{"select_lookback"});
    EXPECT_EQ(passes({.rest = SelectRest::after, .max_count = 1u << 24}),
              (Names{"select_counts", "select_tiles"}));
    EXPECT_EQ(passes({.order = SelectOrder::any, .max_count = 1u << 24}),
              (Names{"select_begin", "select_append"}));
    // Narrow items are words until the end.
    EXPECT_EQ(passes({.element = Scalar::u8, .max_count = 1u << 24}),
              (Names{"select_lookback", "sort_pack"}));
    EXPECT_EQ(passes({.element = Scalar::u16, .rest = SelectRest::rejected, .max_count = 1u << 22}),
              (Names{"select_lookback", "sort_pack", "sort_pack"}));
    EXPECT_EQ(
        passes({.element = Scalar::u16, .indices = true, .items = false, .max_count = 1u << 22}),
        Names{"select_lookback"});
    // A device that does not promise that a workgroup runs while others wait.
    const auto plan = plan_select(described("adreno-740"), {.max_count = 1u << 24});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(passes_of(*plan), (Names{"select_counts", "select_tiles"}));
}

TEST(SelectPlan, Refusals) {
    const Caps caps = described("nvidia");
    const auto refused = [&](const SelectDesc& desc, ErrorCode code, const char* why) {
        const auto plan = plan_select(caps, desc);
        ASSERT_FALSE(plan) << why;
        EXPECT_EQ(plan.error().code, code) << plan.error().message;
        EXPECT_NE(plan.error().message.find(why), std::string::npos) << plan.error().message;
    };
    const auto bad = ErrorCode::bad_argument;
    refused({.flag_bits = 4, .max_count = 9}, bad, "flag_bits 4");
    refused({.value_bytes = 20, .max_count = 9}, bad, "value_bytes 20");
    refused({.value_bytes = 4, .indices = true, .max_count = 9}, bad, "indices are the values");
    refused({.items = false, .max_count = 9}, bad, "nothing is written");
    refused({.rest = SelectRest::rejected, .order = SelectOrder::any, .max_count = 9}, bad,
            "SelectOrder::input");
    refused({.rest = SelectRest::after, .max_count = 9, .capacity = 5}, bad, "capacity");
    refused({.predicate = CustomPredicate{}, .max_count = 9}, bad, "`keep` is missing");
    refused({.predicate = CustomPredicate{"Odd", {{Scalar::u32}}, "x > 1u"}, .max_count = 9}, bad,
            "its name is 'Odd'");
    refused({.predicate = CustomPredicate{"odd", {{Scalar::u8, 3}}, "true"}, .max_count = 9}, bad,
            "multiple of 4");
    refused({.max_count = std::uint64_t{1} << 32}, ErrorCode::limit_exceeded, "max_count");
    refused({.element = Scalar::u64, .max_count = std::uint64_t{1} << 31},
            ErrorCode::limit_exceeded, "2 words each");
    const auto policy = [&](SelectRest rest, const SelectPolicy& made, const char* why) {
        refused({.rest = rest, .max_count = 1000, .policy = made}, bad, why);
    };
    policy(SelectRest::dropped, {.workgroup_size = 48}, "workgroup_size 48");
    policy(SelectRest::dropped, {.vectors = 16}, "vectors 16");
    policy(SelectRest::dropped, {.max_groups = 0}, "max_groups");
    policy(SelectRest::dropped, {.strategy = SelectStrategy::count_ahead}, "ahead is 0");
    policy(SelectRest::dropped, {.ahead = 3}, "ahead is 3");
    policy(SelectRest::dropped, {.strategy = SelectStrategy::look_back, .patience = 0}, "patience");
    policy(SelectRest::after, {.strategy = SelectStrategy::look_back}, "count_then_scatter");
    policy(SelectRest::dropped, {.strategy = SelectStrategy::append}, "SelectOrder::any");
    // By name, where there are fewer buffers.
    Caps few = caps;
    few.limits.max_storage_buffers = 8;
    SelectDesc desc{.value_bytes = 4, .rest = SelectRest::rejected, .max_count = 1u << 20};
    const auto fallen_back = plan_select(few, desc);
    ASSERT_TRUE(fallen_back) << fallen_back.error().message;
    EXPECT_EQ(passes_of(*fallen_back), (std::vector<std::string>{"select_counts", "select_tiles"}));
    desc.policy = SelectPolicy{.strategy = SelectStrategy::look_back};
    const auto too_many = plan_select(few, desc);
    ASSERT_FALSE(too_many);
    EXPECT_NE(too_many.error().message.find("max_storage_buffers is 8"), std::string::npos)
        << too_many.error().message;
}

// Items are moved as bits: the arithmetic of their type is for predicates alone.
TEST(SelectPlan, ElementsNeedNoFeature) {
    Caps caps = described("all");
    caps.types.float64 = false;
    caps.types.int64 = false;
    for (const Scalar element : {Scalar::f64, Scalar::i64, Scalar::f16, Scalar::i8}) {
        const auto plan = plan_select(caps, {.element = element, .max_count = 5000});
        EXPECT_TRUE(plan) << plan.error().message;
    }
    const CustomPredicate predicate{
        .name = "long", .element = {{Scalar::f64, 1}}, .keep = "x > 1.0"};
    const auto refused = plan_select(caps, {.predicate = predicate, .max_count = 5000});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
    EXPECT_NE(refused.error().message.find("shaderFloat64"), std::string::npos)
        << refused.error().message;
}

TEST(SelectPlan, EveryDevice) {
    std::size_t plans = 0;
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const Scalar element : kElements) {
            for (const std::uint32_t values : {0u, 4u, 16u, 1u}) {  // 1: indices
                for (const SelectRest rest : kRests) {
                    for (const std::uint64_t count : {0u, 100u, 30000u, 1u << 22}) {
                        SelectTask task;
                        task.element = element;
                        task.indices = values == 1;
                        task.value_bytes = task.indices ? 0 : values;
                        task.rest = rest;
                        task.max_count = count;
                        plans += expect_plan_or_reason(device.caps, task) ? 1 : 0;
                        task.changes = true;
                        task.items = values == 0;
                        plans += expect_plan_or_reason(device.caps, task) ? 1 : 0;
                        if (rest == SelectRest::dropped) {
                            task.order = SelectOrder::any;
                            plans += expect_plan_or_reason(device.caps, task) ? 1 : 0;
                        }
                        if (HasFailure()) return;
                    }
                }
            }
        }
    }
    EXPECT_GT(plans, 1000u);
}

TEST(SelectPlan, KernelsOfPredicatesAreCompiled) {
    for (const char* name : {"nvidia", "webgpu-minimum"}) {
        const Caps caps = described(name);
        for (const SelectStrategy strategy : kStrategies) {
            SelectDesc desc{.predicate = kFarPoints, .value_bytes = 8, .max_count = 5000};
            desc.policy = SelectPolicy{.strategy = strategy, .workgroup_size = 64, .vectors = 2};
            if (strategy == SelectStrategy::count_ahead) desc.policy->ahead = 2;
            if (strategy == SelectStrategy::append) desc.order = SelectOrder::any;
            const auto plan = plan_select(caps, desc);
            ASSERT_TRUE(plan) << plan.error().message;
            const auto bundle = jit::compile(*plan);
            ASSERT_TRUE(bundle) << bundle.error().message;
            for (const std::string& rule : broken_rules(*plan, caps, &*bundle))
                ADD_FAILURE() << rule << "\n" << to_text(*plan);
        }
    }
}

RC_GTEST_PROP(SelectPlan, ScratchDoesNotShrinkWithTheCount, ()) {
    const auto devices = described_devices();
    const auto& device = devices[*rc::gen::inRange<std::size_t>(0, devices.size())];
    SelectDesc desc;
    desc.element = kElements[*rc::gen::inRange<std::size_t>(0, std::size(kElements))];
    desc.rest = kRests[*rc::gen::inRange<std::size_t>(0, std::size(kRests))];
    desc.indices = *rc::gen::arbitrary<bool>();
    desc.max_count = *rc::gen::inRange<std::uint64_t>(0, 1u << *rc::gen::inRange(1, 26));
    const auto smaller = plan_select(device.caps, desc);
    desc.max_count += *rc::gen::inRange<std::uint64_t>(0, 1u << *rc::gen::inRange(1, 26));
    const auto larger = plan_select(device.caps, desc);
    RC_PRE(smaller.has_value() && larger.has_value());
    RC_ASSERT(scratch_of(*smaller) <= scratch_of(*larger));
}

RC_GTEST_PROP(SelectPlan, AnyRequestIsPlannedOrRefused, ()) {
    const auto devices = described_devices();
    const auto& device = devices[*rc::gen::inRange<std::size_t>(0, devices.size())];
    SelectTask task;
    task.element = kElements[*rc::gen::inRange<std::size_t>(0, std::size(kElements))];
    const auto decides = *rc::gen::inRange(0, 3);
    task.changes = decides == 1;
    if (decides == 2) task.predicate = kFarPoints;
    task.flag_bits = *rc::gen::element(1u, 8u, 16u, 32u, 5u);
    task.value_bytes = *rc::gen::element(0u, 4u, 8u, 12u, 16u);
    task.indices = task.value_bytes == 0 && *rc::gen::arbitrary<bool>();
    task.items = *rc::gen::arbitrary<bool>();
    task.rest = kRests[*rc::gen::inRange<std::size_t>(0, std::size(kRests))];
    task.order = *rc::gen::element(SelectOrder::input, SelectOrder::any);
    task.max_count =
        *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << *rc::gen::inRange(1, 34));
    if (*rc::gen::arbitrary<bool>()) {
        task.capacity =
            *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << *rc::gen::inRange(1, 34));
    }
    if (*rc::gen::arbitrary<bool>())
        task.tier = *rc::gen::element(Tier::pinned, Tier::portable, Tier::barrier);
    if (*rc::gen::arbitrary<bool>())
        task.addressing = *rc::gen::element(Addressing::descriptor, Addressing::device_address);
    if (*rc::gen::arbitrary<bool>()) {
        SelectPolicy policy;
        policy.strategy = kStrategies[*rc::gen::inRange<std::size_t>(0, std::size(kStrategies))];
        policy.workgroup_size = 1u << *rc::gen::inRange(2, 11);
        policy.vectors = 1u << *rc::gen::inRange(0, 4);
        policy.max_groups = *rc::gen::inRange(1u, 2000u);
        policy.ahead = policy.strategy == SelectStrategy::count_ahead ? 7 : 0;
        task.policy = policy;
    }
    expect_plan_or_reason(device.caps, task);
    RC_ASSERT(!::testing::Test::HasFailure());
}

}  // namespace
}  // namespace lanewise::test
