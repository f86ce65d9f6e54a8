// Selects among other uses in one command buffer: passes with narrow barriers, several in flight,
// and a chain of select, scan and sort whose counts never leave the device.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "lanewise/scan.hpp"
#include "lanewise/select.hpp"
#include "lanewise/sort.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/select_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/vulkan_faults.hpp"

namespace lanewise::test {
namespace {

using U32 = std::vector<std::uint32_t>;

class SelectChain : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        VulkanFaults::reset();
    }
    void TearDown() override {
        VulkanFaults::reset();
        GpuTest::TearDown();
    }

    static constexpr std::uint64_t kMost = 4000;
    static constexpr SelectStrategy kStrategies[] = {
        SelectStrategy::one_workgroup, SelectStrategy::count_then_scatter,
        SelectStrategy::look_back, SelectStrategy::count_ahead};

    static SelectDesc desc(SelectStrategy strategy) {
        return {.max_count = kMost,
                .addressing = Addressing::descriptor,
                .policy = SelectPolicy{.strategy = strategy,
                                       .workgroup_size = 32,
                                       .vectors = 1,
                                       .max_groups = 5,
                                       .ahead = strategy == SelectStrategy::count_ahead ? 3u : 0u,
                                       .patience = 64}};
    }

    // All that a use needs whose input and count another use wrote: Binding::record says so, and
    // synchronisation validation listens.
    static void record_chain_barrier(VkCommandBuffer cmd) {
        const VkMemoryBarrier barrier{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                      .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                                      .dstAccessMask = VK_ACCESS_SHADER_READ_BIT};
        rig().owned().vk().CmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                              VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier,
                                              0, nullptr, 0, nullptr);
    }

    static void upload(const OwnedBuffer& buffer, std::span<const std::byte> bytes) {
        const auto done = rig().owned().upload(buffer, 0, bytes);
        ASSERT_TRUE(done) << done.error().message;
    }
    static U32 download(const OwnedBuffer& buffer, std::size_t count) {
        U32 values(count);
        const auto done =
            rig().owned().download(buffer, 0, std::as_writable_bytes(std::span(values)));
        EXPECT_TRUE(done) << done.error().message;
        return values;
    }
};

// D7, E10: the passes, in their order, with barriers between them that are as narrow as they can
// be.
TEST_F(SelectChain, PassesAndBarriers) {
    vulkan::Adoption adoption = rig().owned().adoption();
    adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
    const auto device = vulkan::Device::adopt(adoption);
    ASSERT_TRUE(device);
    for (const SelectStrategy strategy : kStrategies) {
        SCOPED_TRACE(to_text(strategy));
        const auto plan = plan_select(device->caps(), desc(strategy));
        ASSERT_TRUE(plan) << plan.error().message;
        const auto executable = device->compile(*plan);
        ASSERT_TRUE(executable) << executable.error().message;
        const UseBuffers use = make_use_buffers(rig().owned(), *plan);
        const SelectInput input = make_select_input(desc(strategy), kMost, 1);
        upload(use.input, input.items);
        upload(use.flags, input.flags);
        const std::uint32_t count = 1700;
        upload(use.count, std::as_bytes(std::span(&count, 1)));
        for (const bool in_buffer : {false, true}) {
            const auto binding = in_buffer
                                     ? executable->bind(use.buffers(*plan), use.count_buffer())
                                     : executable->bind(use.buffers(*plan), kMost);
            ASSERT_TRUE(binding) << binding.error().message;
            if (strategy == SelectStrategy::count_then_scatter && !in_buffer) {
                EXPECT_EQ(binding->pass_names(),
                          (std::vector<std::string>{"select_counts", "select_tiles"}));
            }
            VulkanFaults::reset();
            ASSERT_TRUE(rig().owned().run([&](VkCommandBuffer cmd) { binding->record(cmd); }));
            EXPECT_EQ(VulkanFaults::labels(), binding->pass_names());
            EXPECT_EQ(VulkanFaults::open_labels(), 0);
            const auto barriers = VulkanFaults::memory_barriers();
            // Indirect dispatches of one pass have one between them, too.
            const std::size_t dispatches =
                in_buffer ? share_out(plan->share, plan->max_count).dispatches : 1;
            EXPECT_EQ(barriers.size(), binding->pass_names().size() - 1 + dispatches - 1);
            for (const VkMemoryBarrier& barrier : barriers) {
                EXPECT_EQ(barrier.srcAccessMask & ~(VK_ACCESS_SHADER_WRITE_BIT), 0u);
                EXPECT_EQ(barrier.dstAccessMask &
                              ~(VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                                VK_ACCESS_INDIRECT_COMMAND_READ_BIT),
                          0u);
            }
            EXPECT_TRUE(in_buffer || VulkanFaults::calls("vkCmdDispatchIndirect") == 0);
        }
    }
}

