// Purpose: scans the tiles of each workgroup and writes the results.
// Passes before: scan_sums with the strategy reduce_then_scan; else none, and count_to_groups where
//   the count is in a buffer. After: none.
// Inputs: input (0), elements in whole 32-bit words; scratch (2), the partials of scan_sums.
// Outputs: output (1), one result (item/result.glsl) for each item; may be the input. Scratch:
//   parameters where the count is in a buffer.
// Needs: subgroup form: basic and shuffle operations; with a custom operator ballot, too. With f64 in its
//   name: shaderFloat64.
// Memory order: none between workgroups. Each vector is read and its results are written by one
//   invocation, reads first, so that the output may lie where the input does.
// Tail: items that are not there are the identity (kernels/tile/rows.glsl) and are not written.
// Source: none; the usual second half of reduce-then-scan.
// What differs in WGSL: in place needs a kernel of its own, as a buffer has one binding there.
//
//     partials   p0      p1      p2                     from scan_sums
//     before   | -     | p0    | p0p1  | p0p1p2 |       each workgroup combines those before it
//     tiles    | 0 1 2 | 3 4 5 | 6 7 8 | 9 a    |       and then carries on from tile to tile
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
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_FORM_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#ifdef LW_CUSTOM
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#endif
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;  // a power of two
layout(constant_id = 1) const uint kVectors = 4u;          // of a lane and tile; a power of two
layout(constant_id = 2) const uint kOperator = 0u;         // item/names.glsl
layout(constant_id = 3) const uint kElementKind = 0u;      // item/names.glsl
layout(constant_id = 4) const uint kPartialsOffset = 64u;  // words of scratch before the partials
layout(constant_id = 5) const uint kSubgroupSize = 0u;     // 0: read in the shader
layout(constant_id = 6) const uint kFullSubgroups = 0u;    // 1: promised by the API
layout(constant_id = 7) const uint kReverse = 0u;          // 1: from the last item to the first
layout(constant_id = 8) const uint kExclusive = 0u;        // 1: without the item itself
layout(constant_id = 9) const uint kHasInitial = 0u;       // 1: the initial value counts
layout(constant_id = 10) const uint kInitialLow = 0u;      // as words of an accumulator
layout(constant_id = 11) const uint kInitialHigh = 0u;
#ifdef LW_SEGMENTED
layout(constant_id = 17) const uint kMarkBits = 1u;        // of a flag or key
layout(constant_id = 18) const uint kMarksAreKeys = 0u;    // 0: flags
#endif
const uint kElementBits = LW_ELEMENT_BITS;
#define kScanRows kVectors

#ifdef LW_SEGMENTED
#define LW_BINDINGS 4
#else
#define LW_BINDINGS 3
#endif
#define LW_INPUT_BINDING 0
#define LW_OUTPUT_BINDING 1
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(scratch, 2, coherent)
#ifdef LW_SEGMENTED
LW_BUFFER(marks, 3, readonly)
#endif

#include "tile/partials.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/scan_subgroup.glsl"
#else
#include "workgroup/scan_barrier.glsl"
#endif
#include "tile/scan_results.glsl"
#include "tile/heads.glsl"

// What the partials of the workgroups before this one combine to, in their order.
Accumulator workgroup_partials_before(uint group, uint vlane, inout uint turn) {
    Accumulator total = accumulator_identity();
    for (uint first = 0u; first < group; first += kScanPlaces) {
        Accumulator partials[kScanRows];
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
            uint i = first + scan_place(row, vlane);
            partials[row] = accumulator_select(i < group, load_partial(min(i, group - 1u)),
                                               accumulator_identity());
        }
        total = combine(total, workgroup_scan(partials, vlane, turn++));
    }
    return total;
}

void main() {
    uint vlane = lane_number();
    Share share = read_share();
    uint group = group_number();
    uint first = min(group * share.tiles_per_group, share.tiles);
    uint end = first + min(share.tiles_per_group, share.tiles - first);
    uint turn = 0u;
    Accumulator before = with_initial(workgroup_partials_before(group, vlane, turn));
    for (uint t = first; t < end; ++t) {
        Tile tile = tile_in_order(share, t);
        Vector vectors[kScanRows];
        Accumulator values[kScanRows];
        load_tile(tile, vlane, false, vectors);
        sum_rows(tile, vlane, vectors, values);
        Accumulator total = workgroup_scan(values, vlane, turn++);
        store_tile(tile, vlane, vectors, values, before);
        before = combine(before, total);
    }
}
