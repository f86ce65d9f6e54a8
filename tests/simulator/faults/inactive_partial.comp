// Lane 3 of the last subgroup does not exist: 27 invocations in subgroups of 8 (cases C8).
// expect: inactive_lane
// run: subgroup 8
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 27) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) coherent buffer Result { uint result[]; };
void main() {
    uint lid = gl_LocalInvocationIndex;
    uint x = data[lid];
    uint other = subgroupBroadcast(x, 3u);  // fault
#ifdef FIXED
    if (gl_SubgroupID < 3u)
#endif
    result[lid] = other;
}
