// Records of a sort, keys with their values, of one tile: loaded, moved to their ranks through workgroup
// memory, and stored where their bins go. The twin of records.glsl, which draws that.
//
// What differs: what lanes move goes through load_shared and store_shared of workgroup/rank_*.wgsl, and
// sh_base through load_base and store_base: with LW_LOOK_BACK it is of atomics, as sort_lookback counts
// in it.
//
// The kernel defines before: LW_KEY_WORDS, LW_VALUES (1: values besides keys), LW_RECORDS_STORE (0:
// records are loaded and moved only), with it LW_LOOK_BACK; buffers keys_in, keys_out, values_in, values_out, of u32
// (tile/memory.wgsl); kSourceBits (of a key in keys_in), kImageIn, kImageOut (1: keys in the buffer,
// else images), kValueWords, kIndices (1: values are numbers of items), kWriteKeys (constants);
// workgroup/rank_*.wgsl.

//#include "item/key.wgsl"
//#include "tile/load_key.wgsl"

// The keys of the tile that begins with item `first`; those that are not there are zeros.
fn load_keys(lane: RankLane, first: u32, items: u32) -> Keys {
    var keys: Keys;
    if (items == kTileItems) {
        for (var k = 0u; k < kItems; k++) { keys[k] = load_key(first + tile_place(lane, k)); }
    } else {
        for (var k = 0u; k < kItems; k++) {
            let place = tile_place(lane, k);
            keys[k] = key_of_zeros();
            if (place < items) { keys[k] = load_key(first + place); }
        }
    }
    return keys;
}

fn move_lows(keys: ptr<function, Keys>, ranks: ptr<function, Ranks>, items: u32) {
    for (var k = 0u; k < kItems; k++) {
        if ((*ranks)[k] < items) { store_shared((*ranks)[k], (*keys)[k].low); }
    }
}

//#if LW_KEY_WORDS == 2
fn move_highs(keys: ptr<function, Keys>, ranks: ptr<function, Ranks>, items: u32) {
    for (var k = 0u; k < kItems; k++) {
        if ((*ranks)[k] < items) { store_shared((*ranks)[k], (*keys)[k].high); }
    }
}
//#endif

//#if LW_RECORDS_STORE

// What a bin's place in the output is ahead of the rank of its first key.
//#if LW_LOOK_BACK
var<workgroup> sh_base: array<atomic<u32>, kBins>;

fn load_base(bin: u32) -> u32 { return atomicLoad(&sh_base[bin]); }
fn store_base(bin: u32, base: u32) { atomicStore(&sh_base[bin], base); }
//#else
var<workgroup> sh_base: array<u32, kBins>;

fn load_base(bin: u32) -> u32 { return sh_base[bin]; }
fn store_base(bin: u32, base: u32) { sh_base[bin] = base; }
//#endif

// After move_lows, sh_base and a barrier. places: where the keys went whose ranks are vlane, vlane + W,
// and so on.
fn workgroup_store_keys(vlane: u32, keys: ptr<function, Keys>, ranks: ptr<function, Ranks>, items: u32,
                        shift: u32, bits: u32, places: ptr<function, Ranks>) {
    var sorted: Keys;
    for (var k = 0u; k < kItems; k++) { sorted[k].low = load_shared(k * kWorkgroupSize + vlane); }
//#if LW_KEY_WORDS == 2
    workgroupBarrier();
    move_highs(keys, ranks, items);
    workgroupBarrier();
    for (var k = 0u; k < kItems; k++) { sorted[k].high = load_shared(k * kWorkgroupSize + vlane); }
//#endif
    for (var k = 0u; k < kItems; k++) {
        let rank = k * kWorkgroupSize + vlane;
        if (rank < items) {
            let place = load_base(digit_of(sorted[k], shift, bits)) + rank;
            (*places)[k] = place;
//#if kWriteKeys
            var key = sorted[k];
//#if kImageOut
            key = key_of_image(key);
//#endif
//#if LW_KEY_WORDS == 2
            keys_out[2u * place] = key.low;
            keys_out[2u * place + 1u] = key.high;
//#else
            keys_out[place] = key.low;
//#endif
//#endif
        }
    }
}

//#if LW_VALUES

// One word of each value.
fn load_values(lane: RankLane, first: u32, ranks: ptr<function, Ranks>, items: u32, word: u32) -> Ranks {
    var values: Ranks;
    for (var k = 0u; k < kItems; k++) {
        let i = first + tile_place(lane, k);
//#if kIndices
        values[k] = i;
//#else
        if ((*ranks)[k] < items) { values[k] = values_in[i * kValueWords + word]; }
//#endif
    }
    return values;
}

// After workgroup_store_keys. values: their first words, loaded before, so that nothing waits for them.
fn workgroup_store_values(lane: RankLane, first: u32, ranks: ptr<function, Ranks>, items: u32,
                          places: ptr<function, Ranks>, values: ptr<function, Ranks>) {
    for (var word = 0u; word < kValueWords; word++) {
        if (word != 0u) { *values = load_values(lane, first, ranks, items, word); }
        workgroupBarrier();
        for (var k = 0u; k < kItems; k++) {
            if ((*ranks)[k] < items) { store_shared((*ranks)[k], (*values)[k]); }
        }
        workgroupBarrier();
        for (var k = 0u; k < kItems; k++) {
            let rank = k * kWorkgroupSize + lane.vlane;
            if (rank < items) { values_out[(*places)[k] * kValueWords + word] = load_shared(rank); }
        }
    }
}

//#endif
//#endif
