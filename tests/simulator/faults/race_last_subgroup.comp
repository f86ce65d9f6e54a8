// The first subgroup of the last workgroup reads what the others wrote: its barrier carries to every
// lane what lane 0 may see after its fence, and nothing without that fence.
// expect: race
// run: workgroups 5, subgroup 16
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) coherent buffer Result { uint result[]; };
void main() {
    if (gl_SubgroupID != 0u) return;
    uint lane = gl_SubgroupInvocationID;
    if (lane == 0u) result[gl_WorkGroupID.x] = gl_WorkGroupID.x + 1u;
    memoryBarrierBuffer();
    uint arrived = 0u;
    if (lane == 0u) arrived = atomicAdd(data[0], 1u);
#ifdef FIXED
    memoryBarrierBuffer();
#endif
    subgroupBarrier();
    arrived = subgroupShuffle(arrived, 0u);
    if (arrived == gl_NumWorkGroups.x - 1u && lane < gl_NumWorkGroups.x) {
        data[1u + lane] = result[lane];  // fault
    }
}
