// Purpose: how many items are kept in the tiles of each workgroup.
// Passes before: count_to_groups, where the count is in a buffer. After: select_tiles.
// Inputs: input (0), items in whole 32-bit words; flags (1), or the input once more where items decide.
//   Outputs: none. Scratch (2): parameters where the count is in a buffer; one partial per workgroup.
// Needs: subgroup form: basic and shuffle operations.
// Memory order: none inside; select_tiles comes after a barrier.
// Tail: items that are not there are not kept.
// Source: none; the usual first half of reduce-then-scan.
// What differs in WGSL: flags (1) is not there where items decide.
//
//     tiles      0 1 2 | 3 4 5 | 6 7 8 | 9 a       three tiles a workgroup
//     partials     p0      p1      p2     p3
#version 450

// Prologue: a build or the assembler replaces these.
// LW_PREDICATE: a caller's element and predicate (item/custom_operation.glsl), of LW_ELEMENT_BITS bits.
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

#define LW_BINDINGS 3
#define LW_INPUT_BINDING 0
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(flags, 1, readonly)
LW_BUFFER(scratch, 2, coherent)

#include "tile/partials.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/reduce_subgroup.glsl"
#include "workgroup/scan_subgroup.glsl"
#else
#include "workgroup/reduce_barrier.glsl"
#include "workgroup/scan_barrier.glsl"
#endif
#include "tile/kept.glsl"

void main() {
    uint vlane = lane_number();
    Share share = read_share();
    uint group = group_number();
    uint first = min(group * share.tiles_per_group, share.tiles);
    uint end = first + min(share.tiles_per_group, share.tiles - first);
    Accumulator count = accumulator_identity();
    for (uint t = first; t < end; ++t) count.value += count_lane(tile_in_order(share, t), vlane);
    count = workgroup_reduce(count, vlane, kWorkgroupSize);
    if (vlane == 0u) store_partial(group, count);
}
