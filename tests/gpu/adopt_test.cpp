// Device::adopt and the caps that it finds: as enabled, not as there.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/vulkan.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"

namespace lanewise::test {
namespace {

using vulkan::Adoption;
using vulkan::Device;

class Adopt : public GpuTest {
protected:
    static std::string refusal(const Adoption& adoption, ErrorCode code = ErrorCode::bad_argument) {
        const auto device = Device::adopt(adoption);
        if (device) return {};
        EXPECT_EQ(to_text(device.error().code), std::string(to_text(code)))
            << device.error().message;
        EXPECT_EQ(device.error().message.find('\n'), std::string::npos);
        return device.error().message;
    }
};

TEST_F(Adopt, MissingHandlesAreNamed) {
    const Adoption good = rig().owned().adoption();
    ASSERT_TRUE(Device::adopt(good));

    Adoption bad = good;
    bad.instance = VK_NULL_HANDLE;
    EXPECT_NE(refusal(bad).find("instance"), std::string::npos) << refusal(bad);
    bad = good;
    bad.physical_device = VK_NULL_HANDLE;
    EXPECT_NE(refusal(bad).find("physical"), std::string::npos) << refusal(bad);
    bad = good;
    bad.device = VK_NULL_HANDLE;
    EXPECT_NE(refusal(bad).find("device"), std::string::npos) << refusal(bad);
    bad = good;
    bad.get_instance_proc_addr = nullptr;
    EXPECT_NE(refusal(bad).find("get_instance_proc_addr"), std::string::npos) << refusal(bad);
}

TEST_F(Adopt, QueueFamilyMustBeThereAndCompute) {
    Adoption bad = rig().owned().adoption();
    bad.queue_family = 1000;
    EXPECT_NE(refusal(bad).find("1000"), std::string::npos) << refusal(bad);
}

TEST_F(Adopt, Vulkan10IsRefused) {
    Adoption bad = rig().owned().adoption();
    bad.api_version = VK_API_VERSION_1_0;
    const std::string message = refusal(bad, ErrorCode::unsupported);
    EXPECT_NE(message.find("1.1"), std::string::npos) << message;
}

// A structure that this library does not know, in front of those that it does.
TEST_F(Adopt, UnknownStructuresAreSkipped) {
    Adoption adoption = rig().owned().adoption();
    ASSERT_NE(adoption.enabled_features, nullptr);
    struct Unknown {
        VkStructureType sType = static_cast<VkStructureType>(1000999000);
        const void* pNext = nullptr;
        std::uint64_t payload[4] = {~0u, ~0u, ~0u, ~0u};
    } unknown;
    VkPhysicalDeviceFeatures2 features = *adoption.enabled_features;
    unknown.pNext = features.pNext;
    features.pNext = &unknown;
    adoption.enabled_features = &features;
    const auto device = Device::adopt(adoption);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(device->caps(), rig().caps());
}

TEST_F(Adopt, WithoutFeaturesThereAreNone) {
    Adoption adoption = rig().owned().adoption();
    adoption.enabled_features = nullptr;
    adoption.enabled_extensions = {};
    const auto device = Device::adopt(adoption);
    ASSERT_TRUE(device) << device.error().message;
    const Caps& caps = device->caps();
    EXPECT_EQ(caps.types, Types{});
    EXPECT_FALSE(caps.device_addresses);
    EXPECT_FALSE(caps.push_descriptors);
    EXPECT_FALSE(caps.memory_model);
    EXPECT_FALSE(caps.int64_atomics);
    EXPECT_FALSE(caps.subgroup.full_subgroups);
    EXPECT_EQ(caps.subgroup.required_size_stages & Stage::compute, 0u)
        << "subgroupSizeControl was not enabled";
    EXPECT_FALSE(caps.subgroup.extended_types);
    // What needs no feature is there all the same.
    EXPECT_NE(caps.subgroup.operations & SubgroupOperation::basic, 0u);
    EXPECT_TRUE(caps.device_scope_barrier);
}

TEST_F(Adopt, CapsAreSane) {
    const Caps& caps = rig().caps();
    EXPECT_EQ(caps.api, Api::vulkan);
    EXPECT_FALSE(caps.device_name.empty());
    EXPECT_FALSE(caps.driver.empty());
    EXPECT_TRUE(caps.cpu_device) << "the tests' devices are software drivers";
    EXPECT_EQ(caps.probe, ProbeState::not_run);
    EXPECT_EQ(caps.limits.storage_offset_alignment,
              static_cast<std::uint32_t>(rig().owned().limits().minStorageBufferOffsetAlignment));
    EXPECT_EQ(caps.limits.max_groups_x, rig().owned().limits().maxComputeWorkGroupCount[0]);
    EXPECT_EQ(caps.limits.max_workgroup_invocations,
              rig().owned().limits().maxComputeWorkGroupInvocations);
    EXPECT_EQ(caps.limits.max_workgroup_size_x, rig().owned().limits().maxComputeWorkGroupSize[0]);
    EXPECT_EQ(caps.limits.max_workgroup_memory, rig().owned().limits().maxComputeSharedMemorySize);
    EXPECT_EQ(caps.limits.max_storage_range, rig().owned().limits().maxStorageBufferRange);
    EXPECT_EQ(caps.limits.max_storage_buffers,
              rig().owned().limits().maxPerStageDescriptorStorageBuffers);
    EXPECT_EQ(caps.limits.max_push_constants, rig().owned().limits().maxPushConstantsSize);
    EXPECT_EQ(caps.device_addresses, rig().owned().has_device_addresses());
    const auto again = caps_from_json(caps_to_json(caps));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, caps);
    if (test_device_name().starts_with("lavapipe")) {
        EXPECT_TRUE(caps.types.int64 && caps.types.float64 && caps.device_addresses &&
                    caps.push_descriptors);
        EXPECT_TRUE(caps.subgroup.size_is_true);
    }
    if (test_device_name().starts_with("swiftshader")) {
        EXPECT_FALSE(caps.types.float64 || caps.types.int64 || caps.push_descriptors);
    }
}

// Each feature left out is false in the caps, though the device has it: E2 "as enabled".
struct LeftOut {
    const char* feature;
    bool (*has)(const Caps&);
};

class AdoptLeftOut : public GpuTest, public ::testing::WithParamInterface<LeftOut> {};

TEST_P(AdoptLeftOut, IsFalse) {
    const LeftOut& param = GetParam();
    if (!param.has(rig().caps()))
        GTEST_SKIP() << "this device has no " << param.feature << " to leave out";
    OwnedDeviceOptions options = Rig::validated();
    options.leave_out = {param.feature};
    RigScope lesser(options);
    ASSERT_TRUE(lesser);
    EXPECT_FALSE(param.has(lesser->caps()));
    // And nothing of it is used.
    for (const Tier tier : {Tier::pinned, Tier::portable, Tier::barrier}) {
        const ReduceDesc desc{
            .max_count = 3000,
            .tier = tier,
            .policy = ReducePolicy{.workgroup_size = 32, .vectors = 1, .max_groups = 5}};
        if (!plan_reduce(lesser->caps(), desc)) continue;
        ReduceRunner runner(*lesser, desc);
        ASSERT_TRUE(runner);
        std::vector<std::byte> data(3000 * 4, std::byte{3});
        runner.expect_right(data);
        runner.expect_right(data, {.count_in_buffer = true});
    }
}

INSTANTIATE_TEST_SUITE_P(
    Features, AdoptLeftOut,
    ::testing::Values(
        LeftOut{"shaderInt64", [](const Caps& caps) { return caps.types.int64; }},
        LeftOut{"shaderFloat64", [](const Caps& caps) { return caps.types.float64; }},
        LeftOut{"shaderInt16", [](const Caps& caps) { return caps.types.int16; }},
        LeftOut{"shaderInt8", [](const Caps& caps) { return caps.types.int8; }},
        LeftOut{"shaderFloat16", [](const Caps& caps) { return caps.types.float16; }},
        LeftOut{"storageBuffer8BitAccess", [](const Caps& caps) { return caps.types.storage8; }},
        LeftOut{"storageBuffer16BitAccess", [](const Caps& caps) { return caps.types.storage16; }},
        LeftOut{"bufferDeviceAddress", [](const Caps& caps) { return caps.device_addresses; }},
        LeftOut{"vulkanMemoryModel", [](const Caps& caps) { return caps.memory_model; }},
        LeftOut{"VK_KHR_push_descriptor", [](const Caps& caps) { return caps.push_descriptors; }},
        LeftOut{"computeFullSubgroups",
                [](const Caps& caps) { return caps.subgroup.full_subgroups; }},
        LeftOut{"subgroupSizeControl",
                [](const Caps& caps) {
                    return (caps.subgroup.required_size_stages & Stage::compute) != 0;
                }},
        LeftOut{"shaderSubgroupExtendedTypes",
                [](const Caps& caps) { return caps.subgroup.extended_types; }}),
    [](const auto& param) { return std::string(param.param.feature); });

}  // namespace
}  // namespace lanewise::test
