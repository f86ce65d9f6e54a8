// Purpose: writes what is kept wherever there is room next, in any order.
// Passes before: select_begin. After: sort_pack, for narrow items.
// Inputs: input (0), items in 16-byte vectors; flags (1); values (5). Outputs: items_out (2), narrow items
//   as a word each; count_out (3), which begins at 0, how many are kept; values_out (6).
// Needs: subgroup form: the feature subgroups.
// Memory order: none but that of the relaxed atomics of count_out.
// Tail: items that are not there are not kept.
// Source: none; the usual aggregated atomics.
// What differs: buffers that nobody needs are not there; scratch (4) is bound, but has nothing to say.
//   select_append.comp draws the places.

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
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;    // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;  // the size that the pass requires; 0: none
const LW_ENABLE = 1u;         // 0: the language has no `enable subgroups`
const LW_INPUT_QUADS = 1u;    // 0: a caller's elements fill no whole 16-byte vectors
const kWorkgroupSize = 256u;  // id 0; a power of two
const kVectors = 4u;          // id 1; of a lane and tile; a power of two
const kFlagBits = 8u;         // id 3; tile/kept.wgsl
const kWriteItems = 1u;       // id 7; 1: the output has the items
const kCapacity = 4294967295u;  // id 9; kept items that are written, at most
const kWordsOfValue = 1u;     // id 10; 1 to 4
const kIndices = 0u;          // id 11; 1: values are the numbers of the items
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
@group(0) @binding(3) var<storage, read_write> count_out: array<atomic<u32>>;
@group(0) @binding(4) var<storage, read> scratch: array<u32>;
//#if LW_VALUES && !kIndices
@group(0) @binding(5) var<storage, read> values: array<u32>;
//#endif
//#if LW_VALUES
@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;
//#endif

//#if LW_FORM_SUBGROUP
//#include "workgroup/scan_subgroup.wgsl"
//#else
//#include "workgroup/scan_barrier.wgsl"
//#endif
//#if LW_FORM_SUBGROUP
//#include "subgroup/ballot.wgsl"
//#endif
//#include "tile/kept.wgsl"

//#if !LW_FORM_SUBGROUP
var<workgroup> sh_base: u32;
//#endif

// Item j of vector i, to its place in the output.
fn store_item(tile: Tile, i: u32, vector: Vector, j: u32, place: u32) {
    if (place < kCapacity) {
//#if kWriteItems
        for (var word = 0u; word < kItemWords; word++) {
            items_out[place * kItemWords + word] = item_word(vector, j, word);
        }
//#endif
//#if LW_VALUES
        let item = tile.number * kTileItems + i * kItemsPerVector + j;
        for (var word = 0u; word < kWordsOfValue; word++) {
//#if kIndices
            values_out[place * kWordsOfValue + word] = item;
//#else
            values_out[place * kWordsOfValue + word] = values[item * kWordsOfValue + word];
//#endif
        }
//#endif
    }
}

//#if LW_FORM_SUBGROUP

fn workgroup_append(tile: Tile, lane: Lane, group: Group, vectors: ptr<function, RowVectors>,
                    kept: ptr<function, RowMasks>, turn: u32) {
    var count = 0u;
    for (var row = 0u; row < kScanRows; row++) {
        for (var j = 0u; j < kItemsPerVector; j++) {
            count += ballot_count(subgroupBallot((((*kept)[row] >> j) & 1u) != 0u));
        }
    }
    var place = 0u;
    // The first lane that there is, whichever number it has.
    if (subgroupBroadcastFirst(lane.in_subgroup) == lane.in_subgroup) {
        place = atomicAdd(&count_out[0], count);
    }
    place = subgroupBroadcastFirst(place);
    for (var row = 0u; row < kScanRows; row++) {
        let i = vector_of_row(row, lane, group, false);
        for (var j = 0u; j < kItemsPerVector; j++) {
            let keeps = (((*kept)[row] >> j) & 1u) != 0u;
            let ballot = subgroupBallot(keeps);
            let before = ballot_count_below(ballot, lane.in_subgroup);
            if (keeps) { store_item(tile, i, (*vectors)[row], j, place + before); }
            place += ballot_count(ballot);
        }
    }
}

//#else

fn workgroup_append(tile: Tile, lane: Lane, group: Group, vectors: ptr<function, RowVectors>,
                    kept: ptr<function, RowMasks>, turn: u32) {
    var counts: ScanValues;
    for (var row = 0u; row < kScanRows; row++) { counts[row] = Accumulator(countOneBits((*kept)[row])); }
    let total = workgroup_scan(&counts, lane, group, turn).value;
    // The scan's barriers stand between this and what was read of the tile before.
    if (lane.number == 0u) { sh_base = atomicAdd(&count_out[0], total); }
    workgroupBarrier();
    for (var row = 0u; row < kScanRows; row++) {
        let i = vector_of_row(row, lane, group, false);
        var place = sh_base + counts[row].value;
        for (var j = 0u; j < kItemsPerVector; j++) {
            if ((((*kept)[row] >> j) & 1u) != 0u) {
                store_item(tile, i, (*vectors)[row], j, place);
                place += 1u;
            }
        }
    }
}

//#endif

fn run(lane: Lane, group: Group) {
    let share = read_share();
    let first = min(group.number * share.tiles_per_group, share.tiles);
    let end = first + min(share.tiles_per_group, share.tiles - first);
    for (var t = first; t < end; t++) {
        let tile = tile_in_order(share, t);
        var vectors: RowVectors;
        if (kItemsDecide || kWriteItems != 0u) { vectors = load_tile(tile, lane, group, false); }
        var kept = judge_tile(tile, lane, group, false, &vectors);
        workgroup_append(tile, lane, group, &vectors, &kept, t - first);
    }
}
