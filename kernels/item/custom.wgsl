// Accumulator and result of a caller's own types and operator (lanewise::CustomOperator): the twin of
// custom.glsl, which explains them.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_FORM_SUBGROUP, LW_SEGMENTED. item/custom_operation.wgsl says what the operator is.

//#include "item/custom_operation.wgsl"

struct Accumulator {
    value: Value,
    holds: u32,  // 0: nothing, and then the value means nothing
//#if LW_SEGMENTED
    head: u32,
//#endif
}

const kAccumulatorWords = kValueWords + LW_SEGMENTED;

// One that holds something.
fn accumulator_of(value: Value) -> Accumulator {
    var a: Accumulator;
    a.value = value;
    a.holds = 1u;
    return a;
}

// WGSL begins variables with zeros: it holds nothing.
fn accumulator_identity() -> Accumulator {
    var a: Accumulator;
    return a;
}

fn accumulator_select(condition: bool, yes: Accumulator, no: Accumulator) -> Accumulator {
    var chosen = no;
    if (condition) { chosen = yes; }
    return chosen;
}

//#include "item/segmented.wgsl"

fn combine(a: Accumulator, b: Accumulator) -> Accumulator {
    var both = a;
    if (b.holds != 0u) {
        if (a.holds != 0u && !begins_segment(b)) {
            both.value = operation_combine(a.value, b.value);
        } else {
            both = b;
        }
    }
    return joined(a, b, both);
}

//#if LW_SEGMENTED

alias AccumulatorWords = array<u32, kAccumulatorWords>;

fn accumulator_of_words(words: AccumulatorWords) -> Accumulator {
    var of_accumulator = words;
    var of_value: ValueWords;
    for (var i = 0u; i < kValueWords; i++) { of_value[i] = of_accumulator[i]; }
    var a = accumulator_of(value_of_words(of_value));
    a.head = of_accumulator[kValueWords];
    return a;
}

fn words_of_accumulator(a: Accumulator) -> AccumulatorWords {
    var of_value = words_of_value(a.value);
    var words: AccumulatorWords;
    for (var i = 0u; i < kValueWords; i++) { words[i] = of_value[i]; }
    words[kValueWords] = a.head;
    return words;
}

//#else

alias AccumulatorWords = ValueWords;

fn accumulator_of_words(words: AccumulatorWords) -> Accumulator {
    return accumulator_of(value_of_words(words));
}

fn words_of_accumulator(a: Accumulator) -> AccumulatorWords { return words_of_value(a.value); }

//#endif

fn accumulator_initial() -> Accumulator {
    return accumulator_of(value_of_words(words_of_initial()));
}

//#if LW_FORM_SUBGROUP
// The mask must be the same in the whole workgroup.
fn subgroup_shuffle_xor(a: Accumulator, mask: u32) -> Accumulator {
    var words = words_of_value(a.value);
    for (var i = 0u; i < kValueWords; i++) { words[i] = subgroupShuffleXor(words[i], mask); }
    var other: Accumulator;
    other.value = value_of_words(words);
    other.holds = subgroupShuffleXor(a.holds, mask);
//#if LW_SEGMENTED
    other.head = subgroupShuffleXor(a.head, mask);
//#endif
    return other;
}

fn subgroup_shuffle(a: Accumulator, lane: u32) -> Accumulator {
    var words = words_of_value(a.value);
    for (var i = 0u; i < kValueWords; i++) { words[i] = subgroupShuffle(words[i], lane); }
    var other: Accumulator;
    other.value = value_of_words(words);
    other.holds = subgroupShuffle(a.holds, lane);
//#if LW_SEGMENTED
    other.head = subgroupShuffle(a.head, lane);
//#endif
    return other;
}
//#endif

// As in item/result.wgsl.
fn words_of_result(total: Accumulator, holds: bool) -> ResultWords {
    var words = words_of_nothing();
    if (holds && total.holds != 0u) {
        words = words_of_result_value(operation_store(total.value));
    }
    return words;
}
