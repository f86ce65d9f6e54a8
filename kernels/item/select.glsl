// Choice without a branch: both values are computed. Where the condition is a specialisation
// constant, the compiler drops the other value; ?: would leave it a branch for each.
#ifndef LW_ITEM_SELECT_GLSL
#define LW_ITEM_SELECT_GLSL

uint select(bool condition, uint yes, uint no) { return mix(no, yes, condition); }
uvec2 select(bool condition, uvec2 yes, uvec2 no) { return mix(no, yes, bvec2(condition)); }

// vector[i]; an index that is no constant would put the vector in memory.
uint component(uvec4 vector, uint i) {
    return select(i < 2u, select(i == 0u, vector.x, vector.y), select(i == 2u, vector.z, vector.w));
}

#endif
