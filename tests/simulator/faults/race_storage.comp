// Workgroups that write to one place.
// expect: race
// run: workgroups 3
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
#ifdef FIXED
    uint at = gl_GlobalInvocationID.x;
#else
    uint at = gl_LocalInvocationIndex;
#endif
    result[at] = gl_WorkGroupID.x;  // fault
}
