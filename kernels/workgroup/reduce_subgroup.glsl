// Workgroup reduction by subgroup shuffles. Same contract and same tree as reduce_barrier.glsl:
//
//     Accumulator workgroup_reduce(Accumulator value, uint vlane, uint lanes)
//
// With full subgroups vlane must be subgroup * size + lane; otherwise the barrier module does it,
// with any numbering. The result is valid in lane 0 only; a barrier must stand between two calls.
//
//     S = 4, W = 16      a b c d | e f g h | i j k l | m n o p
//     lane ^ 1           ab  cd    ef  gh    ij  kl    mn  op
//     lane ^ 2           abcd      efgh      ijkl      mnop        one value for each subgroup
//     workgroup memory, barrier
//     lane ^ 1           abcdefgh  ijklmnop                        now in the first W/S lanes
//     lane ^ 2           abcdefghijklmnop
//
// Subgroup sums of the hardware have no promised order, shuffles do. W/S values may be more than a
// subgroup has lanes (64 for W = 256, S = 4), so the last steps repeat until one value is left. All
// subgroups take part in all steps: subgroup operations stay in uniform flow.
//
// Control barriers, full subgroups: ceil(log W / log S) - 1.
//
// Needs GL_KHR_shader_subgroup_basic and _shuffle. The kernel defines before: what
// reduce_barrier.glsl and subgroup/size.glsl ask for; LW_FORM_SUBGROUP.
#ifndef LW_WORKGROUP_REDUCE_SUBGROUP_GLSL
#define LW_WORKGROUP_REDUCE_SUBGROUP_GLSL

#include "subgroup/size.glsl"
#include "workgroup/reduce_barrier.glsl"

// Combines blocks of `width` lanes (a power of two, at most the subgroup size) into their first.
Accumulator subgroup_reduce(Accumulator value, uint vlane, uint lanes, uint width) {
    [[unroll]] for (uint mask = 1u; mask < width; mask *= 2u) {
        Accumulator other = subgroup_shuffle_xor(value, mask);
        // First lane of the upper of the two halves that meet here.
        uint upper = (vlane | mask) & ~(mask - 1u);
        if (upper < lanes) value = combine(value, other);
    }
    return value;
}

Accumulator workgroup_reduce_full_subgroups(Accumulator value, uint vlane, uint lanes) {
    uint size = subgroup_size();
    uint width = kWorkgroupSize;  // lanes that hold a value
    uint region = 0u;
    value = subgroup_reduce(value, vlane, lanes, size);
    while (width > size) {
        width /= size;
        lanes = (lanes + size - 1u) / size;
        if (gl_SubgroupInvocationID == 0u && gl_SubgroupID < width) {
            sh_reduce[region + gl_SubgroupID] = value;
        }
        barrier();
        if (vlane < width) value = sh_reduce[region + vlane];
        region += width;
        value = subgroup_reduce(value, vlane, lanes, min(size, width));
    }
    return value;
}

Accumulator workgroup_reduce(Accumulator value, uint vlane, uint lanes) {
    if (subgroups_are_full()) {
        value = workgroup_reduce_full_subgroups(value, vlane, lanes);
    } else {
        value = workgroup_reduce_barrier(value, vlane, lanes);
    }
    return value;
}

#endif
