// Virtual lane: a number of the invocation in its workgroup, 0 to W - 1, that follows subgroups: the
// twin of vlane.glsl, which explains it.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_FORM_SUBGROUP; what subgroup/lane_number.wgsl asks for.

//#include "subgroup/ballot.wgsl"
//#include "subgroup/lane_number.wgsl"

struct VirtualLane {
    number: u32,
    rank: u32,        // among the lanes that its subgroup has
    population: u32,  // how many those are
}

// A partial subgroup may have one lane.
var<workgroup> sh_populations: array<u32, kWorkgroupSize>;

// All lanes of the workgroup call it, once. Control barriers: none with full subgroups, else 1.
fn workgroup_vlane(lane: Lane, group: Group) -> VirtualLane {
    let size = group.subgroup_size;
    var vlane = VirtualLane(lane.subgroup * size + lane.in_subgroup, lane.in_subgroup, size);
    if (!group.subgroups_are_full) {
        let running = subgroupBallot(true);
        vlane.rank = ballot_count_below(running, lane.in_subgroup);
        vlane.population = ballot_count(running);
        vlane.number = vlane.rank;
        if (vlane.rank == 0u) { sh_populations[lane.subgroup] = vlane.population; }
        workgroupBarrier();
        for (var i = 0u; i < lane.subgroup; i++) { vlane.number += sh_populations[i]; }
    }
    return vlane;
}
