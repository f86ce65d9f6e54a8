// Workgroup reduction with workgroup memory and barriers alone: the twin of reduce_barrier.glsl, which
// draws the tree.
//
//     fn workgroup_reduce_barrier(value: Accumulator, lane: Lane, lanes: u32) -> Accumulator
//     fn workgroup_reduce(value: Accumulator, lane: Lane, group: Group, lanes: u32) -> Accumulator
//
// All invocations call it, in workgroup-uniform flow. The lanes 0 to lanes - 1 hold a value; the result
// is valid in lane 0 only. A barrier must stand between two calls.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_FORM_SUBGROUP; Accumulator, combine (item/accumulator.wgsl);
// kWorkgroupSize (constant).

//#include "item/accumulator.wgsl"
//#include "subgroup/lane_number.wgsl"

const kReduceRadix = 8u;

// W values, W/8, W/64 ...; one unused slot after every 8, against bank conflicts. At most 9/7 W.
const kReduceSlots = (9u * kWorkgroupSize + 6u) / 7u;

var<workgroup> sh_reduce: array<Accumulator, kReduceSlots>;

// Three steps of the tree at once: values[i] is that of lane first + i. In values[0].
fn combine_neighbours(values: ptr<function, array<Accumulator, kReduceRadix>>, first: u32, lanes: u32) {
    for (var apart = 1u; apart < kReduceRadix; apart *= 2u) {
        for (var i = 0u; i < kReduceRadix; i += 2u * apart) {
            if (first + i + apart < lanes) {
                (*values)[i] = combine((*values)[i], (*values)[i + apart]);
            }
        }
    }
}

fn workgroup_reduce_barrier(value: Accumulator, lane: Lane, lanes: u32) -> Accumulator {
    let vlane = lane.number;
    var total = value;
    var present = lanes;
    var region = 0u;
    for (var width = kWorkgroupSize; width > 1u; width /= kReduceRadix) {
        // `width` lanes hold a value, of which the first `present` count.
        if (vlane < width) { sh_reduce[region + vlane + vlane / kReduceRadix] = total; }
        workgroupBarrier();
        let first = vlane * kReduceRadix;
        if (first < present) {
            let slot = region + first + vlane;
            var values: array<Accumulator, kReduceRadix>;
            for (var i = 0u; i < kReduceRadix; i++) {
                if (first + i < present) { values[i] = sh_reduce[slot + i]; }
            }
            combine_neighbours(&values, first, present);
            total = values[0];
        }
        region += width + width / kReduceRadix;
        present = (present + kReduceRadix - 1u) / kReduceRadix;
    }
    return total;
}

//#if !LW_FORM_SUBGROUP
fn workgroup_reduce(value: Accumulator, lane: Lane, group: Group, lanes: u32) -> Accumulator {
    return workgroup_reduce_barrier(value, lane, lanes);
}
//#endif
