// Purpose: where each bucket of a split begins in the output.
// Passes before: those of a sort by the bucket's bits. After: none.
// Inputs: keys_in (0), the output of the sort. Outputs: offsets (1). One workgroup.
// Needs: nothing.
// Memory order: none of its own.
// Tail: no key past the count is read.
// Source: none.
// What differs: scratch (2) is not there, as the count is always in the parameters. split_offsets.comp
//   draws the table.

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;      // 2: keys of 64 bits
const kWorkgroupSize = 256u;  // id 0; a power of two
const kDigitBits = 8u;        // id 2; of a bucket; 0 to 16
const kShift = 0u;            // id 3; the first bit of a bucket
const kKeyKind = 0u;          // id 10; item/names.wgsl
const kKeyBits = 32u;         // id 11; 8, 16, 32, 64
const kDescending = 0u;       // id 12; always
const kSourceBits = 32u;      // id 13; of a key in keys_in
const kImageIn = 1u;          // id 14; always
// End of the prologue.

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> offsets: array<u32>;

//#include "tile/share.wgsl"
//#include "tile/load_key.wgsl"

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32) {
    let count = read_share().count.x;
    for (var bucket = lane; bucket <= (1u << kDigitBits); bucket += kWorkgroupSize) {
        var begin = 0u;
        var end = count;
        while (begin < end) {
            let middle = begin + (end - begin) / 2u;
            if (digit_of(load_key(middle), kShift, kDigitBits) < bucket) {
                begin = middle + 1u;
            } else {
                end = middle;
            }
        }
        offsets[bucket] = begin;
    }
}
