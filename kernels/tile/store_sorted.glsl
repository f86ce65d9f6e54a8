// Records of a sort that have their places: keys leave as the caller holds them, and values are fetched
// by the numbers of their items.
//
//     void workgroup_store_sorted(uint vlane, uint first, uint places[kItems], Key keys[kItems],
//                                 uint numbers[kItems], uint items)
//
// All lanes call it, in uniform flow; vlane is any numbering of the invocations. Record k of a lane is
// there where places[k] < items: its image goes to keys_out at first + places[k] as a key, the value of
// item first + numbers[k] to the same place of values_out. Keys of 8 and 16 bits meet in words:
//
//     sh_words    a b c d | e f . .       one for each place; barrier
//     keys_out    abcd      ef..          a lane of each word; what the last one has past the items stays
//
// so a barrier must stand between other uses of sh_words and this, and `first` must be 0. Control barriers:
// 1 for such keys, else none.
//
// The kernel defines before: LW_KEY_WORDS, LW_VALUES or not (values besides keys); buffers keys_out,
// values_in, values_out (tile/memory.glsl); sh_words (a word for each place of the tile); kWorkgroupSize,
// kItems, kValueWords, kIndices (1: values are numbers of items),
// kWriteKeys (constants); item/key.glsl's.
#ifndef LW_TILE_STORE_SORTED_GLSL
#define LW_TILE_STORE_SORTED_GLSL

#include "item/key.glsl"

void store_key(uint place, Key image) {
    Key key = key_of_image(image);
#if LW_KEY_WORDS == 2
    LW_WORD(keys_out, 2u * place) = key.low;
    LW_WORD(keys_out, 2u * place + 1u) = key.high;
#else
    LW_WORD(keys_out, place) = key.low;
#endif
}

void workgroup_store_sorted(uint vlane, uint first, uint places[kItems], Key keys[kItems],
                            uint numbers[kItems], uint items) {
    if (kWriteKeys != 0u) {
        if (kKeyBits >= 32u) {
            [[unroll]] for (uint k = 0u; k < kItems; ++k) {
                if (places[k] < items) store_key(first + places[k], keys[k]);
            }
        } else {
            [[unroll]] for (uint k = 0u; k < kItems; ++k) {
                if (places[k] < items) sh_words[places[k]] = key_of_image(keys[k]).low;
            }
            barrier();
            const uint per_word = 32u / (kKeyBits < 32u ? kKeyBits : 32u);
            for (uint i = vlane; i * per_word < items; i += kWorkgroupSize) {
                uint there = min(per_word, items - i * per_word);
                uint word = there < per_word ? LW_WORD(keys_out, i) : 0u;
                for (uint j = 0u; j < there; ++j) {
                    word = bitfieldInsert(word, sh_words[i * per_word + j], int(j * kKeyBits), int(kKeyBits));
                }
                LW_WORD(keys_out, i) = word;
            }
        }
    }
#ifdef LW_VALUES
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        if (places[k] < items) {
            uint place = first + places[k];
            uint number = first + numbers[k];
            [[unroll]] for (uint word = 0u; word < kValueWords; ++word) {
                uint value = number;
                if (kIndices == 0u) value = LW_WORD(values_in, number * kValueWords + word);
                LW_WORD(values_out, place * kValueWords + word) = value;
            }
        }
    }
#endif
}

#endif
