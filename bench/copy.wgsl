// Purpose: copies the input to the output: what this machine's memory can do, reads and writes.
// Passes before, after: none.
// Inputs: input (0), u32 in 16-byte vectors. Outputs: output (1), as many. Scratch: none.
// Needs: nothing.
// Memory order: none.
// Tail: whole 16-byte vectors, the last one too.
// Source: none.
// What differs: the last vector is copied whole, as it is bound whole.
//
// A tile is W x 16 items: four 16-byte vectors of each invocation.

// Prologue: the assembler writes other values.
const LW_ELEMENT_BITS = 32u;
const LW_INPUT_QUADS = 1u;
const kWorkgroupSize = 256u;  // id 0
// End of the prologue.
const kVectors = 4u;

@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> output: array<vec4<u32>>;

//#include "tile/load.wgsl"
//#include "tile/share.wgsl"

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) workgroup: vec3<u32>) {
    let part = part_of_group(read_share(), parameters.first_group + workgroup.x, 4u * kTileVectors);
    for (var tile = part.first; tile < part.end; tile++) {
        let place = tile_place(tile);
        let a = load_vector(place, lane);
        let b = load_vector(place, kWorkgroupSize + lane);
        let c = load_vector(place, 2u * kWorkgroupSize + lane);
        let d = load_vector(place, 3u * kWorkgroupSize + lane);
        output[place + lane] = a;
        output[place + kWorkgroupSize + lane] = b;
        output[place + 2u * kWorkgroupSize + lane] = c;
        output[place + 3u * kWorkgroupSize + lane] = d;
    }
    let place = tile_place(part.end);
    for (var i = lane; i < divide_up(part.cut, 4u); i += kWorkgroupSize) {
        output[place + i] = load_vector(place, i);
    }
}
