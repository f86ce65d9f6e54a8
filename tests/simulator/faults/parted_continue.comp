// After continue the lanes need not be together in the next iteration.
// expect: divergent_subgroup_operation
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
    uint sum = 0u;
    for (uint i = 0u; i < 3u; ++i) {
        sum += subgroupAdd(i);  // fault
#ifndef FIXED
        if ((lid + i) % 2u == 0u) continue;
#endif
        sum += 1u;
    }
    result[lid] = sum;
}
