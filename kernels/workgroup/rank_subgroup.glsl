// Ranks by ballots. Same contract as rank_barrier.glsl, but for the places: a subgroup has a run of the
// tile, in which a lane's keys are a subgroup apart; digits have up to 8 bits. Control barriers: 4, one more for
// each subgroup where they take turns.
//
//     S = 4, kItems = 2     subgroup 0      subgroup 1
//     places                0 1 2 3         8 9 a b        item 0 of each lane
//                           4 5 6 7         c d e f        item 1
//
//     ranks      each subgroup has a counter for each bin, in workgroup memory; item by item the lanes
//                whose digit is mine (a ballot for each bit of it),
//
//                  digit       3 1 3 0
//                  mask of 3   1 0 1 0       rank in the subgroup: the counter + the lanes below in the
//                                            mask, of which the lowest moves the counter on
//
//     offsets    barrier; a lane of each bin: the bin's total; barrier; then where each subgroup's keys of
//                the bin begin, in the place of its counter; barrier; each key adds that of its bin
//
// Between the reading of a counter and its writing stands a barrier of the subgroup, which costs nothing
// where subgroups run in step. One atomic in the place of both was measured to be slower, and an early
// count of all keys, so that totals can be published before the ranks, slower still (H200, docs/performance.md).
//
// Where there are more subgroups than counters have room for (kRankSlots: they may be smaller than
// usual, or partial), they share one set of counters and take turns.
//
// Needs GL_KHR_shader_subgroup_basic, _ballot and _shuffle. The kernel defines before: what rank_barrier.glsl
// (256 bins at most) and subgroup/size.glsl ask for; kBallotWords, kRankSlots, kRankOverlay (1: counters and
// sh_words' other uses share their words) (constants); LW_FORM_SUBGROUP.
#ifndef LW_WORKGROUP_RANK_SUBGROUP_GLSL
#define LW_WORKGROUP_RANK_SUBGROUP_GLSL

#include "item/key.glsl"
#include "subgroup/ballot.glsl"
#include "subgroup/size.glsl"
#include "subgroup/vlane.glsl"
#include "workgroup/offsets_subgroup.glsl"

const uint kTileItems = kWorkgroupSize * kItems;
const uint kBinsPerLane = kBins > kWorkgroupSize ? kBins / kWorkgroupSize : 1u;
const uint kRankBegin = kRankOverlay != 0u ? 0u : kTileItems;
const uint kRankEnd = kRankBegin + kRankSlots * kBins;
const uint kSharedWords = kTileItems > kRankEnd ? kTileItems : kRankEnd;

// From here on whole tiles have code of their own: a ballot less for each key, 2% of a sort of pairs (H200).
const uint kItemsToSplit = 8u;

// Counters; and what else the kernel moves between lanes.
shared uint sh_words[kSharedWords];

struct RankLane {
    uint vlane;
    uint first;  // virtual lane with which its subgroup begins
    uint rank;
    uint population;
};

void workgroup_counted(uint vlane, uint totals[kBinsPerLane]);

RankLane workgroup_rank_lane() {
    VirtualLane vlane = workgroup_vlane();
    return RankLane(vlane.number, vlane.number - vlane.rank, vlane.rank, vlane.population);
}

uint tile_place(RankLane lane, uint k) {
    return lane.first * kItems + k * lane.population + lane.rank;
}

uint subgroups_of_rank() {
    // No division by zero, although it would be in vain: compilers fold constants.
    const uint size = kSubgroupSize != 0u ? kSubgroupSize : 1u;
    return kFullSubgroups != 0u && kSubgroupSize != 0u ? kWorkgroupSize / size : gl_NumSubgroups;
}

// The lanes of `mask` with the same digit.
uvec4 subgroup_match(uint digit, uvec4 mask, uint bits) {
    [[unroll]] for (uint bit = 0u; bit < bits; ++bit) {
        bool set = (digit >> bit & 1u) != 0u;
        mask &= subgroupBallot(set) ^ uvec4(set ? 0u : ~0u);
    }
    [[unroll]] for (uint word = 1u; word < 4u; ++word) {
        if (word >= kBallotWords) mask[word] = 0u;
    }
    return mask;
}

// Ranks of the subgroup's keys among its own. whole: all of the tile is there.
void subgroup_rank(RankLane lane, Key keys[kItems], uint items, uint shift, uint bits, uint counters,
                   const bool whole, inout uint ranks[kItems]) {
    uvec4 running = subgroupBallot(true);
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        bool there = whole || tile_place(lane, k) < items;
        uint digit = digit_of(keys[k], shift, bits);
        uvec4 all = running;
        if (!whole) all = subgroupBallot(there);
        uvec4 mask = subgroup_match(digit, all, bits);
        uint below = ballot_count_below(mask, gl_SubgroupInvocationID);
        uint counter = sh_words[counters + digit];
        subgroupBarrier();
        if (there && below == 0u) sh_words[counters + digit] = counter + ballot_count(mask);
        subgroupBarrier();
        ranks[k] = there ? counter + below : ~0u;
    }
}

void workgroup_rank(RankLane lane, Key keys[kItems], uint items, uint shift, uint bits,
                    out uint ranks[kItems], out uint starts[kBinsPerLane],
                    out uint totals[kBinsPerLane]) {
    uint vlane = lane.vlane;
    uint subgroups = subgroups_of_rank();
    bool in_turns = subgroups > kRankSlots;
    uint counters = kRankBegin + (in_turns ? 0u : gl_SubgroupID * kBins);
    for (uint i = vlane; i < kRankSlots * kBins; i += kWorkgroupSize) sh_words[kRankBegin + i] = 0u;
    barrier();
    for (uint turn = 0u; turn < (in_turns ? subgroups : 1u); ++turn) {
        if (!in_turns || turn == gl_SubgroupID) {
            if (kItems >= kItemsToSplit && items == kTileItems) {
                subgroup_rank(lane, keys, items, shift, bits, counters, true, ranks);
            } else {
                subgroup_rank(lane, keys, items, shift, bits, counters, false, ranks);
            }
        }
        barrier();
    }
    uint slots = in_turns ? 1u : subgroups;
    uint sum = 0u;
    [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
        uint bin = vlane * kBinsPerLane + j;
        totals[j] = 0u;
        if (bin < kBins) {
            [[unroll]] for (uint slot = 0u; slot < slots; ++slot) {
                totals[j] += sh_words[kRankBegin + slot * kBins + bin];
            }
        }
        sum += totals[j];
    }
    workgroup_counted(vlane, totals);
    uint total;
    uint before = workgroup_offset(sum, vlane, total);
    [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
        uint bin = vlane * kBinsPerLane + j;
        starts[j] = before;
        if (bin < kBins) {
            uint offset = before;
            [[unroll]] for (uint slot = 0u; slot < slots; ++slot) {
                uint i = kRankBegin + slot * kBins + bin;
                uint count = sh_words[i];
                sh_words[i] = offset;
                offset += count;
            }
        }
        before += totals[j];
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        if (ranks[k] != ~0u) ranks[k] += sh_words[counters + digit_of(keys[k], shift, bits)];
    }
}

#endif
