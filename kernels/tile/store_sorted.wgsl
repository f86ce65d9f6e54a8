// Records of a sort that have their places: keys leave as the caller holds them, and values are fetched
// by the numbers of their items: the twin of store_sorted.glsl, which draws that.
//
//     fn workgroup_store_sorted(vlane: u32, first: u32, places: ptr<function, Ranks>,
//                               keys: ptr<function, Keys>, numbers: ptr<function, Ranks>, items: u32)
//
// All lanes call it, in uniform flow; vlane is any numbering of the invocations. Where keys are narrow a
// barrier must stand between other uses of workgroup memory and this, and `first` must be 0.
//
// What differs: what lanes hand over goes through load_shared and store_shared.
//
// The kernel defines before: LW_KEY_WORDS, LW_VALUES (1: values besides keys); buffers keys_out,
// values_in, values_out, of u32 (tile/memory.wgsl); Keys, Ranks (arrays of kItems keys and words),
// load_shared, store_shared (a word for each place of the tile); kWorkgroupSize, kItems, kValueWords, kIndices (1: values are numbers of items), kWriteKeys (constants);
// item/key.wgsl's.

//#include "item/key.wgsl"

//#if kKeyBits < 32
const kPerWord = 32u / kKeyBits;
//#endif

fn store_key(place: u32, image: Key) {
    let key = key_of_image(image);
//#if LW_KEY_WORDS == 2
    keys_out[2u * place] = key.low;
    keys_out[2u * place + 1u] = key.high;
//#else
    keys_out[place] = key.low;
//#endif
}

fn workgroup_store_sorted(vlane: u32, first: u32, places: ptr<function, Ranks>,
                          keys: ptr<function, Keys>, numbers: ptr<function, Ranks>, items: u32) {
//#if kWriteKeys && kKeyBits >= 32
    for (var k = 0u; k < kItems; k++) {
        if ((*places)[k] < items) { store_key(first + (*places)[k], (*keys)[k]); }
    }
//#elif kWriteKeys
    for (var k = 0u; k < kItems; k++) {
        if ((*places)[k] < items) { store_shared((*places)[k], key_of_image((*keys)[k]).low); }
    }
    workgroupBarrier();
    for (var i = vlane; i * kPerWord < items; i += kWorkgroupSize) {
        let there = min(kPerWord, items - i * kPerWord);
        var word = 0u;
        if (there < kPerWord) { word = keys_out[i]; }
        for (var j = 0u; j < kPerWord; j++) {
            if (j < there) {
                word = insertBits(word, load_shared(i * kPerWord + j), j * kKeyBits, kKeyBits);
            }
        }
        keys_out[i] = word;
    }
//#endif
//#if LW_VALUES
    for (var k = 0u; k < kItems; k++) {
        if ((*places)[k] < items) {
            let place = first + (*places)[k];
            let number = first + (*numbers)[k];
            for (var word = 0u; word < kValueWords; word++) {
//#if kIndices
                values_out[place * kValueWords + word] = number;
//#else
                values_out[place * kValueWords + word] = values_in[number * kValueWords + word];
//#endif
            }
        }
    }
//#endif
}
