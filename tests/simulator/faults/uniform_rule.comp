// Where subgroup operations must be reached by all lanes, as in WGSL (cases F2).
// expect: divergent_subgroup_operation
// run: uniform operations
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
#ifdef FIXED
    x = subgroupAdd(lid % 2u == 0u ? x : 0u);
#else
    if (lid % 2u == 0u) {
        x = subgroupAdd(x);  // fault
    }
#endif
    result[lid] = x;
}
