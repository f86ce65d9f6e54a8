#include "src/vulkan/gpu_loader.hpp"

#ifdef _WIN32
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#else
#include <dlfcn.h>
#endif

#include <string>

namespace lanewise::vulkan::detail {

namespace {

#ifdef _WIN32
constexpr const char* kNames[] = {"vulkan-1.dll"};
#elif defined(__APPLE__)
constexpr const char* kNames[] = {"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"};
#else
constexpr const char* kNames[] = {"libvulkan.so.1", "libvulkan.so"};
#endif

PFN_vkGetInstanceProcAddr open(const char* name) {
    // Never closed: layers and drivers leave threads and thread-local data behind.
#ifdef _WIN32
    const HMODULE library = LoadLibraryA(name);
    if (library == nullptr) return nullptr;
    return reinterpret_cast<PFN_vkGetInstanceProcAddr>(
        reinterpret_cast<void*>(GetProcAddress(library, "vkGetInstanceProcAddr")));
#else
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    return reinterpret_cast<PFN_vkGetInstanceProcAddr>(dlsym(library, "vkGetInstanceProcAddr"));
#endif
}

PFN_vkGetInstanceProcAddr open_first() {
    for (const char* name : kNames) {
        if (const PFN_vkGetInstanceProcAddr found = open(name)) return found;
    }
    return nullptr;
}

}  // namespace

Result<PFN_vkGetInstanceProcAddr> open_loader() {
    static const PFN_vkGetInstanceProcAddr found = open_first();
    if (found != nullptr) return found;
    return tl::unexpected(Error{ErrorCode::unsupported,
                                std::string("no Vulkan loader here (") + kNames[0] +
                                    "): install the graphics driver or the vulkan loader package"});
}

}  // namespace lanewise::vulkan::detail
