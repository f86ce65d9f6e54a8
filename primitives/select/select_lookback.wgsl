// Purpose: the whole selection in one pass, a tile to each workgroup.
// Passes before: count_to_groups, where the count is in a buffer. After: sort_pack, for narrow items.
// Inputs: input (0), items in 16-byte vectors; flags (1); values (6). State (5):
//   kernels/tile/look_back.wgsl.
// Outputs: items_out (2), narrow items as a word each; count_out (3), how many are kept; values_out (7);
//   rejected (8, or 6 without values), narrow items as a word each.
// Needs: subgroup form: the feature subgroups.
// Memory order: none but that of the relaxed atomics of the state, one word at a time. Tiles go by
//   ticket, so that the tiles that a workgroup looks back at are those of workgroups that run or ran.
// Tail: items that are not there are neither kept nor left out.
// Source: Merrill and Garland (kernels/tile/look_back.glsl); that missing tiles are counted again, and
//   the counts ahead (kAhead), are our own.
// What differs: published words in halves; buffers that nobody needs are not there; scratch (4) is bound,
//   but has nothing to say. select_lookback.comp draws who counts and publishes what.

//#if LW_FORM_SUBGROUP && LW_ENABLE
enable subgroups;
//#endif
//#if LW_SUBGROUP_SIZE
enable subgroup_size_control;
//#endif

// Prologue: the assembler writes other values.
const LW_PREDICATE = 0u;      // 1: a caller's element and predicate (item/custom_operation.wgsl)
const LW_ELEMENT_BITS = 32u;  // id 2; 8, 16, 32, 64; of a caller's element any
const LW_ACCUMULATOR_BITS = 32u;  // always: counts are sums of unsigned words
const LW_INDEX_BITS = 0u;     // always
const LW_CUSTOM = 0u;         // always
const LW_ORDERED = 0u;        // always
const LW_SEGMENTED = 0u;      // always
const LW_VALUES = 0u;         // 1: values travel with the items
const LW_REJECTED = 0u;       // 1: what is not kept has a buffer of its own
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;    // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;  // the size that the pass requires; 0: none
const LW_ENABLE = 1u;         // 0: the language has no `enable subgroups`
const LW_INPUT_QUADS = 1u;    // 0: a caller's elements fill no whole 16-byte vectors
const kWorkgroupSize = 256u;  // id 0; a power of two
const kVectors = 4u;          // id 1; of a lane and tile; a power of two
const kFlagBits = 8u;         // id 3; tile/kept.wgsl
const kWriteItems = 1u;       // id 7; 1: the output has the items
const kRestAfter = 0u;        // id 8; 1: the others follow those that are kept
const kCapacity = 4294967295u;  // id 9; kept items that are written, at most
const kWordsOfValue = 1u;     // id 10; 1 to 4
const kIndices = 0u;          // id 11; 1: values are the numbers of the items
const kAhead = 0u;            // id 12; tiles; 0: look back at once
const kPatience = 4096u;      // id 13; looks at an empty tile
const kSilentTile = 4294967295u;  // id 14; of a test: publishes nothing
const kMostEpochs = 1023u;    // id 15; before the state is cleared
const kMostTiles = 1u;        // id 16; that the state has room for
const kOperator = 0u;         // always: a sum
const kElementKind = 0u;      // always: unsigned
const kReverse = 0u;          // always
// End of the prologue.

const kElementBits = LW_ELEMENT_BITS;
const kScanRows = kVectors;
alias ScanValues = array<Accumulator, kScanRows>;

