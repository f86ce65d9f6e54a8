// Purpose: combines the partials that reduce_tiles left, one for each workgroup, into the result.
// Passes before: reduce_tiles with the strategy two_pass. After: none.
// Inputs: scratch (0): partials. Outputs: result (1), the output (item/result.wgsl). One workgroup.
// Needs: subgroup form: the feature subgroups.
// Memory order: none of its own; what a pass wrote, later passes see.
// Tail: lanes without a partial hold no value (workgroup/reduce_*.wgsl).
// Source: none.
// What differs: nothing but the spelling. reduce_partials.comp draws the order of combination.

//#if LW_FORM_SUBGROUP && LW_ENABLE
enable subgroups;
//#endif
//#if LW_SUBGROUP_SIZE
enable subgroup_size_control;
//#endif

// Prologue: the assembler writes other values.
const LW_ACCUMULATOR_BITS = 32u;  // 32, 64
const LW_INDEX_BITS = 0u;         // 32 or 64: argmin and argmax
const LW_FORM_SUBGROUP = 0u;      // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;        // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;      // the size that the pass requires; 0: none
const LW_ENABLE = 1u;             // 0: the language has no `enable subgroups`
const LW_SEGMENTED = 0u;          // 1: accumulators know of segments (item/segmented.wgsl)
const LW_CUSTOM = 0u;             // 1: a caller's types and operator (item/custom.wgsl)
const LW_ORDERED = 0u;            // 1: that operator is not commutative
const kWorkgroupSize = 256u;      // id 0; a power of two
const kOperator = 0u;             // id 2; item/names.wgsl
const kElementKind = 0u;          // id 3; item/names.wgsl
const kElementBits = 32u;         // id 4; 8, 16, 32, 64
const kPartialsOffset = 64u;      // id 6; words of scratch before the partials
// End of the prologue.

@group(0) @binding(0) var<storage, read_write> scratch: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;

//#include "item/accumulator.wgsl"
//#include "item/result.wgsl"
//#include "subgroup/lane_number.wgsl"
//#include "tile/partials.wgsl"
//#include "tile/share.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/reduce_subgroup.wgsl"
//#else
//#include "workgroup/reduce_barrier.wgsl"
//#endif

fn run(lane: Lane, group: Group) {
    let share = read_share();
    let holds = any(share.count != vec2<u32>(0u));
    var total: Accumulator;
    if (holds) { total = gather_partials(share.groups, lane.number); }
    let lanes = select(0u, lanes_with_partials(share.groups), holds);
    total = workgroup_reduce(total, lane, group, lanes);
    if (lane.number == 0u) {
        var words = words_of_result(total, holds);
        for (var i = 0u; i < kResultWords; i++) { result[i] = words[i]; }
    }
}
