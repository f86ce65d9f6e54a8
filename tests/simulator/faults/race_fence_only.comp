// A fence where a barrier is needed (cases F11).
// expect: race
// run: schedule round_robin, quantum 7
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
    memoryBarrierShared();
#ifdef FIXED
    barrier();
#endif
    uint x = sh_row[lid ^ 33u];  // fault
    result[lid] = x;
}
