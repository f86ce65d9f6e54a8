// Elements of a caller's own type, from vectors to accumulators: what item/element.glsl does for stock
// ones.
//
// The kernel defines before: LW_ELEMENT_BITS; what item/custom.glsl and tile/load.glsl ask for.
#ifndef LW_ITEM_CUSTOM_ELEMENT_GLSL
#define LW_ITEM_CUSTOM_ELEMENT_GLSL

#include "item/custom.glsl"
#include "item/item_words.glsl"

uint[LW_ELEMENT_WORDS] words_of_item(Vector vector, uint item) {
    uint words[LW_ELEMENT_WORDS];
    [[unroll]] for (uint i = 0u; i < LW_ELEMENT_WORDS; ++i) words[i] = item_word(vector, item, i);
    return words;
}

// An item that is there.
Accumulator item_held(Vector vector, uint item, uvec2 base) {
    Element x = element_of_words(words_of_item(vector, item));
    return accumulator_of(operation_load(x, base.x + item));
}

// As in item/element.glsl; an item that is not there is not loaded.
Accumulator item_or_identity(Vector vector, uint item, uint items, uvec2 base) {
    Accumulator a = accumulator_identity();
    if (item < items) a = item_held(vector, item, base);
    return a;
}

#endif
