// Device::compile: caches, threads, refusals and the way down to a lower tier.
#include <gtest/gtest.h>

#include <future>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/vulkan_faults.hpp"

namespace lanewise::test {
namespace {

class Compile : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        VulkanFaults::reset();
    }
    void TearDown() override {
        VulkanFaults::reset();
        GpuTest::TearDown();
    }

    // The shared device, adopted anew with the faults between.
    static vulkan::Device faulty(VkPipelineCache cache = VK_NULL_HANDLE) {
        vulkan::Adoption adoption = rig().owned().adoption();
        adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
        adoption.pipeline_cache = cache;
        auto device = vulkan::Device::adopt(adoption);
        EXPECT_TRUE(device) << device.error().message;
        return *device;
    }

    static VkPipelineCache make_cache() {
        const VkPipelineCacheCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
        VkPipelineCache cache = VK_NULL_HANDLE;
        const OwnedDevice& owned = rig().owned();
        EXPECT_EQ(owned.vk().CreatePipelineCache(owned.device(), &info, owned.allocator(), &cache),
                  VK_SUCCESS);
        return cache;
    }
    static void destroy_cache(VkPipelineCache cache) {
        const OwnedDevice& owned = rig().owned();
        owned.vk().DestroyPipelineCache(owned.device(), cache, owned.allocator());
    }

    static Plan plan_of(const ReduceDesc& desc) {
        auto plan = plan_reduce(rig().caps(), desc);
        EXPECT_TRUE(plan) << plan.error().message;
        return *plan;
    }
};

TEST_F(Compile, PipelinesGoThroughTheGivenCache) {
    const VkPipelineCache adopted = make_cache();
    const VkPipelineCache given = make_cache();
    {
        const vulkan::Device device = faulty(adopted);
        const Plan plan = plan_of({.max_count = 1000});
        ASSERT_TRUE(device.compile(plan));
        for (const PipelineSeen& pipeline : VulkanFaults::pipelines())
            EXPECT_EQ(pipeline.cache, adopted);
        EXPECT_EQ(VulkanFaults::pipelines().size(), plan.passes.size());
        VulkanFaults::reset();
        ASSERT_TRUE(device.compile(plan, {.pipeline_cache = given}));
        for (const PipelineSeen& pipeline : VulkanFaults::pipelines())
            EXPECT_EQ(pipeline.cache, given);
        EXPECT_FALSE(VulkanFaults::pipelines().empty());
    }
    destroy_cache(adopted);
    destroy_cache(given);
}

TEST_F(Compile, WithoutACacheNoneIsMade) {
    const vulkan::Device device = faulty();
    ASSERT_TRUE(device.compile(plan_of({.max_count = 1000})));
    for (const PipelineSeen& pipeline : VulkanFaults::pipelines()) {
        EXPECT_EQ(pipeline.cache, VkPipelineCache{VK_NULL_HANDLE});
    }
}

TEST_F(Compile, Asynchronously) {
    std::vector<std::future<Result<vulkan::Executable>>> futures;
    std::vector<Plan> plans;
    for (const Operator op : {Operator::sum, Operator::min, Operator::bit_xor, Operator::argmax}) {
        plans.push_back(plan_of({.op = op, .max_count = 5000}));
        futures.push_back(rig().device().compile_async(plans.back()));
    }
    for (std::size_t i = 0; i < futures.size(); ++i) {
        auto executable = futures[i].get();
        ASSERT_TRUE(executable) << executable.error().message;
        EXPECT_EQ(executable->plan(), plans[i]);
    }
}

TEST_F(Compile, AsynchronouslyOutlivesItsDevice) {
    std::future<Result<vulkan::Executable>> future;
    {
        const auto device = vulkan::Device::adopt(rig().owned().adoption());
        ASSERT_TRUE(device);
        future = device->compile_async(plan_of({.max_count = 5000}));
    }
    EXPECT_TRUE(future.get());
}

// An executable keeps what it needs when the Device and the Executable's other copies are gone.
TEST_F(Compile, ExecutablesAndBindingsOutliveTheDevice) {
    std::optional<vulkan::Binding> binding;
    const Plan plan = plan_of({.max_count = 1000,
                               .policy = ReducePolicy{.strategy = ReduceStrategy::last_workgroup,
                                                      .workgroup_size = 32,
                                                      .vectors = 1,
                                                      .max_groups = 5}});
    const UseBuffers use = make_use_buffers(rig().owned(), plan);
    {
        const auto device = vulkan::Device::adopt(rig().owned().adoption());
        ASSERT_TRUE(device);
        const auto executable = device->compile(plan);
        ASSERT_TRUE(executable);
        auto made = executable->bind(use.buffers(plan), std::uint64_t{1000});
        ASSERT_TRUE(made);
        binding = *made;
    }
    const Elements data = make_elements(Scalar::u32, Operator::sum, 1000, 9);
    ASSERT_TRUE(rig().owned().upload(use.input, 0, data.bytes()));
    ASSERT_TRUE(rig().owned().run([&](VkCommandBuffer cmd) {
        binding->record(cmd);
        record_readback_barrier(rig().owned(), cmd);
    }));
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < data.count(); ++i) sum += static_cast<std::uint32_t>(data.get(i));
    std::vector<std::byte> result(4);
    ASSERT_TRUE(rig().owned().download(use.output, 0, result));
    EXPECT_EQ(std::memcmp(result.data(), &sum, 4), 0);
}

