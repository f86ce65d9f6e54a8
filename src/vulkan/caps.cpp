#include "src/vulkan/caps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string_view>

#include "src/core/quirks.hpp"
#include "src/vulkan/features.hpp"

namespace lanewise::vulkan::detail {

namespace {

// The smallest and largest size that the specification allows and the kernels are built for.
constexpr std::uint32_t kSmallestSize = 4;
constexpr std::uint32_t kLargestSize = 128;

// Prepends a structure to a chain of outputs.
template <class Structure>
void chain(VkPhysicalDeviceProperties2& head, Structure& structure) {
    structure.pNext = head.pNext;
    head.pNext = &structure;
}

std::vector<VkExtensionProperties> device_extensions(const Functions& vk,
                                                     VkPhysicalDevice physical_device) {
    std::uint32_t count = 0;
    vk.EnumerateDeviceExtensionProperties(physical_device, nullptr, &count, nullptr);
    std::vector<VkExtensionProperties> extensions(count);
    const VkResult result =
        vk.EnumerateDeviceExtensionProperties(physical_device, nullptr, &count, extensions.data());
    // Without the list nothing is lost but the size range and the driver's name.
    extensions.resize(result == VK_SUCCESS || result == VK_INCOMPLETE ? count : 0);
    return extensions;
}

// The lower of what the application asked for, the instance has, and the device has.
std::uint32_t usable_version(const Functions& vk, const Adoption& adoption) {
    VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    vk.GetPhysicalDeviceProperties2(adoption.physical_device, &properties);
    std::uint32_t version = std::min(adoption.api_version, properties.properties.apiVersion);

    const auto enumerate_instance_version = reinterpret_cast<PFN_vkEnumerateInstanceVersion>(
        adoption.get_instance_proc_addr(nullptr, "vkEnumerateInstanceVersion"));
    std::uint32_t instance_version = 0;
    if (enumerate_instance_version != nullptr &&
        enumerate_instance_version(&instance_version) == VK_SUCCESS) {
        version = std::min(version, instance_version);
    }
    return version;
}

Limits limits_of(const VkPhysicalDeviceLimits& limits) {
    return {
        .max_workgroup_invocations = limits.maxComputeWorkGroupInvocations,
        .max_workgroup_size_x = limits.maxComputeWorkGroupSize[0],
        .max_workgroup_memory = limits.maxComputeSharedMemorySize,
        .max_groups_x = limits.maxComputeWorkGroupCount[0],
        .max_groups_y = limits.maxComputeWorkGroupCount[1],
        .max_groups_z = limits.maxComputeWorkGroupCount[2],
        .max_storage_buffers =
            std::min({limits.maxPerStageDescriptorStorageBuffers,
                      limits.maxDescriptorSetStorageBuffers, limits.maxPerStageResources}),
        .max_storage_range = limits.maxStorageBufferRange,
        .storage_offset_alignment =
            static_cast<std::uint32_t>(limits.minStorageBufferOffsetAlignment),
        .max_push_constants = limits.maxPushConstantsSize,
    };
}

std::string version_text(std::uint32_t version) {
    return fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
                       VK_API_VERSION_PATCH(version));
}

}  // namespace

