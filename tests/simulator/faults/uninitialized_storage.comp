// A result that is added to before it was set.
// expect: uninitialized_read
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
#ifdef FIXED
    result[lid] = 0u;
#endif
    uint x = result[lid];  // fault
    result[lid] = x + 1u;
}
