// Ranks: the place of each key of a tile when the tile is sorted, stably, by one digit; without
// subgroup operations, for digits of up to 4 bits: the twin of rank_barrier.glsl, which draws the steps.
//
//     fn workgroup_rank_lane(lane: Lane, group: Group) -> RankLane
//     fn tile_place(lane: RankLane, k: u32) -> u32     where item k of a lane stands in the tile
//     fn workgroup_rank(lane: RankLane, group: Group, keys: ptr<function, Keys>, items: u32, shift: u32,
//                       bits: u32, ranks: ptr<function, Ranks>, starts: ptr<function, Bins>,
//                       totals: ptr<function, Bins>)
//     fn load_shared(i: u32) -> u32                    sh_words, of kTileItems words at least, for what
//     fn store_shared(i: u32, word: u32)               else the kernel moves between lanes
//
// All lanes call the first and the third, in uniform flow. Keys at places from `items` on are not there;
// their ranks are ~0. A bin is one value of the digit; a lane has bins vlane * kBinsPerLane + j, where
// there are so many: what the tile has of each, and the rank of the first. As soon as totals are known,
// the kernel's function workgroup_counted(vlane, totals: ptr<function, Bins>) gets them. A barrier must
// stand between two calls, and between this and other uses of sh_words. Control barriers: 8.
//
// What differs: lanes, groups and arrays are parameters.
//
// The kernel defines before: LW_FORM_SUBGROUP; kWorkgroupSize, kItems, kDigitBits, kBins (constants; at
// most 32 items, 16 bins, 65535 items of a tile); item/key.wgsl's; workgroup_counted.

//#include "item/key.wgsl"
//#include "subgroup/lane_number.wgsl"
//#include "workgroup/offsets_barrier.wgsl"

const kTileItems = kWorkgroupSize * kItems;
//#if (1 << kDigitBits) > kWorkgroupSize
const kBinsPerLane = kBins / kWorkgroupSize;
//#else
const kBinsPerLane = 1u;
//#endif
//#if kDigitBits > 0
const kRankRows = kBins / 2u;
//#else
const kRankRows = 1u;
//#endif
// A word more for each 32: lanes that read their rows of neighbouring words meet in no bank.
const kRankWords = kRankRows * kWorkgroupSize + kRankRows * kWorkgroupSize / 32u;
const kSharedWords = max(kTileItems, kRankWords);

// One alias for all: naga 30 takes two for two types.
alias Keys = array<Key, kItems>;
alias Ranks = array<u32, kItems>;
alias Bins = array<u32, kBinsPerLane>;

// Ranks and then what else the kernel moves between lanes.
var<workgroup> sh_words: array<u32, kSharedWords>;

fn load_shared(i: u32) -> u32 { return sh_words[i]; }
fn store_shared(i: u32, word: u32) { sh_words[i] = word; }

struct RankLane {
    vlane: u32,
}

fn workgroup_rank_lane(lane: Lane, group: Group) -> RankLane { return RankLane(lane.number); }

fn tile_place(lane: RankLane, k: u32) -> u32 { return k * kWorkgroupSize + lane.vlane; }

fn rank_word(i: u32) -> u32 { return i + i / 32u; }

// Of a bin: the word of a lane's counter, and which half of it.
fn counter_of(bin: u32, vlane: u32) -> u32 {
    return rank_word((bin & (kRankRows - 1u)) * kWorkgroupSize + vlane);
}
fn half_of(bin: u32) -> u32 { return select(0u, 16u, bin >= kRankRows); }

fn workgroup_rank(lane: RankLane, group: Group, keys: ptr<function, Keys>, items: u32, shift: u32,
                  bits: u32, ranks: ptr<function, Ranks>, starts: ptr<function, Bins>,
                  totals: ptr<function, Bins>) {
    let vlane = lane.vlane;
    for (var k = 0u; k < kItems; k++) {
        sh_words[tile_place(lane, k)] = digit_of((*keys)[k], shift, bits);
    }
    workgroupBarrier();
    let run_begin = vlane * kItems;
    var digits: Ranks;
    for (var k = 0u; k < kItems; k++) { digits[k] = sh_words[run_begin + k]; }
    workgroupBarrier();
    for (var row = 0u; row < kRankRows; row++) {
        sh_words[rank_word(row * kWorkgroupSize + vlane)] = 0u;
    }
    for (var k = 0u; k < kItems; k++) {
        if (run_begin + k < items) {
            let word = counter_of(digits[k], vlane);
            let counters = sh_words[word];
            (*ranks)[k] = extractBits(counters, half_of(digits[k]), 16u);
            sh_words[word] = counters + (1u << half_of(digits[k]));
        }
    }
    workgroupBarrier();
    var sum = 0u;
    for (var row = 0u; row < kRankRows; row++) { sum += sh_words[rank_word(vlane * kRankRows + row)]; }
    var total = 0u;
    var before = workgroup_offset(sum, vlane, &total);
    before += total << 16u;
    for (var row = 0u; row < kRankRows; row++) {
        let word = rank_word(vlane * kRankRows + row);
        let counters = sh_words[word];
        sh_words[word] = before;
        before += counters;
    }
    workgroupBarrier();
    for (var j = 0u; j < kBinsPerLane; j++) {
        let bin = vlane * kBinsPerLane + j;
        (*starts)[j] = 0u;
        (*totals)[j] = 0u;
        if (bin < kBins) {
            let next = bin + 1u;
            let start = extractBits(sh_words[counter_of(bin, 0u)], half_of(bin), 16u);
            var end = items;
            if (next < kBins) { end = extractBits(sh_words[counter_of(next, 0u)], half_of(next), 16u); }
            (*starts)[j] = start;
            (*totals)[j] = end - start;
        }
    }
    workgroup_counted(vlane, totals);
    for (var k = 0u; k < kItems; k++) {
        if (run_begin + k < items) {
            let counters = sh_words[counter_of(digits[k], vlane)];
            (*ranks)[k] += extractBits(counters, half_of(digits[k]), 16u);
        }
    }
    workgroupBarrier();
    for (var k = 0u; k < kItems; k++) {
        if (run_begin + k < items) { sh_words[run_begin + k] = (*ranks)[k]; }
    }
    workgroupBarrier();
    for (var k = 0u; k < kItems; k++) {
        let place = tile_place(lane, k);
        (*ranks)[k] = 0xffffffffu;
        if (place < items) { (*ranks)[k] = sh_words[place]; }
    }
}
