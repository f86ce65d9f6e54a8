// Results of segments, by their numbers.
//
// The kernel defines before: LW_BINDINGS, a buffer named result (tile/memory.glsl); what item/result.glsl
// asks for.
#ifndef LW_TILE_SEGMENT_RESULTS_GLSL
#define LW_TILE_SEGMENT_RESULTS_GLSL

#include "item/result.glsl"
#include "tile/memory.glsl"

const uint kNoSegment = ~0u;

// `total` counts only when `any`.
void store_result(uint segment, Accumulator total, bool any) {
    uint words[LW_RESULT_WORDS] = words_of_result(total, any);
    [[unroll]] for (uint i = 0u; i < LW_RESULT_WORDS; ++i) {
        LW_WORD(result, segment * LW_RESULT_WORDS + i) = words[i];
    }
}

#endif
