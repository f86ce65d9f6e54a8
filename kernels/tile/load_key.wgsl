// Keys of a sort as they lie in a buffer: in one or two words, or several in a word: the twin of
// load_key.glsl.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: a buffer named keys_in, of u32 (tile/memory.wgsl); kSourceBits (of a key in
// it), kImageIn (1: it has keys, else images) (constants); item/key.wgsl's.

//#include "item/key.wgsl"

// Key i of the input, as an image.
fn load_key(i: u32) -> Key {
//#if LW_KEY_WORDS == 2
    let key = Key(keys_in[2u * i], keys_in[2u * i + 1u]);
//#elif kSourceBits == 32
    let key = Key(keys_in[i]);
//#else
    const per_word = 32u / kSourceBits;
    let first = (i & (per_word - 1u)) * kSourceBits;
    let key = Key(extractBits(keys_in[i / per_word], first, kSourceBits));
//#endif
//#if kImageIn
    return image_of_key(key);
//#else
    return key;
//#endif
}
