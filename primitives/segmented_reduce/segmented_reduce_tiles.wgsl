// Purpose: reduces the segments of each workgroup's tiles; of one that began in an earlier workgroup's
//   tiles, what there is of it here.
// Passes before: count_to_groups, where the count is in a buffer. After: segmented_reduce_partials, with the
//   strategy two_pass.
// Inputs: input (0), elements in 16-byte vectors; offsets (3); segment_total (4), where it is in a buffer.
//   Outputs: result (1), one result (item/result.wgsl) for each segment. Scratch (2): for each workgroup two
//   partials, what its tiles combine to from the last begin of a segment on, and of the segment that ends
//   here and began earlier; then for each workgroup that segment's number.
// Needs: subgroup form: the feature subgroups.
// Memory order: none between workgroups. Each result is written by one invocation.
// Tail: items that are not there are the identity (kernels/tile/rows.wgsl); segments end at the count.
// Source: Blelloch's segmented scans (kernels/item/segmented.wgsl); that work is shared out by items, however
//   long segments are, is as Merrill and Garland, Merge-based parallel sparse matrix-vector
//   multiplication (2016), without its merge path.
// What differs: nothing but the spelling. segmented_reduce_tiles.comp draws what is carried.

//#if LW_FORM_SUBGROUP && LW_ENABLE
enable subgroups;
//#endif
//#if LW_SUBGROUP_SIZE
enable subgroup_size_control;
//#endif

// Prologue: the assembler writes other values.
const LW_ELEMENT_BITS = 32u;      // 8, 16, 32, 64
const LW_ACCUMULATOR_BITS = 32u;  // 32, 64
const LW_INDEX_BITS = 0u;         // 32 or 64: argmin and argmax
const LW_FORM_SUBGROUP = 0u;      // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;        // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;      // the size that the pass requires; 0: none
const LW_ENABLE = 1u;             // 0: the language has no `enable subgroups`
const LW_CUSTOM = 0u;             // 1: a caller's types and operator (item/custom.wgsl)
const LW_ORDERED = 0u;            // 1: that operator is not commutative
const LW_INPUT_QUADS = 1u;        // 0: custom elements fill no whole 16-byte vectors
const LW_OUTPUT_QUADS = 1u;       // means nothing here: results are words
const LW_SEGMENTED = 1u;          // accumulators know of segments (item/segmented.wgsl)
const kWorkgroupSize = 256u;      // id 0; a power of two
const kVectors = 4u;              // id 1; of a lane and tile; a power of two
const kOperator = 0u;             // id 2; item/names.wgsl
const kElementKind = 0u;          // id 3; item/names.wgsl
const kPartialsOffset = 64u;      // id 4; words of scratch before the partials
const kIncomingOffset = 64u;      // id 7; words of scratch before the segments' numbers
const kMostSegments = 1u;         // id 8; that result has room for
const kSegmentsInBuffer = 0u;     // id 9; 1: the number of segments
// End of the prologue.

const kElementBits = LW_ELEMENT_BITS;
const kReverse = 0u;
const kScanRows = kVectors;
alias ScanValues = array<Accumulator, kScanRows>;

//#if LW_INPUT_QUADS
@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
//#else
@group(0) @binding(0) var<storage, read> input: array<u32>;
//#endif
@group(0) @binding(1) var<storage, read_write> result: array<u32>;
@group(0) @binding(2) var<storage, read_write> scratch: array<u32>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
//#if kSegmentsInBuffer
@group(0) @binding(4) var<storage, read> segment_total: array<u32>;
//#endif

//#include "item/result.wgsl"
//#include "tile/partials.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/scan_subgroup.wgsl"
//#else
//#include "workgroup/scan_barrier.wgsl"
//#endif
//#include "tile/segments.wgsl"
//#include "tile/segment_results.wgsl"

// The segment that began before this workgroup's tiles and ends in them.
var<workgroup> sh_incoming: u32;

// Of the workgroup's share of all segments.
fn store_empty_segments(share: Share, vlane: u32, group: u32, segments: u32) {
    let each = divide_up(segments, share.groups);
    let first = min(group * each, segments);
    let end = first + min(each, segments - first);
    for (var segment = first + vlane; segment < end; segment += kWorkgroupSize) {
        if (offset_at(segment, share.count.x) >= offset_at(segment + 1u, share.count.x)) {
            store_result(segment, accumulator_identity(), false);
        }
    }
}

// The results of the segments that end in the tile. `before` is what the workgroup's tiles before it
// combine to, prefixes what the values of the tile before each row do.
fn store_tile_results(tile: Tile, lane: Lane, group: Group, vectors: ptr<function, RowVectors>,
                      prefixes: ptr<function, ScanValues>, before: Accumulator) {
    for (var row = 0u; row < kScanRows; row++) {
        let i = vector_of_row(row, lane, group, false);
        let ends = ends_of_vector(tile, i);
        if (ends != 0u) {
            let items = items_of_vector(tile, i);
            let base = index_of_vector(tile, i);
            let heads = heads_of_items(tile, i, items);
            var running = combine(before, (*prefixes)[row]);
            for (var item = 0u; item < kItemsPerVector; item++) {
                running = combine(running, headed(item_or_identity((*vectors)[row], item, items, base),
                                                  heads, item));
                var end = 0u;
                if (((ends >> item) & 1u) != 0u) {
                    end = atomicLoad(&sh_ends[end_slot(i * kItemsPerVector + item + 1u)]);
                }
                if (end != 0u) {
                    if (group.number == 0u || begins_segment(running)) {
                        store_result(end - 1u, running, true);
                    } else {
                        sh_incoming = end - 1u;
                        store_partial(2u * group.number + 1u, running);
                    }
                }
            }
        }
    }
}

fn run(lane: Lane, group: Group) {
    let share = read_share();
    let count = share.count.x;
    let segments = segment_count();
    store_empty_segments(share, lane.number, group.number, segments);
    let first = min(group.number * share.tiles_per_group, share.tiles);
    let end = first + min(share.tiles_per_group, share.tiles - first);
    var next = 0u;
    if (segments != 0u) { next = first_offset_from(first * kTileItems, 0u, segments, count); }
    if (lane.number == 0u) { sh_incoming = kNoSegment; }
    var before = accumulator_identity();
    var turn = 0u;
    for (var t = first; t < end; t++) {
        let tile = tile_in_order(share, t);
        var vectors = load_tile(tile, lane, group, false);
        if (turn != 0u) { workgroupBarrier(); }
        next = workgroup_mark_tile(tile, lane.number, segments, count, next);
        var values = sum_rows(tile, lane, group, &vectors);
        let total = workgroup_scan(&values, lane, group, turn);
        turn += 1u;
        store_tile_results(tile, lane, group, &vectors, &values, before);
        before = combine(before, total);
    }
    if (share.groups > 1u && first < end) {
        workgroupBarrier();
        if (lane.number == 0u) {
            store_partial(2u * group.number, before);
            scratch[kIncomingOffset + group.number] = sh_incoming;
        }
    }
}
