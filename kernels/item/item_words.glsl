// Items of a vector as words, whatever they mean.
//
//      a vector                  x          y          z          w
//      items of 8 bits        0 1 2 3    4 5 6 7    8 9 a b    c d e f
//              16             0   1      2   3      4   5      6   7
//              32             0          1          2          3
//              64             0.0        0.1        1.0        1.1
//              96             0.0        0.1        0.2                   a vector of three words
//
// Elements of 1, 2, 4, 8 or 16 bytes share a vector; others are one each.
//
// The kernel defines before: LW_ELEMENT_BITS, a number, or of elements up to 64 bits a constant, and then
// LW_ANY_ELEMENT; what tile/load.glsl asks for.
#ifndef LW_ITEM_ITEM_WORDS_GLSL
#define LW_ITEM_ITEM_WORDS_GLSL

#include "item/select.glsl"

#ifdef LW_ANY_ELEMENT
#define LW_VECTOR_WORDS 4
#elif 128 % LW_ELEMENT_BITS == 0
#define LW_VECTOR_WORDS 4
#else
#define LW_VECTOR_WORDS (LW_ELEMENT_BITS / 32)
#endif

#include "tile/load.glsl"

const uint kItemsPerVector = LW_VECTOR_WORDS == 4 ? 128u / LW_ELEMENT_BITS : 1u;
const uint kItemWords = (LW_ELEMENT_BITS + 31u) / 32u;  // one of a narrow item

// Word `word` of an item; of elements narrower than a word, its bits in the lowest ones.
uint item_word(Vector vector, uint item, uint word) {
#if LW_VECTOR_WORDS == 4
    uint whole = component(vector, item * LW_ELEMENT_BITS / 32u + word);
    return LW_ELEMENT_BITS < 32u
               ? bitfieldExtract(whole, int(item * LW_ELEMENT_BITS % 32u), int(LW_ELEMENT_BITS))
               : whole;
#else
    return vector.words[word];
#endif
}

#endif
