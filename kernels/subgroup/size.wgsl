// The subgroup size, and whether subgroups are full: the twin of size.glsl.
//
// What differs: built-in values are parameters of the entry point (subgroup/lane_number.wgsl), which
// hands on what is the same in the whole workgroup as a Group. What differs from lane to lane is a
// struct of its own: compilers hold a struct for as uniform as its least uniform member. No API that
// takes WGSL fixes the size and promises full subgroups, so there is neither kSubgroupSize nor
// kFullSubgroups.
//
// The kernel defines before: LW_FORM_SUBGROUP; kWorkgroupSize (constant).

// Of a subgroup: no API has larger ones. Loops over distances between lanes go up to it, so that their
// bounds are constants and they are written out (src/wgsl/unroll.hpp).
const kMostLanes = 128u;

struct Group {
    number: u32,  // among the workgroups of all dispatches of the pass
//#if LW_FORM_SUBGROUP
    subgroup_size: u32,
    subgroups: u32,  // of the workgroup
    // Also false where the size is not the true one: the product shows it.
    subgroups_are_full: bool,
//#endif
}

//#if LW_FORM_SUBGROUP
fn group_of(number: u32, subgroup_size: u32, subgroups: u32) -> Group {
    return Group(number, subgroup_size, subgroups, subgroups * subgroup_size == kWorkgroupSize);
}
//#else
fn group_of(number: u32) -> Group { return Group(number); }
//#endif
