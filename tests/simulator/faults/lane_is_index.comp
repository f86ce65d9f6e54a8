// A prefix sum that takes the lane for the local index (cases C10, F8).
// expect: different_results
// run: compare lanes reversed
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
    uint lid = gl_LocalInvocationIndex;
    uint x = data[lid];
    uint before = subgroupExclusiveAdd(x);
#ifdef FIXED
    result[lid] = subgroupAdd(before - before);
#else
    result[lid] = before;
#endif
}
