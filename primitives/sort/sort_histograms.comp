// Purpose: how many keys have each value of each digit, in the whole input.
// Passes before: count_to_groups, where the count is in a buffer. After: sort_bases.
// Inputs: keys_in (0). Outputs: state (2), the bins of all digits, which are zero before and are added to.
//   Scratch (1): parameters where the count is in a buffer; the table of tile/digit_table.glsl, of which
//   this clears tickets and the first digit's rows.
// Needs: nothing.
// Memory order: none; bins are relaxed atomics.
// Tail: keys that are not there are not counted.
// Source: Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022,
//   for one reading of the keys for all digits.
// What differs in WGSL: nothing but the spelling.
//
//     workgroups 0 to kCounters - 1 take tiles in turn; the others only clear their tile's row
#version 450

// Prologue: a build or the assembler replaces these.
#ifndef LW_KEY_WORDS
#define LW_KEY_WORDS 1  // 2: keys of 64 bits
#endif
// LW_DEVICE_ADDRESS: buffers by address; else by descriptor.
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;      // a power of two
layout(constant_id = 1) const uint kItems = 8u;                // of a lane and tile
layout(constant_id = 2) const uint kDigitBits = 8u;            // of a digit; the last may have fewer
layout(constant_id = 3) const uint kShift = 0u;                // the first bit of the first digit
layout(constant_id = 4) const uint kTableOffset = 64u;         // in scratch, words
layout(constant_id = 10) const uint kKeyKind = 0u;             // item/names.glsl
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 12) const uint kDescending = 0u;          // 1: from the largest key to the smallest
layout(constant_id = 13) const uint kSourceBits = 32u;         // of a key in keys_in
layout(constant_id = 14) const uint kImageIn = 1u;             // always
layout(constant_id = 20) const uint kRowWords = 256u;          // of the table, for each tile
layout(constant_id = 21) const uint kMostTiles = 1u;           // that the table has room for
layout(constant_id = 24) const uint kDigits = 4u;              // how many digits there are
layout(constant_id = 25) const uint kEndBit = 32u;             // one past the last bit that counts

#define LW_BINDINGS 3
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(keys_in, 0, readonly)
LW_BUFFER(scratch, 1, coherent)
LW_BUFFER(state, 2, coherent)
#include "tile/share.glsl"
#define LW_ROWS
#include "tile/digit_table.glsl"
#include "tile/load_key.glsl"

const uint kTileItems = kWorkgroupSize * kItems;
// Workgroups that count: enough to fill a device, and few enough that adding to the bins is cheap.
const uint kCounters = 1024u;

shared uint sh_bins[kDigits * kRowWords];

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint group = group_number();
    Share share = read_share();
    for (uint i = lane; group == 0u && i < kTickets; i += kWorkgroupSize) {
        LW_WORD(scratch, kTableOffset + i) = 0u;
    }
    if (group < share.tiles) clear_row(0u, group, lane);
    if (group < kCounters) {
        for (uint i = lane; i < kDigits * kRowWords; i += kWorkgroupSize) sh_bins[i] = 0u;
        barrier();
        uint step = min(share.groups, kCounters);
        for (uint tile = group; tile < share.tiles; tile += step) {
            uint first = tile * kTileItems;
            uint items = min(kTileItems, share.count.x - first);
            [[unroll]] for (uint k = 0u; k < kItems; ++k) {
                uint place = k * kWorkgroupSize + lane;
                if (place < items) {
                    Key key = load_key(first + place);
                    [[unroll]] for (uint digit = 0u; digit < kDigits; ++digit) {
                        uint shift = kShift + digit * kDigitBits;
                        uint bin = digit_of(key, shift, min(kDigitBits, kEndBit - shift));
                        atomicAdd(sh_bins[digit * kRowWords + bin], 1u);
                    }
                }
            }
        }
        barrier();
        for (uint i = lane; i < kDigits * kRowWords; i += kWorkgroupSize) {
            if (sh_bins[i] != 0u) atomicAdd(LW_WORD(state, i), sh_bins[i]);
        }
    }
}
