// Memory that runs out, drivers that fail, devices that are lost (E3, E4): an error each time, the
// right one, with nothing leaked and nothing called afterwards that must not be.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/vulkan_faults.hpp"

namespace lanewise::test {
namespace {

// Vulkan's host allocations, counted; the k-th from arm() on fails, once.
class CountingAllocator {
public:
    CountingAllocator() {
        callbacks_.pUserData = this;
        callbacks_.pfnAllocation = [](void* self, std::size_t bytes, std::size_t alignment,
                                      VkSystemAllocationScope) {
            return static_cast<CountingAllocator*>(self)->allocate(bytes, alignment);
        };
        callbacks_.pfnReallocation = [](void* self, void* old, std::size_t bytes,
                                        std::size_t alignment, VkSystemAllocationScope) {
            return static_cast<CountingAllocator*>(self)->reallocate(old, bytes, alignment);
        };
        callbacks_.pfnFree = [](void* self, void* memory) {
            static_cast<CountingAllocator*>(self)->release(memory);
        };
    }

    const VkAllocationCallbacks* callbacks() const { return &callbacks_; }
    // Fails the allocation number k from now (the first is 1); 0: none.
    void arm(int k) {
        const std::lock_guard lock(mutex_);
        countdown_ = k;
        fired_ = false;
    }
    bool fired() const { return fired_; }
    std::size_t live() const {
        const std::lock_guard lock(mutex_);
        return live_.size();
    }
    int foreign_frees() const { return foreign_frees_; }
    int allocations() const { return allocations_; }

private:
    bool fails() {
        ++allocations_;
        if (countdown_ == 0 || --countdown_ != 0) return false;
        fired_ = true;
        return true;
    }
    void* allocate(std::size_t bytes, std::size_t alignment) {
        const std::lock_guard lock(mutex_);
        if (fails()) return nullptr;
        const std::size_t aligned = std::max(alignment, alignof(std::max_align_t));
        // Mesa 22.3 asks for 0 bytes now and then, and takes null for a failure.
        void* memory = std::aligned_alloc(
            aligned, (std::max<std::size_t>(bytes, 1) + aligned - 1) / aligned * aligned);
        if (memory != nullptr) live_[memory] = bytes;
        return memory;
    }
    void* reallocate(void* old, std::size_t bytes, std::size_t alignment) {
        if (old == nullptr) return allocate(bytes, alignment);
        if (bytes == 0) {
            release(old);
            return nullptr;
        }
        void* memory = allocate(bytes, alignment);
        if (memory == nullptr) return nullptr;
        std::size_t before = 0;
        {
            const std::lock_guard lock(mutex_);
            before = live_[old];
        }
        std::memcpy(memory, old, std::min(before, bytes));
        release(old);
        return memory;
    }
    void release(void* memory) {
        if (memory == nullptr) return;
        const std::lock_guard lock(mutex_);
        if (live_.erase(memory) == 0) {
            ++foreign_frees_;
            return;
        }
        std::free(memory);
    }

    VkAllocationCallbacks callbacks_ = {};
    mutable std::mutex mutex_;
    std::map<void*, std::size_t> live_;
    int countdown_ = 0;
    std::atomic<bool> fired_ = false;
    int foreign_frees_ = 0;
    int allocations_ = 0;
};

class Faults : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        VulkanFaults::reset();
    }
    void TearDown() override {
        VulkanFaults::reset();
        GpuTest::TearDown();
    }

    static ReduceDesc desc(ReduceStrategy strategy = ReduceStrategy::last_workgroup) {
        return {.max_count = 3000,
                .policy = ReducePolicy{
                    .strategy = strategy, .workgroup_size = 32, .vectors = 1, .max_groups = 5}};
    }

    // Adopts, probes where asked, compiles and binds. The error of the first that fails.
    static Result<void> whole_way(const vulkan::Adoption& adoption, const OwnedDevice& owned,
                                  bool probe,
                                  const std::function<void(const vulkan::Binding&)>& use = {}) {
        const auto device = vulkan::Device::adopt(adoption);
        if (!device) return tl::unexpected(device.error());
        if (probe) {
            const auto caps = device->probe(owned.queue());
            if (!caps) return tl::unexpected(caps.error());
        }
        const auto plan = plan_reduce(device->caps(), desc());
        if (!plan) return tl::unexpected(plan.error());
        const auto executable = device->compile(*plan);
        if (!executable) return tl::unexpected(executable.error());
        const UseBuffers buffers = make_use_buffers(owned, *plan);
        const auto binding = executable->bind(buffers.buffers(*plan), std::uint64_t{3000});
        if (!binding) return tl::unexpected(binding.error());
        if (use) use(*binding);
        return {};
    }
};

