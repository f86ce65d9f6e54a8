// Waiting for another workgroup, which need not run (cases D5, F12).
// expect: no_progress
// run: workgroups 2, instructions 20000
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
        uint tries = 0u;
#ifdef FIXED
        while (tries < 50u && atomicAdd(data[0], 0u) != 77u) {
#else
        while (atomicAdd(data[0], 0u) != 77u) {  // fault
#endif
            ++tries;
        }
        result[0] = tries;
    } else {
        atomicExchange(data[0], 77u);
    }
}
