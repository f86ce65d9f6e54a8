// Elements of a caller's own type, from vectors to accumulators: what item/element.glsl does for stock
// ones.
//
// The kernel defines before: LW_ELEMENT_BITS; what item/custom.glsl and tile/load.glsl ask for.
#ifndef LW_ITEM_CUSTOM_ELEMENT_GLSL
#define LW_ITEM_CUSTOM_ELEMENT_GLSL

#include "item/custom.glsl"
#include "item/select.glsl"

// Elements of 1, 2, 4, 8 or 16 bytes share a vector; others are one each.
#if 128 % LW_ELEMENT_BITS == 0
#define LW_VECTOR_WORDS 4
const uint kItemsPerVector = 128u / LW_ELEMENT_BITS;
#else
#define LW_VECTOR_WORDS (LW_ELEMENT_BITS / 32)
const uint kItemsPerVector = 1u;
#endif

#include "tile/load.glsl"

// The words of an item; of elements narrower than a word, its bits in the lowest ones.
uint[LW_ELEMENT_WORDS] words_of_item(Vector vector, uint item) {
    uint words[LW_ELEMENT_WORDS];
#if LW_ELEMENT_BITS < 32
    const uint items = 32u / LW_ELEMENT_BITS;
    words[0] = component(vector, item / items) >> (item % items * LW_ELEMENT_BITS);
#elif LW_VECTOR_WORDS == 4
    [[unroll]] for (uint i = 0u; i < LW_ELEMENT_WORDS; ++i) {
        words[i] = component(vector, item * LW_ELEMENT_WORDS + i);
    }
#else
    words = vector.words;
#endif
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
