// The result of a reduction, from the accumulator of all items, in the words of the output: the twin
// of result.glsl, which lists them.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: what item/accumulator.wgsl asks for.

//#include "item/accumulator.wgsl"

//#if !LW_CUSTOM  // which has all of this in item/custom.wgsl

// The result's value has 64 bits, not 32 in the low word of two.
fn result_is_wide() -> bool {
//#if LW_INDEX_BITS == 64
    return kElementBits == 64u;
//#else
    return LW_ACCUMULATOR_BITS == 64u;
//#endif
}

// An element of min, max, argmin or argmax from its image, in the result's type.
fn result_of_image(image: vec2<u32>) -> vec2<u32> {
    let wide = result_is_wide();
    var bits: vec2<u32>;
    var is_nan = false;
    if (kElementBits == 64u) {
        is_nan = less64(float_last_image64(), image);
        bits = select(integer_image64(image), float_of_image64(image), kElementKind == kFloat);
    } else if (kElementKind == kFloat) {
        is_nan = image.x > float_last_image();
        var narrow = float_of_image(image.x);
        if (kElementBits == 16u) { narrow = widen_f16(narrow >> 16u); }
        bits = select(vec2<u32>(narrow, 0u), widen_f32(narrow), wide);
    } else {
        // Looked at by compilers for 64 bits, too.
        let width = min(kElementBits, 32u);
        var narrow = image.x ^ order_flip();
        narrow = select(extractBits(narrow, 0u, width), u32(extractBits(i32(narrow), 0u, width)),
                        kElementKind == kSigned);
        bits = select(vec2<u32>(narrow, 0u), sign_extend64(narrow),
                      wide && kElementKind == kSigned);
    }
    if (kElementKind == kFloat && is_nan) {
        bits = select(vec2<u32>(0x7fc00000u, 0u), vec2<u32>(0u, 0x7ff80000u), wide);
    }
    return bits;
}

// What an empty input gives.
fn result_of_nothing() -> vec2<u32> {
    let is_float = kElementKind == kFloat;
    var wide = vec2<u32>(0u);
    var narrow = 0u;
    if (operator_orders()) {
        // The worst value: +infinity or the largest integer for min, the other end for max.
        let sign = order_complement() & 0x80000000u;
        let low = ~order_complement();
        let high = select(low, low ^ 0x80000000u, kElementKind == kSigned);
        wide = select(vec2<u32>(low, high), vec2<u32>(0u, 0x7ff00000u | sign), is_float);
        narrow = select(high, 0x7f800000u | sign, is_float);
    } else if (kOperator == kAnd) {
        wide = vec2<u32>(0xffffffffu);
        narrow = 0xffffffffu;
    } else if (kOperator == kProduct) {
        wide = select(vec2<u32>(1u, 0u), vec2<u32>(0u, 0x3ff00000u), is_float);
        narrow = select(1u, 0x3f800000u, is_float);
    }
    return select(vec2<u32>(narrow, 0u), wide, result_is_wide());
}

const kResultWords = kPlainWords;
alias ResultWords = array<u32, kResultWords>;

// The words of the result. `total` counts only when it `holds` something.
fn words_of_result(total: Accumulator, holds: bool) -> ResultWords {
//#if LW_ACCUMULATOR_BITS == 64
    var value = select(vec2<u32>(0u), total.value, holds);
//#else
    var value = vec2<u32>(select(0u, total.value, holds), 0u);
//#endif
    if (operator_orders()) { value = result_of_image(value); }
    if (!holds) { value = result_of_nothing(); }
    var words: ResultWords;
    words[0] = value.x;
//#if LW_ACCUMULATOR_BITS == 64
    words[1] = value.y;
//#endif
//#if LW_INDEX_BITS == 64
    words[2] = select(0xffffffffu, total.index.x, holds);
    words[3] = select(0xffffffffu, total.index.y, holds);
//#elif LW_INDEX_BITS == 32
    words[1] = select(0xffffffffu, total.index, holds);
//#endif
    return words;
}

//#endif
