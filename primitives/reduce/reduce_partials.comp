// Purpose: combines the partials that reduce_tiles left, one for each workgroup, into the result.
// Passes before: reduce_tiles with the strategy two_pass. After: none.
// Inputs: scratch (0): partials; parameters where the count is in a buffer. Outputs: output (1),
//   the result (item/result.glsl). One workgroup.
// Needs: subgroup form: basic and shuffle operations; with a custom operator ballot, too. With f64 in its
//   name: shaderFloat64.
// Memory order: none of its own; the host puts a memory barrier before this pass.
// Tail: lanes without a partial hold no value (workgroup/reduce_*.glsl).
// Source: none.
// What differs in WGSL: nothing but the spelling.
//
//     partials   p0 p1 p2 ... p(groups - 1)      lane v combines p(v), p(v + W), p(v + 2W) ...
//     workgroup  0 1 2 3 ... -> result           (tile/partials.glsl, workgroup/reduce_*.glsl)
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
// Constants 1, vectors, and 5, strategy, mean nothing here.
layout(constant_id = 2) const uint kOperator = 0u;         // item/names.glsl
layout(constant_id = 3) const uint kElementKind = 0u;      // item/names.glsl
layout(constant_id = 4) const uint kElementBits = 32u;     // 8, 16, 32, 64
layout(constant_id = 6) const uint kPartialsOffset = 64u;  // words of scratch before the partials
layout(constant_id = 7) const uint kSubgroupSize = 0u;     // 0: read in the shader
layout(constant_id = 8) const uint kFullSubgroups = 0u;    // 1: promised by the API

#define LW_BINDINGS 2
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(scratch, 0, coherent)
LW_BUFFER(result, 1, writeonly)

#include "item/accumulator.glsl"
#include "item/result.glsl"
#include "subgroup/lane_number.glsl"
#include "tile/partials.glsl"
#include "tile/share.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/reduce_subgroup.glsl"
#else
#include "workgroup/reduce_barrier.glsl"
#endif

void main() {
    uint vlane = lane_number();
    Share share = read_share();
    bool any = share.count != uvec2(0u);
    Accumulator total;
    if (any) total = gather_partials(share.groups, vlane);
    total = workgroup_reduce(total, vlane, any ? lanes_with_partials(share.groups) : 0u);
    if (vlane == 0u) {
        uint words[LW_RESULT_WORDS] = words_of_result(total, any);
        [[unroll]] for (uint i = 0u; i < LW_RESULT_WORDS; ++i) LW_WORD(result, i) = words[i];
    }
}
