// Offsets by subgroup shuffles. Same contract as offsets_barrier.glsl.
//
// With full subgroups vlane must be subgroup * size + lane; otherwise the barrier module does it, with
// any numbering. Control barriers, full subgroups: 1.
//
//     a subgroup              a b c d
//     from lane - 1           a ab bc cd
//     from lane - 2           a ab abc abcd     inclusive; the subgroup's sum is in the last lane
//     subgroups               their sums, in workgroup memory; barrier; each lane adds those before
//
// Needs GL_KHR_shader_subgroup_basic and _shuffle. The kernel defines before: what subgroup/size.glsl
// asks for; LW_FORM_SUBGROUP.
#ifndef LW_WORKGROUP_OFFSETS_SUBGROUP_GLSL
#define LW_WORKGROUP_OFFSETS_SUBGROUP_GLSL

#include "subgroup/size.glsl"
#include "workgroup/offsets_barrier.glsl"

uint workgroup_offset_full_subgroups(uint value, out uint total) {
    uint size = subgroup_size();
    uint lane = gl_SubgroupInvocationID;
    uint sum = value;
    [[unroll]] for (uint apart = 1u; apart < size; apart *= 2u) {
        uint other = subgroupShuffle(sum, (lane - apart) & (size - 1u));
        sum += lane >= apart ? other : 0u;
    }
    if (lane == size - 1u) sh_offsets[gl_SubgroupID] = sum;
    barrier();
    uint before = sum - value;
    total = 0u;
    for (uint i = 0u; i < kWorkgroupSize / size; ++i) {
        uint other = sh_offsets[i];
        before += i < gl_SubgroupID ? other : 0u;
        total += other;
    }
    return before;
}

uint workgroup_offset(uint value, uint vlane, out uint total) {
    uint before;
    if (subgroups_are_full()) {
        before = workgroup_offset_full_subgroups(value, total);
    } else {
        before = workgroup_offset_barrier(value, vlane, total);
    }
    return before;
}

#endif
