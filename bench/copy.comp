// Purpose: copies the input to the output: what this machine's memory can do, reads and writes.
// Passes before, after: none.
// Inputs: input (0), u32. Outputs: output (1), as many. Scratch: none.
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

#ifdef LW_DEVICE_ADDRESS
layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer output_vectors {
    uvec4 at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer output_words {
    uint at[];
};
#define LW_OUTPUT_PLACE(tile) \
    add64(parameters.addresses[1], multiply32(tile, 16u * kTileVectors))
#define LW_OUTPUT_VECTOR(place, i) output_vectors(place).at[i]
#define LW_OUTPUT_WORD(place, i) output_words(place).at[i]
#else
layout(set = 0, binding = 1, std430) writeonly buffer output_vectors_block {
    uvec4 at[];
} output_vectors;
layout(set = 0, binding = 1, std430) writeonly buffer output_words_block {
    uint at[];
} output_words;
#define LW_OUTPUT_PLACE(tile) tile_place(tile)
#define LW_OUTPUT_VECTOR(place, i) output_vectors.at[place + (i)]
#define LW_OUTPUT_WORD(place, i) output_words.at[4u * place + (i)]
#endif

void main() {
    uint lane = gl_LocalInvocationIndex;
    Part part = part_of_group(read_share(), group_number(), 4u * kTileVectors);
    for (uint tile = part.first; tile < part.end; ++tile) {
        Place from = tile_place(tile);
        Place to = LW_OUTPUT_PLACE(tile);
        uvec4 vectors[kVectors];
        [[unroll]] for (uint k = 0u; k < kVectors; ++k) {
            vectors[k] = load_vector(from, k * kWorkgroupSize + lane);
        }
        [[unroll]] for (uint k = 0u; k < kVectors; ++k) {
            LW_OUTPUT_VECTOR(to, k * kWorkgroupSize + lane) = vectors[k];
        }
    }
    if (part.cut != 0u) {
        Place from = tile_place(part.end);
        Place to = LW_OUTPUT_PLACE(part.end);
        for (uint i = lane; i < part.cut / 4u; i += kWorkgroupSize) {
            LW_OUTPUT_VECTOR(to, i) = load_vector(from, i);
        }
        uint word = part.cut / 4u * 4u + lane;
        if (word < part.cut) LW_OUTPUT_WORD(to, word) = load_word(from, word);
    }
}
