// Which items of a vector are kept, as a mask of bits: item j of the vector at bit j. Items that are not
// there are not kept.
//
//   flags       from the buffer of flags, kFlagBits for each item: 1, 8, 16 or 32; not zero: kept
//   changes     (kFlagBits 0) the first item, and each that differs in bits from the item before it
//   predicate   (LW_PREDICATE) a caller's operation_load (item/custom_operation.glsl) is not zero
//
// The kernel defines before: LW_PREDICATE or not; a buffer named flags (tile/memory.glsl); kFlagBits
// (constant); what item/item_words.glsl and tile/rows.glsl ask for.
#ifndef LW_TILE_KEPT_GLSL
#define LW_TILE_KEPT_GLSL

#ifdef LW_PREDICATE
#include "item/custom_operation.glsl"
#endif
#include "item/item_words.glsl"
#include "tile/rows.glsl"

#ifdef LW_PREDICATE
const bool kItemsDecide = true;
#else
const bool kItemsDecide = kFlagBits == 0u;
#endif

// `first` is the number of the vector's first item, of which there are `items`.
#ifdef LW_PREDICATE

uint kept_by_predicate(Vector vector, uint first, uint items) {
    uint kept = 0u;
    [[unroll]] for (uint j = 0u; j < kItemsPerVector; ++j) {
        uint words[LW_ELEMENT_WORDS];
        [[unroll]] for (uint i = 0u; i < LW_ELEMENT_WORDS; ++i) words[i] = item_word(vector, j, i);
        if (j < items && operation_load(element_of_words(words), first + j) != 0u) kept |= 1u << j;
    }
    return kept;
}

#else

uint kept_by_flags(uint first, uint items) {
    uint kept = 0u;
    if (kFlagBits == 1u) {
        // A vector's items are a power of two: their bits are in one word.
        if (items != 0u) kept = LW_WORD(flags, first / 32u) >> first % 32u;
    } else {
        const uint in_word = 32u / max(1u, kFlagBits);
        const uint of_vector = min(in_word, kItemsPerVector);
        [[unroll]] for (uint i = 0u; i < kItemsPerVector; i += of_vector) {
            if (i < items) {
                uint word = LW_WORD(flags, (first + i) / in_word) >> first % in_word * kFlagBits;
                [[unroll]] for (uint j = 0u; j < of_vector; ++j) {
                    uint flag = bitfieldExtract(word, int(j * kFlagBits), int(kFlagBits));
                    kept |= flag != 0u ? 1u << (i + j) : 0u;
                }
            }
        }
    }
    return kept & (1u << items) - 1u;
}

// Word `word` of the item before the first of vector i; there is one.
uint word_before(Tile tile, uint i, uint word) {
    Place place = tile_place(i != 0u ? tile.number : tile.number - 1u);
    uint end = LW_VECTOR_WORDS * (i != 0u ? i : kTileVectors);
    uint whole = load_word(place, end - kItemWords + word);
    return LW_ELEMENT_BITS < 32u
               ? bitfieldExtract(whole, int(32u - LW_ELEMENT_BITS), int(LW_ELEMENT_BITS))
               : whole;
}

uint kept_by_changes(Tile tile, uint i, Vector vector, uint first, uint items) {
    uint kept = 0u;
    if (items != 0u) {
        bool changes = first == 0u;
        if (!changes) {
            [[unroll]] for (uint word = 0u; word < kItemWords; ++word) {
                changes = changes || item_word(vector, 0u, word) != word_before(tile, i, word);
            }
        }
        kept = changes ? 1u : 0u;
    }
    [[unroll]] for (uint j = 1u; j < kItemsPerVector; ++j) {
        bool changes = false;
        [[unroll]] for (uint word = 0u; word < kItemWords; ++word) {
            changes = changes || item_word(vector, j, word) != item_word(vector, j - 1u, word);
        }
        kept |= changes && j < items ? 1u << j : 0u;
    }
    return kept;
}

#endif

uint items_there(Tile tile, uint i) {
    return tile.items == kTileItems ? kItemsPerVector : items_of_vector(tile, i);
}

uint kept_of_vector(Tile tile, uint i, Vector vector) {
    uint first = tile.number * kTileItems + i * kItemsPerVector;
    uint items = items_there(tile, i);
#ifdef LW_PREDICATE
    return kept_by_predicate(vector, first, items);
#else
    uint kept;
    if (kFlagBits == 0u) {
        kept = kept_by_changes(tile, i, vector, first, items);
    } else {
        kept = kept_by_flags(first, items);
    }
    return kept;
#endif
}

// How many items of a lane's rows are kept.
uint count_lane(Tile tile, uint vlane) {
    Vector vectors[kScanRows];
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) vectors[row] = vector_of_zeros();
    if (kItemsDecide) load_tile(tile, vlane, true, vectors);
    uint count = 0u;
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = vector_of_row(row, vlane, true);
        count += uint(bitCount(kept_of_vector(tile, i, vectors[row])));
    }
    return count;
}

#endif
