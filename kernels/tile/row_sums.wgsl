// What the rows of a tile combine to, vector by vector. The twin of row_sums.glsl.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: ScanValues, an array of kScanRows accumulators; what item/element.wgsl and
// tile/rows.wgsl ask for.

//#include "item/element.wgsl"
//#include "tile/rows.wgsl"

// Item j of a vector, in the order of the scan.
fn item_in_order(j: u32) -> u32 { return select(j, kItemsPerVector - 1u - j, kReverse != 0u); }

// What vector i of a tile combines to.
fn sum_vector(tile: Tile, i: u32, vector: Vector) -> Accumulator {
    let items = select(items_of_vector(tile, i), kItemsPerVector, tile.items == kTileItems);
    let base = index_of_vector(tile, i);
    var sum = item_or_identity(vector, item_in_order(0u), items, base);
    for (var j = 1u; j < kItemsPerVector; j++) {
        sum = combine(sum, item_or_identity(vector, item_in_order(j), items, base));
    }
    return sum;
}

fn sum_rows(tile: Tile, lane: Lane, group: Group, vectors: ptr<function, RowVectors>) -> ScanValues {
    var sums: ScanValues;
    for (var row = 0u; row < kScanRows; row++) {
        sums[row] = sum_vector(tile, vector_of_row(row, lane, group, false), (*vectors)[row]);
    }
    return sums;
}

// What all rows of a lane combine to, loaded to be `summed`.
fn sum_lane(tile: Tile, lane: Lane, group: Group, vectors: ptr<function, RowVectors>) -> Accumulator {
    var sum = sum_vector(tile, vector_of_row(0u, lane, group, true), (*vectors)[0]);
    for (var row = 1u; row < kScanRows; row++) {
        let i = vector_of_row(row, lane, group, true);
        sum = combine(sum, sum_vector(tile, i, (*vectors)[row]));
    }
    return sum;
}
