// Records of a sort, keys with their values, of one tile: loaded, moved to their ranks through workgroup
// memory, and stored where their bins go.
//
//     ranks       2 0 3 1                    of the keys as lanes hold them
//     sh_words    1 3 0 2                    one word of each key or value at a time; barrier
//     out         sh_base[bin] + rank        neighbours in sh_words are neighbours in memory, bin by bin
//
// The kernel defines before: LW_KEY_WORDS, LW_VALUES or not (values besides keys); buffers keys_in,
// keys_out, values_in, values_out (tile/memory.glsl); kSourceBits (of a key in keys_in), kImageIn,
// kImageOut (1: keys in the buffer, else images), kValueWords, kIndices (1: values are numbers of items),
// kWriteKeys (constants); workgroup/rank_*.glsl.
#ifndef LW_TILE_RECORDS_GLSL
#define LW_TILE_RECORDS_GLSL

#include "item/key.glsl"
#include "tile/load_key.glsl"

// What a bin's place in the output is ahead of the rank of its first key.
shared uint sh_base[kBins];

// The keys of the tile that begins with item `first`; those that are not there are zeros.
void load_keys(RankLane lane, uint first, uint items, out Key keys[kItems]) {
    if (items == kTileItems) {
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            keys[k] = load_key(first + tile_place(lane, k));
        }
    } else {
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = tile_place(lane, k);
            keys[k] = key_of_zeros();
            if (place < items) keys[k] = load_key(first + place);
        }
    }
}

void move_lows(Key keys[kItems], uint ranks[kItems], uint items) {
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        if (ranks[k] < items) sh_words[ranks[k]] = keys[k].low;
    }
}

#if LW_KEY_WORDS == 2
void move_highs(Key keys[kItems], uint ranks[kItems], uint items) {
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        if (ranks[k] < items) sh_words[ranks[k]] = keys[k].high;
    }
}
#endif

#ifdef LW_RECORDS_STORE

// After move_lows, sh_base and a barrier. places: where the keys went whose ranks are vlane, vlane + W,
// and so on.
void workgroup_store_keys(uint vlane, Key keys[kItems], uint ranks[kItems], uint items, uint shift,
                          uint bits, out uint places[kItems]) {
    Key sorted[kItems];
    [[unroll]] for (uint k = 0u; k < kItems; ++k) sorted[k].low = sh_words[k * kWorkgroupSize + vlane];
#if LW_KEY_WORDS == 2
    barrier();
    move_highs(keys, ranks, items);
    barrier();
    [[unroll]] for (uint k = 0u; k < kItems; ++k) sorted[k].high = sh_words[k * kWorkgroupSize + vlane];
#endif
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        uint rank = k * kWorkgroupSize + vlane;
        if (rank < items) {
            uint place = sh_base[digit_of(sorted[k], shift, bits)] + rank;
            places[k] = place;
            if (kWriteKeys != 0u) {
                Key key = sorted[k];
                if (kImageOut != 0u) key = key_of_image(key);
#if LW_KEY_WORDS == 2
                LW_WORD(keys_out, 2u * place) = key.low;
                LW_WORD(keys_out, 2u * place + 1u) = key.high;
#else
                LW_WORD(keys_out, place) = key.low;
#endif
            }
        }
    }
}

#ifdef LW_VALUES

// One word of each value.
void load_values(RankLane lane, uint first, uint ranks[kItems], uint items, uint word,
                 out uint values[kItems]) {
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        uint i = first + tile_place(lane, k);
        values[k] = i;
        if (kIndices == 0u && ranks[k] < items) values[k] = LW_WORD(values_in, i * kValueWords + word);
    }
}

// After workgroup_store_keys. values: their first words, loaded before, so that nothing waits for them.
void workgroup_store_values(RankLane lane, uint first, uint ranks[kItems], uint items,
                            uint places[kItems], uint values[kItems]) {
    [[unroll]] for (uint word = 0u; word < kValueWords; ++word) {
        if (word != 0u) load_values(lane, first, ranks, items, word, values);
        barrier();
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            if (ranks[k] < items) sh_words[ranks[k]] = values[k];
        }
        barrier();
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint rank = k * kWorkgroupSize + lane.vlane;
            if (rank < items) LW_WORD(values_out, places[k] * kValueWords + word) = sh_words[rank];
        }
    }
}

#endif

#endif
#endif
