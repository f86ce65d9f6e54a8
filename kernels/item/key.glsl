// Keys of a sort: their images, which are unsigned numbers in the order of the keys, and digits of those.
//
//     unsigned    the key                       signed    the sign bit turned
//     float       negative: all bits turned; else the sign bit set: the total order of IEEE 754, 5.10
//     descending  the complement of that, so that equal keys still keep their order
//
// An image has the bits of its key (kKeyBits), in the low bits of a word or in two words.
//
// The kernel defines before: LW_KEY_WORDS (1, 2); kKeyKind (item/names.glsl), kKeyBits, kDescending
// (constants).
#ifndef LW_ITEM_KEY_GLSL
#define LW_ITEM_KEY_GLSL

#include "item/names.glsl"
#include "item/select.glsl"

struct Key {
    uint low;
#if LW_KEY_WORDS == 2
    uint high;
#endif
};

const uint kTopBits = kKeyBits < 32u ? kKeyBits : 32u;  // of the word with the sign
const uint kTopSign = 1u << (kTopBits - 1u);
const uint kTopMask = 2u * kTopSign - 1u;

#if LW_KEY_WORDS == 2

Key key_of_zeros() { return Key(0u, 0u); }
Key key_of_ones() { return Key(~0u, ~0u); }

Key image_of_key(Key key) {
    bool turned = kKeyKind == kFloat && (key.high & kTopSign) != 0u;
    uint low = turned ? ~key.low : key.low;
    uint high = turned ? ~key.high : kKeyKind == kUnsigned ? key.high : key.high ^ kTopSign;
    return kDescending != 0u ? Key(~low, ~high) : Key(low, high);
}

Key key_of_image(Key image) {
    uint low = kDescending != 0u ? ~image.low : image.low;
    uint high = kDescending != 0u ? ~image.high : image.high;
    bool turned = kKeyKind == kFloat && (high & kTopSign) == 0u;
    return Key(turned ? ~low : low,
               turned ? ~high : kKeyKind == kUnsigned ? high : high ^ kTopSign);
}

// Bits [shift, shift + bits) of an image; bits may be 0, and below 32.
uint digit_of(Key image, uint shift, uint bits) {
    uint low = image.low >> (shift & 31u);
    uint high = shift == 0u ? 0u : image.high << ((32u - shift) & 31u);
    uint word = shift < 32u ? low | high : image.high >> (shift & 31u);
    return word & ((1u << bits) - 1u);
}

#else

Key key_of_zeros() { return Key(0u); }
Key key_of_ones() { return Key(~0u); }

Key image_of_key(Key key) {
    bool turned = kKeyKind == kFloat && (key.low & kTopSign) != 0u;
    uint low = turned ? key.low ^ kTopMask : kKeyKind == kUnsigned ? key.low : key.low ^ kTopSign;
    return Key(kDescending != 0u ? low ^ kTopMask : low);
}

Key key_of_image(Key image) {
    uint low = kDescending != 0u ? image.low ^ kTopMask : image.low;
    bool turned = kKeyKind == kFloat && (low & kTopSign) == 0u;
    return Key(turned ? low ^ kTopMask : kKeyKind == kUnsigned ? low : low ^ kTopSign);
}

// Bits [shift, shift + bits) of an image; bits may be 0, and below 32.
uint digit_of(Key image, uint shift, uint bits) {
    return (image.low >> (shift & 31u)) & ((1u << bits) - 1u);
}

#endif
#endif
