// Purpose: how many items are kept in the tiles of each workgroup.
// Passes before: count_to_groups, where the count is in a buffer. After: select_tiles.
// Inputs: input (0), items in 16-byte vectors; flags (1). Outputs: none. Scratch (2): one partial per
//   workgroup.
// Needs: subgroup form: the feature subgroups.
// Memory order: none inside; select_tiles comes after a barrier.
// Tail: items that are not there are not kept.
// Source: none; the usual first half of reduce-then-scan.
// What differs: where items decide there are no flags (1). select_counts.comp draws the partials.

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
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;    // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;  // the size that the pass requires; 0: none
const LW_ENABLE = 1u;         // 0: the language has no `enable subgroups`
const LW_INPUT_QUADS = 1u;    // 0: a caller's elements fill no whole 16-byte vectors
const kWorkgroupSize = 256u;  // id 0; a power of two
const kVectors = 4u;          // id 1; of a lane and tile; a power of two
const kFlagBits = 8u;         // id 3; tile/kept.wgsl
const kPartialsOffset = 64u;  // id 4; words of scratch before the partials
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
@group(0) @binding(2) var<storage, read_write> scratch: array<u32>;

//#include "tile/partials.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/reduce_subgroup.wgsl"
//#include "workgroup/scan_subgroup.wgsl"
//#else
//#include "workgroup/reduce_barrier.wgsl"
//#include "workgroup/scan_barrier.wgsl"
//#endif
//#include "tile/kept.wgsl"

fn run(lane: Lane, group: Group) {
    let share = read_share();
    let first = min(group.number * share.tiles_per_group, share.tiles);
    let end = first + min(share.tiles_per_group, share.tiles - first);
    var count = 0u;
    for (var t = first; t < end; t++) { count += count_lane(tile_in_order(share, t), lane, group); }
    let total = workgroup_reduce(Accumulator(count), lane, group, kWorkgroupSize);
    if (lane.number == 0u) { store_partial(group.number, total); }
}