// Every host allocation of the library's objects fails once, one after the other.
TEST_F(Faults, EveryHostAllocationFailsOnce) {
    for (const bool push_descriptors : {true, false}) {
        // Without layers, which allocate by themselves and do not all survive this.
        OwnedDeviceOptions options = Rig::plain();
        if (!push_descriptors) options.leave_out = {"VK_KHR_push_descriptor"};
        RigScope plain(options);
        ASSERT_TRUE(plain);
        if (push_descriptors && !plain->caps().push_descriptors) continue;
        const OwnedDevice& owned = plain->owned();
        CountingAllocator allocator;
        vulkan::Adoption adoption = owned.adoption();
        adoption.allocator = allocator.callbacks();
        int failures = 0;
        for (int k = 1;; ++k) {
            SCOPED_TRACE(fmt::format("allocation {}", k));
            ASSERT_LT(k, 2000) << "it never succeeds";
            allocator.arm(k);
            const auto done = whole_way(adoption, owned, k % 8 == 0);
            const bool fired = allocator.fired();
            EXPECT_EQ(allocator.live(), 0u) << "leaked";
            EXPECT_EQ(allocator.foreign_frees(), 0) << "freed what was never allocated";
            if (!fired) {
                EXPECT_TRUE(done) << done.error().message;
                break;
            }
            ++failures;
            if (!done) {
                EXPECT_EQ(to_text(done.error().code), std::string("out_of_memory"))
                    << done.error().message;
                EXPECT_FALSE(done.error().message.empty());
            }
            if (HasFailure()) break;
        }
        // One for each shader module and pipeline at least.
        EXPECT_GE(failures, 4) << "the allocator is not used: " << allocator.allocations()
                               << " allocations in all";
    }
}

// Drivers use the application's allocator for some objects and not for others; the library hands it
// to all calls that take one, and every object that it makes it destroys.
TEST_F(Faults, EveryCallIsGivenTheAllocator) {
    OwnedDeviceOptions options = Rig::plain();
    options.leave_out = {"VK_KHR_push_descriptor"};
    RigScope plain(options);
    ASSERT_TRUE(plain);
    CountingAllocator allocator;
    vulkan::Adoption adoption = plain->owned().adoption();
    adoption.allocator = allocator.callbacks();
    adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
    VulkanFaults::reset();
    const auto done = whole_way(adoption, plain->owned(), true);
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_EQ(VulkanFaults::allocator_owners(), std::set<const void*>{&allocator});
    EXPECT_EQ(VulkanFaults::live_objects(), 0);
    EXPECT_GT(VulkanFaults::calls("vkCreateComputePipelines"), 0);
    EXPECT_GT(VulkanFaults::calls("vkAllocateMemory"), 0);
    EXPECT_EQ(allocator.live(), 0u);
}

// The same by function: each may answer out of memory. The message of device memory gives the
// bytes.
TEST_F(Faults, EveryCreationMayRunOutOfMemory) {
    vulkan::Adoption adoption = rig().owned().adoption();
    adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
    int seen = 0;
    for (const char* function :
         {"vkAllocateMemory", "vkBindBufferMemory", "vkCreateBuffer", "vkCreateComputePipelines",
          "vkCreateDescriptorPool", "vkAllocateDescriptorSets", "vkCreateDescriptorSetLayout",
          "vkCreatePipelineLayout", "vkCreateShaderModule", "vkCreateCommandPool",
          "vkAllocateCommandBuffers", "vkCreateFence", "vkMapMemory", "vkBeginCommandBuffer",
          "vkEndCommandBuffer", "vkQueueSubmit"}) {
        SCOPED_TRACE(function);
        for (const VkResult result : {VK_ERROR_OUT_OF_HOST_MEMORY, VK_ERROR_OUT_OF_DEVICE_MEMORY}) {
            for (int call = 1; call <= 3; ++call) {
                VulkanFaults::reset();
                // Once; device memory for good, because another kind of memory may be tried next.
                VulkanFaults::fail(function, result, call,
                                   std::string(function) == "vkAllocateMemory" ? 1000 : 1);
                const auto done = whole_way(adoption, rig().owned(), true);
                if (VulkanFaults::calls(function) < call) break;  // not called so often
                ++seen;
                ASSERT_FALSE(done) << "call " << call << " failed and nobody noticed";
                EXPECT_EQ(VulkanFaults::live_objects(), 0)
                    << "leaked by call " << call << ": " << done.error().message;
                EXPECT_EQ(to_text(done.error().code), std::string("out_of_memory"))
                    << done.error().message;
                EXPECT_EQ(done.error().retry_caps, nullptr);
                if (std::string(function) == "vkAllocateMemory") {
                    EXPECT_TRUE(std::any_of(done.error().message.begin(),
                                            done.error().message.end(),
                                            [](char c) { return c >= '0' && c <= '9'; }))
                        << "the bytes wanted are not in: " << done.error().message;
                }
            }
        }
    }
    EXPECT_GT(seen, 10);
    // And the next one works.
    VulkanFaults::reset();
    EXPECT_TRUE(whole_way(adoption, rig().owned(), true));
}

