// Purpose: the whole sort of what one workgroup can hold, in one pass.
// Passes before: count_to_groups, where the count is in a buffer. After: none.
// Inputs: keys_in (0), values_in (3). Outputs: keys_out (1), values_out (4); none of the inputs.
// Needs: subgroup form: the feature subgroups.
// Memory order: none of its own.
// Tail: keys that are not there have no rank and are not written.
// Source: none beyond workgroup/rank_*.wgsl.
// What differs: scratch (2) is not there, as the count is always in the parameters.

//#if LW_FORM_SUBGROUP && LW_ENABLE
enable subgroups;
//#endif
//#if LW_SUBGROUP_SIZE
enable subgroup_size_control;
//#endif

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;      // 2: keys of 64 bits
const LW_VALUES = 0u;         // 1: values besides keys
const LW_RECORDS_STORE = 0u;  // 1: records are stored by bins
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;    // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;  // the size that the pass requires; 0: none
const LW_ENABLE = 1u;         // 0: the language has no `enable subgroups`
const kWorkgroupSize = 256u;  // id 0; a power of two
const kItems = 8u;            // id 1; of a lane and tile
const kDigitBits = 8u;        // id 2; of a digit; the last may have fewer
const kShift = 0u;            // id 3; the first bit of the first digit
const kBallotWords = 4u;      // id 7; that hold the lanes of a subgroup
const kRankSlots = 1u;        // id 8; subgroups that have counters of their own
const kRankOverlay = 1u;      // id 9; 1: counters share words with what moves
const kKeyKind = 0u;          // id 10; item/names.wgsl
const kKeyBits = 32u;         // id 11; 8, 16, 32, 64
const kDescending = 0u;       // id 12; 1: from the largest key to the smallest
const kSourceBits = 32u;      // id 13; of a key in keys_in
const kImageIn = 1u;          // id 14; always
const kValueWords = 1u;       // id 16; 1 to 4
const kIndices = 0u;          // id 17; 1: values are the numbers of the items
const kWriteKeys = 1u;        // id 18; 0: only values are wanted
const kDigits = 4u;           // id 24; how many digits there are
const kEndBit = 32u;          // id 25; one past the last bit that counts
const kMostCount = 4294967295u;    // id 26; of the items, the first so many; ~0: all
const kMostResults = 4294967295u;  // id 27; of them in order; ~0: all
// End of the prologue.

const kBins = 1u << kDigitBits;

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> keys_out: array<u32>;
//#if LW_VALUES
@group(0) @binding(3) var<storage, read> values_in: array<u32>;
@group(0) @binding(4) var<storage, read_write> values_out: array<u32>;
//#endif

//#include "tile/share.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/rank_subgroup.wgsl"
//#else
//#include "workgroup/rank_barrier.wgsl"
//#endif
//#include "tile/load_key.wgsl"
//#include "tile/records.wgsl"
//#include "tile/store_sorted.wgsl"

fn workgroup_counted(vlane: u32, totals: ptr<function, Bins>) {}

fn run(number: Lane, group: Group) {
    let lane = workgroup_rank_lane(number, group);
    let items = min(read_share().count.x, kMostCount);
    var keys = load_keys(lane, 0u, items);
    var numbers: Ranks;
    for (var k = 0u; k < kItems; k++) { numbers[k] = tile_place(lane, k); }
    var digit = 0u;
    while (digit < kDigits) {  // is not written out
        let shift = kShift + digit * kDigitBits;
        let bits = min(kDigitBits, kEndBit - shift);
        var ranks: Ranks;
        var starts: Bins;
        var totals: Bins;
        workgroup_rank(lane, group, &keys, items, shift, bits, &ranks, &starts, &totals);
        workgroupBarrier();
        move_lows(&keys, &ranks, items);
        workgroupBarrier();
        for (var k = 0u; k < kItems; k++) {
            let place = tile_place(lane, k);
            if (place < items) { keys[k].low = load_shared(place); }
        }
        workgroupBarrier();
//#if LW_KEY_WORDS == 2
        move_highs(&keys, &ranks, items);
        workgroupBarrier();
        for (var k = 0u; k < kItems; k++) {
            let place = tile_place(lane, k);
            if (place < items) { keys[k].high = load_shared(place); }
        }
        workgroupBarrier();
//#endif
//#if LW_VALUES
        for (var k = 0u; k < kItems; k++) {
            if (ranks[k] < items) { store_shared(ranks[k], numbers[k]); }
        }
        workgroupBarrier();
        for (var k = 0u; k < kItems; k++) {
            let place = tile_place(lane, k);
            if (place < items) { numbers[k] = load_shared(place); }
        }
        workgroupBarrier();
//#endif
        digit += 1u;
    }
    var places: Ranks;
    for (var k = 0u; k < kItems; k++) { places[k] = tile_place(lane, k); }
    workgroup_store_sorted(lane.vlane, 0u, &places, &keys, &numbers,
                           min(items, kMostResults));
}
