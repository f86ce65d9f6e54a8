#include "src/core/workgroups.hpp"

#include "src/core/arithmetic.hpp"

namespace lanewise::detail {

Tier sizing_tier(const Caps& caps, Tier tier) {
    return tier == Tier::pinned && !caps.subgroup.full_subgroups ? Tier::portable : tier;
}

std::uint32_t numbering_bytes(const Caps& caps, Tier tier) {
    return caps.api == Api::webgpu && tier != Tier::barrier ? 8 : 0;
}

std::uint32_t workgroup_reduce_slots(Tier tier, std::uint32_t w, std::uint32_t subgroup_size) {
    if (tier != Tier::pinned) return (9 * w + 6) / 7;
    const std::uint32_t subgroups = w / subgroup_size;
    return subgroups + subgroups / (subgroup_size - 1);
}

std::uint32_t workgroup_reduce_barriers(Tier tier, std::uint32_t w, std::uint32_t subgroup_size) {
    std::uint32_t barriers = 0;
    if (tier != Tier::pinned) {
        for (std::uint32_t width = w; width > 1; width /= 8) ++barriers;
        return barriers;
    }
    for (std::uint32_t values = w / subgroup_size; values > 1;
         values = static_cast<std::uint32_t>(divide_up(values, subgroup_size))) {
        ++barriers;
    }
    return barriers;
}

std::uint32_t workgroup_scan_slots(Tier tier, std::uint32_t w, std::uint32_t rows,
                                   std::uint32_t subgroup_size) {
    if (tier == Tier::pinned) return 2 * (w / subgroup_size);
    return 9 * w * rows / 7 + 8;
}

std::uint32_t workgroup_scan_barriers(Tier tier, std::uint32_t w, std::uint32_t rows,
                                      std::uint32_t subgroup_size) {
    if (tier == Tier::pinned) return w > subgroup_size ? 1 : 0;
    std::uint32_t barriers = 2;
    for (std::uint64_t width = std::uint64_t{w} * rows; width > 1; width = divide_up(width, 8))
        ++barriers;
    return barriers;
}

}  // namespace lanewise::detail
