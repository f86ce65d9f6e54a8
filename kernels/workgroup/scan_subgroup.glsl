// Workgroup scan by subgroup shuffles. Same contract as scan_barrier.glsl, but for the places: a
// subgroup's are neighbours, so that only one value of each subgroup goes through workgroup memory.
//
//     uint        scan_place(uint row, uint vlane)
//     Accumulator workgroup_scan(inout Accumulator values[kScanRows], uint vlane, uint turn)
//
// With full subgroups vlane must be subgroup * size + lane; otherwise the barrier module does it,
// with any numbering.
//
//     S = 4, two rows        subgroup 0      subgroup 1
//     places                 0 1 2 3         8 9 a b
//                            4 5 6 7         c d e f
//
//     a row                  a b c d
//     from lane - 1          a ab bc cd
//     from lane - 2          a ab abc abcd            inclusive; the row's sum is in the last lane
//     rows of a subgroup     one after the other
//     subgroups              their sums, in workgroup memory; barrier; each scans them all for itself
//
// W/S sums may be more than a subgroup has lanes (64 for W = 256, S = 4): they are scanned S at a
// time. Control barriers, full subgroups: 1, or none where there is one subgroup.
//
// Needs GL_KHR_shader_subgroup_basic and _shuffle. The kernel defines before: what scan_barrier.glsl
// and subgroup/size.glsl ask for; LW_FORM_SUBGROUP.
#ifndef LW_WORKGROUP_SCAN_SUBGROUP_GLSL
#define LW_WORKGROUP_SCAN_SUBGROUP_GLSL

#include "subgroup/size.glsl"
#include "workgroup/scan_barrier.glsl"

uint scan_place(uint row, uint vlane) {
    uint width = subgroups_are_full() ? subgroup_size() : kWorkgroupSize;
    uint lane = vlane & (width - 1u);
    return (vlane - lane) * kScanRows + row * width + lane;
}

// The value becomes what those of the lanes before combine to; gives what the first `width` lanes
// combine to (a power of two, at most the subgroup size; values beyond do not matter).
Accumulator subgroup_scan(inout Accumulator value, uint width) {
    uint lane = gl_SubgroupInvocationID;
    uint lanes = subgroup_size();
#ifdef LW_CUSTOM
    if (subgroup_all_hold(value)) {
        [[unroll]] for (uint apart = 1u; apart < width; apart *= 2u) {
            Accumulator other = subgroup_shuffle_held(value, (lane - apart) & (lanes - 1u));
            if (lane >= apart) value = combine_held(other, value);
        }
        Accumulator sum = subgroup_shuffle_held(value, width - 1u);
        value = subgroup_shuffle_held(value, (lane - 1u) & (lanes - 1u));
        value.holds = lane == 0u ? 0u : 1u;
#ifdef LW_SEGMENTED
        if (lane == 0u) value.head = 0u;
#endif
        return sum;
    }
#endif
    [[unroll]] for (uint apart = 1u; apart < width; apart *= 2u) {
        Accumulator other = subgroup_shuffle(value, (lane - apart) & (lanes - 1u));
        value = accumulator_select(lane >= apart, combine(other, value), value);
    }
    Accumulator total = subgroup_shuffle(value, width - 1u);
    Accumulator before = subgroup_shuffle(value, (lane - 1u) & (lanes - 1u));
    value = accumulator_select(lane == 0u, accumulator_identity(), before);
    return total;
}

Accumulator workgroup_scan_full_subgroups(inout Accumulator values[kScanRows], uint turn) {
    uint size = subgroup_size();
    uint lane = gl_SubgroupInvocationID;
    Accumulator total;
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        Accumulator sum = subgroup_scan(values[row], size);
        if (row == 0u) {
            total = sum;
        } else {
            values[row] = combine(total, values[row]);
            total = combine(total, sum);
        }
    }
    uint subgroups = kWorkgroupSize / size;
    if (subgroups > 1u) {
        uint region = (turn & 1u) * subgroups;
        if (lane == 0u) sh_scan[region + gl_SubgroupID] = total;
        barrier();
        Accumulator before;
        for (uint first = 0u; first < subgroups; first += size) {
            Accumulator sum = sh_scan[region + min(first + lane, subgroups - 1u)];
            Accumulator sums = subgroup_scan(sum, min(size, subgroups));
            sum = subgroup_shuffle(sum, (gl_SubgroupID - first) & (size - 1u));
            if (first != 0u) {
                sum = combine(total, sum);
                sums = combine(total, sums);
            }
            if (gl_SubgroupID / size == first / size) before = sum;
            total = sums;
        }
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
            values[row] = combine(before, values[row]);
        }
    }
    return total;
}

Accumulator workgroup_scan(inout Accumulator values[kScanRows], uint vlane, uint turn) {
    Accumulator total;
    if (subgroups_are_full()) {
        total = workgroup_scan_full_subgroups(values, turn);
    } else {
        total = workgroup_scan_barrier(values, vlane, turn);
    }
    return total;
}

#endif
