// Choice without a branch: the twin of select.glsl.
//
// What differs: WGSL's own select(no, yes, condition) takes the place of that module's, with its
// arguments the other way round.

// vector[i]; an index that is no constant would put the vector in memory.
fn component(vector: vec4<u32>, i: u32) -> u32 {
    return select(select(vector.w, vector.z, i == 2u), select(vector.y, vector.x, i == 0u), i < 2u);
}
