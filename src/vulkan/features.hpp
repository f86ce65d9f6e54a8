// What the application enabled on its device, read from what it gave to vkCreateDevice.
#pragma once

#include "lanewise/vulkan.hpp"

namespace lanewise::vulkan::detail {

struct EnabledFeatures {
    bool shader_int64 = false;
    bool shader_float64 = false;
    bool shader_int16 = false;
    bool shader_float16 = false;
    bool shader_int8 = false;
    bool storage16 = false;
    bool storage8 = false;
    bool buffer_int64_atomics = false;
    bool buffer_device_address = false;
    bool memory_model = false;
    bool memory_model_device_scope = false;
    bool subgroup_extended_types = false;
    bool subgroup_size_control = false;
    bool compute_full_subgroups = false;
    bool maintenance4 = false;
    bool push_descriptors = false;
};

bool has_extension(const Adoption& adoption, std::string_view name);

// `version`: the Vulkan version in use. A feature of an extension counts when the version contains
// it or the extension is enabled.
EnabledFeatures read_features(const Adoption& adoption, std::uint32_t version);

}  // namespace lanewise::vulkan::detail
