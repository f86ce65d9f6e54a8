// plan_top_k on described devices.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "lanewise/top_k.hpp"
#include "tests/unit/described_devices.hpp"
#include "tests/unit/plan_rules.hpp"

namespace lanewise::test {
namespace {

constexpr Scalar kKeys[] = {Scalar::u8,  Scalar::i16, Scalar::f16, Scalar::u32,
                            Scalar::f32, Scalar::u64, Scalar::f64};
// Bytes of a value; 1 stands for indices.
constexpr std::uint32_t kValues[] = {0, 4, 8, 12, 16, 1};

std::string text(const TopKDesc& desc) {
    return fmt::format(
        "{} of {} {}{}, tier {}, {}, policy {}", desc.k, desc.max_count, to_text(desc.key),
        desc.indices ? " with indices" : fmt::format(" with {} bytes", desc.value_bytes),
        desc.tier ? to_text(*desc.tier) : "auto",
        desc.addressing ? to_text(*desc.addressing) : "auto",
        desc.policy ? to_text(*desc.policy) : "auto");
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
bool expect_plan_or_reason(const Caps& caps, const TopKDesc& desc) {
    const auto plan = plan_top_k(caps, desc);
    if (!plan) {
        EXPECT_FALSE(plan.error().message.empty()) << text(desc);
        EXPECT_EQ(plan.error().message.find('\n'), std::string::npos) << plan.error().message;
        EXPECT_TRUE(plan.error().code == ErrorCode::unsupported ||
                    plan.error().code == ErrorCode::bad_argument ||
                    plan.error().code == ErrorCode::limit_exceeded)
            << to_text(plan.error().code) << ": " << plan.error().message;
        return false;
    }
    for (const std::string& rule : broken_rules(*plan, caps))
        ADD_FAILURE() << text(desc) << ": " << rule << "\n" << to_text(*plan);
    const std::uint64_t results = std::min(desc.k, desc.max_count);
    EXPECT_EQ(plan->primitive, "top_k");
    EXPECT_EQ(plan->max_count, desc.max_count);
    EXPECT_EQ(plan->max_results, desc.k);
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier));
    EXPECT_EQ(plan->value_bytes, desc.indices ? 4 : desc.value_bytes);
    EXPECT_EQ(bytes_needed(*plan, Role::output, desc.max_count),
              (results * size_of(desc.key) + 3) / 4 * 4)
        << text(desc);
    EXPECT_EQ(bytes_needed(*plan, Role::values_out, desc.max_count), results * plan->value_bytes);
    EXPECT_EQ(plan->argument(Role::values) != nullptr, desc.value_bytes != 0);
    EXPECT_EQ(plan->argument(Role::values_out) != nullptr, plan->value_bytes != 0);
    EXPECT_EQ(plan->argument(Role::input)->access, Access::read);
    return true;
}

TEST(TopKTypes, Names) {
    for (const TopKStrategy strategy : {TopKStrategy::one_workgroup, TopKStrategy::select})
        EXPECT_EQ(top_k_strategy_from_text(to_text(strategy)), strategy);
    EXPECT_FALSE(top_k_strategy_from_text("look_back"));
}

TEST(TopKPlan, PassesOfSelect) {
    const Caps caps = described("nvidia");
    const auto plan = plan_top_k(caps, {.k = 100, .max_count = 1u << 24});
    ASSERT_TRUE(plan) << plan.error().message;
    // Three digits of 11, 11 and 10 bits.
    EXPECT_EQ(passes_of(*plan),
              (std::vector<std::string>{"top_k_counts", "top_k_digit", "top_k_counts",
                                        "top_k_digit", "top_k_counts", "top_k_digit", "top_k_sums",
                                        "top_k_offsets", "top_k_gather", "sort_workgroup"}));
    // So many that one workgroup does not sort them; narrow keys are packed at the end.
    const auto many = plan_top_k(caps, {.key = Scalar::u8, .k = 100000, .max_count = 1u << 24});
    ASSERT_TRUE(many) << many.error().message;
    EXPECT_EQ(passes_of(*many),
              (std::vector<std::string>{"top_k_counts", "top_k_digit", "top_k_sums",
                                        "top_k_offsets", "top_k_gather", "sort_counts",
                                        "sort_offsets", "sort_scatter", "sort_pack"}));
    const auto few = plan_top_k(caps, {.k = 100, .max_count = 1000});
    ASSERT_TRUE(few) << few.error().message;
    EXPECT_EQ(passes_of(*few), std::vector<std::string>{"sort_workgroup"});
}

TEST(TopKPlan, EveryDevice) {
    std::size_t plans = 0;
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const Scalar key : kKeys) {
            for (const std::uint32_t values : kValues) {
                for (const std::uint64_t k : {0u, 1u, 100u, 5000u, 2000000u}) {
                    for (const std::uint64_t count : {0u, 100u, 3000u, 1u << 20}) {
                        TopKDesc desc{.key = key, .k = k, .max_count = count};
                        desc.indices = values == 1;
                        desc.value_bytes = values == 1 ? 0 : values;
                        plans += expect_plan_or_reason(device.caps, desc) ? 1 : 0;
                        if (HasFailure()) return;
                    }
                }
            }
        }
    }
    EXPECT_GT(plans, 1000u);
}

