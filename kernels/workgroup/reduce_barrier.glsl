// Workgroup reduction with workgroup memory and barriers alone.
//
//     Accumulator workgroup_reduce_barrier(Accumulator value, uint vlane, uint lanes)
//     Accumulator workgroup_reduce(...)         the same; in the subgroup form the other module's
//
// All invocations call it, in workgroup-uniform flow. The lanes 0 to lanes - 1 hold a value (lanes
// is workgroup-uniform; with 0 the result is undefined); values of other lanes are not looked at.
// The result is valid in lane 0 only. A barrier must stand between two calls: the last reads of the
// first are not waited for.
//
// The values are combined as the balanced binary tree over the lanes, neighbours first: the same
// tree in both modules and for every subgroup size, so that float sums have the same bits.
//
//     W = 256   256 values --- 32 lanes, 8 each --- 4 lanes, 8 each --- lane 0, 4 --- result
//                         barrier              barrier             barrier
//
//     8 neighbours   a b c d e f g h       each level writes to memory of its own, so that one
//                     \/  \/  \/  \/       barrier per level is enough
//                       \/      \/
//                           \/
//
// Control barriers: ceil(log W / log 8).
//
// The kernel defines before: Accumulator, combine (item/accumulator.glsl); kWorkgroupSize, and in
// the subgroup form also kSubgroupSize, kFullSubgroups (constants).
#ifndef LW_WORKGROUP_REDUCE_BARRIER_GLSL
#define LW_WORKGROUP_REDUCE_BARRIER_GLSL

#include "item/accumulator.glsl"

const uint kReduceRadix = 8u;

// W values, W/8, W/64 ...; one unused slot after every 8 keeps lanes that read 8 neighbours each on
// different banks. So 9/8 W, 9/8 of W/8 ..., which is at most 9/7 W.
const uint kReduceSlotsBarrier = (9u * kWorkgroupSize + 6u) / 7u;

#ifdef LW_FORM_SUBGROUP
// With full subgroups each leaves one value, and so on for each level: P + P/S + P/S^2 ... for
// P = W/S subgroups, which is at most P + P/(S - 1). The smallest size is 4.
const uint kReduceSmallestSize = kSubgroupSize != 0u ? kSubgroupSize : 4u;
const uint kReduceSubgroups =
    (kWorkgroupSize + kReduceSmallestSize - 1u) / kReduceSmallestSize;
const uint kReduceSlotsSubgroup = kReduceSubgroups + kReduceSubgroups / (kReduceSmallestSize - 1u);
const uint kReduceSlots = kFullSubgroups != 0u ? kReduceSlotsSubgroup : kReduceSlotsBarrier;
#else
const uint kReduceSlots = kReduceSlotsBarrier;
#endif

shared Accumulator sh_reduce[kReduceSlots];

// Three steps of the tree at once: values[i] is that of lane first + i.
Accumulator combine_neighbours(Accumulator values[kReduceRadix], uint first, uint lanes) {
    [[unroll]] for (uint apart = 1u; apart < kReduceRadix; apart *= 2u) {
        [[unroll]] for (uint i = 0u; i < kReduceRadix; i += 2u * apart) {
            if (first + i + apart < lanes) values[i] = combine(values[i], values[i + apart]);
        }
    }
    return values[0];
}

Accumulator workgroup_reduce_barrier(Accumulator value, uint vlane, uint lanes) {
    uint region = 0u;
    for (uint width = kWorkgroupSize; width > 1u; width /= kReduceRadix) {
        // `width` lanes hold a value, of which the first `lanes` count.
        if (vlane < width) sh_reduce[region + vlane + vlane / kReduceRadix] = value;
        barrier();
        uint first = vlane * kReduceRadix;
        if (first < lanes) {
            uint slot = region + first + vlane;
            Accumulator values[kReduceRadix];
            [[unroll]] for (uint i = 0u; i < kReduceRadix; ++i) {
                if (first + i < lanes) values[i] = sh_reduce[slot + i];
            }
            value = combine_neighbours(values, first, lanes);
        }
        region += width + width / kReduceRadix;
        lanes = (lanes + kReduceRadix - 1u) / kReduceRadix;
    }
    return value;
}

#ifndef LW_FORM_SUBGROUP
Accumulator workgroup_reduce(Accumulator value, uint vlane, uint lanes) {
    return workgroup_reduce_barrier(value, vlane, lanes);
}
#endif

#endif
