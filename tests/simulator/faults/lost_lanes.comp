// A ballot cut to 32 bits (cases F3): right up to 32 lanes.
// expect: different_results
// run: compare subgroup 64
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
    bool keep = data[lid] % 3u != 0u;
    uvec4 votes = subgroupBallot(keep);
#ifdef FIXED
    uint rank = subgroupBallotExclusiveBitCount(votes);
#else
    uint rank = bitCount(votes.x & gl_SubgroupLtMask.x);
#endif
    uint base = subgroupExclusiveAdd(keep ? 1u : 0u);
    result[lid] = keep ? rank - base : 0u;
}
