// Purpose: keys of 8 and 16 bits, which the digits' passes hold as words, into their own form; likewise
//   the items that select has moved.
// Passes before: sort_lookback or sort_scatter of the last digit; those of select. After: none.
// Inputs: keys_in (0), images, a word each. Outputs: keys_out (1), 32 / kKeyBits keys in each word.
//   Where it is counted: count_in (3), how many of the items there are.
// Needs: nothing.
// Memory order: none of its own.
// Tail: the bytes behind the last key in its word are written back as they were.
// Source: none.
// What differs: scratch (2) is not there, as the count is always in the parameters. sort_pack.comp draws
//   the words.

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;      // 2: keys of 64 bits
const LW_COUNTED = 0u;        // 1: the number of keys is in a buffer, or that of the items without them
const kWorkgroupSize = 256u;  // id 0; a power of two
const kItems = 8u;            // id 1; of a lane and tile
const kKeyKind = 0u;          // id 10; item/names.wgsl
const kKeyBits = 32u;         // id 11; 8, 16, 32, 64
const kDescending = 0u;       // id 12; 1: from the largest key to the smallest
const kMostCount = 4294967295u;  // id 26; of the items, the first so many; ~0: all
const kRest = 0u;             // id 27; 1: the items without those counted
// End of the prologue.

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> keys_out: array<u32>;
//#if LW_COUNTED
@group(0) @binding(3) var<storage, read> count_in: array<u32>;
//#endif

//#include "tile/share.wgsl"
//#include "item/key.wgsl"

const kTileItems = kWorkgroupSize * kItems;
const kPerWord = 32u / kKeyBits;

// How many of the items' words are keys, at most; ~0: as many as there are items.
fn most_keys() -> u32 {
//#if LW_COUNTED
    let counted = count_in[0];
    return select(min(kMostCount, counted), read_share().count.x - counted, kRest != 0u);
//#else
    return kMostCount;
//#endif
}

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) workgroup: vec3<u32>) {
    let group = parameters.first_group + workgroup.x;
    let share = read_first_share(most_keys(), kTileItems);
    let end = min((group + 1u) * share.tiles_per_group, share.tiles);
    for (var tile = group * share.tiles_per_group; tile < end; tile++) {
        let first = tile * kTileItems;
        let items = min(kTileItems, share.count.x - first);
        for (var i = lane; i * kPerWord < items; i += kWorkgroupSize) {
            let there = min(kPerWord, items - i * kPerWord);
            let at = first / kPerWord + i;
            var word = 0u;
            if (there < kPerWord) { word = keys_out[at]; }
            for (var j = 0u; j < kPerWord; j++) {
                if (j < there) {
                    let key = key_of_image(Key(keys_in[first + i * kPerWord + j])).low;
                    word = insertBits(word, key, j * kKeyBits, kKeyBits);
                }
            }
            keys_out[at] = word;
        }
    }
}
