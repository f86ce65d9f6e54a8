// The input, read in tiles of 16-byte vectors: kVectors for each lane, those of neighbouring lanes
// side by side, so that each load instruction of a workgroup touches one contiguous range.
//
//   a tile, W = 4, kVectors = 2    | v0 | v1 | v2 | v3 | v4 | v5 | v6 | v7 |
//   loaded by lane                   0    1    2    3    0    1    2    3
//   as vector k of the lane          0    0    0    0    1    1    1    1
//
// Elements of any width come in whole 32-bit words: no device needs 8- or 16-bit storage. A last
// tile is read up to the last word that holds an element.
//
// A tile's place is an index of vectors by descriptor (a binding holds less than 2^32 bytes), a
// 64-bit address otherwise.
//
// The kernel defines before: LW_BINDINGS (tile/memory.glsl); LW_INPUT_BINDING; kWorkgroupSize,
// kVectors (constants).
#ifndef LW_TILE_LOAD_GLSL
#define LW_TILE_LOAD_GLSL

#include "item/words64.glsl"
#include "tile/memory.glsl"

const uint kTileVectors = kWorkgroupSize * kVectors;

#ifdef LW_DEVICE_ADDRESS

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer input_vectors {
    uvec4 at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer input_words {
    uint at[];
};

#define Place uvec2

Place tile_place(uint tile) {
    return add64(parameters.addresses[LW_INPUT_BINDING], multiply32(tile, 16u * kTileVectors));
}
uvec4 load_vector(Place tile, uint i) { return input_vectors(tile).at[i]; }
uint load_word(Place tile, uint i) { return input_words(tile).at[i]; }

#else

layout(set = 0, binding = LW_INPUT_BINDING, std430) readonly buffer input_vectors_block {
    uvec4 at[];
} input_vectors;
// The same buffer once more: a last vector may lie in it by half.
layout(set = 0, binding = LW_INPUT_BINDING, std430) readonly buffer input_words_block {
    uint at[];
} input_words;

#define Place uint

Place tile_place(uint tile) { return tile * kTileVectors; }
uvec4 load_vector(Place tile, uint i) { return input_vectors.at[tile + i]; }
uint load_word(Place tile, uint i) { return input_words.at[4u * tile + i]; }

#endif

#endif
