// What every call on a device needs: the functions, the handle, the allocator, and whether the
// device is lost.
#pragma once

#include <vulkan/vulkan_core.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "lanewise/error.hpp"
#include "src/vulkan/functions.hpp"

namespace lanewise::vulkan::detail {

// "VK_ERROR_DEVICE_LOST", or the number.
std::string result_text(VkResult result);

// bytes: what was asked for, where known; it goes into the message of an out_of_memory.
Error result_error(VkResult result, std::string_view doing, std::uint64_t bytes = 0);

struct DeviceContext {
    DeviceContext(Functions functions, VkDevice device_handle,
                  const VkAllocationCallbacks* callbacks)
        : vk(functions), device(device_handle) {
        if (callbacks != nullptr) allocator_copy_ = *callbacks;
    }
    DeviceContext(const DeviceContext&) = delete;
    DeviceContext& operator=(const DeviceContext&) = delete;

    Functions vk;
    VkDevice device = VK_NULL_HANDLE;
    // Set once, by whoever sees the loss first; never cleared.
    mutable std::atomic<bool> lost = false;

    const VkAllocationCallbacks* allocator() const {
        return allocator_copy_ ? &*allocator_copy_ : nullptr;
    }
    // The error for a call that did not succeed; remembers a loss.
    tl::unexpected<Error> failed(VkResult result, std::string_view doing,
                                 std::uint64_t bytes = 0) const;
    // An error once the device is lost, so that one loss does not look like many failures.
    Result<void> alive() const;

private:
    std::optional<VkAllocationCallbacks> allocator_copy_;
};

// Owns a handle of a device. `destroy` is a member of Functions, so that handles of equal type (all
// are integers where pointers have 32 bits) stay apart. The context must outlive it.
template <class Handle, auto destroy>
class Owned {
public:
    Owned() = default;
    Owned(const DeviceContext& context, Handle handle) : context_(&context), handle_(handle) {}
    Owned(Owned&& other) noexcept
        : context_(other.context_), handle_(std::exchange(other.handle_, Handle{})) {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(context_, other.context_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Owned() {
        if (handle_ != Handle{})
            (context_->vk.*destroy)(context_->device, handle_, context_->allocator());
    }

    Handle get() const { return handle_; }
    explicit operator bool() const { return handle_ != Handle{}; }

private:
    const DeviceContext* context_ = nullptr;
    Handle handle_{};
};

using OwnedBufferHandle = Owned<VkBuffer, &Functions::DestroyBuffer>;
using OwnedMemory = Owned<VkDeviceMemory, &Functions::FreeMemory>;
using OwnedShaderModule = Owned<VkShaderModule, &Functions::DestroyShaderModule>;
using OwnedSetLayout = Owned<VkDescriptorSetLayout, &Functions::DestroyDescriptorSetLayout>;
using OwnedPipelineLayout = Owned<VkPipelineLayout, &Functions::DestroyPipelineLayout>;
using OwnedPipeline = Owned<VkPipeline, &Functions::DestroyPipeline>;
using OwnedDescriptorPool = Owned<VkDescriptorPool, &Functions::DestroyDescriptorPool>;
using OwnedCommandPool = Owned<VkCommandPool, &Functions::DestroyCommandPool>;
using OwnedFence = Owned<VkFence, &Functions::DestroyFence>;

// Calls create(device, &info, allocator, &handle) and owns what comes.
template <class OwnedHandle, class Create, class Info>
Result<OwnedHandle> make_owned(const DeviceContext& context, Create create, const Info& info,
                               std::string_view doing, std::uint64_t bytes = 0) {
    decltype(OwnedHandle{}.get()) handle{};
    const VkResult result = create(context.device, &info, context.allocator(), &handle);
    if (result != VK_SUCCESS) return context.failed(result, doing, bytes);
    return OwnedHandle(context, handle);
}

}  // namespace lanewise::vulkan::detail
