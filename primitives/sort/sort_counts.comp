// Purpose: how many keys with each value of one digit each workgroup's share of the input has.
// Passes before: count_to_groups, where the count is in a buffer; sort_scatter of the digit below. After:
//   sort_offsets.
// Inputs: keys_in (0). Outputs: scratch (1): the table of counts, bin by bin, a word for each workgroup.
//   Parameters where the count is in a buffer.
// Needs: nothing.
// Memory order: none of its own.
// Tail: keys that are not there are not counted.
// Source: Satish, Harris and Garland, "Designing Efficient Sorting Algorithms for Manycore GPUs", 2009,
//   for counts, their scan, and a scatter.
// What differs in WGSL: nothing but the spelling.
//
//     table     bin 0: group 0, 1, 2, ... | bin 1: group 0, 1, 2, ... | ...
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
layout(constant_id = 2) const uint kDigitBits = 8u;            // of this digit; 0 to 8
layout(constant_id = 3) const uint kShift = 0u;                // the first bit of this digit
layout(constant_id = 4) const uint kTableOffset = 64u;         // in scratch, words
layout(constant_id = 10) const uint kKeyKind = 0u;             // item/names.glsl
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 12) const uint kDescending = 0u;          // 1: from the largest key to the smallest
layout(constant_id = 13) const uint kSourceBits = 32u;         // of a key in keys_in
layout(constant_id = 14) const uint kImageIn = 1u;             // 0: keys_in has images
layout(constant_id = 26) const uint kMostCount = ~0u;           // of the items, the first so many; ~0: all
const uint kBins = 1u << kDigitBits;

#define LW_BINDINGS 2
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(keys_in, 0, readonly)
LW_BUFFER(scratch, 1, coherent)
#include "tile/share.glsl"
#include "tile/load_key.glsl"

const uint kTileItems = kWorkgroupSize * kItems;

shared uint sh_bins[kBins];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint group = group_number();
    Share share = read_first_share(kMostCount, kTileItems);
    for (uint bin = lane; bin < kBins; bin += kWorkgroupSize) sh_bins[bin] = 0u;
    barrier();
    uint end = min((group + 1u) * share.tiles_per_group, share.tiles);
    for (uint tile = group * share.tiles_per_group; tile < end; ++tile) {
        uint first = tile * kTileItems;
        uint items = min(kTileItems, share.count.x - first);
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = k * kWorkgroupSize + lane;
            if (place < items) {
                atomicAdd(sh_bins[digit_of(load_key(first + place), kShift, kDigitBits)], 1u);
            }
        }
    }
    barrier();
    for (uint bin = lane; bin < kBins && group < share.groups; bin += kWorkgroupSize) {
        LW_WORD(scratch, kTableOffset + bin * share.groups + group) = sh_bins[bin];
    }
}
