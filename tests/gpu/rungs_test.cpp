// One driver plays many devices: the bare Vulkan 1.1 rung, 1.2, no push descriptors, addresses
// only.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/vulkan_faults.hpp"

namespace lanewise::test {
namespace {

class Rungs : public GpuTest {
protected:
    // Every tier that the rung can plan, with counts on both sides and every strategy; gives the
    // tiers back. Nothing here may raise a validation message.
    static std::vector<Tier> run_all(Rig& rig) { return run_all(rig, rig.caps()); }
    static std::vector<Tier> run_all(Rig& rig, const Caps& caps) {
        std::vector<Tier> tiers;
        for (const Tier tier : {Tier::pinned, Tier::portable, Tier::barrier}) {
            if (!plan_reduce(caps, {.max_count = 1000, .tier = tier})) continue;
            tiers.push_back(tier);
            for (const ReduceStrategy strategy : sum_strategies(caps)) {
                for (const Operator op : {Operator::sum, Operator::argmax}) {
                    if (strategy == ReduceStrategy::arrival_sum && op != Operator::sum) continue;
                    SCOPED_TRACE(
                        fmt::format("{} {} {}", to_text(tier), to_text(strategy), to_text(op)));
                    ReduceRunner runner(rig,
                                        {.op = op,
                                         .max_count = 4000,
                                         .tier = tier,
                                         .policy = ReducePolicy{.strategy = strategy,
                                                                .workgroup_size = 32,
                                                                .vectors = 1,
                                                                .max_groups = 5}},
                                        caps);
                    if (!runner) return tiers;
                    for (const std::size_t count : {0u, 1u, 129u, 3999u}) {
                        const Elements data = make_elements(Scalar::u32, op, count, count + 1);
                        runner.expect_right(data.bytes());
                        runner.expect_right(data.bytes(), {.count_in_buffer = true});
                    }
                }
            }
        }
        return tiers;
    }
};

TEST_F(Rungs, BareVulkan11) {
    OwnedDeviceOptions options = Rig::validated();
    options.api_version = VK_API_VERSION_1_1;
    options.leave_out = {"VK_KHR_push_descriptor",
                         "VK_EXT_subgroup_size_control",
                         "VK_KHR_buffer_device_address",
                         "VK_EXT_buffer_device_address",
                         "VK_KHR_vulkan_memory_model",
                         "VK_KHR_shader_float16_int8",
                         "VK_KHR_8bit_storage",
                         "VK_KHR_shader_subgroup_extended_types",
                         "VK_EXT_debug_utils",
                         "VK_KHR_shader_atomic_int64",
                         "subgroupSizeControl",
                         "computeFullSubgroups",
                         "bufferDeviceAddress",
                         "shaderInt64",
                         "shaderFloat64",
                         "shaderInt16"};
    RigScope bare(options);
    ASSERT_TRUE(bare);
    const Caps& caps = bare->caps();
    EXPECT_EQ(caps.api_version_major, 1u);
    EXPECT_EQ(caps.api_version_minor, 1u);
    EXPECT_FALSE(caps.push_descriptors);
    EXPECT_FALSE(caps.device_addresses);
    EXPECT_FALSE(caps.subgroup.size_is_true)
        << "SPIR-V 1.3 without the varying-size flag repeats the reported size";
    EXPECT_EQ(caps.subgroup.required_size_stages & Stage::compute, 0u);
    EXPECT_FALSE(caps.subgroup.full_subgroups);
    // Nobody has promised that the reported size is the true one; the probe can show it.
    EXPECT_EQ(run_all(*bare), std::vector<Tier>{Tier::barrier});
    const auto probed = bare->device().probe(bare->owned().queue());
    ASSERT_TRUE(probed) << probed.error().message;
    EXPECT_EQ(probed->probe, ProbeState::passed) << probed->probe_report;
    EXPECT_EQ(run_all(*bare, *probed), (std::vector<Tier>{Tier::portable, Tier::barrier}));
}

TEST_F(Rungs, Vulkan12) {
    OwnedDeviceOptions options = Rig::validated();
    options.api_version = VK_API_VERSION_1_2;
    RigScope older(options);
    ASSERT_TRUE(older);
    EXPECT_EQ(older->caps().api_version_minor, std::min(2u, rig().caps().api_version_minor));
    const auto tiers = run_all(*older);
    EXPECT_GE(tiers.size(), 2u);
}

// The version that counts is the lowest of instance, device and application: features of 1.3 that
// the application did not ask for are not used.
TEST_F(Rungs, TheApplicationsVersionCounts) {
    vulkan::Adoption adoption = rig().owned().adoption();
    adoption.api_version = VK_API_VERSION_1_1;
    const auto device = vulkan::Device::adopt(adoption);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(device->caps().api_version_minor, 1u);
}

TEST_F(Rungs, WithoutPushDescriptors) {
    OwnedDeviceOptions options = Rig::validated();
    options.leave_out = {"VK_KHR_push_descriptor"};
    RigScope lesser(options);
    ASSERT_TRUE(lesser);
    EXPECT_FALSE(lesser->caps().push_descriptors);
    run_all(*lesser);
}

TEST_F(Rungs, ByAddressNoDescriptorIsTouched) {
    if (!rig().caps().device_addresses) GTEST_SKIP() << "no device addresses on this device";
    VulkanFaults::reset();
    vulkan::Adoption adoption = rig().owned().adoption();
    adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
    const auto device = vulkan::Device::adopt(adoption);
    ASSERT_TRUE(device);
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        claim(tier);
        const ReduceDesc desc{
            .max_count = 5000, .tier = tier, .addressing = Addressing::device_address};
        const auto plan = plan_reduce(device->caps(), desc);
        ASSERT_TRUE(plan) << plan.error().message;
        const auto executable = device->compile(*plan);
        ASSERT_TRUE(executable) << executable.error().message;
        const UseBuffers use = make_use_buffers(rig().owned(), *plan);
        // Addresses are all that the plan needs: no handle.
        vulkan::Buffers buffers = use.buffers(*plan);
        for (vulkan::Buffer* buffer : {&buffers.input, &buffers.output, &buffers.scratch}) {
            ASSERT_NE(buffer->address, 0u);
            buffer->buffer = VK_NULL_HANDLE;
            buffer->offset = 0;
        }
        const Elements data = make_elements(Scalar::u32, Operator::sum, 5000, 3);
        ASSERT_TRUE(rig().owned().upload(use.input, 0, data.bytes()));
        const auto binding = executable->bind(buffers, std::uint64_t{5000});
        ASSERT_TRUE(binding) << binding.error().message;
        ASSERT_TRUE(rig().owned().run([&](VkCommandBuffer cmd) {
            binding->record(cmd);
            record_readback_barrier(rig().owned(), cmd);
        }));
        count_dispatch(tier);
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < data.count(); ++i)
            sum += static_cast<std::uint32_t>(data.get(i));
        std::vector<std::byte> result(4);
        ASSERT_TRUE(rig().owned().download(use.output, 0, result));
        EXPECT_EQ(std::memcmp(result.data(), &sum, 4), 0);
    }
    EXPECT_EQ(VulkanFaults::calls("vkCmdPushDescriptorSetKHR"), 0);
    EXPECT_EQ(VulkanFaults::calls("vkCmdBindDescriptorSets"), 0);
    EXPECT_EQ(VulkanFaults::calls("vkAllocateDescriptorSets"), 0);
}

