#include "src/vulkan/memory.hpp"

namespace lanewise::vulkan::detail {

namespace {

Result<OwnedMemory> allocate(const DeviceContext& context,
                             const VkPhysicalDeviceMemoryProperties& memory,
                             const VkMemoryRequirements& needs, bool with_address,
                             std::string_view doing) {
    constexpr VkMemoryPropertyFlags kHost =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    const VkMemoryAllocateFlagsInfo flags{
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    };
    // Device memory that the host reaches may be a small window that is full: then go on.
    VkResult result = VK_ERROR_OUT_OF_DEVICE_MEMORY;
    for (const VkMemoryPropertyFlags wanted :
         {kHost | VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT, kHost}) {
        for (std::uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
            if ((needs.memoryTypeBits & (1u << type)) == 0) continue;
            if ((memory.memoryTypes[type].propertyFlags & wanted) != wanted) continue;
            const VkMemoryAllocateInfo info{
                .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                .pNext = with_address ? &flags : nullptr,
                .allocationSize = needs.size,
                .memoryTypeIndex = type,
            };
            VkDeviceMemory handle = VK_NULL_HANDLE;
            result = context.vk.AllocateMemory(context.device, &info, context.allocator(), &handle);
            if (result == VK_SUCCESS) return OwnedMemory(context, handle);
            if (result == VK_ERROR_DEVICE_LOST) return context.failed(result, doing);
            break;
        }
    }
    return context.failed(result, doing, needs.size);
}

}  // namespace

Result<MappedBuffer> make_mapped_buffer(const DeviceContext& context,
                                        const VkPhysicalDeviceMemoryProperties& memory,
                                        VkDeviceSize bytes, VkBufferUsageFlags usage,
                                        std::string_view doing) {
    const Functions& vk = context.vk;
    const bool with_address = (usage & VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT) != 0;

    const VkBufferCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = bytes,
        .usage = usage,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    auto buffer = make_owned<OwnedBufferHandle>(context, vk.CreateBuffer, info, doing, bytes);
    if (!buffer) return tl::unexpected(buffer.error());

    VkMemoryRequirements needs{};
    vk.GetBufferMemoryRequirements(context.device, buffer->get(), &needs);
    auto block = allocate(context, memory, needs, with_address, doing);
    if (!block) return tl::unexpected(block.error());

    VkResult result = vk.BindBufferMemory(context.device, buffer->get(), block->get(), 0);
    if (result != VK_SUCCESS) return context.failed(result, doing, bytes);
    void* mapped = nullptr;
    result = vk.MapMemory(context.device, block->get(), 0, VK_WHOLE_SIZE, 0, &mapped);
    if (result != VK_SUCCESS) return context.failed(result, doing, bytes);

    MappedBuffer made;
    made.bytes = static_cast<std::byte*>(mapped);
    if (with_address) {
        const VkBufferDeviceAddressInfo address{
            .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
            .buffer = buffer->get(),
        };
        made.address = vk.GetBufferDeviceAddress(context.device, &address);
    }
    made.memory = std::move(*block);
    made.buffer = std::move(*buffer);
    return made;
}

}  // namespace lanewise::vulkan::detail
