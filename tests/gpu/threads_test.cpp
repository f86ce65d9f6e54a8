// Device and Executable are safe to use from several threads at once.
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "lanewise/reduce.hpp"
#include "primitives/reduce/reduce_reference.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

class Threads : public GpuTest {};

// Two threads compile, bind, record and submit at once, each with command buffers of its own; only
// the queue is shared, and taken in turns as Vulkan demands.
TEST_F(Threads, TwoAtOnce) {
    const OwnedDevice& owned = rig().owned();
    std::mutex queue;
    std::atomic<int> right = 0;
    const ReduceDesc shared_desc{.max_count = 3000,
                                 .policy = ReducePolicy{.strategy = ReduceStrategy::last_workgroup,
                                                        .workgroup_size = 32,
                                                        .vectors = 1,
                                                        .max_groups = 5}};
    const auto shared_plan = plan_reduce(rig().caps(), shared_desc);
    ASSERT_TRUE(shared_plan);
    const auto shared_executable = rig().compile(*shared_plan);
    ASSERT_TRUE(shared_executable);
    constexpr int kRounds = 40;

    const auto work = [&](std::uint64_t seed) -> std::string {
        const VkCommandPoolCreateInfo pool_info{
            .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
            .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            .queueFamilyIndex = owned.queue_family()};
        VkCommandPool pool = VK_NULL_HANDLE;
        if (owned.vk().CreateCommandPool(owned.device(), &pool_info, nullptr, &pool) != VK_SUCCESS)
            return "no pool";
        const VkCommandBufferAllocateInfo cmd_info{
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = pool,
            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            .commandBufferCount = 1};
        VkCommandBuffer cmd = VK_NULL_HANDLE;
        if (owned.vk().AllocateCommandBuffers(owned.device(), &cmd_info, &cmd) != VK_SUCCESS)
            return "no buffer";
        std::string failure;
        for (int round = 0; round < kRounds && failure.empty(); ++round) {
            // Every eighth round compiles a plan of its own; the others bind what both threads
            // share.
            ReduceDesc desc = shared_desc;
            std::optional<vulkan::Executable> executable = *shared_executable;
            if (round % 8 == 0) {
                desc.op = (seed + static_cast<std::uint64_t>(round)) % 16 == 0 ? Operator::bit_xor
                                                                               : Operator::sum;
                auto compiled = rig().device().compile(*plan_reduce(rig().caps(), desc));
                if (!compiled) return compiled.error().message;
                executable = *compiled;
            }
            const Plan& plan = executable->plan();
            const std::size_t count = 1 + hash(seed, static_cast<std::uint64_t>(round)) % 3000;
            const Elements data = make_elements(Scalar::u32, desc.op, count,
                                                seed + static_cast<std::uint64_t>(round));
            UseBuffers use;
            {
                // OwnedDevice itself is for one thread at a time.
                const std::lock_guard lock(queue);
                use = make_use_buffers(owned, plan);
                if (!owned.upload(use.input, 0, data.bytes())) return "no upload";
            }
            const auto binding = executable->bind(use.buffers(plan), count);
            if (!binding) return binding.error().message;
            const VkCommandBufferBeginInfo begin{.sType =
                                                     VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
            if (owned.vk().BeginCommandBuffer(cmd, &begin) != VK_SUCCESS) return "begin";
            binding->record(cmd);
            record_readback_barrier(owned, cmd);
            if (owned.vk().EndCommandBuffer(cmd) != VK_SUCCESS) return "end";
            std::vector<std::byte> result(4);
            {
                const std::lock_guard lock(queue);
                if (!owned.submit(cmd)) return "submit";
                if (!owned.download(use.output, 0, result)) return "no download";
            }
            if (!reduce_matches(desc, data.bytes(), result, &failure)) break;
            ++right;
        }
        owned.vk().DestroyCommandPool(owned.device(), pool, nullptr);
        return failure;
    };
    std::string first, second;
    std::thread one([&] { first = work(100); });
    std::thread two([&] { second = work(200); });
    one.join();
    two.join();
    EXPECT_EQ(first, "");
    EXPECT_EQ(second, "");
    EXPECT_EQ(right, 2 * kRounds);
}

}  // namespace
}  // namespace lanewise::test
