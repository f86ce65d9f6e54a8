// Purpose: combines the input into one value per workgroup, and with one workgroup this into the
//   result.
// Passes before: count_to_groups, where the count is in a buffer. After: reduce_partials with the
//   strategy two_pass, otherwise none.
// Inputs: input (0), elements in 16-byte vectors. Outputs: result (1), the output (item/result.wgsl),
//   unless two_pass. Scratch (2): one partial per workgroup unless one_workgroup.
// Needs: subgroup form: the feature subgroups.
// Memory order: none of its own; reduce_partials is another pass.
// Tail: of the last tile the whole 16-byte vectors are read like the others, each by its lane; the
//   lane whose vector is cut reads words up to the last that holds an element. Lanes without an
//   item hold no value: the number of lanes that do goes with them, and no identity is ever made.
// Source: none for the tree.
// What differs: WGSL has no memory barrier of device scope and no 64-bit atomics, so there is neither
//   last_workgroup nor arrival_sum, nor a state (3). reduce_tiles.comp draws the order of combination,
//   which is the same.

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
const LW_SEGMENTED = 0u;          // 1: accumulators know of segments (item/segmented.wgsl)
const LW_CUSTOM = 0u;             // 1: a caller's types and operator (item/custom.wgsl)
const LW_ORDERED = 0u;            // 1: that operator is not commutative
const LW_INPUT_QUADS = 1u;        // 0: custom elements fill no whole 16-byte vectors
const kWorkgroupSize = 256u;      // id 0; a power of two
const kVectors = 4u;              // id 1; of a lane and tile; a power of two
const kOperator = 0u;             // id 2; item/names.wgsl
const kElementKind = 0u;          // id 3; item/names.wgsl
const kStrategy = 0u;             // id 5; lanewise::ReduceStrategy, in its order
const kPartialsOffset = 64u;      // id 6; words of scratch before the partials
// End of the prologue.
//#if kStrategy == 1
//#error last_workgroup needs a memory barrier of device scope, which WGSL has not
//#endif

const kElementBits = LW_ELEMENT_BITS;
const kTwoPass = 2u;

//#if LW_INPUT_QUADS
@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
//#else
@group(0) @binding(0) var<storage, read> input: array<u32>;
//#endif
@group(0) @binding(1) var<storage, read_write> result: array<u32>;
@group(0) @binding(2) var<storage, read_write> scratch: array<u32>;

//#include "item/accumulator.wgsl"
//#include "item/element.wgsl"
//#include "item/result.wgsl"
//#include "subgroup/lane_number.wgsl"
//#include "tile/load.wgsl"
//#include "tile/partials.wgsl"
//#include "tile/share.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/reduce_subgroup.wgsl"
//#else
//#include "workgroup/reduce_barrier.wgsl"
//#endif

struct Combined {
    total: Accumulator,
    holds: bool,  // an item
}

//#if LW_CUSTOM

const kReverse = 0u;
const kScanRows = kVectors;
alias ScanValues = array<Accumulator, kScanRows>;
fn scan_place(row: u32, lane: Lane, group: Group) -> u32 { return row * kWorkgroupSize + lane.number; }
//#include "tile/sum_tiles.wgsl"

// As below. Accumulators know themselves whether they hold anything.
fn workgroup_combine_part(share: Share, part: Part, lane: Lane, group: Group) -> Combined {
    let end = part.end + select(0u, 1u, part.cut != 0u);
    return Combined(workgroup_sum_tiles(share, part.first, end, lane, group), true);
}

//#else

const kTileItems = kTileVectors * kItemsPerVector;

alias Streams = array<Accumulator, kStreams>;
alias Vectors = array<Vector, kVectors>;

fn index_of_lane(tile: u32, vlane: u32) -> vec2<u32> {
    return add64(multiply32(tile, kTileItems), vec2<u32>(vlane * kItemsPerVector, 0u));
}

