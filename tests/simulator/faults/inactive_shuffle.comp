// A shuffle from lanes that did not take the branch.
// expect: inactive_lane
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
    uint other = subgroupShuffleXor(x, 16u);
    if ((gl_SubgroupInvocationID & 16u) == 0u) {
#else
    if ((gl_SubgroupInvocationID & 16u) == 0u) {
        uint other = subgroupShuffleXor(x, 16u);  // fault
#endif
        result[lid] = x + other;
    }
}
