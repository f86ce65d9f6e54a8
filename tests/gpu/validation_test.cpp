// That the validation layers are awake: each kind sees a fault that is made on purpose. All other
// tests believe their silence.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/reduce_runner.hpp"

namespace lanewise::test {
namespace {

class Validation : public GpuTest {
protected:
    static bool any_has(const std::vector<std::string>& messages, const std::string& word) {
        return std::any_of(messages.begin(), messages.end(), [&](const std::string& message) {
            return message.find(word) != std::string::npos;
        });
    }
    static ReduceDesc desc(Addressing addressing) {
        return {.max_count = 4000,
                .addressing = addressing,
                .policy = ReducePolicy{.workgroup_size = 32, .vectors = 1, .max_groups = 5}};
    }
};

TEST_F(Validation, CoreIsAwake) {
    const VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                                  .size = 0,
                                  .usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT};
    VkBuffer buffer = VK_NULL_HANDLE;
    const OwnedDevice& owned = rig().owned();
    if (owned.vk().CreateBuffer(owned.device(), &info, owned.allocator(), &buffer) == VK_SUCCESS) {
        owned.vk().DestroyBuffer(owned.device(), buffer, owned.allocator());
    }
    EXPECT_TRUE(any_has(rig().take_messages(), "VUID-VkBufferCreateInfo-size"));
}

TEST_F(Validation, SynchronisationIsAwake) {
    const auto plan = plan_reduce(rig().caps(), desc(Addressing::descriptor));
    ASSERT_TRUE(plan);
    const auto executable = rig().compile(*plan);
    ASSERT_TRUE(executable);
    const UseBuffers use = make_use_buffers(rig().owned(), *plan);
    const auto binding = executable->bind(use.buffers(*plan), std::uint64_t{4000});
    ASSERT_TRUE(binding);
    // Twice, without the barrier that record() demands in between.
    ASSERT_TRUE(rig().owned().run([&](VkCommandBuffer cmd) {
        binding->record(cmd);
        binding->record(cmd);
    }));
    EXPECT_TRUE(any_has(rig().take_messages(), "SYNC-HAZARD"));
}

TEST_F(Validation, GpuAssistedIsAwake) {
    RigScope assisted(Rig::assisted());
    ASSERT_TRUE(assisted);
    // The layer checks addresses with 64-bit integers, and not at all on a device without them.
    if (!assisted->caps().device_addresses || !assisted->caps().types.int64)
        GTEST_SKIP() << "its fault is made with device addresses";
    const auto plan = plan_reduce(assisted->caps(), desc(Addressing::device_address));
    ASSERT_TRUE(plan);
    const auto executable = assisted->compile(*plan);
    ASSERT_TRUE(executable);
    const OwnedDevice& owned = assisted->owned();
    const UseBuffers use = make_use_buffers(owned, *plan);
    // The input ends where its buffer does not reach, by a few bytes.
    vulkan::Buffers buffers = use.buffers(*plan);
    buffers.input.address += 16;
    buffers.input.offset += 16;
    const auto binding = executable->bind(buffers, std::uint64_t{4000});
    ASSERT_TRUE(binding) << binding.error().message;
    ASSERT_TRUE(owned.run([&](VkCommandBuffer cmd) { binding->record(cmd); }));
    EXPECT_FALSE(assisted->take_messages().empty());
}

}  // namespace
}  // namespace lanewise::test
