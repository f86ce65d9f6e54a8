// Purpose: one digit of the sort: keys, and values with them, go where sort_offsets says.
// Passes before: sort_offsets. After: sort_counts of the digit above; sort_pack for narrow keys.
// Inputs: keys_in (0), values_in (3). Outputs: keys_out (1), values_out (4); none of the inputs.
//   Scratch (2): the table of offsets (sort_counts.comp); parameters where the count is in a buffer.
// Needs: subgroup form: basic, ballot and shuffle operations.
// Memory order: none of its own.
// Tail: keys that are not there have no rank and are not written.
// Source: as sort_counts.comp.
// What differs in WGSL: nothing but the spelling.
//
//     a workgroup's share     tile 0          | tile 1          | ...
//     a bin's offset          from the table  | + what tile 0 has of it | ...
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
layout(constant_id = 2) const uint kDigitBits = 8u;            // of this digit; 0 to 8
layout(constant_id = 3) const uint kShift = 0u;                // the first bit of this digit
layout(constant_id = 4) const uint kTableOffset = 64u;         // in scratch, words
layout(constant_id = 5) const uint kSubgroupSize = 0u;         // 0: read in the shader
layout(constant_id = 6) const uint kFullSubgroups = 0u;        // 1: promised by the API
layout(constant_id = 7) const uint kBallotWords = 4u;          // that hold the lanes of a subgroup
layout(constant_id = 8) const uint kRankSlots = 1u;            // subgroups that have counters of their own
layout(constant_id = 9) const uint kRankOverlay = 1u;          // 1: counters share words with what moves
layout(constant_id = 10) const uint kKeyKind = 0u;             // item/names.glsl
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 12) const uint kDescending = 0u;          // 1: from the largest key to the smallest
layout(constant_id = 13) const uint kSourceBits = 32u;         // of a key in keys_in
layout(constant_id = 14) const uint kImageIn = 1u;             // 0: keys_in has images
layout(constant_id = 15) const uint kImageOut = 1u;            // 0: keys_out takes images
layout(constant_id = 16) const uint kValueWords = 1u;          // 1 to 4
layout(constant_id = 17) const uint kIndices = 0u;             // 1: values are the numbers of the items
layout(constant_id = 18) const uint kWriteKeys = 1u;           // 0: only values are wanted
layout(constant_id = 26) const uint kMostCount = ~0u;           // of the items, the first so many; ~0: all
const uint kBins = 1u << kDigitBits;

#ifdef LW_VALUES
#define LW_BINDINGS 5
#else
#define LW_BINDINGS 3
#endif
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(keys_in, 0, readonly)
LW_BUFFER(keys_out, 1, writeonly)
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
#define LW_RECORDS_STORE
#include "tile/load_key.glsl"
#include "tile/records.glsl"

void workgroup_counted(uint vlane, uint totals[kBinsPerLane]) {}

void main() {
    RankLane lane = workgroup_rank_lane();
    Share share = read_first_share(kMostCount, kTileItems);
    uint group = group_number();
    uint end = min((group + 1u) * share.tiles_per_group, share.tiles);
    uint offsets[kBinsPerLane];
    [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
        uint bin = lane.vlane * kBinsPerLane + j;
        offsets[j] = 0u;
        if (bin < kBins && group < share.groups) offsets[j] = LW_WORD(scratch, kTableOffset + bin * share.groups + group);
    }
    for (uint tile = group * share.tiles_per_group; tile < end; ++tile) {
        uint first = tile * kTileItems;
        uint items = min(kTileItems, share.count.x - first);
        Key keys[kItems];
        load_keys(lane, first, items, keys);
        uint ranks[kItems];
        uint starts[kBinsPerLane];
        uint totals[kBinsPerLane];
        workgroup_rank(lane, keys, items, kShift, kDigitBits, ranks, starts, totals);
        if (kRankOverlay != 0u) barrier();
        move_lows(keys, ranks, items);
#ifdef LW_VALUES
        uint values[kItems];
        load_values(lane, first, ranks, items, 0u, values);
#endif
        [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
            uint bin = lane.vlane * kBinsPerLane + j;
            if (bin < kBins) sh_base[bin] = offsets[j] - starts[j];
            offsets[j] += totals[j];
        }
        barrier();
        uint places[kItems];
        workgroup_store_keys(lane.vlane, keys, ranks, items, kShift, kDigitBits, places);
#ifdef LW_VALUES
        workgroup_store_values(lane, first, ranks, items, places, values);
#endif
        barrier();
    }
}