// Combines a whole tile into a lane's streams; `holds` says whether they hold values before.
fn add_tile(streams: ptr<function, Streams>, holds: bool, tile: u32, vlane: u32) {
    let place = tile_place(tile);
    var vectors: Vectors;
    // All loads are issued before the first is used.
    for (var k = 0u; k < kVectors; k++) {
        vectors[k] = load_vector(place, k * kWorkgroupSize + vlane);
    }
    let base = index_of_lane(tile, vlane);
    for (var stream = 0u; stream < kStreams; stream++) {
        var position = stream * kItemsPerStream;
        var sum = stream_accumulator(vectors[0], stream, position);
        for (var k = 1u; k < kVectors; k++) {
            position += kWorkgroupSize * kItemsPerVector;
            sum = combine_in_order(sum, stream_accumulator(vectors[k], stream, position));
        }
        sum = accumulator_moved(sum, base);
        if (holds) { sum = combine_in_order((*streams)[stream], sum); }
        (*streams)[stream] = sum;
    }
}

// The same of a tile of which only the first `whole` vectors are there.
fn add_cut_tile(streams: ptr<function, Streams>, holds: bool, tile: u32, vlane: u32, whole: u32) {
    let place = tile_place(tile);
    var vectors: Vectors;
    for (var k = 0u; k < kVectors; k++) {
        let i = k * kWorkgroupSize + vlane;
        if (i < whole) { vectors[k] = load_vector(place, i); }
    }
    if (vlane < whole) {
        let base = index_of_lane(tile, vlane);
        for (var stream = 0u; stream < kStreams; stream++) {
            var position = stream * kItemsPerStream;
            var sum = stream_accumulator(vectors[0], stream, position);
            for (var k = 1u; k < kVectors; k++) {
                position += kWorkgroupSize * kItemsPerVector;
                if (k * kWorkgroupSize + vlane < whole) {
                    sum = combine_in_order(sum, stream_accumulator(vectors[k], stream, position));
                }
            }
            sum = accumulator_moved(sum, base);
            if (holds) { sum = combine_in_order((*streams)[stream], sum); }
            (*streams)[stream] = sum;
        }
    }
}

// The vector that the end of the input cuts, its `items` items, after `before`, which may hold nothing.
fn add_cut_vector(before: Accumulator, holds: bool, tile: u32, i: u32, items: u32) -> Accumulator {
    let place = tile_place(tile);
    var vector: Vector;
    for (var word = 0u; word < kVectorWords; word++) {
        if (word * 32u < items * LW_ELEMENT_BITS) { vector[word] = load_word(place, i, word); }
    }
    let base = add64(multiply32(tile, kTileItems), vec2<u32>(i * kItemsPerVector, 0u));
    var total = before;
    for (var position = 0u; position < items; position++) {
        var item = item_accumulator(vector, position / kItemsPerStream, position % kItemsPerStream,
                                    position);
        item = accumulator_moved(item, base);
        if (holds || position != 0u) { item = combine(total, item); }
        total = item;
    }
    return total;
}

// What a workgroup's part combines to, in lane 0.
fn workgroup_combine_part(share: Share, part: Part, lane: Lane, group: Group) -> Combined {
    let vlane = lane.number;
    var streams: Streams;
    for (var tile = part.first; tile < part.end; tile++) {
        add_tile(&streams, tile != part.first, tile, vlane);
    }
    let has_tile = part.first < part.end;
    let whole = part.cut / kItemsPerVector;
    if (whole != 0u) { add_cut_tile(&streams, has_tile, part.end, vlane, whole); }

    // Lanes from here on hold nothing.
    let lanes = select(min(kWorkgroupSize, divide_up(part.cut, kItemsPerVector)), kWorkgroupSize,
                       has_tile);
    let holds = has_tile || vlane < whole;
    var total = streams[0];
    if (holds) {
//#if LW_ELEMENT_BITS == 64
        total = combine(streams[0], streams[1]);
//#else
        total = combine(combine(streams[0], streams[1]), combine(streams[2], streams[3]));
//#endif
    }
    let cut = part.cut % kItemsPerVector;
    if (cut != 0u && vlane == whole % kWorkgroupSize) {
        total = add_cut_vector(total, holds, part.end, whole, cut);
    }
    return Combined(workgroup_reduce(total, lane, group, lanes), lanes != 0u);
}

//#endif

fn run(lane: Lane, group: Group) {
    let share = read_share();
    let own = part_of_group(share, group.number, kTileItems);
    let part = workgroup_combine_part(share, own, lane, group);
    if (lane.number == 0u) {
        if (kStrategy == kTwoPass) {
            store_partial(group.number, part.total);
        } else {
            var words = words_of_result(part.total, part.holds);
            for (var i = 0u; i < kResultWords; i++) { result[i] = words[i]; }
        }
    }
}
