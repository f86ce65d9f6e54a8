// Workgroup scan with workgroup memory and barriers alone: the twin of scan_barrier.glsl, which draws
// the levels.
//
//     fn scan_place(row: u32, lane: Lane, group: Group) -> u32
//     fn workgroup_scan_barrier(values: ptr<function, ScanValues>, lane: Lane, turn: u32) -> Accumulator
//     fn workgroup_scan(values: ptr<function, ScanValues>, lane: Lane, group: Group, turn: u32)
//         -> Accumulator
//
// All invocations call it, in workgroup-uniform flow, each with kScanRows values. Each value becomes
// what those before it combine to, and all invocations get what all of them combine to. `turn` counts
// the calls of an invocation, and is the same in the whole workgroup.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_FORM_SUBGROUP; item/accumulator.wgsl's; kWorkgroupSize, kScanRows
// (powers of two); ScanValues, an array of kScanRows accumulators (one alias for all: naga 30 takes
// two for two types).

//#include "item/accumulator.wgsl"
//#include "subgroup/lane_number.wgsl"

const kScanRadix = 8u;
const kScanPlaces = kWorkgroupSize * kScanRows;

// Places, an eighth of them, and so on; one unused slot after every 8, against bank conflicts.
const kScanSlots = (9u * kScanPlaces) / 7u + 8u;

var<workgroup> sh_scan: array<Accumulator, kScanSlots>;

fn scan_place_barrier(row: u32, vlane: u32) -> u32 { return row * kWorkgroupSize + vlane; }

fn scan_slot(i: u32) -> u32 { return i + i / kScanRadix; }

fn workgroup_scan_barrier(values: ptr<function, ScanValues>, lane: Lane, turn: u32) -> Accumulator {
    let vlane = lane.number;
    if (turn != 0u) { workgroupBarrier(); }
    for (var row = 0u; row < kScanRows; row++) {
        sh_scan[scan_slot(scan_place_barrier(row, vlane))] = (*values)[row];
    }
    workgroupBarrier();
    var region = 0u;
    for (var width = kScanPlaces; width > 1u; width = (width + kScanRadix - 1u) / kScanRadix) {
        let next = region + scan_slot(width);
        for (var eight = vlane; eight * kScanRadix < width; eight += kWorkgroupSize) {
            let first = region + scan_slot(eight * kScanRadix);
            let count = min(kScanRadix, width - eight * kScanRadix);
            var eights: array<Accumulator, kScanRadix>;
            for (var i = 0u; i < kScanRadix; i++) { eights[i] = sh_scan[first + min(i, count - 1u)]; }
            var sum = accumulator_identity();
            for (var i = 0u; i < kScanRadix; i++) {
                if (i < count) {
                    sh_scan[first + i] = sum;
                    sum = combine(sum, eights[i]);
                }
            }
            sh_scan[next + scan_slot(eight)] = sum;
        }
        workgroupBarrier();
        region = next;
    }
    let total = sh_scan[region];
    for (var row = 0u; row < kScanRows; row++) {
        var i = scan_place_barrier(row, vlane);
        var before = sh_scan[scan_slot(i)];
        var level = scan_slot(kScanPlaces);
        for (var width = kScanPlaces / kScanRadix; width > 1u;
             width = (width + kScanRadix - 1u) / kScanRadix) {
            i /= kScanRadix;
            before = combine(sh_scan[level + scan_slot(i)], before);
            level += scan_slot(width);
        }
        (*values)[row] = before;
    }
    return total;
}

//#if !LW_FORM_SUBGROUP
fn scan_place(row: u32, lane: Lane, group: Group) -> u32 {
    return scan_place_barrier(row, lane.number);
}

fn workgroup_scan(values: ptr<function, ScanValues>, lane: Lane, group: Group,
                  turn: u32) -> Accumulator {
    return workgroup_scan_barrier(values, lane, turn);
}
//#endif
