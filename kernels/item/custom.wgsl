// Accumulator and result of a caller's own types and operator (lanewise::CustomOperator): the twin of
// custom.glsl, which explains them.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_FORM_SUBGROUP. item/custom_operation.wgsl says what the operator is.

//#include "item/custom_operation.wgsl"

struct Accumulator {
    value: Value,
    holds: u32,  // 0: nothing, and then the value means nothing
}

const kAccumulatorWords = kValueWords;
alias AccumulatorWords = ValueWords;

fn combine(a: Accumulator, b: Accumulator) -> Accumulator {
    var both = a;
    if (b.holds != 0u) {
        if (a.holds != 0u) {
            both.value = operation_combine(a.value, b.value);
        } else {
            both = b;
        }
    }
    return both;
}

fn accumulator_of_words(words: AccumulatorWords) -> Accumulator {
    return Accumulator(value_of_words(words), 1u);
}

fn words_of_accumulator(a: Accumulator) -> AccumulatorWords { return words_of_value(a.value); }

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

fn accumulator_initial() -> Accumulator { return accumulator_of_words(words_of_initial()); }

//#if LW_FORM_SUBGROUP
// The mask must be the same in the whole workgroup.
fn subgroup_shuffle_xor(a: Accumulator, mask: u32) -> Accumulator {
    var words = words_of_value(a.value);
    for (var i = 0u; i < kAccumulatorWords; i++) { words[i] = subgroupShuffleXor(words[i], mask); }
    return Accumulator(value_of_words(words), subgroupShuffleXor(a.holds, mask));
}

fn subgroup_shuffle(a: Accumulator, lane: u32) -> Accumulator {
    var words = words_of_value(a.value);
    for (var i = 0u; i < kAccumulatorWords; i++) { words[i] = subgroupShuffle(words[i], lane); }
    return Accumulator(value_of_words(words), subgroupShuffle(a.holds, lane));
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
