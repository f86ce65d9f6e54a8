// Purpose: where the keys with each value of each digit begin in that digit's output.
// Passes before: sort_histograms. After: sort_lookback of each digit.
// Inputs: state (1), the bins of all digits; left zero. Outputs: scratch (0), their bases in the table
//   of tile/digit_table.glsl. One workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: a digit without keys has bases, too.
// Source: none.
// What differs in WGSL: nothing but the spelling.
#version 450

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;      // a power of two
layout(constant_id = 4) const uint kTableOffset = 64u;         // in scratch, words
layout(constant_id = 20) const uint kRowWords = 256u;          // of the table, for each tile
layout(constant_id = 21) const uint kMostTiles = 1u;           // that the table has room for
layout(constant_id = 24) const uint kDigits = 4u;              // how many digits there are

#define LW_BINDINGS 2
#include "tile/memory.glsl"
LW_BUFFER(scratch, 0, writeonly)
LW_BUFFER(state, 1, coherent)
#include "tile/digit_table.glsl"
#include "workgroup/offsets_barrier.glsl"

void main() {
    uint lane = gl_LocalInvocationIndex;
    const uint per_lane = kRowWords > kWorkgroupSize ? kRowWords / kWorkgroupSize : 1u;
    for (uint digit = 0u; digit < kDigits; ++digit) {
        uint bins[per_lane];
        uint sum = 0u;
        [[unroll]] for (uint j = 0u; j < per_lane; ++j) {
            uint bin = lane * per_lane + j;
            bins[j] = 0u;
            if (bin < kRowWords) {
                bins[j] = LW_WORD(state, digit * kRowWords + bin);
                LW_WORD(state, digit * kRowWords + bin) = 0u;
            }
            sum += bins[j];
        }
        uint total;
        uint base = workgroup_offset(sum, lane, total);
        [[unroll]] for (uint j = 0u; j < per_lane; ++j) {
            uint bin = lane * per_lane + j;
            if (bin < kRowWords) LW_WORD(scratch, base_word(digit, bin)) = base;
            base += bins[j];
        }
        barrier();
    }
}
