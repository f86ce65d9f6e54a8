// The threshold of a selection: the image of the last key that is wanted, found digit by digit, and how many
// of the keys that equal it are wanted.
//
//     scratch, from kTableOffset      image, low word | high word | wanted of its equals | 61 words of padding
//
// Digits that are not known yet are zeros.
//
// The kernel defines before: a buffer named scratch (tile/memory.glsl); kTableOffset (constant); item/key.glsl's.
#ifndef LW_TILE_THRESHOLD_GLSL
#define LW_TILE_THRESHOLD_GLSL

#include "item/key.glsl"

struct Threshold {
    Key key;
    uint wanted;
};

Threshold load_threshold() {
    Threshold threshold;
    threshold.key.low = LW_WORD(scratch, kTableOffset);
#if LW_KEY_WORDS == 2
    threshold.key.high = LW_WORD(scratch, kTableOffset + 1u);
#endif
    threshold.wanted = LW_WORD(scratch, kTableOffset + 2u);
    return threshold;
}

// Whether the bits from `bit` on are the same; bit is at least 1, and below the bits of a key.
bool same_above(Key a, Key b, uint bit) {
#if LW_KEY_WORDS == 2
    uint low = bit < 32u ? ~0u << bit : 0u;
    uint high = bit < 32u ? ~0u : ~0u << (bit - 32u);
    return ((a.low ^ b.low) & low | (a.high ^ b.high) & high) == 0u;
#else
    return (a.low ^ b.low) >> bit == 0u;
#endif
}

// 0: before the threshold; 1: equal to it; 2: behind it.
uint side_of(Key image, Key threshold) {
#if LW_KEY_WORDS == 2
    if (image.high != threshold.high) return image.high < threshold.high ? 0u : 2u;
#endif
    return image.low < threshold.low ? 0u : image.low == threshold.low ? 1u : 2u;
}

#endif
