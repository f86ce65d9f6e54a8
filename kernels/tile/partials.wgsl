// Partials: one accumulator of each workgroup, in the order of the workgroups, in scratch. The twin of
// partials.glsl, which draws them.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_ORDERED; a buffer named scratch (tile/memory.wgsl); kWorkgroupSize,
// kPartialsOffset (words) (constants).

//#include "item/accumulator.wgsl"
//#include "tile/share.wgsl"

fn load_partial(i: u32) -> Accumulator {
    let first = kPartialsOffset + i * kAccumulatorWords;
    var words: AccumulatorWords;
    for (var word = 0u; word < kAccumulatorWords; word++) { words[word] = scratch[first + word]; }
    return accumulator_of_words(words);
}

fn store_partial(i: u32, a: Accumulator) {
    let first = kPartialsOffset + i * kAccumulatorWords;
    var words = words_of_accumulator(a);
    for (var word = 0u; word < kAccumulatorWords; word++) { scratch[first + word] = words[word]; }
}

// What a lane holds of `groups` partials; undefined in lanes from lanes_with_partials() on.
//#if LW_ORDERED || LW_SEGMENTED

fn gather_partials(groups: u32, vlane: u32) -> Accumulator {
    let each = divide_up(groups, kWorkgroupSize);
    let first = min(vlane * each, groups - 1u);
    var total = load_partial(first);
    for (var i = first + 1u; i < min(first + each, groups); i++) {
        total = combine(total, load_partial(i));
    }
    return total;
}

fn lanes_with_partials(groups: u32) -> u32 {
    return divide_up(groups, divide_up(groups, kWorkgroupSize));
}

//#else

fn gather_partials(groups: u32, vlane: u32) -> Accumulator {
    // Four loads are under way at once: with them the common plans need one round.
    const batch = 4u;
    var total = load_partial(min(vlane, groups - 1u));
    for (var first = vlane + kWorkgroupSize; first < groups; first += batch * kWorkgroupSize) {
        var more: array<Accumulator, batch>;
        for (var j = 0u; j < batch; j++) {
            more[j] = load_partial(min(first + j * kWorkgroupSize, groups - 1u));
        }
        for (var j = 0u; j < batch; j++) {
            if (first + j * kWorkgroupSize < groups) { total = combine(total, more[j]); }
        }
    }
    return total;
}

fn lanes_with_partials(groups: u32) -> u32 { return min(groups, kWorkgroupSize); }

//#endif
