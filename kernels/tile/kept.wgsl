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

// What decides besides the items themselves: words of flags, or the item before a vector's first.
//#if LW_PREDICATE
const kBesideWords = 1u;  // none
//#elif kFlagBits == 0
const kBesideWords = (LW_ELEMENT_BITS + 31u) / 32u;
//#else
const kFlagsInWord = 32u / kFlagBits;
//#if LW_ELEMENT_BITS < 4 * kFlagBits
const kFlagsOfVector = kFlagsInWord;  // in one word
//#else
const kFlagsOfVector = kItemsPerVector;
//#endif
const kBesideWords = kItemsPerVector / kFlagsOfVector;
//#endif
alias Beside = array<u32, kBesideWords>;

fn first_of_vector(tile: Tile, i: u32) -> u32 { return tile.number * kTileItems + i * kItemsPerVector; }

fn items_there(tile: Tile, i: u32) -> u32 {
    return select(items_of_vector(tile, i), kItemsPerVector, tile.items == kTileItems);
}

//#if LW_PREDICATE

// Vector i's words beside it, to the last that one of its `items` asks for.
fn load_beside(tile: Tile, i: u32, items: u32) -> Beside {
    var beside: Beside;
    return beside;
}

fn kept_of_vector(tile: Tile, i: u32, vector: Vector, beside: Beside) -> u32 {
    let first = first_of_vector(tile, i);
    let items = items_there(tile, i);
    var kept = 0u;
    for (var j = 0u; j < kItemsPerVector; j++) {
        var words: ElementWords;
        for (var k = 0u; k < kElementWords; k++) { words[k] = item_word(vector, j, k); }
        if (j < items) {
            if (operation_load(element_of_words(words), first + j) != 0u) { kept |= 1u << j; }
        }
    }
    return kept;
}

//#elif kFlagBits

// Vector i's words beside it, to the last that one of its `items` asks for.
fn load_beside(tile: Tile, i: u32, items: u32) -> Beside {
    let first = first_of_vector(tile, i);
    var beside: Beside;
    for (var word = 0u; word < kBesideWords; word++) {
        if (word * kFlagsOfVector < items) {
            beside[word] = flags[(first + word * kFlagsOfVector) / kFlagsInWord];
        }
    }
    return beside;
}

fn kept_of_vector(tile: Tile, i: u32, vector: Vector, beside: Beside) -> u32 {
    let first = first_of_vector(tile, i);
    var kept = 0u;
    for (var k = 0u; k < kBesideWords; k++) {
        let word = beside[k] >> (first % kFlagsInWord * kFlagBits);
        for (var j = 0u; j < kFlagsOfVector; j++) {
            let flag = extractBits(word, j * kFlagBits, kFlagBits);
            kept |= select(0u, 1u << (k * kFlagsOfVector + j), flag != 0u);
        }
    }
    return kept & ((1u << items_there(tile, i)) - 1u);
}

//#else

// Of the very first item, before which there is none, its own.
fn word_before(tile: Tile, i: u32, word: u32) -> u32 {
    let first = tile.number == 0u && i == 0u;
    let place = tile_place(select(tile.number - 1u, tile.number, i != 0u || first));
    let vector = select(select(kTileVectors, i, i != 0u) - 1u, 0u, first);
    return load_word(place, vector, select(kVectorWords - kItemWords + word, word, first));
}

// Vector i's words beside it, to the last that one of its `items` asks for.
fn load_beside(tile: Tile, i: u32, items: u32) -> Beside {
    var beside: Beside;
    if (items != 0u) {
        for (var word = 0u; word < kBesideWords; word++) { beside[word] = word_before(tile, i, word); }
    }
    return beside;
}

fn kept_of_vector(tile: Tile, i: u32, vector: Vector, beside: Beside) -> u32 {
    var changes = first_of_vector(tile, i) == 0u;
    for (var word = 0u; word < kBesideWords; word++) {
//#if LW_ELEMENT_BITS < 32
        // The last item of its word.
        let before = extractBits(beside[word], 32u - LW_ELEMENT_BITS, LW_ELEMENT_BITS);
//#else
        let before = beside[word];
//#endif
        changes = changes || item_word(vector, 0u, word) != before;
    }
    var kept = select(0u, 1u, changes);
    for (var j = 1u; j < kItemsPerVector; j++) {
        changes = false;
        for (var word = 0u; word < kItemWords; word++) {
            changes = changes || item_word(vector, j, word) != item_word(vector, j - 1u, word);
        }
        kept |= select(0u, 1u << j, changes);
    }
    return kept & ((1u << items_there(tile, i)) - 1u);
}

//#endif

// Which items of a lane's rows are kept; all of what decides is under way before any of it is looked at.
fn judge_tile(tile: Tile, lane: Lane, group: Group, summed: bool,
              vectors: ptr<function, RowVectors>) -> RowMasks {
    var beside: array<Beside, kScanRows>;
    if (tile.items == kTileItems) {
        for (var row = 0u; row < kScanRows; row++) {
            beside[row] = load_beside(tile, vector_of_row(row, lane, group, summed), kItemsPerVector);
        }
    } else {
        for (var row = 0u; row < kScanRows; row++) {
            let i = vector_of_row(row, lane, group, summed);
            beside[row] = load_beside(tile, i, items_of_vector(tile, i));
        }
    }
    var kept: RowMasks;
    for (var row = 0u; row < kScanRows; row++) {
        let i = vector_of_row(row, lane, group, summed);
        kept[row] = kept_of_vector(tile, i, (*vectors)[row], beside[row]);
    }
    return kept;
}

// How many items of a lane's rows are kept.
fn count_lane(tile: Tile, lane: Lane, group: Group) -> u32 {
    var vectors: RowVectors;
    if (kItemsDecide) { vectors = load_tile(tile, lane, group, true); }
    let kept = judge_tile(tile, lane, group, true, &vectors);
    var count = 0u;
    for (var row = 0u; row < kScanRows; row++) { count += countOneBits(kept[row]); }
    return count;
}
