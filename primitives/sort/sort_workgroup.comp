// Purpose: the whole sort of what one workgroup can hold, in one pass.
// Passes before: count_to_groups, where the count is in a buffer. After: none.
// Inputs: keys_in (0), values_in (3). Outputs: keys_out (1), values_out (4); none of the inputs.
//   Scratch (2): parameters where the count is in a buffer.
// Needs: subgroup form: basic, ballot and shuffle operations.
// Memory order: none of its own.
// Tail: keys that are not there have no rank and are not written.
// Source: none beyond workgroup/rank_*.glsl.
// What differs in WGSL: nothing but the spelling.
//
//     digit by digit     ranks; keys to their ranks through sh_words; and the numbers of their items,
//                        by which the values are fetched at the end
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
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;      // a power of two
layout(constant_id = 1) const uint kItems = 8u;                // of a lane and tile
layout(constant_id = 2) const uint kDigitBits = 8u;            // of a digit; the last may have fewer
layout(constant_id = 3) const uint kShift = 0u;                // the first bit of the first digit
layout(constant_id = 5) const uint kSubgroupSize = 0u;         // 0: read in the shader
layout(constant_id = 6) const uint kFullSubgroups = 0u;        // 1: promised by the API
layout(constant_id = 7) const uint kBallotWords = 4u;          // that hold the lanes of a subgroup
layout(constant_id = 8) const uint kRankSlots = 1u;            // subgroups that have counters of their own
layout(constant_id = 9) const uint kRankOverlay = 1u;          // 1: counters share words with what moves
layout(constant_id = 10) const uint kKeyKind = 0u;             // item/names.glsl
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 12) const uint kDescending = 0u;          // 1: from the largest key to the smallest
layout(constant_id = 13) const uint kSourceBits = 32u;         // of a key in keys_in
layout(constant_id = 14) const uint kImageIn = 1u;             // always
layout(constant_id = 16) const uint kValueWords = 1u;          // 1 to 4
layout(constant_id = 17) const uint kIndices = 0u;             // 1: values are the numbers of the items
layout(constant_id = 18) const uint kWriteKeys = 1u;           // 0: only values are wanted
layout(constant_id = 24) const uint kDigits = 4u;              // how many digits there are
layout(constant_id = 25) const uint kEndBit = 32u;             // one past the last bit that counts
layout(constant_id = 26) const uint kMostCount = ~0u;           // of the items, the first so many; ~0: all
layout(constant_id = 27) const uint kMostResults = ~0u;         // of them in order; ~0: all
const uint kBins = 1u << kDigitBits;

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
#ifdef LW_FORM_SUBGROUP
#include "workgroup/rank_subgroup.glsl"
#else
#include "workgroup/rank_barrier.glsl"
#endif
#include "tile/load_key.glsl"
#include "tile/records.glsl"
#include "tile/store_sorted.glsl"

void workgroup_counted(uint vlane, uint totals[kBinsPerLane]) {}

void main() {
    RankLane lane = workgroup_rank_lane();
    uint items = min(read_share().count.x, kMostCount);
    Key keys[kItems];
    load_keys(lane, 0u, items, keys);
    uint numbers[kItems];
    [[unroll]] for (uint k = 0u; k < kItems; ++k) numbers[k] = tile_place(lane, k);
    for (uint digit = 0u; digit < kDigits; ++digit) {
        uint shift = kShift + digit * kDigitBits;
        uint ranks[kItems];
        uint starts[kBinsPerLane];
        uint totals[kBinsPerLane];
        workgroup_rank(lane, keys, items, shift, min(kDigitBits, kEndBit - shift), ranks, starts,
                       totals);
        barrier();
        move_lows(keys, ranks, items);
        barrier();
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = tile_place(lane, k);
            if (place < items) keys[k].low = sh_words[place];
        }
        barrier();
#if LW_KEY_WORDS == 2
        move_highs(keys, ranks, items);
        barrier();
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = tile_place(lane, k);
            if (place < items) keys[k].high = sh_words[place];
        }
        barrier();
#endif
#ifdef LW_VALUES
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            if (ranks[k] < items) sh_words[ranks[k]] = numbers[k];
        }
        barrier();
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = tile_place(lane, k);
            if (place < items) numbers[k] = sh_words[place];
        }
        barrier();
#endif
    }
    uint places[kItems];
    [[unroll]] for (uint k = 0u; k < kItems; ++k) places[k] = tile_place(lane, k);
    workgroup_store_sorted(lane.vlane, 0u, places, keys, numbers, min(items, kMostResults));
}
