// Plans for WebGPU: what it asks of buffers, what WGSL has not, and the workgroup memory in which
// subgroups number themselves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "src/wgsl/assemble.hpp"
#include "tests/unit/described_devices.hpp"
#include "tests/unit/plan_rules.hpp"

namespace lanewise::test {
namespace {

const char* const kDevices[] = {"webgpu-minimum", "webgpu-subgroups", "webgpu-size-control"};

using Desc = std::variant<ReduceDesc, ScanDesc>;

Result<Plan> plan_of(const Caps& caps, const Desc& desc) {
    if (const auto* reduce = std::get_if<ReduceDesc>(&desc)) return plan_reduce(caps, *reduce);
    return plan_scan(caps, std::get<ScanDesc>(desc));
}

// Types, operators and sizes with every default policy.
std::vector<Desc> descs(std::optional<Tier> tier = std::nullopt) {
    std::vector<Desc> all;
    const CustomOperator triple{.name = "triple",
                                .element = {{Scalar::u32, 3, ""}},
                                .combine = "a + b",
                                .commutative = true};
    for (const std::uint64_t count : {0u, 1u, 1001u, 30001u, 1000003u, 20000005u}) {
        for (const Scalar element :
             {Scalar::u8, Scalar::i16, Scalar::f16, Scalar::u32, Scalar::f32, Scalar::i64}) {
            for (const Operator op : {Operator::sum, Operator::argmax}) {
                all.emplace_back(
                    ReduceDesc{.element = element, .op = op, .max_count = count, .tier = tier});
                all.emplace_back(
                    ScanDesc{.element = element, .op = op, .max_count = count, .tier = tier});
            }
        }
        all.emplace_back(ReduceDesc{.custom = triple, .max_count = count, .tier = tier});
        all.emplace_back(ScanDesc{.custom = triple, .max_count = count, .tier = tier});
    }
    return all;
}

// Of every device, every plan that it has: f(caps, plan).
template <class F>
void for_each_plan(F&& f) {
    for (const char* name : kDevices) {
        const Caps caps = described(name);
        ASSERT_EQ(caps.api, Api::webgpu) << name;
        for (const auto tier :
             {std::optional<Tier>(), std::optional(Tier::portable), std::optional(Tier::barrier)}) {
            for (const Desc& desc : descs(tier)) {
                const auto plan = plan_of(caps, desc);
                if (!plan) {
                    EXPECT_TRUE(plan.error().code == ErrorCode::limit_exceeded ||
                                (tier == Tier::portable && caps.subgroup.operations == 0))
                        << plan.error().message;
                    continue;
                }
                SCOPED_TRACE(fmt::format("{}\n{}", name, to_text(*plan)));
                f(caps, *plan);
                if (::testing::Test::HasFailure()) return;
            }
        }
    }
}

TEST(WebgpuPlan, KeepsTheRules) {
    int plans = 0;
    for_each_plan([&](const Caps& caps, const Plan& plan) {
        for (const std::string& broken : broken_rules(plan, caps)) ADD_FAILURE() << broken;
        ++plans;
    });
    EXPECT_GT(plans, 300);
}

// A buffer cannot be written by a shader and be indirect arguments in one pass: scratch is copied
// from instead.
TEST(WebgpuPlan, ScratchIsACopysSource) {
    for_each_plan([](const Caps&, const Plan& plan) {
        for (const Argument& argument : plan.arguments) {
            const std::uint32_t expected = argument.role == Role::scratch
                                               ? BufferUsage::storage | BufferUsage::copy_source
                                               : +BufferUsage::storage;
            EXPECT_EQ(argument.usages, expected) << to_text(argument.role);
        }
    });
}

// What a use has to bind of input and of an output for each item is whole vectors; what of it is
// touched is still what the items need.
TEST(WebgpuPlan, RangesAreWholeVectors) {
    const Caps caps = described("webgpu-subgroups");
    for (const std::uint64_t count : {1u, 2u, 3u, 4u, 5u, 1001u}) {
        const auto scan = plan_scan(caps, {.element = Scalar::i16, .max_count = count});
        ASSERT_TRUE(scan);
        EXPECT_EQ(scan->argument(Role::input)->bytes, (count * 2 + 15) / 16 * 16);
        EXPECT_EQ(scan->argument(Role::output)->bytes, (count * 4 + 15) / 16 * 16);
        EXPECT_EQ(bytes_needed(*scan, Role::output, count), count * 4);
        const auto reduce = plan_reduce(caps, {.max_count = count});
        ASSERT_TRUE(reduce);
        EXPECT_EQ(reduce->argument(Role::input)->bytes, (count * 4 + 15) / 16 * 16);
        EXPECT_EQ(reduce->argument(Role::output)->bytes, 4u) << "one result is as long as it is";
    }
    // Elsewhere nothing is rounded so.
    const auto vulkan = plan_scan(described("nvidia"), {.max_count = 1001});
    ASSERT_TRUE(vulkan);
    EXPECT_EQ(vulkan->argument(Role::input)->bytes, 4004u);
}

// The bound of a binding counts whole vectors, too: no plan asks for a range that cannot be bound.
TEST(WebgpuPlan, WholeVectorsAreHeldAgainstTheLargestBinding) {
    Caps caps = described("webgpu-minimum");
    for (const std::uint64_t most : {1000u, 1008u, 1024u}) {
        caps.limits.max_storage_range = most;
        for (std::uint64_t count = 240; count < 260; ++count) {
            const std::uint64_t bound = (count * 4 + 15) / 16 * 16;
            const ScanDesc desc{
                .max_count = count,
                .policy = ScanPolicy{
                    .strategy = ScanStrategy::one_workgroup, .workgroup_size = 32, .vectors = 1}};
            const auto plan = plan_scan(caps, desc);
            EXPECT_EQ(plan.has_value(), bound <= most) << count << " of " << most;
            if (!plan) {
                EXPECT_EQ(plan.error().code, ErrorCode::limit_exceeded);
                EXPECT_NE(plan.error().message.find("max_storage_range"), std::string::npos)
                    << plan.error().message;
            }
        }
    }
}

// WGSL's barriers reach one workgroup, and it has no 64-bit atomics: not by default, and not by
// force.
TEST(WebgpuPlan, NoStrategyThatWgslCannotSay) {
    for_each_plan([](const Caps&, const Plan& plan) {
        EXPECT_EQ(plan.policy.find("last_workgroup"), std::string::npos) << plan.policy;
        EXPECT_EQ(plan.policy.find("arrival_sum"), std::string::npos) << plan.policy;
        if (plan.primitive == "reduce") {
            EXPECT_EQ(plan.state_bytes, 0u);
        }
        for (const Pass& pass : plan.passes)
            EXPECT_EQ(pass.kernel.find("atomic64"), std::string::npos) << pass.kernel;
    });
    for (const char* name : kDevices) {
        for (const ReduceStrategy strategy :
             {ReduceStrategy::last_workgroup, ReduceStrategy::arrival_sum}) {
            const auto plan =
                plan_reduce(described(name),
                            {.max_count = 1000,
                             .policy = ReducePolicy{.strategy = strategy, .workgroup_size = 64}});
            ASSERT_FALSE(plan) << to_text(strategy);
            EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
            EXPECT_NE(plan.error().message.find(to_text(strategy)), std::string::npos)
                << plan.error().message;
        }
        const auto plan = plan_reduce(described(name), {.element = Scalar::f64, .max_count = 9});
        ASSERT_FALSE(plan);
        EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
    }
}

TEST(WebgpuPlan, NoDeviceAddresses) {
    for_each_plan(
        [](const Caps&, const Plan& plan) { EXPECT_EQ(plan.addressing, Addressing::descriptor); });
    const auto forced = plan_reduce(described("webgpu-subgroups"),
                                    {.max_count = 9, .addressing = Addressing::device_address});
    ASSERT_FALSE(forced);
    EXPECT_EQ(forced.error().code, ErrorCode::unsupported);
}

// 8 bytes on top of what the same kernel takes elsewhere; none in the barrier tier.
TEST(WebgpuPlan, SubgroupsNumberThemselves) {
    Caps webgpu = described("webgpu-subgroups");
    Caps other = webgpu;
    other.api = Api::vulkan;
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        const std::uint32_t more = tier == Tier::portable ? 8 : 0;
        const ReduceDesc reduce{
            .max_count = 100000, .tier = tier, .policy = ReducePolicy{.workgroup_size = 128}};
        const ScanDesc scan{
            .max_count = 100000, .tier = tier, .policy = ScanPolicy{.workgroup_size = 128}};
        for (const Desc& desc : {Desc(reduce), Desc(scan)}) {
            const auto here = plan_of(webgpu, desc);
            const auto there = plan_of(other, desc);
            ASSERT_TRUE(here && there);
            ASSERT_EQ(here->passes.size(), there->passes.size());
            for (std::size_t i = 0; i < here->passes.size(); ++i) {
                const bool counts = here->passes[i].when == When::count_in_buffer;
                EXPECT_EQ(here->passes[i].workgroup_memory,
                          there->passes[i].workgroup_memory + (counts ? 0 : more))
                    << here->passes[i].name;
            }
        }
    }
}

// Memory that is just enough is enough, and a byte less is not; defaults take smaller workgroups.
TEST(WebgpuPlan, LittleWorkgroupMemory) {
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        Caps caps = described("webgpu-subgroups");
        const ScanDesc desc{
            .max_count = 100000, .tier = tier, .policy = ScanPolicy{.workgroup_size = 128}};
        const auto plan = plan_scan(caps, desc);
        ASSERT_TRUE(plan);
        std::uint32_t most = 0;
        for (const Pass& pass : plan->passes) most = std::max(most, pass.workgroup_memory);
        caps.limits.max_workgroup_memory = most;
        EXPECT_TRUE(plan_scan(caps, desc));
        caps.limits.max_workgroup_memory = most - 1;
        const auto refused = plan_scan(caps, desc);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::limit_exceeded);
        for (std::uint32_t memory = 256; memory < 4096; memory += 52) {
            caps.limits.max_workgroup_memory = memory;
            for (const Desc& any : {Desc(ScanDesc{.max_count = 100000, .tier = tier}),
                                    Desc(ReduceDesc{.max_count = 100000, .tier = tier})}) {
                const auto fitted = plan_of(caps, any);
                ASSERT_TRUE(fitted) << memory << ": " << fitted.error().message;
                for (const Pass& pass : fitted->passes)
                    EXPECT_LE(pass.workgroup_memory, memory) << pass.name;
            }
        }
    }
}

