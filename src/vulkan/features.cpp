#include "src/vulkan/features.hpp"

#include <string_view>

namespace lanewise::vulkan::detail {

namespace {

template <class Structure>
const Structure& as(const VkBaseInStructure* structure) {
    return *reinterpret_cast<const Structure*>(structure);
}

}  // namespace

bool has_extension(const Adoption& adoption, std::string_view name) {
    for (const char* extension : adoption.enabled_extensions) {
        if (extension != nullptr && name == extension) return true;
    }
    return false;
}

EnabledFeatures read_features(const Adoption& adoption, std::uint32_t version) {
    EnabledFeatures enabled;
    enabled.push_descriptors = has_extension(adoption, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);
    if (adoption.enabled_features == nullptr) return enabled;

    const auto available = [&](std::uint32_t since, const char* extension) {
        return version >= since || has_extension(adoption, extension);
    };
    const auto set = [](bool& flag, VkBool32 value) { flag = flag || value != VK_FALSE; };

    const VkPhysicalDeviceFeatures& core = adoption.enabled_features->features;
    set(enabled.shader_int64, core.shaderInt64);
    set(enabled.shader_float64, core.shaderFloat64);
    set(enabled.shader_int16, core.shaderInt16);

    const auto* structure = static_cast<const VkBaseInStructure*>(adoption.enabled_features->pNext);
    for (; structure != nullptr; structure = structure->pNext) {
        switch (structure->sType) {
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES: {
                if (version < VK_API_VERSION_1_2) break;
                const auto& f = as<VkPhysicalDeviceVulkan11Features>(structure);
                set(enabled.storage16, f.storageBuffer16BitAccess);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES: {
                if (version < VK_API_VERSION_1_2) break;
                const auto& f = as<VkPhysicalDeviceVulkan12Features>(structure);
                set(enabled.shader_float16, f.shaderFloat16);
                set(enabled.shader_int8, f.shaderInt8);
                set(enabled.storage8, f.storageBuffer8BitAccess);
                set(enabled.buffer_int64_atomics, f.shaderBufferInt64Atomics);
                set(enabled.buffer_device_address, f.bufferDeviceAddress);
                set(enabled.memory_model, f.vulkanMemoryModel);
                set(enabled.memory_model_device_scope, f.vulkanMemoryModelDeviceScope);
                set(enabled.subgroup_extended_types, f.shaderSubgroupExtendedTypes);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES: {
                if (version < VK_API_VERSION_1_3) break;
                const auto& f = as<VkPhysicalDeviceVulkan13Features>(structure);
                set(enabled.subgroup_size_control, f.subgroupSizeControl);
                set(enabled.compute_full_subgroups, f.computeFullSubgroups);
                set(enabled.maintenance4, f.maintenance4);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES: {
                const auto& f = as<VkPhysicalDevice16BitStorageFeatures>(structure);
                set(enabled.storage16, f.storageBuffer16BitAccess);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES: {
                if (!available(VK_API_VERSION_1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME)) break;
                const auto& f = as<VkPhysicalDevice8BitStorageFeatures>(structure);
                set(enabled.storage8, f.storageBuffer8BitAccess);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES: {
                if (!available(VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME))
                    break;
                const auto& f = as<VkPhysicalDeviceShaderFloat16Int8Features>(structure);
                set(enabled.shader_float16, f.shaderFloat16);
                set(enabled.shader_int8, f.shaderInt8);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES: {
                if (!available(VK_API_VERSION_1_2, VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME))
                    break;
                const auto& f = as<VkPhysicalDeviceShaderAtomicInt64Features>(structure);
                set(enabled.buffer_int64_atomics, f.shaderBufferInt64Atomics);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES: {
                if (!available(VK_API_VERSION_1_2, VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME))
                    break;
                const auto& f = as<VkPhysicalDeviceBufferDeviceAddressFeatures>(structure);
                set(enabled.buffer_device_address, f.bufferDeviceAddress);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES: {
                if (!available(VK_API_VERSION_1_2, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME))
                    break;
                const auto& f = as<VkPhysicalDeviceVulkanMemoryModelFeatures>(structure);
                set(enabled.memory_model, f.vulkanMemoryModel);
                set(enabled.memory_model_device_scope, f.vulkanMemoryModelDeviceScope);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES: {
                if (!available(VK_API_VERSION_1_2,
                               VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME))
                    break;
                const auto& f = as<VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures>(structure);
                set(enabled.subgroup_extended_types, f.shaderSubgroupExtendedTypes);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES: {
                if (!available(VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME))
                    break;
                const auto& f = as<VkPhysicalDeviceSubgroupSizeControlFeatures>(structure);
                set(enabled.subgroup_size_control, f.subgroupSizeControl);
                set(enabled.compute_full_subgroups, f.computeFullSubgroups);
                break;
            }
            case VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES: {
                if (!available(VK_API_VERSION_1_3, VK_KHR_MAINTENANCE_4_EXTENSION_NAME)) break;
                set(enabled.maintenance4,
                    as<VkPhysicalDeviceMaintenance4Features>(structure).maintenance4);
                break;
            }
            default: break;
        }
    }
    return enabled;
}

}  // namespace lanewise::vulkan::detail
