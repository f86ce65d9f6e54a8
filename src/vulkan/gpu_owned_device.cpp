// OwnedDevice: the device with every useful feature that it has, its queue and command buffer.

#include "src/vulkan/gpu_owned_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/vulkan/context.hpp"

namespace lanewise::vulkan::detail {

// What was enabled, kept for adoption(). Each extension's structure by itself, and not those of
// Vulkan 1.2 and 1.3: so the same code serves every version.
struct OwnedDevice::Enabled {
    VkPhysicalDeviceFeatures2 features{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkPhysicalDevice16BitStorageFeatures storage16{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_16BIT_STORAGE_FEATURES};
    VkPhysicalDevice8BitStorageFeatures storage8{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_8BIT_STORAGE_FEATURES};
    VkPhysicalDeviceShaderFloat16Int8Features narrow{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT16_INT8_FEATURES};
    VkPhysicalDeviceShaderAtomicInt64Features atomics64{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_INT64_FEATURES};
    VkPhysicalDeviceBufferDeviceAddressFeatures addresses{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceVulkanMemoryModelFeatures memory_model{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_MEMORY_MODEL_FEATURES};
    VkPhysicalDeviceShaderSubgroupExtendedTypesFeatures extended_types{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_EXTENDED_TYPES_FEATURES};
    VkPhysicalDeviceSubgroupSizeControlFeatures size_control{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_SIZE_CONTROL_FEATURES};
    VkPhysicalDeviceMaintenance4Features maintenance4{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES};
    std::vector<const char*> extensions;

    Enabled() = default;
    Enabled(const Enabled&) = delete;  // features points into this object
    Enabled& operator=(const Enabled&) = delete;
};

namespace {

// Must be enabled where it is there; its name is in the beta header only.
constexpr const char* kPortabilitySubset = "VK_KHR_portability_subset";

template <class Structure>
void chain(VkPhysicalDeviceFeatures2& head, Structure& structure) {
    structure.pNext = head.pNext;
    head.pNext = &structure;
}

std::vector<VkExtensionProperties> extensions_of(const OwnedFunctions& vk,
                                                 VkPhysicalDevice device) {
    std::uint32_t count = 0;
    if (vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, nullptr) != VK_SUCCESS)
        return {};
    std::vector<VkExtensionProperties> extensions(count);
    if (vk.EnumerateDeviceExtensionProperties(device, nullptr, &count, extensions.data()) !=
        VK_SUCCESS)
        return {};
    return extensions;
}

}  // namespace

Result<std::unique_ptr<OwnedDevice>> OwnedDevice::create(const OwnedDeviceOptions& options) {
    std::unique_ptr<OwnedDevice> owned(new OwnedDevice(options));
    auto made = owned->make_instance();
    if (made) made = owned->choose_device();
    if (made) made = owned->make_device();
    if (made) made = owned->make_commands();
    if (!made) return tl::unexpected(made.error());
    return owned;
}

OwnedDevice::OwnedDevice(const OwnedDeviceOptions& options) : options_(options) {}

OwnedDevice::~OwnedDevice() {
    if (device_ != VK_NULL_HANDLE) {
        if (vk_.DeviceWaitIdle != nullptr) vk_.DeviceWaitIdle(device_);
        if (fence_ != VK_NULL_HANDLE) vk_.DestroyFence(device_, fence_, options_.allocator);
        if (pool_ != VK_NULL_HANDLE) vk_.DestroyCommandPool(device_, pool_, options_.allocator);
        if (vk_.DestroyDevice != nullptr) vk_.DestroyDevice(device_, options_.allocator);
    }
    destroy_instance();
}

Result<void> OwnedDevice::make_device() {
    std::uint32_t family_count = 0;
    vk_.GetPhysicalDeviceQueueFamilyProperties(physical_device_, &family_count, nullptr);
    std::vector<VkQueueFamilyProperties> families(family_count);
    vk_.GetPhysicalDeviceQueueFamilyProperties(physical_device_, &family_count, families.data());
    const auto family = std::find_if(families.begin(), families.end(), [](const auto& f) {
        return (f.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
    });
    if (family == families.end())
        return tl::unexpected(Error{ErrorCode::unsupported,
                                    fmt::format("{} has no queue for compute", listing_.name)});
    queue_family_ = static_cast<std::uint32_t>(family - families.begin());
    timestamp_bits_ = family->timestampValidBits;

    enabled_ = std::make_unique<Enabled>();
    Enabled& on = *enabled_;
    const auto extensions = extensions_of(vk_, physical_device_);
    const auto offers = [&](const char* name) {
        return !leaves_out(name) &&
               std::any_of(extensions.begin(), extensions.end(), [&](const auto& extension) {
                   return std::strcmp(extension.extensionName, name) == 0;
               });
    };
    // Chains a structure where the version or an extension, which is then enabled, brings it.
    const auto add = [&](auto& structure, std::uint32_t since, const char* extension) {
        if (version_ < since) {
            if (!offers(extension)) return;
            on.extensions.push_back(extension);
        }
        chain(on.features, structure);
    };
    add(on.storage16, VK_API_VERSION_1_1, VK_KHR_16BIT_STORAGE_EXTENSION_NAME);
    add(on.storage8, VK_API_VERSION_1_2, VK_KHR_8BIT_STORAGE_EXTENSION_NAME);
    add(on.narrow, VK_API_VERSION_1_2, VK_KHR_SHADER_FLOAT16_INT8_EXTENSION_NAME);
    add(on.atomics64, VK_API_VERSION_1_2, VK_KHR_SHADER_ATOMIC_INT64_EXTENSION_NAME);
    add(on.addresses, VK_API_VERSION_1_2, VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME);
    add(on.memory_model, VK_API_VERSION_1_2, VK_KHR_VULKAN_MEMORY_MODEL_EXTENSION_NAME);
    add(on.extended_types, VK_API_VERSION_1_2,
        VK_KHR_SHADER_SUBGROUP_EXTENDED_TYPES_EXTENSION_NAME);
    add(on.size_control, VK_API_VERSION_1_3, VK_EXT_SUBGROUP_SIZE_CONTROL_EXTENSION_NAME);
    add(on.maintenance4, VK_API_VERSION_1_3, VK_KHR_MAINTENANCE_4_EXTENSION_NAME);
    if (offers(kPortabilitySubset)) on.extensions.push_back(kPortabilitySubset);
    // GPU-assisted validation (seen with 1.3.239) takes pushed descriptors for unset ones: it
    // reports them, and leaves out the loads and stores.
    const bool gpu_assisted = options_.validation && options_.gpu_assisted_validation;
    if (!gpu_assisted && offers(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME))
        on.extensions.push_back(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME);

    // Asks what is there, then keeps what is of use.
    vk_.GetPhysicalDeviceFeatures2(physical_device_, &on.features);
    const VkPhysicalDeviceFeatures there = on.features.features;
    on.features.features = {};
    const auto keep = [&](VkBool32& feature, const char* name, VkBool32 wanted) {
        feature = wanted != VK_FALSE && !leaves_out(name);
    };
    VkPhysicalDeviceFeatures& core = on.features.features;
    keep(core.shaderInt64, "shaderInt64", there.shaderInt64);
    keep(core.shaderFloat64, "shaderFloat64", there.shaderFloat64);
    keep(core.shaderInt16, "shaderInt16", there.shaderInt16);
    if (options_.validation) {
        // What GPU-assisted validation writes its findings with.
        core.fragmentStoresAndAtomics = there.fragmentStoresAndAtomics;
        core.vertexPipelineStoresAndAtomics = there.vertexPipelineStoresAndAtomics;
    }
#define LANEWISE_KEEP(structure, feature) keep(on.structure.feature, #feature, on.structure.feature)
#define LANEWISE_DROP(structure, feature) on.structure.feature = VK_FALSE
    LANEWISE_KEEP(storage16, storageBuffer16BitAccess);
    LANEWISE_DROP(storage16, uniformAndStorageBuffer16BitAccess);
    LANEWISE_DROP(storage16, storagePushConstant16);
    LANEWISE_DROP(storage16, storageInputOutput16);
    LANEWISE_KEEP(storage8, storageBuffer8BitAccess);
    LANEWISE_DROP(storage8, uniformAndStorageBuffer8BitAccess);
    LANEWISE_DROP(storage8, storagePushConstant8);
    LANEWISE_KEEP(narrow, shaderFloat16);
    LANEWISE_KEEP(narrow, shaderInt8);
    LANEWISE_KEEP(atomics64, shaderBufferInt64Atomics);
    LANEWISE_DROP(atomics64, shaderSharedInt64Atomics);
    LANEWISE_KEEP(addresses, bufferDeviceAddress);
    LANEWISE_DROP(addresses, bufferDeviceAddressCaptureReplay);
    LANEWISE_DROP(addresses, bufferDeviceAddressMultiDevice);
    LANEWISE_KEEP(memory_model, vulkanMemoryModel);
    LANEWISE_KEEP(memory_model, vulkanMemoryModelDeviceScope);
    LANEWISE_DROP(memory_model, vulkanMemoryModelAvailabilityVisibilityChains);
    LANEWISE_KEEP(extended_types, shaderSubgroupExtendedTypes);
    LANEWISE_KEEP(size_control, subgroupSizeControl);
    LANEWISE_KEEP(size_control, computeFullSubgroups);
    LANEWISE_KEEP(maintenance4, maintenance4);
#undef LANEWISE_KEEP
#undef LANEWISE_DROP

    const float priority = 1.0f;
    const VkDeviceQueueCreateInfo queue_info{
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
        .queueFamilyIndex = queue_family_,
        .queueCount = 1,
        .pQueuePriorities = &priority,
    };
    const VkDeviceCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
        .pNext = &on.features,
        .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue_info,
        .enabledExtensionCount = static_cast<std::uint32_t>(on.extensions.size()),
        .ppEnabledExtensionNames = on.extensions.data(),
    };
    const VkResult result = vk_.CreateDevice(physical_device_, &info, options_.allocator, &device_);
    if (result != VK_SUCCESS)
        return failed(result, fmt::format("making a device of {}", listing_.name));

    const char* missing = nullptr;
    const auto load = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
            vk_.GetDeviceProcAddr(device_, name));
        return function != nullptr;
    };
#define LANEWISE_LOAD(name) \
    if (!load(vk_.name, "vk" #name)) missing = "vk" #name;
    LANEWISE_OWNED_DEVICE_FUNCTIONS(LANEWISE_LOAD)
#undef LANEWISE_LOAD
    if (on.addresses.bufferDeviceAddress != VK_FALSE &&
        !load(vk_.GetBufferDeviceAddress, "vkGetBufferDeviceAddressKHR"))
        load(vk_.GetBufferDeviceAddress, "vkGetBufferDeviceAddress");
    if (missing != nullptr)
        return tl::unexpected(
            Error{ErrorCode::unsupported,
                  fmt::format("the driver of {} has no {}", listing_.name, missing)});
    vk_.GetDeviceQueue(device_, queue_family_, 0, &queue_);
    return {};
}

Adoption OwnedDevice::adoption() const {
    return {
        .instance = instance_,
        .physical_device = physical_device_,
        .device = device_,
        .queue_family = queue_family_,
        .api_version = options_.api_version,
        .enabled_features = &enabled_->features,
        .enabled_extensions = enabled_->extensions,
        .get_instance_proc_addr = get_instance_proc_addr_,
        .allocator = options_.allocator,
    };
}

}  // namespace lanewise::vulkan::detail
