// What a compiled kernel needs of a device, read from the capabilities that its SPIR-V declares, so
// that no list beside it can be out of step.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lanewise/caps.hpp"

namespace lanewise::vulkan::detail {

// The first thing that the module needs and the device does not have, by the name under which
// Vulkan enables or reports it; empty when there is none.
std::string missing_for_kernel(std::span<const std::uint32_t> words, const Caps& caps);

}  // namespace lanewise::vulkan::detail
