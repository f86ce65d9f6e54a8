// A barrier inside a branch that only some take.
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
#ifdef FIXED
    if (gl_WorkGroupID.x < 40u) {
#else
    if (lid < 40u) {
#endif
        barrier();  // fault
        result[lid] = lid;
    }
}
