// Purpose: the wanted keys, and values with them, in order of their items: first those before the
//   threshold, then of its equals as many as are wanted.
// Passes before: top_k_offsets. After: the passes of a sort.
// Inputs: keys_in (0), values_in (3); scratch (2): the threshold (tile/threshold.wgsl), the offsets of
//   top_k_offsets. Outputs: keys_out (1), images of the wanted keys; values_out (4).
// Needs: subgroup form: the feature subgroups.
// Memory order: none of its own.
// Tail: keys that are not there are not wanted.
// Source: none beyond workgroup/rank_*.wgsl.
// What differs: whether a tile has a wanted key goes through one more word, as compilers must see that it is
//   the same in the whole workgroup. top_k_gather.comp draws the sides.

//#if LW_FORM_SUBGROUP && LW_ENABLE
enable subgroups;
//#endif
//#if LW_SUBGROUP_SIZE
enable subgroup_size_control;
//#endif

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;      // 2: keys of 64 bits
const LW_VALUES = 0u;         // 1: values besides keys
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;    // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;  // the size that the pass requires; 0: none
const LW_ENABLE = 1u;         // 0: the language has no `enable subgroups`
const kWorkgroupSize = 256u;  // id 0; a power of two
const kItems = 8u;            // id 1; of a lane and tile
const kDigitBits = 2u;        // of a side
const kTableOffset = 64u;     // id 4; in scratch, words
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
const kSumsOffset = 128u;     // id 20; in scratch, words
const kMostCount = 1u;        // id 26; k
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
//#include "tile/threshold.wgsl"

// By turns of tiles: one past the last that has a wanted key.
var<workgroup> sh_wanted: array<atomic<u32>, 2>;
var<workgroup> sh_last: u32;  // what that is for this tile
// Keys of a tile on each side.
var<workgroup> sh_sides: array<u32, kBins>;

fn workgroup_counted(vlane: u32, totals: ptr<function, Bins>) {
    for (var j = 0u; j < kBinsPerLane; j++) {
        let bin = vlane * kBinsPerLane + j;
        if (bin < kBins) { sh_sides[bin] = (*totals)[j]; }
    }
}

fn store_wanted(place: u32, i: u32, image: Key) {
//#if LW_KEY_WORDS == 2
    keys_out[2u * place] = image.low;
    keys_out[2u * place + 1u] = image.high;
//#else
    keys_out[place] = image.low;
//#endif
//#if LW_VALUES
    for (var word = 0u; word < kValueWords; word++) {
//#if kIndices
        values_out[place * kValueWords + word] = i;
//#else
        values_out[place * kValueWords + word] = values_in[i * kValueWords + word];
//#endif
    }
//#endif
}

fn run(number: Lane, group: Group) {
    let lane = workgroup_rank_lane(number, group);
    let share = read_share();
    let threshold = load_threshold();
    let first_equal = min(share.count.x, kMostCount) - threshold.wanted;
    var before = scratch[kSumsOffset + 2u * group.number];
    var equal = scratch[kSumsOffset + 2u * group.number + 1u];
    if (lane.vlane < 2u) { atomicStore(&sh_wanted[lane.vlane], 0u); }
    workgroupBarrier();
    let end = min((group.number + 1u) * share.tiles_per_group, share.tiles);
    for (var tile = group.number * share.tiles_per_group; tile < end; tile++) {
        let first = tile * kTileItems;
        let items = min(kTileItems, share.count.x - first);
        var keys: Keys;
        var sides: Keys;
        var wanted = false;
        for (var k = 0u; k < kItems; k++) {
            let place = tile_place(lane, k);
            sides[k] = key_of_zeros();
            sides[k].low = 2u;
            if (place < items) {
                keys[k] = load_key(first + place);
                sides[k].low = side_of(keys[k], threshold.key);
                wanted = wanted || sides[k].low == 0u || (sides[k].low == 1u && equal < threshold.wanted);
            }
        }
        // A later tile has a larger number, so that nothing is cleared between them.
        if (wanted) { atomicMax(&sh_wanted[tile & 1u], tile + 1u); }
        workgroupBarrier();
        if (lane.vlane == 0u) { sh_last = atomicLoad(&sh_wanted[tile & 1u]); }
        let last = workgroupUniformLoad(&sh_last);
        if (last == tile + 1u) {
            var ranks: Ranks;
            var starts: Bins;
            var totals: Bins;
            workgroup_rank(lane, group, &sides, items, 0u, kDigitBits, &ranks, &starts, &totals);
            workgroupBarrier();
            let befores = sh_sides[0];
            let equals = sh_sides[1];
            for (var k = 0u; k < kItems; k++) {
                let i = first + tile_place(lane, k);
                if (ranks[k] < befores) {
                    store_wanted(before + ranks[k], i, keys[k]);
                } else if (ranks[k] < befores + equals) {
                    let number_of_equal = equal + (ranks[k] - befores);
                    if (number_of_equal < threshold.wanted) {
                        store_wanted(first_equal + number_of_equal, i, keys[k]);
                    }
                }
            }
            before += befores;
            equal += equals;
            workgroupBarrier();
        }
    }
}
