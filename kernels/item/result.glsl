// The result of a reduction, from the accumulator of all items, in the words of the output:
//
//                             value          argmin, argmax
//   32-bit accumulators       value          value, index
//   64-bit accumulators       low, high      low, high, low, high of the index
//
// Beside a 64-bit index, a value of less than 64 bits has the low word, and 0 in the high one.
//
// The kernel defines before: what item/accumulator.glsl asks for.
#ifndef LW_ITEM_RESULT_GLSL
#define LW_ITEM_RESULT_GLSL

#include "item/accumulator.glsl"

#ifndef LW_CUSTOM  // which has all of this in item/custom.glsl

// The result's value has 64 bits, not 32 in the low word of two.
bool result_is_wide() {
#if LW_INDEX_BITS == 64
    return kElementBits == 64u;
#else
    return LW_ACCUMULATOR_BITS == 64;
#endif
}

// An element of min, max, argmin or argmax from its image, in the result's type.
uvec2 result_of_image(uvec2 image) {
    bool wide = result_is_wide();
    uvec2 bits;
    bool is_nan = false;
    if (kElementBits == 64u) {
        is_nan = less64(float_last_image64(), image);
        bits = select(kElementKind == kFloat, float_of_image64(image), integer_image64(image));
    } else if (kElementKind == kFloat) {
        is_nan = image.x > float_last_image();
        uint narrow = float_of_image(image.x);
        if (kElementBits == 16u) narrow = widen_f16(narrow >> 16);
        bits = select(wide, widen_f32(narrow), uvec2(narrow, 0u));
    } else {
        int width = int(kElementBits);
        uint narrow = image.x ^ order_flip();
        narrow = select(kElementKind == kSigned, uint(bitfieldExtract(int(narrow), 0, width)),
                        bitfieldExtract(narrow, 0, width));
        bits = select(wide && kElementKind == kSigned, sign_extend64(narrow), uvec2(narrow, 0u));
    }
    if (kElementKind == kFloat && is_nan) {
        bits = select(wide, uvec2(0u, 0x7ff80000u), uvec2(0x7fc00000u, 0u));
    }
    return bits;
}

// What an empty input gives.
uvec2 result_of_nothing() {
    bool is_float = kElementKind == kFloat;
    uvec2 wide = uvec2(0u);
    uint narrow = 0u;
    if (operator_orders()) {
        // The worst value: +infinity or the largest integer for min, the other end for max.
        uint sign = order_complement() & 0x80000000u;
        uint low = ~order_complement();
        uint high = select(kElementKind == kSigned, low ^ 0x80000000u, low);
        wide = select(is_float, uvec2(0u, 0x7ff00000u | sign), uvec2(low, high));
        narrow = select(is_float, 0x7f800000u | sign, high);
    } else if (kOperator == kAnd) {
        wide = uvec2(~0u);
        narrow = ~0u;
    } else if (kOperator == kProduct) {
        wide = select(is_float, uvec2(0u, 0x3ff00000u), uvec2(1u, 0u));
        narrow = select(is_float, 0x3f800000u, 1u);
    }
    return select(result_is_wide(), wide, uvec2(narrow, 0u));
}

#define LW_RESULT_WORDS LW_PLAIN_WORDS

// The words of the result. `total` counts only when `any`: without it is undefined, and nothing may
// branch on it.
uint[LW_RESULT_WORDS] words_of_result(Accumulator total, bool any) {
#if LW_ACCUMULATOR_BITS == 64
    uvec2 value = select(any, total.value, uvec2(0u));
#else
    uvec2 value = uvec2(select(any, total.value, 0u), 0u);
#endif
    if (operator_orders()) value = result_of_image(value);
    if (!any) value = result_of_nothing();
    uint words[LW_RESULT_WORDS];
    words[0] = value.x;
#if LW_ACCUMULATOR_BITS == 64
    words[1] = value.y;
#endif
#if LW_INDEX_BITS == 64
    words[2] = any ? total.index.x : ~0u;
    words[3] = any ? total.index.y : ~0u;
#elif LW_INDEX_BITS == 32
    words[1] = any ? total.index : ~0u;
#endif
    return words;
}

#endif

#endif
