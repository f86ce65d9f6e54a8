// What the passes of a sort by look-back share in scratch, and looking back bin by bin: the twin of
// digit_table.glsl, which draws the table.
//
// What differs: nothing but the spelling. Atomics of WGSL are relaxed; nothing here needs more.
//
// The kernel defines before: LW_ROWS (rows are cleared), LW_LOOK_BACK (and looked at); with either a
// buffer named scratch, of atomic<u32> (tile/memory.wgsl); kTableOffset, kRowWords, kMostTiles, kDigits,
// and what publishes kDigit, kSilentTile (constants).

const kTickets = 64u;  // words; most digits: 64 bits, one bit each

const kFlagEmpty = 0u;
const kFlagSum = 1u;
const kFlagPrefix = 2u;

fn base_word(digit: u32, bin: u32) -> u32 { return kTableOffset + kTickets + digit * kRowWords + bin; }

//#if LW_ROWS

fn row_word(rows: u32, tile: u32, bin: u32) -> u32 {
    return kTableOffset + kTickets + (kDigits + rows * kMostTiles + tile) * kRowWords + bin;
}

fn clear_row(rows: u32, tile: u32, lane: u32) {
    for (var bin = lane; bin < kRowWords; bin += kWorkgroupSize) {
        atomicStore(&scratch[row_word(rows, tile, bin)], 0u);
    }
}

//#endif
//#if LW_LOOK_BACK

fn publish(tile: u32, bin: u32, flag: u32, value: u32) {
    if (tile != kSilentTile) {
        atomicStore(&scratch[row_word(kDigit & 1u, tile, bin)], (flag << 30u) | value);
    }
}

fn look_at(tile: u32, bin: u32) -> u32 { return atomicLoad(&scratch[row_word(kDigit & 1u, tile, bin)]); }
fn flag_of(word: u32) -> u32 { return word >> 30u; }
fn value_of(word: u32) -> u32 { return word & 0x3fffffffu; }

//#endif
