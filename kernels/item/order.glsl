// Order images: unsigned numbers that stand for elements, such that min, max, argmin and argmax all
// look for the *smallest image*, with integer comparisons alone. Compilers may assume that no float
// is NaN or infinite, so float comparisons decide nothing here.
//
//   integers   the sign bit is flipped; for max and argmax all bits, too
//   floats     sign and magnitude become one ascending number (as for a radix sort), complemented
//              for max; then the line is turned so that it starts at the best infinity and all NaNs
//              come after the worst one:
//
//      before  | -NaN | -inf ... -0 | +0 ... +inf | +NaN |     after, for min
//              |______|                                        | -inf ... +inf | +NaN | -NaN |
//                 `--- wraps around below zero -----------------------------------------^
//
// An image has the bits of its element: 8- and 16-bit integers stand low in a word, f16 high (so
// that it wraps like the others), 64-bit elements in two words.
//
// The kernel defines before: kOperator, kElementKind, kElementBits (constants).
#ifndef LW_ITEM_ORDER_GLSL
#define LW_ITEM_ORDER_GLSL

#include "item/names.glsl"
#include "item/select.glsl"
#include "item/words64.glsl"

bool order_descends() { return kOperator == kMax || kOperator == kArgmax; }

// All bits set for max and argmax.
uint order_complement() { return select(order_descends(), ~0u, 0u); }

// What images of integers differ by from the elements, in every element that a word holds.
uint order_flip() {
    uint sign = 0x80000000u;
    if (kElementBits == 8u) sign = 0x80808080u;
    if (kElementBits == 16u) sign = 0x80008000u;
    return select(kElementKind == kSigned, sign, 0u) ^ order_complement();
}

// +infinity; f16 in the high half.
uint float_infinity() { return select(kElementBits == 16u, 0x7c000000u, 0x7f800000u); }

// By how far the line is turned: the image of the best infinity before.
uint float_turn() { return ~(float_infinity() | 0x80000000u); }

// Image of the worst infinity; NaNs lie above.
uint float_last_image() { return ~float_turn() - float_turn(); }

// f32, or f16 in the high half.
uint float_image(uint bits) {
    uint ascending = bits ^ (uint(int(bits) >> 31) | 0x80000000u);
    return (ascending ^ order_complement()) - float_turn();
}

uint float_of_image(uint image) {
    uint ascending = (image + float_turn()) ^ order_complement();
    return ascending ^ (uint(~int(ascending) >> 31) | 0x80000000u);
}

uvec2 integer_image64(uvec2 bits) { return bits ^ uvec2(order_complement(), order_flip()); }

const uint kInfinity64High = 0x7ff00000u;
const uvec2 kFloatTurn64 = uvec2(~0u, 0x000fffffu);

uvec2 float_last_image64() { return subtract64(~kFloatTurn64, kFloatTurn64); }

uvec2 float_image64(uvec2 bits) {
    uint negative = uint(int(bits.y) >> 31);
    uvec2 ascending = bits ^ uvec2(negative, negative | 0x80000000u);
    return subtract64(ascending ^ order_complement(), kFloatTurn64);
}

uvec2 float_of_image64(uvec2 image) {
    uvec2 ascending = add64(image, kFloatTurn64) ^ order_complement();
    uint negative = uint(~int(ascending.y) >> 31);
    return ascending ^ uvec2(negative, negative | 0x80000000u);
}

// A float in the next wider format, in integer arithmetic: exact for denormals on every device.
//
//   infinity, NaN   the largest exponent
//   normal          the exponents' biases differ by 127 - 15 and 1023 - 127
//   denormal        becomes normal: its top bit goes where the leading one is not written
uint widen_f16(uint bits) {
    uint magnitude = bits & 0x7fffu;
    uint wide = magnitude << 13;
    if (magnitude >= 0x7c00u) {
        wide |= 0x7f800000u;
    } else if (magnitude >= 0x0400u) {
        wide += 112u << 23;
    } else if (magnitude != 0u) {
        uint top = uint(findMSB(magnitude));
        wide = (top + 103u) << 23 | ((magnitude << (23u - top)) & 0x7fffffu);
    }
    return (bits & 0x8000u) << 16 | wide;
}

uvec2 widen_f32(uint bits) {
    uint magnitude = bits & 0x7fffffffu;
    uvec2 wide = uvec2(magnitude << 29, magnitude >> 3);
    if (magnitude >= 0x7f800000u) {
        wide.y |= kInfinity64High;
    } else if (magnitude >= 0x00800000u) {
        wide.y += 896u << 20;
    } else if (magnitude != 0u) {
        uint top = uint(findMSB(magnitude));
        uint fraction = (magnitude << (23u - top)) & 0x7fffffu;
        wide = uvec2(fraction << 29, (top + 874u) << 20 | fraction >> 3);
    }
    return uvec2(wide.x, (bits & 0x80000000u) | wide.y);
}

#endif
