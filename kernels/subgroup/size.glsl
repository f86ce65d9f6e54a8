// The subgroup size, and whether subgroups are full.
//
// The kernel defines before: kWorkgroupSize, kSubgroupSize (0: as the shader finds it),
// kFullSubgroups (1: promised by the API) (constants).
#ifndef LW_SUBGROUP_SIZE_GLSL
#define LW_SUBGROUP_SIZE_GLSL

uint subgroup_size() { return kSubgroupSize != 0u ? kSubgroupSize : gl_SubgroupSize; }

// The same in the whole workgroup. Also false where the size is not the true one: the product shows
// it.
bool subgroups_are_full() {
    return kFullSubgroups != 0u || gl_NumSubgroups * subgroup_size() == kWorkgroupSize;
}

#endif
