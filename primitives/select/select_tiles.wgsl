// Purpose: moves what is kept of the tiles of each workgroup to its place, and the rest to another where
//   that is asked for.
// Passes before: select_counts with the strategy count_then_scatter; else none, and count_to_groups
//   where the count is in a buffer. After: sort_pack, for narrow items.
// Inputs: input (0), items in 16-byte vectors; flags (1); values (5); scratch (4): the partials of
//   select_counts.
// Outputs: items_out (2), narrow items as a word each; count_out (3), how many are kept; values_out (6);
//   rejected (7, or 5 without values), narrow items as a word each.
// Needs: subgroup form: the feature subgroups.
// Memory order: none between workgroups.
// Tail: items that are not there are neither kept nor left out.
// Source: none; the usual second half of reduce-then-scan.
// What differs: buffers that nobody needs are not there. select_tiles.comp draws who carries on where.

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
const kPartialsOffset = 64u;  // id 4; words of scratch before the partials
const kWriteItems = 1u;       // id 7; 1: the output has the items
const kRestAfter = 0u;        // id 8; 1: the others follow those that are kept
const kCapacity = 4294967295u;  // id 9; kept items that are written, at most
const kWordsOfValue = 1u;     // id 10; 1 to 4
const kIndices = 0u;          // id 11; 1: values are the numbers of the items
const kAlone = 0u;            // id 12; 1: one workgroup, without partials
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
@group(0) @binding(4) var<storage, read_write> scratch: array<u32>;
//#if LW_VALUES && !kIndices
@group(0) @binding(5) var<storage, read> values: array<u32>;
//#endif
//#if LW_VALUES
@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;
//#endif
//#if LW_REJECTED && LW_VALUES
@group(0) @binding(7) var<storage, read_write> rejected: array<u32>;
//#elif LW_REJECTED
@group(0) @binding(5) var<storage, read_write> rejected: array<u32>;
//#endif

//#include "tile/partials.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/scan_subgroup.wgsl"
//#else
//#include "workgroup/scan_barrier.wgsl"
//#endif
//#include "tile/move_kept.wgsl"

// The sum of one number of each lane.
fn workgroup_sum(number: u32, lane: Lane, group: Group, turn: u32) -> u32 {
    var numbers: ScanValues;
    for (var row = 0u; row < kScanRows; row++) { numbers[row] = accumulator_identity(); }
    numbers[0] = Accumulator(number);
    return workgroup_scan(&numbers, lane, group, turn).value;
}

// The sum of the first so many partials.
fn workgroup_sum_of_partials(partials: u32, lane: Lane, group: Group, turn: u32) -> u32 {
    var sum = 0u;
    for (var i = lane.number; i < partials; i += kWorkgroupSize) { sum += load_partial(i).value; }
    return workgroup_sum(sum, lane, group, turn);
}

// How many items are kept in all tiles.
fn workgroup_count_all(share: Share, lane: Lane, group: Group, turn: u32) -> u32 {
//#if kAlone
    var count = 0u;
    for (var t = 0u; t < share.tiles; t++) { count += count_lane(tile_in_order(share, t), lane, group); }
    return workgroup_sum(count, lane, group, turn);
//#else
    return workgroup_sum_of_partials(share.groups, lane, group, turn);
//#endif
}

fn run(lane: Lane, group: Group) {
    let share = read_share();
    let first = min(group.number * share.tiles_per_group, share.tiles);
    let end = first + min(share.tiles_per_group, share.tiles - first);
    var turn = 0u;
    var before = 0u;
    var all_kept = 0u;
//#if !kAlone
    before = workgroup_sum_of_partials(group.number, lane, group, turn);
    turn += 1u;
//#endif
//#if kRestAfter
    all_kept = workgroup_count_all(share, lane, group, turn);
    turn += 1u;
//#endif
    for (var t = first; t < end; t++) {
        let tile = tile_in_order(share, t);
        var counts: ScanValues;
        var vectors = load_rows(tile, lane, group);
        var kept = judge_rows(tile, lane, group, &vectors, &counts);
        let total = workgroup_scan(&counts, lane, group, turn).value;
        turn += 1u;
        if (t != first) { workgroupBarrier(); }
        move_rows(tile, lane, group, &vectors, &kept, &counts, total, kMovesItems);
        workgroupBarrier();
        workgroup_store_rows(tile, lane, group, &vectors, &kept, &counts, before, total, all_kept);
        before += total;
    }
    if (lane.number == 0u && group.number == share.groups - 1u) { count_out[0] = before; }
}
