// The Vulkan functions that the library calls, in a table of its own: the loader is not linked, and
// an application that fills volk's global pointers sees no clash.
#pragma once

#include <vulkan/vulkan_core.h>

#include "lanewise/error.hpp"

// clang-format off
#define LANEWISE_INSTANCE_FUNCTIONS(X)      \
    X(EnumerateDeviceExtensionProperties)   \
    X(GetDeviceProcAddr)                    \
    X(GetPhysicalDeviceMemoryProperties)    \
    X(GetPhysicalDeviceProperties2)         \
    X(GetPhysicalDeviceQueueFamilyProperties)

// Null when the application did not enable VK_EXT_debug_utils. They come from the instance: it is
// an instance extension, whose device functions vkGetDeviceProcAddr need not know.
#define LANEWISE_DEBUG_FUNCTIONS(X)         \
    X(CmdBeginDebugUtilsLabelEXT)           \
    X(CmdEndDebugUtilsLabelEXT)             \
    X(SetDebugUtilsObjectNameEXT)

#define LANEWISE_DEVICE_FUNCTIONS(X)        \
    X(AllocateCommandBuffers)               \
    X(AllocateDescriptorSets)               \
    X(AllocateMemory)                       \
    X(BeginCommandBuffer)                   \
    X(BindBufferMemory)                     \
    X(CmdBindDescriptorSets)                \
    X(CmdBindPipeline)                      \
    X(CmdDispatch)                          \
    X(CmdDispatchIndirect)                  \
    X(CmdPipelineBarrier)                   \
    X(CmdPushConstants)                     \
    X(CmdWriteTimestamp)                    \
    X(CreateBuffer)                         \
    X(CreateCommandPool)                    \
    X(CreateComputePipelines)               \
    X(CreateDescriptorPool)                 \
    X(CreateDescriptorSetLayout)            \
    X(CreateFence)                          \
    X(CreatePipelineLayout)                 \
    X(CreateShaderModule)                   \
    X(DestroyBuffer)                        \
    X(DestroyCommandPool)                   \
    X(DestroyDescriptorPool)                \
    X(DestroyDescriptorSetLayout)           \
    X(DestroyFence)                         \
    X(DestroyPipeline)                      \
    X(DestroyPipelineLayout)                \
    X(DestroyShaderModule)                  \
    X(EndCommandBuffer)                     \
    X(FreeMemory)                           \
    X(GetBufferMemoryRequirements)          \
    X(MapMemory)                            \
    X(QueueSubmit)                          \
    X(UpdateDescriptorSets)                 \
    X(WaitForFences)
// clang-format on

namespace lanewise::vulkan::detail {

struct Functions {
#define LANEWISE_MEMBER(name) PFN_vk##name name = nullptr;
    LANEWISE_INSTANCE_FUNCTIONS(LANEWISE_MEMBER)
    LANEWISE_DEBUG_FUNCTIONS(LANEWISE_MEMBER)
    LANEWISE_DEVICE_FUNCTIONS(LANEWISE_MEMBER)
#undef LANEWISE_MEMBER
    // Null where neither the version nor an extension brings them.
    PFN_vkCmdPushDescriptorSetKHR CmdPushDescriptorSetKHR = nullptr;
    PFN_vkGetBufferDeviceAddress GetBufferDeviceAddress = nullptr;
};

// Errors: bad_argument, with the name of a function that the instance or device does not have.
Result<Functions> load_functions(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                 VkInstance instance, VkDevice device);

}  // namespace lanewise::vulkan::detail
