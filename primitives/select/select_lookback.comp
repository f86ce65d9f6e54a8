// Purpose: the whole selection in one pass, a tile to each workgroup.
// Passes before: count_to_groups, where the count is in a buffer. After: sort_pack, for narrow items.
// Inputs: input (0), items in whole 32-bit words; flags (1), or the input once more where items decide;
//   values (6), or the input where they are indices; scratch (4): parameters where the count is in a
//   buffer. State (5): kernels/tile/look_back.glsl.
// Outputs: items_out (2), narrow items as a word each; where it takes no items it is values_out once more;
//   count_out (3), how many are kept; values_out (7); rejected (8, or 6 without values), narrow items
//   as a word each.
// Needs: subgroup form: basic, shuffle and ballot operations. With atomic64 in its name: shaderInt64,
//   shaderBufferInt64Atomics.
// Memory order: none but that of the relaxed atomics of the state, one word at a time. Tiles go by
//   ticket, so that the tiles that a workgroup looks back at are those of workgroups that run or ran.
// Tail: items that are not there are neither kept nor left out.
// Source: Merrill and Garland (kernels/tile/look_back.glsl); that missing tiles are counted again, and
//   the counts ahead (kAhead), are our own.
// What differs in WGSL: no 64-bit atomics, so published words in halves; loops that workgroups leave
//   together; what would be a buffer once more is not there, and scratch (4) has nothing to say.
//
//     kAhead = 0   workgroup k:  count tile k, publish it; move it;  look back;  store tile k, publish
//     kAhead = D   workgroup k:  count tile k + D, publish it;  move tile k;  look back;  store tile k
//                  (of the first D tiles, workgroup k also counts and publishes tile k)
//
// What is kept is moved together in workgroup memory before where it goes is known, so that only words
// to be copied wait for the tiles before.
#version 450

// Prologue: a build or the assembler replaces these.
// LW_PREDICATE: a caller's element and predicate (item/custom_operation.glsl), of LW_ELEMENT_BITS bits.
// LW_VALUES: values travel with the items. LW_REJECTED: what is not kept has a buffer of its own.
// LW_ATOMIC64: a flag beside each published word; else beside each half of one.
// LW_FORM_SUBGROUP: subgroup operations; else barriers alone.
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
#ifdef LW_ATOMIC64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
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
layout(constant_id = 8) const uint kRestAfter = 0u;        // 1: the others follow those that are kept
layout(constant_id = 9) const uint kCapacity = ~0u;        // kept items that are written, at most
layout(constant_id = 10) const uint kWordsOfValue = 1u;    // 1 to 4
layout(constant_id = 11) const uint kIndices = 0u;         // 1: values are the numbers of the items
layout(constant_id = 12) const uint kAhead = 0u;           // tiles; 0: look back at once
layout(constant_id = 13) const uint kPatience = 4096u;     // looks at an empty tile
layout(constant_id = 14) const uint kSilentTile = ~0u;     // of a test: publishes nothing
layout(constant_id = 15) const uint kMostEpochs = 1023u;   // before the state is cleared
layout(constant_id = 16) const uint kMostTiles = 1u;       // that the state has room for
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
#define LW_BINDINGS 9
#elif defined(LW_VALUES)
#define LW_BINDINGS 8
#elif defined(LW_REJECTED)
#define LW_BINDINGS 7
#else
#define LW_BINDINGS 6
#endif
#define LW_INPUT_BINDING 0
#define LW_STATE_BINDING 5
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(flags, 1, readonly)
LW_BUFFER(items_out, 2, writeonly)
LW_BUFFER(count_out, 3, writeonly)
LW_BUFFER(scratch, 4, readonly)
#ifdef LW_VALUES
LW_BUFFER(values, 6, readonly)
LW_BUFFER(values_out, 7, writeonly)
#endif
#if defined(LW_REJECTED) && defined(LW_VALUES)
LW_BUFFER(rejected, 8, writeonly)
#elif defined(LW_REJECTED)
LW_BUFFER(rejected, 6, writeonly)
#endif

#ifdef LW_FORM_SUBGROUP
#include "subgroup/ballot.glsl"
#include "workgroup/reduce_subgroup.glsl"
#include "workgroup/scan_subgroup.glsl"
#else
#include "workgroup/reduce_barrier.glsl"
#include "workgroup/scan_barrier.glsl"
#endif
#include "tile/look_back.glsl"
#include "tile/move_kept.glsl"

shared uvec2 sh_ticket;  // tile, epoch

// Both give how many items of a tile are kept, in lane 0 only; a barrier must stand between two calls.
Accumulator workgroup_tile_count(Share share, uint t, uint vlane) {
    Accumulator count = accumulator_identity();
    count.value = count_lane(tile_in_order(share, t), vlane);
    return workgroup_reduce(count, vlane, kWorkgroupSize);
}

// One row at a time: what is called while a lane holds a tile must not take its registers.
Accumulator workgroup_tile_sum_again(Share share, uint t, uint vlane) {
    Tile tile = tile_in_order(share, t);
    Accumulator count = accumulator_identity();
    [[dont_unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = vector_of_row(row, vlane, true);
        Vector vector = vector_of_zeros();
        uint beside[kBesideWords];
        if (kItemsDecide) vector = load_vector_to_end(tile, i);
        load_beside(tile, i, items_there(tile, i), beside);
        count.value += uint(bitCount(kept_of_vector(tile, i, vector, beside)));
    }
    return workgroup_reduce(count, vlane, kWorkgroupSize);
}

#include "workgroup/look_back.glsl"

void main() {
    uint vlane = lane_number();
    Share share = read_share();
    if (vlane == 0u) sh_ticket = take_ticket(share.groups, share.tiles);
    barrier();
    uint t = sh_ticket.x;
    uint epoch = sh_ticket.y;
    if (t < share.tiles) {
        Tile tile = tile_in_order(share, t);
        Vector vectors[kScanRows];
        uint kept[kScanRows];
        Accumulator counts[kScanRows];
        load_rows(tile, vlane, vectors);
        if (kAhead != 0u && t + kAhead < share.tiles) {
            Accumulator count = workgroup_tile_count(share, t + kAhead, vlane);
            if (vlane == 0u) publish(t + kAhead, epoch, kFlagSum, count);
        }
        judge_rows(tile, vlane, vectors, kept, counts);
        Accumulator total = workgroup_scan(counts, vlane, 0u);
        bool publishes = kAhead == 0u || t < kAhead;
        if (vlane == 0u && publishes && t != 0u) publish(t, epoch, kFlagSum, total);
        move_rows(tile, vlane, vectors, kept, counts, total.value, kMovesItems);
        Accumulator before = workgroup_look_back(share, t, epoch, vlane);
        Accumulator with_tile = combine(before, total);
        if (vlane == 0u) publish(t, epoch, kFlagPrefix, with_tile);
        barrier();
        workgroup_store_rows(tile, vlane, vectors, kept, counts, before.value, total.value, 0u);
        if (vlane == 0u && t == share.tiles - 1u) LW_WORD(count_out, 0) = with_tile.value;
    } else if (vlane == 0u && share.tiles == 0u) {
        LW_WORD(count_out, 0) = 0u;
    }
}
