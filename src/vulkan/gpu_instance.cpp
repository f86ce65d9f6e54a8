// OwnedDevice: the instance, validation, and which device is chosen.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/core/device_choice.hpp"
#include "src/vulkan/context.hpp"
#include "src/vulkan/gpu_loader.hpp"
#include "src/vulkan/gpu_owned_device.hpp"

namespace lanewise::vulkan::detail {

namespace {

constexpr const char* kValidationLayer = "VK_LAYER_KHRONOS_validation";

template <class Function>
Function global_function(PFN_vkGetInstanceProcAddr get, const char* name) {
    return reinterpret_cast<Function>(get(nullptr, name));
}

std::vector<VkExtensionProperties> instance_extensions(PFN_vkGetInstanceProcAddr get,
                                                       const char* layer) {
    const auto enumerate = global_function<PFN_vkEnumerateInstanceExtensionProperties>(
        get, "vkEnumerateInstanceExtensionProperties");
    std::uint32_t count = 0;
    if (enumerate == nullptr || enumerate(layer, &count, nullptr) != VK_SUCCESS) return {};
    std::vector<VkExtensionProperties> extensions(count);
    if (enumerate(layer, &count, extensions.data()) != VK_SUCCESS) return {};
    return extensions;
}

bool has(const std::vector<VkExtensionProperties>& extensions, const char* name) {
    return std::any_of(extensions.begin(), extensions.end(), [&](const auto& extension) {
        return std::strcmp(extension.extensionName, name) == 0;
    });
}

bool has_validation_layer(PFN_vkGetInstanceProcAddr get) {
    const auto enumerate = global_function<PFN_vkEnumerateInstanceLayerProperties>(
        get, "vkEnumerateInstanceLayerProperties");
    std::uint32_t count = 0;
    if (enumerate == nullptr || enumerate(&count, nullptr) != VK_SUCCESS) return false;
    std::vector<VkLayerProperties> layers(count);
    if (enumerate(&count, layers.data()) != VK_SUCCESS) return false;
    return std::any_of(layers.begin(), layers.end(), [](const VkLayerProperties& layer) {
        return std::strcmp(layer.layerName, kValidationLayer) == 0;
    });
}

VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                          VkDebugUtilsMessageTypeFlagsEXT,
                                          const VkDebugUtilsMessengerCallbackDataEXT* data,
                                          void* user) {
    // The layer speaks of itself, not of what we do: a check that this device cannot have.
    if (data->pMessageIdName != nullptr &&
        std::strcmp(data->pMessageIdName, "UNASSIGNED-GPU-Assisted Validation Warning") == 0)
        return VK_FALSE;
    const auto& callback = *static_cast<const std::function<void(const std::string&)>*>(user);
    try {
        if (callback) callback(data->pMessage != nullptr ? data->pMessage : "");
    } catch (...) {
        // The caller is C: nothing may pass through it.
    }
    return VK_FALSE;
}

// Lower is better.
int rank_of(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 0;
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 1;
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
        case VK_PHYSICAL_DEVICE_TYPE_CPU: return 3;
        default: return 4;
    }
}

std::string driver_text(const OwnedFunctions& vk, VkPhysicalDevice device, std::uint32_t version) {
    VkPhysicalDeviceProperties2 properties{.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2};
    VkPhysicalDeviceDriverProperties driver{
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    if (version < VK_API_VERSION_1_2) return {};
    properties.pNext = &driver;
    vk.GetPhysicalDeviceProperties2(device, &properties);
    std::string text = fmt::format("{} {}", driver.driverName, driver.driverInfo);
    while (text.ends_with(' ')) text.pop_back();
    return text;
}

}  // namespace

bool OwnedDevice::leaves_out(std::string_view name) const {
    return std::find(options_.leave_out.begin(), options_.leave_out.end(), name) !=
           options_.leave_out.end();
}

tl::unexpected<Error> OwnedDevice::failed(VkResult result, std::string_view doing,
                                          std::uint64_t bytes) const {
    return tl::unexpected(result_error(result, doing, bytes));
}

