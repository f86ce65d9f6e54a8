// The number of an invocation in its workgroup by which reductions and scans order their lanes: the
// twin of lane_number.glsl.
//
// What differs: here is the entry point, the only place where WGSL gives built-in values. It calls the
// kernel's function
//
//     fn run(lane: Lane, group: Group)
//
// Where the language has no subgroup_id (LW_SUBGROUP_ID 0), subgroups number themselves by a counter
// in workgroup memory, in no particular order: what has an order goes by lane.number, and for that
// any numbering of the subgroups does. It costs three barriers.
//
// The kernel defines before: LW_FORM_SUBGROUP, LW_SUBGROUP_ID, LW_SUBGROUP_SIZE; kWorkgroupSize
// (constant).

//#include "subgroup/size.wgsl"
//#include "tile/memory.wgsl"

struct Lane {
    number: u32,
//#if LW_FORM_SUBGROUP
    subgroup: u32,
    in_subgroup: u32,
//#endif
}

//#if LW_FORM_SUBGROUP && !LW_SUBGROUP_ID
// Zero at first: the implementations that clear no workgroup memory have subgroup_id.
var<workgroup> sh_subgroups: atomic<u32>;
var<workgroup> sh_subgroup_count: u32;
//#endif

@compute @workgroup_size(kWorkgroupSize)
//#if LW_FORM_SUBGROUP && LW_SUBGROUP_SIZE
@subgroup_size(LW_SUBGROUP_SIZE)
//#endif
fn main(@builtin(local_invocation_index) index: u32,
//#if LW_FORM_SUBGROUP
        @builtin(subgroup_size) subgroup_size: u32,
        @builtin(subgroup_invocation_id) in_subgroup: u32,
//#if LW_SUBGROUP_ID
        @builtin(subgroup_id) subgroup: u32,
        @builtin(num_subgroups) subgroups: u32,
//#endif
//#endif
        @builtin(workgroup_id) workgroup: vec3<u32>) {
    let number = parameters.first_group + workgroup.x;
//#if LW_FORM_SUBGROUP
//#if !LW_SUBGROUP_ID
    // The first lane that there is, whichever number it has.
    var ticket = 0u;
    if (subgroupBroadcastFirst(in_subgroup) == in_subgroup) {
        ticket = atomicAdd(&sh_subgroups, 1u);
    }
    let subgroup = subgroupBroadcastFirst(ticket);
    workgroupBarrier();
    if (index == 0u) { sh_subgroup_count = atomicLoad(&sh_subgroups); }
    let subgroups = workgroupUniformLoad(&sh_subgroup_count);
//#endif
    let group = group_of(number, subgroup_size, subgroups);
    let vlane = subgroup * subgroup_size + in_subgroup;
    run(Lane(select(index, vlane, group.subgroups_are_full), subgroup, in_subgroup), group);
//#else
    run(Lane(index), group_of(number));
//#endif
}
