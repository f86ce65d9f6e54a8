// The rows of a tile, as scans see them: read into registers. The twin of rows.glsl, which draws their
// order.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_ORDERED; a buffer named input (tile/memory.wgsl); kScanRows, which is
// kVectors; LW_ELEMENT_BITS, kItemsPerVector (item/element.wgsl or item/item_words.wgsl); what
// tile/load.wgsl and workgroup/scan_*.wgsl ask for, and that module; kReverse (constant, 0 or 1).

//#include "subgroup/lane_number.wgsl"
//#include "tile/load.wgsl"
//#include "tile/share.wgsl"

const kTileItems = kTileVectors * kItemsPerVector;

alias RowVectors = array<Vector, kScanRows>;

// A tile by its number in the order of the scan.
struct Tile {
    number: u32,  // in memory
    items: u32,   // kTileItems, or fewer in the last tile of the input
    first: bool,  // of the scan
    last: bool,   // of the input
}

fn tile_in_order(share: Share, t: u32) -> Tile {
    let number = select(t, share.tiles - 1u - t, kReverse != 0u);
    let rest = share.count.x & (kTileItems - 1u);
    let last = number == share.tiles - 1u;
    return Tile(number, select(kTileItems, rest, rest != 0u && last), t == 0u, last);
}

// The vector of a lane's row in its tile. With `summed` only what the tile combines to is wanted.
fn vector_of_row(row: u32, lane: Lane, group: Group, summed: bool) -> u32 {
    var place = scan_place(row, lane, group);
//#if LW_ORDERED || LW_SEGMENTED
    if (summed) { place = lane.number * kScanRows + row; }
//#endif
    return select(place, kTileVectors - 1u - place, kReverse != 0u);
}

// Items of vector i that are there.
fn items_of_vector(tile: Tile, i: u32) -> u32 {
    let before = i * kItemsPerVector;
    return min(kItemsPerVector, max(tile.items, before) - before);
}

// Vector i, of which the last tile may have a part.
fn load_vector_to_end(tile: Tile, i: u32) -> Vector {
    let place = tile_place(tile.number);
    let items = items_of_vector(tile, i);
    var vector: Vector;
    if (items == kItemsPerVector) {
        vector = load_vector(place, i);
    } else {
        for (var word = 0u; word < kVectorWords; word++) {
            if (word * 32u < items * LW_ELEMENT_BITS) { vector[word] = load_word(place, i, word); }
        }
    }
    return vector;
}

fn load_tile(tile: Tile, lane: Lane, group: Group, summed: bool) -> RowVectors {
    var vectors: RowVectors;
    if (tile.items == kTileItems) {
        let place = tile_place(tile.number);
        for (var row = 0u; row < kScanRows; row++) {
            vectors[row] = load_vector(place, vector_of_row(row, lane, group, summed));
        }
    } else {
        for (var row = 0u; row < kScanRows; row++) {
            vectors[row] = load_vector_to_end(tile, vector_of_row(row, lane, group, summed));
        }
    }
    return vectors;
}

// Where a tile's vector i begins, in items.
fn index_of_vector(tile: Tile, i: u32) -> vec2<u32> {
    return add64(multiply32(tile.number, kTileItems), vec2<u32>(i * kItemsPerVector, 0u));
}
