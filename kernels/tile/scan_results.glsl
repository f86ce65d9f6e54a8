// The results of a scan's tile: the prefix of every item, written where the item was read.
//
//     before the tile        b
//     before a row's vector    p            workgroup/scan_*.glsl
//     its items                  x y z w
//     inclusive                bpx bpxy bpxyz bpxyzw
//     exclusive                bp bpx bpxy bpxyz
//
// Of segments (LW_SEGMENTED) each begins with the initial value, or an exclusive one with nothing.
//
// The kernel defines before: LW_OUTPUT_BINDING; what item/result.glsl asks for; tile/row_sums.glsl's;
// kExclusive, kHasInitial (constants, 0 or 1), kInitialLow, kInitialHigh (constants: an accumulator's
// value).
#ifndef LW_TILE_SCAN_RESULTS_GLSL
#define LW_TILE_SCAN_RESULTS_GLSL

#include "item/result.glsl"
#include "tile/row_sums.glsl"

const uint kResultWordsPerVector = kItemsPerVector * LW_RESULT_WORDS;

#ifdef LW_DEVICE_ADDRESS
layout(buffer_reference, std430, buffer_reference_align = 16) writeonly buffer output_quads {
    uvec4 at[];
};
layout(buffer_reference, std430, buffer_reference_align = 4) writeonly buffer output_words {
    uint at[];
};
#define LW_OUTPUT_QUAD(tile, i) output_quads(output_place(tile)).at[i]
#define LW_OUTPUT_WORD(tile, i) output_words(output_place(tile)).at[i]
uvec2 output_place(uint tile) {
    return add64(parameters.addresses[LW_OUTPUT_BINDING],
                 multiply32(tile, 4u * kResultWordsPerVector * kTileVectors));
}
#else
layout(set = 0, binding = LW_OUTPUT_BINDING, std430) writeonly buffer output_quads_block {
    uvec4 at[];
} output_quads;
// The same buffer once more: the last results may be no whole quad.
layout(set = 0, binding = LW_OUTPUT_BINDING, std430) writeonly buffer output_words_block {
    uint at[];
} output_words;
#define LW_OUTPUT_QUAD(tile, i) output_quads.at[(tile) * (kTileItems * LW_RESULT_WORDS / 4u) + (i)]
#define LW_OUTPUT_WORD(tile, i) output_words.at[(tile) * (kTileItems * LW_RESULT_WORDS) + (i)]
#endif

Accumulator initial_value() {
#ifdef LW_CUSTOM
    return accumulator_initial();
#else
    Accumulator a = accumulator_identity();
#if LW_ACCUMULATOR_BITS == 64
    a.value = uvec2(kInitialLow, kInitialHigh);
#else
    a.value = kInitialLow;
#endif
    return a;
#endif
}

#ifdef LW_SEGMENTED

Accumulator with_initial(Accumulator before) { return before; }

// What an item's segment gives it, of what is combined before the item or up to it.
Accumulator result_in_segment(Accumulator a, bool begins) {
    a = accumulator_select(kExclusive != 0u && begins, accumulator_identity(), a);
    a.head = 0u;
    if (kHasInitial != 0u) a = combine(initial_value(), a);
    return a;
}

#else

// What all items before the tile combine to, the initial value first, from what the tiles before it
// do.
Accumulator with_initial(Accumulator before) {
    return kHasInitial != 0u ? combine(initial_value(), before) : before;
}

#endif

// The results of a vector of which `items` are there. `running` is what everything before it combines to;
// `maybe_first`: its item `first_item` may be the first of the scan, or any the first of a segment. With `whole` all items are there.
uint[kResultWordsPerVector] words_of_results(Vector vector, uint heads, uint items, uvec2 base,
                                             Accumulator running, bool maybe_first, uint first_item,
                                             const bool whole) {
    uint words[kResultWordsPerVector];
    [[unroll]] for (uint j = 0u; j < kItemsPerVector; ++j) {
        uint item = item_in_order(j);
        Accumulator with_item;
#ifdef LW_CUSTOM
        if (whole) {
            with_item = headed(item_held(vector, item, base), heads, item);
            with_item = j == 0u ? combine(running, with_item) : combine_held(running, with_item);
        } else
#endif
        {
            with_item = item_or_identity(vector, item, items, base);
            with_item = combine(running, headed(with_item, heads, item));
        }
        Accumulator given = accumulator_select(kExclusive != 0u, running, with_item);
#ifdef LW_SEGMENTED
        bool is_first = is_head(heads, item);
        given = result_in_segment(given, is_first);
#else
        bool is_first = item == first_item;
#endif
        uint result[LW_RESULT_WORDS] = words_of_result(given, !(maybe_first && is_first));
        [[unroll]] for (uint word = 0u; word < LW_RESULT_WORDS; ++word) {
            // No index that is not a constant: the array stays in registers.
            if (kReverse != 0u) {
                words[(kItemsPerVector - 1u - j) * LW_RESULT_WORDS + word] = result[word];
            } else {
                words[j * LW_RESULT_WORDS + word] = result[word];
            }
        }
        running = with_item;
    }
    return words;
}

// Writes the tile's results. `before` is what everything before the tile combines to, prefixes what
// the values of the tile before each row do.
void store_tile(Tile tile, uint vlane, Vector vectors[kScanRows],
                Accumulator prefixes[kScanRows], Accumulator before) {
    [[unroll]] for (uint row = 0u; row < kScanRows; ++row) {
        uint i = vector_of_row(row, vlane, false);
        bool whole = tile.items == kTileItems;
        uint items = whole ? kItemsPerVector : items_of_vector(tile, i);
        uvec2 base = index_of_vector(tile, i);
        uint heads = heads_of_items(tile, i, items);
        // The first result of an exclusive scan without an initial value has nothing to give.
        uint first_item = (kReverse != 0u ? tile.items - 1u : 0u) - i * kItemsPerVector;
#ifdef LW_SEGMENTED
        bool maybe_first = kExclusive != 0u && kHasInitial == 0u;
#else
        bool maybe_first = kExclusive != 0u && kHasInitial == 0u && tile.first;
#endif
        Accumulator running = combine(before, prefixes[row]);
        uint words[kResultWordsPerVector];
#ifdef LW_CUSTOM
        if (items == kItemsPerVector) {
            words = words_of_results(vectors[row], heads, items, base, running, maybe_first,
                                     first_item, true);
        } else
#endif
        {
            words = words_of_results(vectors[row], heads, items, base, running, maybe_first,
                                     first_item, false);
        }
        if (kResultWordsPerVector % 4u == 0u && (whole || items == kItemsPerVector)) {
            [[unroll]] for (uint q = 0u; q < kResultWordsPerVector / 4u; ++q) {
                LW_OUTPUT_QUAD(tile.number, i * (kResultWordsPerVector / 4u) + q) =
                    uvec4(words[4u * q], words[4u * q + 1u], words[4u * q + 2u],
                          words[4u * q + 3u]);
            }
        } else {
            [[unroll]] for (uint word = 0u; word < kResultWordsPerVector; ++word) {
                if (word < items * LW_RESULT_WORDS) {
                    LW_OUTPUT_WORD(tile.number, i * kResultWordsPerVector + word) = words[word];
                }
            }
        }
    }
}

#endif
