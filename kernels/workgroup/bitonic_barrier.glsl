// Bitonic sort of the records that a workgroup holds in registers, without subgroup operations.
//
//     void workgroup_bitonic_sort(uint vlane, uint items, inout Key keys[kItems],
//                                 inout uint numbers[kItems])
//     uint bitonic_place(uint vlane, uint k, uint base)
//
// All lanes call the first, in uniform flow; in this form vlane is any numbering of the invocations. Record k
// of a lane is at place k * W + vlane, before and after. Its key is an image, of which the bits of kLowMask and
// kHighMask count; where those are equal, its number does (kNumbers), so numbers differ. Records from place
// `items` on must not be less than any before them, and stay behind. A barrier must stand between two
// calls, and between this and other uses of sh_words. Control barriers: 2, and for each stage one for each
// window, and one for the way back if there was a window.
//
//     a stage merges sorted blocks of 2^(stage - 1) records to blocks of 2^stage: each record meets the
//     one half a block away, then a quarter, ..., then its neighbour; the lesser goes to the lower place
//
//       stage 1         stage 2                             every other block comes out the other way round, as
//       a - b           a -- c      a - b                   the next stage wants it: its records are turned
//       c - d turned    b -- d  ,   c - d                   (all their bits) before the stage and after, so
//       e - f           e -- g      e - f                   that an exchange knows no direction
//       g - h turned    f -- h  ,   g - h   turned
//
//     a lane's records are at places that differ in a window of bits (kItems = 4: two of them)
//
//       place           vlane's high bits | k | its `base` low bits
//       exchanges       at distances of the window's bits: between registers of the lane
//       other bits      records move to another window through sh_words; in the lowest (base 0) a lane
//                       has neighbours
//
//       stage 5, 32 places, 8 lanes       bits  4 3        2 1          0
//                                              base 3     base 1      base 0
//
// A lane overwrites in sh_words only what it read last, so that a move takes one barrier.
//
// Source: Batcher, "Sorting Networks and Their Applications", 1968; windows of bits are our own.
//
// The kernel defines before: LW_KEY_WORDS; kWorkgroupSize, kItems (powers of two, kItems at least 2),
// kNumbers (0: records with equal keys are the same, and numbers stay behind), kLowMask, kHighMask
// (constants); item/key.glsl's; in the subgroup form LW_FORM_SUBGROUP.
#ifndef LW_WORKGROUP_BITONIC_BARRIER_GLSL
#define LW_WORKGROUP_BITONIC_BARRIER_GLSL

#include "item/key.glsl"

const uint kTileItems = kWorkgroupSize * kItems;
// Logarithms.
const uint kItemBits = kItems >= 32u ? 5u : kItems >= 16u ? 4u : kItems >= 8u ? 3u : kItems >= 4u ? 2u : 1u;
const uint kLaneBits = kWorkgroupSize >= 1024u ? 10u : kWorkgroupSize >= 512u ? 9u : kWorkgroupSize >= 256u ? 8u
    : kWorkgroupSize >= 128u ? 7u : kWorkgroupSize >= 64u ? 6u : kWorkgroupSize >= 32u ? 5u
    : kWorkgroupSize >= 16u ? 4u : kWorkgroupSize >= 8u ? 3u : 2u;

// A word more for each 32: lanes whose places are kItems apart meet in no bank.
const uint kPlaneWords = kTileItems + kTileItems / 32u;
const uint kNumberPlane = LW_KEY_WORDS * kPlaneWords;
const uint kSharedWords = kNumberPlane + (kNumbers != 0u ? kPlaneWords : 0u);

// A plane for each word of a record; and what else the kernel moves between lanes.
shared uint sh_words[kSharedWords];

uint bitonic_place(uint vlane, uint k, uint base) {
    return (vlane >> base) << (base + kItemBits) | k << base | (vlane & ((1u << base) - 1u));
}

uint bitonic_word(uint place) { return place + place / 32u; }

bool bitonic_less(Key a, uint a_number, Key b, uint b_number) {
    uint a_low = a.low & kLowMask;
    uint b_low = b.low & kLowMask;
    bool less = a_low < b_low;
    if (kNumbers != 0u) less = a_low == b_low ? a_number < b_number : less;
#if LW_KEY_WORDS == 2
    uint a_high = a.high & kHighMask;
    uint b_high = b.high & kHighMask;
    less = a_high == b_high ? less : a_high < b_high;
#endif
    return less;
}

