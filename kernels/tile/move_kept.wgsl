// The items of a tile that are kept, and where asked for the others, moved together through workgroup
// memory and stored: the twin of move_kept.glsl, which draws it.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_VALUES, LW_REJECTED; buffers of u32 items_out (with kWriteItems),
// values (with LW_VALUES, without kIndices), values_out (with LW_VALUES), rejected (with LW_REJECTED);
// kWriteItems, kRestAfter, kIndices (constants, 0 or 1), kWordsOfValue, kCapacity (constants); ScanValues;
// what tile/kept.wgsl asks for.

//#include "item/accumulator.wgsl"
//#include "tile/kept.wgsl"

//#if kWriteItems || LW_REJECTED
const kMovesItems = true;
const kMovedWords = kTileItems * kItemWords;
//#else
const kMovesItems = false;
const kMovedWords = kTileItems;
//#endif
const kMovesRest = LW_REJECTED != 0u || kRestAfter != 0u;

var<workgroup> sh_moved: array<u32, kMovedWords>;

// The rows of a lane, and which of their items are kept.
fn load_rows(tile: Tile, lane: Lane, group: Group) -> RowVectors {
    var vectors: RowVectors;
    if (kItemsDecide || kMovesItems) { vectors = load_tile(tile, lane, group, false); }
    return vectors;
}

fn judge_rows(tile: Tile, lane: Lane, group: Group, vectors: ptr<function, RowVectors>,
              counts: ptr<function, ScanValues>) -> RowMasks {
    let kept = judge_tile(tile, lane, group, false, vectors);
    for (var row = 0u; row < kScanRows; row++) { (*counts)[row] = Accumulator(countOneBits(kept[row])); }
    return kept;
}

// counts: of the tile before each vector; total: of the tile. With `items` the items, else their places
// in the tile.
fn move_rows(tile: Tile, lane: Lane, group: Group, vectors: ptr<function, RowVectors>,
             kept: ptr<function, RowMasks>, counts: ptr<function, ScanValues>, total: u32, items: bool) {
    for (var row = 0u; row < kScanRows; row++) {
        let i = vector_of_row(row, lane, group, false);
        let there = items_there(tile, i);
        var before = (*counts)[row].value;
        var behind = total + i * kItemsPerVector - before;
        for (var j = 0u; j < kItemsPerVector; j++) {
            let keeps = (((*kept)[row] >> j) & 1u) != 0u;
            let place = select(behind, before, keeps);
            if (keeps || (kMovesRest && j < there)) {
                if (items) {
                    for (var word = 0u; word < kItemWords; word++) {
                        sh_moved[place * kItemWords + word] = item_word((*vectors)[row], j, word);
                    }
                } else {
                    sh_moved[place] = i * kItemsPerVector + j;
                }
            }
            before += select(0u, 1u, keeps);
            behind += select(1u, 0u, keeps);
        }
    }
}

// Of `total` kept items behind `before` others, how many there is room for.
fn room_for(before: u32, total: u32) -> u32 { return min(total, kCapacity - min(before, kCapacity)); }

// before: items kept in the tiles before; all_kept: in all tiles, where the rest goes behind them.
fn store_moved_items(tile: Tile, lane: Lane, before: u32, total: u32, all_kept: u32) {
//#if kWriteItems
    let words = room_for(before, total) * kItemWords;
    for (var i = lane.number; i < words; i += kWorkgroupSize) {
        items_out[before * kItemWords + i] = sh_moved[i];
    }
//#endif
//#if LW_REJECTED || (kRestAfter && kWriteItems)
    let rest = tile.number * kTileItems - before;
    let rest_words = (tile.items - total) * kItemWords;
    for (var i = lane.number; i < rest_words; i += kWorkgroupSize) {
        let word = sh_moved[total * kItemWords + i];
//#if LW_REJECTED
        rejected[rest * kItemWords + i] = word;
//#else
        items_out[(all_kept + rest) * kItemWords + i] = word;
//#endif
    }
//#endif
}

//#if LW_VALUES

// Word i of the values of the items whose places begin at `from_place` in sh_moved.
fn moved_value_word(tile: Tile, from_place: u32, i: u32) -> u32 {
    let item = tile.number * kTileItems + sh_moved[from_place + i / kWordsOfValue];
//#if kIndices
    return item;
//#else
    return values[item * kWordsOfValue + i % kWordsOfValue];
//#endif
}

fn store_moved_values(tile: Tile, lane: Lane, before: u32, total: u32, all_kept: u32) {
    let words = room_for(before, total) * kWordsOfValue;
    for (var i = lane.number; i < words; i += kWorkgroupSize) {
        values_out[before * kWordsOfValue + i] = moved_value_word(tile, 0u, i);
    }
//#if kRestAfter
    let rest = all_kept + tile.number * kTileItems - before;
    let rest_words = (tile.items - total) * kWordsOfValue;
    for (var i = lane.number; i < rest_words; i += kWorkgroupSize) {
        values_out[rest * kWordsOfValue + i] = moved_value_word(tile, total, i);
    }
//#endif
}

//#endif

// After move_rows of what is moved first, and a barrier. A barrier must stand before the next move_rows.
fn workgroup_store_rows(tile: Tile, lane: Lane, group: Group, vectors: ptr<function, RowVectors>,
                        kept: ptr<function, RowMasks>, counts: ptr<function, ScanValues>, before: u32,
                        total: u32, all_kept: u32) {
    if (kMovesItems) { store_moved_items(tile, lane, before, total, all_kept); }
//#if LW_VALUES
    if (kMovesItems) {
        workgroupBarrier();
        move_rows(tile, lane, group, vectors, kept, counts, total, false);
        workgroupBarrier();
    }
    store_moved_values(tile, lane, before, total, all_kept);
//#endif
}
