// Items of a vector as words, whatever they mean: the twin of item_words.glsl, which draws them.
//
// What differs: tile/load.wgsl says how long a vector is.
//
// The kernel defines before: LW_ELEMENT_BITS; what tile/load.wgsl asks for.

//#include "item/select.wgsl"
//#include "tile/load.wgsl"

//#if 128 % LW_ELEMENT_BITS == 0
const kItemsPerVector = 128u / LW_ELEMENT_BITS;
//#else
const kItemsPerVector = 1u;
//#endif
const kItemWords = (LW_ELEMENT_BITS + 31u) / 32u;  // one of a narrow item

// Word `word` of an item; of elements narrower than a word, its bits in the lowest ones.
fn item_word(vector: Vector, item: u32, word: u32) -> u32 {
//#if LW_ELEMENT_BITS < 32
    return extractBits(component(vector, item * LW_ELEMENT_BITS / 32u), item * LW_ELEMENT_BITS % 32u,
                       LW_ELEMENT_BITS);
//#elif 128 % LW_ELEMENT_BITS == 0
    return component(vector, item * kItemWords + word);
//#else
    var words = vector;  // naga indexes variables only
    return words[word];
//#endif
}
