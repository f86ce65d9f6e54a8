// Partials: one accumulator of each workgroup, in the order of the workgroups, in scratch.
//
//   partials        p0 p1 p2 p3 p4 p5 p6 p7 p8 p9       groups = 10, W = 4
//   lane 0 holds    p0 . p4 . p8
//   lane 1          p1 . p5 . p9
//   lane 2          p2 . p6
//   lane 3          p3 . p7
//
// Where the operator is not commutative, a lane holds neighbours: p0 p1 p2, p3 p4 p5 and so on.
//
// The kernel defines before: LW_BINDINGS, a buffer named scratch (tile/memory.glsl);
// kWorkgroupSize, kPartialsOffset (words) (constants).
#ifndef LW_TILE_PARTIALS_GLSL
#define LW_TILE_PARTIALS_GLSL

#include "item/accumulator.glsl"
#include "tile/memory.glsl"
#include "tile/share.glsl"

Accumulator load_partial(uint i) {
    uint first = kPartialsOffset + i * LW_ACCUMULATOR_WORDS;
    uint words[LW_ACCUMULATOR_WORDS];
    [[unroll]] for (uint word = 0u; word < LW_ACCUMULATOR_WORDS; ++word) {
        words[word] = LW_WORD(scratch, first + word);
    }
    return accumulator_of_words(words);
}

void store_partial(uint i, Accumulator a) {
    uint first = kPartialsOffset + i * LW_ACCUMULATOR_WORDS;
    uint words[LW_ACCUMULATOR_WORDS] = words_of_accumulator(a);
    [[unroll]] for (uint word = 0u; word < LW_ACCUMULATOR_WORDS; ++word) {
        LW_WORD(scratch, first + word) = words[word];
    }
}

// What a lane holds of `groups` partials; undefined in lanes from lanes_with_partials() on.
#if LW_ORDERED || defined(LW_SEGMENTED)

Accumulator gather_partials(uint groups, uint vlane) {
    uint each = divide_up(groups, kWorkgroupSize);
    uint first = min(vlane * each, groups - 1u);
    Accumulator total = load_partial(first);
    for (uint i = first + 1u; i < min(first + each, groups); ++i) {
        total = combine(total, load_partial(i));
    }
    return total;
}

uint lanes_with_partials(uint groups) {
    return divide_up(groups, divide_up(groups, kWorkgroupSize));
}

#else

Accumulator gather_partials(uint groups, uint vlane) {
    // Four loads are under way at once: with them the common plans need one round.
    const uint batch = 4u;
    Accumulator total = load_partial(min(vlane, groups - 1u));
    for (uint first = vlane + kWorkgroupSize; first < groups; first += batch * kWorkgroupSize) {
        Accumulator more[batch];
        [[unroll]] for (uint j = 0u; j < batch; ++j) {
            more[j] = load_partial(min(first + j * kWorkgroupSize, groups - 1u));
        }
        [[unroll]] for (uint j = 0u; j < batch; ++j) {
            if (first + j * kWorkgroupSize < groups) total = combine(total, more[j]);
        }
    }
    return total;
}

uint lanes_with_partials(uint groups) { return min(groups, kWorkgroupSize); }

#endif

#endif
