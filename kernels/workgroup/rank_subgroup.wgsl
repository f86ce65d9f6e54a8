// Ranks by ballots: the twin of rank_subgroup.glsl, which draws the steps. Same contract as
// rank_barrier.wgsl, but for the places; digits have up to 8 bits.
//
// What differs: there is no barrier of a subgroup, so the lowest lane of a mask moves the counter on with an
// atomic, and the others get what it was by shuffle: a subgroup's atomics on its counters stand one behind
// the other, each before the shuffle that all its lanes meet in. Subgroups that wait for their turn rank
// their keys all the same and keep nothing, as subgroup operations stand in uniform flow only. An array is
// of atomics or not: the counters are, and where what lanes move shares their words (kRankOverlay), that goes
// by atomic loads and stores. A ballot is taken for each bit of kDigitBits, known here, as the bits above
// a shorter digit are zeros.
//
// The kernel defines before: what rank_barrier.wgsl (256 bins at most) and subgroup/lane_number.wgsl ask
// for; kBallotWords, kRankSlots, kRankOverlay (1: counters and sh_words' other uses share their words)
// (constants); `enable subgroups`.

//#include "item/key.wgsl"
//#include "subgroup/ballot.wgsl"
//#include "subgroup/vlane.wgsl"
//#include "workgroup/offsets_subgroup.wgsl"

const kTileItems = kWorkgroupSize * kItems;
//#if (1 << kDigitBits) > kWorkgroupSize
const kBinsPerLane = kBins / kWorkgroupSize;
//#else
const kBinsPerLane = 1u;
//#endif
const kCounterWords = kRankSlots * kBins;

// From here on whole tiles have code of their own: a ballot less for each key.
const kItemsToSplit = 8u;

// One alias for all: naga 30 takes two for two types.
alias Keys = array<Key, kItems>;
alias Ranks = array<u32, kItems>;
alias Bins = array<u32, kBinsPerLane>;

// Counters; and what else the kernel moves between lanes.
//#if kRankOverlay
var<workgroup> sh_counters: array<atomic<u32>, max(kTileItems, kCounterWords)>;

fn load_shared(i: u32) -> u32 { return atomicLoad(&sh_counters[i]); }
fn store_shared(i: u32, word: u32) { atomicStore(&sh_counters[i], word); }
//#else
var<workgroup> sh_counters: array<atomic<u32>, kCounterWords>;
var<workgroup> sh_words: array<u32, kTileItems>;

fn load_shared(i: u32) -> u32 { return sh_words[i]; }
fn store_shared(i: u32, word: u32) { sh_words[i] = word; }
//#endif

struct RankLane {
    vlane: u32,
    first: u32,  // virtual lane with which its subgroup begins
    rank: u32,
    population: u32,
    lane: Lane,
}

fn workgroup_rank_lane(lane: Lane, group: Group) -> RankLane {
    let vlane = workgroup_vlane(lane, group);
    return RankLane(vlane.number, vlane.number - vlane.rank, vlane.rank, vlane.population, lane);
}

fn tile_place(lane: RankLane, k: u32) -> u32 {
    return lane.first * kItems + k * lane.population + lane.rank;
}

// The lanes of `lanes` with the same digit.
fn subgroup_match(digit: u32, lanes: vec4<u32>) -> vec4<u32> {
    var mask = lanes;
    for (var bit = 0u; bit < kDigitBits; bit++) {
        let is_set = ((digit >> bit) & 1u) != 0u;
        mask &= subgroupBallot(is_set) ^ vec4<u32>(select(0xffffffffu, 0u, is_set));
    }
//#if kBallotWords == 1
    mask = vec4<u32>(mask.x, 0u, 0u, 0u);
//#elif kBallotWords == 2
    mask = vec4<u32>(mask.xy, 0u, 0u);
//#endif
    return mask;
}

// Ranks of the subgroup's keys among its own. `whole`: all of the tile is there. `mine`: whether it is the
// subgroup's turn; if not, the ranks stay.
fn subgroup_rank(lane: RankLane, keys: ptr<function, Keys>, items: u32, shift: u32, bits: u32,
                 counters: u32, whole: bool, mine: bool, ranks: ptr<function, Ranks>) {
    let own = lane.lane.in_subgroup;
    let running = subgroupBallot(true);
    for (var k = 0u; k < kItems; k++) {
        let there = whole || tile_place(lane, k) < items;
        let digit = digit_of((*keys)[k], shift, bits);
        var lanes = running;
        if (!whole) { lanes = subgroupBallot(there); }
        let mask = subgroup_match(digit, lanes);
        let below = ballot_count_below(mask, own);
        var counter = 0u;
        if (mine && there && below == 0u) {
            counter = atomicAdd(&sh_counters[counters + digit], ballot_count(mask));
        }
        counter = subgroupShuffle(counter, select(own, ballot_first(mask), there));
        if (mine) { (*ranks)[k] = select(0xffffffffu, counter + below, there); }
    }
}

fn workgroup_rank(lane: RankLane, group: Group, keys: ptr<function, Keys>, items: u32, shift: u32,
                  bits: u32, ranks: ptr<function, Ranks>, starts: ptr<function, Bins>,
                  totals: ptr<function, Bins>) {
    let vlane = lane.vlane;
    let in_turns = group.subgroups > kRankSlots;
    let counters = select(lane.lane.subgroup * kBins, 0u, in_turns);
    for (var i = vlane; i < kCounterWords; i += kWorkgroupSize) { atomicStore(&sh_counters[i], 0u); }
    workgroupBarrier();
    let turns = select(1u, group.subgroups, in_turns);
    for (var turn = 0u; turn < turns; turn++) {
        let mine = !in_turns || turn == lane.lane.subgroup;
        if (kItems >= kItemsToSplit && items == kTileItems) {
            subgroup_rank(lane, keys, items, shift, bits, counters, true, mine, ranks);
        } else {
            subgroup_rank(lane, keys, items, shift, bits, counters, false, mine, ranks);
        }
        workgroupBarrier();
    }
    let slots = select(group.subgroups, 1u, in_turns);
    var sum = 0u;
    for (var j = 0u; j < kBinsPerLane; j++) {
        let bin = vlane * kBinsPerLane + j;
        var bin_total = 0u;
        if (bin < kBins) {
            for (var slot = 0u; slot < kRankSlots; slot++) {
                if (slot < slots) { bin_total += atomicLoad(&sh_counters[slot * kBins + bin]); }
            }
        }
        (*totals)[j] = bin_total;
        sum += bin_total;
    }
    workgroup_counted(vlane, totals);
    var total = 0u;
    var before = workgroup_offset(sum, vlane, lane.lane, group, &total);
    for (var j = 0u; j < kBinsPerLane; j++) {
        let bin = vlane * kBinsPerLane + j;
        (*starts)[j] = before;
        if (bin < kBins) {
            var offset = before;
            for (var slot = 0u; slot < kRankSlots; slot++) {
                if (slot < slots) {
                    let count = atomicLoad(&sh_counters[slot * kBins + bin]);
                    atomicStore(&sh_counters[slot * kBins + bin], offset);
                    offset += count;
                }
            }
        }
        before += (*totals)[j];
    }
    workgroupBarrier();
    for (var k = 0u; k < kItems; k++) {
        if ((*ranks)[k] != 0xffffffffu) {
            (*ranks)[k] += atomicLoad(&sh_counters[counters + digit_of((*keys)[k], shift, bits)]);
        }
    }
}
