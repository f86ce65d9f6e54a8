// Purpose: keys of 8 and 16 bits, which the digits' passes hold as words, into their own form; likewise
//   the items that select has moved.
// Passes before: sort_lookback or sort_scatter of the last digit; those of select. After: none.
// Inputs: keys_in (0), images, a word each. Outputs: keys_out (1), 32 / kKeyBits keys in each word.
//   Scratch (2): parameters where the count is in a buffer. Where it is counted: count_in (3), how many of
//   the items there are.
// Needs: nothing.
// Memory order: none of its own.
// Tail: the bytes behind the last key in its word are written back as they were.
// Source: none.
// What differs in WGSL: nothing but the spelling.
//
//     keys_in     a . . .  b . . .  c . . .  d . . .
//     keys_out    a b c d
#version 450

// Prologue: a build or the assembler replaces these.
// LW_COUNTED: the number of keys is in a buffer, or that of the items without them.
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
layout(constant_id = 10) const uint kKeyKind = 0u;             // item/names.glsl
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 12) const uint kDescending = 0u;          // 1: from the largest key to the smallest
layout(constant_id = 26) const uint kMostCount = ~0u;           // of the items, the first so many; ~0: all

#ifdef LW_COUNTED
layout(constant_id = 27) const uint kRest = 0u;                 // 1: the items without those counted
#endif

#define LW_KEY_WORDS 1
#ifdef LW_COUNTED
#define LW_BINDINGS 4
#else
#define LW_BINDINGS 3
#endif
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(keys_in, 0, readonly)
LW_BUFFER(keys_out, 1, restrict)
LW_BUFFER(scratch, 2, readonly)
#ifdef LW_COUNTED
LW_BUFFER(count_in, 3, readonly)
#endif
#include "tile/share.glsl"
#include "item/key.glsl"

const uint kTileItems = kWorkgroupSize * kItems;
const uint kPerWord = 32u / kKeyBits;

// How many of the items' words are keys, at most; ~0: as many as there are items.
uint most_keys() {
#ifdef LW_COUNTED
    uint counted = LW_WORD(count_in, 0);
    return kRest != 0u ? read_share().count.x - counted : min(kMostCount, counted);
#else
    return kMostCount;
#endif
}

void main() {
    Share share = read_first_share(most_keys(), kTileItems);
    uint group = group_number();
    uint end = min((group + 1u) * share.tiles_per_group, share.tiles);
    for (uint tile = group * share.tiles_per_group; tile < end; ++tile) {
        uint first = tile * kTileItems;
        uint items = min(kTileItems, share.count.x - first);
        for (uint i = gl_LocalInvocationIndex; i * kPerWord < items; i += kWorkgroupSize) {
            uint there = min(kPerWord, items - i * kPerWord);
            uint at = first / kPerWord + i;
            uint word = there < kPerWord ? LW_WORD(keys_out, at) : 0u;
            for (uint j = 0u; j < there; ++j) {
                uint key = key_of_image(Key(LW_WORD(keys_in, first + i * kPerWord + j))).low;
                word = bitfieldInsert(word, key, int(j * kKeyBits), int(kKeyBits));
            }
            LW_WORD(keys_out, at) = word;
        }
    }
}
