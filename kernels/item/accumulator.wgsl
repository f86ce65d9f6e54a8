// Accumulator: what a lane holds for the items that it has seen, and how two of them combine. The
// twin of accumulator.glsl, which explains the functions.
//
// What differs: there is no `precise` (WGSL lets compilers fuse and rearrange float arithmetic), and no
// arithmetic in f64.
//
// The kernel defines before: LW_CUSTOM; LW_ACCUMULATOR_BITS, LW_INDEX_BITS, LW_FORM_SUBGROUP, LW_SEGMENTED;
// kOperator, kElementKind, kElementBits (constants).

//#if LW_CUSTOM
//#include "item/custom.wgsl"
//#else

//#include "item/names.wgsl"
//#include "item/order.wgsl"
//#include "item/select.wgsl"
//#include "item/words64.wgsl"

//#if LW_ACCUMULATOR_BITS == 64
alias AccumulatorValue = vec2<u32>;
//#else
alias AccumulatorValue = u32;
//#endif

//#if LW_INDEX_BITS == 64
alias Index = vec2<u32>;
//#else
alias Index = u32;
//#endif

struct Accumulator {
    value: AccumulatorValue,  // min, max, argmin, argmax: the order image (item/order.wgsl)
//#if LW_INDEX_BITS != 0
    index: Index,
//#endif
//#if LW_SEGMENTED
    head: u32,
//#endif
}

fn operator_orders() -> bool {
    return kOperator == kMin || kOperator == kMax || kOperator == kArgmin || kOperator == kArgmax;
}

// All operators, of which one is left when the constants are known.
fn combine32(a: u32, b: u32) -> u32 {
    let float_sum = bitcast<u32>(bitcast<f32>(a) + bitcast<f32>(b));
    let float_product = bitcast<u32>(bitcast<f32>(a) * bitcast<f32>(b));
    let is_float = kElementKind == kFloat;
    var all_of_them = min(a, b);
    all_of_them = select(all_of_them, select(a + b, float_sum, is_float), kOperator == kSum);
    all_of_them = select(all_of_them, select(a * b, float_product, is_float), kOperator == kProduct);
    all_of_them = select(all_of_them, a & b, kOperator == kAnd);
    all_of_them = select(all_of_them, a | b, kOperator == kOr);
    return select(all_of_them, a ^ b, kOperator == kXor);
}

fn combine64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    var all_of_them = min64(a, b);
    all_of_them = select(all_of_them, add64(a, b), kOperator == kSum);
    all_of_them = select(all_of_them, multiply64(a, b), kOperator == kProduct);
    all_of_them = select(all_of_them, a & b, kOperator == kAnd);
    all_of_them = select(all_of_them, a | b, kOperator == kOr);
    return select(all_of_them, a ^ b, kOperator == kXor);
}

//#if LW_INDEX_BITS == 0
fn accumulator_of(value: AccumulatorValue) -> Accumulator {
    var a: Accumulator;
    a.value = value;
    return a;
}
//#else
fn accumulator_of(value: AccumulatorValue, index: Index) -> Accumulator {
    var a: Accumulator;
    a.value = value;
    a.index = index;
    return a;
}
//#endif

fn accumulator_select(condition: bool, yes: Accumulator, no: Accumulator) -> Accumulator {
    var chosen: Accumulator;
    chosen.value = select(no.value, yes.value, condition);
//#if LW_INDEX_BITS != 0
    chosen.index = select(no.index, yes.index, condition);
//#endif
//#if LW_SEGMENTED
    chosen.head = select(no.head, yes.head, condition);
//#endif
    return chosen;
}

//#include "item/segmented.wgsl"

//#if LW_INDEX_BITS != 0

//#if LW_ACCUMULATOR_BITS == 64
fn value_less(a: AccumulatorValue, b: AccumulatorValue) -> bool { return less64(a, b); }
fn value_equal(a: AccumulatorValue, b: AccumulatorValue) -> bool { return all(a == b); }
//#else
fn value_less(a: AccumulatorValue, b: AccumulatorValue) -> bool { return a < b; }
fn value_equal(a: AccumulatorValue, b: AccumulatorValue) -> bool { return a == b; }
//#endif

//#if LW_INDEX_BITS == 64
fn index_less(a: Index, b: Index) -> bool { return less64(a, b); }
//#else
fn index_less(a: Index, b: Index) -> bool { return a < b; }
//#endif

