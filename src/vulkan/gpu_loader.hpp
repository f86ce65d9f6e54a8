// Opens the Vulkan loader when it is first wanted, so that programs start where there is none.
#pragma once

#include <vulkan/vulkan_core.h>

#include "lanewise/error.hpp"

namespace lanewise::vulkan::detail {

// The loader's vkGetInstanceProcAddr; it stays open until the process ends. Error: unsupported,
// where no loader is installed.
Result<PFN_vkGetInstanceProcAddr> open_loader();

}  // namespace lanewise::vulkan::detail
