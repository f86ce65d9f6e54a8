// The results of a scan's tile: the prefix of every item, written where the item was read. The twin of
// scan_results.glsl, which draws them.
//
// What differs: the output has one view, of 16-byte vectors. All words of such a vector are one lane's,
// who may write back the others with one of them. Where results of custom types fill no whole vectors,
// it is a view of words (LW_OUTPUT_QUADS 0). Over the input it is the same buffer (LW_IN_PLACE).
//
// The kernel defines before: LW_OUTPUT_QUADS; LW_IN_PLACE, or a buffer named output
// (tile/memory.wgsl); what
// item/result.wgsl asks for; tile/row_sums.wgsl's; kExclusive, kHasInitial (constants, 0 or 1),
// kInitialLow, kInitialHigh (constants: an accumulator's value).

//#include "item/result.wgsl"
//#include "tile/row_sums.wgsl"

const kResultWordsPerVector = kItemsPerVector * kResultWords;

//#if LW_OUTPUT_QUADS
//#if LW_IN_PLACE
fn store_quad(i: u32, quad: vec4<u32>) { input[i] = quad; }
fn store_word(i: u32, bits: u32) { input[i / 4u][i % 4u] = bits; }
//#else
fn store_quad(i: u32, quad: vec4<u32>) { output[i] = quad; }
fn store_word(i: u32, bits: u32) { output[i / 4u][i % 4u] = bits; }
//#endif
//#elif LW_IN_PLACE
fn store_word(i: u32, bits: u32) { input[i] = bits; }
//#else
fn store_word(i: u32, bits: u32) { output[i] = bits; }
//#endif

fn initial_value() -> Accumulator {
//#if LW_CUSTOM
    return accumulator_initial();
//#else
    var a = accumulator_identity();
//#if LW_ACCUMULATOR_BITS == 64
    a.value = vec2<u32>(kInitialLow, kInitialHigh);
//#else
    a.value = kInitialLow;
//#endif
    return a;
//#endif
}

//#if LW_SEGMENTED

fn with_initial(before: Accumulator) -> Accumulator { return before; }

// What an item's segment gives it, of what is combined before the item or up to it.
fn result_in_segment(a: Accumulator, begins: bool) -> Accumulator {
    var given = accumulator_select(kExclusive != 0u && begins, accumulator_identity(), a);
    given.head = 0u;
    return accumulator_select(kHasInitial != 0u, combine(initial_value(), given), given);
}

//#else

// What all items before the tile combine to, the initial value first, from what the tiles before it
// do.
fn with_initial(before: Accumulator) -> Accumulator {
    return accumulator_select(kHasInitial != 0u, combine(initial_value(), before), before);
}

//#endif

// Writes the tile's results. `before` is what everything before the tile combines to, prefixes what
// the values of the tile before each row do.
fn store_tile(tile: Tile, lane: Lane, group: Group, vectors: ptr<function, RowVectors>,
              prefixes: ptr<function, ScanValues>, before: Accumulator) {
    for (var row = 0u; row < kScanRows; row++) {
        let i = vector_of_row(row, lane, group, false);
        let whole = tile.items == kTileItems;
        let items = select(items_of_vector(tile, i), kItemsPerVector, whole);
        let base = index_of_vector(tile, i);
        let heads = heads_of_items(tile, i, items);
        // The first result of an exclusive scan without an initial value has nothing to give.
        let first_item = select(0u, tile.items - 1u, kReverse != 0u);
        let maybe_nothing = kExclusive != 0u && kHasInitial == 0u;
        var running = combine(before, (*prefixes)[row]);
        var words: array<u32, kResultWordsPerVector>;
        for (var j = 0u; j < kItemsPerVector; j++) {
            let item = item_in_order(j);
            let loaded = item_or_identity((*vectors)[row], item, items, base);
            let with_item = combine(running, headed(loaded, heads, item));
            var given = accumulator_select(kExclusive != 0u, running, with_item);
//#if LW_SEGMENTED
            let is_first = is_head(heads, item);
            given = result_in_segment(given, is_first);
//#else
            let is_first = tile.first && i * kItemsPerVector + item == first_item;
//#endif
            var result_words = words_of_result(given, !(maybe_nothing && is_first));
            for (var word = 0u; word < kResultWords; word++) {
                words[item * kResultWords + word] = result_words[word];
            }
            running = with_item;
        }
        let first = (tile.number * kTileVectors + i) * kResultWordsPerVector;
//#if LW_OUTPUT_QUADS
        if (items == kItemsPerVector) {
            for (var word = 0u; word < kResultWordsPerVector; word += 4u) {
                store_quad((first + word) / 4u, vec4<u32>(words[word], words[word + 1u],
                                                          words[word + 2u], words[word + 3u]));
            }
        } else {
            for (var word = 0u; word < kResultWordsPerVector; word++) {
                if (word < items * kResultWords) { store_word(first + word, words[word]); }
            }
        }
//#else
        for (var word = 0u; word < kResultWordsPerVector; word++) {
            if (word < items * kResultWords) { store_word(first + word, words[word]); }
        }
//#endif
    }
}
