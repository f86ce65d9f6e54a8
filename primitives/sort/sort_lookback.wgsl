// Purpose: one digit of the sort in one pass, a tile to each workgroup.
// Passes before: sort_histograms, sort_bases, sort_lookback of the digits below. After: sort_lookback of
//   the digits above; sort_pack for narrow keys.
// Inputs: keys_in (0), values_in (3). Outputs: keys_out (1), values_out (4); none of the inputs.
//   Scratch (2): the table of tile/digit_table.wgsl.
// Needs: subgroup form: the feature subgroups.
// Memory order: none but that of the relaxed atomics of the table, one word at a time. Tiles go by
//   ticket, so that the tiles that a workgroup looks back at are those of workgroups that run or ran.
// Tail: keys that are not there have no rank and are not written.
// Source: sort_lookback.comp names it, and draws the steps.
// What differs: the ticket, and which tile is missing, go through workgroupUniformLoad.

//#if LW_FORM_SUBGROUP && LW_ENABLE
enable subgroups;
//#endif
//#if LW_SUBGROUP_SIZE
enable subgroup_size_control;
//#endif

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;          // 2: keys of 64 bits
const LW_VALUES = 0u;             // 1: values besides keys
const LW_RECORDS_STORE = 1u;      // 1: records are stored by bins
const LW_ROWS = 1u;               // 1: rows of the table are cleared
const LW_LOOK_BACK = 1u;          // 1: and looked at
const LW_FORM_SUBGROUP = 0u;      // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;        // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;      // the size that the pass requires; 0: none
const LW_ENABLE = 1u;             // 0: the language has no `enable subgroups`
const kWorkgroupSize = 256u;      // id 0; a power of two
const kItems = 8u;                // id 1; of a lane and tile
const kDigitBits = 8u;            // id 2; of this digit; 0 to 8
const kShift = 0u;                // id 3; the first bit of this digit
const kTableOffset = 64u;         // id 4; in scratch, words
const kBallotWords = 4u;          // id 7; that hold the lanes of a subgroup
const kRankSlots = 1u;            // id 8; subgroups that have counters of their own
const kRankOverlay = 1u;          // id 9; 1: counters share words with what moves
const kKeyKind = 0u;              // id 10; item/names.wgsl
const kKeyBits = 32u;             // id 11; 8, 16, 32, 64
const kDescending = 0u;           // id 12; 1: from the largest key to the smallest
const kSourceBits = 32u;          // id 13; of a key in keys_in
const kImageIn = 1u;              // id 14; 0: keys_in has images
const kImageOut = 1u;             // id 15; 0: keys_out takes images
const kValueWords = 1u;           // id 16; 1 to 4
const kIndices = 0u;              // id 17; 1: values are the numbers of the items
const kWriteKeys = 1u;            // id 18; 0: only values are wanted
const kDigit = 0u;                // id 19; the number of this digit
const kRowWords = 256u;           // id 20; of the table, for each tile
const kMostTiles = 1u;            // id 21; that the table has room for
const kPatience = 4096u;          // id 22; looks at an empty tile
const kSilentTile = 4294967295u;  // id 23; of a test: publishes nothing
const kDigits = 4u;               // id 24; how many digits there are
// End of the prologue.

const kBins = 1u << kDigitBits;

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> keys_out: array<u32>;
@group(0) @binding(2) var<storage, read_write> scratch: array<atomic<u32>>;
//#if LW_VALUES
@group(0) @binding(3) var<storage, read> values_in: array<u32>;
@group(0) @binding(4) var<storage, read_write> values_out: array<u32>;
//#endif

//#include "tile/share.wgsl"
//#include "tile/digit_table.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/rank_subgroup.wgsl"
//#else
//#include "workgroup/rank_barrier.wgsl"
//#endif
//#include "tile/load_key.wgsl"
//#include "tile/records.wgsl"

var<workgroup> sh_ticket: u32;           // and then what sh_missing came to
var<workgroup> sh_missing: atomic<u32>;  // one past the last tile that somebody waits for in vain

// Tiles that a lane looks at in one go.
//#if LW_VALUES
const kWindow = 8u;
//#else
const kWindow = 4u;
//#endif

fn workgroup_counted(vlane: u32, totals: ptr<function, Bins>) {
    for (var j = 0u; j < kBinsPerLane; j++) {
        let bin = vlane * kBinsPerLane + j;
        if (bin < kBins) { publish(sh_ticket, bin, kFlagSum, (*totals)[j]); }
    }
}

