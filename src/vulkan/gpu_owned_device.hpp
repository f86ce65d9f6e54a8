// An instance, a device and a queue that the library makes itself: what Gpu, the tests and the
// benchmark stand on. Tests choose what is left out, so that one driver plays many devices.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lanewise/vulkan.hpp"
#include "src/vulkan/functions.hpp"

// clang-format off
#define LANEWISE_OWNED_INSTANCE_FUNCTIONS(X)    \
    X(CreateDevice)                             \
    X(DestroyInstance)                          \
    X(EnumerateDeviceExtensionProperties)       \
    X(EnumeratePhysicalDevices)                 \
    X(GetDeviceProcAddr)                        \
    X(GetPhysicalDeviceFeatures2)               \
    X(GetPhysicalDeviceMemoryProperties)        \
    X(GetPhysicalDeviceProperties)              \
    X(GetPhysicalDeviceProperties2)             \
    X(GetPhysicalDeviceQueueFamilyProperties)

#define LANEWISE_OWNED_DEVICE_FUNCTIONS(X)      \
    X(AllocateCommandBuffers)                   \
    X(AllocateMemory)                           \
    X(BeginCommandBuffer)                       \
    X(BindBufferMemory)                         \
    X(CmdCopyBuffer)                            \
    X(CmdExecuteCommands)                       \
    X(CmdFillBuffer)                            \
    X(CmdPipelineBarrier)                       \
    X(CmdResetQueryPool)                        \
    X(CmdWriteTimestamp)                        \
    X(CreateBuffer)                             \
    X(CreateCommandPool)                        \
    X(CreateDescriptorPool)                     \
    X(CreateFence)                              \
    X(CreatePipelineCache)                      \
    X(CreateQueryPool)                          \
    X(DestroyBuffer)                            \
    X(DestroyCommandPool)                       \
    X(DestroyDescriptorPool)                    \
    X(DestroyDevice)                            \
    X(DestroyFence)                             \
    X(DestroyPipelineCache)                     \
    X(DestroyQueryPool)                         \
    X(DeviceWaitIdle)                           \
    X(EndCommandBuffer)                         \
    X(FreeMemory)                               \
    X(GetBufferMemoryRequirements)              \
    X(GetDeviceQueue)                           \
    X(GetPipelineCacheData)                     \
    X(GetQueryPoolResults)                      \
    X(MapMemory)                                \
    X(QueueSubmit)                              \
    X(ResetCommandPool)                         \
    X(ResetFences)                              \
    X(WaitForFences)
// clang-format on

namespace lanewise::vulkan::detail {

struct OwnedFunctions {
#define LANEWISE_MEMBER(name) PFN_vk##name name = nullptr;
    LANEWISE_OWNED_INSTANCE_FUNCTIONS(LANEWISE_MEMBER)
    LANEWISE_OWNED_DEVICE_FUNCTIONS(LANEWISE_MEMBER)
#undef LANEWISE_MEMBER
    PFN_vkGetBufferDeviceAddress GetBufferDeviceAddress = nullptr;  // null without the feature
};

struct OwnedDeviceOptions {
    // Index in OwnedDevice::list(), or part of a device name, case ignored. Empty: the best.
    std::string device;
    // The version to ask for; the device gets the lower of this and its own.
    std::uint32_t api_version = VK_API_VERSION_1_3;
    // Features (by the name of their member, "shaderFloat64") and extensions (device or instance,
    // "VK_KHR_push_descriptor") that are not to be enabled although they are there.
    std::vector<std::string> leave_out;
    // The layer with core, synchronisation and GPU-assisted checks. An error where it is missing.
    bool validation = false;
    bool gpu_assisted_validation = true;  // excludes push descriptors
    std::function<void(const std::string&)> on_validation_message;
    // Given to every call that takes one; must outlive the device.
    const VkAllocationCallbacks* allocator = nullptr;
    // Null: the loader's. Tests put functions that fail between.
    PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
};

struct DeviceListing {
    std::uint32_t index = 0;
    std::string name;
    std::string driver;
    VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
};

enum class MemoryKind : std::uint8_t {
    device,    // device-local, whether or not the host reaches it
    upload,    // mapped, for the host to write
    download,  // mapped, cached where it can be, for the host to read
};

class OwnedDevice;

// A buffer with memory of its own.
class OwnedBuffer {
public:
    OwnedBuffer() = default;
    OwnedBuffer(OwnedBuffer&& other) noexcept { swap(other); }
    OwnedBuffer& operator=(OwnedBuffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~OwnedBuffer();

    VkBuffer get() const { return buffer_; }
    VkDeviceSize bytes() const { return bytes_; }
    // Null where the host does not reach it.
    std::byte* mapped() const { return mapped_; }
    VkDeviceAddress address() const { return address_; }
    // The range as the library takes it.
    Buffer range(VkDeviceSize offset, VkDeviceSize bytes) const {
        return {buffer_, offset, bytes, address_ == 0 ? 0 : address_ + offset};
    }
    Buffer range() const { return range(0, bytes_); }

private:
    friend class OwnedDevice;
    void swap(OwnedBuffer& other) noexcept;

    const OwnedDevice* device_ = nullptr;
    VkBuffer buffer_ = VK_NULL_HANDLE;
    VkDeviceMemory memory_ = VK_NULL_HANDLE;
    VkDeviceSize bytes_ = 0;
    std::byte* mapped_ = nullptr;
    VkDeviceAddress address_ = 0;
};

class OwnedDevice {
public:
    // The devices here; none where there is a loader without drivers, or no loader at all.
    static Result<std::vector<DeviceListing>> list();
    // By pointer: what it makes points back to it, and must go before it.
    static Result<std::unique_ptr<OwnedDevice>> create(const OwnedDeviceOptions& options = {});

