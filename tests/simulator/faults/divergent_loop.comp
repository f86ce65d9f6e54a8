// A barrier in a loop that lanes leave one by one (cases F1).
// expect: divergent_barrier
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
    for (uint i = 0u; i < 4u; ++i) {
#ifndef FIXED
        if (i > lid % 3u) break;
#endif
        sum += data[i];
        barrier();  // fault
    }
    result[lid] = sum;
}
