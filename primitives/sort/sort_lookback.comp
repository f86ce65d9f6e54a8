// Purpose: one digit of the sort in one pass, a tile to each workgroup.
// Passes before: sort_histograms, sort_bases, sort_lookback of the digits below. After: sort_lookback of
//   the digits above; sort_pack for narrow keys.
// Inputs: keys_in (0), values_in (3). Outputs: keys_out (1), values_out (4); none of the inputs.
//   Scratch (2): parameters where the count is in a buffer; the table of tile/digit_table.glsl.
// Needs: subgroup form: basic, ballot and shuffle operations.
// Memory order: none but that of the relaxed atomics of the table, one word at a time. Tiles go by
//   ticket, so that the tiles that a workgroup looks back at are those of workgroups that run or ran.
// Tail: keys that are not there have no rank and are not written.
// Source: Adinets and Merrill, "Onesweep: A Faster Least Significant Digit Radix Sort for GPUs", 2022;
//   that missing tiles are counted again is our own.
// What differs in WGSL: the recount's turn goes through workgroupUniformLoad.
//
//     tile      0 1 2 .. 15 | 16 ..        keys in the order of the digit below
//     ranks     by this digit in the tile (workgroup/rank_*.glsl); totals are published at once
//     base      of a bin: the digit's base + what all tiles before have of it - its first rank here
//     out       bin 0 of all tiles | bin 1 of all tiles | ...
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
#extension GL_KHR_memory_scope_semantics : require
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
layout(constant_id = 19) const uint kDigit = 0u;               // the number of this digit
layout(constant_id = 20) const uint kRowWords = 256u;          // of the table, for each tile
layout(constant_id = 21) const uint kMostTiles = 1u;           // that the table has room for
layout(constant_id = 22) const uint kPatience = 4096u;         // looks at an empty tile
layout(constant_id = 23) const uint kSilentTile = ~0u;         // of a test: publishes nothing
layout(constant_id = 24) const uint kDigits = 4u;               // how many digits there are
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
LW_BUFFER(scratch, 2, coherent)
#ifdef LW_VALUES
LW_BUFFER(values_in, 3, readonly)
LW_BUFFER(values_out, 4, writeonly)
#endif
#include "tile/share.glsl"
#define LW_ROWS
#define LW_LOOK_BACK
#include "tile/digit_table.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/rank_subgroup.glsl"
#else
#include "workgroup/rank_barrier.glsl"
#endif
#define LW_RECORDS_STORE
#include "tile/load_key.glsl"
#include "tile/records.glsl"

shared uint sh_ticket;
shared uint sh_missing;      // one past the last tile that somebody waits for in vain

// Tiles that a lane looks at in one go. On an H200 4 take 3 to 10% off a pass that looks at one; with
// values 8 do so, too, and without they cost 5%.
#ifdef LW_VALUES
const uint kWindow = 8u;
#else
const uint kWindow = 4u;
#endif

uint ticket;

void workgroup_counted(uint vlane, uint totals[kBinsPerLane]) {
    [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
        uint bin = vlane * kBinsPerLane + j;
        if (bin < kBins) publish(ticket, bin, kFlagSum, totals[j]);
    }
}

// What tile `tile` has of each bin, in sh_base, which is not in use yet.
void workgroup_count_again(uint tile, uint vlane) {
    for (uint bin = vlane; bin < kBins; bin += kWorkgroupSize) sh_base[bin] = 0u;
    barrier();
    uint first = tile * kTileItems;
    [[dont_unroll]] for (uint k = 0u; k < kItems; ++k) {
        uint bin = digit_of(load_key(first + k * kWorkgroupSize + vlane), kShift, kDigitBits);
        atomicAdd(sh_base[bin], 1u);
    }
    barrier();
}

// Adds what all tiles before this one have of the lane's bins.
void workgroup_look_back(uint vlane, inout uint before[kBinsPerLane]) {
    uint next[kBinsPerLane];
    [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
        next[j] = vlane * kBinsPerLane + j < kBins ? ticket : 0u;
    }
    for (;;) {
        uint missing = 0u;
        [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
            uint looks = 0u;
            while (next[j] != 0u && looks < kPatience) {
                uint words[kWindow];
                [[unroll]] for (uint i = 0u; i < kWindow; ++i) {
                    words[i] = look_at(max(next[j], i + 1u) - i - 1u, vlane * kBinsPerLane + j);
                }
                uint begin = next[j];
                bool open = true;
                [[unroll]] for (uint i = 0u; i < kWindow; ++i) {
                    uint flag = flag_of(words[i]);
                    open = open && next[j] != 0u && flag != kFlagEmpty;
                    if (open) {
                        before[j] += value_of(words[i]);
                        next[j] = flag == kFlagPrefix ? 0u : next[j] - 1u;
                    }
                }
                looks = next[j] == begin ? looks + 1u : 0u;
            }
            missing = max(missing, next[j]);
        }
        if (missing != 0u) atomicMax(sh_missing, missing);
        barrier();
        uint tile = sh_missing;
        barrier();
        if (tile == 0u) break;
        workgroup_count_again(tile - 1u, vlane);
        [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
            if (next[j] == tile) {
                before[j] += sh_base[vlane * kBinsPerLane + j];
                next[j] = tile - 1u;
            }
        }
        if (vlane == 0u) sh_missing = 0u;
        barrier();
    }
}

void main() {
    RankLane lane = workgroup_rank_lane();
    Share share = read_share();
    if (lane.vlane == 0u) {
        sh_ticket = atomicAdd(LW_WORD(scratch, kTableOffset + kDigit), 1u);
        sh_missing = 0u;
    }
    barrier();
    ticket = sh_ticket;
    if (ticket < share.tiles) {
        clear_row((kDigit + 1u) & 1u, ticket, lane.vlane);
        uint first = ticket * kTileItems;
        uint items = min(kTileItems, share.count.x - first);
        Key keys[kItems];
        load_keys(lane, first, items, keys);
        // Early, so that nothing waits for them in the end.
        uint bases[kBinsPerLane];
        [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
            uint bin = lane.vlane * kBinsPerLane + j;
            bases[j] = 0u;
            if (bin < kBins) bases[j] = LW_WORD(scratch, base_word(kDigit, bin));
        }
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
        uint before[kBinsPerLane];
        [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) before[j] = 0u;
        workgroup_look_back(lane.vlane, before);
        [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
            uint bin = lane.vlane * kBinsPerLane + j;
            if (bin < kBins) {
                publish(ticket, bin, kFlagPrefix, before[j] + totals[j]);
                sh_base[bin] = bases[j] + before[j] - starts[j];
            }
        }
        barrier();
        uint places[kItems];
        workgroup_store_keys(lane.vlane, keys, ranks, items, kShift, kDigitBits, places);
#ifdef LW_VALUES
        workgroup_store_values(lane, first, ranks, items, places, values);
#endif
    }
}
