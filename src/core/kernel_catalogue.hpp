// The kernels compiled at build time, by name. The table itself is generated (tools/kernels.py).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "lanewise/bundle.hpp"
#include "lanewise/plan.hpp"

namespace lanewise::detail {

struct KernelModule {
    std::string_view name;        // e.g. "reduce_tiles.subgroup.e32_a32.descriptor"
    std::uint32_t spirv_version;  // 0x00010300 or 0x00010600, as in the module's header
    std::span<const std::uint32_t> words;
};

// Sorted by name, then version.
std::span<const KernelModule> kernel_catalogue();

// The newest module of that name with at most that version; null when there is none.
const KernelModule* find_kernel(std::string_view name, std::uint32_t max_spirv_version);

// The same, or what a bundle (may be null) has of that name.
std::optional<KernelModule> find_kernel(std::string_view name, std::uint32_t max_spirv_version,
                                        const Bundle* bundle);
// Says that a plan's kernel is nowhere, and what to do about it.
std::string no_kernel(const Plan& plan, std::string_view name);

}  // namespace lanewise::detail
