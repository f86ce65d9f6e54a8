// Purpose: where the keys with each value of each digit begin in that digit's output.
// Passes before: sort_histograms. After: sort_lookback of each digit.
// Inputs: state (1), the bins of all digits; left zero. Outputs: scratch (0), their bases in the table
//   of tile/digit_table.wgsl. One workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: a digit without keys has bases, too.
// Source: none.
// What differs: nothing but the spelling.

// Prologue: the assembler writes other values.
const LW_ROWS = 0u;           // 1: rows of the table are cleared
const LW_LOOK_BACK = 0u;      // 1: and looked at
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const kWorkgroupSize = 256u;  // id 0; a power of two
const kTableOffset = 64u;     // id 4; in scratch, words
const kRowWords = 256u;       // id 20; of the table, for each tile
const kDigits = 4u;           // id 24; how many digits there are
// End of the prologue.

@group(0) @binding(0) var<storage, read_write> scratch: array<u32>;
@group(0) @binding(1) var<storage, read_write> state: array<atomic<u32>>;

//#include "tile/digit_table.wgsl"
//#include "workgroup/offsets_barrier.wgsl"

//#if kRowWords > kWorkgroupSize
const kBinsPerLane = kRowWords / kWorkgroupSize;
//#else
const kBinsPerLane = 1u;
//#endif

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32) {
    var digit = 0u;
    while (digit < kDigits) {  // is not written out
        var bins: array<u32, kBinsPerLane>;
        var sum = 0u;
        for (var j = 0u; j < kBinsPerLane; j++) {
            let bin = lane * kBinsPerLane + j;
            if (bin < kRowWords) {
                bins[j] = atomicLoad(&state[digit * kRowWords + bin]);
                atomicStore(&state[digit * kRowWords + bin], 0u);
            }
            sum += bins[j];
        }
        var total = 0u;
        var base = workgroup_offset(sum, lane, &total);
        for (var j = 0u; j < kBinsPerLane; j++) {
            let bin = lane * kBinsPerLane + j;
            if (bin < kRowWords) { scratch[base_word(digit, bin)] = base; }
            base += bins[j];
        }
        workgroupBarrier();
        digit += 1u;
    }
}
