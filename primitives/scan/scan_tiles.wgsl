// Purpose: scans the tiles of each workgroup and writes the results.
// Passes before: scan_sums with the strategy reduce_then_scan; else none, and count_to_groups where
//   the count is in a buffer. After: none.
// Inputs: input (0), elements in 16-byte vectors; scratch (2), the partials of scan_sums.
// Outputs: output (1), one result (item/result.wgsl) for each item, in 16-byte vectors. In place, input
//   is the output, too.
// Needs: subgroup form: the feature subgroups.
// Memory order: none between workgroups. Each vector is read and its results are written by one
//   invocation, reads first, so that the output may lie where the input does.
// Tail: items that are not there are the identity (kernels/tile/rows.wgsl) and are not written.
// Source: none; the usual second half of reduce-then-scan.
// What differs: in place is a text of its own (LW_IN_PLACE), as a buffer has one binding.
//   scan_tiles.comp draws the passes.

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
const LW_OUTPUT_QUADS = 1u;       // 0: nor do their results
const LW_IN_PLACE = 0u;           // 1: the output is the input
const kWorkgroupSize = 256u;      // id 0; a power of two
const kVectors = 4u;              // id 1; of a lane and tile; a power of two
const kOperator = 0u;             // id 2; item/names.wgsl
const kElementKind = 0u;          // id 3; item/names.wgsl
const kPartialsOffset = 64u;      // id 4; words of scratch before the partials
const kReverse = 0u;              // id 7; 1: from the last item to the first
const kExclusive = 0u;            // id 8; 1: without the item itself
const kHasInitial = 0u;           // id 9; 1: the initial value counts
const kInitialLow = 0u;           // id 10; as words of an accumulator
const kInitialHigh = 0u;          // id 11
const kMarkBits = 1u;             // id 17; of a flag or key
const kMarksAreKeys = 0u;         // id 18; 0: flags
// End of the prologue.

const kElementBits = LW_ELEMENT_BITS;
const kScanRows = kVectors;
alias ScanValues = array<Accumulator, kScanRows>;

//#if LW_IN_PLACE && LW_INPUT_QUADS
@group(0) @binding(0) var<storage, read_write> input: array<vec4<u32>>;
//#elif LW_IN_PLACE
@group(0) @binding(0) var<storage, read_write> input: array<u32>;
//#else
//#if LW_INPUT_QUADS
@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
//#else
@group(0) @binding(0) var<storage, read> input: array<u32>;
//#endif
//#if LW_OUTPUT_QUADS
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;
//#else
@group(0) @binding(1) var<storage, read_write> output: array<u32>;
//#endif
//#endif
@group(0) @binding(2) var<storage, read_write> scratch: array<u32>;
//#if LW_SEGMENTED
@group(0) @binding(3) var<storage, read> marks: array<u32>;
//#endif

//#include "tile/partials.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/scan_subgroup.wgsl"
//#else
//#include "workgroup/scan_barrier.wgsl"
//#endif
//#include "tile/scan_results.wgsl"
//#include "tile/heads.wgsl"

// What the partials of the workgroups before this one combine to, in their order.
fn workgroup_partials_before(lane: Lane, group: Group, turn: ptr<function, u32>) -> Accumulator {
    var total = accumulator_identity();
    for (var first = 0u; first < group.number; first += kScanPlaces) {
        var partials: ScanValues;
        for (var row = 0u; row < kScanRows; row++) {
            let i = first + scan_place(row, lane, group);
            partials[row] = accumulator_select(
                i < group.number, load_partial(min(i, group.number - 1u)), accumulator_identity());
        }
        total = combine(total, workgroup_scan(&partials, lane, group, *turn));
        *turn += 1u;
    }
    return total;
}

fn run(lane: Lane, group: Group) {
    let share = read_share();
    let first = min(group.number * share.tiles_per_group, share.tiles);
    let end = first + min(share.tiles_per_group, share.tiles - first);
    var turn = 0u;
    var before = with_initial(workgroup_partials_before(lane, group, &turn));
    for (var t = first; t < end; t++) {
        let tile = tile_in_order(share, t);
        var vectors = load_tile(tile, lane, group, false);
        var values = sum_rows(tile, lane, group, &vectors);
        let total = workgroup_scan(&values, lane, group, turn);
        turn += 1u;
        store_tile(tile, lane, group, &vectors, &values, before);
        before = combine(before, total);
    }
}
