// Purpose: counts samples by bins.
// Passes before: count_to_groups, where the count is in a buffer; histogram_zeros with the strategies
//   two_pass and global. After: none.
// Inputs: input (0), samples in whole 32-bit words. Outputs: counts (1), the output, which with two_pass
//   and global is zero before and is added to. Scratch (2): parameters where the count is in a buffer.
//   State (3), last_workgroup only: a count for each slot, then the number of workgroups that have
//   arrived; zero before and after.
// Needs: nothing.
// Memory order: a workgroup adds its counts to the state before its arrival is counted, and the last one
//   reads them after it was counted: two memory barriers of device scope between, both in
//   workgroup-uniform flow. What workgroups add is added by relaxed atomics.
// Tail: of the last tile the whole 16-byte vectors are read like the others, each by its lane; then the
//   samples of the vector that is cut, a lane for each. Samples that are not there are not counted.
// Source: Podlozhnyuk, "Histogram calculation in CUDA", 2007, for tables in workgroup memory; Gomez-Luna,
//   Gonzalez-Linares, Benavides and Guil, "An optimized approach to histogram computation on GPU", 2013,
//   for several tables whose counters are interleaved.
// What differs in WGSL: it has no memory barrier of device scope, so there is no last_workgroup.
//
//     a tile          | v0 v1 v2 v3 | v0 v1 v2 v3 |      16-byte vectors, each of neighbouring lanes'
//     samples of v0     7 2 7 0 ...                      each to its slot: channel * bins + bin
//     the table       | slot 0  | slot 1  | slot 2  |    a slot has a counter for each of the copies,
//     copies            0 1 2 3   0 1 2 3   0 1 2 3      lane l adds to copy l % copies: neighbours never
//                       \ | | /                          meet in a counter, whatever the samples are
//     slots             sum       sum       sum          of a workgroup, added to those of the others
#version 450

// Prologue: a build or the assembler replaces these.
#ifndef LW_ELEMENT_BITS
#define LW_ELEMENT_BITS 8  // of a sample: 8, 16, 32
#endif
// LW_DEVICE_ADDRESS: buffers by address; else by descriptor.
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;  // a power of two
layout(constant_id = 1) const uint kVectors = 4u;          // of a lane and tile
layout(constant_id = 2) const uint kStrategy = 0u;
layout(constant_id = 3) const uint kCopies = 8u;           // of the table; a power of two
layout(constant_id = 4) const uint kChannels = 1u;         // 1 to 4; 3 divide kVectors
layout(constant_id = 5) const uint kBins = 256u;           // of a channel
layout(constant_id = 6) const uint kElementKind = 0u;      // item/names.glsl
// item/bin.glsl
layout(constant_id = 7) const uint kChecked = 0u;      // 0: all values are in the range
layout(constant_id = 8) const uint kFirstPlace = 0u;   // of the range
layout(constant_id = 9) const uint kPlaces = 0u;       // in the range
layout(constant_id = 10) const uint kOrigin = 0u;      // of the range, in units
layout(constant_id = 11) const uint kWidth = 256u;     // of the range, in units; where corrected
layout(constant_id = 12) const uint kMultiplier = 0u;  // 0: a shift alone
layout(constant_id = 13) const uint kShift = 0u;       // with a multiplier from 11 to 63, else below 32
layout(constant_id = 14) const uint kCorrected = 0u;   // 1: the product may be one too large
layout(constant_id = 15) const uint kUnit = 0u;        // of floats: exponent field whose last bit is one unit

// lanewise::HistogramStrategy, in its order.
const uint kOneWorkgroup = 0u;
const uint kLastWorkgroup = 1u;
const uint kGlobal = 3u;

const uint kSlots = kChannels * kBins;

#define LW_BINDINGS 4
#define LW_INPUT_BINDING 0
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(counts, 1, coherent)
LW_BUFFER(scratch, 2, readonly)
LW_BUFFER(state, 3, coherent)

#include "item/bin.glsl"
#include "tile/load.glsl"
#include "tile/share.glsl"

const uint kValuesPerVector = 4u * kValuesPerWord;
const uint kTileItems = kTileVectors * kValuesPerVector / kChannels;

shared uint sh_table[kStrategy == kGlobal ? 1u : kSlots * kCopies];
shared uint sh_arrived;

