// Purpose: counts samples by bins.
// Passes before: count_to_groups, where the count is in a buffer; histogram_zeros with the strategies
//   two_pass and global. After: none.
// Inputs: input (0), samples in 16-byte vectors. Outputs: counts (1), the output, which with two_pass and
//   global is zero before and is added to.
// Needs: nothing.
// Memory order: none; counts are relaxed atomics.
// Tail: of the last tile the whole 16-byte vectors are read like the others, each by its lane; then the
//   samples of the vector that is cut, a lane for each. Samples that are not there are not counted.
// Source: histogram_tiles.comp names it, and draws the table.
// What differs: WGSL has no memory barrier of device scope, so there is no last_workgroup, nor a state (3).
//   Scratch (2) is not there, as the count is always in the parameters.

// Prologue: the assembler writes other values.
const LW_ELEMENT_BITS = 8u;   // of a sample: 8, 16, 32
const LW_INPUT_QUADS = 1u;    // always
const kWorkgroupSize = 256u;  // id 0; a power of two
const kVectors = 4u;          // id 1; of a lane and tile
const kStrategy = 0u;         // id 2; lanewise::HistogramStrategy, in its order
const kCopies = 8u;           // id 3; of the table; a power of two
const kChannels = 1u;         // id 4; 1 to 4; 3 divide kVectors
const kBins = 256u;           // id 5; of a channel
const kElementKind = 0u;      // id 6; item/names.wgsl
const kChecked = 0u;          // id 7; item/bin.wgsl; 0: all values are in the range
const kFirstPlace = 0u;       // id 8; of the range
const kPlaces = 0u;           // id 9; in the range
const kOrigin = 0u;           // id 10; of the range, in units
const kWidth = 256u;          // id 11; of the range, in units; where corrected
const kMultiplier = 0u;       // id 12; 0: a shift alone
const kShift = 0u;            // id 13; with a multiplier from 11 to 63, else below 32
const kCorrected = 0u;        // id 14; 1: the product may be one too large
const kUnit = 0u;             // id 15; of floats: exponent field whose last bit is one unit
// End of the prologue.
//#if kStrategy == 1
//#error last_workgroup needs a memory barrier of device scope, which WGSL has not
//#endif

const kOneWorkgroup = 0u;
const kGlobal = 3u;

const kSlots = kChannels * kBins;

@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> counts: array<atomic<u32>>;

//#include "item/bin.wgsl"
//#include "tile/load.wgsl"
//#include "tile/share.wgsl"

const kValuesPerVector = 4u * kValuesPerWord;
const kTileItems = kTileVectors * kValuesPerVector / kChannels;

//#if kStrategy != 3
var<workgroup> sh_table: array<atomic<u32>, kSlots * kCopies>;
//#endif

fn count_value(value: u32, channel: u32, copy: u32) {
    if (is_in_range(value)) {
        let slot = channel * kBins + bin_of_value(value);
//#if kStrategy == 3
        atomicAdd(&counts[slot], 1u);
//#else
        atomicAdd(&sh_table[slot * kCopies + copy], 1u);
//#endif
    }
}

// Vector i of a tile.
fn count_vector(vector: Vector, i: u32, copy: u32) {
    // Vectors, and tiles, begin with channel 0 but for three channels, which divide no vector.
    var channel = select(0u, i * kValuesPerVector % 3u, kChannels == 3u);
    for (var word = 0u; word < 4u; word++) {
        for (var j = 0u; j < kValuesPerWord; j++) {
            count_value(value_of_word(vector[word], j), channel, copy);
            channel = select(channel + 1u, 0u, channel + 1u == kChannels);
        }
    }
}

alias Vectors = array<Vector, kVectors>;

fn count_whole_tile(tile: u32, lane: u32, copy: u32) {
    let place = tile_place(tile);
    var vectors: Vectors;
    // All loads are issued before the first is used.
    for (var k = 0u; k < kVectors; k++) {
        vectors[k] = load_vector(place, k * kWorkgroupSize + lane);
    }
    for (var k = 0u; k < kVectors; k++) {
        count_vector(vectors[k], k * kWorkgroupSize + lane, copy);
    }
}

// The same of a tile of which only the first `whole` vectors are there.
fn count_cut_tile(tile: u32, lane: u32, copy: u32, whole: u32) {
    let place = tile_place(tile);
    var vectors: Vectors;
    for (var k = 0u; k < kVectors; k++) {
        let i = k * kWorkgroupSize + lane;
        if (i < whole) { vectors[k] = load_vector(place, i); }
    }
    for (var k = 0u; k < kVectors; k++) {
        let i = k * kWorkgroupSize + lane;
        if (i < whole) { count_vector(vectors[k], i, copy); }
    }
}

// The vector that the end of the input cuts, of which `values` are there.
fn count_cut_vector(tile: u32, lane: u32, copy: u32, i: u32, values: u32) {
    let place = tile_place(tile);
    for (var j = lane; j < values; j += kWorkgroupSize) {
        let word = load_word(place, i, j / kValuesPerWord);
        let channel = (i * kValuesPerVector + j) % kChannels;
        count_value(value_of_word(word, j % kValuesPerWord), channel, copy);
    }
}

//#if kStrategy != 3

// A lane's slots: the sums of their copies to where they belong.
fn add_table(lane: u32) {
    for (var slot = lane; slot < kSlots; slot += kWorkgroupSize) {
        var total = 0u;
        // Neighbours begin with different copies, which lie in different banks.
        for (var copy = 0u; copy < kCopies; copy++) {
            total += atomicLoad(&sh_table[slot * kCopies + (copy + lane) % kCopies]);
        }
        if (kStrategy == kOneWorkgroup) {
            atomicStore(&counts[slot], total);
        } else if (total != 0u) {
            atomicAdd(&counts[slot], total);
        }
    }
}

//#endif

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) workgroup: vec3<u32>) {
    let copy = lane % kCopies;
//#if kStrategy != 3
    for (var i = lane; i < kSlots * kCopies; i += kWorkgroupSize) { atomicStore(&sh_table[i], 0u); }
    workgroupBarrier();
//#endif
    let share = read_share();
    let part = part_of_group(share, parameters.first_group + workgroup.x, kTileItems);
    for (var tile = part.first; tile < part.end; tile++) { count_whole_tile(tile, lane, copy); }
    if (part.cut != 0u) {
        let values = part.cut * kChannels;
        let whole = values / kValuesPerVector;
        count_cut_tile(part.end, lane, copy, whole);
        count_cut_vector(part.end, lane, copy, whole, values % kValuesPerVector);
    }
//#if kStrategy != 3
    workgroupBarrier();
    add_table(lane);
//#endif
}
