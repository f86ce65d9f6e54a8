// The rows of a tile, as scans see them, and reductions of custom types: read into registers. What they
// combine to is in tile/row_sums.glsl.
//
//   vectors of a tile, in the order of the scan     place 0, 1, 2 ...     (workgroup/scan_*.glsl)
//   in memory, forward                              vector = place
//   in memory, reverse                              vector = last - place, its items from the last
//
// Reverse, tiles go from the last to the first, and so does all inside them; a last tile that the
// end of the input cuts comes first then. Where there is no item, there is the identity.
//
// Where only a tile's sum is wanted and the operator is not commutative (LW_ORDERED), the rows of a lane
// are neighbours instead: place = lane * rows + row, so that lanes can sum what they have read.
//
// The kernel defines before: LW_BINDINGS, LW_INPUT_BINDING (tile/memory.glsl); kScanRows, which is
// kVectors; LW_ELEMENT_BITS, kItemsPerVector (item/element.glsl or item/item_words.glsl); what
// tile/load.glsl and workgroup/scan_*.glsl ask for, and that module; kReverse (constant, 0 or 1).
#ifndef LW_TILE_ROWS_GLSL
#define LW_TILE_ROWS_GLSL

#include "subgroup/lane_number.glsl"
#include "tile/load.glsl"
#include "tile/share.glsl"

const uint kTileItems = kTileVectors * kItemsPerVector;

// A tile by its number in the order of the scan.
struct Tile {
    uint number;  // in memory
    uint items;   // kTileItems, or fewer in the last tile of the input
    bool first;   // of the scan
#ifdef LW_SEGMENTED
    bool last;    // of the input
#endif
};

Tile tile_in_order(Share share, uint t) {
    uint number = kReverse != 0u ? share.tiles - 1u - t : t;
    uint rest = share.count.x & (kTileItems - 1u);
    bool cut = rest != 0u && number == share.tiles - 1u;
#ifdef LW_SEGMENTED
    return Tile(number, cut ? rest : kTileItems, t == 0u, number == share.tiles - 1u);
#else
    return Tile(number, cut ? rest : kTileItems, t == 0u);
#endif
}

// The vector of a lane's row in its tile. With `summed` only what the tile combines to is wanted.
uint vector_of_row(uint row, uint vlane, const bool summed) {
    uint place = scan_place(row, vlane);
#if LW_ORDERED || defined(LW_SEGMENTED)
    if (summed) place = vlane * kScanRows + row;
#endif
    return kReverse != 0u ? kTileVectors - 1u - place : place;
}

// Items of vector i that are there.
uint items_of_vector(Tile tile, uint i) {
    uint before = i * kItemsPerVector;
    return min(kItemsPerVector, max(tile.items, before) - before);
}

// Vector i, of which the last tile may have a part.
Vector load_vector_to_end(Tile tile, uint i) {
    Place place = tile_place(tile.number);
    uint items = items_of_vector(tile, i);
    Vector vector = vector_of_zeros();
    if (items == kItemsPerVector) {
        vector = load_vector(place, i);
    } else {
        [[unroll]] for (uint word = 0u; word < LW_VECTOR_WORDS; ++word) {
            if (word * 32u < items * LW_ELEMENT_BITS) {
                LW_VECTOR_WORD(vector, word) = load_word(place, LW_VECTOR_WORDS * i + word);
            }
        }
    }
    return vector;
}

void load_tile(Tile tile, uint vlane, const bool summed, out Vector vectors[kScanRows]) {
    if (tile.items == kTileItems) {
        Place place = tile_place(tile.number);
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
            vectors[row] = load_vector(place, vector_of_row(row, vlane, summed));
        }
    } else {
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
            vectors[row] = load_vector_to_end(tile, vector_of_row(row, vlane, summed));
        }
    }
}

// Where a tile's vector i begins, in items.
uvec2 index_of_vector(Tile tile, uint i) {
    return add64(multiply32(tile.number, kTileItems), uvec2(i * kItemsPerVector, 0u));
}

#endif
