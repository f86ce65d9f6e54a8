// What tiles of the input combine to: the first half of reduce-then-scan, and reductions of custom types.
//
//   commutative     a lane sums its rows of all tiles; then the workgroup reduces once
//   ordered         tile by tile: a lane sums neighbouring rows, the workgroup reduces, lane 0 goes on
//
// The kernel defines before: what tile/row_sums.glsl and workgroup/reduce_*.glsl ask for, and the latter.
#ifndef LW_TILE_SUM_TILES_GLSL
#define LW_TILE_SUM_TILES_GLSL

#include "tile/row_sums.glsl"

// The tiles from `first` to before `end`, in the order of the scan; valid in lane 0. A barrier must stand
// between it and the next reduction.
Accumulator workgroup_sum_tiles(Share share, uint first, uint end, uint vlane) {
    Accumulator sum = accumulator_identity();
    for (uint t = first; t < end; ++t) {
        Tile tile = tile_in_order(share, t);
        Vector vectors[kScanRows];
        load_tile(tile, vlane, true, vectors);
        Accumulator more = sum_lane(tile, vlane, vectors);
#if LW_ORDERED || defined(LW_SEGMENTED)
        // Tile by tile: lanes in the order of this one, before those of the next.
        if (t != first) barrier();
        more = workgroup_reduce(more, vlane, kWorkgroupSize);
#endif
        sum = combine(sum, more);
    }
#if !LW_ORDERED && !defined(LW_SEGMENTED)
    sum = workgroup_reduce(sum, vlane, kWorkgroupSize);
#endif
    return sum;
}

#endif
