// Workgroup scan with workgroup memory and barriers alone.
//
//     uint        scan_place(uint row, uint vlane)
//     Accumulator workgroup_scan_barrier(inout Accumulator values[kScanRows], uint vlane, uint turn)
//     Accumulator workgroup_scan(...)     the same; in the subgroup form the other module's
//
// All invocations call it, in workgroup-uniform flow, each with kScanRows values; that of a row and
// lane has the place scan_place(row, vlane) in the order, 0 to kScanPlaces - 1. Each value becomes
// what those before it combine to (the identity for the first), and all invocations get what all of
// them combine to. `turn` counts the calls of an invocation: 0, 1, 2 ...
//
//     rows of W = 4 lanes     a b c d      places   0 1 2 3
//                             e f g h               4 5 6 7
//
//     8 neighbours, by one lane: their prefixes in place, their sum to the next level
//     level 0    a b c d e f g h | i j ...        .  a ab abc ... abcdefg | . i ij ...
//     level 1    abcdefgh   i...p   q...                 . abcdefgh  a...p ...
//     level 2    a......................
//     a value's prefix    level 1's prefix of its eight, then its own within them
//
// Control barriers: 1 + ceil(log kScanPlaces / log 8), and one more where turn is not 0.
//
// The kernel defines before: item/accumulator.glsl's; kWorkgroupSize, kScanRows (powers of two), and
// in the subgroup form also kSubgroupSize, kFullSubgroups (constants).
#ifndef LW_WORKGROUP_SCAN_BARRIER_GLSL
#define LW_WORKGROUP_SCAN_BARRIER_GLSL

#include "item/accumulator.glsl"

const uint kScanRadix = 8u;
const uint kScanPlaces = kWorkgroupSize * kScanRows;

// Places, an eighth of them, and so on; one unused slot after every 8, against bank conflicts.
const uint kScanSlotsBarrier = (9u * kScanPlaces) / 7u + 8u;

#ifdef LW_FORM_SUBGROUP
// One value of each subgroup, twice: calls take turns. The smallest size is 4.
const uint kScanSmallestSize = kSubgroupSize != 0u ? kSubgroupSize : 4u;
const uint kScanSubgroups = (kWorkgroupSize + kScanSmallestSize - 1u) / kScanSmallestSize;
const uint kScanSlots = kFullSubgroups != 0u ? 2u * kScanSubgroups : kScanSlotsBarrier;
#else
const uint kScanSlots = kScanSlotsBarrier;
#endif

shared Accumulator sh_scan[kScanSlots];

uint scan_place_barrier(uint row, uint vlane) { return row * kWorkgroupSize + vlane; }

uint scan_slot(uint i) { return i + i / kScanRadix; }

Accumulator workgroup_scan_barrier(inout Accumulator values[kScanRows], uint vlane, uint turn) {
    if (turn != 0u) barrier();
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        sh_scan[scan_slot(scan_place_barrier(row, vlane))] = values[row];
    }
    barrier();
    uint region = 0u;
    for (uint width = kScanPlaces; width > 1u; width = (width + kScanRadix - 1u) / kScanRadix) {
        uint next = region + scan_slot(width);
        for (uint eight = vlane; eight * kScanRadix < width; eight += kWorkgroupSize) {
            uint first = region + scan_slot(eight * kScanRadix);
            uint count = min(kScanRadix, width - eight * kScanRadix);
            Accumulator eights[kScanRadix];
            [[unroll]] for (uint i = 0u; i < kScanRadix; ++i) {
                eights[i] = sh_scan[first + min(i, count - 1u)];
            }
            Accumulator sum = accumulator_identity();
            [[unroll]] for (uint i = 0u; i < kScanRadix; ++i) {
                if (i < count) {
                    sh_scan[first + i] = sum;
                    sum = combine(sum, eights[i]);
                }
            }
            sh_scan[next + scan_slot(eight)] = sum;
        }
        barrier();
        region = next;
    }
    Accumulator total = sh_scan[region];
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = scan_place_barrier(row, vlane);
        Accumulator before = sh_scan[scan_slot(i)];
        region = scan_slot(kScanPlaces);
        for (uint width = kScanPlaces / kScanRadix; width > 1u;
             width = (width + kScanRadix - 1u) / kScanRadix) {
            i /= kScanRadix;
            before = combine(sh_scan[region + scan_slot(i)], before);
            region += scan_slot(width);
        }
        values[row] = before;
    }
    return total;
}

#ifndef LW_FORM_SUBGROUP
uint scan_place(uint row, uint vlane) { return scan_place_barrier(row, vlane); }

Accumulator workgroup_scan(inout Accumulator values[kScanRows], uint vlane, uint turn) {
    return workgroup_scan_barrier(values, vlane, turn);
}
#endif

#endif
