// The last workgroup reads what the others wrote: two fences or a race (cases D4).
// expect: race
// run: workgroups 5
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) coherent buffer Result { uint result[]; };
shared uint sh_arrived;
void main() {
    uint lid = gl_LocalInvocationIndex;
    if (lid == 0u) result[gl_WorkGroupID.x] = gl_WorkGroupID.x + 1u;
#ifdef FIXED
    memoryBarrierBuffer();
#endif
    if (lid == 0u) sh_arrived = atomicAdd(data[0], 1u);
    barrier();
    if (sh_arrived == gl_NumWorkGroups.x - 1u) {
#ifdef FIXED
        memoryBarrierBuffer();
#endif
        if (lid == 0u) {
            uint total = 0u;
            for (uint i = 0u; i < gl_NumWorkGroups.x; ++i) {
                total += result[i];  // fault
            }
            data[1] = total;
        }
    }
}
