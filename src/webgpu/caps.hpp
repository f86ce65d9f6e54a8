// What the adapter, the device and the language say, as Caps and what the host needs besides.
#pragma once

#include "lanewise/caps.hpp"
#include "src/webgpu/context.hpp"

namespace lanewise::webgpu::detail {

struct DeviceFacts {
    Caps caps;
    // Of the language, found out by compiling: implementations do not all answer
    // wgpuInstanceHasWGSLLanguageFeature, and some lack `enable subgroups` (wgpu-native).
    bool enable_subgroups = false;
    bool subgroup_id = false;
    std::uint32_t uniform_offset_alignment = 256;
};

// Errors: unsupported (the Null backend), device_lost.
Result<DeviceFacts> read_facts(const DeviceContext& context);

}  // namespace lanewise::webgpu::detail
