// Purpose: which value of this digit the k-th key has, and how many keys with it are wanted.
// Passes before: top_k_counts. After: top_k_counts of the digit below, or top_k_sums.
// Inputs: state (1), the bins; left zero. Inputs and outputs: scratch (0): the threshold
//   (tile/threshold.wgsl). One workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: where nothing is wanted, the threshold is zero, and no key is before it.
// Source: as top_k_counts.comp.
// What differs: nothing but the spelling. top_k_digit.comp draws the bins.

// Prologue: the assembler writes other values.
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const kWorkgroupSize = 256u;  // id 0; a power of two
const kDigitBits = 8u;        // id 2; of this digit; 1 to 11
const kShift = 24u;           // id 3; the first bit of this digit
const kTableOffset = 64u;     // id 4; in scratch, words
const kKeyBits = 32u;         // id 11; 8, 16, 32, 64
const kMostCount = 1u;        // id 26; k
// End of the prologue.

const kBins = 1u << kDigitBits;

@group(0) @binding(0) var<storage, read_write> scratch: array<u32>;
@group(0) @binding(1) var<storage, read_write> state: array<u32>;

//#include "tile/share.wgsl"
//#include "workgroup/offsets_barrier.wgsl"

const kRun = 4u;  // neighbouring bins of a lane

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32) {
    var low = 0u;
    var high = 0u;
    var wanted = min(read_share().count.x, kMostCount);
    if (kShift + kDigitBits != kKeyBits) {
        low = scratch[kTableOffset];
        high = scratch[kTableOffset + 1u];
        wanted = scratch[kTableOffset + 2u];
    }
    workgroupBarrier();
    var before = 0u;
    for (var first = 0u; first < kBins; first += kRun * kWorkgroupSize) {
        let begin = first + lane * kRun;
        var counts: array<u32, kRun>;
        var sum = 0u;
        for (var j = 0u; j < kRun; j++) {
            if (begin + j < kBins) {
                counts[j] = state[begin + j];
                state[begin + j] = 0u;
            }
            sum += counts[j];
        }
        var total = 0u;
        var offset = before + workgroup_offset(sum, lane, &total);
        for (var j = 0u; j < kRun; j++) {
            let bin = begin + j;
            let found = offset < wanted && wanted - offset <= counts[j];
            if (found || (wanted == 0u && bin == 0u)) {
//#if kShift < 32
                low |= bin << kShift;
//#endif
//#if kShift < 32 && kShift + kDigitBits > 32
                high |= bin >> (32u - kShift);
//#elif kShift >= 32
                high |= bin << (kShift - 32u);
//#endif
                scratch[kTableOffset] = low;
                scratch[kTableOffset + 1u] = high;
                scratch[kTableOffset + 2u] = wanted - offset;
            }
            offset += counts[j];
        }
        before += total;
        workgroupBarrier();
    }
}
