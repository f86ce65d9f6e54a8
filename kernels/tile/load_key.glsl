// Keys of a sort as they lie in a buffer: in one or two words, or several in a word.
//
// The kernel defines before: a buffer named keys_in (tile/memory.glsl); kSourceBits (of a key in it),
// kImageIn (1: it has keys, else images) (constants); item/key.glsl's.
#ifndef LW_TILE_LOAD_KEY_GLSL
#define LW_TILE_LOAD_KEY_GLSL

#include "item/key.glsl"

// Key i of the input, as an image.
Key load_key(uint i) {
#if LW_KEY_WORDS == 2
    Key key = Key(LW_WORD(keys_in, 2u * i), LW_WORD(keys_in, 2u * i + 1u));
#else
    const uint per_word = 32u / kSourceBits;
    uint word = LW_WORD(keys_in, i / per_word);
    Key key = Key(kSourceBits == 32u
        ? word
        : bitfieldExtract(word, int((i & (per_word - 1u)) * kSourceBits), int(kSourceBits)));
#endif
    if (kImageIn != 0u) key = image_of_key(key);
    return key;
}

#endif
