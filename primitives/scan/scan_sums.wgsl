// Purpose: combines the tiles of each workgroup but the last into one partial.
// Passes before: count_to_groups, where the count is in a buffer. After: scan_tiles.
// Inputs: input (0), elements in 16-byte vectors. Outputs: none. Scratch (1): one partial per
//   workgroup, in the order of the scan.
// Needs: subgroup form: the feature subgroups.
// Memory order: none inside; scan_tiles is another pass.
// Tail: items that are not there are the identity (kernels/tile/rows.wgsl).
// Source: none; the usual first half of reduce-then-scan.
// What differs: nothing but the spelling. scan_sums.comp draws the partials.

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
const LW_SEGMENTED = 0u;          // 1: the scan begins anew with every segment (tile/heads.wgsl)
const LW_CUSTOM = 0u;             // 1: a caller's types and operator (item/custom.wgsl)
const LW_ORDERED = 0u;            // 1: that operator is not commutative
const LW_INPUT_QUADS = 1u;        // 0: custom elements fill no whole 16-byte vectors
const kWorkgroupSize = 256u;      // id 0; a power of two
const kVectors = 4u;              // id 1; of a lane and tile; a power of two
const kOperator = 0u;             // id 2; item/names.wgsl
const kElementKind = 0u;          // id 3; item/names.wgsl
const kPartialsOffset = 64u;      // id 4; words of scratch before the partials
const kReverse = 0u;              // id 7; 1: from the last item to the first
const kMarkBits = 1u;             // id 17; of a flag or key
const kMarksAreKeys = 0u;         // id 18; 0: flags
// End of the prologue.

const kElementBits = LW_ELEMENT_BITS;
const kScanRows = kVectors;
alias ScanValues = array<Accumulator, kScanRows>;

//#if LW_INPUT_QUADS
@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
//#else
@group(0) @binding(0) var<storage, read> input: array<u32>;
//#endif
@group(0) @binding(1) var<storage, read_write> scratch: array<u32>;
//#if LW_SEGMENTED
@group(0) @binding(2) var<storage, read> marks: array<u32>;
//#endif

//#include "tile/partials.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/reduce_subgroup.wgsl"
//#include "workgroup/scan_subgroup.wgsl"
//#else
//#include "workgroup/reduce_barrier.wgsl"
//#include "workgroup/scan_barrier.wgsl"
//#endif
//#include "tile/sum_tiles.wgsl"
//#include "tile/heads.wgsl"

fn run(lane: Lane, group: Group) {
    let share = read_share();
    // The last workgroup's is not needed; all others have as many tiles as there are for a workgroup.
    if (group.number + 1u < share.groups) {
        let first = group.number * share.tiles_per_group;
        let total = workgroup_sum_tiles(share, first, first + share.tiles_per_group, lane, group);
        if (lane.number == 0u) { store_partial(group.number, total); }
    }
}
