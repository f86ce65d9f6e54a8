// Purpose: the whole sort of what one workgroup can hold, in one pass, by comparisons.
// Passes before: count_to_groups, where the count is in a buffer. After: none.
// Inputs: keys_in (0), values_in (3). Outputs: keys_out (1), values_out (4); none of the inputs.
// Needs: subgroup form: the feature subgroups.
// Memory order: none of its own.
// Tail: records that are not there have all bits of the image set and the numbers behind the items', so
//   that they come out last; they are neither read nor written.
// Source: Batcher, "Sorting Networks and Their Applications", 1968.
// What differs: scratch (2) is not there, as the count is always in the parameters.

//#if LW_FORM_SUBGROUP && LW_ENABLE
enable subgroups;
//#endif
//#if LW_SUBGROUP_SIZE
enable subgroup_size_control;
//#endif

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;        // 2: keys of 64 bits
const LW_VALUES = 0u;           // 1: values besides keys
const LW_FORM_SUBGROUP = 0u;    // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;      // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;    // the size that the pass requires; 0: none
const LW_ENABLE = 1u;           // 0: the language has no `enable subgroups`
const kWorkgroupSize = 256u;    // id 0; a power of two
const kItems = 8u;              // id 1; of a lane; a power of two, 2 to 32
const kKeyKind = 0u;            // id 10; item/names.wgsl
const kKeyBits = 32u;           // id 11; 8, 16, 32, 64
const kDescending = 0u;         // id 12; 1: from the largest key to the smallest
const kSourceBits = 32u;        // id 13; of a key in keys_in
const kImageIn = 1u;            // id 14; always
const kValueWords = 1u;         // id 16; 1 to 4
const kIndices = 0u;            // id 17; 1: values are the numbers of the items
const kWriteKeys = 1u;          // id 18; 0: only values are wanted
const kMostCount = 4294967295u;    // id 26; of the items, the first so many; ~0: all
const kMostResults = 4294967295u;  // id 27; of them in order; ~0: all
const kNumbers = 1u;            // id 29; 0: of records with equal keys none is told apart
const kLowMask = 4294967295u;   // id 30; bits of an image that count
const kHighMask = 4294967295u;  // id 31; likewise, of its second word
// End of the prologue.

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> keys_out: array<u32>;
//#if LW_VALUES
@group(0) @binding(3) var<storage, read> values_in: array<u32>;
@group(0) @binding(4) var<storage, read_write> values_out: array<u32>;
//#endif

//#include "tile/share.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/bitonic_subgroup.wgsl"
//#else
//#include "workgroup/bitonic_barrier.wgsl"
//#endif
//#include "tile/load_key.wgsl"
//#include "tile/store_sorted.wgsl"

fn run(lane: Lane, group: Group) {
    let vlane = lane.number;
    let items = min(read_share().count.x, kMostCount);
    var keys: Keys;
    var numbers: Ranks;
    var places: Ranks;
    for (var k = 0u; k < kItems; k++) {
        let place = bitonic_place(vlane, k, kLaneBits);
        places[k] = place;
        numbers[k] = place;
        keys[k] = key_of_ones();
        if (place < items) { keys[k] = load_key(place); }
    }
    workgroup_bitonic_sort(lane, group, items, &keys, &numbers);
//#if kWriteKeys && kKeyBits < 32
    workgroupBarrier();
//#endif
    workgroup_store_sorted(vlane, 0u, &places, &keys, &numbers, min(items, kMostResults));
}
