// Purpose: makes the output zero, for histogram_tiles to add to.
// Passes before: count_to_groups, where the count is in a buffer. After: histogram_tiles.
// Inputs: scratch (1): parameters where the count is in a buffer. Outputs: counts (0), the output.
// Needs: nothing.
// Memory order: none of its own; the host puts a memory barrier behind this pass.
// Tail: the workgroups that there are, at least one, share the output, however many they are.
// Source: none.
// What differs in WGSL: nothing but the spelling.
#version 450

// Prologue: a build or the assembler replaces these.
// LW_DEVICE_ADDRESS: buffers by address; else by descriptor.
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;  // a power of two
layout(constant_id = 4) const uint kChannels = 1u;
layout(constant_id = 5) const uint kBins = 256u;           // of a channel

#define LW_BINDINGS 2
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(counts, 0, writeonly)
LW_BUFFER(scratch, 1, readonly)
#include "tile/share.glsl"

void main() {
    uint stride = read_share().groups * kWorkgroupSize;
    uint first = group_number() * kWorkgroupSize + gl_LocalInvocationIndex;
    for (uint slot = first; slot < kChannels * kBins; slot += stride) LW_WORD(counts, slot) = 0u;
}
