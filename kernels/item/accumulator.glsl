// Accumulator: what a lane holds for the items that it has seen, and how two of them combine. These
// are the stock types and operators; those of the caller (item/custom.glsl, LW_CUSTOM) take their place,
// with the same functions:
//
//   combine(a, b)            b's items join a's
//   combine_in_order(a, b)   the same where all of b's items come after a's in the input
//   accumulator_identity()   changes nothing that it is combined with
//   accumulator_select(condition, yes, no)
//   words_of_accumulator(a), accumulator_of_words(w)   its LW_ACCUMULATOR_WORDS words, in memory
//   subgroup_shuffle_xor(a, mask)   the accumulator of lane (own ^ mask)
//   subgroup_shuffle(a, lane)       the accumulator of a lane
//
// reduce needs no identity and makes none; scans put it where there is no item.
//
// The kernel defines before:
//   LW_ACCUMULATOR_BITS      32 or 64: words of the value
//   LW_ACCUMULATOR_FLOAT64   1: sums and products of floats are formed in 64-bit floating point
//   LW_INDEX_BITS            0; 32 or 64: argmin and argmax, with an index of so many bits
//   LW_SEGMENTED             where it is defined: accumulators know of segments (item/segmented.glsl)
//   kOperator, kElementKind, kElementBits (constants)
#ifndef LW_ITEM_ACCUMULATOR_GLSL
#define LW_ITEM_ACCUMULATOR_GLSL

#ifdef LW_CUSTOM
#include "item/custom.glsl"
#else

#include "item/names.glsl"
#include "item/order.glsl"
#include "item/select.glsl"
#include "item/words64.glsl"

#if LW_ACCUMULATOR_BITS == 64
#define AccumulatorValue uvec2
#else
#define AccumulatorValue uint
#endif

#if LW_INDEX_BITS == 64
#define Index uvec2
#else
#define Index uint
#endif

struct Accumulator {
    AccumulatorValue value;  // min, max, argmin, argmax: the order image (item/order.glsl)
#if LW_INDEX_BITS != 0
    Index index;
#endif
#ifdef LW_SEGMENTED
    uint head;
#endif
};

bool operator_orders() {
    return kOperator == kMin || kOperator == kMax || kOperator == kArgmin || kOperator == kArgmax;
}

// All operators, of which one is left when the constants are known.
uint combine32(uint a, uint b) {
    // precise: the order of combination is promised, so nobody may rearrange it.
    precise float float_sum = uintBitsToFloat(a) + uintBitsToFloat(b);
    precise float float_product = uintBitsToFloat(a) * uintBitsToFloat(b);
    bool is_float = kElementKind == kFloat;
    uint all = min(a, b);
    all = select(kOperator == kSum, select(is_float, floatBitsToUint(float_sum), a + b), all);
    all = select(kOperator == kProduct, select(is_float, floatBitsToUint(float_product), a * b),
                 all);
    all = select(kOperator == kAnd, a & b, all);
    all = select(kOperator == kOr, a | b, all);
    return select(kOperator == kXor, a ^ b, all);
}

uvec2 combine64(uvec2 a, uvec2 b) {
#if LW_ACCUMULATOR_FLOAT64
    precise double double_sum = packDouble2x32(a) + packDouble2x32(b);
    precise double double_product = packDouble2x32(a) * packDouble2x32(b);
    uvec2 sum = unpackDouble2x32(double_sum);
    uvec2 product = unpackDouble2x32(double_product);
#else
    uvec2 sum = add64(a, b);
    uvec2 product = multiply64(a, b);
#endif
    uvec2 all = min64(a, b);
    all = select(kOperator == kSum, sum, all);
    all = select(kOperator == kProduct, product, all);
    all = select(kOperator == kAnd, a & b, all);
    all = select(kOperator == kOr, a | b, all);
    return select(kOperator == kXor, a ^ b, all);
}

#ifndef LW_SEGMENTED
#define accumulator_of Accumulator
#elif LW_INDEX_BITS != 0
Accumulator accumulator_of(AccumulatorValue value, Index index) { return Accumulator(value, index, 0u); }
#else
Accumulator accumulator_of(AccumulatorValue value) { return Accumulator(value, 0u); }
#endif

Accumulator accumulator_select(bool condition, Accumulator yes, Accumulator no) {
    no.value = select(condition, yes.value, no.value);
#if LW_INDEX_BITS != 0
    no.index = select(condition, yes.index, no.index);
#endif
#ifdef LW_SEGMENTED
    no.head = select(condition, yes.head, no.head);
#endif
    return no;
}

#include "item/segmented.glsl"

#if LW_INDEX_BITS != 0

#if LW_ACCUMULATOR_BITS == 64
bool value_less(AccumulatorValue a, AccumulatorValue b) { return less64(a, b); }
#else
bool value_less(AccumulatorValue a, AccumulatorValue b) { return a < b; }
#endif

