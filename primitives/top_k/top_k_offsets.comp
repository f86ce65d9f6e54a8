// Purpose: where each workgroup's keys before the threshold begin in the selection, and its equals.
// Passes before: top_k_sums. After: top_k_gather.
// Inputs and outputs: scratch (0): sums become offsets. Parameters where the count is in a buffer. One
//   workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: sums past the last workgroup's are neither read nor written.
// Source: none.
// What differs in WGSL: nothing but the spelling.
//
//     sums      3 1 | 0 4 | 2 0    ->    0 0 | 3 1 | 3 5
#version 450

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;      // a power of two
layout(constant_id = 20) const uint kSumsOffset = 128u;        // in scratch, words

#define LW_BINDINGS 1
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(scratch, 0, coherent)
#include "tile/share.glsl"
#include "workgroup/offsets_barrier.glsl"

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint groups = read_share().groups;
    uvec2 offsets = uvec2(0u);
    for (uint first = 0u; first < groups; first += kWorkgroupSize) {
        uint group = first + lane;
        [[unroll]] for (uint j = 0u; j < 2u; ++j) {
            uint at = kSumsOffset + 2u * group + j;
            uint sum = group < groups ? LW_WORD(scratch, at) : 0u;
            uint total;
            uint before = workgroup_offset(sum, lane, total);
            if (group < groups) LW_WORD(scratch, at) = offsets[j] + before;
            offsets[j] += total;
            barrier();
        }
    }
}
