// Purpose: the whole sort of what one workgroup can hold, in one pass, by comparisons.
// Passes before: count_to_groups, where the count is in a buffer. After: none.
// Inputs: keys_in (0), values_in (3). Outputs: keys_out (1), values_out (4); none of the inputs.
//   Scratch (2): parameters where the count is in a buffer.
// Needs: subgroup form: basic and shuffle operations.
// Memory order: none of its own.
// Tail: records that are not there have all bits of the image set and the numbers behind the items', so
//   that they come out last; they are neither read nor written.
// Source: Batcher, "Sorting Networks and Their Applications", 1968.
// What differs in WGSL: nothing but the spelling.
//
//     records      image of the key, number of the item        in registers; the numbers only where equal
//                                                              keys could be told apart
//     distance     1 .. kItems / 2      kItems .. kItems * S / 2       above
//     exchange     in the lane          by shuffle                     after a move through sh_words
//     values       fetched by the numbers at the end
#version 450

// Prologue: a build or the assembler replaces these.
#ifndef LW_KEY_WORDS
#define LW_KEY_WORDS 1  // 2: keys of 64 bits
#endif
// LW_FORM_SUBGROUP: subgroup operations; else barriers alone.
// LW_VALUES: values besides keys.
// LW_DEVICE_ADDRESS: buffers by address; else by descriptor.
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_FORM_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;      // a power of two
layout(constant_id = 1) const uint kItems = 8u;                // of a lane; a power of two, 2 to 32
layout(constant_id = 5) const uint kSubgroupSize = 0u;         // 0: read in the shader
layout(constant_id = 6) const uint kFullSubgroups = 0u;        // 1: promised by the API
layout(constant_id = 10) const uint kKeyKind = 0u;             // item/names.glsl
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 12) const uint kDescending = 0u;          // 1: from the largest key to the smallest
layout(constant_id = 13) const uint kSourceBits = 32u;         // of a key in keys_in
layout(constant_id = 14) const uint kImageIn = 1u;             // always
layout(constant_id = 16) const uint kValueWords = 1u;          // 1 to 4
layout(constant_id = 17) const uint kIndices = 0u;             // 1: values are the numbers of the items
layout(constant_id = 18) const uint kWriteKeys = 1u;           // 0: only values are wanted
layout(constant_id = 26) const uint kMostCount = ~0u;           // of the items, the first so many; ~0: all
layout(constant_id = 27) const uint kMostResults = ~0u;         // of them in order; ~0: all
layout(constant_id = 29) const uint kNumbers = 1u;             // 0: of records with equal keys none is told apart
layout(constant_id = 30) const uint kLowMask = 0xffffffffu;    // bits of an image that count
layout(constant_id = 31) const uint kHighMask = 0xffffffffu;   // likewise, of its second word

#ifdef LW_VALUES
#define LW_BINDINGS 5
#else
#define LW_BINDINGS 3
#endif
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(keys_in, 0, readonly)
LW_BUFFER(keys_out, 1, restrict)
LW_BUFFER(scratch, 2, readonly)
#ifdef LW_VALUES
LW_BUFFER(values_in, 3, readonly)
LW_BUFFER(values_out, 4, writeonly)
#endif
#include "tile/share.glsl"
#include "subgroup/lane_number.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/bitonic_subgroup.glsl"
#else
#include "workgroup/bitonic_barrier.glsl"
#endif
#include "tile/load_key.glsl"
#include "tile/store_sorted.glsl"

void main() {
    uint vlane = lane_number();
    uint items = min(read_share().count.x, kMostCount);
    Key keys[kItems];
    uint numbers[kItems];
    uint places[kItems];
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        places[k] = bitonic_place(vlane, k, kLaneBits);
        numbers[k] = places[k];
        keys[k] = key_of_ones();
        if (places[k] < items) keys[k] = load_key(places[k]);
    }
    workgroup_bitonic_sort(vlane, items, keys, numbers);
    if (kWriteKeys != 0u && kKeyBits < 32u) barrier();
    workgroup_store_sorted(vlane, 0u, places, keys, numbers, min(items, kMostResults));
}