#if LW_INDEX_BITS == 64
bool index_less(Index a, Index b) { return less64(a, b); }
#else
bool index_less(Index a, Index b) { return a < b; }
#endif

Accumulator combine(Accumulator a, Accumulator b) {
    bool second =
        mix(value_less(b.value, a.value), index_less(b.index, a.index), a.value == b.value);
    return joined(a, b, accumulator_select(second, b, a));
}

Accumulator combine_in_order(Accumulator a, Accumulator b) {
    return joined(a, b, accumulator_select(value_less(b.value, a.value), b, a));
}

#else

Accumulator combine(Accumulator a, Accumulator b) {
#if LW_ACCUMULATOR_BITS == 64
    return joined(a, b, accumulator_of(combine64(a.value, b.value)));
#else
    return joined(a, b, accumulator_of(combine32(a.value, b.value)));
#endif
}

Accumulator combine_in_order(Accumulator a, Accumulator b) { return combine(a, b); }

#endif

// The identity of a 32-bit value; min, max, argmin and argmax work on images, of which no item's is
// above this one.
uint identity32() {
    bool is_float = kElementKind == kFloat;
    uint all = 0u;
    all = select(kOperator == kSum && is_float, 0x80000000u, all);  // -0: what +0 would make +0
    all = select(kOperator == kProduct, select(is_float, 0x3f800000u, 1u), all);
    return select(operator_orders() || kOperator == kAnd, ~0u, all);
}

uvec2 identity64() {
    bool is_float = LW_ACCUMULATOR_FLOAT64 != 0;
    uvec2 all = uvec2(0u);
    all = select(kOperator == kSum && is_float, uvec2(0u, 0x80000000u), all);
    all = select(kOperator == kProduct, select(is_float, uvec2(0u, 0x3ff00000u), uvec2(1u, 0u)),
                 all);
    return select(operator_orders() || kOperator == kAnd, uvec2(~0u), all);
}

Accumulator accumulator_identity() {
#if LW_ACCUMULATOR_BITS == 64
    AccumulatorValue value = identity64();
#else
    AccumulatorValue value = identity32();
#endif
#if LW_INDEX_BITS != 0
    return accumulator_of(value, Index(~0u));
#else
    return accumulator_of(value);
#endif
}

// Of the value and its index, without the head.
#define LW_PLAIN_WORDS (LW_ACCUMULATOR_BITS / 32 + LW_INDEX_BITS / 32)
#ifdef LW_SEGMENTED
#define LW_ACCUMULATOR_WORDS (LW_PLAIN_WORDS + 1)
#else
#define LW_ACCUMULATOR_WORDS LW_PLAIN_WORDS
#endif

uint[LW_ACCUMULATOR_WORDS] words_of_accumulator(Accumulator a) {
    uint words[LW_ACCUMULATOR_WORDS];
#if LW_ACCUMULATOR_BITS == 64
    words[0] = a.value.x;
    words[1] = a.value.y;
#else
    words[0] = a.value;
#endif
#if LW_INDEX_BITS == 64
    words[LW_PLAIN_WORDS - 2] = a.index.x;
    words[LW_PLAIN_WORDS - 1] = a.index.y;
#elif LW_INDEX_BITS == 32
    words[LW_PLAIN_WORDS - 1] = a.index;
#endif
#ifdef LW_SEGMENTED
    words[LW_PLAIN_WORDS] = a.head;
#endif
    return words;
}

Accumulator accumulator_of_words(uint words[LW_ACCUMULATOR_WORDS]) {
#if LW_ACCUMULATOR_BITS == 64
    AccumulatorValue value = uvec2(words[0], words[1]);
#else
    AccumulatorValue value = words[0];
#endif
#if LW_INDEX_BITS == 64
    Accumulator a = accumulator_of(value, uvec2(words[2], words[3]));
#elif LW_INDEX_BITS == 32
    Accumulator a = accumulator_of(value, words[LW_PLAIN_WORDS - 1]);
#else
    Accumulator a = accumulator_of(value);
#endif
#ifdef LW_SEGMENTED
    a.head = words[LW_PLAIN_WORDS];
#endif
    return a;
}

#ifdef LW_FORM_SUBGROUP
Accumulator subgroup_shuffle_xor(Accumulator a, uint mask) {
    a.value = subgroupShuffleXor(a.value, mask);
#if LW_INDEX_BITS != 0
    a.index = subgroupShuffleXor(a.index, mask);
#endif
#ifdef LW_SEGMENTED
    a.head = subgroupShuffleXor(a.head, mask);
#endif
    return a;
}

Accumulator subgroup_shuffle(Accumulator a, uint lane) {
    a.value = subgroupShuffle(a.value, lane);
#if LW_INDEX_BITS != 0
    a.index = subgroupShuffle(a.index, lane);
#endif
#ifdef LW_SEGMENTED
    a.head = subgroupShuffle(a.head, lane);
#endif
    return a;
}
#endif

#endif

#endif
