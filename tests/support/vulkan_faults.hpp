// Functions put between a caller and the driver, through vkGetInstanceProcAddr: they count calls,
// keep what tests want to see, and fail where a test says so. One set for the process, because
// Vulkan's functions carry no pointer of ours: reset() begins a test.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace lanewise::test {

struct PipelineSeen {
    VkPipelineCache cache = VK_NULL_HANDLE;
    VkPipelineShaderStageCreateFlags stage_flags = 0;
    std::uint32_t required_subgroup_size = 0;  // 0: none
    std::uint32_t spirv_version = 0;           // of the module, where it was seen
};

class VulkanFaults {
public:
    // To pass as get_instance_proc_addr. Intercepted functions that the driver lacks stay null.
    static PFN_vkGetInstanceProcAddr get_instance_proc_addr();

    // Forgets counts, failures and what was seen.
    static void reset();

    // From the call number `call` on (the first is 1) the function answers `result` instead of
    // calling the driver; `times` limits how often.
    static void fail(const std::string& function, VkResult result, int call = 1,
                     int times = 1 << 30);

    // Calls since reset(), failed ones included.
    static int calls(const std::string& function);
    static int calls_in_all();

    static std::vector<PipelineSeen> pipelines();
    static std::vector<std::string> labels();  // of vkCmdBeginDebugUtilsLabelEXT, in order
    static int open_labels();                  // begun and not ended
    static std::vector<VkMemoryBarrier> memory_barriers();
    static std::vector<VkDescriptorPool> allocated_from();  // vkAllocateDescriptorSets

    // The user data of the allocators that creating, allocating, destroying and freeing functions
    // were given; null for a call without an allocator.
    static std::set<const void*> allocator_owners();
    // Objects made and not destroyed since reset().
    static int live_objects();

    // While a driver's or layer's function runs on this thread: its allocations are not ours.
    static bool inside_driver();

    // With this set the driver is not called by vkCmd*: for counting what record() itself does.
    static void swallow_commands(bool swallow);
};

}  // namespace lanewise::test
