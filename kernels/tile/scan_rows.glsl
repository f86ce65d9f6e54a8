// The rows of a tile, as scans see them: read into registers and summed vector by vector.
//
//   vectors of a tile, in the order of the scan     place 0, 1, 2 ...     (workgroup/scan_*.glsl)
//   in memory, forward                              vector = place
//   in memory, reverse                              vector = last - place, its items from the last
//
// Reverse, tiles go from the last to the first, and so does all inside them; a last tile that the
// end of the input cuts comes first then. Where there is no item, there is the identity.
//
// The kernel defines before: LW_BINDINGS, LW_INPUT_BINDING (tile/memory.glsl); kScanRows, which is
// kVectors; what item/element.glsl, tile/load.glsl and workgroup/scan_*.glsl ask for, and that module;
// kReverse (constant, 0 or 1).
#ifndef LW_TILE_SCAN_ROWS_GLSL
#define LW_TILE_SCAN_ROWS_GLSL

#include "item/element.glsl"
#include "tile/load.glsl"
#include "tile/share.glsl"

const uint kTileItems = kTileVectors * kItemsPerVector;

// A tile by its number in the order of the scan.
struct ScanTile {
    uint number;  // in memory
    uint items;   // kTileItems, or fewer in the last tile of the input
    bool first;   // of the scan
};

ScanTile scan_tile(Share share, uint t) {
    uint number = kReverse != 0u ? share.tiles - 1u - t : t;
    uint rest = share.count.x & (kTileItems - 1u);
    bool cut = rest != 0u && number == share.tiles - 1u;
    return ScanTile(number, cut ? rest : kTileItems, t == 0u);
}

// The virtual lane where subgroups are full; otherwise the scan takes any numbering.
uint lane_number() {
    uint number = gl_LocalInvocationIndex;
#ifdef LW_FORM_SUBGROUP
    if (subgroups_are_full()) {
        number = gl_SubgroupID * subgroup_size() + gl_SubgroupInvocationID;
    }
#endif
    return number;
}

// The vector of a lane's row in its tile.
uint vector_of_row(uint row, uint vlane) {
    uint place = scan_place(row, vlane);
    return kReverse != 0u ? kTileVectors - 1u - place : place;
}

// Items of vector i that are there.
uint items_of_vector(ScanTile tile, uint i) {
    uint before = i * kItemsPerVector;
    return min(kItemsPerVector, max(tile.items, before) - before);
}

// Item j of a vector, in the order of the scan.
uint item_in_order(uint j) { return kReverse != 0u ? kItemsPerVector - 1u - j : j; }

void load_tile(ScanTile tile, uint vlane, out uvec4 vectors[kScanRows]) {
    Place place = tile_place(tile.number);
    if (tile.items == kTileItems) {
        [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
            vectors[row] = load_vector(place, vector_of_row(row, vlane));
        }
        return;
    }
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = vector_of_row(row, vlane);
        uint items = items_of_vector(tile, i);
        vectors[row] = uvec4(0u);
        if (items == kItemsPerVector) {
            vectors[row] = load_vector(place, i);
        } else {
            [[unroll]] for (uint word = 0u; word < 4u; ++word) {
                if (word * 32u < items * LW_ELEMENT_BITS) {
                    vectors[row][word] = load_word(place, 4u * i + word);
                }
            }
        }
    }
}

// Where a tile's vector i begins, in items.
uvec2 index_of_vector(ScanTile tile, uint i) {
    return add64(multiply32(tile.number, kTileItems), uvec2(i * kItemsPerVector, 0u));
}

// Item j in the order of the scan; the identity where it is not there.
Accumulator scan_item(uvec4 vector, uint j, uint items, uvec2 base) {
    uint item = item_in_order(j);
    Accumulator a = item_accumulator(vector, item / kItemsPerStream, item % kItemsPerStream, item);
    a = accumulator_moved(a, base);
    return accumulator_select(item < items, a, accumulator_identity());
}

// What each row of a lane combines to.
void sum_rows(ScanTile tile, uint vlane, uvec4 vectors[kScanRows],
              out Accumulator sums[kScanRows]) {
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = vector_of_row(row, vlane);
        uint items = tile.items == kTileItems ? kItemsPerVector : items_of_vector(tile, i);
        uvec2 base = index_of_vector(tile, i);
        Accumulator sum = scan_item(vectors[row], 0u, items, base);
        [[unroll]] for (uint j = 1u; j < kItemsPerVector; ++j) {
            sum = combine(sum, scan_item(vectors[row], j, items, base));
        }
        sums[row] = sum;
    }
}

#endif
