// What stands behind Device, Executable and Binding. Each holds what it needs of the one before, so
// that an application may let go of them in any order.
#pragma once

#include <mutex>
#include <optional>

#include "src/vulkan/pipeline.hpp"
#include "src/vulkan/state_pages.hpp"

namespace lanewise::vulkan {

struct Device::State {
    State(const detail::Functions& vk, const Adoption& adoption, detail::DeviceFacts device_facts)
        : context(vk, adoption.device, adoption.allocator),
          queue_family(adoption.queue_family),
          pipeline_cache(adoption.pipeline_cache),
          facts(std::move(device_facts)),
          pages(context, facts.memory, facts.caps.limits.storage_offset_alignment,
                facts.caps.device_addresses) {}

    // First, so that it outlives the rest.
    detail::DeviceContext context;
    std::uint32_t queue_family;
    VkPipelineCache pipeline_cache;
    detail::DeviceFacts facts;
    detail::StatePages pages;

    // What the self-test left of facts.caps, once it ran: where planning again starts from.
    std::mutex probed_mutex;
    std::optional<Caps> probed;
};

struct Executable::State {
    std::shared_ptr<Device::State> device;
    Plan plan;
    std::vector<detail::PassPipeline> pipelines;  // by pass of the plan
};

// A pass as a binding records it.
struct BoundPass {
    const Pass* pass = nullptr;
    const detail::PassPipeline* pipeline = nullptr;
    // Parameters, then the addresses: what is pushed before the first dispatch.
    std::vector<std::byte> push_constants;
    // Descriptors to push, or to be in `set`; none with Addressing::device_address.
    std::vector<VkDescriptorBufferInfo> buffers;
    std::vector<VkWriteDescriptorSet> writes;  // point into buffers
    VkDescriptorSet set = VK_NULL_HANDLE;
    bool indirect = false;
    std::uint32_t dispatches = 1;
};

struct Binding::State {
    std::shared_ptr<const Executable::State> executable;
    Launch launch;
    // Arguments of indirect dispatches.
    VkBuffer indirect_buffer = VK_NULL_HANDLE;
    VkDeviceSize indirect_offset = 0;
    detail::StateSlot slot;
    detail::OwnedDescriptorPool pool;
    std::vector<BoundPass> passes;
    std::vector<std::string> pass_names;
};

}  // namespace lanewise::vulkan
