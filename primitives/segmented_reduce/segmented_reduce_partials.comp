// Purpose: the results of segments that end in another workgroup's tiles than they begin in.
// Passes before: segmented_reduce_tiles with the strategy two_pass. After: none.
// Inputs: scratch (0): for each workgroup of that pass two partials and the number of a segment; parameters
//   where the count is in a buffer. Outputs: result (1), at most one for each of those workgroups. One
//   workgroup.
// Needs: subgroup form: basic and shuffle operations; with a custom operator ballot, too. With f64 in its
//   name: shaderFloat64.
// Memory order: none of its own; the host puts a memory barrier before this pass.
// Tail: where there is no partial, there is the identity.
// Source: none beyond kernels/item/segmented.glsl.
// What differs in WGSL: nothing but the spelling.
//
//     workgroups      | 0        | 1        | 2        | 3        |
//     segments         aaa bbbbbbbbbbbbbbbbbbbbbbbbb cc d eeee
//     totals            b          b          c          e          (with heads, but for 1)
//     scanned           .          b          bb         c
//     incoming                                bbbb       c          -> the results of b and c
#version 450

// Prologue: a build or the assembler replaces these.
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
layout(constant_id = 1) const uint kVectors = 4u;          // partials of a lane; a power of two
layout(constant_id = 2) const uint kOperator = 0u;         // item/names.glsl
layout(constant_id = 3) const uint kElementKind = 0u;      // item/names.glsl
layout(constant_id = 4) const uint kPartialsOffset = 64u;  // words of scratch before the partials
layout(constant_id = 5) const uint kSubgroupSize = 0u;     // 0: read in the shader
layout(constant_id = 6) const uint kFullSubgroups = 0u;    // 1: promised by the API
layout(constant_id = 7) const uint kIncomingOffset = 64u;  // words of scratch before the segments' numbers
layout(constant_id = 10) const uint kElementBits = 32u;    // 8, 16, 32, 64
#define kScanRows kVectors
#define LW_SEGMENTED

#define LW_BINDINGS 2
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(scratch, 0, coherent)
LW_BUFFER(result, 1, writeonly)

#include "item/result.glsl"
#include "subgroup/lane_number.glsl"
#include "tile/partials.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/scan_subgroup.glsl"
#else
#include "workgroup/scan_barrier.glsl"
#endif
#include "tile/segment_results.glsl"

void main() {
    uint vlane = lane_number();
    // A single workgroup leaves no partials.
    uint groups = read_share().groups;
    if (groups == 1u) groups = 0u;
    Accumulator before = accumulator_identity();
    uint turn = 0u;
    for (uint first = 0u; first < groups; first += kScanPlaces) {
        Accumulator totals[kScanRows];
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
            uint group = first + scan_place(row, vlane);
            totals[row] = accumulator_select(group < groups, load_partial(2u * min(group, groups - 1u)),
                                             accumulator_identity());
        }
        Accumulator total = workgroup_scan(totals, vlane, turn++);
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
            uint group = first + scan_place(row, vlane);
            uint segment = kNoSegment;
            if (group < groups) segment = LW_WORD(scratch, kIncomingOffset + group);
            if (segment != kNoSegment) {
                Accumulator earlier = combine(before, totals[row]);
                store_result(segment, combine(earlier, load_partial(2u * group + 1u)), true);
            }
        }
        before = combine(before, total);
    }
}
