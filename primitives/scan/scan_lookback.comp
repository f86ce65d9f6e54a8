// Purpose: the whole scan in one pass, a tile to each workgroup.
// Passes before: count_to_groups, where the count is in a buffer. After: none.
// Inputs: input (0), elements in whole 32-bit words. Outputs: output (1), one result
//   (item/result.glsl) for each item; not the input, which others may still read. Scratch (2):
//   parameters where the count is in a buffer. State (3): kernels/tile/look_back.glsl.
// Needs: subgroup form: basic, shuffle and ballot operations. With atomic64 in its name: shaderInt64,
//   shaderBufferInt64Atomics.
// Memory order: none but that of the relaxed atomics of the state, one word at a time. Tiles go by
//   ticket, so that the tiles that a workgroup looks back at are those of workgroups that run or ran.
// Tail: items that are not there are the identity (kernels/tile/rows.glsl) and are not written.
// Source: Merrill and Garland (kernels/tile/look_back.glsl); that missing tiles are summed again, and
//   the sums ahead (kAhead), are our own.
// What differs in WGSL: no 64-bit atomics, so values in halves; loops that workgroups leave together.
//
//     kAhead = 0   workgroup k:  sum tile k, publish it;         look back;  write tile k, publish
//     kAhead = D   workgroup k:  sum tile k + D, publish it;     look back;  write tile k, publish
//                  (of the first D tiles, workgroup k also sums and publishes tile k)
//
// With a distance the tiles looked back at have long been published, and the second read of a tile
// finds it in the cache.
#version 450

// Prologue: a build or the assembler replaces these.
#ifndef LW_ELEMENT_BITS
#define LW_ELEMENT_BITS 32  // 8, 16, 32, 64
#endif
#ifndef LW_ACCUMULATOR_BITS
#define LW_ACCUMULATOR_BITS 32  // 32, 64
#endif
#ifndef LW_ACCUMULATOR_FLOAT64
#define LW_ACCUMULATOR_FLOAT64 0  // 1: 64-bit floating-point arithmetic
#endif
#ifndef LW_INDEX_BITS
#define LW_INDEX_BITS 0  // 32 or 64: argmin and argmax
#endif
// LW_CUSTOM: a caller's types and operator (item/custom.glsl); else stock ones.
// LW_SEGMENTED: the scan begins anew with every segment (tile/heads.glsl); else there is one.
// LW_FORM_SUBGROUP: subgroup operations; else barriers alone.
// LW_DEVICE_ADDRESS: buffers by address; else by descriptor.
// LW_ATOMIC64: a flag beside each word of a value; else beside each half of one.
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
layout(constant_id = 2) const uint kOperator = 0u;         // item/names.glsl
layout(constant_id = 3) const uint kElementKind = 0u;      // item/names.glsl
// Constant 4, partials_offset, is for the other passes.
layout(constant_id = 5) const uint kSubgroupSize = 0u;     // 0: read in the shader
layout(constant_id = 6) const uint kFullSubgroups = 0u;    // 1: promised by the API
layout(constant_id = 7) const uint kReverse = 0u;          // 1: from the last item to the first
layout(constant_id = 8) const uint kExclusive = 0u;        // 1: without the item itself
layout(constant_id = 9) const uint kHasInitial = 0u;       // 1: the initial value counts
layout(constant_id = 10) const uint kInitialLow = 0u;      // as words of an accumulator
layout(constant_id = 11) const uint kInitialHigh = 0u;
layout(constant_id = 12) const uint kAhead = 0u;           // tiles; 0: look back at once
layout(constant_id = 13) const uint kPatience = 4096u;     // looks at an empty tile
layout(constant_id = 14) const uint kSilentTile = ~0u;     // of a test: publishes nothing
layout(constant_id = 15) const uint kMostEpochs = 1023u;   // before the state is cleared
layout(constant_id = 16) const uint kMostTiles = 1u;       // that the state has room for
#ifdef LW_SEGMENTED
layout(constant_id = 17) const uint kMarkBits = 1u;        // of a flag or key
layout(constant_id = 18) const uint kMarksAreKeys = 0u;    // 0: flags
#endif
const uint kElementBits = LW_ELEMENT_BITS;
#define kScanRows kVectors

#ifdef LW_SEGMENTED
#define LW_BINDINGS 5
#else
#define LW_BINDINGS 4
#endif
#define LW_INPUT_BINDING 0
#define LW_OUTPUT_BINDING 1
#define LW_STATE_BINDING 3
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(scratch, 2, readonly)
#ifdef LW_SEGMENTED
LW_BUFFER(marks, 4, readonly)
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
#include "tile/scan_results.glsl"
#include "tile/heads.glsl"

shared uvec2 sh_ticket;  // tile, epoch

// Both give the sum of a tile in lane 0 only; a barrier must stand between two calls.
Accumulator workgroup_tile_sum(Share share, uint t, uint vlane) {
    Tile tile = tile_in_order(share, t);
    Vector vectors[kScanRows];
    load_tile(tile, vlane, true, vectors);
    return workgroup_reduce(sum_lane(tile, vlane, vectors), vlane, kWorkgroupSize);
}

// One row at a time: what is called while a lane holds a tile must not take its registers.
Accumulator workgroup_tile_sum_again(Share share, uint t, uint vlane) {
    Tile tile = tile_in_order(share, t);
    Accumulator sum = accumulator_identity();
    [[dont_unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = vector_of_row(row, vlane, true);
        sum = combine(sum, sum_vector(tile, i, load_vector_to_end(tile, i)));
    }
    return workgroup_reduce(sum, vlane, kWorkgroupSize);
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
        load_tile(tile, vlane, false, vectors);
        if (kAhead != 0u && t + kAhead < share.tiles) {
            Accumulator sum = workgroup_tile_sum(share, t + kAhead, vlane);
            if (vlane == 0u) publish(t + kAhead, epoch, kFlagSum, sum);
        }
        Accumulator values[kScanRows];
        sum_rows(tile, vlane, vectors, values);
        Accumulator total = workgroup_scan(values, vlane, 0u);
        bool publishes = kAhead == 0u || t < kAhead;
        if (vlane == 0u && publishes && t != 0u) publish(t, epoch, kFlagSum, total);
        Accumulator before = workgroup_look_back(share, t, epoch, vlane);
        if (vlane == 0u) publish(t, epoch, kFlagPrefix, combine(before, total));
        store_tile(tile, vlane, vectors, values, with_initial(before));
    }
}
