// Accumulator and result of a caller's own types and operator (lanewise::CustomOperator): the same
// functions as item/accumulator.glsl and item/result.glsl have for stock ones.
//
//   in memory      | e0 | e1 | e2 | ...       load       a Value of each (item/custom_element.glsl)
//   in registers   value, holds               combine
//   output         | r |                      store      the words of a Result
//
// An accumulator that holds nothing says so with a flag, so that the operator never meets a value that
// is not of the input. In memory there is no flag: what is stored there always holds something.
//
// The kernel defines before: nothing, or LW_SEGMENTED (item/segmented.glsl). item/custom_operation.glsl
// says what the operator is.
#ifndef LW_ITEM_CUSTOM_GLSL
#define LW_ITEM_CUSTOM_GLSL

#include "item/custom_operation.glsl"

#ifdef LW_SEGMENTED
#define LW_ACCUMULATOR_WORDS (LW_VALUE_WORDS + 1)
#else
#define LW_ACCUMULATOR_WORDS LW_VALUE_WORDS
#endif

struct Accumulator {
    Value value;
    uint holds;  // 0: nothing, and then the value means nothing
#ifdef LW_SEGMENTED
    uint head;
#endif
};

// One that holds something.
Accumulator accumulator_of(Value value) {
#ifdef LW_SEGMENTED
    return Accumulator(value, 1u, 0u);
#else
    return Accumulator(value, 1u);
#endif
}

Accumulator accumulator_identity() {
    uint words[LW_VALUE_WORDS];
    [[unroll]] for (uint i = 0u; i < LW_VALUE_WORDS; ++i) words[i] = 0u;
    Accumulator a = accumulator_of(value_of_words(words));
    a.holds = 0u;
    return a;
}

Accumulator accumulator_select(bool condition, Accumulator yes, Accumulator no) {
    if (condition) no = yes;
    return no;
}

#include "item/segmented.glsl"

Accumulator combine(Accumulator a, Accumulator b) {
    Accumulator both = a;
    if (b.holds != 0u) {
        if (a.holds != 0u && !begins_segment(b)) {
            both.value = operation_combine(a.value, b.value);
        } else {
            both = b;
        }
    }
    return joined(a, b, both);
}

// The same of two that hold something. What is known to be held costs no flags and no branches: on an
// H200 (driver 580.159) these made scans half as long again.
Accumulator combine_held(Accumulator a, Accumulator b) {
    return joined(a, b, accumulator_of(operation_combine(a.value, b.value)));
}

#ifdef LW_SEGMENTED

Accumulator accumulator_of_words(uint words[LW_ACCUMULATOR_WORDS]) {
    uint of_value[LW_VALUE_WORDS];
    [[unroll]] for (uint i = 0u; i < LW_VALUE_WORDS; ++i) of_value[i] = words[i];
    Accumulator a = accumulator_of(value_of_words(of_value));
    a.head = words[LW_VALUE_WORDS];
    return a;
}

uint[LW_ACCUMULATOR_WORDS] words_of_accumulator(Accumulator a) {
    uint of_value[LW_VALUE_WORDS] = words_of_value(a.value);
    uint words[LW_ACCUMULATOR_WORDS];
    [[unroll]] for (uint i = 0u; i < LW_VALUE_WORDS; ++i) words[i] = of_value[i];
    words[LW_VALUE_WORDS] = a.head;
    return words;
}

#else

Accumulator accumulator_of_words(uint words[LW_ACCUMULATOR_WORDS]) {
    return accumulator_of(value_of_words(words));
}

uint[LW_ACCUMULATOR_WORDS] words_of_accumulator(Accumulator a) { return words_of_value(a.value); }

#endif

Accumulator accumulator_initial() { return accumulator_of(value_of_words(words_of_initial())); }

#ifdef LW_FORM_SUBGROUP

// Whether the accumulators of all lanes that call it hold something.
bool subgroup_all_hold(Accumulator a) {
    return subgroupBallot(a.holds != 0u) == subgroupBallot(true);
}

// Of an accumulator that holds something in that lane.
Accumulator subgroup_shuffle_held(Accumulator a, uint lane) {
    uint words[LW_VALUE_WORDS] = words_of_value(a.value);
    [[unroll]] for (uint i = 0u; i < LW_VALUE_WORDS; ++i) {
        words[i] = subgroupShuffle(words[i], lane);
    }
    Accumulator other = accumulator_of(value_of_words(words));
#ifdef LW_SEGMENTED
    other.head = subgroupShuffle(a.head, lane);
#endif
    return other;
}

Accumulator subgroup_shuffle_xor(Accumulator a, uint mask) {
    uint words[LW_VALUE_WORDS] = words_of_value(a.value);
    [[unroll]] for (uint i = 0u; i < LW_VALUE_WORDS; ++i) {
        words[i] = subgroupShuffleXor(words[i], mask);
    }
    Accumulator other = accumulator_of(value_of_words(words));
    other.holds = subgroupShuffleXor(a.holds, mask);
#ifdef LW_SEGMENTED
    other.head = subgroupShuffleXor(a.head, mask);
#endif
    return other;
}

Accumulator subgroup_shuffle(Accumulator a, uint lane) {
    Accumulator other = subgroup_shuffle_held(a, lane);
    other.holds = subgroupShuffle(a.holds, lane);
    return other;
}

#endif

// As in item/result.glsl.
uint[LW_RESULT_WORDS] words_of_result(Accumulator total, bool any) {
    uint words[LW_RESULT_WORDS] = words_of_nothing();
    if (any && total.holds != 0u) words = words_of_result_value(operation_store(total.value));
    return words;
}

#endif