Result<void> OwnedDevice::make_instance() {
    get_instance_proc_addr_ = options_.get_instance_proc_addr;
    if (get_instance_proc_addr_ == nullptr) {
        auto loader = open_loader();
        if (!loader) return tl::unexpected(loader.error());
        get_instance_proc_addr_ = *loader;
    }
    const PFN_vkGetInstanceProcAddr get = get_instance_proc_addr_;
    const auto create = global_function<PFN_vkCreateInstance>(get, "vkCreateInstance");
    if (create == nullptr)
        return tl::unexpected(Error{ErrorCode::unsupported, "the Vulkan loader has no functions"});

    std::vector<const char*> extensions;
    std::vector<const char*> layers;
    const auto available = instance_extensions(get, nullptr);
    const auto enable = [&](const char* name) {
        if (!has(available, name) || leaves_out(name)) return false;
        extensions.push_back(name);
        return true;
    };
    const bool debug_utils = enable(VK_EXT_DEBUG_UTILS_EXTENSION_NAME);
    VkInstanceCreateFlags flags = 0;
    // Drivers that stand on another API (MoltenVK) are listed only to who asks for them.
    if (enable(VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME))
        flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;

    const VkDebugUtilsMessengerCreateInfoEXT messenger{
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
        .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT |
                           VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT,
        .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
        .pfnUserCallback = on_message,
        .pUserData = &options_.on_validation_message,
    };
    std::vector<VkValidationFeatureEnableEXT> checks{
        VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT};
    if (options_.gpu_assisted_validation) {
        checks.push_back(VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT);
        checks.push_back(VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT);
    }
    const VkValidationFeaturesEXT validation{
        .sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
        .pNext = debug_utils ? &messenger : nullptr,
        .enabledValidationFeatureCount = static_cast<std::uint32_t>(checks.size()),
        .pEnabledValidationFeatures = checks.data(),
    };
    if (options_.validation) {
        if (!has_validation_layer(get)) {
            return tl::unexpected(
                Error{ErrorCode::unsupported,
                      fmt::format("validation was asked for, but {} is not installed (Debian: "
                                  "vulkan-validationlayers)",
                                  kValidationLayer)});
        }
        layers.push_back(kValidationLayer);
        if (has(instance_extensions(get, kValidationLayer),
                VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME))
            extensions.push_back(VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME);
    }

    const VkApplicationInfo application{
        .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
        .pApplicationName = "lanewise",
        .pEngineName = "lanewise",
        .apiVersion = options_.api_version,
    };
    const VkInstanceCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
        .pNext = options_.validation ? &validation : nullptr,
        .flags = flags,
        .pApplicationInfo = &application,
        .enabledLayerCount = static_cast<std::uint32_t>(layers.size()),
        .ppEnabledLayerNames = layers.data(),
        .enabledExtensionCount = static_cast<std::uint32_t>(extensions.size()),
        .ppEnabledExtensionNames = extensions.data(),
    };
    VkResult result = create(&info, options_.allocator, &instance_);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        return tl::unexpected(Error{ErrorCode::unsupported,
                                    "no Vulkan driver here: install one (Debian: "
                                    "mesa-vulkan-drivers, which has a CPU driver too)"});
    if (result != VK_SUCCESS) return failed(result, "making a Vulkan instance");

    const char* missing = nullptr;
#define LANEWISE_LOAD(name)                                                \
    vk_.name = reinterpret_cast<PFN_vk##name>(get(instance_, "vk" #name)); \
    if (vk_.name == nullptr) missing = "vk" #name;
    LANEWISE_OWNED_INSTANCE_FUNCTIONS(LANEWISE_LOAD)
#undef LANEWISE_LOAD
    if (missing != nullptr)
        return tl::unexpected(Error{ErrorCode::unsupported,
                                    fmt::format("the Vulkan loader has no {}: it is older than "
                                                "Vulkan 1.1",
                                                missing)});

    if (options_.validation && debug_utils) {
        const auto create_messenger = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
            get(instance_, "vkCreateDebugUtilsMessengerEXT"));
        result = create_messenger(instance_, &messenger, options_.allocator, &messenger_);
        if (result != VK_SUCCESS) return failed(result, "listening to the validation layer");
    }
    return {};
}

