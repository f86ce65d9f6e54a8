// What tiles of the input combine to: the first half of reduce-then-scan, and reductions of custom types.
// The twin of sum_tiles.glsl.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: what tile/row_sums.wgsl and workgroup/reduce_*.wgsl ask for, and the latter.

//#include "tile/row_sums.wgsl"

// The tiles from `first` to before `end`, in the order of the scan; valid in lane 0. A barrier must stand
// between it and the next reduction.
fn workgroup_sum_tiles(share: Share, first: u32, end: u32, lane: Lane, group: Group) -> Accumulator {
    var sum = accumulator_identity();
    for (var t = first; t < end; t++) {
        let tile = tile_in_order(share, t);
        var vectors = load_tile(tile, lane, group, true);
        var more = sum_lane(tile, lane, group, &vectors);
//#if LW_ORDERED || LW_SEGMENTED
        // Tile by tile: lanes in the order of this one, before those of the next.
        if (t != first) { workgroupBarrier(); }
        more = workgroup_reduce(more, lane, group, kWorkgroupSize);
//#endif
        sum = combine(sum, more);
    }
//#if !LW_ORDERED && !LW_SEGMENTED
    sum = workgroup_reduce(sum, lane, group, kWorkgroupSize);
//#endif
    return sum;
}
