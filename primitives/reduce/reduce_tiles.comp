// Purpose: combines the input into one value per workgroup, and depending on the strategy these
//   into the result.
// Passes before: count_to_groups, where the count is in a buffer. After: reduce_partials with the
//   strategy two_pass, otherwise none.
// Inputs: input (0), elements in whole 32-bit words. Outputs: output (1), the result
//   (item/result.glsl), unless two_pass. Scratch (2): parameters where the count is in a buffer;
//   one partial per workgroup unless one_workgroup. State (3), last_workgroup only: word 0 counts
//   the workgroups that have arrived; zero before and after.
// Needs: subgroup form: basic and shuffle operations; with a custom operator ballot, too. With f64 in its
//   name: shaderFloat64. With atomic64 in its name: shaderInt64, shaderBufferInt64Atomics. Nothing else:
//   64-bit integers are pairs of words, narrow elements parts of words.
// Memory order: a workgroup's partial is written before its arrival is counted, and the last one
//   reads all partials after it was counted: two memory barriers of device scope between, both in
//   workgroup-uniform flow (inside non-uniform flow lavapipe 22.3 takes them for control barriers).
//   arrival_sum needs none: the one atomic holds both, and its order is the same for all.
// Tail: of the last tile the whole 16-byte vectors are read like the others, each by its lane; the
//   lane whose vector is cut reads words up to the last that holds an element. Lanes without an
//   item hold no value: the number of lanes that do goes with them, and no identity is ever made.
// Source: none for the tree; that the last workgroup finishes is known from the sample
//   threadFenceReduction of the CUDA toolkit.
// What differs in WGSL: it has no memory barrier of device scope and no 64-bit atomics, so there is
//   neither last_workgroup nor arrival_sum.
//
//     input       | tile 0        | tile 1        | tile 2        | til|   some tiles a workgroup
//     vectors       0 1 2 3 0 1 2 3                                        the lane that loads each
//     a lane        x y z w            its x words combine apart from its y words, and so on ...
//                    \ | | /
//     its value        v               ... and in the end with each other
//     workgroup     v0 v1 v2 v3        one value of each lane: workgroup/reduce_*.glsl
//                     \ | | /
//     partials      p0 p1 p2 ...       one value of each workgroup, in scratch
//                    \ | /
//     output       result
//
// The order of combination depends on the count, the workgroup size, the vectors and the tiles per
// workgroup: not on the form, the subgroup size, or which workgroup is last. The operator must be
// associative and commutative.
#version 450

// Prologue: a build or the assembler replaces these.
#ifndef LW_ELEMENT_BITS
#define LW_ELEMENT_BITS 32  // 8, 16, 32, 64
#endif
#ifndef LW_ACCUMULATOR_BITS
#define LW_ACCUMULATOR_BITS 32  // 32, 64
#endif
#ifndef LW_ACCUMULATOR_FLOAT64
#define LW_ACCUMULATOR_FLOAT64 0  // 1: 64-bit floating-point arithmetic
#endif
#ifndef LW_INDEX_BITS
#define LW_INDEX_BITS 0  // 32 or 64: argmin and argmax
#endif
// LW_CUSTOM: a caller's types and operator (item/custom.glsl); else stock ones.
// LW_FORM_SUBGROUP: subgroup operations; else barriers alone.
// LW_DEVICE_ADDRESS: buffers by address; else by descriptor.
// LW_ATOMIC64: the strategy arrival_sum, for sums of integers in 32 bits; else the others.
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_FORM_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#ifdef LW_CUSTOM
#extension GL_KHR_shader_subgroup_ballot : require
#endif
#endif
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif
#ifdef LW_ATOMIC64
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_EXT_shader_atomic_int64 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;  // a power of two
layout(constant_id = 1) const uint kVectors = 4u;          // of a lane and tile; a power of two
layout(constant_id = 2) const uint kOperator = 0u;         // item/names.glsl
layout(constant_id = 3) const uint kElementKind = 0u;      // item/names.glsl
// Constant 4, element_bits, is LW_ELEMENT_BITS here.
layout(constant_id = 5) const uint kStrategy = 0u;
layout(constant_id = 6) const uint kPartialsOffset = 64u;  // words of scratch before the partials
layout(constant_id = 7) const uint kSubgroupSize = 0u;     // 0: read in the shader
layout(constant_id = 8) const uint kFullSubgroups = 0u;    // 1: promised by the API
const uint kElementBits = LW_ELEMENT_BITS;

// lanewise::ReduceStrategy, in its order.
const uint kOneWorkgroup = 0u;
const uint kLastWorkgroup = 1u;
const uint kTwoPass = 2u;

