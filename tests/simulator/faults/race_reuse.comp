// An array used twice, with no barrier between the last read and the next write (cases D8, F11).
// expect: race
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_memory_scope_semantics : require
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) coherent buffer Result { uint result[]; };
shared uint sh_row[64];
uint turned(uint x) {
    uint lid = gl_LocalInvocationIndex;
    sh_row[lid] = x;  // fault
    barrier();
    return sh_row[63u - lid];
}
void main() {
    uint x = turned(gl_LocalInvocationIndex);
#ifdef FIXED
    barrier();
#endif
    x += turned(x);
    result[gl_LocalInvocationIndex] = x;
}
