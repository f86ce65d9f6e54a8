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
// The kernel defines before: nothing. item/custom_operation.glsl says what the operator is.
#ifndef LW_ITEM_CUSTOM_GLSL
#define LW_ITEM_CUSTOM_GLSL

#include "item/custom_operation.glsl"

#define LW_ACCUMULATOR_WORDS LW_VALUE_WORDS

struct Accumulator {
    Value value;
    uint holds;  // 0: nothing, and then the value means nothing
};

Accumulator combine(Accumulator a, Accumulator b) {
    if (b.holds != 0u) {
        if (a.holds != 0u) {
            a.value = operation_combine(a.value, b.value);
        } else {
            a = b;
        }
    }
    return a;
}

// The same of two that hold something. What is known to be held costs no flags and no branches: on an
// H200 (driver 580.159) these made scans half as long again.
Accumulator combine_held(Accumulator a, Accumulator b) {
    return Accumulator(operation_combine(a.value, b.value), 1u);
}

Accumulator accumulator_of_words(uint words[LW_ACCUMULATOR_WORDS]) {
    return Accumulator(value_of_words(words), 1u);
}

uint[LW_ACCUMULATOR_WORDS] words_of_accumulator(Accumulator a) { return words_of_value(a.value); }

Accumulator accumulator_identity() {
    uint words[LW_ACCUMULATOR_WORDS];
    [[unroll]] for (uint i = 0u; i < LW_ACCUMULATOR_WORDS; ++i) words[i] = 0u;
    return Accumulator(value_of_words(words), 0u);
}

Accumulator accumulator_select(bool condition, Accumulator yes, Accumulator no) {
    if (condition) no = yes;
    return no;
}

Accumulator accumulator_initial() { return accumulator_of_words(words_of_initial()); }

#ifdef LW_FORM_SUBGROUP

// Whether the accumulators of all lanes that call it hold something.
bool subgroup_all_hold(Accumulator a) {
    return subgroupBallot(a.holds != 0u) == subgroupBallot(true);
}

// Of an accumulator that holds something in that lane.
Accumulator subgroup_shuffle_held(Accumulator a, uint lane) {
    uint words[LW_ACCUMULATOR_WORDS] = words_of_value(a.value);
    [[unroll]] for (uint i = 0u; i < LW_ACCUMULATOR_WORDS; ++i) {
        words[i] = subgroupShuffle(words[i], lane);
    }
    return accumulator_of_words(words);
}

Accumulator subgroup_shuffle_xor(Accumulator a, uint mask) {
    uint words[LW_ACCUMULATOR_WORDS] = words_of_value(a.value);
    [[unroll]] for (uint i = 0u; i < LW_ACCUMULATOR_WORDS; ++i) {
        words[i] = subgroupShuffleXor(words[i], mask);
    }
    return Accumulator(value_of_words(words), subgroupShuffleXor(a.holds, mask));
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
