// An application that uses Vulkan through volk, as small as it goes: one device, one queue, one
// command buffer, buffers that the host can see. Nothing in it knows Lanewise. It ends the program
// with a message when a call fails.
#pragma once

#define VK_NO_PROTOTYPES
#include <volk.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace example {

inline void check(VkResult result, const char* what) {
    if (result == VK_SUCCESS) return;
    std::fprintf(stderr, "%s failed: VkResult %d\n", what, static_cast<int>(result));
    std::exit(1);
}

inline void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

struct HostBuffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceMemory memory = VK_NULL_HANDLE;
    VkDeviceSize bytes = 0;
    void* data = nullptr;  // mapped as long as the buffer lives
};

class Application {
public:
    Application() {
        check(volkInitialize(), "volkInitialize");
        make_instance();
        pick_physical_device();
        make_device();
        make_command_buffer();
    }

    ~Application() {
        for (const HostBuffer& buffer : buffers_) {
            vkDestroyBuffer(device, buffer.buffer, nullptr);
            vkFreeMemory(device, buffer.memory, nullptr);
        }
        vkDestroyFence(device, fence_, nullptr);
        vkDestroyCommandPool(device, pool_, nullptr);
        vkDestroyDevice(device, nullptr);
        vkDestroyInstance(instance, nullptr);
    }

    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    HostBuffer make_buffer(VkDeviceSize bytes) {
        HostBuffer made;
        made.bytes = bytes;
        VkBufferCreateInfo info{.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
        info.size = bytes;
        info.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
        check(vkCreateBuffer(device, &info, nullptr, &made.buffer), "vkCreateBuffer");
        VkMemoryRequirements needs;
        vkGetBufferMemoryRequirements(device, made.buffer, &needs);
        VkMemoryAllocateInfo allocation{.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
        allocation.allocationSize = needs.size;
        allocation.memoryTypeIndex = host_memory_type(needs.memoryTypeBits);
        check(vkAllocateMemory(device, &allocation, nullptr, &made.memory), "vkAllocateMemory");
        check(vkBindBufferMemory(device, made.buffer, made.memory, 0), "vkBindBufferMemory");
        check(vkMapMemory(device, made.memory, 0, VK_WHOLE_SIZE, 0, &made.data), "vkMapMemory");
        buffers_.push_back(made);
        return made;
    }

    VkCommandBuffer begin_commands() {
        const VkCommandBufferBeginInfo info{
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
            .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
        };
        check(vkBeginCommandBuffer(commands_, &info), "vkBeginCommandBuffer");
        return commands_;
    }

    // Makes what shaders wrote visible to the host, submits, and waits.
    void submit_commands_and_wait() {
        const VkMemoryBarrier to_host{
            .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
            .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
            .dstAccessMask = VK_ACCESS_HOST_READ_BIT,
        };
        vkCmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                             VK_PIPELINE_STAGE_HOST_BIT, 0, 1, &to_host, 0, nullptr, 0, nullptr);
        check(vkEndCommandBuffer(commands_), "vkEndCommandBuffer");
        const VkSubmitInfo submit{
            .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
            .commandBufferCount = 1,
            .pCommandBuffers = &commands_,
        };
        check(vkQueueSubmit(queue_, 1, &submit, fence_), "vkQueueSubmit");
        check(vkWaitForFences(device, 1, &fence_, VK_TRUE, UINT64_MAX), "vkWaitForFences");
        check(vkResetFences(device, 1, &fence_), "vkResetFences");
    }

    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    std::uint32_t queue_family = 0;
    std::uint32_t api_version = VK_API_VERSION_1_1;
    // As given to vkCreateDevice, features_13 in its chain where the device is of Vulkan 1.3.
    VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    char device_name[VK_MAX_PHYSICAL_DEVICE_NAME_SIZE] = {};

private:
    void make_instance() {
        api_version =
            volkGetInstanceVersion() < VK_API_VERSION_1_3 ? VK_API_VERSION_1_1 : VK_API_VERSION_1_3;
        const VkApplicationInfo application{
            .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
            .pApplicationName = "02_adopt_volk",
            .apiVersion = api_version,
        };
        const VkInstanceCreateInfo info{
            .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
            .pApplicationInfo = &application,
        };
        check(vkCreateInstance(&info, nullptr, &instance), "vkCreateInstance");
        volkLoadInstance(instance);
    }

    // The first that is a GPU, else the first.
    void pick_physical_device() {
        std::uint32_t count = 0;
        vkEnumeratePhysicalDevices(instance, &count, nullptr);
        std::vector<VkPhysicalDevice> all(count);
        vkEnumeratePhysicalDevices(instance, &count, all.data());
        VkPhysicalDeviceProperties properties{};
        for (VkPhysicalDevice candidate : all) {
            vkGetPhysicalDeviceProperties(candidate, &properties);
            if (properties.apiVersion < VK_API_VERSION_1_1) continue;
            const bool is_gpu = properties.deviceType != VK_PHYSICAL_DEVICE_TYPE_CPU;
            if (physical_device == VK_NULL_HANDLE || is_gpu) physical_device = candidate;
            if (is_gpu) break;
        }
        require(physical_device != VK_NULL_HANDLE, "no Vulkan 1.1 device here");
        vkGetPhysicalDeviceProperties(physical_device, &properties);
        std::snprintf(device_name, sizeof device_name, "%s", properties.deviceName);
        if (properties.apiVersion < VK_API_VERSION_1_3) api_version = VK_API_VERSION_1_1;
    }

    void make_device() {
        std::uint32_t count = 0;
        vkGetPhysicalDeviceQueueFamilyProperties(physical_device, &count, nullptr);
        std::vector<VkQueueFamilyProperties> families(count);
        vkGetPhysicalDeviceQueueFamilyProperties(physical_device, &count, families.data());
        while (queue_family < count &&
               (families[queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) {
            ++queue_family;
        }
        require(queue_family < count, "the device has no queue for compute");

        if (api_version >= VK_API_VERSION_1_3) {
            features.pNext = &features_13_;
            vkGetPhysicalDeviceFeatures2(physical_device, &features);
            features.features = {};
            // All that this application enables; without them Lanewise still runs.
            const VkPhysicalDeviceVulkan13Features offered = features_13_;
            features_13_ = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
            features_13_.subgroupSizeControl = offered.subgroupSizeControl;
            features_13_.computeFullSubgroups = offered.computeFullSubgroups;
        }
        const float priority = 1.0f;
        const VkDeviceQueueCreateInfo queue_info{
            .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
            .queueFamilyIndex = queue_family,
            .queueCount = 1,
            .pQueuePriorities = &priority,
        };
        const VkDeviceCreateInfo info{
            .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
            .pNext = &features,
            .queueCreateInfoCount = 1,
            .pQueueCreateInfos = &queue_info,
        };
        check(vkCreateDevice(physical_device, &info, nullptr, &device), "vkCreateDevice");
        volkLoadDevice(device);
        vkGetDeviceQueue(device, queue_family, 0, &queue_);
    }

    void make_command_buffer() {
        const VkCommandPoolCreateInfo pool_info{
            .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
            .flags = VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
            .queueFamilyIndex = queue_family,
        };
        check(vkCreateCommandPool(device, &pool_info, nullptr, &pool_), "vkCreateCommandPool");
        const VkCommandBufferAllocateInfo info{
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
            .commandPool = pool_,
            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            .commandBufferCount = 1,
        };
        check(vkAllocateCommandBuffers(device, &info, &commands_), "vkAllocateCommandBuffers");
        const VkFenceCreateInfo fence_info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
        check(vkCreateFence(device, &fence_info, nullptr, &fence_), "vkCreateFence");
    }

    std::uint32_t host_memory_type(std::uint32_t allowed) const {
        constexpr VkMemoryPropertyFlags kWanted =
            VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
        VkPhysicalDeviceMemoryProperties memory;
        vkGetPhysicalDeviceMemoryProperties(physical_device, &memory);
        std::uint32_t type = 0;
        while (type < memory.memoryTypeCount &&
               ((allowed >> type & 1) == 0 ||
                (memory.memoryTypes[type].propertyFlags & kWanted) != kWanted)) {
            ++type;
        }
        require(type < memory.memoryTypeCount, "the device has no memory that the host can see");
        return type;
    }

    VkPhysicalDeviceVulkan13Features features_13_{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
    VkQueue queue_ = VK_NULL_HANDLE;
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkFence fence_ = VK_NULL_HANDLE;
    std::vector<HostBuffer> buffers_;
};

}  // namespace example
