// Bitonic sort of the records that a workgroup holds in registers, without subgroup operations: the twin
// of bitonic_barrier.glsl, which draws the steps.
//
//     fn workgroup_bitonic_sort(lane: Lane, group: Group, items: u32, keys: ptr<function, Keys>,
//                               numbers: ptr<function, Ranks>)
//     fn bitonic_place(vlane: u32, k: u32, base: u32) -> u32
//     fn load_shared(i: u32) -> u32                    sh_words, of kTileItems words at least, for what
//     fn store_shared(i: u32, word: u32)               else the kernel moves between lanes
//
// All lanes call the first, in uniform flow; in this form lane.number is any numbering of the invocations.
// Record k of a lane is at place k * W + lane.number, before and after. Its key is an image, of which the
// bits of kLowMask and kHighMask count; where those are equal, its number does (kNumbers), so numbers
// differ. Records from place `items` on must not be less than any before them, and stay behind. A barrier
// must stand between two calls, and between this and other uses of sh_words. Control barriers: 2, and
// for each stage one for each window, and one for the way back if there was a window.
//
// What differs: lanes, groups and arrays are parameters.
//
// The kernel defines before: LW_FORM_SUBGROUP, LW_KEY_WORDS; kWorkgroupSize, kItems (powers of two, kItems
// at least 2), kNumbers (0: records with equal keys are the same, and numbers stay behind), kLowMask,
// kHighMask (constants); item/key.wgsl's.

//#include "item/key.wgsl"
//#include "subgroup/lane_number.wgsl"

const kTileItems = kWorkgroupSize * kItems;
// Logarithms.
//#if kItems >= 32
const kItemBits = 5u;
//#elif kItems >= 16
const kItemBits = 4u;
//#elif kItems >= 8
const kItemBits = 3u;
//#elif kItems >= 4
const kItemBits = 2u;
//#else
const kItemBits = 1u;
//#endif
const kLaneBits = firstTrailingBit(kWorkgroupSize);

// A word more for each 32: lanes whose places are kItems apart meet in no bank.
const kPlaneWords = kTileItems + kTileItems / 32u;
const kNumberPlane = LW_KEY_WORDS * kPlaneWords;
//#if kNumbers
const kSharedWords = kNumberPlane + kPlaneWords;
//#else
const kSharedWords = kNumberPlane;
//#endif

// One alias for all: naga 30 takes two for two types.
alias Keys = array<Key, kItems>;
alias Ranks = array<u32, kItems>;

// A plane for each word of a record; and what else the kernel moves between lanes.
var<workgroup> sh_words: array<u32, kSharedWords>;

fn load_shared(i: u32) -> u32 { return sh_words[i]; }
fn store_shared(i: u32, word: u32) { sh_words[i] = word; }

fn bitonic_place(vlane: u32, k: u32, base: u32) -> u32 {
    return ((vlane >> base) << (base + kItemBits)) | (k << base) | (vlane & ((1u << base) - 1u));
}

fn bitonic_word(place: u32) -> u32 { return place + place / 32u; }

fn bitonic_less(a: Key, a_number: u32, b: Key, b_number: u32) -> bool {
    let a_low = a.low & kLowMask;
    let b_low = b.low & kLowMask;
//#if kNumbers
    let less = select(a_low < b_low, a_number < b_number, a_low == b_low);
//#else
    let less = a_low < b_low;
//#endif
//#if LW_KEY_WORDS == 2
    let a_high = a.high & kHighMask;
    let b_high = b.high & kHighMask;
    return select(a_high < b_high, less, a_high == b_high);
//#else
    return less;
//#endif
}

