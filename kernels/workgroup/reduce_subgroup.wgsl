// Workgroup reduction by subgroup shuffles, where subgroups are full: the twin of reduce_subgroup.glsl,
// which draws the steps. Same contract and same tree as reduce_barrier.wgsl.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: what reduce_barrier.wgsl asks for; `enable subgroups`.

//#include "workgroup/reduce_barrier.wgsl"

// Combines blocks of `width` lanes (a power of two, at most the subgroup size) into their first.
fn subgroup_reduce(value: Accumulator, vlane: u32, lanes: u32, width: u32) -> Accumulator {
    var total = value;
    for (var mask = 1u; mask < kMostLanes; mask *= 2u) {
        if (mask < width) {
            let other = subgroup_shuffle_xor(total, mask);
            // First lane of the upper of the two halves that meet here.
            let upper = (vlane | mask) & ~(mask - 1u);
            if (upper < lanes) { total = combine(total, other); }
        }
    }
    return total;
}

fn workgroup_reduce_full_subgroups(value: Accumulator, lane: Lane, group: Group,
                                   lanes: u32) -> Accumulator {
    let size = group.subgroup_size;
    var width = kWorkgroupSize;  // lanes that hold a value
    var present = lanes;
    var region = 0u;
    var total = subgroup_reduce(value, lane.number, present, size);
    while (width > size) {
        width /= size;
        present = (present + size - 1u) / size;
        if (lane.in_subgroup == 0u && lane.subgroup < width) {
            sh_reduce[region + lane.subgroup] = total;
        }
        workgroupBarrier();
        if (lane.number < width) { total = sh_reduce[region + lane.number]; }
        region += width;
        total = subgroup_reduce(total, lane.number, present, min(size, width));
    }
    return total;
}

fn workgroup_reduce(value: Accumulator, lane: Lane, group: Group, lanes: u32) -> Accumulator {
    var total = value;
    if (group.subgroups_are_full) {
        total = workgroup_reduce_full_subgroups(value, lane, group, lanes);
    } else {
        total = workgroup_reduce_barrier(value, lane, lanes);
    }
    return total;
}
