// Purpose: turns a count that lies in a buffer into the parameters of the passes that follow and
//   into the arguments of their indirect dispatches.
// Passes before: whatever the application wrote the count with. After: every pass of the plan.
// Inputs: count (0): one u32, or a u64 in two words with device addresses. Outputs: scratch (1):
//   the parameters in words 0 to 7, then 16 bytes for each dispatch. One workgroup.
// Needs: nothing.
// Memory order: none of its own; the host puts a memory barrier after this pass, for reads by
//   shaders and as indirect arguments.
// Tail: a count above the plan's maximum is taken as the maximum; dispatches that are not needed
//   get 0 workgroups.
// Source: none.
// What differs in WGSL: the host copies the arguments to a buffer of their own (kernels.md).
//
//     scratch   | count | tiles | tiles_per_group | groups | 0 0 0 | x y z 0 | x y z 0 | ...
//       word      0       2       3                 4        5       dispatch 0, 1, ...
#version 450

#extension GL_GOOGLE_include_directive : require
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 64u;
layout(constant_id = 1) const uint kTileItems = 1u;
layout(constant_id = 2) const uint kMaxGroups = 1u;
layout(constant_id = 3) const uint kMaxTilesPerDispatch = ~0u;
layout(constant_id = 4) const uint kMaxCountLow = ~0u;
layout(constant_id = 5) const uint kMaxCountHigh = 0u;
layout(constant_id = 6) const uint kMaxDispatches = 1u;
layout(constant_id = 7) const uint kIndirectOffset = 32u;  // bytes

#define LW_BINDINGS 2
#include "tile/memory.glsl"
LW_BUFFER(count, 0, readonly)
LW_BUFFER(scratch, 1, writeonly)
#include "tile/share.glsl"

void main() {
#ifdef LW_DEVICE_ADDRESS
    uvec2 items = uvec2(LW_WORD(count, 0), LW_WORD(count, 1));
#else
    uvec2 items = uvec2(LW_WORD(count, 0), 0u);
#endif
    items = min64(items, uvec2(kMaxCountLow, kMaxCountHigh));
    Share share = share_out(items, kTileItems, kMaxGroups, kMaxTilesPerDispatch);
    if (gl_LocalInvocationIndex == 0u) {
        LW_WORD(scratch, 0) = share.count.x;
        LW_WORD(scratch, 1) = share.count.y;
        LW_WORD(scratch, 2) = share.tiles;
        LW_WORD(scratch, 3) = share.tiles_per_group;
        LW_WORD(scratch, 4) = share.groups;
        LW_WORD(scratch, 5) = 0u;
        LW_WORD(scratch, 6) = 0u;
        LW_WORD(scratch, 7) = 0u;
    }
    for (uint i = gl_LocalInvocationIndex; i < kMaxDispatches; i += kWorkgroupSize) {
        uint first = kIndirectOffset / 4u + 4u * i;
        LW_WORD(scratch, first) = groups_of_dispatch(share.groups, kMaxGroups, i);
        LW_WORD(scratch, first + 1u) = 1u;
        LW_WORD(scratch, first + 2u) = 1u;
        LW_WORD(scratch, first + 3u) = 0u;
    }
}
