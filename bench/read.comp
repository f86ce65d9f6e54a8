// Purpose: reads the input and keeps next to nothing: what this machine's memory can do, reads
//   only.
// Passes before, after: none.
// Inputs: input (0), u32. Outputs: output (1): one word per workgroup, the exclusive or of what its
//   invocation 0 read; the others' loads are kept alive by a write that never happens.
// Scratch: none.
// Needs: nothing.
// Memory order: none.
// Tail: whole 16-byte vectors, then single words.
// Source: none.
// What differs in WGSL: nothing but the spelling.
//
// A tile is W x 16 items: four 16-byte vectors of each invocation.
#version 450

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;
const uint kVectors = 4u;

#define LW_BINDINGS 2
#define LW_INPUT_BINDING 0
#include "tile/load.glsl"
#include "tile/share.glsl"
LW_BUFFER(partials, 1, writeonly)

void main() {
    uint lane = gl_LocalInvocationIndex;
    Part part = part_of_group(read_share(), group_number(), 4u * kTileVectors);
    uvec4 all = uvec4(0u);
    for (uint tile = part.first; tile < part.end; ++tile) {
        Place from = tile_place(tile);
        uvec4 vectors[kVectors];
        [[unroll]] for (uint k = 0u; k < kVectors; ++k) {
            vectors[k] = load_vector(from, k * kWorkgroupSize + lane);
        }
        [[unroll]] for (uint k = 0u; k < kVectors; ++k) all ^= vectors[k];
    }
    if (part.cut != 0u) {
        Place from = tile_place(part.end);
        for (uint i = lane; i < part.cut / 4u; i += kWorkgroupSize) all ^= load_vector(from, i);
        uint word = part.cut / 4u * 4u + lane;
        if (word < part.cut) all.x ^= load_word(from, word);
    }
    uint one = all.x ^ all.y ^ all.z ^ all.w;
    // The second condition holds for no invocation; the compiler cannot know.
    if (lane == 0u || (one == 0x9e3779b9u && parameters.offset_words == 0xffffffffu)) {
        LW_WORD(partials, group_number()) = one;
    }
}
