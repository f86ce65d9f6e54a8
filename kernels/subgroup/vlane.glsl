// Virtual lane: a number of the invocation in its workgroup, 0 to W - 1, that follows subgroups:
// the lanes of a subgroup have neighbouring numbers, in lane order. No API relates subgroups and
// lanes to the local invocation index; what must keep an order across lanes goes by this number.
//
//   full       subgroup 0       subgroup 1          number = subgroup * size + lane
//              0  1  2  3       4  5  6  7
//
//   partial    0  .  1  2       3  4  .  .          subgroups publish how many lanes they have;
//              populations: 3                2      number = sum of those before + rank among them
//
// Needs GL_KHR_shader_subgroup_ballot. The kernel defines before: what subgroup/size.glsl asks for.
#ifndef LW_SUBGROUP_VLANE_GLSL
#define LW_SUBGROUP_VLANE_GLSL

#include "subgroup/ballot.glsl"
#include "subgroup/size.glsl"

struct VirtualLane {
    uint number;
    uint rank;        // among the lanes that its subgroup has
    uint population;  // how many those are
};

// A partial subgroup may have one lane.
shared uint sh_populations[kFullSubgroups != 0u ? 1u : kWorkgroupSize];

// All lanes of the workgroup call it, once. Control barriers: none with full subgroups, else 1.
VirtualLane workgroup_vlane() {
    uint lane = gl_SubgroupInvocationID;
    uint size = subgroup_size();
    VirtualLane vlane = VirtualLane(gl_SubgroupID * size + lane, lane, size);
    if (!subgroups_are_full()) {
        uvec4 running = subgroupBallot(true);
        vlane.rank = ballot_count_below(running, lane);
        vlane.population = ballot_count(running);
        vlane.number = vlane.rank;
        if (vlane.rank == 0u) sh_populations[gl_SubgroupID] = vlane.population;
        barrier();
        for (uint i = 0u; i < gl_SubgroupID; ++i) vlane.number += sh_populations[i];
    }
    return vlane;
}

#endif