void count_value(uint value, uint channel, uint copy) {
    if (is_in_range(value)) {
        uint slot = channel * kBins + bin_of_value(value);
        if (kStrategy == kGlobal) {
            atomicAdd(LW_WORD(counts, slot), 1u);
        } else {
            atomicAdd(sh_table[slot * kCopies + copy], 1u);
        }
    }
}

// Vector i of a tile.
void count_vector(uvec4 vector, uint i, uint copy) {
    // Vectors, and tiles, begin with channel 0 but for three channels, which divide no vector.
    uint channel = kChannels == 3u ? i * kValuesPerVector % 3u : 0u;
    [[unroll]] for (uint word = 0u; word < 4u; ++word) {
        [[unroll]] for (uint j = 0u; j < kValuesPerWord; ++j) {
            count_value(value_of_word(vector[word], j), channel, copy);
            channel = channel + 1u == kChannels ? 0u : channel + 1u;
        }
    }
}

// With `all` false only the first `whole` vectors of the tile are there.
void count_tile(uint tile, uint lane, uint copy, const bool all, uint whole) {
    Place place = tile_place(tile);
    uvec4 vectors[kVectors];
    // All loads are issued before the first is used.
    [[unroll]] for (uint k = 0u; k < kVectors; ++k) {
        uint i = k * kWorkgroupSize + lane;
        if (all || i < whole) vectors[k] = load_vector(place, i);
    }
    [[unroll]] for (uint k = 0u; k < kVectors; ++k) {
        uint i = k * kWorkgroupSize + lane;
        if (all || i < whole) count_vector(vectors[k], i, copy);
    }
}

// The vector that the end of the input cuts, of which `values` are there.
void count_cut_vector(uint tile, uint lane, uint copy, uint i, uint values) {
    Place place = tile_place(tile);
    for (uint j = lane; j < values; j += kWorkgroupSize) {
        uint word = load_word(place, 4u * i + j / kValuesPerWord);
        uint channel = (i * kValuesPerVector + j) % kChannels;
        count_value(value_of_word(word, j % kValuesPerWord), channel, copy);
    }
}

// A lane's slots: the sums of their copies to where they belong.
void add_table(uint lane, bool alone) {
    for (uint slot = lane; slot < kSlots; slot += kWorkgroupSize) {
        uint total = 0u;
        // Neighbours begin with different copies, which lie in different banks.
        [[unroll]] for (uint copy = 0u; copy < kCopies; ++copy) {
            total += sh_table[slot * kCopies + (copy + lane) % kCopies];
        }
        if (alone) {
            LW_WORD(counts, slot) = total;
        } else if (total != 0u) {
            if (kStrategy == kLastWorkgroup) {
                atomicAdd(LW_WORD(state, slot), total);
            } else {
                atomicAdd(LW_WORD(counts, slot), total);
            }
        }
    }
}

// Counts the workgroup as arrived; the last one moves the counts of all from the state to the output.
void workgroup_move_if_last(uint lane, uint groups) {
    memoryBarrierBuffer();
    barrier();
    if (lane == 0u) sh_arrived = atomicAdd(LW_WORD(state, kSlots), 1u);
    barrier();
    if (sh_arrived == groups - 1u) {
        memoryBarrierBuffer();
        for (uint slot = lane; slot < kSlots; slot += kWorkgroupSize) {
            LW_WORD(counts, slot) = LW_WORD(state, slot);
            LW_WORD(state, slot) = 0u;
        }
        if (lane == 0u) LW_WORD(state, kSlots) = 0u;
    }
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint copy = lane % kCopies;
    if (kStrategy != kGlobal) {
        for (uint i = lane; i < kSlots * kCopies; i += kWorkgroupSize) sh_table[i] = 0u;
        barrier();
    }
    Share share = read_share();
    Part part = part_of_group(share, group_number(), kTileItems);
    for (uint tile = part.first; tile < part.end; ++tile) count_tile(tile, lane, copy, true, 0u);
    if (part.cut != 0u) {
        uint values = part.cut * kChannels;
        uint whole = values / kValuesPerVector;
        count_tile(part.end, lane, copy, false, whole);
        count_cut_vector(part.end, lane, copy, whole, values % kValuesPerVector);
    }
    if (kStrategy != kGlobal) {
        barrier();
        bool alone = kStrategy == kOneWorkgroup || (kStrategy == kLastWorkgroup && share.groups == 1u);
        add_table(lane, alone);
        if (kStrategy == kLastWorkgroup && !alone) workgroup_move_if_last(lane, share.groups);
    }
}