Result<DeviceFacts> read_facts(const Functions& vk, const Adoption& adoption) {
    const std::uint32_t version = usable_version(vk, adoption);
    if (version < VK_API_VERSION_1_1) {
        return tl::unexpected(
            Error{ErrorCode::unsupported,
                  fmt::format("Vulkan {} is in use, 1.1 is needed: raise Adoption::api_version and "
                              "VkApplicationInfo::apiVersion if the device has it",
                              version_text(version))});
    }

    std::uint32_t family_count = 0;
    vk.GetPhysicalDeviceQueueFamilyProperties(adoption.physical_device, &family_count, nullptr);
    std::vector<VkQueueFamilyProperties> families(family_count);
    vk.GetPhysicalDeviceQueueFamilyProperties(adoption.physical_device, &family_count,
                                              families.data());
    if (adoption.queue_family >= family_count) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument,
                  fmt::format("queue_family is {}, but the device has {} families",
                              adoption.queue_family, family_count)});
    }
    const VkQueueFamilyProperties& family = families[adoption.queue_family];
    if ((family.queueFlags & VK_QUEUE_COMPUTE_BIT) == 0) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument,
                  fmt::format("queue family {} has no compute: give one with VK_QUEUE_COMPUTE_BIT",
                              adoption.queue_family)});
    }

    const std::vector<VkExtensionProperties> extensions =
        device_extensions(vk, adoption.physical_device);
    const auto available = [&](std::uint32_t since, std::string_view extension) {
        return version >= since ||
               std::any_of(extensions.begin(), extensions.end(),
                           [&](const auto& e) { return extension == e.extensionName; });
    };
    // Properties may be asked for where the device offers them, enabled or not.
    const bool knows_sizes =
        available(VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    const bool knows_driver =
        available(VK_API_VERSION_1_2, VK_KHR_DRIVER_PROPERTIES_EXTENSION_NAME);

    VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    VkPhysicalDeviceSubgroupProperties subgroup{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceSubgroupSizeControlProperties sizes{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_PROPERTIES};
    VkPhysicalDeviceDriverProperties driver{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    chain(properties, subgroup);
    if (knows_sizes) chain(properties, sizes);
    if (knows_driver) chain(properties, driver);
    vk.GetPhysicalDeviceProperties2(adoption.physical_device, &properties);
    const VkPhysicalDeviceProperties& device = properties.properties;

    const EnabledFeatures enabled = read_features(adoption, version);

    DeviceFacts facts;
    facts.size_control = enabled.subgroup_size_control;
    // Our modules of SPIR-V 1.6 give the workgroup size by LocalSizeId, which needs maintenance4.
    const bool spirv_1_6 = version >= VK_API_VERSION_1_3 && enabled.maintenance4;
    facts.max_spirv_version = spirv_1_6 ? 0x00010600 : 0x00010300;
    vk.GetPhysicalDeviceMemoryProperties(adoption.physical_device, &facts.memory);

    Caps& caps = facts.caps;
    caps.api = Api::vulkan;
    caps.device_name = device.deviceName;
    caps.driver = knows_driver ? fmt::format("{} {}", driver.driverName, driver.driverInfo)
                               : fmt::format("driver {:#010x}", device.driverVersion);
    while (caps.driver.ends_with(' ')) caps.driver.pop_back();
    caps.vendor_id = device.vendorID;
    caps.device_id = device.deviceID;
    caps.driver_version = device.driverVersion;
    caps.api_version_major = VK_API_VERSION_MAJOR(version);
    caps.api_version_minor = VK_API_VERSION_MINOR(version);
    caps.cpu_device = device.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;

    // The bits of Vulkan are the bits of SubgroupOperation and Stage; what is above them is of
    // vendors.
    caps.subgroup.operations = subgroup.supportedOperations & 0xff;
    caps.subgroup.stages = subgroup.supportedStages & 0xff;
    caps.subgroup.size = subgroup.subgroupSize;
    caps.subgroup.min_size = knows_sizes ? sizes.minSubgroupSize : kSmallestSize;
    caps.subgroup.max_size = knows_sizes ? sizes.maxSubgroupSize : kLargestSize;
    caps.subgroup.size_is_true = spirv_1_6 || enabled.subgroup_size_control;
    if (enabled.subgroup_size_control) {
        caps.subgroup.required_size_stages = sizes.requiredSubgroupSizeStages & 0xff;
        caps.subgroup.max_workgroup_subgroups = sizes.maxComputeWorkgroupSubgroups;
    }
    caps.subgroup.full_subgroups = enabled.compute_full_subgroups;
    caps.subgroup.extended_types = enabled.subgroup_extended_types;
    // No kernel is built for smaller subgroups or others than powers of two.
    if (!std::has_single_bit(caps.subgroup.size) || !std::has_single_bit(caps.subgroup.min_size) ||
        !std::has_single_bit(caps.subgroup.max_size) || caps.subgroup.min_size < kSmallestSize ||
        caps.subgroup.max_size > kLargestSize || caps.subgroup.min_size > caps.subgroup.max_size) {
        caps.subgroup.operations = 0;
        caps.subgroup.required_size_stages = 0;
        caps.subgroup.full_subgroups = false;
    }

    caps.limits = limits_of(device.limits);
    caps.types = {
        .int64 = enabled.shader_int64,
        .float64 = enabled.shader_float64,
        .float16 = enabled.shader_float16,
        .int8 = enabled.shader_int8,
        .int16 = enabled.shader_int16,
        .storage8 = enabled.storage8,
        .storage16 = enabled.storage16,
    };
    caps.device_addresses = enabled.buffer_device_address && vk.GetBufferDeviceAddress != nullptr;
    caps.push_descriptors = enabled.push_descriptors && vk.CmdPushDescriptorSetKHR != nullptr;
    caps.device_scope_barrier = true;
    caps.memory_model = enabled.memory_model && enabled.memory_model_device_scope;
    caps.int64_atomics = enabled.buffer_int64_atomics && enabled.shader_int64;
    caps.timestamps = family.timestampValidBits > 0 && device.limits.timestampPeriod > 0.0f;
    caps.timestamp_period_ns = caps.timestamps ? double{device.limits.timestampPeriod} : 0.0;
    lanewise::detail::apply_quirks(caps);
    return facts;
}

}  // namespace lanewise::vulkan::detail