// From a window to another. The next move begins with the window that this one ends with.
void workgroup_bitonic_move(uint vlane, uint from, uint to, inout Key keys[kItems],
                            inout uint numbers[kItems]) {
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        uint word = bitonic_word(bitonic_place(vlane, k, from));
        sh_words[word] = keys[k].low;
#if LW_KEY_WORDS == 2
        sh_words[kPlaneWords + word] = keys[k].high;
#endif
        if (kNumbers != 0u) sh_words[kNumberPlane + word] = numbers[k];
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        uint word = bitonic_word(bitonic_place(vlane, k, to));
        keys[k].low = sh_words[word];
#if LW_KEY_WORDS == 2
        keys[k].high = sh_words[kPlaneWords + word];
#endif
        if (kNumbers != 0u) numbers[k] = sh_words[kNumberPlane + word];
    }
}

// Base 0: turns the blocks of a stage that come out the other way round.
void bitonic_turn(uint vlane, uint stage, inout Key keys[kItems], inout uint numbers[kItems]) {
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        uint turned = 0u - (bitonic_place(vlane, k, 0u) >> stage & 1u);
        keys[k].low ^= turned;
#if LW_KEY_WORDS == 2
        keys[k].high ^= turned;
#endif
        numbers[k] ^= turned;
    }
}

// Exchanges between a lane's own records, at distances of the window's lowest `bits` bits.
void bitonic_exchange_own(uint bits, inout Key keys[kItems], inout uint numbers[kItems]) {
    [[unroll]] for (uint i = 1u; i <= kItemBits; ++i) {
        uint bit = kItemBits - i;
        if (bit < bits) {
            [[unroll]] for (uint pair = 0u; pair < kItems / 2u; ++pair) {
                uint k = pair + (pair >> bit << bit);  // a 0 goes in at the bit
                uint other = k + (1u << bit);
                bool swap = bitonic_less(keys[other], numbers[other], keys[k], numbers[k]);
                Key key = keys[k];
                uint number = numbers[k];
                keys[k].low = swap ? keys[other].low : key.low;
                keys[other].low = swap ? key.low : keys[other].low;
#if LW_KEY_WORDS == 2
                keys[k].high = swap ? keys[other].high : key.high;
                keys[other].high = swap ? key.high : keys[other].high;
#endif
                if (kNumbers != 0u) {
                    numbers[k] = swap ? numbers[other] : number;
                    numbers[other] = swap ? number : numbers[other];
                }
            }
        }
    }
}

// Base 0 before and after: the exchanges at distances of the bits below `bits` for which records move. How
// many bits are left, at most `near`, which is kItemBits at least.
uint workgroup_bitonic_exchange_far(uint vlane, uint bits, uint near, inout Key keys[kItems],
                                    inout uint numbers[kItems]) {
    uint base = 0u;
    while (bits > near) {
        bits -= kItemBits;
        workgroup_bitonic_move(vlane, base, bits, keys, numbers);
        base = bits;
        bitonic_exchange_own(kItemBits, keys, numbers);
    }
    if (base != 0u) workgroup_bitonic_move(vlane, base, 0u, keys, numbers);
    return bits;
}

#ifndef LW_FORM_SUBGROUP
void workgroup_bitonic_sort(uint vlane, uint items, inout Key keys[kItems], inout uint numbers[kItems]) {
    workgroup_bitonic_move(vlane, kLaneBits, 0u, keys, numbers);
    // The block with all of the items is the first: it comes out the right way round.
    for (uint stage = 1u; 1u << (stage - 1u) < items; ++stage) {
        bitonic_turn(vlane, stage, keys, numbers);
        uint bits = workgroup_bitonic_exchange_far(vlane, stage, kItemBits, keys, numbers);
        bitonic_exchange_own(bits, keys, numbers);
        bitonic_turn(vlane, stage, keys, numbers);
    }
    workgroup_bitonic_move(vlane, 0u, kLaneBits, keys, numbers);
}
#endif

#endif
