// 1 << lane where a subgroup has 64 lanes (cases F4).
// expect: shift_out_of_range
// run: subgroup 64
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) coherent buffer Result { uint result[]; };
void main() {
    uint lane = gl_SubgroupInvocationID;
#ifdef FIXED
    uint bit = lane < 32u ? 1u << (lane & 31u) : 0u;
#else
    uint bit = 1u << lane;  // fault
#endif
    result[gl_LocalInvocationIndex] = bit;
}
