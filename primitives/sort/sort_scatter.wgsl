// Purpose: one digit of the sort: keys, and values with them, go where sort_offsets says.
// Passes before: sort_offsets. After: sort_counts of the digit above; sort_pack for narrow keys.
// Inputs: keys_in (0), values_in (3), scratch (2): the table of offsets (sort_counts.comp). Outputs:
//   keys_out (1), values_out (4); none of the inputs.
// Needs: subgroup form: the feature subgroups.
// Memory order: none of its own.
// Tail: keys that are not there have no rank and are not written.
// Source: as sort_counts.comp.
// What differs: nothing but the spelling. sort_scatter.comp draws the offsets.

//#if LW_FORM_SUBGROUP && LW_ENABLE
enable subgroups;
//#endif
//#if LW_SUBGROUP_SIZE
enable subgroup_size_control;
//#endif

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;      // 2: keys of 64 bits
const LW_VALUES = 0u;         // 1: values besides keys
const LW_RECORDS_STORE = 1u;  // 1: records are stored by bins
const LW_LOOK_BACK = 0u;      // 1: tiles look back at others
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;    // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;  // the size that the pass requires; 0: none
const LW_ENABLE = 1u;         // 0: the language has no `enable subgroups`
const kWorkgroupSize = 256u;  // id 0; a power of two
const kItems = 8u;            // id 1; of a lane and tile
const kDigitBits = 8u;        // id 2; of this digit; 0 to 8
const kShift = 0u;            // id 3; the first bit of this digit
const kTableOffset = 64u;     // id 4; in scratch, words
const kBallotWords = 4u;      // id 7; that hold the lanes of a subgroup
const kRankSlots = 1u;        // id 8; subgroups that have counters of their own
const kRankOverlay = 1u;      // id 9; 1: counters share words with what moves
const kKeyKind = 0u;          // id 10; item/names.wgsl
const kKeyBits = 32u;         // id 11; 8, 16, 32, 64
const kDescending = 0u;       // id 12; 1: from the largest key to the smallest
const kSourceBits = 32u;      // id 13; of a key in keys_in
const kImageIn = 1u;          // id 14; 0: keys_in has images
const kImageOut = 1u;         // id 15; 0: keys_out takes images
const kValueWords = 1u;       // id 16; 1 to 4
const kIndices = 0u;          // id 17; 1: values are the numbers of the items
const kWriteKeys = 1u;        // id 18; 0: only values are wanted
const kMostCount = 4294967295u;  // id 26; of the items, the first so many; ~0: all
// End of the prologue.

const kBins = 1u << kDigitBits;

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> keys_out: array<u32>;
@group(0) @binding(2) var<storage, read> scratch: array<u32>;
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

fn workgroup_counted(vlane: u32, totals: ptr<function, Bins>) {}

fn run(number: Lane, group: Group) {
    let lane = workgroup_rank_lane(number, group);
    let share = read_first_share(kMostCount, kTileItems);
    let end = min((group.number + 1u) * share.tiles_per_group, share.tiles);
    var offsets: Bins;
    for (var j = 0u; j < kBinsPerLane; j++) {
        let bin = lane.vlane * kBinsPerLane + j;
        if (bin < kBins && group.number < share.groups) {
            offsets[j] = scratch[kTableOffset + bin * share.groups + group.number];
        }
    }
    for (var tile = group.number * share.tiles_per_group; tile < end; tile++) {
        let first = tile * kTileItems;
        let items = min(kTileItems, share.count.x - first);
        var keys = load_keys(lane, first, items);
        var ranks: Ranks;
        var starts: Bins;
        var totals: Bins;
        workgroup_rank(lane, group, &keys, items, kShift, kDigitBits, &ranks, &starts, &totals);
        if (kRankOverlay != 0u) { workgroupBarrier(); }
        move_lows(&keys, &ranks, items);
//#if LW_VALUES
        var values = load_values(lane, first, &ranks, items, 0u);
//#endif
        for (var j = 0u; j < kBinsPerLane; j++) {
            let bin = lane.vlane * kBinsPerLane + j;
            if (bin < kBins) { store_base(bin, offsets[j] - starts[j]); }
            offsets[j] += totals[j];
        }
        workgroupBarrier();
        var places: Ranks;
        workgroup_store_keys(lane.vlane, &keys, &ranks, items, kShift, kDigitBits, &places);
//#if LW_VALUES
        workgroup_store_values(lane, first, &ranks, items, &places, &values);
//#endif
        workgroupBarrier();
    }
}
