// Where segments begin, from marks beside the items: flags (not zero: a segment begins with this item) or
// keys (one begins where the key is not the one before, bit by bit). The first item always begins one.
//
//     items           a b c d e f          flags 0 1 0 0 1 0, or keys 7 4 4 4 9 9
//     begin           1 1 0 0 1 0          forward, these are the heads
//     after the last                1
//     reverse heads   1 0 0 1 0 1          each item has what the one after it in memory has
//
//     marks of a vector of 4 items, in words    1 bit    |       a b c d|      4 of 32 in a word
//                                               8 bits   |a   b   c   d   |
//                                               32 bits  |a|b|c|d|
//
// A vector's first item has a number that its items divide, so that its marks begin a word, or are all in
// one. Words are read once each; none that has no mark of an item that is there.
//
// The kernel defines before: LW_SEGMENTED; a buffer named marks (tile/memory.glsl); kMarkBits (1, 8, 16, 32
// or 64), kMarksAreKeys (constants); tile/row_sums.glsl's, which declares heads_of_vector.
#ifndef LW_TILE_HEADS_GLSL
#define LW_TILE_HEADS_GLSL

#include "tile/row_sums.glsl"

#ifdef LW_SEGMENTED

const uint kMarksPerWord = kMarkBits == 64u ? 1u : 32u / kMarkBits;

// The words in which an item's mark lies; of narrower marks than 64 bits, one and nothing.
uvec2 load_mark_words(uint item) {
    if (kMarkBits == 64u) return uvec2(LW_WORD(marks, 2u * item), LW_WORD(marks, 2u * item + 1u));
    return uvec2(LW_WORD(marks, item / kMarksPerWord), 0u);
}

uvec2 mark_of_words(uvec2 words, uint item) {
    if (kMarkBits < 32u) {
        int first = int(item % kMarksPerWord * kMarkBits);
        words.x = bitfieldExtract(words.x, first, int(kMarkBits));
    }
    return words;
}

uvec2 load_mark(uint item) { return mark_of_words(load_mark_words(item), item); }

bool mark_begins(uvec2 mark, uvec2 before) { return mark != (kMarksAreKeys != 0u ? before : uvec2(0u)); }

uint heads_of_vector(Tile tile, uint i) {
    uint items = items_of_vector(tile, i);
    uint first = index_of_vector(tile, i).x;
    uint begin = 0u;
    if (items != 0u) {
        uvec2 words = uvec2(0u);
        uvec2 before = uvec2(0u);
        if (kMarksAreKeys != 0u && kReverse == 0u && first != 0u) before = load_mark(first - 1u);
        [[unroll]] for (uint j = 0u; j < kItemsPerVector; ++j) {
            if (j < items) {
                if (j % kMarksPerWord == 0u) words = load_mark_words(first + j);
                uvec2 mark = mark_of_words(words, first + j);
                begin |= mark_begins(mark, before) ? 1u << j : 0u;
                before = mark;
            }
        }
        if (kReverse != 0u) {
            bool is_last = tile.last && i * kItemsPerVector + items == tile.items;
            bool next_begins = true;
            if (!is_last) next_begins = mark_begins(load_mark(first + items), before);
            begin = (begin | (next_begins ? 1u << items : 0u)) >> 1;
        } else if (first == 0u) {
            begin |= 1u;
        }
    }
    return begin;
}

#endif

#endif
