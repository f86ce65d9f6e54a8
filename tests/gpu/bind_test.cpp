// Executable::bind: every rule that the plan states is checked, and each refusal says which.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/vulkan_faults.hpp"

namespace lanewise::test {
namespace {

class Bind : public GpuTest {
protected:
    static constexpr std::uint64_t kCount = 5000;

    void SetUp() override {
        GpuTest::SetUp();
        use(Addressing::descriptor);
    }

    void use(Addressing addressing) {
        const auto plan = plan_reduce(
            rig().caps(),
            {.max_count = kCount,
             .addressing = addressing,
             .policy = ReducePolicy{.workgroup_size = 32, .vectors = 1, .max_groups = 5}});
        ASSERT_TRUE(plan) << plan.error().message;
        plan_ = *plan;
        auto executable = rig().compile(plan_);
        ASSERT_TRUE(executable) << executable.error().message;
        executable_ = *executable;
        buffers_ = make_use_buffers(rig().owned(), plan_);
        good_ = buffers_.buffers(plan_);
    }

    // The message of a refusal; empty where there was none.
    std::string refusal(const vulkan::Buffers& buffers, vulkan::Count count = kCount,
                        ErrorCode code = ErrorCode::bad_argument) const {
        const auto binding = executable_->bind(buffers, count);
        if (binding) return {};
        EXPECT_EQ(to_text(binding.error().code), std::string(to_text(code)))
            << binding.error().message;
        EXPECT_EQ(binding.error().message.find('\n'), std::string::npos) << binding.error().message;
        return binding.error().message;
    }

    static ::testing::AssertionResult has(const std::string& message,
                                          std::initializer_list<std::string> words) {
        for (const std::string& word : words) {
            if (message.find(word) == std::string::npos) {
                return ::testing::AssertionFailure()
                       << "'" << message << "' does not name '" << word << "'";
            }
        }
        return ::testing::AssertionSuccess();
    }

