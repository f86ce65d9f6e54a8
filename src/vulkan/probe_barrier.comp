// Purpose: self-test of what every kernel relies on: all invocations of a workgroup run, storage
//     buffers are read and written, and a barrier orders workgroup memory.
// Passes before and after: none.
// Inputs, outputs, scratch: values in; two words out for each invocation.
// Needs: nothing beyond Vulkan 1.1.
// Memory order: barrier() alone.
// Tail: none; every invocation has a value.
// Host: src/vulkan/probe.cpp, which knows what each word must be (probe_check.cpp).
#version 450

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint workgroup_size = 64;

layout(set = 0, binding = 0, std430) readonly buffer Values { uint values[]; };
layout(set = 0, binding = 1, std430) writeonly buffer Words { uint words[]; };

layout(push_constant) uniform Parameters {
    uint count_low, count_high, tiles, tiles_per_group, groups, first_group, flags, offset_words;
} parameters;

shared uint sh_values[workgroup_size];

void main() {
    const uint local = gl_LocalInvocationIndex;
    const uint group = parameters.first_group + gl_WorkGroupID.x;
    const uint at = group * workgroup_size + local;
    sh_values[local] = values[at];
    barrier();
    // Everybody's sum, so that one missing invocation shows in every word.
    uint sum = 0;
    for (uint i = 0; i < workgroup_size; ++i) sum += sh_values[i];
    words[2 * at] = sh_values[(local + 1) % workgroup_size];
    words[2 * at + 1] = sum;
}
