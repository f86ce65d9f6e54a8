#include "src/core/kernel_catalogue.hpp"

namespace lanewise::detail {

const KernelModule* find_kernel(std::string_view name, std::uint32_t max_spirv_version) {
    const KernelModule* found = nullptr;
    for (const KernelModule& module : kernel_catalogue()) {
        if (module.name == name && module.spirv_version <= max_spirv_version) found = &module;
    }
    return found;
}

}  // namespace lanewise::detail
