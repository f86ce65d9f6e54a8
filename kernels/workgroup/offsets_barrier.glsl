// Offsets: of one number from each lane, the sum of those before it, without subgroup operations.
//
//     uint workgroup_offset(uint value, uint vlane, out uint total)
//
// All lanes call it, in uniform flow; vlane is any numbering of the invocations. A barrier must stand
// between two calls. Control barriers: 2.
//
//     values      a b c d | e f g h | ...       W values in groups of about the square root of W
//     groups      abcd      efgh                one lane sums a group; barrier
//     lane of g   abcd    + e f                 each lane: the groups before its own, the lanes in it
//
// Where the values are pairs of 16 bits whose sums fit, it adds both.
//
// The kernel defines before: kWorkgroupSize (constant).
#ifndef LW_WORKGROUP_OFFSETS_BARRIER_GLSL
#define LW_WORKGROUP_OFFSETS_BARRIER_GLSL

const uint kOffsetsGroup = kWorkgroupSize > 256u ? 32u : kWorkgroupSize > 64u ? 16u : kWorkgroupSize > 16u ? 8u : 4u;
const uint kOffsetsGroups = kWorkgroupSize / kOffsetsGroup;

#ifndef LW_FORM_SUBGROUP
const uint kOffsetsWords = kWorkgroupSize + kOffsetsGroups;
#else
// With full subgroups there is one sum for each. No division by zero, although it would be in vain:
// compilers fold constants.
const uint kOffsetsSize = kSubgroupSize != 0u ? kSubgroupSize : 1u;
const uint kOffsetsWords = kFullSubgroups != 0u && kSubgroupSize != 0u
    ? kWorkgroupSize / kOffsetsSize
    : kWorkgroupSize + kOffsetsGroups;
#endif
shared uint sh_offsets[kOffsetsWords];

uint workgroup_offset_barrier(uint value, uint vlane, out uint total) {
    sh_offsets[vlane] = value;
    barrier();
    if (vlane < kOffsetsGroups) {
        uint sum = 0u;
        [[unroll]] for (uint i = 0u; i < kOffsetsGroup; ++i) {
            sum += sh_offsets[vlane * kOffsetsGroup + i];
        }
        sh_offsets[kWorkgroupSize + vlane] = sum;
    }
    barrier();
    uint own = vlane / kOffsetsGroup;
    uint before = 0u;
    total = 0u;
    [[unroll]] for (uint i = 0u; i < kOffsetsGroups; ++i) {
        uint sum = sh_offsets[kWorkgroupSize + i];
        before += i < own ? sum : 0u;
        total += sum;
    }
    for (uint i = own * kOffsetsGroup; i < vlane; ++i) before += sh_offsets[i];
    return before;
}

#ifndef LW_FORM_SUBGROUP
uint workgroup_offset(uint value, uint vlane, out uint total) {
    return workgroup_offset_barrier(value, vlane, total);
}
#endif

#endif
