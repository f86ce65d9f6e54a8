// What the passes of a sort by look-back share in scratch, and looking back bin by bin: decoupled look-back
// (tile/look_back.glsl) with a word for each bin of a tile.
//
//   from kTableOffset     tickets, one for each digit | bases, kRowWords for each digit | rows
//   rows                  two sets of kMostTiles rows of kRowWords, which digits use by turns
//   a word of a row       | flag, 2 bits | value, 30 |    nothing -> the tile's own count (kFlagSum) ->
//                                                         what all up to it have (kFlagPrefix)
//
// The flag travels with the value in one relaxed atomic word. sort_histograms clears the tickets and the
// rows of the first digit; each digit clears those of the next.
//
// The kernel defines before: a buffer named scratch (tile/memory.glsl); kTableOffset, kRowWords, kMostTiles,
// and what publishes kSilentTile (constants).
#ifndef LW_TILE_DIGIT_TABLE_GLSL
#define LW_TILE_DIGIT_TABLE_GLSL

const uint kTickets = 64u;  // words; most digits: 64 bits, one bit each

const uint kFlagEmpty = 0u;
const uint kFlagSum = 1u;
const uint kFlagPrefix = 2u;

uint base_word(uint digit, uint bin) { return kTableOffset + kTickets + digit * kRowWords + bin; }

#ifdef LW_ROWS

uint row_word(uint set, uint tile, uint bin) {
    return kTableOffset + kTickets + (kDigits + set * kMostTiles + tile) * kRowWords + bin;
}

void clear_row(uint set, uint tile, uint lane) {
    for (uint bin = lane; bin < kRowWords; bin += kWorkgroupSize) {
        atomicStore(LW_WORD(scratch, row_word(set, tile, bin)), 0u, gl_ScopeDevice,
                    gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}

#endif
#ifdef LW_LOOK_BACK

void publish(uint tile, uint bin, uint flag, uint value) {
    if (tile != kSilentTile) {
        atomicStore(LW_WORD(scratch, row_word(kDigit & 1u, tile, bin)), flag << 30 | value,
                    gl_ScopeDevice, gl_StorageSemanticsNone, gl_SemanticsRelaxed);
    }
}

uint look_at(uint tile, uint bin) {
    return atomicLoad(LW_WORD(scratch, row_word(kDigit & 1u, tile, bin)), gl_ScopeDevice,
                      gl_StorageSemanticsNone, gl_SemanticsRelaxed);
}
uint flag_of(uint word) { return word >> 30; }
uint value_of(uint word) { return word & 0x3fffffffu; }

#endif
#endif
