// What the rows of a tile combine to, vector by vector.
//
// The kernel defines before: what item/element.glsl and tile/rows.glsl ask for.
#ifndef LW_TILE_ROW_SUMS_GLSL
#define LW_TILE_ROW_SUMS_GLSL

#include "item/element.glsl"
#include "tile/rows.glsl"

// Item j of a vector, in the order of the scan.
uint item_in_order(uint j) { return kReverse != 0u ? kItemsPerVector - 1u - j : j; }

// What vector i of a tile combines to.
Accumulator sum_vector(Tile tile, uint i, Vector vector) {
    uint items = tile.items == kTileItems ? kItemsPerVector : items_of_vector(tile, i);
    uvec2 base = index_of_vector(tile, i);
#ifdef LW_CUSTOM
    if (items == kItemsPerVector) {
        Accumulator held = item_held(vector, item_in_order(0u), base);
        [[unroll]] for (uint next = 1u; next < kItemsPerVector; ++next) {
            held = combine_held(held, item_held(vector, item_in_order(next), base));
        }
        return held;
    }
#endif
    Accumulator sum = item_or_identity(vector, item_in_order(0u), items, base);
    [[unroll]] for (uint j = 1u; j < kItemsPerVector; ++j) {
        sum = combine(sum, item_or_identity(vector, item_in_order(j), items, base));
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
