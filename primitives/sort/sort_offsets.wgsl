// Purpose: where each workgroup's keys with each value of one digit begin in the output.
// Passes before: sort_counts. After: sort_scatter.
// Inputs and outputs: scratch (0): the table of counts becomes one of offsets. One workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: words past the table are neither read nor written.
// Source: as sort_counts.comp.
// What differs: nothing but the spelling. sort_offsets.comp draws the table.

// Prologue: the assembler writes other values.
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const kWorkgroupSize = 256u;  // id 0; a power of two
const kItems = 8u;            // id 1; of a lane and tile
const kDigitBits = 8u;        // id 2; of this digit; 0 to 8
const kTableOffset = 64u;     // id 4; in scratch, words
const kMostCount = 4294967295u;  // id 26; of the items, the first so many; ~0: all
// End of the prologue.

const kBins = 1u << kDigitBits;

@group(0) @binding(0) var<storage, read_write> scratch: array<u32>;

//#include "tile/share.wgsl"
//#include "workgroup/offsets_barrier.wgsl"

const kTileItems = kWorkgroupSize * kItems;
const kRun = 4u;  // neighbouring words of a lane

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32) {
    let words = kBins * read_first_share(kMostCount, kTileItems).groups;
    var before = 0u;
    for (var first = 0u; first < words; first += kRun * kWorkgroupSize) {
        let begin = first + lane * kRun;
        var counts: array<u32, kRun>;
        var sum = 0u;
        for (var j = 0u; j < kRun; j++) {
            if (begin + j < words) { counts[j] = scratch[kTableOffset + begin + j]; }
            sum += counts[j];
        }
        var total = 0u;
        var offset = before + workgroup_offset(sum, lane, &total);
        for (var j = 0u; j < kRun; j++) {
            if (begin + j < words) { scratch[kTableOffset + begin + j] = offset; }
            offset += counts[j];
        }
        before += total;
        workgroupBarrier();
    }
}
