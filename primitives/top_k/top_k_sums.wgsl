// Purpose: how many keys of each workgroup's share are before the threshold, and how many equal it.
// Passes before: top_k_digit of the lowest digit. After: top_k_offsets.
// Inputs: keys_in (0). Inputs and outputs: scratch (1): the threshold (tile/threshold.wgsl) and behind it two
//   words for each workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: keys that are not there are not counted.
// Source: none.
// What differs: nothing but the spelling. top_k_sums.comp draws the sums.

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;      // 2: keys of 64 bits
const kWorkgroupSize = 256u;  // id 0; a power of two
const kItems = 8u;            // id 1; of a lane and tile
const kTableOffset = 64u;     // id 4; in scratch, words
const kKeyKind = 0u;          // id 10; item/names.wgsl
const kKeyBits = 32u;         // id 11; 8, 16, 32, 64
const kDescending = 0u;       // id 12; 1: from the largest key to the smallest
const kSourceBits = 32u;      // id 13; of a key in keys_in
const kImageIn = 1u;          // id 14; always
const kSumsOffset = 128u;     // id 20; in scratch, words
// End of the prologue.

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> scratch: array<u32>;

//#include "tile/share.wgsl"
//#include "tile/load_key.wgsl"
//#include "tile/threshold.wgsl"

const kTileItems = kWorkgroupSize * kItems;

var<workgroup> sh_sums: array<atomic<u32>, 2>;

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) workgroup: vec3<u32>) {
    let group = parameters.first_group + workgroup.x;
    let share = read_share();
    let threshold = load_threshold().key;
    if (lane < 2u) { atomicStore(&sh_sums[lane], 0u); }
    workgroupBarrier();
    var before = 0u;
    var equal = 0u;
    let end = min((group + 1u) * share.tiles_per_group, share.tiles);
    for (var tile = group * share.tiles_per_group; tile < end; tile++) {
        let first = tile * kTileItems;
        let items = min(kTileItems, share.count.x - first);
        for (var k = 0u; k < kItems; k++) {
            let place = k * kWorkgroupSize + lane;
            if (place < items) {
                let side = side_of(load_key(first + place), threshold);
                before += select(0u, 1u, side == 0u);
                equal += select(0u, 1u, side == 1u);
            }
        }
    }
    if (before != 0u) { atomicAdd(&sh_sums[0], before); }
    if (equal != 0u) { atomicAdd(&sh_sums[1], equal); }
    workgroupBarrier();
    if (lane < 2u) { scratch[kSumsOffset + 2u * group + lane] = atomicLoad(&sh_sums[lane]); }
}
