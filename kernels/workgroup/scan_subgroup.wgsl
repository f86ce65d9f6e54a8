// Workgroup scan by subgroup shuffles, where subgroups are full: the twin of scan_subgroup.glsl, which
// draws the steps. Same contract as scan_barrier.wgsl, but for the places.
//
// What differs: a function gets a pointer to a whole variable, not to a row of one.
//
// The kernel defines before: what scan_barrier.wgsl asks for; `enable subgroups`.

//#include "workgroup/scan_barrier.wgsl"

fn scan_place(row: u32, lane: Lane, group: Group) -> u32 {
    let width = select(kWorkgroupSize, group.subgroup_size, group.subgroups_are_full);
    let within = lane.number & (width - 1u);
    return (lane.number - within) * kScanRows + row * width + within;
}

// The value becomes what those of the lanes before combine to; gives what the first `width` lanes
// combine to (a power of two, at most the subgroup size; values beyond do not matter).
fn subgroup_scan(value: ptr<function, Accumulator>, lane: Lane, group: Group, width: u32) -> Accumulator {
    let own = lane.in_subgroup;
    let mask = group.subgroup_size - 1u;
    var sum = *value;
    for (var apart = 1u; apart < kMostLanes; apart *= 2u) {
        if (apart < width) {
            let other = subgroup_shuffle(sum, (own - apart) & mask);
            sum = accumulator_select(own >= apart, combine(other, sum), sum);
        }
    }
    let total = subgroup_shuffle(sum, width - 1u);
    let before = subgroup_shuffle(sum, (own - 1u) & mask);
    *value = accumulator_select(own == 0u, accumulator_identity(), before);
    return total;
}

fn workgroup_scan_full_subgroups(values: ptr<function, ScanValues>, lane: Lane, group: Group,
                                 turn: u32) -> Accumulator {
    let size = group.subgroup_size;
    var total: Accumulator;
    for (var row = 0u; row < kScanRows; row++) {
        var value = (*values)[row];
        let sum = subgroup_scan(&value, lane, group, size);
        if (row == 0u) {
            total = sum;
        } else {
            value = combine(total, value);
            total = combine(total, sum);
        }
        (*values)[row] = value;
    }
    let subgroups = kWorkgroupSize / size;
    if (subgroups > 1u) {
        let region = (turn & 1u) * subgroups;
        if (lane.in_subgroup == 0u) { sh_scan[region + lane.subgroup] = total; }
        workgroupBarrier();
        var before: Accumulator;
        for (var first = 0u; first < subgroups; first += size) {
            var sum = sh_scan[region + min(first + lane.in_subgroup, subgroups - 1u)];
            var sums = subgroup_scan(&sum, lane, group, min(size, subgroups));
            sum = subgroup_shuffle(sum, (lane.subgroup - first) & (size - 1u));
            if (first != 0u) {
                sum = combine(total, sum);
                sums = combine(total, sums);
            }
            if (lane.subgroup / size == first / size) { before = sum; }
            total = sums;
        }
        for (var row = 0u; row < kScanRows; row++) {
            (*values)[row] = combine(before, (*values)[row]);
        }
    }
    return total;
}

fn workgroup_scan(values: ptr<function, ScanValues>, lane: Lane, group: Group,
                  turn: u32) -> Accumulator {
    var total: Accumulator;
    if (group.subgroups_are_full) {
        total = workgroup_scan_full_subgroups(values, lane, group, turn);
    } else {
        total = workgroup_scan_barrier(values, lane, turn);
    }
    return total;
}
