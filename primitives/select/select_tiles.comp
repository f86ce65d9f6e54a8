// Purpose: moves what is kept of the tiles of each workgroup to its place, and the rest to another where
//   that is asked for.
// Passes before: select_counts with the strategy count_then_scatter; else none, and count_to_groups
//   where the count is in a buffer. After: sort_pack, for narrow items.
// Inputs: input (0), items in whole 32-bit words; flags (1), or the input once more where items decide;
//   values (5), or the input where they are indices; scratch (4): the partials of select_counts,
//   parameters where the count is in a buffer.
// Outputs: items_out (2), narrow items as a word each; where it takes no items it is values_out once more;
//   count_out (3), how many are kept; values_out (6); rejected (7, or 5 without values), narrow items
//   as a word each.
// Needs: subgroup form: basic and shuffle operations.
// Memory order: none between workgroups.
// Tail: items that are not there are neither kept nor left out.
// Source: none; the usual second half of reduce-then-scan.
// What differs in WGSL: what would be a buffer once more is not there.
//
//     partials   p0      p1      p2      p3             from select_counts
//     before   | -     | p0    | p0+p1 | p0+p1+p2 |     each workgroup adds those before it
//     tiles    | 0 1 2 | 3 4 5 | 6 7 8 | 9 a      |     and then carries on from tile to tile
#version 450

// Prologue: a build or the assembler replaces these.
// LW_PREDICATE: a caller's element and predicate (item/custom_operation.glsl), of LW_ELEMENT_BITS bits.
// LW_VALUES: values travel with the items. LW_REJECTED: what is not kept has a buffer of its own.
// LW_FORM_SUBGROUP: subgroup operations; else barriers alone.
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
layout(constant_id = 0) const uint kWorkgroupSize = 256u;  // a power of two
layout(constant_id = 1) const uint kVectors = 4u;          // of a lane and tile; a power of two
layout(constant_id = 2) const uint kElementBits = 32u;     // 8, 16, 32, 64
layout(constant_id = 3) const uint kFlagBits = 8u;         // tile/kept.glsl
layout(constant_id = 4) const uint kPartialsOffset = 64u;  // words of scratch before the partials
layout(constant_id = 5) const uint kSubgroupSize = 0u;     // 0: read in the shader
layout(constant_id = 6) const uint kFullSubgroups = 0u;    // 1: promised by the API
layout(constant_id = 7) const uint kWriteItems = 1u;       // 1: the output has the items
layout(constant_id = 8) const uint kRestAfter = 0u;        // 1: the others follow those that are kept
layout(constant_id = 9) const uint kCapacity = ~0u;        // kept items that are written, at most
layout(constant_id = 10) const uint kWordsOfValue = 1u;    // 1 to 4
layout(constant_id = 11) const uint kIndices = 0u;         // 1: values are the numbers of the items
layout(constant_id = 12) const uint kAlone = 0u;           // 1: one workgroup, without partials
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

#if defined(LW_VALUES) && defined(LW_REJECTED)
#define LW_BINDINGS 8
#elif defined(LW_VALUES)
#define LW_BINDINGS 7
#elif defined(LW_REJECTED)
#define LW_BINDINGS 6
#else
#define LW_BINDINGS 5
#endif
#define LW_INPUT_BINDING 0
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(flags, 1, readonly)
LW_BUFFER(items_out, 2, writeonly)
LW_BUFFER(count_out, 3, writeonly)
LW_BUFFER(scratch, 4, coherent)
#ifdef LW_VALUES
LW_BUFFER(values, 5, readonly)
LW_BUFFER(values_out, 6, writeonly)
#endif
#if defined(LW_REJECTED) && defined(LW_VALUES)
LW_BUFFER(rejected, 7, writeonly)
#elif defined(LW_REJECTED)
LW_BUFFER(rejected, 5, writeonly)
#endif

#include "tile/partials.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/scan_subgroup.glsl"
#else
#include "workgroup/scan_barrier.glsl"
#endif
#include "tile/move_kept.glsl"

// The sum of one number of each lane.
uint workgroup_sum(uint number, uint vlane, inout uint turn) {
    Accumulator numbers[kScanRows];
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) numbers[row] = accumulator_identity();
    numbers[0].value = number;
    return workgroup_scan(numbers, vlane, turn++).value;
}

// The sum of the first so many partials.
uint workgroup_sum_of_partials(uint partials, uint vlane, inout uint turn) {
    uint sum = 0u;
    for (uint i = vlane; i < partials; i += kWorkgroupSize) sum += load_partial(i).value;
    return workgroup_sum(sum, vlane, turn);
}

// How many items are kept in all tiles.
uint workgroup_count_all(Share share, uint vlane, inout uint turn) {
    uint all;
    if (kAlone != 0u) {
        uint count = 0u;
        for (uint t = 0u; t < share.tiles; ++t) count += count_lane(tile_in_order(share, t), vlane);
        all = workgroup_sum(count, vlane, turn);
    } else {
        all = workgroup_sum_of_partials(share.groups, vlane, turn);
    }
    return all;
}

void main() {
    uint vlane = lane_number();
    Share share = read_share();
    uint group = group_number();
    uint first = min(group * share.tiles_per_group, share.tiles);
    uint end = first + min(share.tiles_per_group, share.tiles - first);
    uint turn = 0u;
    uint before = 0u;
    uint all = 0u;
    if (kAlone == 0u) before = workgroup_sum_of_partials(group, vlane, turn);
    if (kRestAfter != 0u) all = workgroup_count_all(share, vlane, turn);
    for (uint t = first; t < end; ++t) {
        Tile tile = tile_in_order(share, t);
        Vector vectors[kScanRows];
        uint kept[kScanRows];
        Accumulator counts[kScanRows];
        load_rows(tile, vlane, vectors);
        judge_rows(tile, vlane, vectors, kept, counts);
        uint total = workgroup_scan(counts, vlane, turn++).value;
        if (t != first) barrier();
        move_rows(tile, vlane, vectors, kept, counts, total, kMovesItems);
        barrier();
        workgroup_store_rows(tile, vlane, vectors, kept, counts, before, total, all);
        before += total;
    }
    if (vlane == 0u && group == share.groups - 1u) LW_WORD(count_out, 0) = before;
}
