// Elements of a caller's own type, from vectors to accumulators: the twin of custom_element.glsl.
//
// What differs: tile/load.wgsl says how long a vector is.
//
// The kernel defines before: LW_ELEMENT_BITS; what item/custom.wgsl and tile/load.wgsl ask for.

//#include "item/custom.wgsl"
//#include "item/select.wgsl"
//#include "tile/load.wgsl"

// Elements of 1, 2, 4, 8 or 16 bytes share a vector; others are one each.
//#if 128 % LW_ELEMENT_BITS == 0
const kItemsPerVector = 128u / LW_ELEMENT_BITS;
//#else
const kItemsPerVector = 1u;
//#endif

// The words of an item; of elements narrower than a word, its bits in the lowest ones.
fn words_of_item(vector: Vector, item: u32) -> ElementWords {
//#if LW_ELEMENT_BITS < 32
    const items = 32u / LW_ELEMENT_BITS;
    var words: ElementWords;
    words[0] = component(vector, item / items) >> ((item % items) * LW_ELEMENT_BITS);
    return words;
//#elif 128 % LW_ELEMENT_BITS == 0
    var words: ElementWords;
    for (var i = 0u; i < kElementWords; i++) {
        words[i] = component(vector, item * kElementWords + i);
    }
    return words;
//#else
    // One by one: naga 30 takes two aliases of an array for two types.
    var words: ElementWords;
    for (var i = 0u; i < kElementWords; i++) { words[i] = vector[i]; }
    return words;
//#endif
}

// As in item/element.wgsl; an item that is not there is not loaded.
fn item_or_identity(vector: Vector, item: u32, items: u32, base: vec2<u32>) -> Accumulator {
    var a = accumulator_identity();
    if (item < items) {
        let x = element_of_words(words_of_item(vector, item));
        a = accumulator_of(operation_load(x, base.x + item));
    }
    return a;
}
