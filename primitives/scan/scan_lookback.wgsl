// Purpose: the whole scan in one pass, a tile to each workgroup.
// Passes before: count_to_groups, where the count is in a buffer. After: none.
// Inputs: input (0), elements in 16-byte vectors. Outputs: output (1), one result (item/result.wgsl)
//   for each item, in 16-byte vectors; not the input, which others may still read. State (3):
//   kernels/tile/look_back.wgsl.
// Needs: subgroup form: the feature subgroups.
// Memory order: none but that of the relaxed atomics of the state, one word at a time. Tiles go by
//   ticket, so that the tiles that a workgroup looks back at are those of workgroups that run or ran.
// Tail: items that are not there are the identity (kernels/tile/rows.wgsl) and are not written.
// Source: Merrill and Garland (kernels/tile/look_back.glsl); that missing tiles are summed again, and
//   the sums ahead (kAhead), are our own.
// What differs: values in halves. Scratch (2) is bound, but has nothing to say.
//   scan_lookback.comp draws who sums and publishes what.

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
const kWorkgroupSize = 256u;      // id 0; a power of two
const kVectors = 4u;              // id 1; of a lane and tile; a power of two
const kOperator = 0u;             // id 2; item/names.wgsl
const kElementKind = 0u;          // id 3; item/names.wgsl
const kReverse = 0u;              // id 7; 1: from the last item to the first
const kExclusive = 0u;            // id 8; 1: without the item itself
const kHasInitial = 0u;           // id 9; 1: the initial value counts
const kInitialLow = 0u;           // id 10; as words of an accumulator
const kInitialHigh = 0u;          // id 11
const kAhead = 0u;                // id 12; tiles; 0: look back at once
const kPatience = 4096u;          // id 13; looks at an empty tile
const kSilentTile = 4294967295u;  // id 14; of a test: publishes nothing
const kMostEpochs = 1023u;        // id 15; before the state is cleared
const kMostTiles = 1u;            // id 16; that the state has room for
const kMarkBits = 1u;             // id 17; of a flag or key
const kMarksAreKeys = 0u;         // id 18; 0: flags
const LW_IN_PLACE = 0u;           // always
// End of the prologue.
//#if LW_IN_PLACE
//#error others may still read the input: it cannot be the output
//#endif

const kElementBits = LW_ELEMENT_BITS;
const kScanRows = kVectors;
alias ScanValues = array<Accumulator, kScanRows>;

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
@group(0) @binding(2) var<storage, read> scratch: array<u32>;
@group(0) @binding(3) var<storage, read_write> state: array<atomic<u32>>;
//#if LW_SEGMENTED
@group(0) @binding(4) var<storage, read> marks: array<u32>;
//#endif

//#if LW_FORM_SUBGROUP
//#include "workgroup/reduce_subgroup.wgsl"
//#include "workgroup/scan_subgroup.wgsl"
//#else
//#include "workgroup/reduce_barrier.wgsl"
//#include "workgroup/scan_barrier.wgsl"
//#endif
//#include "tile/look_back.wgsl"
//#include "tile/scan_results.wgsl"
//#include "tile/heads.wgsl"

var<workgroup> sh_ticket: vec2<u32>;  // tile, epoch

// Both give the sum of a tile in lane 0 only; a barrier must stand between two calls.
fn workgroup_tile_sum(share: Share, t: u32, lane: Lane, group: Group) -> Accumulator {
    let tile = tile_in_order(share, t);
    var vectors = load_tile(tile, lane, group, true);
    return workgroup_reduce(sum_lane(tile, lane, group, &vectors), lane, group, kWorkgroupSize);
}

// One row at a time: what is called while a lane holds a tile must not take its registers.
fn workgroup_tile_sum_again(share: Share, t: u32, lane: Lane, group: Group) -> Accumulator {
    let tile = tile_in_order(share, t);
    var sum = accumulator_identity();
    for (var row = 0u; row < kScanRows; row++) {
        let i = vector_of_row(row, lane, group, true);
        sum = combine(sum, sum_vector(tile, i, load_vector_to_end(tile, i)));
    }
    return workgroup_reduce(sum, lane, group, kWorkgroupSize);
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
        var vectors = load_tile(tile, lane, group, false);
        if (kAhead != 0u && t + kAhead < share.tiles) {
            let sum = workgroup_tile_sum(share, t + kAhead, lane, group);
            if (lane.number == 0u) { publish(t + kAhead, epoch, kFlagSum, sum); }
        }
        var values = sum_rows(tile, lane, group, &vectors);
        let total = workgroup_scan(&values, lane, group, 0u);
        let publishes = kAhead == 0u || t < kAhead;
        if (lane.number == 0u && publishes && t != 0u) { publish(t, epoch, kFlagSum, total); }
        let before = workgroup_look_back(share, t, epoch, lane, group);
        if (lane.number == 0u) { publish(t, epoch, kFlagPrefix, combine(before, total)); }
        store_tile(tile, lane, group, &vectors, &values, with_initial(before));
    }
}
