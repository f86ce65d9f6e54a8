#include "src/webgpu/gpu_library.hpp"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#include <fmt/format.h>

#include <atomic>

namespace lanewise::webgpu::detail {

namespace {

#ifdef _WIN32
constexpr const char* kNames[] = {"wgpu_native.dll", "webgpu_dawn.dll"};
#elif defined(__APPLE__)
constexpr const char* kNames[] = {"libwgpu_native.dylib", "libwebgpu_dawn.dylib"};
#else
constexpr const char* kNames[] = {"libwgpu_native.so", "libwebgpu_dawn.so"};
#endif

// Only Dawn has it.
constexpr const char* kDawnFunction = "wgpuDeviceTick";
// Only Dawn of the time before features got the numbers of today's webgpu.h has it; the rest of
// what we use was the same (npm's bun-webgpu 0.1.7 carries one).
constexpr const char* kOldFunction = "wgpuComputePassEncoderSetImmediateData";

WGPUFeatureName old_number(WGPUFeatureName feature) {
    switch (feature) {
        case WGPUFeatureName_CoreFeaturesAndLimits: return static_cast<WGPUFeatureName>(0x12);
        case WGPUFeatureName_DepthClipControl: return static_cast<WGPUFeatureName>(0x01);
        case WGPUFeatureName_Depth32FloatStencil8: return static_cast<WGPUFeatureName>(0x02);
        case WGPUFeatureName_TimestampQuery: return static_cast<WGPUFeatureName>(0x03);
        default: break;
    }
    if (feature < WGPUFeatureName_TimestampQuery) return feature;
    if (feature <= WGPUFeatureName_Subgroups) return static_cast<WGPUFeatureName>(feature - 1);
    return WGPUFeatureName_Force32;  // there was none
}

std::atomic<decltype(Functions::AdapterHasFeature)> g_old_adapter_has_feature = nullptr;
std::atomic<decltype(Functions::DeviceHasFeature)> g_old_device_has_feature = nullptr;

#ifdef _WIN32
using Handle = HMODULE;
#else
using Handle = void*;
#endif

// Null with the reason in `why` where it cannot be opened. Never closed: implementations leave
// threads and thread-local data behind.
Handle open(const char* name, std::string& why) {
#ifdef _WIN32
    const Handle handle = LoadLibraryA(name);
    if (handle == nullptr) why = fmt::format("{}: error {}", name, GetLastError());
#else
    const Handle handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* said = dlerror();
        why = said != nullptr ? said : name;
    }
#endif
    return handle;
}

void* find(Handle handle, const char* name) {
#ifdef _WIN32
    return reinterpret_cast<void*>(GetProcAddress(handle, name));
#else
    return dlsym(handle, name);
#endif
}

}  // namespace

WGPUFeatureName Library::number_of(WGPUFeatureName feature) const {
    return has_old_numbers ? old_number(feature) : feature;
}

Result<Library> open_library(const std::string& name) {
    Library library{.name = name};
    std::string why;
    Handle handle = nullptr;
    if (name.empty()) {
        for (const char* candidate : kNames) {
            handle = open(candidate, why);
            library.name = candidate;
            if (handle != nullptr) break;
        }
        why = fmt::format("no library of WebGPU here ({} or {})", kNames[0], kNames[1]);
    } else {
        handle = open(name.c_str(), why);
        why = fmt::format("the library of WebGPU cannot be opened: {}", why);
    }
    if (handle == nullptr) {
        return tl::unexpected(
            Error{ErrorCode::unsupported, fmt::format("{}; name one in LANEWISE_WEBGPU_LIBRARY or "
                                                      "GpuOptions::webgpu_library",
                                                      why)});
    }

    library.functions = find_functions([&](const char* wanted) { return find(handle, wanted); });
    const char* missing = nullptr;
#define LANEWISE_REQUIRE(function) \
    if (library.functions.function == nullptr) missing = "wgpu" #function;
    LANEWISE_WEBGPU_HOST_FUNCTIONS(LANEWISE_REQUIRE)
    LANEWISE_WEBGPU_OWNING_FUNCTIONS(LANEWISE_REQUIRE)
#undef LANEWISE_REQUIRE
    if (missing != nullptr) {
        return tl::unexpected(
            Error{ErrorCode::unsupported,
                  fmt::format("{} has no function {}: it is no WebGPU, or one of another version",
                              library.name, missing)});
    }
    library.is_dawn = find(handle, kDawnFunction) != nullptr;
    library.has_old_numbers = library.is_dawn && find(handle, kOldFunction) != nullptr;
    if (library.has_old_numbers) {
        g_old_adapter_has_feature = library.functions.AdapterHasFeature;
        g_old_device_has_feature = library.functions.DeviceHasFeature;
        library.functions.AdapterHasFeature = [](WGPUAdapter adapter, WGPUFeatureName feature) {
            return g_old_adapter_has_feature.load()(adapter, old_number(feature));
        };
        library.functions.DeviceHasFeature = [](WGPUDevice device, WGPUFeatureName feature) {
            return g_old_device_has_feature.load()(device, old_number(feature));
        };
    }
    return library;
}

}  // namespace lanewise::webgpu::detail