#define LW_BINDINGS 4
#define LW_INPUT_BINDING 0
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(result, 1, writeonly)
LW_BUFFER(scratch, 2, coherent)
#ifndef LW_ATOMIC64
LW_BUFFER(state, 3, coherent)
#elif defined(LW_DEVICE_ADDRESS)
layout(buffer_reference, std430, buffer_reference_align = 8) coherent buffer state_longs {
    uint64_t at[];
};
#define LW_STATE_LONG state_longs(parameters.addresses[3]).at[0]
#else
layout(set = 0, binding = 3, std430) coherent buffer state_longs_block { uint64_t at[]; } state_longs;
#define LW_STATE_LONG state_longs.at[0]
#endif

#include "item/accumulator.glsl"
#include "item/element.glsl"
#include "item/result.glsl"
#include "subgroup/lane_number.glsl"
#include "tile/load.glsl"
#include "tile/partials.glsl"
#include "tile/share.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/reduce_subgroup.glsl"
#else
#include "workgroup/reduce_barrier.glsl"
#endif

shared uint sh_arrived;

#ifdef LW_FORM_SUBGROUP

// So many partials can one subgroup combine in the tree that the workgroup would use: eight in each
// of its lanes, but no more than the workgroup has lanes.
uint most_partials_of_subgroup() {
    return subgroups_are_full() ? min(kWorkgroupSize, kReduceRadix * subgroup_size()) : 0u;
}

// The first subgroup calls it; valid in lane 0.
Accumulator subgroup_combine_partials(uint groups, uint vlane) {
    uint first = vlane * kReduceRadix;
    Accumulator values[kReduceRadix];
    [[unroll]] for (uint i = 0u; i < kReduceRadix; ++i) {
        values[i] = load_partial(min(first + i, groups - 1u));
    }
    Accumulator total = combine_neighbours(values, first, groups);
    return subgroup_reduce(total, vlane, divide_up(groups, kReduceRadix), subgroup_size());
}

#endif

#ifdef LW_CUSTOM

const uint kReverse = 0u;
#define kScanRows kVectors
uint scan_place(uint row, uint vlane) { return row * kWorkgroupSize + vlane; }
#include "tile/sum_tiles.glsl"

// As below. Accumulators know themselves whether they hold anything.
Accumulator workgroup_combine_part(Part part, Share share, uint vlane, out bool any) {
    any = true;
    return workgroup_sum_tiles(share, part.first, part.end + (part.cut != 0u ? 1u : 0u), vlane);
}

#else

const uint kTileItems = kTileVectors * kItemsPerVector;

uvec2 index_of_lane(uint tile, uint vlane) {
    return add64(multiply32(tile, kTileItems), uvec2(vlane * kItemsPerVector, 0u));
}

// Combines a tile into a lane's streams; `holds` says whether they hold values before. With
// `all` false only the first `whole` vectors of the tile are there.
void add_tile(inout Accumulator streams[LW_STREAMS], bool holds, uint tile, uint vlane,
              const bool all, uint whole) {
    Place place = tile_place(tile);
    uvec4 vectors[kVectors];
    // All loads are issued before the first is used.
    [[unroll]] for (uint k = 0u; k < kVectors; ++k) {
        uint i = k * kWorkgroupSize + vlane;
        if (all || i < whole) vectors[k] = load_vector(place, i);
    }
    if (all || vlane < whole) {
        uvec2 base = index_of_lane(tile, vlane);
        [[unroll]] for (uint stream = 0u; stream < LW_STREAMS; ++stream) {
            uint position = stream * kItemsPerStream;
            Accumulator sum;
            [[unroll]] for (uint k = 0u; k < kVectors; ++k) {
                if (all || k * kWorkgroupSize + vlane < whole) {
                    Accumulator more = stream_accumulator(vectors[k], stream, position);
                    if (k != 0u) more = combine_in_order(sum, more);
                    sum = more;
                }
                position += kWorkgroupSize * kItemsPerVector;
            }
            sum = accumulator_moved(sum, base);
            if (holds) sum = combine_in_order(streams[stream], sum);
            streams[stream] = sum;
        }
    }
}

// The vector that the end of the input cuts, its `items` items.
void add_cut_vector(inout Accumulator total, bool holds, uint tile, uint i, uint items) {
    Place place = tile_place(tile);
    uvec4 vector = uvec4(0u);
    [[unroll]] for (uint word = 0u; word < 4u; ++word) {
        if (word * 32u < items * LW_ELEMENT_BITS) vector[word] = load_word(place, 4u * i + word);
    }
    uvec2 base = add64(multiply32(tile, kTileItems), uvec2(i * kItemsPerVector, 0u));
    for (uint position = 0u; position < items; ++position) {
        Accumulator item = item_accumulator(vector, position / kItemsPerStream,
                                            position % kItemsPerStream, position);
        item = accumulator_moved(item, base);
        if (holds) item = combine(total, item);
        total = item;
        holds = true;
    }
}

