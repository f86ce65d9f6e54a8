// Looking back: what all tiles before one combine to, from what they have published (tile/look_back.glsl
// draws it).
//
//     Accumulator workgroup_look_back(Share share, uint t, uint epoch, uint vlane)
//
// All invocations call it, in workgroup-uniform flow, and all get the result. With full subgroups the
// first one looks, in windows of its size; otherwise the workgroup does, in windows of its own. A tile
// that is missing for too long is combined again by the kernel's
//
//     Accumulator workgroup_tile_sum_again(Share share, uint t, uint vlane)
//
// which gives the sum in lane 0 only; a barrier stands between two calls, and before the first where
// kernels call the like before.
//
// Control barriers: 2 for each time that the first subgroup has looked.
//
// The kernel defines before: workgroup_tile_sum_again; tile/look_back.glsl's; workgroup/scan_*.glsl and
// in the subgroup form subgroup/ballot.glsl, which it includes; kPatience (constant).
#ifndef LW_WORKGROUP_LOOK_BACK_GLSL
#define LW_WORKGROUP_LOOK_BACK_GLSL

#include "tile/look_back.glsl"
#include "tile/share.glsl"

shared uvec4 sh_look;  // tiles to go, whether one is missing; barrier form: ends of flags
shared Accumulator sh_before;

// One look at a window of `width` tiles, the last of which is next - 1; lane `width` - 1 has that.
// What lies before the first tile counts as a prefix of nothing.
uint look_at_window(uint next, uint width, uint lane, uint epoch, out Accumulator a) {
    uint behind = width - lane;
    uint flag = look_at(max(next, behind) - behind, epoch, a);
    a = accumulator_select(behind > next, accumulator_identity(), a);
    return behind > next ? kFlagPrefix : flag;
}

// The ends (one past the last lane) of prefixes and of empty tiles in a window say from which lane on
// all values count.
uint window_start(uint prefix_end, uint empty_end) {
    return prefix_end > empty_end ? prefix_end - 1u : empty_end;
}

#ifdef LW_FORM_SUBGROUP

// The first subgroup looks back, in windows of its size, until all is known or a tile is missing;
// gives whether one is: tile next - 1.
bool subgroup_look_back(inout uint next, uint epoch, inout Accumulator before) {
    uint size = subgroup_size();
    uint lane = gl_SubgroupInvocationID;
    uint looks = 0u;
    while (next != 0u && looks < kPatience) {
        Accumulator a;
        uint flag = look_at_window(next, size, lane, epoch, a);
        uint prefix_end = ballot_end(subgroupBallot(flag == kFlagPrefix));
        uint empty_end = ballot_end(subgroupBallot(flag == kFlagEmpty));
        uint start = window_start(prefix_end, empty_end);
        a = accumulator_select(lane >= start, a, accumulator_identity());
        before = combine(subgroup_scan(a, size), before);
        looks = start == size ? looks + 1u : 0u;
        next = prefix_end > empty_end ? 0u : next - (size - start);
    }
    return next != 0u;
}

#endif

// The same with windows of the workgroup's size.
bool workgroup_look_back_barrier(inout uint next, uint epoch, uint vlane,
                                 inout Accumulator before) {
    uint looks = 0u;
    while (next != 0u && looks < kPatience) {
        Accumulator a;
        uint flag = look_at_window(next, kWorkgroupSize, vlane, epoch, a);
        if (vlane == 0u) sh_look = uvec4(0u);
        barrier();
        if (flag == kFlagPrefix) atomicMax(sh_look.z, vlane + 1u);
        if (flag == kFlagEmpty) atomicMax(sh_look.w, vlane + 1u);
        barrier();
        uint prefix_end = sh_look.z;
        uint empty_end = sh_look.w;
        uint start = window_start(prefix_end, empty_end);
        Accumulator values[kScanRows];
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
            values[row] = accumulator_identity();
        }
        values[0] = accumulator_select(vlane >= start, a, accumulator_identity());
        before = combine(workgroup_scan_barrier(values, vlane, 1u), before);
        looks = start == kWorkgroupSize ? looks + 1u : 0u;
        next = prefix_end > empty_end ? 0u : next - (kWorkgroupSize - start);
    }
    return next != 0u;
}

// What the tiles before tile t combine to.
Accumulator workgroup_look_back(Share share, uint t, uint epoch, uint vlane) {
    Accumulator before = accumulator_identity();
    uint next = t;
    while (next != 0u) {
        bool missing = false;
#ifdef LW_FORM_SUBGROUP
        if (subgroups_are_full()) {
            if (gl_SubgroupID == 0u) missing = subgroup_look_back(next, epoch, before);
            if (vlane == 0u) {
                sh_look = uvec4(next, missing ? 1u : 0u, 0u, 0u);
                sh_before = before;
            }
            barrier();
            next = sh_look.x;
            missing = sh_look.y != 0u;
            before = sh_before;
            barrier();
        } else
#endif
        {
            missing = workgroup_look_back_barrier(next, epoch, vlane, before);
        }
        if (missing) {
            --next;
            Accumulator sum = workgroup_tile_sum_again(share, next, vlane);
            if (vlane == 0u) sh_before = sum;
            barrier();
            before = combine(sh_before, before);
            barrier();
        }
    }
    return before;
}

#endif
