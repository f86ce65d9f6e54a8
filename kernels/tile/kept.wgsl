// Which items of a vector are kept, as a mask of bits: the twin of kept.glsl, which explains what
// decides.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_PREDICATE; where kFlagBits is not 0 a buffer named flags, of u32;
// kFlagBits (constant); what item/item_words.wgsl and tile/rows.wgsl ask for.

//#if LW_PREDICATE
//#include "item/custom_operation.wgsl"
//#endif
//#include "item/item_words.wgsl"
//#include "tile/rows.wgsl"

const kItemsDecide = LW_PREDICATE != 0u || kFlagBits == 0u;

alias RowMasks = array<u32, kScanRows>;

// `first` is the number of the vector's first item, of which there are `items`.
//#if LW_PREDICATE

fn kept_by_predicate(vector: Vector, first: u32, items: u32) -> u32 {
    var kept = 0u;
    for (var j = 0u; j < kItemsPerVector; j++) {
        var words: ElementWords;
        for (var i = 0u; i < kElementWords; i++) { words[i] = item_word(vector, j, i); }
        if (j < items) {
            if (operation_load(element_of_words(words), first + j) != 0u) { kept |= 1u << j; }
        }
    }
    return kept;
}

//#elif kFlagBits == 1

fn kept_by_flags(first: u32, items: u32) -> u32 {
    var kept = 0u;
    // A vector's items are a power of two: their bits are in one word.
    if (items != 0u) { kept = flags[first / 32u] >> (first % 32u); }
    return kept & ((1u << items) - 1u);
}

//#elif kFlagBits

const kFlagsInWord = 32u / kFlagBits;
//#if LW_ELEMENT_BITS < 4 * kFlagBits
const kFlagsOfVector = kFlagsInWord;
//#else
const kFlagsOfVector = kItemsPerVector;
//#endif

fn kept_by_flags(first: u32, items: u32) -> u32 {
    var kept = 0u;
    for (var i = 0u; i < kItemsPerVector; i += kFlagsOfVector) {
        if (i < items) {
            let word = flags[(first + i) / kFlagsInWord] >> (first % kFlagsInWord * kFlagBits);
            for (var j = 0u; j < kFlagsOfVector; j++) {
                let flag = extractBits(word, j * kFlagBits, kFlagBits);
                kept |= select(0u, 1u << (i + j), flag != 0u);
            }
        }
    }
    return kept & ((1u << items) - 1u);
}

//#else

// Word `word` of the item before the first of vector i; there is one.
fn word_before(tile: Tile, i: u32, word: u32) -> u32 {
    let place = tile_place(select(tile.number - 1u, tile.number, i != 0u));
    let vector = select(kTileVectors, i, i != 0u) - 1u;
    let whole = load_word(place, vector, kVectorWords - kItemWords + word);
//#if LW_ELEMENT_BITS < 32
    return extractBits(whole, 32u - LW_ELEMENT_BITS, LW_ELEMENT_BITS);
//#else
    return whole;
//#endif
}

fn kept_by_changes(tile: Tile, i: u32, vector: Vector, first: u32, items: u32) -> u32 {
    var kept = 0u;
    if (items != 0u) {
        var changes = first == 0u;
        if (!changes) {
            for (var word = 0u; word < kItemWords; word++) {
                changes = changes || item_word(vector, 0u, word) != word_before(tile, i, word);
            }
        }
        kept = select(0u, 1u, changes);
    }
    for (var j = 1u; j < kItemsPerVector; j++) {
        var changes = false;
        for (var word = 0u; word < kItemWords; word++) {
            changes = changes || item_word(vector, j, word) != item_word(vector, j - 1u, word);
        }
        kept |= select(0u, 1u << j, changes && j < items);
    }
    return kept;
}

//#endif

fn items_there(tile: Tile, i: u32) -> u32 {
    return select(items_of_vector(tile, i), kItemsPerVector, tile.items == kTileItems);
}

fn kept_of_vector(tile: Tile, i: u32, vector: Vector) -> u32 {
    let first = tile.number * kTileItems + i * kItemsPerVector;
    let items = items_there(tile, i);
//#if LW_PREDICATE
    return kept_by_predicate(vector, first, items);
//#elif kFlagBits
    return kept_by_flags(first, items);
//#else
    return kept_by_changes(tile, i, vector, first, items);
//#endif
}

// How many items of a lane's rows are kept.
fn count_lane(tile: Tile, lane: Lane, group: Group) -> u32 {
    var vectors: RowVectors;
    if (kItemsDecide) { vectors = load_tile(tile, lane, group, true); }
    var count = 0u;
    for (var row = 0u; row < kScanRows; row++) {
        let i = vector_of_row(row, lane, group, true);
        count += countOneBits(kept_of_vector(tile, i, vectors[row]));
    }
    return count;
}
