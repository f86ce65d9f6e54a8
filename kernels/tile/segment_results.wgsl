// Results of segments, by their numbers: the twin of segment_results.glsl.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: a buffer named result (tile/memory.wgsl); what item/result.wgsl asks for.

//#include "item/result.wgsl"

const kNoSegment = 0xffffffffu;

// `total` counts only when `holds`.
fn store_result(segment: u32, total: Accumulator, holds: bool) {
    var words = words_of_result(total, holds);
    for (var i = 0u; i < kResultWords; i++) { result[segment * kResultWords + i] = words[i]; }
}
