// The input, read in tiles of vectors: kVectors for each lane, those of neighbouring lanes side by side,
// so that each load instruction of a workgroup touches one contiguous range. A vector has 16 bytes; of
// custom elements that do not divide these, it is one element.
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
// kVectors (constants); LW_VECTOR_WORDS where it is not 4.
#ifndef LW_TILE_LOAD_GLSL
#define LW_TILE_LOAD_GLSL

#include "item/words64.glsl"
#include "tile/memory.glsl"

#ifndef LW_VECTOR_WORDS
#define LW_VECTOR_WORDS 4
#endif

const uint kTileVectors = kWorkgroupSize * kVectors;

#if LW_VECTOR_WORDS == 4
#define Vector uvec4
#define LW_VECTOR_WORD(vector, i) vector[i]
#else
struct Vector {
    uint words[LW_VECTOR_WORDS];
};
#define LW_VECTOR_WORD(vector, i) vector.words[i]
#endif

Vector vector_of_zeros() {
    Vector vector;
    [[unroll]] for (uint i = 0u; i < LW_VECTOR_WORDS; ++i) LW_VECTOR_WORD(vector, i) = 0u;
    return vector;
}

#ifdef LW_DEVICE_ADDRESS

layout(buffer_reference, std430, buffer_reference_align = 16) readonly buffer input_quads {
    uvec4 at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) readonly buffer input_words {
    uint at[];
};

#define Place uvec2

Place tile_place(uint tile) {
    return add64(parameters.addresses[LW_INPUT_BINDING],
                 multiply32(tile, 4u * LW_VECTOR_WORDS * kTileVectors));
}
uvec4 load_quad(Place tile, uint i) { return input_quads(tile).at[i]; }
uint load_word(Place tile, uint i) { return input_words(tile).at[i]; }

#else

layout(set = 0, binding = LW_INPUT_BINDING, std430) readonly buffer input_quads_block {
    uvec4 at[];
} input_quads;
// The same buffer once more: a last vector may lie in it by half.
layout(set = 0, binding = LW_INPUT_BINDING, std430) readonly buffer input_words_block {
    uint at[];
} input_words;

#define Place uint

Place tile_place(uint tile) { return tile * kTileVectors; }
uvec4 load_quad(Place tile, uint i) { return input_quads.at[LW_VECTOR_WORDS / 4u * tile + i]; }
uint load_word(Place tile, uint i) { return input_words.at[LW_VECTOR_WORDS * tile + i]; }

#endif

Vector load_vector(Place tile, uint i) {
#if LW_VECTOR_WORDS == 4
    return load_quad(tile, i);
#elif LW_VECTOR_WORDS % 4 == 0
    Vector vector;
    [[unroll]] for (uint q = 0u; q < LW_VECTOR_WORDS / 4u; ++q) {
        uvec4 quad = load_quad(tile, LW_VECTOR_WORDS / 4u * i + q);
        [[unroll]] for (uint j = 0u; j < 4u; ++j) vector.words[4u * q + j] = quad[j];
    }
    return vector;
#else
    Vector vector;
    [[unroll]] for (uint j = 0u; j < LW_VECTOR_WORDS; ++j) {
        vector.words[j] = load_word(tile, LW_VECTOR_WORDS * i + j);
    }
    return vector;
#endif
}

#endif
