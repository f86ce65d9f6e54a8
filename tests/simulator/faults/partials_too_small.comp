// Partials for subgroups of 32 where there are subgroups of 4 (cases F6).
// expect: out_of_bounds
// run: subgroup 4
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 256) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) coherent buffer Result { uint result[]; };
#ifdef FIXED
shared uint sh_partials[64];
#else
shared uint sh_partials[8];
#endif
void main() {
    uint sum = subgroupAdd(data[gl_LocalInvocationIndex]);
    if (subgroupElect()) {
        sh_partials[gl_SubgroupID] = sum;  // fault
    }
    barrier();
    if (gl_LocalInvocationIndex == 0u) {
        uint total = 0u;
        for (uint i = 0u; i < gl_NumSubgroups && i < sh_partials.length(); ++i) total += sh_partials[i];
        result[0] = total;
    }
}
