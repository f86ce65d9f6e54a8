// Device::compile: what it refuses and what its errors say, and the texts that implementations get.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/webgpu_test.hpp"
#include "tests/support/wgsl_scan.hpp"

namespace lanewise::test {
namespace {

class WebgpuCompile : public WebgpuTest {
protected:
    static Error refused(const Plan& plan) {
        const auto executable = rig().device().compile(plan);
        EXPECT_FALSE(executable);
        if (executable) return {};
        EXPECT_NE(executable.error().message, "");
        EXPECT_EQ(executable.error().message.find('\n'), std::string::npos)
            << executable.error().message;
        return executable.error();
    }
    static ::testing::AssertionResult names(const Error& error, ErrorCode code,
                                            const std::string& word) {
        if (error.code == code && error.message.find(word) != std::string::npos)
            return ::testing::AssertionSuccess();
        return ::testing::AssertionFailure()
               << to_text(error.code) << " '" << error.message << "' is not " << to_text(code)
               << " that names '" << word << "'";
    }

    static CustomOperator custom(const std::string& combine) {
        return {.name = "mine", .element = {{Scalar::u32, 1, ""}}, .combine = combine};
    }
    static std::vector<Tier> tiers() {
        std::vector<Tier> tiers;
        for (const Tier tier : kTiers)
            if (lacking(rig().caps(), tier).empty()) tiers.push_back(tier);
        return tiers;
    }
};

// Compile errors come after the call: from error scopes, in the implementation's words, never as a
// message beside the call (the fixture looks at those).
TEST_F(WebgpuCompile, BrokenExpressionsAreCompileErrors) {
    for (const Tier tier : tiers()) {
        SCOPED_TRACE(to_text(tier));
        for (const std::string& combine :
             {std::string("a + not_there(b)"), std::string("a + 1.5"), std::string("a +")}) {
            const auto plan = plan_reduce(
                rig().caps(), {.custom = custom(combine), .max_count = 1000, .tier = tier});
            ASSERT_TRUE(plan) << plan.error().message;
            const Error error = refused(*plan);
            const bool named = combine.find("not_there") != std::string::npos;
            EXPECT_TRUE(names(error, ErrorCode::compile_failed, named ? "not_there" : ""));
            EXPECT_NE(error.message.find("reduce_tiles"), std::string::npos) << error.message;
            // With what a lower tier may be planned, until there is none.
            EXPECT_EQ(error.retry_caps != nullptr, tier != Tier::barrier);
            if (error.retry_caps == nullptr) continue;
            const auto again = plan_reduce(*error.retry_caps, {.max_count = 1000});
            ASSERT_TRUE(again) << again.error().message;
            EXPECT_GT(again->tier, tier);
            EXPECT_TRUE(rig().device().compile(*again));
        }
        // The device is as good as before.
        const auto plan = plan_reduce(rig().caps(), {.custom = custom("a + b"), .max_count = 1000});
        ASSERT_TRUE(plan);
        EXPECT_TRUE(rig().device().compile(*plan));
    }
}

TEST_F(WebgpuCompile, EmptyPlansAreRefused) {
    EXPECT_EQ(refused({}).code, ErrorCode::bad_argument);
}

// A plan for another device is an error that names what this one lacks, not a validation error of
// the implementation's.
TEST_F(WebgpuCompile, PlansForOtherDevicesAreRefused) {
    const auto plan_with = [](auto&& change, ReduceDesc desc = {}) {
        Caps caps = rig().caps();
        change(caps);
        desc.max_count = 5000;
        auto plan = plan_reduce(caps, desc);
        EXPECT_TRUE(plan) << plan.error().message;
        return plan ? *plan : Plan{};
    };
    EXPECT_TRUE(names(refused(plan_with([](Caps& caps) { caps.device_addresses = true; },
                                        {.addressing = Addressing::device_address})),
                      ErrorCode::unsupported, "address"));
    EXPECT_TRUE(names(
        refused(plan_with([](Caps& caps) { caps.device_scope_barrier = true; },
                          {.tier = Tier::barrier,
                           .policy = ReducePolicy{.strategy = ReduceStrategy::last_workgroup}})),
        ErrorCode::unsupported, "device scope"));
    EXPECT_TRUE(
        names(refused(plan_with([](Caps& caps) { caps.int64_atomics = caps.types.int64 = true; },
                                {.tier = Tier::barrier,
                                 .policy = ReducePolicy{.strategy = ReduceStrategy::arrival_sum}})),
              ErrorCode::unsupported, ""));
    const std::uint32_t most = rig().caps().limits.max_workgroup_invocations;
    if (most < 1024) {
        EXPECT_TRUE(names(
            refused(plan_with(
                [](Caps& caps) {
                    caps.limits.max_workgroup_invocations = caps.limits.max_workgroup_size_x = 1024;
                    caps.limits.max_workgroup_memory = 65536;
                },
                {.tier = Tier::barrier, .policy = ReducePolicy{.workgroup_size = 1024}})),
            ErrorCode::limit_exceeded, std::to_string(most)));
    }
    const auto with_subgroups = [](Caps& caps) {
        caps.subgroup = {.operations = 0xff,
                         .stages = Stage::compute,
                         .size = 8,
                         .min_size = 8,
                         .max_size = 8,
                         .size_is_true = true,
                         .required_size_stages = Stage::compute,
                         .max_workgroup_subgroups = 32};
    };
    if (lacking(rig().caps(), Tier::portable) != "") {
        EXPECT_TRUE(names(refused(plan_with(with_subgroups, {.tier = Tier::portable})),
                          ErrorCode::unsupported, "subgroups"));
    }
    if (lacking(rig().caps(), Tier::pinned) != "") {
        EXPECT_TRUE(names(refused(plan_with(with_subgroups, {.tier = Tier::pinned})),
                          ErrorCode::unsupported, "subgroup"));
    }
    // 64-bit floating point is not in WGSL.
    EXPECT_TRUE(names(refused(plan_with([](Caps& caps) { caps.types.float64 = true; },
                                        {.element = Scalar::f64, .tier = Tier::barrier})),
                      ErrorCode::unsupported, "WGSL"));
}

// More bindings than the device has, and more workgroup memory: a plan's numbers are not trusted.
TEST_F(WebgpuCompile, NumbersAboveTheLimitsAreRefused) {
    auto plan = plan_reduce(rig().caps(), {.max_count = 5000, .tier = Tier::barrier});
    ASSERT_TRUE(plan);
    Plan bad = *plan;
    bad.passes.back().workgroup_memory = 1u << 20;
    EXPECT_TRUE(names(refused(bad), ErrorCode::limit_exceeded, "max_workgroup_memory"));
    bad = *plan;
    bad.passes.back().bindings.resize(40, Role::input);
    EXPECT_TRUE(names(refused(bad), ErrorCode::limit_exceeded, "max_storage_buffers"));
    bad = *plan;
    bad.passes.back().kernel = "no_such.barrier.none.descriptor";
    EXPECT_TRUE(names(refused(bad), ErrorCode::unsupported, "no_such"));
}

// Texts as every browser takes them: no filtered diagnostics, no override, no pointers to workgroup
// or storage memory as parameters, the extension where it is needed and only there; and barrier
// kernels know nothing of subgroups.
TEST_F(WebgpuCompile, TextsAreForEveryImplementation) {
    for (const Tier tier : tiers()) {
        SCOPED_TRACE(to_text(tier));
        WebgpuCalls::take_texts();
        std::size_t passes = 0;
        for (const ScanStrategy strategy :
             {ScanStrategy::reduce_then_scan, ScanStrategy::look_back}) {
            const auto plan = plan_scan(
                rig().caps(),
                {.max_count = 5000, .tier = tier, .policy = ScanPolicy{.strategy = strategy}});
            ASSERT_TRUE(plan) << plan.error().message;
            ASSERT_TRUE(rig().device().compile(*plan));
            passes += plan->passes.size();
        }
        const auto plan = plan_reduce(rig().caps(), {.max_count = 100000, .tier = tier});
        ASSERT_TRUE(plan);
        ASSERT_TRUE(rig().device().compile(*plan));
        passes += plan->passes.size();
        const std::vector<std::string> texts = WebgpuCalls::take_texts();
        EXPECT_EQ(texts.size(), passes) << "the texts of all passes, and of nothing else";
        int with_subgroups = 0;
        for (const std::string& text : texts) {
            const std::string code = without_comments(text);
            for (const char* word : {"diagnostic", "override ", "ptr<workgroup", "ptr<storage"})
                EXPECT_EQ(code.find(word), std::string::npos) << word;
            const bool has = has_subgroup_operations(text);
            with_subgroups += has ? 1 : 0;
            if (!has) {
                EXPECT_EQ(code.find("enable "), std::string::npos);
            }
        }
        EXPECT_EQ(with_subgroups > 0, tier != Tier::barrier);
    }
}

// A module that an implementation takes is not yet a pipeline that it takes.
TEST_F(WebgpuCompile, OneExecutableIsOfOnePlan) {
    const auto small = plan_reduce(rig().caps(), {.max_count = 100});
    const auto large = plan_reduce(rig().caps(), {.op = Operator::max, .max_count = 100000});
    ASSERT_TRUE(small && large);
    const auto first = rig().device().compile(*small);
    const auto second = rig().device().compile(*large);
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->plan(), *small);
    EXPECT_EQ(second->plan(), *large);
}

}  // namespace
}  // namespace lanewise::test
