// Purpose: reduces the segments of each workgroup's tiles; of one that began in an earlier workgroup's
//   tiles, what there is of it here.
// Passes before: count_to_groups, where the count is in a buffer. After: segmented_reduce_partials, with the
//   strategy two_pass.
// Inputs: input (0), elements in whole 32-bit words; offsets (3); segment_total (4), where it is in a
//   buffer. Outputs: result (1), one result (item/result.glsl) for each segment. Scratch (2): parameters
//   where the count is in a buffer; for each workgroup two partials, what its tiles combine to from the
//   last begin of a segment on, and of the segment that ends here and began earlier; then for each
//   workgroup that segment's number.
// Needs: subgroup form: basic and shuffle operations; with a custom operator ballot, too. With f64 in its
//   name: shaderFloat64.
// Memory order: none between workgroups. Each result is written by one invocation.
// Tail: items that are not there are the identity (kernels/tile/rows.glsl); segments end at the count.
// Source: Blelloch's segmented scans (kernels/item/segmented.glsl); that work is shared out by items, however
//   long segments are, is as Merrill and Garland, Merge-based parallel sparse matrix-vector
//   multiplication (2016), without its merge path.
// What differs in WGSL: nothing but the spelling.
//
//     tiles           |               |               |               |        of one workgroup
//     segments         aaaaaa bbb ccccccccccccccccccccccccc d e ffffffff...
//     ends                  a   b                         c d e                an item's prefix is the result
//     carried         .               c               c               f        from tile to tile
//
// A prefix in which no segment has begun is of a segment that others have begun: it is a partial. Empty
// segments have no item; each workgroup writes those among its share of all segments.
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
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_memory_scope_semantics : require
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

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;   // a power of two
layout(constant_id = 1) const uint kVectors = 4u;           // of a lane and tile; a power of two
layout(constant_id = 2) const uint kOperator = 0u;          // item/names.glsl
layout(constant_id = 3) const uint kElementKind = 0u;       // item/names.glsl
layout(constant_id = 4) const uint kPartialsOffset = 64u;   // words of scratch before the partials
layout(constant_id = 5) const uint kSubgroupSize = 0u;      // 0: read in the shader
layout(constant_id = 6) const uint kFullSubgroups = 0u;     // 1: promised by the API
layout(constant_id = 7) const uint kIncomingOffset = 64u;   // words of scratch before the segments' numbers
layout(constant_id = 8) const uint kMostSegments = ~0u;     // that result has room for
layout(constant_id = 9) const uint kSegmentsInBuffer = 0u;  // 1: the number of segments
const uint kElementBits = LW_ELEMENT_BITS;
const uint kReverse = 0u;
#define kScanRows kVectors
#define LW_SEGMENTED

#define LW_BINDINGS 5
#define LW_INPUT_BINDING 0
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(result, 1, writeonly)
LW_BUFFER(scratch, 2, coherent)
LW_BUFFER(offsets, 3, readonly)
LW_BUFFER(segment_total, 4, readonly)

#include "item/result.glsl"
#include "tile/partials.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/scan_subgroup.glsl"
#else
#include "workgroup/scan_barrier.glsl"
#endif
#include "tile/segments.glsl"
#include "tile/segment_results.glsl"

shared uint sh_incoming;  // the segment that began before this workgroup's tiles and ends in them

// Of the workgroup's share of all segments.
void store_empty_segments(Share share, uint vlane, uint group, uint segments) {
    uint each = divide_up(segments, share.groups);
    uint first = min(group * each, segments);
    uint end = first + min(each, segments - first);
    for (uint segment = first + vlane; segment < end; segment += kWorkgroupSize) {
        if (offset_at(segment, share.count.x) >= offset_at(segment + 1u, share.count.x)) {
            store_result(segment, accumulator_identity(), false);
        }
    }
}

// The results of the segments that end in the tile. `before` is what the workgroup's tiles before it
// combine to, prefixes what the values of the tile before each row do.
void store_tile_results(Tile tile, uint vlane, uint group, Vector vectors[kScanRows],
                        Accumulator prefixes[kScanRows], Accumulator before) {
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = vector_of_row(row, vlane, false);
        uint ends = ends_of_vector(tile, i);
        if (ends != 0u) {
            uint items = items_of_vector(tile, i);
            uvec2 base = index_of_vector(tile, i);
            uint heads = heads_of_items(tile, i, items);
            Accumulator running = combine(before, prefixes[row]);
            [[unroll]] for (uint item = 0u; item < kItemsPerVector; ++item) {
                running = combine(
                    running, headed(item_or_identity(vectors[row], item, items, base), heads, item));
                uint end = 0u;
                if ((ends >> item & 1u) != 0u) end = sh_ends[end_slot(i * kItemsPerVector + item + 1u)];
                if (end != 0u) {
                    if (group == 0u || begins_segment(running)) {
                        store_result(end - 1u, running, true);
                    } else {
                        sh_incoming = end - 1u;
                        store_partial(2u * group + 1u, running);
                    }
                }
            }
        }
    }
}

void main() {
    uint vlane = lane_number();
    Share share = read_share();
    uint group = group_number();
    uint count = share.count.x;
    uint segments = segment_count();
    store_empty_segments(share, vlane, group, segments);
    uint first = min(group * share.tiles_per_group, share.tiles);
    uint end = first + min(share.tiles_per_group, share.tiles - first);
    uint next = 0u;
    if (segments != 0u) next = first_offset_from(first * kTileItems, 0u, segments, count);
    if (vlane == 0u) sh_incoming = kNoSegment;
    Accumulator before = accumulator_identity();
    uint turn = 0u;
    for (uint t = first; t < end; ++t) {
        Tile tile = tile_in_order(share, t);
        Vector vectors[kScanRows];
        load_tile(tile, vlane, false, vectors);
        if (turn != 0u) barrier();
        workgroup_mark_tile(tile, vlane, segments, count, next);
        Accumulator values[kScanRows];
        sum_rows(tile, vlane, vectors, values);
        Accumulator total = workgroup_scan(values, vlane, turn++);
        store_tile_results(tile, vlane, group, vectors, values, before);
        before = combine(before, total);
    }
    if (share.groups > 1u && first < end) {
        barrier();
        if (vlane == 0u) {
            store_partial(2u * group, before);
            LW_WORD(scratch, kIncomingOffset + group) = sh_incoming;
        }
    }
}