// D12: three bindings of one executable in flight at once, in one command buffer, with no barrier
// between them: each has its own output, count, scratch and state.
TEST_F(SelectChain, BindingsInFlight) {
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        claim(tier);
        for (const SelectStrategy strategy : kStrategies) {
            SCOPED_TRACE(fmt::format("{} {}", to_text(tier), to_text(strategy)));
            SelectDesc wanted = desc(strategy);
            wanted.tier = tier;
            const auto plan = plan_select(rig().caps(), wanted);
            ASSERT_TRUE(plan) << plan.error().message;
            const auto executable = rig().compile(*plan);
            ASSERT_TRUE(executable) << executable.error().message;
            std::vector<UseBuffers> uses;
            std::vector<vulkan::Binding> bindings;
            std::vector<SelectInput> inputs;
            for (std::uint32_t i = 0; i < 3; ++i) {
                const auto count = static_cast<std::uint32_t>(kMost - i * 777);
                uses.push_back(make_use_buffers(rig().owned(), *plan));
                inputs.push_back(make_select_input(wanted, count, i));
                upload(uses[i].input, inputs[i].items);
                upload(uses[i].flags, inputs[i].flags);
                upload(uses[i].count, std::as_bytes(std::span(&count, 1)));
                auto binding =
                    i % 2 == 0 ? executable->bind(uses[i].buffers(*plan), std::uint64_t{count})
                               : executable->bind(uses[i].buffers(*plan), uses[i].count_buffer());
                ASSERT_TRUE(binding) << binding.error().message;
                bindings.push_back(*binding);
            }
            ASSERT_TRUE(rig().owned().run([&](VkCommandBuffer cmd) {
                for (const vulkan::Binding& binding : bindings) binding.record(cmd);
                record_readback_barrier(rig().owned(), cmd);
            }));
            count_dispatch(tier);
            for (std::size_t i = 0; i < uses.size(); ++i) {
                const std::uint32_t kept = download(uses[i].count_out, 1)[0];
                ASSERT_LE(kept, kMost);
                const U32 output = download(uses[i].output, kept);
                const auto bytes = std::as_bytes(std::span(output));
                std::string why;
                EXPECT_TRUE(select_matches(wanted, inputs[i].items, {}, inputs[i].kept,
                                           {.items = {bytes.begin(), bytes.end()}, .count = kept},
                                           &why))
                    << i << ": " << why;
            }
        }
    }
}

// Select, then a scan of what was kept, then a sort of that, in one command buffer: how many items
// the later ones have is what the select wrote, and the host never knows. Between two of them
// stands the barrier that Binding::record asks for, and no more.
TEST_F(SelectChain, SelectScanSortWithTheCountOnTheDevice) {
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        claim(tier);
        for (const SelectStrategy strategy : kStrategies) {
            SCOPED_TRACE(fmt::format("{} {}", to_text(tier), to_text(strategy)));
            SelectDesc kept_desc = desc(strategy);
            kept_desc.tier = tier;
            const ScanDesc sums_desc{
                .max_count = kMost,
                .tier = tier,
                .addressing = Addressing::descriptor,
                .policy = ScanPolicy{.strategy = ScanStrategy::reduce_then_scan,
                                     .workgroup_size = 32,
                                     .vectors = 1,
                                     .max_groups = 5}};
            const SortDesc order_desc{.max_count = kMost,
                                      .tier = tier,
                                      .addressing = Addressing::descriptor,
                                      .policy = SortPolicy{SortStrategy::count_then_scatter, 32, 4,
                                                           tier == Tier::barrier ? 4u : 8u, 5}};
            const auto kept_plan = plan_select(rig().caps(), kept_desc);
            const auto sums_plan = plan_scan(rig().caps(), sums_desc);
            const auto order_plan = plan_sort(rig().caps(), order_desc);
            ASSERT_TRUE(kept_plan) << kept_plan.error().message;
            ASSERT_TRUE(sums_plan) << sums_plan.error().message;
            ASSERT_TRUE(order_plan) << order_plan.error().message;
            const auto select = rig().compile(*kept_plan);
            const auto scan = rig().compile(*sums_plan);
            const auto sort = rig().compile(*order_plan);
            ASSERT_TRUE(select && scan && sort);
            const UseBuffers a = make_use_buffers(rig().owned(), *kept_plan);
            const UseBuffers b = make_use_buffers(rig().owned(), *sums_plan);
            const UseBuffers c = make_use_buffers(rig().owned(), *order_plan);
            const vulkan::CountBuffer how_many{a.count_out.get(), 0, a.count_out.address()};
            const auto first = select->bind(a.buffers(*kept_plan), kMost);
            vulkan::Buffers of_sums = b.buffers(*sums_plan);
            of_sums.input = a.buffers(*kept_plan).output;
            const auto second = scan->bind(of_sums, how_many);
            vulkan::Buffers of_order = c.buffers(*order_plan);
            of_order.input = of_sums.output;
            const auto third = sort->bind(of_order, how_many);
            ASSERT_TRUE(first) << first.error().message;
            ASSERT_TRUE(second) << second.error().message;
            ASSERT_TRUE(third) << third.error().message;
            // Again with other flags: none, all.
            for (const Keep keep : {Keep::half, Keep::none, Keep::runs, Keep::all}) {
                SCOPED_TRACE(to_text(keep));
                const SelectInput input = make_select_input(kept_desc, kMost, 9, keep);
                upload(a.input, input.items);
                upload(a.flags, input.flags);
                upload(c.output, poison(kMost * 4));
                ASSERT_TRUE(rig().owned().run([&](VkCommandBuffer cmd) {
                    first->record(cmd);
                    record_chain_barrier(cmd);
                    second->record(cmd);
                    record_chain_barrier(cmd);
                    third->record(cmd);
                    record_readback_barrier(rig().owned(), cmd);
                }));
                count_dispatch(tier);
                U32 expected;
                std::uint32_t sum = 0;
                for (std::size_t i = 0; i < kMost; ++i) {
                    if (input.kept[i] == 0) continue;
                    std::uint32_t item = 0;
                    std::memcpy(&item, input.items.data() + i * 4, 4);
                    expected.push_back(sum += item);
                }
                std::ranges::sort(expected);
                EXPECT_EQ(download(a.count_out, 1)[0], expected.size());
                expected.resize(kMost, kPoison);
                EXPECT_EQ(download(c.output, kMost), expected);
                if (HasFailure()) return;
            }
        }
    }
}

}  // namespace
}  // namespace lanewise::test
