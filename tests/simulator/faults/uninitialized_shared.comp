// Workgroup memory that only some invocations have written.
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
shared uint sh_row[64];
void main() {
    uint lid = gl_LocalInvocationIndex;
#ifdef FIXED
    sh_row[lid] = lid;
#else
    if (lid < 60u) sh_row[lid] = lid;
#endif
    barrier();
    uint x = sh_row[63u - lid];  // fault
    result[lid] = x;
}
