// The self-test: passes on honest devices, and takes the lie out of those that are not (C3, C9,
// C11).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "lanewise/gpu.hpp"
#include "lanewise/reduce.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/vulkan_faults.hpp"

namespace lanewise::test {
namespace {

class Probe : public GpuTest {};

TEST_F(Probe, PassesOnAnHonestDevice) {
    if (is_lying_device()) GTEST_SKIP() << "this device lies";
    const auto caps = rig().device().probe(rig().owned().queue());
    ASSERT_TRUE(caps) << caps.error().message;
    EXPECT_EQ(caps->probe, ProbeState::passed) << caps->probe_report;
    EXPECT_FALSE(caps->probe_report.empty());
    EXPECT_EQ(caps->probe_report.find('\n'), std::string::npos) << caps->probe_report;
    // Nothing else was taken out.
    Caps expected = rig().caps();
    expected.probe = caps->probe;
    expected.probe_report = caps->probe_report;
    EXPECT_EQ(*caps, expected) << caps_to_json(*caps);
    // caps() stays what the API says.
    EXPECT_EQ(rig().caps().probe, ProbeState::not_run);
}

TEST_F(Probe, PassesOnTheBareRung) {
    if (is_lying_device()) GTEST_SKIP() << "this device lies";
    OwnedDeviceOptions options = Rig::validated();
    options.api_version = VK_API_VERSION_1_1;
    options.leave_out = {"VK_EXT_subgroup_size_control", "subgroupSizeControl",
                         "computeFullSubgroups", "VK_KHR_push_descriptor"};
    RigScope bare(options);
    ASSERT_TRUE(bare);
    const auto caps = bare->device().probe(bare->owned().queue());
    ASSERT_TRUE(caps) << caps.error().message;
    EXPECT_EQ(caps->probe, ProbeState::passed) << caps->probe_report;
    EXPECT_EQ(caps->subgroup.operations, bare->caps().subgroup.operations);
}

TEST_F(Probe, CanRunAgain) {
    const auto first = rig().device().probe(rig().owned().queue());
    const auto second = rig().device().probe(rig().owned().queue());
    ASSERT_TRUE(first && second);
    EXPECT_EQ(*first, *second);
}

// A driver that refuses a probe's pipeline has not passed, and is not lost either.
TEST_F(Probe, ARefusedPipelineIsAFailedProbe) {
    VulkanFaults::reset();
    vulkan::Adoption adoption = rig().owned().adoption();
    adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
    const auto device = vulkan::Device::adopt(adoption);
    ASSERT_TRUE(device);
    VulkanFaults::fail("vkCreateComputePipelines", VK_ERROR_INVALID_SHADER_NV);
    const auto caps = device->probe(rig().owned().queue());
    if (caps) {
        EXPECT_EQ(caps->probe, ProbeState::failed) << caps->probe_report;
        EXPECT_EQ(caps->subgroup.operations, 0u);
        const auto plan = plan_reduce(*caps, {.max_count = 100});
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->tier, Tier::barrier);
    } else {
        EXPECT_NE(caps.error().code, ErrorCode::device_lost);
    }
    VulkanFaults::reset();
}

// Named for the run that ctest makes on lavapipe32lie and lavapipe64lie.
class LyingDevice : public GpuTest {
protected:
    void SetUp() override {
        if (!is_lying_device()) GTEST_SKIP() << "this device is honest";
        GpuTest::SetUp();
    }
};

TEST_F(LyingDevice, ProbeTakesTheLieOut) {
    EXPECT_GE(rig().caps().subgroup.size, 32u) << "the lie itself";
    const auto caps = rig().device().probe(rig().owned().queue());
    ASSERT_TRUE(caps) << caps.error().message;
    EXPECT_EQ(caps->probe, ProbeState::failed);
    EXPECT_EQ(caps->subgroup.operations, 0u);
    EXPECT_FALSE(caps->probe_report.empty());
    EXPECT_EQ(caps->probe_report.find('\n'), std::string::npos) << caps->probe_report;
    const auto plan = plan_reduce(*caps, {.max_count = 1000});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->tier, Tier::barrier);
    for (const Tier tier : {Tier::pinned, Tier::portable}) {
        EXPECT_FALSE(plan_reduce(*caps, {.max_count = 1000, .tier = tier})) << to_text(tier);
    }
}

// Half of the lanes or more never run here, whatever the shader: either the answer is right all the
// same, or there is a clear refusal. What there must never be is a wrong answer.
TEST_F(LyingDevice, GpuAnswersRightlyOrRefuses) {
    auto gpu = Gpu::create(
        {.device = {}, .probe = true, .validation = false, .on_validation_message = {}});
    if (!gpu) {
        EXPECT_EQ(gpu.error().code, ErrorCode::unsupported) << gpu.error().message;
        EXPECT_FALSE(gpu.error().message.empty());
        std::printf("refused: %s\n", gpu.error().message.c_str());
        return;
    }
    EXPECT_EQ(gpu->caps().probe, ProbeState::failed);
    EXPECT_EQ(gpu->caps().subgroup.operations, 0u);
    for (const std::size_t count :
         {std::size_t{0}, std::size_t{1}, std::size_t{1000}, std::size_t{100000}}) {
        SCOPED_TRACE(fmt::format("{} items", count));
        std::vector<std::uint32_t> values(count);
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < count; ++i)
            sum += values[i] = static_cast<std::uint32_t>(hash(4, i));
        const auto result = gpu->reduce(values);
        if (result) {
            EXPECT_EQ(*result, sum);
        } else {
            EXPECT_EQ(result.error().code, ErrorCode::unsupported) << result.error().message;
            EXPECT_FALSE(result.error().message.empty());
            std::printf("refused: %s\n", result.error().message.c_str());
        }
    }
}

}  // namespace
}  // namespace lanewise::test
