// Purpose: how many keys of each workgroup's share are before the threshold, and how many equal it.
// Passes before: top_k_digit of the lowest digit. After: top_k_offsets.
// Inputs: keys_in (0). Inputs and outputs: scratch (1): the threshold (tile/threshold.glsl) and behind it two
//   words for each workgroup; parameters where the count is in a buffer.
// Needs: nothing.
// Memory order: none of its own.
// Tail: keys that are not there are not counted.
// Source: none.
// What differs in WGSL: nothing but the spelling.
//
//     sums      group 0: before, equal | group 1: before, equal | ...
#version 450

// Prologue: a build or the assembler replaces these.
#ifndef LW_KEY_WORDS
#define LW_KEY_WORDS 1  // 2: keys of 64 bits
#endif
// LW_DEVICE_ADDRESS: buffers by address; else by descriptor.
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;      // a power of two
layout(constant_id = 1) const uint kItems = 8u;                // of a lane and tile
layout(constant_id = 4) const uint kTableOffset = 64u;         // in scratch, words
layout(constant_id = 10) const uint kKeyKind = 0u;             // item/names.glsl
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 12) const uint kDescending = 0u;          // 1: from the largest key to the smallest
layout(constant_id = 13) const uint kSourceBits = 32u;         // of a key in keys_in
layout(constant_id = 14) const uint kImageIn = 1u;             // always
layout(constant_id = 20) const uint kSumsOffset = 128u;        // in scratch, words

#define LW_BINDINGS 2
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(keys_in, 0, readonly)
LW_BUFFER(scratch, 1, coherent)
#include "tile/share.glsl"
#include "tile/load_key.glsl"
#include "tile/threshold.glsl"

const uint kTileItems = kWorkgroupSize * kItems;

shared uint sh_sums[2];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint group = group_number();
    Share share = read_share();
    Key threshold = load_threshold().key;
    if (lane < 2u) sh_sums[lane] = 0u;
    barrier();
    uint before = 0u;
    uint equal = 0u;
    uint end = min((group + 1u) * share.tiles_per_group, share.tiles);
    for (uint tile = group * share.tiles_per_group; tile < end; ++tile) {
        uint first = tile * kTileItems;
        uint items = min(kTileItems, share.count.x - first);
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = k * kWorkgroupSize + lane;
            if (place < items) {
                uint side = side_of(load_key(first + place), threshold);
                before += side == 0u ? 1u : 0u;
                equal += side == 1u ? 1u : 0u;
            }
        }
    }
    if (before != 0u) atomicAdd(sh_sums[0], before);
    if (equal != 0u) atomicAdd(sh_sums[1], equal);
    barrier();
    if (lane < 2u) LW_WORD(scratch, kSumsOffset + 2u * group + lane) = sh_sums[lane];
}