// A plan that was made for another device asks for what this one does not have.
TEST_F(Compile, PlansOfGreaterDevicesAreRefused) {
    OwnedDeviceOptions options = Rig::validated();
    options.leave_out = {"bufferDeviceAddress",          "subgroupSizeControl",
                         "computeFullSubgroups",         "shaderFloat64",
                         "VK_EXT_subgroup_size_control", "VK_KHR_buffer_device_address"};
    RigScope lesser(options);
    ASSERT_TRUE(lesser);
    Caps greater = lesser->caps();
    greater.device_addresses = true;
    greater.types.float64 = true;
    greater.subgroup.required_size_stages = Stage::compute;
    greater.subgroup.full_subgroups = true;
    greater.subgroup.size_is_true = true;
    greater.subgroup.min_size = greater.subgroup.max_size = greater.subgroup.size;
    greater.subgroup.max_workgroup_subgroups = 64;
    const auto refused = [&](const ReduceDesc& desc, const char* word) {
        const auto plan = plan_reduce(greater, desc);
        ASSERT_TRUE(plan) << plan.error().message;
        const auto executable = lesser->device().compile(*plan);
        ASSERT_FALSE(executable) << word;
        EXPECT_EQ(executable.error().code, ErrorCode::unsupported) << executable.error().message;
        EXPECT_NE(executable.error().message.find(word), std::string::npos)
            << executable.error().message;
    };
    refused({.max_count = 100, .tier = Tier::barrier, .addressing = Addressing::device_address},
            "address");
    refused({.element = Scalar::f64, .max_count = 100, .tier = Tier::barrier}, "loat64");
    refused({.max_count = 100, .tier = Tier::pinned}, "subgroup");

    // A workgroup larger than the device takes.
    Caps larger = lesser->caps();
    larger.limits.max_workgroup_invocations = larger.limits.max_workgroup_size_x = 1024;
    if (lesser->caps().limits.max_workgroup_invocations < 1024) {
        const auto plan =
            plan_reduce(larger, {.max_count = 100, .policy = ReducePolicy{.workgroup_size = 1024}});
        ASSERT_TRUE(plan);
        const auto executable = lesser->device().compile(*plan);
        ASSERT_FALSE(executable);
        EXPECT_FALSE(executable.error().message.empty());
    }
}

TEST_F(Compile, UnknownKernelsAreNamed) {
    Plan plan = plan_of({.max_count = 100});
    plan.passes[0].kernel = "no_such_kernel.barrier.none.descriptor";
    const auto executable = rig().device().compile(plan);
    ASSERT_FALSE(executable);
    EXPECT_NE(executable.error().message.find("no_such_kernel"), std::string::npos)
        << executable.error().message;
}

// The driver refuses a pipeline: the error carries caps to plan again with, one tier lower each
// time, until the lowest, from where there is no way down.
TEST_F(Compile, RetryCapsLeadDownwards) {
    const vulkan::Device device = faulty();
    Caps caps = device.caps();
    std::vector<Tier> tried;
    for (int attempt = 0; attempt < 4; ++attempt) {
        const auto plan = plan_reduce(caps, {.max_count = 1000});
        ASSERT_TRUE(plan) << plan.error().message;
        tried.push_back(plan->tier);
        VulkanFaults::reset();
        VulkanFaults::fail("vkCreateComputePipelines", VK_ERROR_INVALID_SHADER_NV);
        const auto executable = device.compile(*plan);
        ASSERT_FALSE(executable);
        EXPECT_EQ(executable.error().code, ErrorCode::compile_failed) << executable.error().message;
        EXPECT_FALSE(executable.error().message.empty());
        if (executable.error().retry_caps == nullptr) break;
        EXPECT_NE(plan->tier, Tier::barrier) << "below the barrier tier there is nothing to try";
        caps = *executable.error().retry_caps;
    }
    std::vector<Tier> expected{Tier::portable, Tier::barrier};
    if (plan_reduce(device.caps(), {.max_count = 1000, .tier = Tier::pinned})) {
        expected.insert(expected.begin(), Tier::pinned);
    }
    EXPECT_EQ(tried, expected);
    // The device is well again when the driver is.
    VulkanFaults::reset();
    EXPECT_TRUE(device.compile(plan_of({.max_count = 1000})));
}

TEST_F(Compile, OutOfMemoryIsNoReasonToGoDown) {
    const vulkan::Device device = faulty();
    for (const VkResult result : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
        VulkanFaults::reset();
        VulkanFaults::fail("vkCreateComputePipelines", result);
        const auto executable = device.compile(plan_of({.max_count = 1000}));
        ASSERT_FALSE(executable);
        EXPECT_EQ(executable.error().code, ErrorCode::out_of_memory) << executable.error().message;
        EXPECT_EQ(executable.error().retry_caps, nullptr);
    }
}

}  // namespace
}  // namespace lanewise::test
