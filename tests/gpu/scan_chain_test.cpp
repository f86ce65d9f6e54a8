// Scans among other uses in one command buffer: several in flight, chains with reductions whose
// count the device writes, scratch that is used again.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "primitives/reduce/reduce_reference.hpp"
#include "primitives/scan/scan_reference.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/scan_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/vulkan_faults.hpp"

namespace lanewise::test {
namespace {

using U32 = std::vector<std::uint32_t>;

class ScanChain : public GpuTest {
protected:
    void SetUp() override {
        GpuTest::SetUp();
        VulkanFaults::reset();
    }
    void TearDown() override {
        VulkanFaults::reset();
        GpuTest::TearDown();
    }

    static ScanDesc desc(ScanStrategy strategy, std::uint64_t max_count = 4000) {
        return {.max_count = max_count,
                .addressing = Addressing::descriptor,
                .policy = ScanPolicy{.strategy = strategy,
                                     .workgroup_size = 32,
                                     .vectors = 1,
                                     .max_groups = 5,
                                     .ahead = strategy == ScanStrategy::reduce_ahead ? 3u : 0u,
                                     .patience = 64}};
    }

    static std::vector<ScanStrategy> strategies() {
        auto all = possible_strategies(rig().caps(), desc(ScanStrategy::reduce_then_scan));
        EXPECT_EQ(all.size(), 4u);
        return all;
    }

    static vulkan::Device faulty() {
        vulkan::Adoption adoption = rig().owned().adoption();
        adoption.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
        auto device = vulkan::Device::adopt(adoption);
        EXPECT_TRUE(device);
        return *device;
    }

