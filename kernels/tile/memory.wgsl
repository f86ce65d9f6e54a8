// Parameters: the twin of memory.glsl.
//
// What differs: no push constants; the parameters are a uniform buffer in a group of its own. Kernels
// declare their storage buffers themselves, in group 0 with the numbers that GLSL has, under the names
// that modules use: input (vec4<u32>), output (vec4<u32>), scratch (u32), state (atomic<u32>). No buffer
// can have two bindings in a pass, hence one view of each. There are no device addresses.

// kernels.md describes the fields; flags is not used.
struct Parameters {
    count_low: u32,
    count_high: u32,
    tiles: u32,
    tiles_per_group: u32,
    groups: u32,
    first_group: u32,
    flags: u32,
    offset_words: u32,
}

@group(1) @binding(0) var<uniform> parameters: Parameters;
