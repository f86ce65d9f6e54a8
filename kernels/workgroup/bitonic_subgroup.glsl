// Bitonic sort by subgroup shuffles. Same contract as bitonic_barrier.glsl, which explains the stages.
//
// With full subgroups vlane must be subgroup * size + lane; otherwise records take the barrier module's
// ways, with any numbering.
//
//     kItems = 4, S = 8      bits of a place     ... 6 5   4 3 2   1 0
//                                                moves     lane    registers
//     lane ^ 4, 2, 1         both read the other's record; the lane with the bit keeps the greater one
//
// So a stage of up to kItems * S records takes no barrier. A move's window may reach down to bits of the
// lane: what it exchanges is not left for shuffles.
//
// Needs GL_KHR_shader_subgroup_basic and _shuffle. The kernel defines before: what bitonic_barrier.glsl
// and subgroup/size.glsl ask for; LW_FORM_SUBGROUP.
#ifndef LW_WORKGROUP_BITONIC_SUBGROUP_GLSL
#define LW_WORKGROUP_BITONIC_SUBGROUP_GLSL

#include "subgroup/size.glsl"
#include "workgroup/bitonic_barrier.glsl"

// Base 0: exchanges with the lane whose number differs in one bit.
void subgroup_bitonic_exchange(uint apart, inout Key keys[kItems], inout uint numbers[kItems]) {
    uint lane = gl_SubgroupInvocationID;
    bool upper = (lane & apart) != 0u;
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        Key key = keys[k];
        key.low = subgroupShuffle(key.low, lane ^ apart);
#if LW_KEY_WORDS == 2
        key.high = subgroupShuffle(key.high, lane ^ apart);
#endif
        uint number = numbers[k];
        if (kNumbers != 0u) number = subgroupShuffle(number, lane ^ apart);
        // Of equal records, which are the same, it does not matter who keeps which.
        bool take = bitonic_less(key, number, keys[k], numbers[k]) != upper;
        keys[k].low = take ? key.low : keys[k].low;
#if LW_KEY_WORDS == 2
        keys[k].high = take ? key.high : keys[k].high;
#endif
        numbers[k] = take ? number : numbers[k];
    }
}

void workgroup_bitonic_sort(uint vlane, uint items, inout Key keys[kItems], inout uint numbers[kItems]) {
    uint near = kItemBits + (subgroups_are_full() ? uint(findMSB(subgroup_size())) : 0u);
    workgroup_bitonic_move(vlane, kLaneBits, 0u, keys, numbers);
    // The block with all of the items is the first: it comes out the right way round.
    for (uint stage = 1u; 1u << (stage - 1u) < items; ++stage) {
        bitonic_turn(vlane, stage, keys, numbers);
        uint bits = workgroup_bitonic_exchange_far(vlane, stage, near, keys, numbers);
        for (; bits > kItemBits; --bits) {
            subgroup_bitonic_exchange(1u << (bits - 1u - kItemBits), keys, numbers);
        }
        bitonic_exchange_own(bits, keys, numbers);
        bitonic_turn(vlane, stage, keys, numbers);
    }
    workgroup_bitonic_move(vlane, 0u, kLaneBits, keys, numbers);
}

#endif
