// Looking back: what all tiles before one combine to. The twin of look_back.glsl, which explains it.
//
//     fn workgroup_look_back(share: Share, t: u32, epoch: u32, lane: Lane, group: Group) -> Accumulator
//
// and the kernel's
//
//     fn workgroup_tile_sum_again(share: Share, t: u32, lane: Lane, group: Group) -> Accumulator
//
// What differs: both forms look back with windows of the workgroup's size: in a loop of one subgroup its
// operations would not be in workgroup-uniform flow. What a window combines to is reduced, not scanned,
// and lane 0 alone keeps it.
//
// The kernel defines before: workgroup_tile_sum_again; tile/look_back.wgsl's; workgroup/reduce_*.wgsl,
// which it includes; kPatience (constant).

//#include "tile/look_back.wgsl"
//#include "tile/share.wgsl"

var<workgroup> sh_prefix_end: atomic<u32>;
var<workgroup> sh_empty_end: atomic<u32>;
var<workgroup> sh_look: vec2<u32>;  // the two ends
var<workgroup> sh_before: Accumulator;

// One look at a window of `width` tiles, the last of which is next - 1; lane `width` - 1 has that.
// What lies before the first tile counts as a prefix of nothing.
fn look_at_window(next: u32, width: u32, vlane: u32, epoch: u32) -> Look {
    let behind = width - vlane;
    var look = look_at(max(next, behind) - behind, epoch);
    if (behind > next) { look = Look(kFlagPrefix, accumulator_identity()); }
    return look;
}

// The ends (one past the last lane) of prefixes and of empty tiles in a window say from which lane on
// all values count.
fn window_start(prefix_end: u32, empty_end: u32) -> u32 {
    return select(empty_end, prefix_end - 1u, prefix_end > empty_end);
}

// Looks back until all is known or a tile is missing: then next is not 0, and it is tile next - 1.
// `before`, which counts in lane 0, has the tiles from `next` on.
fn workgroup_look_back_window(next: ptr<function, u32>, before: ptr<function, Accumulator>, epoch: u32,
                              lane: Lane, group: Group) {
    var looks = 0u;
    while (*next != 0u && looks < kPatience) {
        let look = look_at_window(*next, kWorkgroupSize, lane.number, epoch);
        if (lane.number == 0u) {
            atomicStore(&sh_prefix_end, 0u);
            atomicStore(&sh_empty_end, 0u);
        }
        workgroupBarrier();
        if (look.flag == kFlagPrefix) { atomicMax(&sh_prefix_end, lane.number + 1u); }
        if (look.flag == kFlagEmpty) { atomicMax(&sh_empty_end, lane.number + 1u); }
        workgroupBarrier();
        if (lane.number == 0u) {
            sh_look = vec2<u32>(atomicLoad(&sh_prefix_end), atomicLoad(&sh_empty_end));
        }
        let ends = workgroupUniformLoad(&sh_look);
        let start = window_start(ends.x, ends.y);
        if (start == kWorkgroupSize) {
            looks += 1u;
        } else {
            let a = accumulator_select(lane.number >= start, look.sum, accumulator_identity());
            *before = combine(workgroup_reduce(a, lane, group, kWorkgroupSize), *before);
            looks = 0u;
        }
        *next = select(*next - (kWorkgroupSize - start), 0u, ends.x > ends.y);
    }
}

// What the tiles before tile t combine to.
fn workgroup_look_back(share: Share, t: u32, epoch: u32, lane: Lane, group: Group) -> Accumulator {
    var next = t;
    var before = accumulator_identity();
    while (next != 0u) {
        workgroup_look_back_window(&next, &before, epoch, lane, group);
        if (next != 0u) {
            next -= 1u;  // the looks in vain stand between the last reduction and this one
            before = combine(workgroup_tile_sum_again(share, next, lane, group), before);
            workgroupBarrier();
        }
    }
    if (lane.number == 0u) { sh_before = before; }
    return workgroupUniformLoad(&sh_before);
}
