// Purpose: makes the output zero, for histogram_tiles to add to.
// Passes before: count_to_groups, where the count is in a buffer. After: histogram_tiles.
// Outputs: counts (0), the output.
// Needs: nothing.
// Memory order: none of its own; what a pass wrote, later passes see.
// Tail: the workgroups that there are, at least one, share the output, however many they are.
// Source: none.
// What differs: scratch (1) is not there, as the count is always in the parameters.

// Prologue: the assembler writes other values.
const kWorkgroupSize = 256u;  // id 0; a power of two
const kChannels = 1u;         // id 4
const kBins = 256u;           // id 5; of a channel
// End of the prologue.

@group(0) @binding(0) var<storage, read_write> counts: array<u32>;

//#include "tile/share.wgsl"

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32, @builtin(workgroup_id) workgroup: vec3<u32>) {
    let stride = read_share().groups * kWorkgroupSize;
    let first = (parameters.first_group + workgroup.x) * kWorkgroupSize + lane;
    for (var slot = first; slot < kChannels * kBins; slot += stride) { counts[slot] = 0u; }
}
