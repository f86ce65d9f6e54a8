// Purpose: where each workgroup's keys before the threshold begin in the selection, and its equals.
// Passes before: top_k_sums. After: top_k_gather.
// Inputs and outputs: scratch (0): sums become offsets. One workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: sums past the last workgroup's are neither read nor written.
// Source: none.
// What differs: nothing but the spelling. top_k_offsets.comp draws the sums.

// Prologue: the assembler writes other values.
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const kWorkgroupSize = 256u;  // id 0; a power of two
const kSumsOffset = 128u;     // id 20; in scratch, words
// End of the prologue.

@group(0) @binding(0) var<storage, read_write> scratch: array<u32>;

//#include "tile/share.wgsl"
//#include "workgroup/offsets_barrier.wgsl"

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32) {
    let groups = read_share().groups;
    var offsets: array<u32, 2>;
    for (var first = 0u; first < groups; first += kWorkgroupSize) {
        let group = first + lane;
        for (var j = 0u; j < 2u; j++) {
            let at = kSumsOffset + 2u * group + j;
            var sum = 0u;
            if (group < groups) { sum = scratch[at]; }
            var total = 0u;
            let before = workgroup_offset(sum, lane, &total);
            if (group < groups) { scratch[at] = offsets[j] + before; }
            offsets[j] += total;
            workgroupBarrier();
        }
    }
}
