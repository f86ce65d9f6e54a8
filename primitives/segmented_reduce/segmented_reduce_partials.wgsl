// Purpose: the results of segments that end in another workgroup's tiles than they begin in.
// Passes before: segmented_reduce_tiles with the strategy two_pass. After: none.
// Inputs: scratch (0): for each workgroup of that pass two partials and the number of a segment. Outputs:
//   result (1), at most one for each of those workgroups. One workgroup.
// Needs: subgroup form: the feature subgroups.
// Memory order: none of its own; what a pass wrote, later passes see.
// Tail: where there is no partial, there is the identity.
// Source: none beyond kernels/item/segmented.wgsl.
// What differs: nothing but the spelling. segmented_reduce_partials.comp draws the order of combination.

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
const LW_CUSTOM = 0u;             // 1: a caller's types and operator (item/custom.wgsl)
const LW_ORDERED = 0u;            // 1: that operator is not commutative
const LW_SEGMENTED = 1u;          // accumulators know of segments (item/segmented.wgsl)
const kWorkgroupSize = 256u;      // id 0; a power of two
const kVectors = 4u;              // id 1; partials of a lane; a power of two
const kOperator = 0u;             // id 2; item/names.wgsl
const kElementKind = 0u;          // id 3; item/names.wgsl
const kPartialsOffset = 64u;      // id 4; words of scratch before the partials
const kIncomingOffset = 64u;      // id 7; words of scratch before the segments' numbers
const kElementBits = 32u;         // id 10; 8, 16, 32, 64
// End of the prologue.

const kScanRows = kVectors;
alias ScanValues = array<Accumulator, kScanRows>;

@group(0) @binding(0) var<storage, read_write> scratch: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;

//#include "item/result.wgsl"
//#include "subgroup/lane_number.wgsl"
//#include "tile/partials.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/scan_subgroup.wgsl"
//#else
//#include "workgroup/scan_barrier.wgsl"
//#endif
//#include "tile/segment_results.wgsl"

fn run(lane: Lane, group: Group) {
    // A single workgroup leaves no partials.
    let shared_out = read_share().groups;
    let groups = select(shared_out, 0u, shared_out == 1u);
    var before = accumulator_identity();
    var turn = 0u;
    for (var first = 0u; first < groups; first += kScanPlaces) {
        var totals: ScanValues;
        for (var row = 0u; row < kScanRows; row++) {
            let i = first + scan_place(row, lane, group);
            totals[row] = accumulator_select(i < groups, load_partial(2u * min(i, groups - 1u)),
                                             accumulator_identity());
        }
        let total = workgroup_scan(&totals, lane, group, turn);
        turn += 1u;
        for (var row = 0u; row < kScanRows; row++) {
            let i = first + scan_place(row, lane, group);
            var segment = kNoSegment;
            if (i < groups) { segment = scratch[kIncomingOffset + i]; }
            if (segment != kNoSegment) {
                let earlier = combine(before, totals[row]);
                store_result(segment, combine(earlier, load_partial(2u * i + 1u)), true);
            }
        }
        before = combine(before, total);
    }
}