    static std::vector<std::byte> download(const OwnedBuffer& buffer, std::size_t bytes) {
        std::vector<std::byte> contents(bytes);
        const auto done = rig().owned().download(buffer, 0, contents);
        EXPECT_TRUE(done) << done.error().message;
        return contents;
    }
};

// D7, E10: the passes, in their order, with barriers between them that are as narrow as they can
// be.
TEST_F(ScanChain, PassesAndBarriers) {
    const vulkan::Device device = faulty();
    for (const ScanStrategy strategy : strategies()) {
        SCOPED_TRACE(to_text(strategy));
        const auto plan = plan_scan(device.caps(), desc(strategy));
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
            ASSERT_TRUE(binding) << binding.error().message;
            if (strategy == ScanStrategy::reduce_then_scan && !in_buffer) {
                EXPECT_EQ(binding->pass_names().front(), "scan_sums");
                EXPECT_EQ(binding->pass_names().back(), "scan_tiles");
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

// D12: four bindings of one executable in flight at once, in one command buffer, with no barrier
// between them: each has its own output, scratch and state.
TEST_F(ScanChain, FourBindingsInFlight) {
    for (const Tier tier : {Tier::portable, Tier::barrier}) {
        claim(tier);
        for (const ScanStrategy strategy : strategies()) {
            SCOPED_TRACE(fmt::format("{} {}", to_text(tier), to_text(strategy)));
            ScanDesc wanted = desc(strategy);
            wanted.tier = tier;
            const auto plan = plan_scan(rig().caps(), wanted);
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
                std::string why;
                EXPECT_TRUE(scan_matches(wanted, data[i].bytes(),
                                         download(uses[i].output, data[i].bytes().size()), &why))
                    << i << ": " << why;
            }
        }
    }
}

// A chain on the device, count and all: how many items there are is the largest of the first input;
// these are scanned, the scan is scanned in place, and the largest of that is taken, the count
// still unknown to the host.
TEST_F(ScanChain, ScanAndReduceWithTheCountOnTheDevice) {
    const OwnedDevice& owned = rig().owned();
    const std::size_t most = 4000;
    const std::uint32_t count = 3456;
    for (const ScanStrategy strategy : strategies()) {
        SCOPED_TRACE(to_text(strategy));
        const ReduceDesc largest{.op = Operator::max,
                                 .max_count = most,
                                 .addressing = Addressing::descriptor,
                                 .policy = ReducePolicy{.workgroup_size = 32, .vectors = 1}};
        const ScanDesc sums = desc(strategy);
        ScanDesc again = desc(ScanStrategy::reduce_then_scan);
        again.kind = ScanKind::exclusive;
        again.op = Operator::bit_xor;
        const auto largest_plan = plan_reduce(rig().caps(), largest);
        const auto sums_plan = plan_scan(rig().caps(), sums);
        const auto again_plan = plan_scan(rig().caps(), again);
        ASSERT_TRUE(largest_plan && sums_plan && again_plan);
        ASSERT_TRUE(again_plan->in_place);
        const auto reduce = rig().compile(*largest_plan);
        const auto scan = rig().compile(*sums_plan);
        const auto scan_again = rig().compile(*again_plan);
        ASSERT_TRUE(reduce && scan && scan_again);
        const UseBuffers a = make_use_buffers(owned, *largest_plan);
        const UseBuffers b = make_use_buffers(owned, *sums_plan);
        const UseBuffers c = make_use_buffers(owned, *again_plan);
        const UseBuffers d = make_use_buffers(owned, *largest_plan);
        U32 values(most);
        for (std::uint32_t i = 0; i < most; ++i)
            values[i] = static_cast<std::uint32_t>(hash(8, i) % count);
        values[1234] = count;
        ASSERT_TRUE(owned.upload(a.input, 0, std::as_bytes(std::span(values))));
        const vulkan::CountBuffer how_many{a.output.get(), 0, a.output.address()};
        const auto first = reduce->bind(a.buffers(*largest_plan), std::uint64_t{most});
        vulkan::Buffers of_sums = b.buffers(*sums_plan);
        of_sums.input = a.buffers(*largest_plan).input;
        const auto second = scan->bind(of_sums, how_many);
        vulkan::Buffers in_place = c.buffers(*again_plan);
        in_place.input = in_place.output = of_sums.output;
        const auto third = scan_again->bind(in_place, how_many);
        vulkan::Buffers of_all = d.buffers(*largest_plan);
        of_all.input = of_sums.output;
        const auto last = reduce->bind(of_all, how_many);
        ASSERT_TRUE(first) << first.error().message;
        ASSERT_TRUE(second) << second.error().message;
        ASSERT_TRUE(third) << third.error().message;
        ASSERT_TRUE(last) << last.error().message;
        ASSERT_TRUE(owned.run([&](VkCommandBuffer cmd) {
            first->record(cmd);
            record_reuse_barrier(owned, cmd);
            second->record(cmd);
            record_reuse_barrier(owned, cmd);
            third->record(cmd);
            record_reuse_barrier(owned, cmd);
            last->record(cmd);
            record_readback_barrier(owned, cmd);
        }));

        U32 expected(count);
        std::uint32_t sum = 0, bits = 0, most_of_all = 0;
        for (std::uint32_t i = 0; i < count; ++i) {
            sum += values[i];
            expected[i] = bits;
            most_of_all = std::max(most_of_all, bits);
            bits ^= sum;
        }
        const auto output = download(b.output, most * 4);
        U32 found(most);
        std::memcpy(found.data(), output.data(), most * 4);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), found.begin()));
        for (std::size_t i = count; i < most; ++i) ASSERT_EQ(found[i], kPoison) << i;
        std::uint32_t result = 0;
        std::memcpy(&result, download(d.output, 4).data(), 4);
        EXPECT_EQ(result, most_of_all);
    }
}

// D8: two scans back to back that share scratch, with the barrier that record() documents, again
// and again.
TEST_F(ScanChain, ScratchIsUsedAgain) {
    for (const ScanStrategy strategy : strategies()) {
        SCOPED_TRACE(to_text(strategy));
        const auto plan = plan_scan(rig().caps(), desc(strategy));
        ASSERT_TRUE(plan);
        const auto executable = rig().compile(*plan);
        ASSERT_TRUE(executable);
        const OwnedDevice& owned = rig().owned();
        const UseBuffers use = make_use_buffers(owned, *plan);
        const UseBuffers other = make_use_buffers(owned, *plan);
        vulkan::Buffers second = other.buffers(*plan);
        second.scratch = use.buffers(*plan).scratch;
        // The second scans what the first wrote.
        second.input = use.buffers(*plan).output;
        const Elements data = make_elements(Scalar::u32, Operator::sum, 4000, 5);
        ASSERT_TRUE(owned.upload(use.input, 0, data.bytes()));
        const auto first = executable->bind(use.buffers(*plan), std::uint64_t{4000});
        const auto then = executable->bind(second, std::uint64_t{3999});
        ASSERT_TRUE(first && then);
        ASSERT_TRUE(owned.run([&](VkCommandBuffer cmd) {
            for (int i = 0; i < 20; ++i) {
                first->record(cmd);
                record_reuse_barrier(owned, cmd);
                then->record(cmd);
                record_reuse_barrier(owned, cmd);
            }
            record_readback_barrier(owned, cmd);
        }));
        std::string why;
        const auto once = download(use.output, 16000);
        EXPECT_TRUE(scan_matches(desc(strategy), data.bytes(), once, &why)) << why;
        EXPECT_TRUE(scan_matches(desc(strategy), std::span(once).first(3999 * 4),
                                 download(other.output, 3999 * 4), &why))
            << why;
    }
}

// Bindings come and go, and the pages that hold their state with them: what one leaves in its state
// must not reach the next.
TEST_F(ScanChain, ManyBindings) {
    const auto plan = plan_scan(rig().caps(), desc(ScanStrategy::look_back));
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
        for (int i = 0; i < 200; ++i) {
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
            std::string why;
            ASSERT_TRUE(scan_matches(desc(ScanStrategy::look_back), data.bytes(),
                                     download(use.output, 16000), &why))
                << "binding " << i << ": " << why;
        }
    }
}

}  // namespace
}  // namespace lanewise::test
