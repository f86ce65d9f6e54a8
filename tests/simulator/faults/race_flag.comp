// A flag is seen, the value behind it may be stale (cases D4).
// expect: race
// run: workgroups 2
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) coherent buffer Result { uint result[]; };
void main() {
    if (gl_LocalInvocationIndex != 0u) return;
    if (gl_WorkGroupID.x == 0u) {
        result[0] = 42u;
#ifdef FIXED
        memoryBarrierBuffer();
#endif
        atomicExchange(data[0], 77u);
    } else {
        uint seen = 0u;
        for (uint tries = 0u; tries < 1000u && seen != 77u; ++tries) seen = atomicAdd(data[0], 0u);
        if (seen == 77u) {
#ifdef FIXED
            memoryBarrierBuffer();
#endif
            uint x = result[0];  // fault
            result[1] = x;
        }
    }
}
