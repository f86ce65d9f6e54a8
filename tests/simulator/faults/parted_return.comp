// Lanes that returned from a function at different places need not meet again (cases F2).
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
uint sum_of(uint x) {
    if (x % 2u == 1u) return 0u;
    return x;
}
void main() {
    uint lid = gl_LocalInvocationIndex;
#ifdef FIXED
    uint x = lid % 2u == 1u ? 0u : lid;
#else
    uint x = sum_of(lid);
#endif
    result[lid] = subgroupAdd(x);  // fault
}
