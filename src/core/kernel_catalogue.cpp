#include "src/core/kernel_catalogue.hpp"

namespace lanewise::detail {

const KernelModule* find_kernel(std::string_view name, std::uint32_t max_spirv_version) {
    const KernelModule* found = nullptr;
    for (const KernelModule& module : kernel_catalogue()) {
        if (module.name == name && module.spirv_version <= max_spirv_version) found = &module;
    }
    return found;
}

std::optional<KernelModule> find_kernel(std::string_view name, std::uint32_t max_spirv_version,
                                        const Bundle* bundle) {
    if (bundle != nullptr) {
        if (const BundledKernel* bundled = bundle->find(name, max_spirv_version))
            return KernelModule{bundled->name, bundled->spirv_version, bundled->words};
    }
    const KernelModule* found = find_kernel(name, max_spirv_version);
    return found != nullptr ? std::optional(*found) : std::nullopt;
}

std::string no_kernel(const Plan& plan, std::string_view name) {
    std::string text = "there is no kernel " + std::string(name);
    text += plan.custom ? ": a custom operator's kernels come from lanewise::jit, or from a bundle "
                          "that it made"
                        : "; the plan is of another version of the library";
    return text;
}

}  // namespace lanewise::detail
