// The number of an invocation in its workgroup by which reductions and scans order their lanes: the
// virtual lane where subgroups are full, as their subgroup form needs; otherwise any numbering does (they
// take their barrier form then), and the one of subgroup/vlane.glsl would need ballots and a barrier.
//
// The kernel defines before: in the subgroup form (LW_FORM_SUBGROUP) what subgroup/size.glsl asks for.
#ifndef LW_SUBGROUP_LANE_NUMBER_GLSL
#define LW_SUBGROUP_LANE_NUMBER_GLSL

#ifdef LW_FORM_SUBGROUP
#include "subgroup/size.glsl"
#endif

uint lane_number() {
    uint number = gl_LocalInvocationIndex;
#ifdef LW_FORM_SUBGROUP
    if (subgroups_are_full()) {
        number = gl_SubgroupID * subgroup_size() + gl_SubgroupInvocationID;
    }
#endif
    return number;
}

#endif
