// Purpose: how many keys with each value of one digit each workgroup's share of the input has.
// Passes before: count_to_groups, where the count is in a buffer; sort_scatter of the digit below. After:
//   sort_offsets.
// Inputs: keys_in (0). Outputs: scratch (1): the table of counts, bin by bin, a word for each workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: keys that are not there are not counted.
// Source: sort_counts.comp names it, and draws the table.
// What differs: nothing but the spelling.

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;      // 2: keys of 64 bits
const kWorkgroupSize = 256u;  // id 0; a power of two
const kItems = 8u;            // id 1; of a lane and tile
const kDigitBits = 8u;        // id 2; of this digit; 0 to 8
const kShift = 0u;            // id 3; the first bit of this digit
const kTableOffset = 64u;     // id 4; in scratch, words
const kKeyKind = 0u;          // id 10; item/names.wgsl
const kKeyBits = 32u;         // id 11; 8, 16, 32, 64
const kDescending = 0u;       // id 12; 1: from the largest key to the smallest
const kSourceBits = 32u;      // id 13; of a key in keys_in
const kImageIn = 1u;          // id 14; 0: keys_in has images
const kMostCount = 4294967295u;  // id 26; of the items, the first so many; ~0: all
// End of the prologue.

const kBins = 1u << kDigitBits;

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> scratch: array<u32>;

//#include "tile/share.wgsl"
//#include "tile/load_key.wgsl"

const kTileItems = kWorkgroupSize * kItems;

var<workgroup> sh_bins: array<atomic<u32>, kBins>;

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) workgroup: vec3<u32>) {
    let group = parameters.first_group + workgroup.x;
    let share = read_first_share(kMostCount, kTileItems);
    for (var bin = lane; bin < kBins; bin += kWorkgroupSize) { atomicStore(&sh_bins[bin], 0u); }
    workgroupBarrier();
    let end = min((group + 1u) * share.tiles_per_group, share.tiles);
    for (var tile = group * share.tiles_per_group; tile < end; tile++) {
        let first = tile * kTileItems;
        let items = min(kTileItems, share.count.x - first);
        for (var k = 0u; k < kItems; k++) {
            let place = k * kWorkgroupSize + lane;
            if (place < items) {
                atomicAdd(&sh_bins[digit_of(load_key(first + place), kShift, kDigitBits)], 1u);
            }
        }
    }
    workgroupBarrier();
    for (var bin = lane; bin < kBins && group < share.groups; bin += kWorkgroupSize) {
        scratch[kTableOffset + bin * share.groups + group] = atomicLoad(&sh_bins[bin]);
    }
}
