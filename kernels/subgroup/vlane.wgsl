// Virtual lane: a number of the invocation in its workgroup, 0 to W - 1, that follows subgroups: the
// twin of vlane.glsl, which explains it.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_FORM_SUBGROUP; what subgroup/lane_number.wgsl asks for.

//#include "subgroup/ballot.wgsl"
//#include "subgroup/lane_number.wgsl"

// A partial subgroup may have one lane.
var<workgroup> sh_populations: array<u32, kWorkgroupSize>;

// All lanes of the workgroup call it, once. Control barriers: none with full subgroups, else 1.
fn workgroup_vlane(lane: Lane, group: Group) -> u32 {
    var vlane = lane.subgroup * group.subgroup_size + lane.in_subgroup;
    if (!group.subgroups_are_full) {
        let running = subgroupBallot(true);
        vlane = ballot_count_below(running, lane.in_subgroup);
        if (vlane == 0u) { sh_populations[lane.subgroup] = ballot_count(running); }
        workgroupBarrier();
        for (var i = 0u; i < lane.subgroup; i++) { vlane += sh_populations[i]; }
    }
    return vlane;
}
