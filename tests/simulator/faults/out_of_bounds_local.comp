// An index from a buffer into a variable.
// expect: out_of_bounds
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
    uint row[8];
    for (uint i = 0u; i < 8u; ++i) row[i] = i;
    uint at = data[gl_LocalInvocationIndex];
#ifdef FIXED
    at &= 7u;
#endif
    uint x = row[at];  // fault
    result[gl_LocalInvocationIndex] = x;
}
