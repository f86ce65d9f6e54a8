// Purpose: writes what is kept wherever there is room next, in any order.
// Passes before: select_begin. After: sort_pack, for narrow items.
// Inputs: input (0), items in whole 32-bit words; flags (1), or the input once more where items decide;
//   values (5), or the input where they are indices; scratch (4): parameters where the count is in a
//   buffer. Outputs: items_out (2), narrow items as a word each; where it takes no items it is values_out
//   once more; count_out (3), which begins at 0, how many are kept; values_out (6).
// Needs: subgroup form: basic, ballot and shuffle operations.
// Memory order: none but that of the relaxed atomics of count_out.
// Tail: items that are not there are not kept.
// Source: none; the usual aggregated atomics.
// What differs in WGSL: what would be a buffer once more is not there.
//
//     a subgroup's items j of a row    a b c d      one ballot for each j and row; what they hold in
//     kept                             x . x x      all is added to count_out by one lane: the base
//     place                            0   1 2      behind the base and the ballots before
//
// The barrier form has ranks by a scan, and one lane of the workgroup adds.
#version 450

// Prologue: a build or the assembler replaces these.
// LW_PREDICATE: a caller's element and predicate (item/custom_operation.glsl), of LW_ELEMENT_BITS bits.
// LW_VALUES: values travel with the items.
// LW_FORM_SUBGROUP: subgroup operations; else barriers alone.
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
layout(constant_id = 0) const uint kWorkgroupSize = 256u;  // a power of two
layout(constant_id = 1) const uint kVectors = 4u;          // of a lane and tile; a power of two
layout(constant_id = 2) const uint kElementBits = 32u;     // 8, 16, 32, 64
layout(constant_id = 3) const uint kFlagBits = 8u;         // tile/kept.glsl
// Constant 4, partials_offset, is for the other passes.
layout(constant_id = 5) const uint kSubgroupSize = 0u;     // 0: read in the shader
layout(constant_id = 6) const uint kFullSubgroups = 0u;    // 1: promised by the API
layout(constant_id = 7) const uint kWriteItems = 1u;       // 1: the output has the items
layout(constant_id = 9) const uint kCapacity = ~0u;        // kept items that are written, at most
layout(constant_id = 10) const uint kWordsOfValue = 1u;    // 1 to 4
layout(constant_id = 11) const uint kIndices = 0u;         // 1: values are the numbers of the items
// Counts are sums of unsigned words (item/accumulator.glsl).
#define LW_ACCUMULATOR_BITS 32
#define LW_ACCUMULATOR_FLOAT64 0
#define LW_INDEX_BITS 0
const uint kOperator = 0u;
const uint kElementKind = 0u;
const uint kReverse = 0u;
#ifndef LW_PREDICATE
#define LW_ANY_ELEMENT
#define LW_ELEMENT_BITS kElementBits
#elif !defined(LW_ELEMENT_BITS)
#define LW_ELEMENT_BITS 32  // of the example in item/custom_operation.glsl
#endif
#define kScanRows kVectors

#ifdef LW_VALUES
#define LW_BINDINGS 7
#else
#define LW_BINDINGS 5
#endif
#define LW_INPUT_BINDING 0
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(flags, 1, readonly)
LW_BUFFER(items_out, 2, writeonly)
LW_BUFFER(count_out, 3, coherent)
LW_BUFFER(scratch, 4, readonly)
#ifdef LW_VALUES
LW_BUFFER(values, 5, readonly)
LW_BUFFER(values_out, 6, writeonly)
#endif

#ifdef LW_FORM_SUBGROUP
#include "subgroup/ballot.glsl"
#include "workgroup/scan_subgroup.glsl"
#else
#include "workgroup/scan_barrier.glsl"
#endif
#include "tile/kept.glsl"

#ifndef LW_FORM_SUBGROUP
shared uint sh_base;
#endif

// Item j of vector i, to its place in the output.
void store_item(Tile tile, uint i, Vector vector, uint j, uint place) {
    if (place >= kCapacity) return;
    if (kWriteItems != 0u) {
        [[unroll]] for (uint word = 0u; word < kItemWords; ++word) {
            LW_WORD(items_out, place * kItemWords + word) = item_word(vector, j, word);
        }
    }
#ifdef LW_VALUES
    uint item = tile.number * kTileItems + i * kItemsPerVector + j;
    [[unroll]] for (uint word = 0u; word < kWordsOfValue; ++word) {
        uint value = item;
        if (kIndices == 0u) value = LW_WORD(values, item * kWordsOfValue + word);
        LW_WORD(values_out, place * kWordsOfValue + word) = value;
    }
#endif
}

#ifdef LW_FORM_SUBGROUP

void workgroup_append(Tile tile, uint vlane, Vector vectors[kScanRows], uint kept[kScanRows], uint turn) {
    uint count = 0u;
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        [[unroll]] for (uint j = 0u; j < kItemsPerVector; ++j) {
            count += ballot_count(subgroupBallot((kept[row] >> j & 1u) != 0u));
        }
    }
    uint place = 0u;
    if (subgroupElect()) place = atomicAdd(LW_WORD(count_out, 0), count);
    place = subgroupBroadcastFirst(place);
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = vector_of_row(row, vlane, false);
        [[unroll]] for (uint j = 0u; j < kItemsPerVector; ++j) {
            bool keeps = (kept[row] >> j & 1u) != 0u;
            uvec4 ballot = subgroupBallot(keeps);
            uint before = ballot_count_below(ballot, gl_SubgroupInvocationID);
            if (keeps) store_item(tile, i, vectors[row], j, place + before);
            place += ballot_count(ballot);
        }
    }
}

#else

void workgroup_append(Tile tile, uint vlane, Vector vectors[kScanRows], uint kept[kScanRows], uint turn) {
    Accumulator counts[kScanRows];
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        counts[row].value = uint(bitCount(kept[row]));
    }
    uint total = workgroup_scan(counts, vlane, turn).value;
    // The scan's barriers stand between this and what was read of the tile before.
    if (vlane == 0u) sh_base = atomicAdd(LW_WORD(count_out, 0), total);
    barrier();
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = vector_of_row(row, vlane, false);
        uint place = sh_base + counts[row].value;
        [[unroll]] for (uint j = 0u; j < kItemsPerVector; ++j) {
            if ((kept[row] >> j & 1u) != 0u) store_item(tile, i, vectors[row], j, place++);
        }
    }
}

#endif

void main() {
    uint vlane = lane_number();
    Share share = read_share();
    uint group = group_number();
    uint first = min(group * share.tiles_per_group, share.tiles);
    uint end = first + min(share.tiles_per_group, share.tiles - first);
    for (uint t = first; t < end; ++t) {
        Tile tile = tile_in_order(share, t);
        Vector vectors[kScanRows];
        uint kept[kScanRows];
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) vectors[row] = vector_of_zeros();
        if (kItemsDecide || kWriteItems != 0u) load_tile(tile, vlane, false, vectors);
        judge_tile(tile, vlane, false, vectors, kept);
        workgroup_append(tile, vlane, vectors, kept, t - first);
    }
}