Result<std::vector<OwnedDevice::Candidate>> OwnedDevice::candidates() const {
    std::uint32_t count = 0;
    VkResult result = vk_.EnumeratePhysicalDevices(instance_, &count, nullptr);
    std::vector<VkPhysicalDevice> devices(count);
    if (result == VK_SUCCESS)
        result = vk_.EnumeratePhysicalDevices(instance_, &count, devices.data());
    // Loaders differ in how they say that no driver has a device.
    if (result == VK_ERROR_INITIALIZATION_FAILED) return std::vector<Candidate>{};
    if (result != VK_SUCCESS && result != VK_INCOMPLETE)
        return failed(result, "listing the Vulkan devices");
    devices.resize(count);

    std::vector<Candidate> found;
    for (const VkPhysicalDevice device : devices) {
        VkPhysicalDeviceProperties properties{};
        vk_.GetPhysicalDeviceProperties(device, &properties);
        Candidate candidate;
        candidate.device = device;
        candidate.version = std::min(properties.apiVersion, options_.api_version);
        candidate.limits = properties.limits;
        candidate.listing = {
            .index = static_cast<std::uint32_t>(found.size()),
            .name = properties.deviceName,
            .driver = driver_text(vk_, device, candidate.version),
            .type = properties.deviceType,
        };
        found.push_back(std::move(candidate));
    }
    return found;
}

Result<void> OwnedDevice::choose_device() {
    auto found = candidates();
    if (!found) return tl::unexpected(found.error());
    const std::string& wanted = options_.device;

    const Candidate* chosen = nullptr;
    for (const Candidate& candidate : *found) {
        const bool fits =
            lanewise::detail::is_wanted(wanted, candidate.listing.index, candidate.listing.name);
        if (fits && candidate.version >= VK_API_VERSION_1_1 &&
            (chosen == nullptr || rank_of(candidate.listing.type) < rank_of(chosen->listing.type)))
            chosen = &candidate;
    }
    if (chosen == nullptr) {
        std::string names;
        for (const Candidate& candidate : *found)
            names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", candidate.listing.index,
                                 candidate.listing.name);
        if (names.empty())
            return tl::unexpected(Error{ErrorCode::unsupported,
                                        "there is no Vulkan device here: install a driver (Debian: "
                                        "mesa-vulkan-drivers, which has a CPU driver too)"});
        return tl::unexpected(Error{
            wanted.empty() ? ErrorCode::unsupported : ErrorCode::bad_argument,
            fmt::format("no device '{}' of Vulkan 1.1 or later; there are: {}", wanted, names)});
    }
    physical_device_ = chosen->device;
    listing_ = chosen->listing;
    limits_ = chosen->limits;
    version_ = chosen->version;
    vk_.GetPhysicalDeviceMemoryProperties(physical_device_, &memory_);
    return {};
}

Result<std::vector<DeviceListing>> OwnedDevice::list() {
    // Where there is nothing to list, that is the answer, not a failure.
    if (!open_loader()) return std::vector<DeviceListing>{};
    OwnedDevice lister({});
    if (auto made = lister.make_instance(); !made) {
        if (made.error().code == ErrorCode::unsupported) return std::vector<DeviceListing>{};
        return tl::unexpected(made.error());
    }
    auto found = lister.candidates();
    if (!found) return tl::unexpected(found.error());
    std::vector<DeviceListing> listings;
    for (Candidate& candidate : *found) listings.push_back(std::move(candidate.listing));
    return listings;
}

void OwnedDevice::destroy_instance() {
    if (instance_ == VK_NULL_HANDLE) return;
    if (messenger_ != VK_NULL_HANDLE) {
        const auto destroy_messenger = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
            get_instance_proc_addr_(instance_, "vkDestroyDebugUtilsMessengerEXT"));
        destroy_messenger(instance_, messenger_, options_.allocator);
    }
    // By name, as vk_ may have been filled in part.
    const auto destroy = reinterpret_cast<PFN_vkDestroyInstance>(
        get_instance_proc_addr_(instance_, "vkDestroyInstance"));
    destroy(instance_, options_.allocator);
}

}  // namespace lanewise::vulkan::detail
