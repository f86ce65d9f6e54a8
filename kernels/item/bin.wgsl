// Which of some even bins a value is in: the twin of bin.glsl, which says how.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_ELEMENT_BITS (8, 16, 32); kElementKind (item/names.wgsl), kBins, kChecked,
// kFirstPlace, kPlaces, kOrigin, kWidth, kMultiplier, kShift, kCorrected, kUnit (constants).

//#include "item/names.wgsl"
//#include "item/words64.wgsl"

const kValuesPerWord = 32u / LW_ELEMENT_BITS;
const kFractionBits = select(23u, 26u, LW_ELEMENT_BITS == 16u);

// Value j of a word.
fn value_of_word(word: u32, j: u32) -> u32 {
//#if LW_ELEMENT_BITS == 32
    return word;
//#else
    let first = j * LW_ELEMENT_BITS;
    if (kElementKind == kSigned) { return u32(extractBits(i32(word), first, LW_ELEMENT_BITS)); }
    let bits = extractBits(word, first, LW_ELEMENT_BITS);
    return select(bits, bits << 16u, kElementKind == kFloat);
//#endif
}

fn is_in_range(value: u32) -> bool {
    var place = value;
    if (kElementKind == kFloat) { place ^= u32(i32(value) >> 31u) | 0x80000000u; }
    return kChecked == 0u || place - kFirstPlace < kPlaces;
}

// A float by units, rounded down, without the bits above 32.
fn units_of_float(bits: u32) -> u32 {
    let exponent = (bits & 0x7fffffffu) >> kFractionBits;
    let fraction = bits & ((1u << kFractionBits) - 1u);
    var number = i32(select(fraction | (1u << kFractionBits), fraction, exponent == 0u));
    if ((bits & 0x80000000u) != 0u) { number = -number; }
    let shift = i32(max(exponent, 1u)) - i32(kUnit);
    let units = u32((number >> u32(clamp(-shift, 0, 31))) << u32(clamp(shift, 0, 31)));
    return select(units, 0u, shift > 31);
}

// Of a value in the range.
fn bin_of_value(value: u32) -> u32 {
    var units = value;
    if (kElementKind == kFloat) { units = units_of_float(value); }
    let offset = units - kOrigin;
    if (kMultiplier == 0u) { return offset >> (kShift & 31u); }
    let product = multiply32(offset, kMultiplier);
    var bin = product.y >> (kShift & 31u);
    if (kShift < 32u) {
        bin = (product.y << ((32u - kShift) & 31u)) | (product.x >> (kShift & 31u));
    }
    if (kCorrected != 0u && less64(multiply32(offset, kBins), multiply32(bin, kWidth))) { bin--; }
    return bin;
}
