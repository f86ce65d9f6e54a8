// Order images: unsigned numbers that stand for elements, such that min, max, argmin and argmax all
// look for the smallest image. The twin of order.glsl, which explains them.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: kOperator, kElementKind, kElementBits (constants).

//#include "item/names.wgsl"
//#include "item/words64.wgsl"

fn order_descends() -> bool { return kOperator == kMax || kOperator == kArgmax; }

// All bits set for max and argmax.
fn order_complement() -> u32 { return select(0u, 0xffffffffu, order_descends()); }

// What images of integers differ by from the elements, in every element that a word holds.
fn order_flip() -> u32 {
    var sign = 0x80000000u;
    if (kElementBits == 8u) { sign = 0x80808080u; }
    if (kElementBits == 16u) { sign = 0x80008000u; }
    return select(0u, sign, kElementKind == kSigned) ^ order_complement();
}

// +infinity; f16 in the high half.
fn float_infinity() -> u32 { return select(0x7f800000u, 0x7c000000u, kElementBits == 16u); }

// By how far the line is turned: the image of the best infinity before.
fn float_turn() -> u32 { return ~(float_infinity() | 0x80000000u); }

// Image of the worst infinity; NaNs lie above.
fn float_last_image() -> u32 { return ~float_turn() - float_turn(); }

// All bits set where the top one is.
fn sign_mask(bits: u32) -> u32 { return u32(i32(bits) >> 31u); }

// f32, or f16 in the high half.
fn float_image(bits: u32) -> u32 {
    let ascending = bits ^ (sign_mask(bits) | 0x80000000u);
    return (ascending ^ order_complement()) - float_turn();
}

fn float_of_image(image: u32) -> u32 {
    let ascending = (image + float_turn()) ^ order_complement();
    return ascending ^ (sign_mask(~ascending) | 0x80000000u);
}

fn integer_image64(bits: vec2<u32>) -> vec2<u32> {
    return bits ^ vec2<u32>(order_complement(), order_flip());
}

const kInfinity64High = 0x7ff00000u;
const kFloatTurn64 = vec2<u32>(0xffffffffu, 0x000fffffu);

fn float_last_image64() -> vec2<u32> { return subtract64(~kFloatTurn64, kFloatTurn64); }

fn float_image64(bits: vec2<u32>) -> vec2<u32> {
    let negative = sign_mask(bits.y);
    let ascending = bits ^ vec2<u32>(negative, negative | 0x80000000u);
    return subtract64(ascending ^ vec2<u32>(order_complement()), kFloatTurn64);
}

fn float_of_image64(image: vec2<u32>) -> vec2<u32> {
    let ascending = add64(image, kFloatTurn64) ^ vec2<u32>(order_complement());
    let negative = sign_mask(~ascending.y);
    return ascending ^ vec2<u32>(negative, negative | 0x80000000u);
}

// A float in the next wider format, in integer arithmetic: exact for denormals on every device.
fn widen_f16(bits: u32) -> u32 {
    let magnitude = bits & 0x7fffu;
    var wide = magnitude << 13u;
    if (magnitude >= 0x7c00u) {
        wide |= 0x7f800000u;
    } else if (magnitude >= 0x0400u) {
        wide += 112u << 23u;
    } else if (magnitude != 0u) {
        let top = firstLeadingBit(magnitude);
        wide = ((top + 103u) << 23u) | ((magnitude << (23u - top)) & 0x7fffffu);
    }
    return ((bits & 0x8000u) << 16u) | wide;
}

fn widen_f32(bits: u32) -> vec2<u32> {
    let magnitude = bits & 0x7fffffffu;
    var wide = vec2<u32>(magnitude << 29u, magnitude >> 3u);
    if (magnitude >= 0x7f800000u) {
        wide.y |= kInfinity64High;
    } else if (magnitude >= 0x00800000u) {
        wide.y += 896u << 20u;
    } else if (magnitude != 0u) {
        let top = firstLeadingBit(magnitude);
        let fraction = (magnitude << (23u - top)) & 0x7fffffu;
        wide = vec2<u32>(fraction << 29u, ((top + 874u) << 20u) | (fraction >> 3u));
    }
    return vec2<u32>(wide.x, (bits & 0x80000000u) | wide.y);
}
