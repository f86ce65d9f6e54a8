// What the modules of kernels/workgroup/ need, as they say at their top.
#pragma once

#include <cstdint>

#include "lanewise/caps.hpp"

namespace lanewise::detail {

// The tier by whose needs a kernel's workgroup memory is sized: where a size can be required but
// full subgroups cannot (WebGPU), a pinned kernel is the portable one.
Tier sizing_tier(const Caps& caps, Tier tier);
// Bytes of workgroup memory that subgroups take to number themselves, where the API may lack that
// (subgroup/lane_number.wgsl).
std::uint32_t numbering_bytes(const Caps& caps, Tier tier);

// Accumulators in workgroup memory: kReduceSlots of reduce_barrier.glsl. The barrier form, which
// the portable tier may take, holds every level of its tree; the pinned subgroup form the values of
// its subgroups.
std::uint32_t workgroup_reduce_slots(Tier tier, std::uint32_t w, std::uint32_t subgroup_size);
// Control barriers of one workgroup_reduce, at most.
std::uint32_t workgroup_reduce_barriers(Tier tier, std::uint32_t w, std::uint32_t subgroup_size);

// The same of workgroup_scan with `rows` values of each lane: kScanSlots of scan_barrier.glsl.
std::uint32_t workgroup_scan_slots(Tier tier, std::uint32_t w, std::uint32_t rows,
                                   std::uint32_t subgroup_size);
std::uint32_t workgroup_scan_barriers(Tier tier, std::uint32_t w, std::uint32_t rows,
                                      std::uint32_t subgroup_size);

}  // namespace lanewise::detail
