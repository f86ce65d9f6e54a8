// Purpose: which value of this digit the k-th key has, and how many keys with it are wanted.
// Passes before: top_k_counts. After: top_k_counts of the digit below, or top_k_sums.
// Inputs: state (1), the bins; left zero. Inputs and outputs: scratch (0): the threshold
//   (tile/threshold.glsl); parameters where the count is in a buffer. One workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: where nothing is wanted, the threshold is zero, and no key is before it.
// Source: as top_k_counts.comp.
// What differs in WGSL: nothing but the spelling.
//
//     bins        4 0 3 9 ..      wanted 6
//     before      0 4 4 7 ..      the bin with before < wanted <= before + its own: 2, of which 6 - 4 are wanted
#version 450

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;      // a power of two
layout(constant_id = 2) const uint kDigitBits = 8u;            // of this digit; 1 to 11
layout(constant_id = 3) const uint kShift = 24u;               // the first bit of this digit
layout(constant_id = 4) const uint kTableOffset = 64u;         // in scratch, words
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 26) const uint kMostCount = 1u;           // k
const uint kBins = 1u << kDigitBits;

#define LW_BINDINGS 2
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(scratch, 0, coherent)
LW_BUFFER(state, 1, coherent)
#include "tile/share.glsl"
#include "workgroup/offsets_barrier.glsl"

const uint kRun = 4u;  // neighbouring bins of a lane

void main() {
    uint lane = gl_LocalInvocationIndex;
    uint low = 0u;
    uint high = 0u;
    uint wanted = min(read_share().count.x, kMostCount);
    if (kShift + kDigitBits != kKeyBits) {
        low = LW_WORD(scratch, kTableOffset);
        high = LW_WORD(scratch, kTableOffset + 1u);
        wanted = LW_WORD(scratch, kTableOffset + 2u);
    }
    barrier();
    uint before = 0u;
    for (uint first = 0u; first < kBins; first += kRun * kWorkgroupSize) {
        uint begin = first + lane * kRun;
        uint counts[kRun];
        uint sum = 0u;
        [[unroll]] for (uint j = 0u; j < kRun; ++j) {
            counts[j] = 0u;
            if (begin + j < kBins) {
                counts[j] = LW_WORD(state, begin + j);
                LW_WORD(state, begin + j) = 0u;
            }
            sum += counts[j];
        }
        uint total;
        uint offset = before + workgroup_offset(sum, lane, total);
        [[unroll]] for (uint j = 0u; j < kRun; ++j) {
            uint bin = begin + j;
            bool found = offset < wanted && wanted - offset <= counts[j];
            if (found || (wanted == 0u && bin == 0u)) {
                if (kShift < 32u) low |= bin << (kShift & 31u);
                if (kShift + kDigitBits > 32u) {
                    high |= kShift < 32u ? bin >> ((32u - kShift) & 31u) : bin << (kShift & 31u);
                }
                LW_WORD(scratch, kTableOffset) = low;
                LW_WORD(scratch, kTableOffset + 1u) = high;
                LW_WORD(scratch, kTableOffset + 2u) = wanted - offset;
            }
            offset += counts[j];
        }
        before += total;
        barrier();
    }
}
