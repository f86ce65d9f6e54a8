// Buffers of the library's own that the host writes or reads: pages of state, the self-test.
#pragma once

#include <cstddef>

#include "src/vulkan/context.hpp"

namespace lanewise::vulkan::detail {

struct MappedBuffer {
    // In this order: the buffer goes before its memory.
    OwnedMemory memory;
    OwnedBufferHandle buffer;
    std::byte* bytes = nullptr;
    VkDeviceAddress address = 0;
};

// Coherent, mapped memory; in device memory where the host can reach some. `doing` opens the
// message of an error.
Result<MappedBuffer> make_mapped_buffer(const DeviceContext& context,
                                        const VkPhysicalDeviceMemoryProperties& memory,
                                        VkDeviceSize bytes, VkBufferUsageFlags usage,
                                        std::string_view doing);

}  // namespace lanewise::vulkan::detail
