#include "src/vulkan/functions.hpp"

#include <fmt/format.h>

namespace lanewise::vulkan::detail {

Result<Functions> load_functions(PFN_vkGetInstanceProcAddr get_instance_proc_addr,
                                 VkInstance instance, VkDevice device) {
    Functions vk;
    const char* missing = nullptr;

    const auto from_instance = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
            get_instance_proc_addr(instance, name));
        return function != nullptr;
    };
#define LANEWISE_LOAD(name) \
    if (!from_instance(vk.name, "vk" #name)) missing = "vk" #name;
    LANEWISE_INSTANCE_FUNCTIONS(LANEWISE_LOAD)
#undef LANEWISE_LOAD
#define LANEWISE_LOAD(name) from_instance(vk.name, "vk" #name);
    LANEWISE_DEBUG_FUNCTIONS(LANEWISE_LOAD)
#undef LANEWISE_LOAD

    if (missing == nullptr) {
        const auto from_device = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(
                vk.GetDeviceProcAddr(device, name));
            return function != nullptr;
        };
#define LANEWISE_LOAD(name) \
    if (!from_device(vk.name, "vk" #name)) missing = "vk" #name;
        LANEWISE_DEVICE_FUNCTIONS(LANEWISE_LOAD)
#undef LANEWISE_LOAD
        from_device(vk.CmdPushDescriptorSetKHR, "vkCmdPushDescriptorSetKHR");
        // The extension's name first: loaders hand out the core name on a device that is used as
        // an older version, too, where calling it is not allowed.
        if (!from_device(vk.GetBufferDeviceAddress, "vkGetBufferDeviceAddressKHR"))
            from_device(vk.GetBufferDeviceAddress, "vkGetBufferDeviceAddress");
    }

    if (missing != nullptr) {
        return tl::unexpected(Error{
            ErrorCode::bad_argument,
            fmt::format("get_instance_proc_addr has no {} for this instance and device: is the "
                        "instance of Vulkan 1.1 or later, and does the device belong to it?",
                        missing)});
    }
    return vk;
}

}  // namespace lanewise::vulkan::detail
