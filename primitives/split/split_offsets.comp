// Purpose: where each bucket of a split begins in the output.
// Passes before: those of a sort by the bucket's bits. After: none.
// Inputs: keys_in (0), the output of the sort. Outputs: offsets (1). Scratch (2): parameters where the count
//   is in a buffer. One workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: no key past the count is read.
// Source: none.
// What differs in WGSL: nothing but the spelling.
//
//     buckets of the keys     0 0 0 2 2 3 3 3        a lane for each bucket: the first key whose bucket is not
//     offsets                 0 3 3 5 8              below it, by bisection; past the last bucket the count
#version 450

// Prologue: a build or the assembler replaces these.
#ifndef LW_KEY_WORDS
#define LW_KEY_WORDS 1  // 2: keys of 64 bits
#endif
// LW_DEVICE_ADDRESS: buffers by address; else by descriptor.
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;      // a power of two
layout(constant_id = 2) const uint kDigitBits = 8u;            // of a bucket; 0 to 16
layout(constant_id = 3) const uint kShift = 0u;                // the first bit of a bucket
layout(constant_id = 10) const uint kKeyKind = 0u;             // item/names.glsl
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 12) const uint kDescending = 0u;          // always
layout(constant_id = 13) const uint kSourceBits = 32u;         // of a key in keys_in
layout(constant_id = 14) const uint kImageIn = 1u;             // always

#define LW_BINDINGS 3
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(keys_in, 0, readonly)
LW_BUFFER(offsets, 1, writeonly)
LW_BUFFER(scratch, 2, readonly)
#include "tile/share.glsl"
#include "tile/load_key.glsl"

void main() {
    uint count = read_share().count.x;
    for (uint bucket = gl_LocalInvocationIndex; bucket <= 1u << kDigitBits; bucket += kWorkgroupSize) {
        uint begin = 0u;
        uint end = count;
        while (begin < end) {
            uint middle = begin + (end - begin) / 2u;
            if (digit_of(load_key(middle), kShift, kDigitBits) < bucket) {
                begin = middle + 1u;
            } else {
                end = middle;
            }
        }
        LW_WORD(offsets, bucket) = begin;
    }
}
