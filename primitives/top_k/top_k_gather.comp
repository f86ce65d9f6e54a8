// Purpose: the wanted keys, and values with them, in order of their items: first those before the
//   threshold, then of its equals as many as are wanted.
// Passes before: top_k_offsets. After: the passes of a sort.
// Inputs: keys_in (0), values_in (3); scratch (2): the threshold (tile/threshold.glsl), the offsets of
//   top_k_offsets; parameters where the count is in a buffer. Outputs: keys_out (1), images of the wanted keys;
//   values_out (4).
// Needs: subgroup form: basic, ballot and shuffle operations.
// Memory order: none of its own.
// Tail: keys that are not there are not wanted.
// Source: none beyond workgroup/rank_*.glsl.
// What differs in WGSL: nothing but the spelling.
//
//     keys        7 2 9 4 4 1 4     threshold 4, of which 2 are wanted
//     sides       > < > = = < =     ranked like a digit, where the tile has a wanted key at all
//     out         2 1 | 4 4
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
layout(constant_id = 14) const uint kImageIn = 1u;             // always
layout(constant_id = 16) const uint kValueWords = 1u;          // 1 to 4
layout(constant_id = 17) const uint kIndices = 0u;             // 1: values are the numbers of the items
layout(constant_id = 20) const uint kSumsOffset = 128u;        // in scratch, words
layout(constant_id = 26) const uint kMostCount = 1u;           // k
const uint kDigitBits = 2u;  // of a side
const uint kBins = 4u;

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
#include "tile/load_key.glsl"
#include "tile/threshold.glsl"

// By turns of tiles: whether one of them has a wanted key.
shared uint sh_wanted[2];
// Keys of a tile on each side.
shared uint sh_sides[kBins];

void workgroup_counted(uint vlane, uint totals[kBinsPerLane]) {
    [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
        uint bin = vlane * kBinsPerLane + j;
        if (bin < kBins) sh_sides[bin] = totals[j];
    }
}

void store_wanted(uint place, uint i, Key image) {
#if LW_KEY_WORDS == 2
    LW_WORD(keys_out, 2u * place) = image.low;
    LW_WORD(keys_out, 2u * place + 1u) = image.high;
#else
    LW_WORD(keys_out, place) = image.low;
#endif
#ifdef LW_VALUES
    [[unroll]] for (uint word = 0u; word < kValueWords; ++word) {
        uint value = i;
        if (kIndices == 0u) value = LW_WORD(values_in, i * kValueWords + word);
        LW_WORD(values_out, place * kValueWords + word) = value;
    }
#endif
}

void main() {
    RankLane lane = workgroup_rank_lane();
    Share share = read_share();
    uint group = group_number();
    Threshold threshold = load_threshold();
    uint first_equal = min(share.count.x, kMostCount) - threshold.wanted;
    uint before = LW_WORD(scratch, kSumsOffset + 2u * group);
    uint equal = LW_WORD(scratch, kSumsOffset + 2u * group + 1u);
    if (lane.vlane < 2u) sh_wanted[lane.vlane] = 0u;
    barrier();
    uint end = min((group + 1u) * share.tiles_per_group, share.tiles);
    for (uint tile = group * share.tiles_per_group; tile < end; ++tile) {
        uint first = tile * kTileItems;
        uint items = min(kTileItems, share.count.x - first);
        Key keys[kItems];
        Key sides[kItems];
        bool wanted = false;
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = tile_place(lane, k);
            sides[k] = key_of_zeros();
            sides[k].low = 2u;
            if (place < items) {
                keys[k] = load_key(first + place);
                sides[k].low = side_of(keys[k], threshold.key);
                wanted = wanted || sides[k].low == 0u || (sides[k].low == 1u && equal < threshold.wanted);
            }
        }
        // A later tile has a larger number, so that nothing is cleared between them.
        if (wanted) atomicMax(sh_wanted[tile & 1u], tile + 1u);
        barrier();
        if (sh_wanted[tile & 1u] == tile + 1u) {
            uint ranks[kItems];
            uint starts[kBinsPerLane];
            uint totals[kBinsPerLane];
            workgroup_rank(lane, sides, items, 0u, kDigitBits, ranks, starts, totals);
            barrier();
            uint befores = sh_sides[0];
            uint equals = sh_sides[1];
            [[unroll]] for (uint k = 0u; k < kItems; ++k) {
                uint i = first + tile_place(lane, k);
                if (ranks[k] < befores) {
                    store_wanted(before + ranks[k], i, keys[k]);
                } else if (ranks[k] < befores + equals) {
                    uint number = equal + (ranks[k] - befores);
                    if (number < threshold.wanted) store_wanted(first_equal + number, i, keys[k]);
                }
            }
            before += befores;
            equal += equals;
            barrier();
        }
    }
}