// What the pipelines are really created with, seen between the library and the driver.
TEST_F(Rungs, PipelinesAreCreatedAsThePlanSays) {
    VulkanFaults::reset();
    vulkan::Adoption adoption = rig().owned().adoption();
    adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
    const auto device = vulkan::Device::adopt(adoption);
    ASSERT_TRUE(device);
    for (const Tier tier : {Tier::pinned, Tier::portable, Tier::barrier}) {
        const auto plan = plan_reduce(device->caps(), {.max_count = 5000, .tier = tier});
        if (!plan) continue;
        SCOPED_TRACE(to_text(tier));
        VulkanFaults::reset();
        ASSERT_TRUE(device->compile(*plan));
        const auto pipelines = VulkanFaults::pipelines();
        ASSERT_EQ(pipelines.size(), plan->passes.size());
        std::uint32_t required = 0;
        for (std::size_t i = 0; i < pipelines.size(); ++i) {
            const bool full = (pipelines[i].stage_flags &
                               VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT) != 0;
            const bool varying =
                (pipelines[i].stage_flags &
                 VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT) != 0;
            required += pipelines[i].required_subgroup_size != 0 ? 1 : 0;
            if (pipelines[i].required_subgroup_size != 0) {
                EXPECT_TRUE(full);
                EXPECT_FALSE(varying);
                EXPECT_EQ(pipelines[i].required_subgroup_size,
                          plan->passes[i].required_subgroup_size);
            }
            if (plan->passes[i].form == Form::subgroup && tier == Tier::portable &&
                device->caps().subgroup.size_is_true) {
                EXPECT_TRUE(varying || pipelines[i].spirv_version >= 0x00010600)
                    << "the built-in size may lie without one of them";
            }
        }
        EXPECT_EQ(required > 0, tier == Tier::pinned);
    }
}

}  // namespace
}  // namespace lanewise::test
