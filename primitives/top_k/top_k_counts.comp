// Purpose: of the keys that may still be the k-th, how many have each value of the next digit.
// Passes before: count_to_groups, where the count is in a buffer; top_k_digit of the digit above. After:
//   top_k_digit.
// Inputs: keys_in (0); scratch (1): what top_k_digit found (tile/threshold.glsl), parameters where the count
//   is in a buffer. Outputs: state (2), the bins, which are zero before and are added to.
// Needs: nothing.
// Memory order: none; bins are relaxed atomics.
// Tail: keys that are not there are not counted.
// Source: Alabi, Blanchard, Gordon and Steinbach, "Fast k-Selection Algorithms for Graphics Processing
//   Units", 2012, for selection digit by digit from the highest.
// What differs in WGSL: nothing but the spelling.
//
//     image       | digits that are known | this digit | lower ones |
//     counted     if equal to the prefix    in its bin
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
layout(constant_id = 2) const uint kDigitBits = 8u;            // of this digit; 1 to 11
layout(constant_id = 3) const uint kShift = 24u;               // the first bit of this digit
layout(constant_id = 4) const uint kTableOffset = 64u;         // in scratch, words
layout(constant_id = 10) const uint kKeyKind = 0u;             // item/names.glsl
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 12) const uint kDescending = 0u;          // 1: from the largest key to the smallest
layout(constant_id = 13) const uint kSourceBits = 32u;         // of a key in keys_in
layout(constant_id = 14) const uint kImageIn = 1u;             // always
const uint kBins = 1u << kDigitBits;

#define LW_BINDINGS 3
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(keys_in, 0, readonly)
LW_BUFFER(scratch, 1, readonly)
LW_BUFFER(state, 2, coherent)
#include "tile/share.glsl"
#include "tile/load_key.glsl"
#include "tile/threshold.glsl"

const uint kTileItems = kWorkgroupSize * kItems;

shared uint sh_bins[kBins];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint group = group_number();
    Share share = read_share();
    bool first_digit = kShift + kDigitBits == kKeyBits;
    Key prefix = key_of_zeros();
    if (!first_digit) prefix = load_threshold().key;
    for (uint bin = lane; bin < kBins; bin += kWorkgroupSize) sh_bins[bin] = 0u;
    barrier();
    uint end = min((group + 1u) * share.tiles_per_group, share.tiles);
    for (uint tile = group * share.tiles_per_group; tile < end; ++tile) {
        uint first = tile * kTileItems;
        uint items = min(kTileItems, share.count.x - first);
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = k * kWorkgroupSize + lane;
            if (place < items) {
                Key image = load_key(first + place);
                if (first_digit || same_above(image, prefix, kShift + kDigitBits)) {
                    atomicAdd(sh_bins[digit_of(image, kShift, kDigitBits)], 1u);
                }
            }
        }
    }
    barrier();
    for (uint bin = lane; bin < kBins; bin += kWorkgroupSize) {
        if (sh_bins[bin] != 0u) atomicAdd(LW_WORD(state, bin), sh_bins[bin]);
    }
}
