#include "src/vulkan/context.hpp"

#include <fmt/format.h>

namespace lanewise::vulkan::detail {

namespace {

ErrorCode code_of(VkResult result) {
    switch (result) {
        case VK_ERROR_OUT_OF_HOST_MEMORY:
        case VK_ERROR_OUT_OF_DEVICE_MEMORY:
        case VK_ERROR_OUT_OF_POOL_MEMORY:
        case VK_ERROR_FRAGMENTED_POOL:
        case VK_ERROR_FRAGMENTATION:
        case VK_ERROR_MEMORY_MAP_FAILED: return ErrorCode::out_of_memory;
        case VK_ERROR_TOO_MANY_OBJECTS: return ErrorCode::limit_exceeded;
        case VK_ERROR_DEVICE_LOST: return ErrorCode::device_lost;
        case VK_ERROR_INVALID_SHADER_NV: return ErrorCode::compile_failed;
        default: return ErrorCode::unsupported;
    }
}

}  // namespace

std::string result_text(VkResult result) {
#define LANEWISE_CASE(name) \
    case name: return #name;
    switch (result) {
        LANEWISE_CASE(VK_SUCCESS)
        LANEWISE_CASE(VK_NOT_READY)
        LANEWISE_CASE(VK_TIMEOUT)
        LANEWISE_CASE(VK_INCOMPLETE)
        LANEWISE_CASE(VK_ERROR_OUT_OF_HOST_MEMORY)
        LANEWISE_CASE(VK_ERROR_OUT_OF_DEVICE_MEMORY)
        LANEWISE_CASE(VK_ERROR_INITIALIZATION_FAILED)
        LANEWISE_CASE(VK_ERROR_DEVICE_LOST)
        LANEWISE_CASE(VK_ERROR_MEMORY_MAP_FAILED)
        LANEWISE_CASE(VK_ERROR_LAYER_NOT_PRESENT)
        LANEWISE_CASE(VK_ERROR_EXTENSION_NOT_PRESENT)
        LANEWISE_CASE(VK_ERROR_FEATURE_NOT_PRESENT)
        LANEWISE_CASE(VK_ERROR_INCOMPATIBLE_DRIVER)
        LANEWISE_CASE(VK_ERROR_TOO_MANY_OBJECTS)
        LANEWISE_CASE(VK_ERROR_FRAGMENTED_POOL)
        LANEWISE_CASE(VK_ERROR_UNKNOWN)
        LANEWISE_CASE(VK_ERROR_OUT_OF_POOL_MEMORY)
        LANEWISE_CASE(VK_ERROR_FRAGMENTATION)
        LANEWISE_CASE(VK_ERROR_INVALID_SHADER_NV)
        LANEWISE_CASE(VK_PIPELINE_COMPILE_REQUIRED)
        default: return fmt::format("VkResult {}", static_cast<int>(result));
    }
#undef LANEWISE_CASE
}

Error result_error(VkResult result, std::string_view doing, std::uint64_t bytes) {
    const ErrorCode code = code_of(result);
    std::string message = fmt::format("{} failed with {}", doing, result_text(result));
    if (bytes > 0 && code == ErrorCode::out_of_memory)
        message += fmt::format(": {} bytes were wanted", bytes);
    else if (result == VK_ERROR_OUT_OF_HOST_MEMORY || result == VK_ERROR_OUT_OF_DEVICE_MEMORY)
        message += ": the driver does not say how many bytes it wanted";
    return Error{code, std::move(message)};
}

tl::unexpected<Error> DeviceContext::failed(VkResult result, std::string_view doing,
                                            std::uint64_t bytes) const {
    if (result == VK_ERROR_DEVICE_LOST) lost = true;
    return tl::unexpected(result_error(result, doing, bytes));
}

Result<void> DeviceContext::alive() const {
    if (!lost) return {};
    return tl::unexpected(
        Error{ErrorCode::device_lost, "the device was lost in an earlier call: make a new one"});
}

}  // namespace lanewise::vulkan::detail
