// Purpose: no items yet in the count that select_append adds to.
// Passes before: count_to_groups, where the count is in a buffer. After: select_append.
// Inputs: none. Outputs: count_out (0), a zero.
// Needs: nothing.
// Memory order: none inside; select_append comes after a barrier.
// Tail: none.
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

#define LW_BINDINGS 1
#include "tile/memory.glsl"
LW_BUFFER(count_out, 0, writeonly)

void main() {
    if (gl_LocalInvocationIndex == 0u) LW_WORD(count_out, 0) = 0u;
}
