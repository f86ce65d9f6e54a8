// Accumulators that know of segments (LW_SEGMENTED): the twin of segmented.glsl, which explains them.
//
// What differs: nothing but the spelling.
//
// Included by the accumulator modules, behind the struct. The kernel defines before: LW_SEGMENTED.

//#if LW_SEGMENTED

fn begins_segment(a: Accumulator) -> bool { return a.head != 0u; }

// What a and b combine to, of which `both` disregards heads.
fn joined(a: Accumulator, b: Accumulator, both: Accumulator) -> Accumulator {
    var all_of_them = accumulator_select(begins_segment(b), b, both);
    all_of_them.head = a.head | b.head;
    return all_of_them;
}

//#else

fn begins_segment(a: Accumulator) -> bool { return false; }

fn joined(a: Accumulator, b: Accumulator, both: Accumulator) -> Accumulator { return both; }

//#endif
