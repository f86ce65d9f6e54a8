// A neighbour past the end of an array in workgroup memory.
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
shared uint sh_row[64];
void main() {
    uint lid = gl_LocalInvocationIndex;
    sh_row[lid] = lid;
    barrier();
#ifdef FIXED
    uint next = lid + 1u < 64u ? lid + 1u : lid;
#else
    uint next = lid + 1u;
#endif
    uint x = sh_row[next];  // fault
    result[lid] = x;
}
