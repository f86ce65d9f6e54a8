// Purpose: reads the input and keeps next to nothing: what this machine's memory can do, reads
//   only.
// Passes before, after: none.
// Inputs: input (0), u32 in 16-byte vectors. Outputs: partials (1): one word per workgroup, the
//   exclusive or of what its invocation 0 read; the others' loads are kept alive by a write that never
//   happens.
// Scratch: none.
// Needs: nothing.
// Memory order: none.
// Tail: whole 16-byte vectors, the last one too.
// Source: none.
// What differs: the last vector is read whole, as it is bound whole.
//
// A tile is W x 16 items: four 16-byte vectors of each invocation.

// Prologue: the assembler writes other values.
const LW_ELEMENT_BITS = 32u;
const LW_INPUT_QUADS = 1u;
const kWorkgroupSize = 256u;  // id 0
// End of the prologue.
const kVectors = 4u;

@group(0) @binding(0) var<storage, read> input: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> partials: array<u32>;

//#include "tile/load.wgsl"
//#include "tile/share.wgsl"

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) workgroup: vec3<u32>) {
    let group = parameters.first_group + workgroup.x;
    let part = part_of_group(read_share(), group, 4u * kTileVectors);
    var all = vec4<u32>(0u);
    for (var tile = part.first; tile < part.end; tile++) {
        let place = tile_place(tile);
        let a = load_vector(place, lane);
        let b = load_vector(place, kWorkgroupSize + lane);
        let c = load_vector(place, 2u * kWorkgroupSize + lane);
        let d = load_vector(place, 3u * kWorkgroupSize + lane);
        all ^= a ^ b ^ c ^ d;
    }
    let place = tile_place(part.end);
    for (var i = lane; i < divide_up(part.cut, 4u); i += kWorkgroupSize) {
        all ^= load_vector(place, i);
    }
    let one = all.x ^ all.y ^ all.z ^ all.w;
    // The second condition holds for no invocation; the compiler cannot know.
    if (lane == 0u || (one == 0x9e3779b9u && parameters.offset_words == 0xffffffffu)) {
        partials[group] = one;
    }
}
