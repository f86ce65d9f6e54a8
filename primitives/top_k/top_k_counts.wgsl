// Purpose: of the keys that may still be the k-th, how many have each value of the next digit.
// Passes before: count_to_groups, where the count is in a buffer; top_k_digit of the digit above. After:
//   top_k_digit.
// Inputs: keys_in (0); scratch (1): what top_k_digit found (tile/threshold.wgsl). Outputs: state (2), the
//   bins, which are zero before and are added to.
// Needs: nothing.
// Memory order: none; bins are relaxed atomics.
// Tail: keys that are not there are not counted.
// Source: top_k_counts.comp names it, and draws an image.
// What differs: nothing but the spelling.

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;      // 2: keys of 64 bits
const kWorkgroupSize = 256u;  // id 0; a power of two
const kItems = 8u;            // id 1; of a lane and tile
const kDigitBits = 8u;        // id 2; of this digit; 1 to 11
const kShift = 24u;           // id 3; the first bit of this digit
const kTableOffset = 64u;     // id 4; in scratch, words
const kKeyKind = 0u;          // id 10; item/names.wgsl
const kKeyBits = 32u;         // id 11; 8, 16, 32, 64
const kDescending = 0u;       // id 12; 1: from the largest key to the smallest
const kSourceBits = 32u;      // id 13; of a key in keys_in
const kImageIn = 1u;          // id 14; always
// End of the prologue.

const kBins = 1u << kDigitBits;

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read> scratch: array<u32>;
@group(0) @binding(2) var<storage, read_write> state: array<atomic<u32>>;

//#include "tile/share.wgsl"
//#include "tile/load_key.wgsl"
//#include "tile/threshold.wgsl"

const kTileItems = kWorkgroupSize * kItems;

var<workgroup> sh_bins: array<atomic<u32>, kBins>;

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) workgroup: vec3<u32>) {
    let group = parameters.first_group + workgroup.x;
    let share = read_share();
    let first_digit = kShift + kDigitBits == kKeyBits;
    var prefix = key_of_zeros();
    if (!first_digit) { prefix = load_threshold().key; }
    for (var bin = lane; bin < kBins; bin += kWorkgroupSize) { atomicStore(&sh_bins[bin], 0u); }
    workgroupBarrier();
    let end = min((group + 1u) * share.tiles_per_group, share.tiles);
    for (var tile = group * share.tiles_per_group; tile < end; tile++) {
        let first = tile * kTileItems;
        let items = min(kTileItems, share.count.x - first);
        for (var k = 0u; k < kItems; k++) {
            let place = k * kWorkgroupSize + lane;
            if (place < items) {
                let image = load_key(first + place);
                if (first_digit || same_above(image, prefix, kShift + kDigitBits)) {
                    atomicAdd(&sh_bins[digit_of(image, kShift, kDigitBits)], 1u);
                }
            }
        }
    }
    workgroupBarrier();
    for (var bin = lane; bin < kBins; bin += kWorkgroupSize) {
        let count = atomicLoad(&sh_bins[bin]);
        if (count != 0u) { atomicAdd(&state[bin], count); }
    }
}
