// Passes that several algorithms share, and the layout of scratch that hosts and kernels rely on
// (kernels/kernels.md).
#pragma once

#include <cstdint>

#include "lanewise/plan.hpp"

namespace lanewise::detail {

// Scratch: the parameters as count_to_groups wrote them, then the arguments of indirect dispatches,
// then what the algorithm keeps there.
inline constexpr std::uint32_t kParameterBytes = 32;
inline constexpr std::uint32_t kIndirectBytes = 16;  // x, y, z and a spare word, for each dispatch
// Sub-ranges of scratch start at multiples of this: the largest storage_offset_alignment that
// Vulkan and WebGPU allow a device.
inline constexpr std::uint32_t kScratchAlignment = 256;

// Bytes before the algorithm's own part of scratch.
std::uint64_t scratch_header_bytes(std::uint32_t dispatches);

// The pass that turns a count in a buffer into the arguments of indirect dispatches.
Pass count_to_groups_pass(const Caps& caps, const Share& share, std::uint64_t max_count,
                          Addressing addressing);

}  // namespace lanewise::detail
