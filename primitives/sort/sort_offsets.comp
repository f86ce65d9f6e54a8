// Purpose: where each workgroup's keys with each value of one digit begin in the output.
// Passes before: sort_counts. After: sort_scatter.
// Inputs and outputs: scratch (0): the table of counts becomes one of offsets. Parameters where the count
//   is in a buffer. One workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: words past the table are neither read nor written.
// Source: as sort_counts.comp.
// What differs in WGSL: nothing but the spelling.
//
//     table     3 1 2 | 0 4 1 | ...    ->    0 3 4 | 6 6 10 | ...
#version 450

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;      // a power of two
layout(constant_id = 1) const uint kItems = 8u;                // of a lane and tile
layout(constant_id = 2) const uint kDigitBits = 8u;            // of this digit; 0 to 8
layout(constant_id = 4) const uint kTableOffset = 64u;         // in scratch, words
layout(constant_id = 26) const uint kMostCount = ~0u;           // of the items, the first so many; ~0: all
const uint kBins = 1u << kDigitBits;

#define LW_BINDINGS 1
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(scratch, 0, coherent)
#include "tile/share.glsl"
#include "workgroup/offsets_barrier.glsl"

const uint kTileItems = kWorkgroupSize * kItems;
const uint kRun = 4u;  // neighbouring words of a lane

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint words = kBins * read_first_share(kMostCount, kTileItems).groups;
    uint before = 0u;
    for (uint first = 0u; first < words; first += kRun * kWorkgroupSize) {
        uint begin = first + lane * kRun;
        uint counts[kRun];
        uint sum = 0u;
        [[unroll]] for (uint j = 0u; j < kRun; ++j) {
            counts[j] = 0u;
            if (begin + j < words) counts[j] = LW_WORD(scratch, kTableOffset + begin + j);
            sum += counts[j];
        }
        uint total;
        uint offset = before + workgroup_offset(sum, lane, total);
        [[unroll]] for (uint j = 0u; j < kRun; ++j) {
            if (begin + j < words) LW_WORD(scratch, kTableOffset + begin + j) = offset;
            offset += counts[j];
        }
        before += total;
        barrier();
    }
}