    Plan plan_;
    std::optional<vulkan::Executable> executable_;
    UseBuffers buffers_;
    vulkan::Buffers good_;
};

TEST_F(Bind, WhatThePlanAsksForIsEnough) {
    EXPECT_EQ(refusal(good_), "");
    EXPECT_EQ(refusal(good_, buffers_.count_buffer()), "");
}

TEST_F(Bind, MissingBuffersAreNamed) {
    vulkan::Buffers bad = good_;
    bad.input = {};
    EXPECT_TRUE(has(refusal(bad), {"input"}));
    bad = good_;
    bad.output = {};
    EXPECT_TRUE(has(refusal(bad), {"output"}));
    bad = good_;
    bad.scratch = {};
    EXPECT_TRUE(has(refusal(bad), {"scratch"}));
    EXPECT_NE(refusal(good_, vulkan::CountBuffer{}), "");
}

TEST_F(Bind, SmallBuffersAreNamedWithBothSizes) {
    vulkan::Buffers bad = good_;
    bad.input.bytes = kCount * 4 - 4;
    EXPECT_TRUE(has(refusal(bad), {"input", "19996", "20000"}));
    bad = good_;
    bad.output.bytes = 3;
    EXPECT_TRUE(has(refusal(bad), {"output", "3", "4"}));
    bad = good_;
    bad.scratch.bytes = bytes_needed(plan_, Role::scratch, kCount) - 1;
    EXPECT_TRUE(has(refusal(bad), {"scratch"}));
    // With the count in a buffer all of max_count must fit, whatever the count will be.
    bad = good_;
    bad.input.bytes = kCount * 4 - 4;
    EXPECT_TRUE(has(refusal(bad, buffers_.count_buffer()), {"input"}));
}

TEST_F(Bind, FewerItemsNeedLess) {
    vulkan::Buffers small = good_;
    small.input.bytes = bytes_needed(plan_, Role::input, 100);
    small.scratch.bytes = bytes_needed(plan_, Role::scratch, 100);
    EXPECT_EQ(refusal(small, std::uint64_t{100}), "");
    EXPECT_EQ(refusal(small, std::uint64_t{0}), "");
    EXPECT_NE(refusal(small, kCount), "");
}

// E9: an error with limit and value.
TEST_F(Bind, CountsAboveTheMaximumAreRefused) {
    EXPECT_TRUE(has(refusal(good_, kCount + 1, ErrorCode::limit_exceeded), {"5001", "5000"}));
    EXPECT_NE(refusal(good_, std::uint64_t{1} << 32, ErrorCode::limit_exceeded), "");
    EXPECT_NE(refusal(good_, ~std::uint64_t{0}, ErrorCode::limit_exceeded), "");
}

TEST_F(Bind, OverlapsAreRefused) {
    // One buffer with room for everything.
    const auto arena = rig().owned().make_buffer(1 << 20, MemoryKind::device);
    ASSERT_TRUE(arena);
    const std::uint64_t scratch_bytes = plan_.argument(Role::scratch)->bytes;
    for (const Addressing addressing : {Addressing::descriptor, Addressing::device_address}) {
        if (addressing == Addressing::device_address && !rig().caps().device_addresses) continue;
        SCOPED_TRACE(to_text(addressing));
        use(addressing);
        const vulkan::Buffers apart{.input = arena->range(0, kCount * 4),
                                    .output = arena->range(65536, 4),
                                    .scratch = arena->range(131072, scratch_bytes)};
        EXPECT_EQ(refusal(apart), "") << "ranges of one buffer that do not overlap";
        vulkan::Buffers bad = apart;
        bad.output = arena->range(0, 4);
        EXPECT_TRUE(has(refusal(bad), {"output", "input"}));
        bad = apart;
        bad.output = arena->range(16384, 4);
        EXPECT_TRUE(has(refusal(bad), {"output", "input"})) << "in the middle";
        bad = apart;
        bad.scratch = arena->range(0, scratch_bytes);
        EXPECT_TRUE(has(refusal(bad), {"scratch", "input"}));
        bad = apart;
        bad.output = arena->range(131072 + 256, 4);
        EXPECT_TRUE(has(refusal(bad), {"output", "scratch"}));
        // Side by side is no overlap.
        const std::uint64_t end = (kCount * 4 + 255) / 256 * 256;
        bad = apart;
        bad.output = arena->range(end, 4);
        EXPECT_EQ(refusal(bad), "");
    }
}

// The plan with values beside the input, which its kernels never see.
TEST_F(Bind, ValuesAreCheckedLikeTheRest) {
    EXPECT_EQ(refusal(good_), "");
    vulkan::Buffers bad = good_;
    bad.values = good_.input;
    EXPECT_TRUE(has(refusal(bad), {"values", "leave it empty"}));
    bad = good_;
    bad.values_out = good_.input;
    EXPECT_TRUE(has(refusal(bad), {"values_out", "leave it empty"}));

    for (const Addressing addressing : {Addressing::descriptor, Addressing::device_address}) {
        if (addressing == Addressing::device_address && !rig().caps().device_addresses) continue;
        SCOPED_TRACE(to_text(addressing));
        use(addressing);
        Plan plan = plan_;
        plan.value_bytes = 8;
        Argument values = *plan.argument(Role::input);
        values.bytes = kCount * 8;
        for (const Role role : {Role::values, Role::values_out}) {
            values.role = role;
            values.access = role == Role::values ? Access::read : Access::write;
            plan.arguments.push_back(values);
        }
        const auto executable = rig().compile(plan);
        ASSERT_TRUE(executable) << executable.error().message;
        executable_ = *executable;
        buffers_ = make_use_buffers(rig().owned(), plan);
        good_ = buffers_.buffers(plan);
        EXPECT_EQ(refusal(good_), "");
        EXPECT_EQ(refusal(good_, buffers_.count_buffer()), "");
        bad = good_;
        bad.values = {};
        EXPECT_TRUE(has(refusal(bad), {"values", "40000"}));
        bad = good_;
        bad.values_out.bytes = 39996;
        EXPECT_TRUE(has(refusal(bad), {"values_out", "39996", "40000"}));
        bad = good_;
        bad.values_out.offset += 4;
        bad.values_out.address += 4;
        EXPECT_TRUE(has(refusal(bad), {"values_out", "no multiple"}));
        bad = good_;
        bad.values_out = bad.values;
        EXPECT_TRUE(has(refusal(bad), {"values", "values_out", "overlap"}));
        bad.input = bad.values;
        bad.values_out = good_.values_out;
        EXPECT_EQ(refusal(bad), "") << "both are only read";
        // Of no items nothing is needed.
        bad = good_;
        bad.input = bad.values = bad.values_out = {};
        EXPECT_EQ(refusal(bad, std::uint64_t{0}), "");
    }
}

TEST_F(Bind, RangesLieInScratch) {
    const std::uint64_t bytes = plan_.argument(Role::scratch)->bytes;
    for (const PassBuffer& wrong :
         {PassBuffer{Role::scratch, 0, bytes + 4}, PassBuffer{Role::scratch, 128, 4},
          PassBuffer{Role::scratch, bytes / 256 * 256, 260}, PassBuffer{Role::scratch, 256, 0},
          PassBuffer{Role::scratch, 0, 6}, PassBuffer{Role::scratch, ~std::uint64_t{255}, 512},
          PassBuffer{Role::input, 0, 16}}) {
        Plan plan = plan_;
        plan.passes.back().bindings.back() = wrong;
        const auto executable = rig().device().compile(plan);
        ASSERT_FALSE(executable) << to_text(wrong);
        EXPECT_TRUE(has(executable.error().message, {plan.passes.back().name, to_text(wrong)}));
    }
}

TEST_F(Bind, MisalignedCountsAreRefused) {
    vulkan::CountBuffer count = buffers_.count_buffer();
    count.offset = 2;
    EXPECT_NE(refusal(good_, count), "");
    if (!rig().caps().device_addresses) return;
    use(Addressing::device_address);
    count = buffers_.count_buffer();
    EXPECT_EQ(refusal(good_, count), "");
    count.address += 4;
    EXPECT_NE(refusal(good_, count), "") << "a count of 64 bits";
}

// D6: what counts is the alignment that the plan was made for.
TEST_F(Bind, AlignmentsFollowTheCaps) {
    for (const std::uint32_t alignment : {64u, 256u}) {
        if (alignment < rig().caps().limits.storage_offset_alignment) continue;
        Caps caps = rig().caps();
        caps.limits.storage_offset_alignment = alignment;
        const auto plan =
            plan_reduce(caps, {.max_count = kCount, .addressing = Addressing::descriptor});
        ASSERT_TRUE(plan);
        const auto executable = rig().compile(*plan);
        ASSERT_TRUE(executable);
        const auto arena = rig().owned().make_buffer(1 << 20, MemoryKind::device);
        ASSERT_TRUE(arena);
        for (const std::uint32_t offset : {16u, 64u, 128u, 252u, 256u}) {
            const vulkan::Buffers moved{
                .input = arena->range(offset, kCount * 4),
                .output = arena->range(65536, 16),
                .scratch = arena->range(131072, plan->argument(Role::scratch)->bytes)};
            const auto binding = executable->bind(moved, kCount);
            EXPECT_EQ(binding.has_value(), offset % alignment == 0)
                << offset << " with alignment " << alignment;
            if (binding) continue;
            EXPECT_TRUE(has(binding.error().message, {"input", std::to_string(alignment)}));
        }
    }
}

TEST_F(Bind, PlansByAddressNeedAddresses) {
    if (!rig().caps().device_addresses) GTEST_SKIP() << "no device addresses on this device";
    use(Addressing::device_address);
    vulkan::Buffers bad = good_;
    bad.input.address = 0;
    EXPECT_TRUE(has(refusal(bad), {"input", "address"}));
    bad = good_;
    bad.scratch.address = 0;
    EXPECT_TRUE(has(refusal(bad), {"scratch", "address"}));
    vulkan::CountBuffer count = buffers_.count_buffer();
    count.address = 0;
    EXPECT_TRUE(has(refusal(good_, count), {"address"}));
}

TEST_F(Bind, PlansByDescriptorNeedBuffers) {
    vulkan::Buffers bad = good_;
    bad.input.buffer = VK_NULL_HANDLE;
    EXPECT_TRUE(has(refusal(bad), {"input"}));
}

// The caller's descriptor pool is the one that is used.
TEST_F(Bind, DescriptorsComeFromTheCallersPool) {
    OwnedDeviceOptions options = Rig::validated();
    options.leave_out = {"VK_KHR_push_descriptor"};
    options.get_instance_proc_addr = VulkanFaults::get_instance_proc_addr();
    VulkanFaults::reset();
    RigScope lesser(options);
    ASSERT_TRUE(lesser);
    const OwnedDevice& owned = lesser->owned();
    const auto plan =
        plan_reduce(lesser->caps(), {.max_count = kCount, .addressing = Addressing::descriptor});
    ASSERT_TRUE(plan);
    const auto executable = lesser->device().compile(*plan);
    ASSERT_TRUE(executable) << executable.error().message;
    const UseBuffers use = make_use_buffers(owned, *plan);

    std::uint32_t storage_buffers = 0;
    for (const Pass& pass : plan->passes)
        storage_buffers += static_cast<std::uint32_t>(pass.bindings.size());
    const auto make_pool = [&](std::uint32_t sets, std::uint32_t buffers) {
        const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers};
        const VkDescriptorPoolCreateInfo info{
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
            .maxSets = sets,
            .poolSizeCount = 1,
            .pPoolSizes = &size};
        VkDescriptorPool pool = VK_NULL_HANDLE;
        EXPECT_EQ(owned.vk().CreateDescriptorPool(owned.device(), &info, owned.allocator(), &pool),
                  VK_SUCCESS);
        return pool;
    };
    const VkDescriptorPool pool =
        make_pool(static_cast<std::uint32_t>(plan->passes.size()), storage_buffers);
    VulkanFaults::reset();
    {
        const auto binding =
            executable->bind(use.buffers(*plan), use.count_buffer(), {.descriptor_pool = pool});
        ASSERT_TRUE(binding) << binding.error().message;
        EXPECT_EQ(VulkanFaults::calls("vkCreateDescriptorPool"), 0);
        EXPECT_FALSE(VulkanFaults::allocated_from().empty());
        for (const VkDescriptorPool from : VulkanFaults::allocated_from()) EXPECT_EQ(from, pool);
        const std::uint32_t zero = 0;
        ASSERT_TRUE(owned.upload(use.count, 0, std::as_bytes(std::span(&zero, 1))));
        ASSERT_TRUE(owned.run([&](VkCommandBuffer cmd) {
            binding->record(cmd);
            record_readback_barrier(owned, cmd);
        }));
    }
    // Used up: an error, not a pool of another kind. (What a pool does that runs over is the
    // driver's business before VK_KHR_maintenance1; here the answer is injected.)
    VulkanFaults::fail("vkAllocateDescriptorSets", VK_ERROR_OUT_OF_POOL_MEMORY);
    const auto none = executable->bind(use.buffers(*plan), kCount, {.descriptor_pool = pool});
    ASSERT_FALSE(none);
    EXPECT_TRUE(has(none.error().message, {"POOL"}));
    VulkanFaults::reset();
    owned.vk().DestroyDescriptorPool(owned.device(), pool, owned.allocator());
}

}  // namespace
}  // namespace lanewise::test
