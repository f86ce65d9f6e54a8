// Which of some even bins a value is in, in integer arithmetic: exact, and the same on every device.
//
//     value     8 and 16 bits are widened; f16 stands in the high half of a word
//     place     a number by which the range is one stretch: an integer itself, a float's ascending image,
//               so that NaN and infinities lie outside
//     offset    from the range's begin, in units: whole numbers; of floats some power of two
//     bin       offset * bins / width, rounded down: by a shift where bins divide the width by a power of
//               two, else by a product with a reciprocal that is rounded up. The reciprocal has so many
//               bits that this is the bin or one above; where the planner cannot rule out the latter, the
//               remainder tells.
//
// The kernel defines before: LW_ELEMENT_BITS (8, 16, 32); kElementKind (item/names.glsl), kBins, kChecked,
// kFirstPlace, kPlaces, kOrigin, kWidth, kMultiplier, kShift, kCorrected, kUnit (constants).
#ifndef LW_ITEM_BIN_GLSL
#define LW_ITEM_BIN_GLSL

#include "item/names.glsl"
#include "item/words64.glsl"

const uint kValuesPerWord = 32u / LW_ELEMENT_BITS;

// Value j of a word.
uint value_of_word(uint word, uint j) {
#if LW_ELEMENT_BITS == 32
    return word;
#else
    int first = int(j * LW_ELEMENT_BITS);
    if (kElementKind == kSigned) return uint(bitfieldExtract(int(word), first, LW_ELEMENT_BITS));
    uint bits = bitfieldExtract(word, first, LW_ELEMENT_BITS);
    return kElementKind == kFloat ? bits << 16 : bits;
#endif
}

bool is_in_range(uint value) {
    uint place = value;
    if (kElementKind == kFloat) place ^= uint(int(value) >> 31) | 0x80000000u;
    return kChecked == 0u || place - kFirstPlace < kPlaces;
}

// A float by units, rounded down, without the bits above 32.
uint units_of_float(uint bits) {
    const uint fraction_bits = LW_ELEMENT_BITS == 16 ? 26u : 23u;
    uint exponent = (bits & 0x7fffffffu) >> fraction_bits;
    uint fraction = bits & ((1u << fraction_bits) - 1u);
    int number = int(exponent == 0u ? fraction : fraction | 1u << fraction_bits);
    if ((bits & 0x80000000u) != 0u) number = -number;
    int shift = int(max(exponent, 1u)) - int(kUnit);
    return shift > 31 ? 0u : uint((number >> clamp(-shift, 0, 31)) << clamp(shift, 0, 31));
}

// Of a value in the range.
uint bin_of_value(uint value) {
    uint offset = (kElementKind == kFloat ? units_of_float(value) : value) - kOrigin;
    if (kMultiplier == 0u) return offset >> (kShift & 31u);
    uvec2 product = multiply32(offset, kMultiplier);
    uint bin = product.y >> (kShift & 31u);
    if (kShift < 32u) bin = product.y << ((32u - kShift) & 31u) | product.x >> (kShift & 31u);
    if (kCorrected != 0u && less64(multiply32(offset, kBins), multiply32(bin, kWidth))) --bin;
    return bin;
}

#endif