// What a workgroup's part combines to, in lane 0, and whether it holds an item.
Accumulator workgroup_combine_part(Part part, Share share, uint vlane, out bool any) {
    Accumulator streams[LW_STREAMS];
    for (uint tile = part.first; tile < part.end; ++tile) {
        add_tile(streams, tile != part.first, tile, vlane, true, 0u);
    }
    bool has_tile = part.first < part.end;
    uint whole = part.cut / kItemsPerVector;
    if (whole != 0u) add_tile(streams, has_tile, part.end, vlane, false, whole);

    // Lanes from here on hold nothing.
    uint lanes = has_tile ? kWorkgroupSize
                          : min(kWorkgroupSize, divide_up(part.cut, kItemsPerVector));
    bool holds = has_tile || vlane < whole;
    Accumulator total = streams[0];
    if (holds) {
#if LW_STREAMS == 4
        total = combine(combine(streams[0], streams[1]), combine(streams[2], streams[3]));
#else
        total = combine(streams[0], streams[1]);
#endif
    }
    uint cut = part.cut % kItemsPerVector;
    if (cut != 0u && vlane == whole % kWorkgroupSize) {
        add_cut_vector(total, holds, part.end, whole, cut);
    }
    any = lanes != 0u;
    return workgroup_reduce(total, vlane, lanes);
}

#endif

#ifdef LW_ATOMIC64

// Lane 0 calls it: adds the workgroup's sum and its arrival to the state in one atomic. True in the
// last workgroup, which has the sum of all in `total` and leaves the state zero.
//
//     state    | arrivals | sum |       the sum wraps off the end, the arrivals never reach it
//              word 0     word 1
bool add_arrival(inout Accumulator total, uint groups) {
    uvec2 before = unpackUint2x32(atomicAdd(LW_STATE_LONG, packUint2x32(uvec2(1u, total.value))));
    total.value += before.y;
    bool last = before.x == groups - 1u;
    if (last) LW_STATE_LONG = uint64_t(0);
    return last;
}

#else

// Counts the workgroup as arrived. In the last one lane 0 gets true, and in `total` all partials.
bool workgroup_combine_if_last(inout Accumulator total, uint vlane, uint groups) {
    bool last;
    uint arrived = 0u;
    if (vlane == 0u) arrived = atomicAdd(LW_WORD(state, 0), 1u);
#ifdef LW_FORM_SUBGROUP
    if (groups <= most_partials_of_subgroup()) {
        // The first subgroup is enough: no barrier of the workgroup, and the others are done. The
        // subgroup's barrier carries to its lanes what lane 0 may see after its memory barrier.
        memoryBarrierBuffer();
        subgroupBarrier();
        arrived = subgroupShuffle(arrived, 0u);
        last = gl_SubgroupID == 0u && arrived == groups - 1u;
        if (last) total = subgroup_combine_partials(groups, vlane);
    } else
#endif
    {
        if (vlane == 0u) sh_arrived = arrived;
        barrier();
        last = sh_arrived == groups - 1u;
        if (last) {
            memoryBarrierBuffer();
            total = gather_partials(groups, vlane);
            total = workgroup_reduce(total, vlane, lanes_with_partials(groups));
        }
    }
    return last;
}

#endif

void write_result(Accumulator total, bool any) {
    uint words[LW_RESULT_WORDS] = words_of_result(total, any);
    [[unroll]] for (uint i = 0u; i < LW_RESULT_WORDS; ++i) LW_WORD(result, i) = words[i];
}

void main() {
    uint vlane = lane_number();
    Share share = read_share();
    uint group = group_number();
    bool any;
    Accumulator total = workgroup_combine_part(part_of_group(share, group, kTileItems), share, vlane,
                                               any);

#ifdef LW_ATOMIC64
    if (vlane == 0u && (share.groups == 1u || add_arrival(total, share.groups))) {
        write_result(total, any);
    }
#else
    if (kStrategy == kTwoPass) {
        if (vlane == 0u) store_partial(group, total);
    } else if (kStrategy == kOneWorkgroup || share.groups == 1u) {
        if (vlane == 0u) write_result(total, any);
    } else {
        if (vlane == 0u) store_partial(group, total);
        memoryBarrierBuffer();
        if (workgroup_combine_if_last(total, vlane, share.groups) && vlane == 0u) {
            write_result(total, true);
            LW_WORD(state, 0) = 0u;
        }
    }
#endif
}
