// Elements of a caller's own type, from vectors to accumulators: the twin of custom_element.glsl.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_ELEMENT_BITS; what item/custom.wgsl and tile/load.wgsl ask for.

//#include "item/custom.wgsl"
//#include "item/item_words.wgsl"

fn words_of_item(vector: Vector, item: u32) -> ElementWords {
    var words: ElementWords;
    for (var i = 0u; i < kElementWords; i++) { words[i] = item_word(vector, item, i); }
    return words;
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
