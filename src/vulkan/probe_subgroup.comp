// Purpose: self-test of subgroups: each invocation writes what it sees of its subgroup and what the
//     operations of one kind gave it. The kind is USE_BALLOT, USE_SHUFFLE or USE_ARITHMETIC; with
//     none of them, the built-ins alone. One kind to a kernel, so that no kernel asks for an
//     operation that the device does not have.
// Passes before and after: none.
// Inputs, outputs, scratch: values in; k_words words out for each invocation.
// Needs: subgroup basic, and the kind.
// Memory order: none.
// Tail: none; every invocation has a value.
// Host: src/vulkan/probe.cpp, which knows what each word must be (probe_check.cpp). The host finds
//     from lane and subgroup id who held which value, as no relation to the local index is defined.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#ifdef USE_BALLOT
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#ifdef USE_SHUFFLE
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#ifdef USE_ARITHMETIC
#extension GL_KHR_shader_subgroup_arithmetic : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint workgroup_size = 64;

layout(set = 0, binding = 0, std430) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Words { uint words[]; };

layout(push_constant) uniform Parameters {
    uint count_low, count_high, tiles, tiles_per_group, groups, first_group, flags, offset_words;
} parameters;

const uint k_words = 10;

void main() {
    const uint group = parameters.first_group + gl_WorkGroupID.x;
    const uint at = group * workgroup_size + gl_LocalInvocationIndex;
    const uint value = values[at];
    const uint lane = gl_SubgroupInvocationID;

    uint seen[5] = uint[5](0, 0, 0, 0, 0);
    // seen[3] is from a path that only odd workgroups take: drivers were wrong there.
    const bool odd_group = (group & 1u) != 0u;
#if defined(USE_BALLOT)
    const uvec4 odd_values = subgroupBallot((value & 1u) != 0u);
    seen[0] = subgroupBallotBitCount(subgroupBallot(true));
    seen[1] = subgroupBallotBitCount(odd_values);
    seen[2] = subgroupBallotExclusiveBitCount(odd_values);
    if (odd_group) seen[3] = subgroupBallotBitCount(subgroupBallot((value & 2u) != 0u));
    seen[4] = subgroupBallotFindLSB(subgroupBallot(true));
#elif defined(USE_SHUFFLE)
    seen[0] = subgroupShuffle(value, (lane + 1u) % gl_SubgroupSize);
    seen[1] = subgroupShuffleXor(value, 1u);
    seen[2] = subgroupShuffleXor(value, 2u);
    if (odd_group) seen[3] = subgroupShuffleXor(value, 1u);
    seen[4] = subgroupShuffleXor(value, gl_SubgroupSize / 2u);
#elif defined(USE_ARITHMETIC)
    seen[0] = subgroupAdd(value);
    seen[1] = subgroupExclusiveAdd(value);
    seen[2] = subgroupMin(value);
    if (odd_group) seen[3] = subgroupAdd(value);
    seen[4] = subgroupMax(value);
#else
    seen[0] = subgroupElect() ? 1u : 0u;
#endif

    const uint base = k_words * at;
    words[base] = ~value;
    words[base + 1] = gl_SubgroupSize;
    words[base + 2] = lane;
    words[base + 3] = gl_SubgroupID;
    words[base + 4] = gl_NumSubgroups;
    for (uint i = 0; i < 5; ++i) words[base + 5 + i] = seen[i];
}
