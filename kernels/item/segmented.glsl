// Accumulators that know of segments (LW_SEGMENTED), so that scans and reductions of many segments are
// scans of one sequence. Beside what it holds, an accumulator has a head: 1 where a segment begins in the
// items that it stands for, and then it holds those of the last segment alone.
//
//     items       a b c d e f        segments begin at a, d and e
//     heads       1 0 0 1 1 0
//     combined    a ab abc d e ef    (inclusive): each segment's own
//
// A kernel sets the head of each item's accumulator; all functions of item/accumulator.glsl and
// item/custom.glsl keep it: combine(a, b) is b where b has a head, and has one itself where a or b has.
// That is associative where the operator is, and never commutative. In memory the head is the last word.
//
// Source: Blelloch, Prefix sums and their applications (1990), section 1.5: segmented scans.
//
// Included by the accumulator modules, behind the struct. The kernel defines LW_SEGMENTED, or not.
#ifndef LW_ITEM_SEGMENTED_GLSL
#define LW_ITEM_SEGMENTED_GLSL

#ifdef LW_SEGMENTED

bool begins_segment(Accumulator a) { return a.head != 0u; }

// What a and b combine to, of which `both` disregards heads.
Accumulator joined(Accumulator a, Accumulator b, Accumulator both) {
    both = accumulator_select(begins_segment(b), b, both);
    both.head = a.head | b.head;
    return both;
}

#else

// No functions: what has no heads is compiled as if there were none.
#define begins_segment(a) false
#define joined(a, b, both) (both)

#endif

#endif
