// Binding::record: labels, timestamps, barriers, several uses in one command buffer, no allocation.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "primitives/reduce/reduce_reference.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/vulkan_faults.hpp"

namespace lanewise::test {
namespace {

class Record : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        VulkanFaults::reset();
    }
    void TearDown() override {
        VulkanFaults::reset();
        GpuTest::TearDown();
    }

    static ReduceDesc desc(ReduceStrategy strategy, std::uint64_t max_count = 4000) {
        return {.max_count = max_count,
                .policy = ReducePolicy{
                    .strategy = strategy, .workgroup_size = 32, .vectors = 1, .max_groups = 5}};
    }

    static vulkan::Device faulty() {
        vulkan::Adoption adoption = rig().owned().adoption();
        adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
        auto device = vulkan::Device::adopt(adoption);
        EXPECT_TRUE(device);
        return *device;
    }

    static void begin(VkCommandBuffer cmd) {
        const VkCommandBufferBeginInfo info{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
        ASSERT_EQ(rig().owned().vk().BeginCommandBuffer(cmd, &info), VK_SUCCESS);
    }
};

TEST_F(Record, PassesAreLabelledByTheirNames) {
    const vulkan::Device device = faulty();
    const auto plan = plan_reduce(device.caps(), desc(ReduceStrategy::two_pass));
    ASSERT_TRUE(plan);
    const auto executable = device.compile(*plan);
    ASSERT_TRUE(executable);
    const UseBuffers use = make_use_buffers(rig().owned(), *plan);
    const auto on_host = executable->bind(use.buffers(*plan), std::uint64_t{4000});
    const auto in_buffer = executable->bind(use.buffers(*plan), use.count_buffer());
    ASSERT_TRUE(on_host && in_buffer);
    using Names = std::vector<std::string>;
    EXPECT_EQ(on_host->pass_names(), (Names{"reduce_tiles", "reduce_partials"}));
    EXPECT_EQ(in_buffer->pass_names(),
              (Names{"count_to_groups", "reduce_tiles", "reduce_partials"}));
    const std::uint32_t count = 17;
    ASSERT_TRUE(rig().owned().upload(use.count, 0, std::as_bytes(std::span(&count, 1))));
    for (const auto* binding : {&*on_host, &*in_buffer}) {
        VulkanFaults::reset();
        ASSERT_TRUE(rig().owned().run([&](VkCommandBuffer cmd) { binding->record(cmd); }));
        EXPECT_EQ(VulkanFaults::labels(), binding->pass_names());
        EXPECT_EQ(VulkanFaults::open_labels(), 0);
    }
}

// The barriers between passes are as narrow as they can be: none asks for every kind of access, and
// arguments of indirect dispatches are made visible as such (D7).
TEST_F(Record, BarriersBetweenPasses) {
    const vulkan::Device device = faulty();
    for (const ReduceStrategy strategy : sum_strategies(rig().caps())) {
        SCOPED_TRACE(to_text(strategy));
        const auto plan = plan_reduce(device.caps(), desc(strategy));
        ASSERT_TRUE(plan);
        const auto executable = device.compile(*plan);
        ASSERT_TRUE(executable);
        const UseBuffers use = make_use_buffers(rig().owned(), *plan);
        const std::uint32_t count = 1700;
        ASSERT_TRUE(rig().owned().upload(use.count, 0, std::as_bytes(std::span(&count, 1))));
        for (const bool in_buffer : {false, true}) {
            const auto binding = in_buffer
                                     ? executable->bind(use.buffers(*plan), use.count_buffer())
                                     : executable->bind(use.buffers(*plan), std::uint64_t{4000});
            ASSERT_TRUE(binding);
            VulkanFaults::reset();
            ASSERT_TRUE(rig().owned().run([&](VkCommandBuffer cmd) { binding->record(cmd); }));
            const auto barriers = VulkanFaults::memory_barriers();
            EXPECT_EQ(barriers.size(), binding->pass_names().size() - 1);
            bool indirect = false;
            for (const VkMemoryBarrier& barrier : barriers) {
                EXPECT_EQ(barrier.srcAccessMask & ~(VK_ACCESS_SHADER_WRITE_BIT), 0u);
                EXPECT_EQ(barrier.dstAccessMask &
                              ~(VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                VK_ACCESS_INDIRECT_COMMAND_READ_BIT),
                          0u);
                indirect =
                    indirect || (barrier.dstAccessMask & VK_ACCESS_INDIRECT_COMMAND_READ_BIT) != 0;
            }
            EXPECT_EQ(indirect, VulkanFaults::calls("vkCmdDispatchIndirect") > 0);
            EXPECT_TRUE(in_buffer || VulkanFaults::calls("vkCmdDispatchIndirect") == 0);
        }
    }
}

TEST_F(Record, AllocatesNothing) {
    if (!counts_allocations()) GTEST_SKIP() << "the sanitizer's operator new counts nothing";
    // Without layers: what they allocate inside of a call is not ours to count, but what they put
    // around it might be.
    OwnedDeviceOptions options = Rig::plain();
    options.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
    RigScope plain(options);
    ASSERT_TRUE(plain);
    const OwnedDevice& owned = plain->owned();
    // The counter itself works.
    const std::uint64_t start = allocations_of_this_thread();
    delete new std::vector<int>(100);
    EXPECT_GE(allocations_of_this_thread(), start + 2);

    for (const ReduceStrategy strategy : sum_strategies(rig().caps())) {
        for (const bool in_buffer : {false, true}) {
            const auto plan = plan_reduce(plain->caps(), desc(strategy));
            ASSERT_TRUE(plan);
            const auto executable = plain->compile(*plan);
            ASSERT_TRUE(executable);
            const UseBuffers use = make_use_buffers(owned, *plan);
            const auto binding = in_buffer
                                     ? executable->bind(use.buffers(*plan), use.count_buffer())
                                     : executable->bind(use.buffers(*plan), std::uint64_t{4000});
            ASSERT_TRUE(binding);
            const auto cmd = owned.make_command_buffer();
            ASSERT_TRUE(cmd);
            const VkCommandBufferBeginInfo info{.sType =
                                                    VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
            ASSERT_EQ(owned.vk().BeginCommandBuffer(*cmd, &info), VK_SUCCESS);
            VulkanFaults::reset();
            const std::uint64_t before = allocations_of_this_thread();
            binding->record(*cmd);
            const std::uint64_t after = allocations_of_this_thread();
            ASSERT_EQ(owned.vk().EndCommandBuffer(*cmd), VK_SUCCESS);
            EXPECT_EQ(after - before, 0u) << to_text(strategy);
            for (const char* call :
                 {"vkAllocateMemory", "vkAllocateDescriptorSets", "vkUpdateDescriptorSets",
                  "vkCreateBuffer", "vkCreateDescriptorPool", "vkQueueSubmit"}) {
                EXPECT_EQ(VulkanFaults::calls(call), 0) << call;
            }
            EXPECT_GT(
                VulkanFaults::calls("vkCmdDispatch") + VulkanFaults::calls("vkCmdDispatchIndirect"),
                0);
        }
    }
}

// Four bindings of one executable in flight at once, in one command buffer, with no barrier between
// them: each has its own output, scratch and state.
TEST_F(Record, FourBindingsInFlight) {
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        claim(tier);
        for (const ReduceStrategy strategy : sum_strategies(rig().caps())) {
            SCOPED_TRACE(to_text(strategy));
            ReduceDesc wanted = desc(strategy);
            wanted.tier = tier;
            const auto plan = plan_reduce(rig().caps(), wanted);
            ASSERT_TRUE(plan);
            const auto executable = rig().compile(*plan);
            ASSERT_TRUE(executable);
            const OwnedDevice& owned = rig().owned();
            std::vector<UseBuffers> uses;
            std::vector<vulkan::Binding> bindings;
            std::vector<Elements> data;
            for (std::uint32_t i = 0; i < 4; ++i) {
                const std::size_t count = 4000 - i * 777;
                uses.push_back(make_use_buffers(owned, *plan));
                data.push_back(make_elements(Scalar::u32, Operator::sum, count, i + 50));
                ASSERT_TRUE(owned.upload(uses[i].input, 0, data[i].bytes()));
                const auto count32 = static_cast<std::uint32_t>(count);
                ASSERT_TRUE(owned.upload(uses[i].count, 0, std::as_bytes(std::span(&count32, 1))));
                auto binding =
                    i % 2 == 0 ? executable->bind(uses[i].buffers(*plan), count)
                               : executable->bind(uses[i].buffers(*plan), uses[i].count_buffer());
                ASSERT_TRUE(binding) << binding.error().message;
                bindings.push_back(*binding);
            }
            ASSERT_TRUE(owned.run([&](VkCommandBuffer cmd) {
                for (const vulkan::Binding& binding : bindings) binding.record(cmd);
                record_readback_barrier(owned, cmd);
            }));
            count_dispatch(tier);
            for (std::size_t i = 0; i < 4; ++i) {
                std::vector<std::byte> result(4);
                ASSERT_TRUE(owned.download(uses[i].output, 0, result));
                std::string why;
                EXPECT_TRUE(reduce_matches(wanted, data[i].bytes(), result, &why))
                    << i << ": " << why;
            }
        }
    }
}

// One scratch for two uses, one after the other, with the barrier that record() documents.
TEST_F(Record, ScratchIsUsedAgain) {
    for (const ReduceStrategy strategy : sum_strategies(rig().caps())) {
        SCOPED_TRACE(to_text(strategy));
        const auto plan = plan_reduce(rig().caps(), desc(strategy));
        ASSERT_TRUE(plan);
        const auto executable = rig().compile(*plan);
        ASSERT_TRUE(executable);
        const OwnedDevice& owned = rig().owned();
        const UseBuffers use = make_use_buffers(owned, *plan);
        const UseBuffers other = make_use_buffers(owned, *plan);
        vulkan::Buffers second = other.buffers(*plan);
        second.scratch = use.buffers(*plan).scratch;
        const Elements data = make_elements(Scalar::u32, Operator::sum, 4000, 5);
        ASSERT_TRUE(owned.upload(use.input, 0, data.bytes()));
        ASSERT_TRUE(owned.upload(other.input, 0, data.bytes()));
        const std::uint32_t count = 1234;
        ASSERT_TRUE(owned.upload(use.count, 0, std::as_bytes(std::span(&count, 1))));
        const auto first = executable->bind(use.buffers(*plan), use.count_buffer());
        const auto then = executable->bind(second, std::uint64_t{4000});
        ASSERT_TRUE(first && then);
        ASSERT_TRUE(owned.run([&](VkCommandBuffer cmd) {
            first->record(cmd);
            record_reuse_barrier(owned, cmd);
            then->record(cmd);
            record_reuse_barrier(owned, cmd);
            first->record(cmd);
            record_readback_barrier(owned, cmd);
        }));
        std::string why;
        std::vector<std::byte> result(4);
        ASSERT_TRUE(owned.download(use.output, 0, result));
        EXPECT_TRUE(
            reduce_matches(desc(strategy), std::span(data.bytes()).first(1234 * 4), result, &why))
            << why;
        ASSERT_TRUE(owned.download(other.output, 0, result));
        EXPECT_TRUE(reduce_matches(desc(strategy), data.bytes(), result, &why)) << why;
    }
}

// A chain on the device: the count of the second reduction is the result of the first.
TEST_F(Record, ACountThatTheDeviceWrote) {
    const OwnedDevice& owned = rig().owned();
    ReduceDesc least = desc(ReduceStrategy::two_pass);
    least.op = Operator::max;
    const auto max_plan = plan_reduce(rig().caps(), least);
    const auto sum_plan = plan_reduce(rig().caps(), desc(ReduceStrategy::last_workgroup));
    ASSERT_TRUE(max_plan && sum_plan);
    const auto max_executable = rig().compile(*max_plan);
    const auto sum_executable = rig().compile(*sum_plan);
    ASSERT_TRUE(max_executable && sum_executable);
    const UseBuffers a = make_use_buffers(owned, *max_plan);
    const UseBuffers b = make_use_buffers(owned, *sum_plan);
    if (sum_plan->addressing == Addressing::device_address)
        GTEST_SKIP() << "the count has 64 bits there";
    std::vector<std::uint32_t> values(4000);
    for (std::uint32_t i = 0; i < 4000; ++i) values[i] = i % 3456;
    ASSERT_TRUE(owned.upload(a.input, 0, std::as_bytes(std::span(values))));
    ASSERT_TRUE(owned.upload(b.input, 0, std::as_bytes(std::span(values))));
    const auto first = max_executable->bind(a.buffers(*max_plan), std::uint64_t{4000});
    const auto then = sum_executable->bind(
        b.buffers(*sum_plan), vulkan::CountBuffer{a.output.get(), 0, a.output.address()});
    ASSERT_TRUE(first && then);
    ASSERT_TRUE(owned.run([&](VkCommandBuffer cmd) {
        first->record(cmd);
        record_reuse_barrier(owned, cmd);
        then->record(cmd);
        record_readback_barrier(owned, cmd);
    }));
    std::uint32_t sum = 0, result = 0;
    for (std::uint32_t i = 0; i < 3455; ++i) sum += values[i];
    ASSERT_TRUE(owned.download(b.output, 0, std::as_writable_bytes(std::span(&result, 1))));
    EXPECT_EQ(result, sum);
}

// The same executable again and again: bindings come and go, and the pages that hold their state
// with them.
TEST_F(Record, ManyBindings) {
    // The strategy with the larger state, where the device has it.
    const ReduceStrategy strategy =
        rig().caps().int64_atomics ? ReduceStrategy::arrival_sum : ReduceStrategy::last_workgroup;
    const auto plan = plan_reduce(rig().caps(), desc(strategy));
    ASSERT_TRUE(plan);
    ASSERT_GT(plan->state_bytes, 0u) << "this test is about the binding's own state";
    const auto executable = rig().compile(*plan);
    ASSERT_TRUE(executable);
    const OwnedDevice& owned = rig().owned();
    const UseBuffers use = make_use_buffers(owned, *plan);
    const Elements data = make_elements(Scalar::u32, Operator::sum, 4000, 6);
    ASSERT_TRUE(owned.upload(use.input, 0, data.bytes()));
    std::vector<vulkan::Binding> kept;
    for (int round = 0; round < 3; ++round) {
        kept.clear();
        for (int i = 0; i < 300; ++i) {
            auto binding = executable->bind(use.buffers(*plan), std::uint64_t{4000});
            ASSERT_TRUE(binding) << binding.error().message;
            kept.push_back(*binding);
            if (i % 3 == 0) kept.erase(kept.begin());
        }
        for (std::size_t i = 0; i < kept.size(); i += 23) {
            ASSERT_TRUE(owned.run([&](VkCommandBuffer cmd) {
                kept[i].record(cmd);
                record_readback_barrier(owned, cmd);
            }));
            std::vector<std::byte> result(4);
            ASSERT_TRUE(owned.download(use.output, 0, result));
            std::string why;
            ASSERT_TRUE(reduce_matches(desc(strategy), data.bytes(), result, &why))
                << "binding " << i << ": " << why;
        }
    }
}

}  // namespace
}  // namespace lanewise::test
