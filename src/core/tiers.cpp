#include "src/core/tiers.hpp"

#include <fmt/format.h>

namespace lanewise::detail {
namespace {

// What the device lacks for a tier; empty when it lacks nothing.
std::string missing_for(Tier tier, const Caps& caps, std::uint32_t operations) {
    const SubgroupCaps& subgroup = caps.subgroup;
    if (tier == Tier::barrier) return {};
    if (subgroup.operations == 0) {
        return caps.probe == ProbeState::failed
                   ? fmt::format("no usable subgroup operations ({})", caps.probe_report)
                   : "no subgroup operations";
    }
    if ((subgroup.stages & Stage::compute) == 0) {
        return fmt::format("no subgroup operations in the compute stage, only in: {}",
                           stages_to_text(subgroup.stages));
    }
    if (const std::uint32_t lacking = operations & ~subgroup.operations; lacking != 0) {
        return fmt::format("subgroup operations missing: {}", operations_to_text(lacking));
    }
    if (!subgroup.size_is_true && caps.probe != ProbeState::passed) {
        return "the subgroup size that the shader sees may be untrue (neither Vulkan 1.3 nor "
               "subgroupSizeControl, and no probe)";
    }
    if (tier == Tier::portable) return {};
    if ((subgroup.required_size_stages & Stage::compute) == 0) {
        return fmt::format(
            "a subgroup size cannot be required in compute ({})",
            caps.api == Api::webgpu ? "subgroup-size-control" : "subgroupSizeControl");
    }
    // WebGPU can require a size alone; its pinned kernels take subgroups that are not full.
    if (!subgroup.full_subgroups && caps.api != Api::webgpu) {
        return "full subgroups cannot be required (computeFullSubgroups)";
    }
    return {};
}

}  // namespace

Result<TierChoice> choose_tier(const Caps& caps, std::uint32_t operations,
                               std::optional<Tier> forced) {
    if (forced) {
        const std::string missing = missing_for(*forced, caps, operations);
        if (missing.empty()) return TierChoice{*forced, "asked for"};
        return tl::unexpected(Error{
            ErrorCode::unsupported,
            fmt::format("tier {} is not possible on this device: {}", to_text(*forced), missing),
            {}});
    }
    const std::string pinned_lacks = missing_for(Tier::pinned, caps, operations);
    if (pinned_lacks.empty()) {
        return TierChoice{Tier::pinned, caps.subgroup.full_subgroups
                                            ? "size and full subgroups can be required"
                                            : "the size can be required"};
    }
    const std::string portable_lacks = missing_for(Tier::portable, caps, operations);
    if (portable_lacks.empty()) {
        return TierChoice{Tier::portable, fmt::format("pinned lacks: {}", pinned_lacks)};
    }
    return TierChoice{Tier::barrier, fmt::format("portable lacks: {}", portable_lacks)};
}

std::uint32_t pinned_subgroup_size(const SubgroupCaps& subgroup, std::uint32_t workgroup_size) {
    const auto fits = [&](std::uint32_t size) {
        return size >= subgroup.min_size && size <= subgroup.max_size &&
               workgroup_size % size == 0 &&
               workgroup_size / size <= subgroup.max_workgroup_subgroups;
    };
    if (subgroup.size > 0 && fits(subgroup.size)) return subgroup.size;
    for (std::uint32_t size = subgroup.max_size; size > 0 && size >= subgroup.min_size; size /= 2) {
        if (fits(size)) return size;
    }
    return 0;
}

SizedAs sized_as(const Caps& caps, Tier tier, std::uint32_t workgroup_size) {
    if (tier != Tier::pinned) return {tier, 0};
    const std::uint32_t size = pinned_subgroup_size(caps.subgroup, workgroup_size);
    return {size == 0 ? Tier::portable : tier, size};
}

}  // namespace lanewise::detail