TEST(TopKPlan, NoDefaultPolicyIsTooSmallForItsInput) {
    for (const DescribedDevice& device : described_devices()) {
        for (const Scalar key : kKeys) {
            if (!plan_top_k(device.caps, {.key = key, .k = 1u << 19, .max_count = 1u << 20}))
                continue;
            for (const std::uint64_t count : {129u, 256u, 1025u, 2048u, 5000u, 1u << 20}) {
                for (const std::uint64_t k : {1u, 129u, 256u, 1025u, 2048u, 4097u}) {
                    const TopKDesc desc{.key = key, .k = k, .max_count = count};
                    const auto plan = plan_top_k(device.caps, desc);
                    EXPECT_TRUE(plan)
                        << device.name << ": " << text(desc) << ": " << plan.error().message;
                }
            }
        }
    }
}

RC_GTEST_PROP(TopKPlan, ScratchDoesNotShrinkWithTheCount, ()) {
    const auto devices = described_devices();
    const auto& device = devices[*rc::gen::inRange<std::size_t>(0, devices.size())];
    TopKDesc desc{
        .key = *rc::gen::elementOf(std::vector<Scalar>(std::begin(kKeys), std::end(kKeys))),
        .k = *rc::gen::inRange<std::uint64_t>(0, 1u << *rc::gen::inRange(1, 22)),
        .indices = *rc::gen::arbitrary<bool>()};
    desc.max_count = *rc::gen::inRange<std::uint64_t>(0, 1u << *rc::gen::inRange(1, 24));
    const auto smaller = plan_top_k(device.caps, desc);
    desc.max_count += *rc::gen::inRange<std::uint64_t>(0, 1u << *rc::gen::inRange(1, 24));
    const auto larger = plan_top_k(device.caps, desc);
    RC_PRE(smaller.has_value() && larger.has_value());
    RC_ASSERT(scratch_of(*smaller) <= scratch_of(*larger));
}

RC_GTEST_PROP(TopKPlan, AnyRequestIsPlannedOrRefused, ()) {
    const auto devices = described_devices();
    const auto& device = devices[*rc::gen::inRange<std::size_t>(0, devices.size())];
    const std::uint32_t values = kValues[*rc::gen::inRange<std::size_t>(0, std::size(kValues))];
    TopKDesc desc{
        .key = *rc::gen::elementOf(std::vector<Scalar>(std::begin(kKeys), std::end(kKeys))),
        .k = *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << *rc::gen::inRange(1, 33)),
        .order = *rc::gen::element(SortOrder::ascending, SortOrder::descending),
        .value_bytes = values == 1 ? 0 : values,
        .indices = values == 1,
        .max_count =
            *rc::gen::inRange<std::uint64_t>(0, std::uint64_t{1} << *rc::gen::inRange(1, 33))};
    if (*rc::gen::arbitrary<bool>())
        desc.tier = *rc::gen::element(Tier::pinned, Tier::portable, Tier::barrier);
    if (*rc::gen::arbitrary<bool>())
        desc.addressing = *rc::gen::element(Addressing::descriptor, Addressing::device_address);
    if (*rc::gen::arbitrary<bool>()) {
        TopKPolicy policy;
        policy.strategy = *rc::gen::element(TopKStrategy::one_workgroup, TopKStrategy::select);
        policy.workgroup_size = 1u << *rc::gen::inRange(2, 11);
        policy.items = *rc::gen::inRange(1u, 33u);
        policy.digit_bits = *rc::gen::inRange(1u, 13u);
        policy.max_groups = *rc::gen::inRange(1u, 2000u);
        policy.sort = {*rc::gen::element(SortStrategy::one_workgroup, SortStrategy::bitonic,
                                         SortStrategy::count_then_scatter, SortStrategy::look_back),
                       policy.workgroup_size, policy.items, *rc::gen::inRange(1u, 9u),
                       policy.max_groups};
        desc.policy = policy;
    }
    expect_plan_or_reason(device.caps, desc);
    RC_ASSERT(!::testing::Test::HasFailure());
}

}  // namespace
}  // namespace lanewise::test
