// Purpose: no items yet in the count that select_append adds to.
// Passes before: count_to_groups, where the count is in a buffer. After: select_append.
// Inputs: none. Outputs: count_out (0), a zero.
// Needs: nothing.
// Memory order: none inside; select_append comes after a barrier.
// Tail: none.
// Source: none.
// What differs: nothing but the spelling.

// Prologue: the assembler writes other values.
const kWorkgroupSize = 256u;  // id 0
// End of the prologue.

@group(0) @binding(0) var<storage, read_write> count_out: array<u32>;

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32) {
    if (lane == 0u) { count_out[0] = 0u; }
}
