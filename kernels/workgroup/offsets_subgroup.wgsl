// Offsets by subgroup shuffles: the twin of offsets_subgroup.glsl, which draws the steps. Same contract as
// offsets_barrier.wgsl.
//
// With full subgroups vlane must be subgroup * size + lane; otherwise the barrier module does it, with
// any numbering. Control barriers, full subgroups: 1.
//
// What differs: workgroup_offset gets the lane and the group besides.
//
// The kernel defines before: what subgroup/lane_number.wgsl asks for; `enable subgroups`.

//#include "subgroup/lane_number.wgsl"
//#include "workgroup/offsets_barrier.wgsl"

fn workgroup_offset_full_subgroups(value: u32, lane: Lane, group: Group, total: ptr<function, u32>) -> u32 {
    let size = group.subgroup_size;
    let own = lane.in_subgroup;
    var sum = value;
    for (var apart = 1u; apart < kMostLanes; apart *= 2u) {
        if (apart < size) {
            let other = subgroupShuffle(sum, (own - apart) & (size - 1u));
            sum += select(0u, other, own >= apart);
        }
    }
    if (own == size - 1u) { sh_offsets[lane.subgroup] = sum; }
    workgroupBarrier();
    var before = sum - value;
    *total = 0u;
    for (var i = 0u; i < group.subgroups; i++) {
        let other = sh_offsets[i];
        before += select(0u, other, i < lane.subgroup);
        *total += other;
    }
    return before;
}

fn workgroup_offset(value: u32, vlane: u32, lane: Lane, group: Group, total: ptr<function, u32>) -> u32 {
    var before = 0u;
    if (group.subgroups_are_full) {
        before = workgroup_offset_full_subgroups(value, lane, group, total);
    } else {
        before = workgroup_offset_barrier(value, vlane, total);
    }
    return before;
}
