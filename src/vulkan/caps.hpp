// The facts of an adopted device: Caps, and what the host keeps to itself.
#pragma once

#include "lanewise/vulkan.hpp"
#include "src/vulkan/functions.hpp"

namespace lanewise::vulkan::detail {

struct DeviceFacts {
    Caps caps;
    // Pipelines may ask for a size, or for a size that varies (subgroupSizeControl is enabled).
    bool size_control = false;
    std::uint32_t max_spirv_version = 0x00010300;
    VkPhysicalDeviceMemoryProperties memory = {};
};

// Errors: bad_argument (no such queue family, or one without compute), unsupported (Vulkan 1.0).
Result<DeviceFacts> read_facts(const Functions& vk, const Adoption& adoption);

}  // namespace lanewise::vulkan::detail
