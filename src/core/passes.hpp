// Passes that several algorithms share, and the layout of scratch that hosts and kernels rely on
// (kernels/kernels.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "lanewise/error.hpp"
#include "lanewise/plan.hpp"

namespace lanewise::detail {

inline constexpr std::size_t kRoles = 12;  // that there are

// What every kernel is told of a dispatch: push constants, or the uniform buffer of WGSL
// (kernels/kernels.md). Count_to_groups writes the first five fields into scratch.
struct Parameters {
    std::uint32_t count_low = 0;
    std::uint32_t count_high = 0;
    std::uint32_t tiles = 0;
    std::uint32_t tiles_per_group = 1;
    std::uint32_t groups = 1;
    std::uint32_t first_group = 0;
    std::uint32_t flags = 0;
    std::uint32_t offset_words = 0;  // of the buffer Role::offsets as bound
};
inline constexpr std::uint32_t kShareBytes = 20;  // of those five

// Bit of Parameters::flags: the first five fields are read from scratch instead.
inline constexpr std::uint32_t kCountInBuffer = 1;

// Of the first dispatch, the count being known.
Parameters parameters_of(const Launch& launch);

// Scratch: the parameters as count_to_groups wrote them, then the arguments of indirect dispatches,
// then what the algorithm keeps there.
inline constexpr std::uint32_t kParameterBytes = 32;
static_assert(sizeof(Parameters) == kParameterBytes);
inline constexpr std::uint32_t kIndirectBytes = 16;  // x, y, z and a spare word, for each dispatch
// Sub-ranges of scratch start at multiples of this: the largest storage_offset_alignment that
// Vulkan and WebGPU allow a device.
inline constexpr std::uint32_t kScratchAlignment = 256;

// What the pass asks of a pipeline, against what the device has: a plan made for other Caps must be
// an error, not undefined behaviour in a driver. Errors: limit_exceeded, unsupported.
Result<void> check_pass(const Caps& caps, const Pass& pass, Addressing addressing);

// What a plan says of ranges of scratch. Errors: bad_argument.
Result<void> check_ranges(const Plan& plan);

// The most bytes that a pass binds of a buffer at a time, of which a use needs `needed`.
std::uint64_t most_bound(const Plan& plan, Role role, std::uint64_t needed, bool count_in_buffer);

// Bytes of `role` that a use touches of `given` bytes, when it needs `needed`: all of the offsets
// that a plan reads.
std::uint64_t used_bytes(const Plan& plan, Role role, std::uint64_t needed, std::uint64_t given);

// Caps without what the tier of a failed plan needs; null when no tier is left.
std::shared_ptr<const Caps> caps_below(Caps caps, Tier failed);

// Bytes before the algorithm's own part of scratch.
std::uint64_t scratch_header_bytes(std::uint32_t dispatches);

// BufferUsage bits of scratch, whose first bytes count_to_groups writes. WebGPU's buffers cannot be
// written by a shader and be indirect arguments in one pass: its host copies them elsewhere.
std::uint32_t scratch_usages(const Caps& caps, Addressing addressing);

// The same of the caller's other buffers, and the multiples where they may begin: kernels access
// most of them in vectors, of `least` bytes.
std::uint32_t buffer_usage(Addressing addressing);
std::uint32_t buffer_alignment(const Caps& caps, Addressing addressing, std::uint32_t least = 16);

// Bytes of an input or output of `bytes` bytes that a caller has to provide: WebGPU binds no buffer
// in two views, so that kernels take whole vectors up to the end.
std::uint64_t provided_bytes(const Caps& caps, std::uint64_t bytes);

// The pass that turns a count in a buffer into the arguments of indirect dispatches.
Pass count_to_groups_pass(const Caps& caps, const Share& share, std::uint64_t max_count,
                          Addressing addressing);

}  // namespace lanewise::detail