// A lost device says so, and says so at once ever after, without another call to the driver.
TEST_F(Faults, ALostDeviceStaysLost) {
    for (const char* function : {"vkQueueSubmit", "vkWaitForFences", "vkCreateComputePipelines"}) {
        SCOPED_TRACE(function);
        vulkan::Adoption adoption = rig().owned().adoption();
        adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
        VulkanFaults::reset();
        {
            const auto device = vulkan::Device::adopt(adoption);
            ASSERT_TRUE(device);
            const auto plan = plan_reduce(device->caps(), desc());
            ASSERT_TRUE(plan);
            const auto before = device->compile(*plan);
            ASSERT_TRUE(before);
            const UseBuffers use = make_use_buffers(rig().owned(), *plan);

            VulkanFaults::fail(function, VK_ERROR_DEVICE_LOST);
            const auto probed = device->probe(rig().owned().queue());
            ASSERT_FALSE(probed);
            EXPECT_EQ(to_text(probed.error().code), std::string("device_lost"))
                << probed.error().message;

            // The injected fault is over; the device is lost all the same.
            VulkanFaults::reset();
            const auto compiled = device->compile(*plan);
            ASSERT_FALSE(compiled);
            EXPECT_EQ(to_text(compiled.error().code), std::string("device_lost"))
                << compiled.error().message;
            EXPECT_EQ(compiled.error().retry_caps, nullptr);
            const auto again = device->probe(rig().owned().queue());
            ASSERT_FALSE(again);
            EXPECT_EQ(to_text(again.error().code), std::string("device_lost"));
            const auto bound = before->bind(use.buffers(*plan), std::uint64_t{3000});
            ASSERT_FALSE(bound);
            EXPECT_EQ(to_text(bound.error().code), std::string("device_lost"));
            auto async = device->compile_async(*plan).get();
            ASSERT_FALSE(async);
            EXPECT_EQ(to_text(async.error().code), std::string("device_lost"));
            EXPECT_EQ(VulkanFaults::calls_in_all(), 0) << "the driver was called on a lost device";
            // Everything is destroyed here: that must be safe.
        }
        // The same VkDevice, adopted anew, works.
        VulkanFaults::reset();
        EXPECT_TRUE(whole_way(adoption, rig().owned(), false));
    }
}

TEST_F(Faults, LossWhileCompiling) {
    vulkan::Adoption adoption = rig().owned().adoption();
    adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
    const auto device = vulkan::Device::adopt(adoption);
    ASSERT_TRUE(device);
    const auto plan = plan_reduce(device->caps(), desc(ReduceStrategy::two_pass));
    ASSERT_TRUE(plan);
    // The second of three pipelines.
    VulkanFaults::fail("vkCreateComputePipelines", VK_ERROR_DEVICE_LOST, 2);
    const auto executable = device->compile(*plan);
    ASSERT_FALSE(executable);
    EXPECT_EQ(to_text(executable.error().code), std::string("device_lost"))
        << executable.error().message;
    EXPECT_EQ(executable.error().retry_caps, nullptr) << "a lower tier is no help";
}

// A device that is made through failing functions: what was made before the failure is destroyed.
TEST_F(Faults, OwnedDevicesAreMadeWholeOrNotAtAll) {
    for (const char* function :
         {"vkCreateCommandPool", "vkAllocateCommandBuffers", "vkCreateFence"}) {
        SCOPED_TRACE(function);
        VulkanFaults::reset();
        VulkanFaults::fail(function, VK_ERROR_OUT_OF_HOST_MEMORY);
        std::vector<std::string> messages;
        OwnedDeviceOptions options = Rig::validated();
        options.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
        options.on_validation_message = [&](const std::string& message) {
            messages.push_back(message);
        };
        const auto device = OwnedDevice::create(options);
        ASSERT_FALSE(device);
        EXPECT_EQ(to_text(device.error().code), std::string("out_of_memory"))
            << device.error().message;
        fail_on_messages(messages);
    }
}

// A loss between submissions of an application's own: the library learns of it by the first call
// that fails, and the application's device object can be destroyed.
TEST_F(Faults, DestroyingALostDeviceIsSafe) {
    VulkanFaults::reset();
    OwnedDeviceOptions options = Rig::validated();
    options.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
    {
        RigScope lost(options);
        ASSERT_TRUE(lost);
        ReduceRunner runner(*lost, desc());
        ASSERT_TRUE(runner);
        const Elements data = make_elements(Scalar::u32, Operator::sum, 3000, 1);
        runner.expect_right(data.bytes());
        VulkanFaults::fail("vkQueueSubmit", VK_ERROR_DEVICE_LOST);
        const auto run = lost->owned().run([](VkCommandBuffer) {});
        ASSERT_FALSE(run);
        EXPECT_EQ(to_text(run.error().code), std::string("device_lost"));
        VulkanFaults::reset();
    }
    // A new device works.
    RigScope fresh;
    ASSERT_TRUE(fresh);
    ReduceRunner runner(*fresh, desc());
    ASSERT_TRUE(runner);
    runner.expect_right(make_elements(Scalar::u32, Operator::sum, 3000, 2).bytes());
}

}  // namespace
}  // namespace lanewise::test
