// Purpose: how many keys have each value of each digit, in the whole input.
// Passes before: count_to_groups, where the count is in a buffer. After: sort_bases.
// Inputs: keys_in (0). Outputs: state (2), the bins of all digits, which are zero before and are added to.
//   Scratch (1): the table of tile/digit_table.wgsl, of which this clears tickets and the first digit's
//   rows.
// Needs: nothing.
// Memory order: none; bins are relaxed atomics.
// Tail: keys that are not there are not counted.
// Source: sort_histograms.comp names it.
// What differs: nothing but the spelling.

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;      // 2: keys of 64 bits
const LW_ROWS = 1u;           // 1: rows of the table are cleared
const LW_LOOK_BACK = 0u;      // 1: and looked at
const kWorkgroupSize = 256u;  // id 0; a power of two
const kItems = 8u;            // id 1; of a lane and tile
const kDigitBits = 8u;        // id 2; of a digit; the last may have fewer
const kShift = 0u;            // id 3; the first bit of the first digit
const kTableOffset = 64u;     // id 4; in scratch, words
const kKeyKind = 0u;          // id 10; item/names.wgsl
const kKeyBits = 32u;         // id 11; 8, 16, 32, 64
const kDescending = 0u;       // id 12; 1: from the largest key to the smallest
const kSourceBits = 32u;      // id 13; of a key in keys_in
const kImageIn = 1u;          // id 14; always
const kRowWords = 256u;       // id 20; of the table, for each tile
const kMostTiles = 1u;        // id 21; that the table has room for
const kDigits = 4u;           // id 24; how many digits there are
const kEndBit = 32u;          // id 25; one past the last bit that counts
// End of the prologue.

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> scratch: array<atomic<u32>>;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;

//#include "tile/share.wgsl"
//#include "tile/digit_table.wgsl"
//#include "tile/load_key.wgsl"

const kTileItems = kWorkgroupSize * kItems;
// Workgroups that count: enough to fill a device, and few enough that adding to the bins is cheap.
const kCounters = 1024u;

var<workgroup> sh_bins: array<atomic<u32>, kDigits * kRowWords>;

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) workgroup: vec3<u32>) {
    let group = parameters.first_group + workgroup.x;
    let share = read_share();
    for (var i = lane; group == 0u && i < kTickets; i += kWorkgroupSize) {
        atomicStore(&scratch[kTableOffset + i], 0u);
    }
    if (group < share.tiles) { clear_row(0u, group, lane); }
    if (group < kCounters) {
        for (var i = lane; i < kDigits * kRowWords; i += kWorkgroupSize) { atomicStore(&sh_bins[i], 0u); }
        workgroupBarrier();
        let step = min(share.groups, kCounters);
        for (var tile = group; tile < share.tiles; tile += step) {
            let first = tile * kTileItems;
            let items = min(kTileItems, share.count.x - first);
            for (var k = 0u; k < kItems; k++) {
                let place = k * kWorkgroupSize + lane;
                if (place < items) {
                    let key = load_key(first + place);
                    for (var digit = 0u; digit < kDigits; digit++) {
                        let shift = kShift + digit * kDigitBits;
                        let bin = digit_of(key, shift, min(kDigitBits, kEndBit - shift));
                        atomicAdd(&sh_bins[digit * kRowWords + bin], 1u);
                    }
                }
            }
        }
        workgroupBarrier();
        for (var i = lane; i < kDigits * kRowWords; i += kWorkgroupSize) {
            let count = atomicLoad(&sh_bins[i]);
            if (count != 0u) { atomicAdd(&state[i], count); }
        }
    }
}
