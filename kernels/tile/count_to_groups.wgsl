// Purpose: turns a count that lies in a buffer into the parameters of the passes that follow and
//   into the arguments of their indirect dispatches.
// Passes before: whatever the application wrote the count with. After: every pass of the plan.
// Inputs: count (0): one u32. Outputs: scratch (1): the parameters in words 0 to 7, then 16 bytes for
//   each dispatch. One workgroup.
// Needs: nothing.
// Memory order: none of its own; what a pass wrote, later passes and copies see.
// Tail: a count above the plan's maximum is taken as the maximum; dispatches that are not needed
//   get 0 workgroups.
// Source: none.
// What differs: the count has 32 bits. The host copies parameters and arguments out of scratch, which
//   no pass that is dispatched with them could be bound to otherwise (kernels.md).
//
//     scratch   | count | tiles | tiles_per_group | groups | 0 0 0 | x y z 0 | x y z 0 | ...
//       word      0       2       3                 4        5       dispatch 0, 1, ...

// Prologue: the assembler writes other values.
const kWorkgroupSize = 64u;                // id 0
const kTileItems = 1u;                     // id 1
const kMaxGroups = 1u;                     // id 2
const kMaxTilesPerDispatch = 4294967295u;  // id 3
const kMaxCountLow = 4294967295u;          // id 4
const kMaxCountHigh = 0u;                  // id 5
const kMaxDispatches = 1u;                 // id 6
const kIndirectOffset = 32u;               // id 7; bytes
// End of the prologue.

@group(0) @binding(0) var<storage, read> count: array<u32>;
@group(0) @binding(1) var<storage, read_write> scratch: array<u32>;

//#include "tile/share.wgsl"

@compute @workgroup_size(kWorkgroupSize)
fn main(@builtin(local_invocation_index) lane: u32) {
    let items = min64(vec2<u32>(count[0], 0u), vec2<u32>(kMaxCountLow, kMaxCountHigh));
    let share = share_out(items, kTileItems, kMaxGroups, kMaxTilesPerDispatch);
    if (lane == 0u) {
        scratch[0] = share.count.x;
        scratch[1] = share.count.y;
        scratch[2] = share.tiles;
        scratch[3] = share.tiles_per_group;
        scratch[4] = share.groups;
        scratch[5] = 0u;
        scratch[6] = 0u;
        scratch[7] = 0u;
    }
    for (var i = lane; i < kMaxDispatches; i += kWorkgroupSize) {
        let first = kIndirectOffset / 4u + 4u * i;
        scratch[first] = groups_of_dispatch(share.groups, kMaxGroups, i);
        scratch[first + 1u] = 1u;
        scratch[first + 2u] = 1u;
        scratch[first + 3u] = 0u;
    }
}