    OwnedDevice(const OwnedDevice&) = delete;
    OwnedDevice& operator=(const OwnedDevice&) = delete;
    ~OwnedDevice();

    const OwnedFunctions& vk() const { return vk_; }
    VkInstance instance() const { return instance_; }
    VkPhysicalDevice physical_device() const { return physical_device_; }
    VkDevice device() const { return device_; }
    VkQueue queue() const { return queue_; }
    std::uint32_t queue_family() const { return queue_family_; }
    const VkAllocationCallbacks* allocator() const { return options_.allocator; }
    const DeviceListing& listing() const { return listing_; }
    const VkPhysicalDeviceLimits& limits() const { return limits_; }
    bool has_device_addresses() const { return vk_.GetBufferDeviceAddress != nullptr; }
    // What was enabled, as Device::adopt wants it; valid as long as this object.
    Adoption adoption() const;

    // usage: TRANSFER_SRC, TRANSFER_DST, STORAGE, INDIRECT and, where the device has it,
    // SHADER_DEVICE_ADDRESS come on top.
    Result<OwnedBuffer> make_buffer(VkDeviceSize bytes, MemoryKind kind,
                                    VkBufferUsageFlags usage = 0) const;
    // Through a staging buffer where the host does not reach the buffer.
    Result<void> upload(const OwnedBuffer& buffer, VkDeviceSize offset,
                        std::span<const std::byte> data) const;
    Result<void> download(const OwnedBuffer& buffer, VkDeviceSize offset,
                          std::span<std::byte> data) const;

    // Records into the device's one command buffer, submits it and waits. Not thread-safe.
    Result<void> run(const std::function<void(VkCommandBuffer)>& record) const;
    // Submits a command buffer of the caller's and waits.
    Result<void> submit(VkCommandBuffer cmd) const;
    Result<VkCommandBuffer> make_command_buffer(
        VkCommandBufferLevel level = VK_COMMAND_BUFFER_LEVEL_PRIMARY) const;

    // Timestamps; the caller destroys the pool with destroy_query_pool.
    Result<VkQueryPool> make_query_pool(std::uint32_t count) const;
    void destroy_query_pool(VkQueryPool pool) const;
    // The stamps in nanoseconds, the first being zero. All must have been written by commands that
    // are done: an error otherwise, not a wait without end.
    Result<std::vector<double>> read_timestamps(VkQueryPool pool, std::uint32_t count) const;

private:
    struct Enabled;  // the chain of features and the extensions, which adoption() points to

    struct Candidate {
        VkPhysicalDevice device = VK_NULL_HANDLE;
        DeviceListing listing;
        VkPhysicalDeviceLimits limits = {};
        std::uint32_t version = 0;
    };

    explicit OwnedDevice(const OwnedDeviceOptions& options);
    Result<std::vector<Candidate>> candidates() const;
    Result<void> make_instance();
    Result<void> choose_device();
    Result<void> make_device();
    Result<void> make_commands();
    void destroy_instance();
    bool leaves_out(std::string_view name) const;
    tl::unexpected<Error> failed(VkResult result, std::string_view doing,
                                 std::uint64_t bytes = 0) const;

    friend class OwnedBuffer;

    OwnedDeviceOptions options_;
    PFN_vkGetInstanceProcAddr get_instance_proc_addr_ = nullptr;
    OwnedFunctions vk_;
    VkInstance instance_ = VK_NULL_HANDLE;
    VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
    VkPhysicalDevice physical_device_ = VK_NULL_HANDLE;
    DeviceListing listing_;
    VkPhysicalDeviceLimits limits_ = {};
    VkPhysicalDeviceMemoryProperties memory_ = {};
    std::uint32_t version_ = 0;
    std::uint32_t queue_family_ = 0;
    std::uint32_t timestamp_bits_ = 0;
    std::unique_ptr<Enabled> enabled_;
    VkDevice device_ = VK_NULL_HANDLE;
    VkQueue queue_ = VK_NULL_HANDLE;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer cmd_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
};

}  // namespace lanewise::vulkan::detail
