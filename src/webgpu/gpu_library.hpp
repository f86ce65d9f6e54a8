// Opens an implementation of WebGPU when it is first wanted, so that programs start where there is
// none.
#pragma once

#include <string>

#include "lanewise/error.hpp"
#include "lanewise/webgpu_functions.hpp"

namespace lanewise::webgpu::detail {

struct Library {
    std::string name;  // as it was opened
    // AdapterHasFeature and DeviceHasFeature take the numbers of our header, whatever the library's
    // are.
    Functions functions;
    bool is_dawn = false;
    bool has_old_numbers = false;  // of features

    // The number that the library has for a feature of our header.
    WGPUFeatureName number_of(WGPUFeatureName feature) const;
};

// `name`: a path or name as the system's loader takes it; empty: the first of the default names
// that is found. The library stays open until the process ends. Error: unsupported, where it is not
// to be opened, or lacks a function.
Result<Library> open_library(const std::string& name);

}  // namespace lanewise::webgpu::detail
