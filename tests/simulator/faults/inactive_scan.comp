// The usual scan: what the first lanes shuffle is undefined, and must not be used.
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
    for (uint d = 1u; d < gl_SubgroupSize; d *= 2u) {
        uint up = subgroupShuffle(x, gl_SubgroupInvocationID - d);  // fault
#ifdef FIXED
        if (gl_SubgroupInvocationID >= d)
#endif
        x += up;
    }
    result[lid] = x;
}
