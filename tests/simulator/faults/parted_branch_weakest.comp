// Subgroup-uniform, but not workgroup-uniform: core SPIR-V promises nothing inside.
// expect: divergent_subgroup_operation
// run: level weakest
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
    uint x = 0u;
#ifdef FIXED
    if (gl_WorkGroupID.x == 0u) {
#else
    if (lid >= 32u) {
#endif
        if (lid % 2u == 0u) x = 1u;
        x += subgroupAdd(x);  // fault
    }
    result[lid] = x;
}