fn combine(a: Accumulator, b: Accumulator) -> Accumulator {
    let second = select(value_less(b.value, a.value), index_less(b.index, a.index),
                        value_equal(a.value, b.value));
    return joined(a, b, accumulator_select(second, b, a));
}

fn combine_in_order(a: Accumulator, b: Accumulator) -> Accumulator {
    return joined(a, b, accumulator_select(value_less(b.value, a.value), b, a));
}

//#else

fn combine(a: Accumulator, b: Accumulator) -> Accumulator {
//#if LW_ACCUMULATOR_BITS == 64
    return joined(a, b, accumulator_of(combine64(a.value, b.value)));
//#else
    return joined(a, b, accumulator_of(combine32(a.value, b.value)));
//#endif
}

fn combine_in_order(a: Accumulator, b: Accumulator) -> Accumulator { return combine(a, b); }

//#endif

// The identity of a 32-bit value; min, max, argmin and argmax work on images, of which no item's is
// above this one.
fn identity32() -> u32 {
    let is_float = kElementKind == kFloat;
    var all_of_them = 0u;
    // -0: what +0 would make +0.
    all_of_them = select(all_of_them, 0x80000000u, kOperator == kSum && is_float);
    all_of_them = select(all_of_them, select(1u, 0x3f800000u, is_float), kOperator == kProduct);
    return select(all_of_them, 0xffffffffu, operator_orders() || kOperator == kAnd);
}

fn identity64() -> vec2<u32> {
    let product = select(vec2<u32>(0u), vec2<u32>(1u, 0u), kOperator == kProduct);
    return select(product, vec2<u32>(0xffffffffu), operator_orders() || kOperator == kAnd);
}

fn accumulator_identity() -> Accumulator {
    var a: Accumulator;
//#if LW_ACCUMULATOR_BITS == 64
    a.value = identity64();
//#else
    a.value = identity32();
//#endif
//#if LW_INDEX_BITS != 0
    a.index = Index(0xffffffffu);
//#endif
    return a;
}

// Of the value and its index, without the head.
const kPlainWords = LW_ACCUMULATOR_BITS / 32u + LW_INDEX_BITS / 32u;
const kAccumulatorWords = kPlainWords + LW_SEGMENTED;
alias AccumulatorWords = array<u32, kAccumulatorWords>;

fn words_of_accumulator(a: Accumulator) -> AccumulatorWords {
    var words: AccumulatorWords;
//#if LW_ACCUMULATOR_BITS == 64
    words[0] = a.value.x;
    words[1] = a.value.y;
//#else
    words[0] = a.value;
//#endif
//#if LW_INDEX_BITS == 64
    words[kPlainWords - 2u] = a.index.x;
    words[kPlainWords - 1u] = a.index.y;
//#elif LW_INDEX_BITS == 32
    words[kPlainWords - 1u] = a.index;
//#endif
//#if LW_SEGMENTED
    words[kPlainWords] = a.head;
//#endif
    return words;
}

fn accumulator_of_words(words: AccumulatorWords) -> Accumulator {
    var a: Accumulator;
//#if LW_ACCUMULATOR_BITS == 64
    a.value = vec2<u32>(words[0], words[1]);
//#else
    a.value = words[0];
//#endif
//#if LW_INDEX_BITS == 64
    a.index = vec2<u32>(words[kPlainWords - 2u], words[kPlainWords - 1u]);
//#elif LW_INDEX_BITS == 32
    a.index = words[kPlainWords - 1u];
//#endif
//#if LW_SEGMENTED
    a.head = words[kPlainWords];
//#endif
    return a;
}

//#if LW_FORM_SUBGROUP
// The mask must be the same in the whole workgroup.
fn subgroup_shuffle_xor(a: Accumulator, mask: u32) -> Accumulator {
    var other: Accumulator;
    other.value = subgroupShuffleXor(a.value, mask);
//#if LW_INDEX_BITS != 0
    other.index = subgroupShuffleXor(a.index, mask);
//#endif
//#if LW_SEGMENTED
    other.head = subgroupShuffleXor(a.head, mask);
//#endif
    return other;
}

fn subgroup_shuffle(a: Accumulator, lane: u32) -> Accumulator {
    var other: Accumulator;
    other.value = subgroupShuffle(a.value, lane);
//#if LW_INDEX_BITS != 0
    other.index = subgroupShuffle(a.index, lane);
//#endif
//#if LW_SEGMENTED
    other.head = subgroupShuffle(a.head, lane);
//#endif
    return other;
}
//#endif

//#endif
