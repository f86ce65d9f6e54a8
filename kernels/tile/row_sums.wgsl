// What the rows of a tile combine to, vector by vector. The twin of row_sums.glsl.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: ScanValues, an array of kScanRows accumulators; what item/element.wgsl and
// tile/rows.wgsl ask for. With LW_SEGMENTED it defines heads_of_vector.

//#include "item/element.wgsl"
//#include "tile/rows.wgsl"

// Item j of a vector, in the order of the scan.
fn item_in_order(j: u32) -> u32 { return select(j, kItemsPerVector - 1u - j, kReverse != 0u); }

//#if LW_SEGMENTED

fn is_head(heads: u32, item: u32) -> bool { return ((heads >> item) & 1u) != 0u; }

fn headed(a: Accumulator, heads: u32, item: u32) -> Accumulator {
    var with_head = a;
    with_head.head = (heads >> item) & 1u;
    return with_head;
}

//#else

fn heads_of_vector(tile: Tile, i: u32) -> u32 { return 0u; }

fn headed(a: Accumulator, heads: u32, item: u32) -> Accumulator { return a; }

//#endif

// Of the items of vector i that are there.
fn heads_of_items(tile: Tile, i: u32, items: u32) -> u32 {
    return heads_of_vector(tile, i) & ~(0xffffffffu << items);
}

// What vector i of a tile combines to.
fn sum_vector(tile: Tile, i: u32, vector: Vector) -> Accumulator {
    let items = select(items_of_vector(tile, i), kItemsPerVector, tile.items == kTileItems);
    let base = index_of_vector(tile, i);
    let heads = heads_of_items(tile, i, items);
    var sum = item_or_identity(vector, item_in_order(0u), items, base);
    sum = headed(sum, heads, item_in_order(0u));
    for (var j = 1u; j < kItemsPerVector; j++) {
        let item = item_in_order(j);
        sum = combine(sum, headed(item_or_identity(vector, item, items, base), heads, item));
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
