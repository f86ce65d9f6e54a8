// Keys of a sort: their images, which are unsigned numbers in the order of the keys, and digits of those:
// the twin of key.glsl, which explains them.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_KEY_WORDS (1, 2); kKeyKind (item/names.wgsl), kKeyBits, kDescending
// (constants).

//#include "item/names.wgsl"

struct Key {
    low: u32,
//#if LW_KEY_WORDS == 2
    high: u32,
//#endif
}

const kTopBits = min(kKeyBits, 32u);  // of the word with the sign
const kTopSign = 1u << (kTopBits - 1u);
const kTopMask = kTopSign | (kTopSign - 1u);

// What images of keys that are not turned differ by from the keys.
fn key_flip() -> u32 { return select(kTopSign, 0u, kKeyKind == kUnsigned); }

//#if LW_KEY_WORDS == 2

fn key_of_zeros() -> Key { return Key(0u, 0u); }
fn key_of_ones() -> Key { return Key(0xffffffffu, 0xffffffffu); }

fn image_of_key(key: Key) -> Key {
    let turned = kKeyKind == kFloat && (key.high & kTopSign) != 0u;
    let low = select(key.low, ~key.low, turned);
    let high = select(key.high ^ key_flip(), ~key.high, turned);
    return Key(select(low, ~low, kDescending != 0u), select(high, ~high, kDescending != 0u));
}

fn key_of_image(image: Key) -> Key {
    let low = select(image.low, ~image.low, kDescending != 0u);
    let high = select(image.high, ~image.high, kDescending != 0u);
    let turned = kKeyKind == kFloat && (high & kTopSign) == 0u;
    return Key(select(low, ~low, turned), select(high ^ key_flip(), ~high, turned));
}

// Bits [shift, shift + bits) of an image; bits may be 0, and below 32.
fn digit_of(image: Key, shift: u32, bits: u32) -> u32 {
    let low = image.low >> (shift & 31u);
    let high = select(image.high << ((32u - shift) & 31u), 0u, shift == 0u);
    let word = select(image.high >> (shift & 31u), low | high, shift < 32u);
    return word & ((1u << bits) - 1u);
}

//#else

fn key_of_zeros() -> Key { return Key(0u); }
fn key_of_ones() -> Key { return Key(0xffffffffu); }

fn image_of_key(key: Key) -> Key {
    let turned = kKeyKind == kFloat && (key.low & kTopSign) != 0u;
    let low = select(key.low ^ key_flip(), key.low ^ kTopMask, turned);
    return Key(select(low, low ^ kTopMask, kDescending != 0u));
}

fn key_of_image(image: Key) -> Key {
    let low = select(image.low, image.low ^ kTopMask, kDescending != 0u);
    let turned = kKeyKind == kFloat && (low & kTopSign) == 0u;
    return Key(select(low ^ key_flip(), low ^ kTopMask, turned));
}

// Bits [shift, shift + bits) of an image; bits may be 0, and below 32.
fn digit_of(image: Key, shift: u32, bits: u32) -> u32 {
    return (image.low >> (shift & 31u)) & ((1u << bits) - 1u);
}

//#endif