// What tile `tile` has of each bin, in sh_base, which is not in use yet.
fn workgroup_count_again(tile: u32, vlane: u32) {
    for (var bin = vlane; bin < kBins; bin += kWorkgroupSize) { store_base(bin, 0u); }
    workgroupBarrier();
    let first = tile * kTileItems;
    // From the lane on, that it is not written out.
    for (var place = vlane; place < kTileItems; place += kWorkgroupSize) {
        atomicAdd(&sh_base[digit_of(load_key(first + place), kShift, kDigitBits)], 1u);
    }
    workgroupBarrier();
}

// Adds what all tiles before tile `ticket` have of the lane's bins.
fn workgroup_look_back(ticket: u32, vlane: u32, before: ptr<function, Bins>) {
    var next: Bins;
    for (var j = 0u; j < kBinsPerLane; j++) {
        next[j] = select(0u, ticket, vlane * kBinsPerLane + j < kBins);
    }
    loop {
        var missing = 0u;
        for (var j = 0u; j < kBinsPerLane; j++) {
            var looks = 0u;
            while (next[j] != 0u && looks < kPatience) {
                var words: array<u32, kWindow>;
                for (var i = 0u; i < kWindow; i++) {
                    words[i] = look_at(max(next[j], i + 1u) - i - 1u, vlane * kBinsPerLane + j);
                }
                let begin = next[j];
                var open = true;
                for (var i = 0u; i < kWindow; i++) {
                    let flag = flag_of(words[i]);
                    open = open && next[j] != 0u && flag != kFlagEmpty;
                    if (open) {
                        (*before)[j] += value_of(words[i]);
                        next[j] = select(next[j] - 1u, 0u, flag == kFlagPrefix);
                    }
                }
                looks = select(0u, looks + 1u, next[j] == begin);
            }
            missing = max(missing, next[j]);
        }
        if (missing != 0u) { atomicMax(&sh_missing, missing); }
        workgroupBarrier();
        if (vlane == 0u) { sh_ticket = atomicLoad(&sh_missing); }
        let tile = workgroupUniformLoad(&sh_ticket);
        if (tile == 0u) { break; }
        workgroup_count_again(tile - 1u, vlane);
        for (var j = 0u; j < kBinsPerLane; j++) {
            if (next[j] == tile) {
                (*before)[j] += load_base(vlane * kBinsPerLane + j);
                next[j] = tile - 1u;
            }
        }
        if (vlane == 0u) { atomicStore(&sh_missing, 0u); }
        workgroupBarrier();
    }
}

fn run(number: Lane, group: Group) {
    let lane = workgroup_rank_lane(number, group);
    let share = read_share();
    if (lane.vlane == 0u) {
        sh_ticket = atomicAdd(&scratch[kTableOffset + kDigit], 1u);
        atomicStore(&sh_missing, 0u);
    }
    let ticket = workgroupUniformLoad(&sh_ticket);
    if (ticket < share.tiles) {
        clear_row((kDigit + 1u) & 1u, ticket, lane.vlane);
        let first = ticket * kTileItems;
        let items = min(kTileItems, share.count.x - first);
        var keys = load_keys(lane, first, items);
        // Early, so that nothing waits for them in the end.
        var bases: Bins;
        for (var j = 0u; j < kBinsPerLane; j++) {
            let bin = lane.vlane * kBinsPerLane + j;
            if (bin < kBins) { bases[j] = atomicLoad(&scratch[base_word(kDigit, bin)]); }
        }
        var ranks: Ranks;
        var starts: Bins;
        var totals: Bins;
        workgroup_rank(lane, group, &keys, items, kShift, kDigitBits, &ranks, &starts, &totals);
        if (kRankOverlay != 0u) { workgroupBarrier(); }
        move_lows(&keys, &ranks, items);
//#if LW_VALUES
        var values = load_values(lane, first, &ranks, items, 0u);
//#endif
        var before: Bins;
        workgroup_look_back(ticket, lane.vlane, &before);
        for (var j = 0u; j < kBinsPerLane; j++) {
            let bin = lane.vlane * kBinsPerLane + j;
            if (bin < kBins) {
                publish(ticket, bin, kFlagPrefix, before[j] + totals[j]);
                store_base(bin, bases[j] + before[j] - starts[j]);
            }
        }
        workgroupBarrier();
        var places: Ranks;
        workgroup_store_keys(lane.vlane, &keys, &ranks, items, kShift, kDigitBits, &places);
//#if LW_VALUES
        workgroup_store_values(lane, first, &ranks, items, &places, &values);
//#endif
    }
}
