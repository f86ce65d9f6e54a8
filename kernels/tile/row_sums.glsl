// What the rows of a tile combine to, vector by vector.
//
// The kernel defines before: what item/element.glsl and tile/rows.glsl ask for. With LW_SEGMENTED it defines
// heads_of_vector.
#ifndef LW_TILE_ROW_SUMS_GLSL
#define LW_TILE_ROW_SUMS_GLSL

#include "item/element.glsl"
#include "tile/rows.glsl"

// Item j of a vector, in the order of the scan.
uint item_in_order(uint j) { return kReverse != 0u ? kItemsPerVector - 1u - j : j; }

#ifdef LW_SEGMENTED

// The kernel's: bit j is 1 where a segment begins with item j of vector i, in the order of the scan.
uint heads_of_vector(Tile tile, uint i);

bool is_head(uint heads, uint item) { return (heads >> item & 1u) != 0u; }

Accumulator headed(Accumulator a, uint heads, uint item) {
    a.head = heads >> item & 1u;
    return a;
}

#else

uint heads_of_vector(Tile tile, uint i) { return 0u; }

#define headed(a, heads, item) (a)  // compiled as if there were no heads

#endif

// Of the items of vector i that are there.
uint heads_of_items(Tile tile, uint i, uint items) {
    return heads_of_vector(tile, i) & ~(~0u << items);
}

// What vector i of a tile combines to.
Accumulator sum_vector(Tile tile, uint i, Vector vector) {
    uint items = tile.items == kTileItems ? kItemsPerVector : items_of_vector(tile, i);
    uvec2 base = index_of_vector(tile, i);
    uint heads = heads_of_items(tile, i, items);
#ifdef LW_CUSTOM
    if (items == kItemsPerVector) {
        uint item = item_in_order(0u);
        Accumulator held = headed(item_held(vector, item, base), heads, item);
        [[unroll]] for (uint next = 1u; next < kItemsPerVector; ++next) {
            item = item_in_order(next);
            held = combine_held(held, headed(item_held(vector, item, base), heads, item));
        }
        return held;
    }
#endif
    Accumulator sum = item_or_identity(vector, item_in_order(0u), items, base);
    sum = headed(sum, heads, item_in_order(0u));
    [[unroll]] for (uint j = 1u; j < kItemsPerVector; ++j) {
        uint item = item_in_order(j);
        sum = combine(sum, headed(item_or_identity(vector, item, items, base), heads, item));
    }
    return sum;
}

void sum_rows(Tile tile, uint vlane, Vector vectors[kScanRows],
              out Accumulator sums[kScanRows]) {
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        sums[row] = sum_vector(tile, vector_of_row(row, vlane, false), vectors[row]);
    }
}

// What all rows of a lane combine to, loaded to be `summed`.
Accumulator sum_lane(Tile tile, uint vlane, Vector vectors[kScanRows]) {
    Accumulator sum = sum_vector(tile, vector_of_row(0u, vlane, true), vectors[0]);
    [[unroll]] for (uint row = 1u; row < kScanRows; ++row) {
        sum = combine(sum, sum_vector(tile, vector_of_row(row, vlane, true), vectors[row]));
    }
    return sum;
}

#endif
