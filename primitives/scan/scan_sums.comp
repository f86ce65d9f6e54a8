// Purpose: combines the tiles of each workgroup but the last into one partial.
// Passes before: count_to_groups, where the count is in a buffer. After: scan_tiles.
// Inputs: input (0), elements in whole 32-bit words. Outputs: none. Scratch (1): parameters where
//   the count is in a buffer; one partial per workgroup, in the order of the scan.
// Needs: subgroup form: basic and shuffle operations; with a custom operator ballot, too. With f64 in its
//   name: shaderFloat64.
// Memory order: none inside; scan_tiles comes after a barrier.
// Tail: items that are not there are the identity (kernels/tile/rows.glsl).
// Source: none; the usual first half of reduce-then-scan.
// What differs in WGSL: nothing.
//
//     tiles      0 1 2 | 3 4 5 | 6 7 8 | 9 a       three tiles a workgroup
//     partials     p0      p1      p2              nobody needs the last workgroup's
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
#ifdef LW_SEGMENTED
layout(constant_id = 17) const uint kMarkBits = 1u;        // of a flag or key
layout(constant_id = 18) const uint kMarksAreKeys = 0u;    // 0: flags
#endif
const uint kElementBits = LW_ELEMENT_BITS;
#define kScanRows kVectors

#ifdef LW_SEGMENTED
#define LW_BINDINGS 3
#else
#define LW_BINDINGS 2
#endif
#define LW_INPUT_BINDING 0
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(scratch, 1, coherent)
#ifdef LW_SEGMENTED
LW_BUFFER(marks, 2, readonly)
#endif

#include "tile/partials.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/reduce_subgroup.glsl"
#include "workgroup/scan_subgroup.glsl"
#else
#include "workgroup/reduce_barrier.glsl"
#include "workgroup/scan_barrier.glsl"
#endif
#include "tile/sum_tiles.glsl"
#include "tile/heads.glsl"

void main() {
    uint vlane = lane_number();
    Share share = read_share();
    uint group = group_number();
    // The last workgroup's is not needed; all others have as many tiles as there are for a workgroup.
    if (group + 1u < share.groups) {
        uint first = group * share.tiles_per_group;
        Accumulator total = workgroup_sum_tiles(share, first, first + share.tiles_per_group, vlane);
        if (vlane == 0u) store_partial(group, total);
    }
}
