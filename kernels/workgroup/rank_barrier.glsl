// Ranks: the place of each key of a tile when the tile is sorted, stably, by one digit; without
// subgroup operations, for digits of up to 4 bits.
//
//     RankLane workgroup_rank_lane()
//     uint     tile_place(RankLane lane, uint k)     where item k of a lane stands in the tile
//     void     workgroup_rank(RankLane lane, Key keys[kItems], uint items, uint shift, uint bits,
//                             out uint ranks[kItems], out uint starts[kBinsPerLane],
//                             out uint totals[kBinsPerLane])
//
// All lanes call them, in uniform flow. Keys at places from `items` on are not there; their ranks are
// ~0. A bin is one value of the digit; a lane has bins vlane * kBinsPerLane + j, where there are so many:
// what the tile has of each, and the rank of the first. As soon as totals are known, the kernel's
// function workgroup_counted(vlane, totals) gets them. A barrier must stand between two calls, and
// between this and other uses of sh_words. Control barriers: 8.
//
//     places      0 1 2 3 4 5 ...            a lane's keys are a workgroup apart, as they are loaded
//     digits      through sh_words to runs:  lane 0 has those of places 0 .. items - 1, and so on
//     counters    a column for each lane, a row for each two bins (16 bits each), so that nobody waits:
//
//                   lane   0   1   2   3       a key's rank in its lane: what its counter had
//                   b, B   1,0 0,2 1,1 ...
//
//     offsets     all counters in the order of bins, then lanes; the high halves follow all low ones
//     ranks       offset + rank in the lane; through sh_words back to the places
//
// Source: Harris, Sengupta and Owens, "Parallel Prefix Sum (Scan) with CUDA", GPU Gems 3, 2007, for
// counters of lanes that are scanned; the rest is our own.
//
// The kernel defines before: kWorkgroupSize, kItems, kBins (constants; at most 32 items, 16 bins,
// 65535 items of a tile); item/key.glsl's; workgroup_counted.
#ifndef LW_WORKGROUP_RANK_BARRIER_GLSL
#define LW_WORKGROUP_RANK_BARRIER_GLSL

#include "item/key.glsl"
#include "workgroup/offsets_barrier.glsl"

const uint kTileItems = kWorkgroupSize * kItems;
const uint kBinsPerLane = kBins > kWorkgroupSize ? kBins / kWorkgroupSize : 1u;
const uint kRankRows = kBins > 1u ? kBins / 2u : 1u;
// A word more for each 32: lanes that read their rows of neighbouring words meet in no bank.
const uint kRankWords = kRankRows * kWorkgroupSize + kRankRows * kWorkgroupSize / 32u;
const uint kSharedWords = kTileItems > kRankWords ? kTileItems : kRankWords;

// Ranks and then what else the kernel moves between lanes.
shared uint sh_words[kSharedWords];

struct RankLane {
    uint vlane;
};

void workgroup_counted(uint vlane, uint totals[kBinsPerLane]);

RankLane workgroup_rank_lane() { return RankLane(gl_LocalInvocationIndex); }

uint tile_place(RankLane lane, uint k) { return k * kWorkgroupSize + lane.vlane; }

uint rank_word(uint i) { return i + i / 32u; }

// Of a bin: the word of a lane's counter, and which half of it.
uint counter_of(uint bin, uint vlane) {
    return rank_word((bin & (kRankRows - 1u)) * kWorkgroupSize + vlane);
}
uint half_of(uint bin) { return bin >= kRankRows ? 16u : 0u; }

void workgroup_rank(RankLane lane, Key keys[kItems], uint items, uint shift, uint bits,
                    out uint ranks[kItems], out uint starts[kBinsPerLane],
                    out uint totals[kBinsPerLane]) {
    uint vlane = lane.vlane;
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        sh_words[tile_place(lane, k)] = digit_of(keys[k], shift, bits);
    }
    barrier();
    uint run = vlane * kItems;
    uint digits[kItems];
    [[unroll]] for (uint k = 0u; k < kItems; ++k) digits[k] = sh_words[run + k];
    barrier();
    for (uint row = 0u; row < kRankRows; ++row) {
        sh_words[rank_word(row * kWorkgroupSize + vlane)] = 0u;
    }
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        if (run + k < items) {
            uint word = counter_of(digits[k], vlane);
            uint counters = sh_words[word];
            ranks[k] = bitfieldExtract(counters, int(half_of(digits[k])), 16);
            sh_words[word] = counters + (1u << half_of(digits[k]));
        }
    }
    barrier();
    uint sum = 0u;
    for (uint row = 0u; row < kRankRows; ++row) sum += sh_words[rank_word(vlane * kRankRows + row)];
    uint total;
    uint before = workgroup_offset(sum, vlane, total);
    before += total << 16;
    for (uint row = 0u; row < kRankRows; ++row) {
        uint word = rank_word(vlane * kRankRows + row);
        uint counters = sh_words[word];
        sh_words[word] = before;
        before += counters;
    }
    barrier();
    [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
        uint bin = vlane * kBinsPerLane + j;
        starts[j] = 0u;
        totals[j] = 0u;
        if (bin < kBins) {
            uint next = bin + 1u;
            starts[j] = bitfieldExtract(sh_words[counter_of(bin, 0u)], int(half_of(bin)), 16);
            uint end = next < kBins
                ? bitfieldExtract(sh_words[counter_of(next, 0u)], int(half_of(next)), 16)
                : items;
            totals[j] = end - starts[j];
        }
    }
    workgroup_counted(vlane, totals);
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        if (run + k < items) {
            uint counters = sh_words[counter_of(digits[k], vlane)];
            ranks[k] += bitfieldExtract(counters, int(half_of(digits[k])), 16);
        }
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        if (run + k < items) sh_words[run + k] = ranks[k];
    }
    barrier();
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        uint place = tile_place(lane, k);
        ranks[k] = place < items ? sh_words[place] : ~0u;
    }
}

#endif