// A size that can be required is the pinned tier, without a promise of full subgroups; what is
// lacking for it is named in WebGPU's words.
TEST(WebgpuPlan, TiersByFeature) {
    const auto plan_for = [](const char* name) {
        auto plan = plan_scan(described(name), {.max_count = 100000});
        EXPECT_TRUE(plan) << plan.error().message;
        return plan ? *plan : Plan{};
    };
    const Plan pinned = plan_for("webgpu-size-control");
    EXPECT_EQ(pinned.tier, Tier::pinned);
    const Plan portable = plan_for("webgpu-subgroups");
    EXPECT_EQ(portable.tier, Tier::portable);
    EXPECT_NE(portable.reason.find("subgroup-size-control"), std::string::npos) << portable.reason;
    const Plan barrier = plan_for("webgpu-minimum");
    EXPECT_EQ(barrier.tier, Tier::barrier);
    EXPECT_NE(barrier.reason.find("no subgroup operations"), std::string::npos) << barrier.reason;
    for (const Pass& pass : pinned.passes) {
        if (pass.form != Form::subgroup) continue;
        EXPECT_EQ(pass.required_subgroup_size, 32u);
        EXPECT_EQ(pass.workgroup_size % 32, 0u) << "x has to be a multiple of the size";
        const auto shader = wgsl::assemble(pinned, pass);
        ASSERT_TRUE(shader) << shader.error().message;
        EXPECT_NE(shader->text.find("@subgroup_size("), std::string::npos);
        EXPECT_NE(shader->text.find("enable subgroup_size_control;"), std::string::npos);
    }
}

}  // namespace
}  // namespace lanewise::test