// From a window to another. The next move begins with the window that this one ends with.
fn workgroup_bitonic_move(vlane: u32, first: u32, last: u32, keys: ptr<function, Keys>,
                          numbers: ptr<function, Ranks>) {
    for (var k = 0u; k < kItems; k++) {
        let word = bitonic_word(bitonic_place(vlane, k, first));
        sh_words[word] = (*keys)[k].low;
//#if LW_KEY_WORDS == 2
        sh_words[kPlaneWords + word] = (*keys)[k].high;
//#endif
//#if kNumbers
        sh_words[kNumberPlane + word] = (*numbers)[k];
//#endif
    }
    workgroupBarrier();
    for (var k = 0u; k < kItems; k++) {
        let word = bitonic_word(bitonic_place(vlane, k, last));
        (*keys)[k].low = sh_words[word];
//#if LW_KEY_WORDS == 2
        (*keys)[k].high = sh_words[kPlaneWords + word];
//#endif
//#if kNumbers
        (*numbers)[k] = sh_words[kNumberPlane + word];
//#endif
    }
}

// Base 0: turns the blocks of a stage that come out the other way round.
fn bitonic_turn(vlane: u32, stage: u32, keys: ptr<function, Keys>, numbers: ptr<function, Ranks>) {
    for (var k = 0u; k < kItems; k++) {
        let turned = 0u - ((bitonic_place(vlane, k, 0u) >> stage) & 1u);
        (*keys)[k].low ^= turned;
//#if LW_KEY_WORDS == 2
        (*keys)[k].high ^= turned;
//#endif
        (*numbers)[k] ^= turned;
    }
}

// Exchanges between a lane's own records, at distances of the window's lowest `bits` bits.
fn bitonic_exchange_own(bits: u32, keys: ptr<function, Keys>, numbers: ptr<function, Ranks>) {
    for (var i = 1u; i <= kItemBits; i++) {
        if (kItemBits - i < bits) {
            for (var pair = 0u; pair < kItems / 2u; pair++) {
                let k = pair + ((pair >> (kItemBits - i)) << (kItemBits - i));  // a 0 goes in at the bit
                let other = k + (1u << (kItemBits - i));
                let lower = (*keys)[k];
                let upper = (*keys)[other];
                let lower_number = (*numbers)[k];
                let upper_number = (*numbers)[other];
                let swap = bitonic_less(upper, upper_number, lower, lower_number);
                (*keys)[k].low = select(lower.low, upper.low, swap);
                (*keys)[other].low = select(upper.low, lower.low, swap);
//#if LW_KEY_WORDS == 2
                (*keys)[k].high = select(lower.high, upper.high, swap);
                (*keys)[other].high = select(upper.high, lower.high, swap);
//#endif
//#if kNumbers
                (*numbers)[k] = select(lower_number, upper_number, swap);
                (*numbers)[other] = select(upper_number, lower_number, swap);
//#endif
            }
        }
    }
}

// Base 0 before and after: the exchanges at distances of the bits below `bits` for which records move. How
// many bits are left, at most `near`, which is kItemBits at least.
fn workgroup_bitonic_exchange_far(vlane: u32, bits: u32, near: u32, keys: ptr<function, Keys>,
                                  numbers: ptr<function, Ranks>) -> u32 {
    var left = bits;
    var base = 0u;
    while (left > near) {
        left -= kItemBits;
        workgroup_bitonic_move(vlane, base, left, keys, numbers);
        base = left;
        bitonic_exchange_own(kItemBits, keys, numbers);
    }
    if (base != 0u) { workgroup_bitonic_move(vlane, base, 0u, keys, numbers); }
    return left;
}

//#if !LW_FORM_SUBGROUP
fn workgroup_bitonic_sort(lane: Lane, group: Group, items: u32, keys: ptr<function, Keys>,
                          numbers: ptr<function, Ranks>) {
    let vlane = lane.number;
    workgroup_bitonic_move(vlane, kLaneBits, 0u, keys, numbers);
    // The block with all of the items is the first: it comes out the right way round.
    var stage = 1u;
    while ((1u << (stage - 1u)) < items) {
        bitonic_turn(vlane, stage, keys, numbers);
        let bits = workgroup_bitonic_exchange_far(vlane, stage, kItemBits, keys, numbers);
        bitonic_exchange_own(bits, keys, numbers);
        bitonic_turn(vlane, stage, keys, numbers);
        stage += 1u;
    }
    workgroup_bitonic_move(vlane, 0u, kLaneBits, keys, numbers);
}
//#endif
