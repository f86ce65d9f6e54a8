// OwnedDevice: buffers, command buffers, timestamps.

#include <algorithm>
#include <cstring>

#include "src/vulkan/context.hpp"
#include "src/vulkan/gpu_owned_device.hpp"

namespace lanewise::vulkan::detail {

namespace {

// Staging goes in parts of this size, so that big data does not take twice its memory.
constexpr VkDeviceSize kStagingBytes = 64 << 20;

constexpr VkMemoryPropertyFlags kMapped =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;

// Best first.
std::vector<VkMemoryPropertyFlags> wishes(MemoryKind kind) {
    switch (kind) {
        case MemoryKind::device: return {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT};
        case MemoryKind::upload: return {kMapped};
        case MemoryKind::download: return {kMapped | VK_MEMORY_PROPERTY_HOST_CACHED_BIT, kMapped};
    }
    return {};
}

// The index, or memoryTypeCount.
std::uint32_t memory_type(const VkPhysicalDeviceMemoryProperties& memory, std::uint32_t allowed,
                          MemoryKind kind) {
    for (const VkMemoryPropertyFlags wish : wishes(kind)) {
        for (std::uint32_t type = 0; type < memory.memoryTypeCount; ++type) {
            if ((allowed & (1u << type)) != 0 &&
                (memory.memoryTypes[type].propertyFlags & wish) == wish)
                return type;
        }
    }
    return memory.memoryTypeCount;
}

}  // namespace

OwnedBuffer::~OwnedBuffer() {
    if (device_ == nullptr) return;
    const OwnedFunctions& vk = device_->vk();
    if (buffer_ != VK_NULL_HANDLE)
        vk.DestroyBuffer(device_->device(), buffer_, device_->allocator());
    if (memory_ != VK_NULL_HANDLE) vk.FreeMemory(device_->device(), memory_, device_->allocator());
}

void OwnedBuffer::swap(OwnedBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(buffer_, other.buffer_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    std::swap(mapped_, other.mapped_);
    std::swap(address_, other.address_);
}

Result<OwnedBuffer> OwnedDevice::make_buffer(VkDeviceSize bytes, MemoryKind kind,
                                             VkBufferUsageFlags usage) const {
    const auto doing = "making a buffer";
    OwnedBuffer made;
    made.device_ = this;
    made.bytes_ = std::max<VkDeviceSize>(bytes, 4);

    usage |= VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT |
             VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_INDIRECT_BUFFER_BIT;
    if (has_device_addresses()) usage |= VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT;
    const VkBufferCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
        .size = made.bytes_,
        .usage = usage,
        .sharingMode = VK_SHARING_MODE_EXCLUSIVE,
    };
    VkResult result = vk_.CreateBuffer(device_, &info, options_.allocator, &made.buffer_);
    if (result != VK_SUCCESS) return failed(result, doing, made.bytes_);

    VkMemoryRequirements needs{};
    vk_.GetBufferMemoryRequirements(device_, made.buffer_, &needs);
    const std::uint32_t type = memory_type(memory_, needs.memoryTypeBits, kind);
    if (type == memory_.memoryTypeCount)
        return tl::unexpected(
            Error{ErrorCode::unsupported, "the device has no memory for such a buffer"});
    const VkMemoryAllocateFlagsInfo flags{
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
        .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT,
    };
    const VkMemoryAllocateInfo allocation{
        .sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
        .pNext = has_device_addresses() ? &flags : nullptr,
        .allocationSize = needs.size,
        .memoryTypeIndex = type,
    };
    result = vk_.AllocateMemory(device_, &allocation, options_.allocator, &made.memory_);
    if (result != VK_SUCCESS) return failed(result, doing, needs.size);
    result = vk_.BindBufferMemory(device_, made.buffer_, made.memory_, 0);
    if (result != VK_SUCCESS) return failed(result, doing, needs.size);

    if ((memory_.memoryTypes[type].propertyFlags & kMapped) == kMapped) {
        void* mapped = nullptr;
        result = vk_.MapMemory(device_, made.memory_, 0, VK_WHOLE_SIZE, 0, &mapped);
        if (result != VK_SUCCESS) return failed(result, doing, needs.size);
        made.mapped_ = static_cast<std::byte*>(mapped);
    }
    if (has_device_addresses()) {
        const VkBufferDeviceAddressInfo address{
            .sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO,
            .buffer = made.buffer_,
        };
        made.address_ = vk_.GetBufferDeviceAddress(device_, &address);
    }
    return made;
}

Result<void> OwnedDevice::upload(const OwnedBuffer& buffer, VkDeviceSize offset,
                                 std::span<const std::byte> data) const {
    if (data.empty()) return {};
    if (buffer.mapped() != nullptr) {
        std::memcpy(buffer.mapped() + offset, data.data(), data.size());
        return {};
    }
    auto staging =
        make_buffer(std::min<VkDeviceSize>(data.size(), kStagingBytes), MemoryKind::upload);
    if (!staging) return tl::unexpected(staging.error());
    for (std::size_t done = 0; done < data.size();) {
        const std::size_t part = std::min<std::size_t>(data.size() - done, kStagingBytes);
        std::memcpy(staging->mapped(), data.data() + done, part);
        const VkBufferCopy region{0, offset + done, part};
        auto copied = run([&](VkCommandBuffer cmd) {
            vk_.CmdCopyBuffer(cmd, staging->get(), buffer.get(), 1, &region);
        });
        if (!copied) return copied;
        done += part;
    }
    return {};
}

Result<void> OwnedDevice::download(const OwnedBuffer& buffer, VkDeviceSize offset,
                                   std::span<std::byte> data) const {
    if (data.empty()) return {};
    if (buffer.mapped() != nullptr) {
        std::memcpy(data.data(), buffer.mapped() + offset, data.size());
        return {};
    }
    auto staging =
        make_buffer(std::min<VkDeviceSize>(data.size(), kStagingBytes), MemoryKind::download);
    if (!staging) return tl::unexpected(staging.error());
    for (std::size_t done = 0; done < data.size();) {
        const std::size_t part = std::min<std::size_t>(data.size() - done, kStagingBytes);
        const VkBufferCopy region{offset + done, 0, part};
        auto copied = run([&](VkCommandBuffer cmd) {
            vk_.CmdCopyBuffer(cmd, buffer.get(), staging->get(), 1, &region);
        });
        if (!copied) return copied;
        std::memcpy(data.data() + done, staging->mapped(), part);
        done += part;
    }
    return {};
}

Result<void> OwnedDevice::make_commands() {
    const VkCommandPoolCreateInfo pool_info{
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        .queueFamilyIndex = queue_family_,
    };
    const auto doing = "making a command buffer";
    VkResult result = vk_.CreateCommandPool(device_, &pool_info, options_.allocator, &pool_);
    if (result != VK_SUCCESS) return failed(result, doing);
    const VkFenceCreateInfo fence_info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    result = vk_.CreateFence(device_, &fence_info, options_.allocator, &fence_);
    if (result != VK_SUCCESS) return failed(result, doing);
    auto cmd = make_command_buffer();
    if (!cmd) return tl::unexpected(cmd.error());
    cmd_ = *cmd;
    return {};
}

Result<VkCommandBuffer> OwnedDevice::make_command_buffer(VkCommandBufferLevel level) const {
    const VkCommandBufferAllocateInfo info{
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool_,
        .level = level,
        .commandBufferCount = 1,
    };
    VkCommandBuffer cmd = VK_NULL_HANDLE;
    const VkResult result = vk_.AllocateCommandBuffers(device_, &info, &cmd);
    if (result != VK_SUCCESS) return failed(result, "making a command buffer");
    return cmd;
}

Result<void> OwnedDevice::run(const std::function<void(VkCommandBuffer)>& record) const {
    const VkCommandBufferBeginInfo begin{
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    VkResult result = vk_.BeginCommandBuffer(cmd_, &begin);
    if (result != VK_SUCCESS) return failed(result, "recording commands");
    // A fence makes what the runs before wrote available, not visible to this one.
    const VkMemoryBarrier before{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT,
    };
    vk_.CmdPipelineBarrier(cmd_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT,
                           VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, 0, 1, &before, 0, nullptr, 0,
                           nullptr);
    record(cmd_);
    const VkMemoryBarrier to_host{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_MEMORY_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT,
    };
    vk_.CmdPipelineBarrier(cmd_, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                           1, &to_host, 0, nullptr, 0, nullptr);
    result = vk_.EndCommandBuffer(cmd_);
    if (result != VK_SUCCESS) return failed(result, "recording commands");
    return submit(cmd_);
}

Result<void> OwnedDevice::submit(VkCommandBuffer cmd) const {
    const VkSubmitInfo info{
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .commandBufferCount = 1,
        .pCommandBuffers = &cmd,
    };
    VkResult result = vk_.QueueSubmit(queue_, 1, &info, fence_);
    if (result != VK_SUCCESS) return failed(result, "submitting commands");
    result = vk_.WaitForFences(device_, 1, &fence_, VK_TRUE, UINT64_MAX);
    if (result != VK_SUCCESS) return failed(result, "waiting for the device");
    result = vk_.ResetFences(device_, 1, &fence_);
    if (result != VK_SUCCESS) return failed(result, "waiting for the device");
    return {};
}

Result<VkQueryPool> OwnedDevice::make_query_pool(std::uint32_t count) const {
    const VkQueryPoolCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO,
        .queryType = VK_QUERY_TYPE_TIMESTAMP,
        .queryCount = count,
    };
    VkQueryPool pool = VK_NULL_HANDLE;
    const VkResult result = vk_.CreateQueryPool(device_, &info, options_.allocator, &pool);
    if (result != VK_SUCCESS) return failed(result, "making a query pool");
    return pool;
}

void OwnedDevice::destroy_query_pool(VkQueryPool pool) const {
    vk_.DestroyQueryPool(device_, pool, options_.allocator);
}

Result<std::vector<double>> OwnedDevice::read_timestamps(VkQueryPool pool,
                                                         std::uint32_t count) const {
    std::vector<std::uint64_t> ticks(count);
    const VkResult result =
        vk_.GetQueryPoolResults(device_, pool, 0, count, ticks.size() * sizeof(std::uint64_t),
                                ticks.data(), sizeof(std::uint64_t), VK_QUERY_RESULT_64_BIT);
    if (result != VK_SUCCESS) return failed(result, "reading timestamps");
    // From the first stamp on and modulo the valid bits: a counter may wrap between two stamps, and
    // nanoseconds since boot would lose digits in a double.
    const std::uint64_t mask =
        timestamp_bits_ >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << timestamp_bits_) - 1;
    std::vector<double> nanoseconds;
    for (const std::uint64_t tick : ticks) {
        nanoseconds.push_back(static_cast<double>((tick - ticks.front()) & mask) *
                              double{limits_.timestampPeriod});
    }
    return nanoseconds;
}

}  // namespace lanewise::vulkan::detail
