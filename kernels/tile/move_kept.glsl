// The items of a tile that are kept, and where asked for the others, moved together through workgroup
// memory and stored, so that neighbouring lanes write neighbouring words.
//
//     items       a b c d e f g h       kept: b c g
//     counts      0 0 1 2 2 2 2 3       kept items before each, in the tile
//     sh_moved    b c g | a d e f h     kept ones first, the rest behind; barrier
//     output      . . b c g             from where those of all tiles before end
//     rest        a d e f h             in another buffer, or in the output behind all that are kept
//
// Of values, which may be long, their places go through sh_moved: each word is read where it lies and
// written where it belongs.
//
// The kernel defines before: LW_VALUES, LW_REJECTED or not; buffers items_out, values, values_out, rejected
// (tile/memory.glsl); kWriteItems, kRestAfter, kIndices (constants, 0 or 1), kWordsOfValue, kCapacity
// (constants); what tile/kept.glsl asks for.
#ifndef LW_TILE_MOVE_KEPT_GLSL
#define LW_TILE_MOVE_KEPT_GLSL

#include "item/accumulator.glsl"
#include "tile/kept.glsl"

#ifdef LW_REJECTED
const bool kMovesItems = true;
const bool kMovesRest = true;
#else
const bool kMovesItems = kWriteItems != 0u;
const bool kMovesRest = kRestAfter != 0u;
#endif

shared uint sh_moved[kTileItems * (kMovesItems ? kItemWords : 1u)];

// The rows of a lane, and which of their items are kept.
void load_rows(Tile tile, uint vlane, out Vector vectors[kScanRows]) {
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) vectors[row] = vector_of_zeros();
    if (kItemsDecide || kMovesItems) load_tile(tile, vlane, false, vectors);
}

void judge_rows(Tile tile, uint vlane, Vector vectors[kScanRows], out uint kept[kScanRows],
                out Accumulator counts[kScanRows]) {
    judge_tile(tile, vlane, false, vectors, kept);
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        counts[row].value = uint(bitCount(kept[row]));
    }
}

// counts: of the tile before each vector; total: of the tile. With `items` the items, else their places
// in the tile.
void move_rows(Tile tile, uint vlane, Vector vectors[kScanRows], uint kept[kScanRows],
               Accumulator counts[kScanRows], uint total, const bool items) {
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = vector_of_row(row, vlane, false);
        uint there = items_there(tile, i);
        uint before = counts[row].value;
        uint behind = total + i * kItemsPerVector - before;
        [[unroll]] for (uint j = 0u; j < kItemsPerVector; ++j) {
            bool keeps = (kept[row] >> j & 1u) != 0u;
            uint place = keeps ? before : behind;
            if (keeps || (kMovesRest && j < there)) {
                if (items) {
                    [[unroll]] for (uint word = 0u; word < kItemWords; ++word) {
                        sh_moved[place * kItemWords + word] = item_word(vectors[row], j, word);
                    }
                } else {
                    sh_moved[place] = i * kItemsPerVector + j;
                }
            }
            before += keeps ? 1u : 0u;
            behind += keeps ? 0u : 1u;
        }
    }
}

// Of `total` kept items behind `before` others, how many there is room for.
uint room_for(uint before, uint total) { return min(total, kCapacity - min(before, kCapacity)); }

// before: items kept in the tiles before; all: in all tiles, where the rest goes behind them.
void store_moved_items(Tile tile, uint vlane, uint before, uint total, uint all) {
    if (kWriteItems != 0u) {
        uint words = room_for(before, total) * kItemWords;
        for (uint i = vlane; i < words; i += kWorkgroupSize) {
            LW_WORD(items_out, before * kItemWords + i) = sh_moved[i];
        }
    }
    if (kMovesRest) {
        uint rest = tile.number * kTileItems - before;
        uint words = (tile.items - total) * kItemWords;
        for (uint i = vlane; i < words; i += kWorkgroupSize) {
            uint word = sh_moved[total * kItemWords + i];
#ifdef LW_REJECTED
            LW_WORD(rejected, rest * kItemWords + i) = word;
#else
            if (kWriteItems != 0u) LW_WORD(items_out, (all + rest) * kItemWords + i) = word;
#endif
        }
    }
}

#ifdef LW_VALUES

// Word i of the values of the items whose places begin at `from` in sh_moved.
uint moved_value_word(Tile tile, uint from, uint i) {
    uint item = tile.number * kTileItems + sh_moved[from + i / kWordsOfValue];
    uint word = item;
    if (kIndices == 0u) word = LW_WORD(values, item * kWordsOfValue + i % kWordsOfValue);
    return word;
}

void store_moved_values(Tile tile, uint vlane, uint before, uint total, uint all) {
    uint words = room_for(before, total) * kWordsOfValue;
    for (uint i = vlane; i < words; i += kWorkgroupSize) {
        LW_WORD(values_out, before * kWordsOfValue + i) = moved_value_word(tile, 0u, i);
    }
    if (kRestAfter != 0u) {
        uint rest = all + tile.number * kTileItems - before;
        words = (tile.items - total) * kWordsOfValue;
        for (uint i = vlane; i < words; i += kWorkgroupSize) {
            LW_WORD(values_out, rest * kWordsOfValue + i) = moved_value_word(tile, total, i);
        }
    }
}

#endif

// After move_rows of what is moved first, and a barrier. A barrier must stand before the next move_rows.
void workgroup_store_rows(Tile tile, uint vlane, Vector vectors[kScanRows], uint kept[kScanRows],
                          Accumulator counts[kScanRows], uint before, uint total, uint all) {
    if (kMovesItems) store_moved_items(tile, vlane, before, total, all);
#ifdef LW_VALUES
    if (kMovesItems) {
        barrier();
        move_rows(tile, vlane, vectors, kept, counts, total, false);
        barrier();
    }
    store_moved_values(tile, vlane, before, total, all);
#endif
}

#endif