//#if LW_INPUT_QUADS
@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
//#else
@group(0) @binding(0) var<storage, read> input: array<u32>;
//#endif
//#if kFlagBits
@group(0) @binding(1) var<storage, read> flags: array<u32>;
//#endif
//#if kWriteItems
@group(0) @binding(2) var<storage, read_write> items_out: array<u32>;
//#endif
@group(0) @binding(3) var<storage, read_write> count_out: array<u32>;
@group(0) @binding(4) var<storage, read> scratch: array<u32>;
@group(0) @binding(5) var<storage, read_write> state: array<atomic<u32>>;
//#if LW_VALUES && !kIndices
@group(0) @binding(6) var<storage, read> values: array<u32>;
//#endif
//#if LW_VALUES
@group(0) @binding(7) var<storage, read_write> values_out: array<u32>;
//#endif
//#if LW_REJECTED && LW_VALUES
@group(0) @binding(8) var<storage, read_write> rejected: array<u32>;
//#elif LW_REJECTED
@group(0) @binding(6) var<storage, read_write> rejected: array<u32>;
//#endif

//#if LW_FORM_SUBGROUP
//#include "workgroup/reduce_subgroup.wgsl"
//#include "workgroup/scan_subgroup.wgsl"
//#else
//#include "workgroup/reduce_barrier.wgsl"
//#include "workgroup/scan_barrier.wgsl"
//#endif
//#include "tile/look_back.wgsl"
//#include "tile/move_kept.wgsl"

var<workgroup> sh_ticket: vec2<u32>;  // tile, epoch

// Both give how many items of a tile are kept, in lane 0 only; a barrier must stand between two calls.
fn workgroup_tile_count(share: Share, t: u32, lane: Lane, group: Group) -> Accumulator {
    let count = count_lane(tile_in_order(share, t), lane, group);
    return workgroup_reduce(Accumulator(count), lane, group, kWorkgroupSize);
}

// One row at a time: what is called while a lane holds a tile must not take its registers.
fn workgroup_tile_sum_again(share: Share, t: u32, lane: Lane, group: Group) -> Accumulator {
    let tile = tile_in_order(share, t);
    var count = 0u;
    for (var row = 0u; row < kScanRows; row++) {
        let i = vector_of_row(row, lane, group, true);
        var vector: Vector;
        if (kItemsDecide) { vector = load_vector_to_end(tile, i); }
        let beside = load_beside(tile, i, items_there(tile, i));
        count += countOneBits(kept_of_vector(tile, i, vector, beside));
    }
    return workgroup_reduce(Accumulator(count), lane, group, kWorkgroupSize);
}

//#include "workgroup/look_back.wgsl"

fn run(lane: Lane, group: Group) {
    let share = read_share();
    if (lane.number == 0u) { sh_ticket = take_ticket(share.groups, share.tiles); }
    let ticket = workgroupUniformLoad(&sh_ticket);
    let t = ticket.x;
    let epoch = ticket.y;
    if (t < share.tiles) {
        let tile = tile_in_order(share, t);
        var vectors = load_rows(tile, lane, group);
        if (kAhead != 0u && t + kAhead < share.tiles) {
            let count = workgroup_tile_count(share, t + kAhead, lane, group);
            if (lane.number == 0u) { publish(t + kAhead, epoch, kFlagSum, count); }
        }
        var counts: ScanValues;
        var kept = judge_rows(tile, lane, group, &vectors, &counts);
        let total = workgroup_scan(&counts, lane, group, 0u);
        let publishes = kAhead == 0u || t < kAhead;
        if (lane.number == 0u && publishes && t != 0u) { publish(t, epoch, kFlagSum, total); }
        move_rows(tile, lane, group, &vectors, &kept, &counts, total.value, kMovesItems);
        let before = workgroup_look_back(share, t, epoch, lane, group);
        let with_tile = combine(before, total);
        if (lane.number == 0u) { publish(t, epoch, kFlagPrefix, with_tile); }
        workgroupBarrier();
        workgroup_store_rows(tile, lane, group, &vectors, &kept, &counts, before.value, total.value, 0u);
        if (lane.number == 0u && t == share.tiles - 1u) { count_out[0] = with_tile.value; }
    } else if (lane.number == 0u && share.tiles == 0u) {
        count_out[0] = 0u;
    }
}
