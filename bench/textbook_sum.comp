// Purpose: sums f32 as textbooks do, for comparison with reduce: one workgroup of 256 invocations
//   sums one tile, by the halving tree or by subgroup sums, of 1 or 16 items per invocation.
// Passes before, after: none.
// Inputs: input (0), f32. Outputs: output (1): one partial per workgroup. Scratch: none.
// Needs: subgroup form: basic and arithmetic operations.
// Memory order: barriers only.
// Tail: items beyond the count are 0.
// Source: the tree is in every introduction to GPU programming.
// What differs in WGSL: nothing but the spelling.
//
//     tree       8 values, 3 steps, a barrier after each     a b c d e f g h
//                                                            +e+f+g+h
//                                                            +c+d
//                                                            +b
//     subgroup   a sum of each subgroup, one barrier, a sum of the sums
//
// A tile is 256 x LW_ITEMS items; tiles_per_group must be 1.
#version 450

// Prologue: a build replaces these.
#ifndef LW_ITEMS
#define LW_ITEMS 1  // 1, 16
#endif
// LW_FORM_SUBGROUP: subgroup sums; else the tree.
// LW_DEVICE_ADDRESS: buffers by address; else by descriptor.
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_FORM_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x = 256) in;
const uint kWorkgroupSize = 256u;
#if LW_ITEMS == 1
const uint kVectors = 1u;  // not used
#else
const uint kVectors = LW_ITEMS / 4;
#endif

#define LW_BINDINGS 2
#define LW_INPUT_BINDING 0
#include "tile/load.glsl"
#include "tile/share.glsl"
LW_BUFFER(input_items, 0, readonly)
LW_BUFFER(partials, 1, writeonly)

#ifdef LW_FORM_SUBGROUP

// 64 with full subgroups of 4, the smallest; partial subgroups may be more.
shared float sh_partials[kWorkgroupSize];

// Valid in every invocation of subgroup 0.
float workgroup_sum(float value) {
    float sum = subgroupAdd(value);
    if (subgroupElect()) sh_partials[gl_SubgroupID] = sum;
    barrier();
    float rest = 0.0;
    // There may be more subgroups than lanes in one of them.
    for (uint i = gl_SubgroupInvocationID; i < gl_NumSubgroups; i += gl_SubgroupSize) {
        rest += sh_partials[i];
    }
    return subgroupAdd(rest);
}

bool has_sum() { return gl_SubgroupID == 0u && subgroupElect(); }

#else

shared float sh_values[kWorkgroupSize];

// Valid in every invocation.
float workgroup_sum(float value) {
    uint lane = gl_LocalInvocationIndex;
    sh_values[lane] = value;
    barrier();
    for (uint width = kWorkgroupSize / 2u; width > 0u; width /= 2u) {
        if (lane < width) sh_values[lane] += sh_values[lane + width];
        barrier();
    }
    return sh_values[0];
}

bool has_sum() { return gl_LocalInvocationIndex == 0u; }

#endif

float item(Place tile, uint i, uint items) {
    return i < items ? uintBitsToFloat(load_word(tile, i)) : 0.0;
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint tile_items = kWorkgroupSize * LW_ITEMS;
    Part part = part_of_group(read_share(), group_number(), tile_items);
    bool all = part.first < part.end;
    float sum = 0.0;
#if LW_ITEMS == 1
    uint items = all ? tile_items : part.cut;
    if (lane < items) sum = uintBitsToFloat(LW_WORD(input_items, part.first * tile_items + lane));
#else
    Place tile = tile_place(part.first);
    if (all) {
        vec4 sums = vec4(0.0);
        uvec4 vectors[kVectors];
        [[unroll]] for (uint k = 0u; k < kVectors; ++k) {
            vectors[k] = load_vector(tile, k * kWorkgroupSize + lane);
        }
        [[unroll]] for (uint k = 0u; k < kVectors; ++k) sums += uintBitsToFloat(vectors[k]);
        sum = sums.x + sums.y + sums.z + sums.w;
    } else {
        for (uint i = lane; i < part.cut; i += kWorkgroupSize) {
            sum += uintBitsToFloat(load_word(tile, i));
        }
    }
#endif
    sum = workgroup_sum(sum);
    if (has_sum()) LW_WORD(partials, group_number()) = floatBitsToUint(sum);
}
