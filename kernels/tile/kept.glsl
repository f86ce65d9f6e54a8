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

// What decides besides the items themselves: words of flags, or the item before a vector's first.
const uint kFlagsInWord = 32u / (kFlagBits != 0u ? kFlagBits : 1u);
const uint kFlagsOfVector =  // in one word
    kFlagsInWord < kItemsPerVector ? kFlagsInWord : kItemsPerVector;
#ifdef LW_PREDICATE
const uint kBesideWords = 1u;  // none
#else
const uint kBesideWords = kFlagBits == 0u ? kItemWords : kItemsPerVector / kFlagsOfVector;
#endif

uint first_of_vector(Tile tile, uint i) { return tile.number * kTileItems + i * kItemsPerVector; }

uint items_there(Tile tile, uint i) {
    return tile.items == kTileItems ? kItemsPerVector : items_of_vector(tile, i);
}

#ifdef LW_PREDICATE

// Vector i's words beside it, to the last that one of its `items` asks for.
void load_beside(Tile tile, uint i, uint items, out uint beside[kBesideWords]) { beside[0] = 0u; }

uint kept_of_vector(Tile tile, uint i, Vector vector, uint beside[kBesideWords]) {
    uint first = first_of_vector(tile, i);
    uint items = items_there(tile, i);
    uint kept = 0u;
    [[unroll]] for (uint j = 0u; j < kItemsPerVector; ++j) {
        uint words[LW_ELEMENT_WORDS];
        [[unroll]] for (uint k = 0u; k < LW_ELEMENT_WORDS; ++k) words[k] = item_word(vector, j, k);
        if (j < items && operation_load(element_of_words(words), first + j) != 0u) kept |= 1u << j;
    }
    return kept;
}

#else

// Of the very first item, before which there is none, its own.
uint word_before(Tile tile, uint i, uint word) {
    bool first = tile.number == 0u && i == 0u;
    Place place = tile_place(i != 0u || first ? tile.number : tile.number - 1u);
    uint end = LW_VECTOR_WORDS * (i != 0u ? i : kTileVectors);
    return load_word(place, first ? word : end - kItemWords + word);
}

// Vector i's words beside it, to the last that one of its `items` asks for.
void load_beside(Tile tile, uint i, uint items, out uint beside[kBesideWords]) {
    uint first = first_of_vector(tile, i);
    [[unroll]] for (uint word = 0u; word < kBesideWords; ++word) {
        beside[word] = 0u;
        if (kFlagBits == 0u) {
            if (items != 0u) beside[word] = word_before(tile, i, word);
        } else if (word * kFlagsOfVector < items) {
            beside[word] = LW_WORD(flags, (first + word * kFlagsOfVector) / kFlagsInWord);
        }
    }
}

uint kept_by_flags(uint first, uint beside[kBesideWords]) {
    uint kept = 0u;
    [[unroll]] for (uint i = 0u; i < kBesideWords; ++i) {
        uint word = beside[i] >> first % kFlagsInWord * kFlagBits;
        [[unroll]] for (uint j = 0u; j < kFlagsOfVector; ++j) {
            uint flag = bitfieldExtract(word, int(j * kFlagBits), int(kFlagBits));
            kept |= flag != 0u ? 1u << (i * kFlagsOfVector + j) : 0u;
        }
    }
    return kept;
}

uint kept_by_changes(Vector vector, uint first, uint beside[kBesideWords]) {
    bool changes = first == 0u;
    [[unroll]] for (uint word = 0u; word < kItemWords; ++word) {
        // Where flags decide this is not called, but compiled: no index may be past the words.
        uint before = beside[min(word, kBesideWords - 1u)];
        if (LW_ELEMENT_BITS < 32u) {
            // The last item of its word.
            before = bitfieldExtract(before, int(32u - LW_ELEMENT_BITS), int(LW_ELEMENT_BITS));
        }
        changes = changes || item_word(vector, 0u, word) != before;
    }
    uint kept = changes ? 1u : 0u;
    [[unroll]] for (uint j = 1u; j < kItemsPerVector; ++j) {
        changes = false;
        [[unroll]] for (uint word = 0u; word < kItemWords; ++word) {
            changes = changes || item_word(vector, j, word) != item_word(vector, j - 1u, word);
        }
        kept |= changes ? 1u << j : 0u;
    }
    return kept;
}

uint kept_of_vector(Tile tile, uint i, Vector vector, uint beside[kBesideWords]) {
    uint first = first_of_vector(tile, i);
    uint kept;
    if (kFlagBits == 0u) {
        kept = kept_by_changes(vector, first, beside);
    } else {
        kept = kept_by_flags(first, beside);
    }
    return kept & (1u << items_there(tile, i)) - 1u;
}

#endif

// Which items of a lane's rows are kept; all of what decides is under way before any of it is looked at.
void judge_tile(Tile tile, uint vlane, const bool summed, Vector vectors[kScanRows],
                out uint kept[kScanRows]) {
    uint beside[kScanRows * kBesideWords];
    uint words[kBesideWords];
    if (tile.items == kTileItems) {
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
            load_beside(tile, vector_of_row(row, vlane, summed), kItemsPerVector, words);
            [[unroll]] for (uint i = 0u; i < kBesideWords; ++i) beside[row * kBesideWords + i] = words[i];
        }
    } else {
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
            uint i = vector_of_row(row, vlane, summed);
            load_beside(tile, i, items_of_vector(tile, i), words);
            [[unroll]] for (uint k = 0u; k < kBesideWords; ++k) beside[row * kBesideWords + k] = words[k];
        }
    }
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        [[unroll]] for (uint i = 0u; i < kBesideWords; ++i) words[i] = beside[row * kBesideWords + i];
        kept[row] = kept_of_vector(tile, vector_of_row(row, vlane, summed), vectors[row], words);
    }
}

// How many items of a lane's rows are kept.
uint count_lane(Tile tile, uint vlane) {
    Vector vectors[kScanRows];
    uint kept[kScanRows];
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) vectors[row] = vector_of_zeros();
    if (kItemsDecide) load_tile(tile, vlane, true, vectors);
    judge_tile(tile, vlane, true, vectors, kept);
    uint count = 0u;
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) count += uint(bitCount(kept[row]));
    return count;
}

#endif
