// Where segments begin, from marks beside the items: the twin of heads.glsl, which draws them.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_SEGMENTED; a buffer named marks (tile/memory.wgsl); kMarkBits (1, 8, 16, 32
// or 64), kMarksAreKeys (constants); tile/row_sums.wgsl's.

//#include "tile/row_sums.wgsl"

//#if LW_SEGMENTED

const kMarksPerWord = max(1u, 32u / kMarkBits);

// The words in which an item's mark lies; of narrower marks than 64 bits, one and nothing.
fn load_mark_words(item: u32) -> vec2<u32> {
    if (kMarkBits == 64u) { return vec2<u32>(marks[2u * item], marks[2u * item + 1u]); }
    return vec2<u32>(marks[item / kMarksPerWord], 0u);
}

fn mark_of_words(words: vec2<u32>, item: u32) -> vec2<u32> {
    if (kMarkBits >= 32u) { return words; }
    return vec2<u32>(extractBits(words.x, item % kMarksPerWord * kMarkBits, kMarkBits), 0u);
}

fn load_mark(item: u32) -> vec2<u32> { return mark_of_words(load_mark_words(item), item); }

fn mark_begins(mark: vec2<u32>, before: vec2<u32>) -> bool {
    return any(mark != select(vec2<u32>(0u), before, kMarksAreKeys != 0u));
}

// Bit j is 1 where a segment begins with item j of vector i, in the order of the scan.
fn heads_of_vector(tile: Tile, i: u32) -> u32 {
    let items = items_of_vector(tile, i);
    let first = index_of_vector(tile, i).x;
    var begin = 0u;
    if (items != 0u) {
        var words = vec2<u32>(0u);
        var before = vec2<u32>(0u);
        if (kMarksAreKeys != 0u && kReverse == 0u && first != 0u) { before = load_mark(first - 1u); }
        for (var j = 0u; j < kItemsPerVector; j++) {
            if (j < items) {
                if (j % kMarksPerWord == 0u) { words = load_mark_words(first + j); }
                let mark = mark_of_words(words, first + j);
                begin |= select(0u, 1u << j, mark_begins(mark, before));
                before = mark;
            }
        }
        if (kReverse != 0u) {
            let is_last = tile.last && i * kItemsPerVector + items == tile.items;
            var next_begins = true;
            if (!is_last) { next_begins = mark_begins(load_mark(first + items), before); }
            begin = (begin | select(0u, 1u << items, next_begins)) >> 1u;
        } else if (first == 0u) {
            begin |= 1u;
        }
    }
    return begin;
}

//#endif
