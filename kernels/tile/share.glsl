// How `count` items are shared out over workgroups: the arithmetic of lanewise::share_out, which
// must give the same numbers, and where a workgroup finds its part.
//
//   tiles         |0 1 2|3 4 5|6 7 8|9 a|      tiles 11, tiles_per_group 3, groups 4
//   workgroups       0     1     2    3
//
// The kernel defines before: LW_BINDINGS (tile/memory.glsl); LW_SCRATCH where it has a buffer named
// scratch, so that the count may be in a buffer.
#ifndef LW_TILE_SHARE_GLSL
#define LW_TILE_SHARE_GLSL

#include "item/words64.glsl"
#include "tile/memory.glsl"

struct Share {
    uvec2 count;
    uint tiles;
    uint tiles_per_group;
    uint groups;
};

// Bit 0 of the flags: count_to_groups wrote the share to scratch.
const uint kShareInScratch = 1u;

Share read_share() {
    Share share = Share(uvec2(parameters.count_low, parameters.count_high), parameters.tiles,
                        parameters.tiles_per_group, parameters.groups);
#ifdef LW_SCRATCH
    if ((parameters.flags & kShareInScratch) != 0u) {
        share = Share(uvec2(LW_WORD(scratch, 0), LW_WORD(scratch, 1)), LW_WORD(scratch, 2),
                      LW_WORD(scratch, 3), LW_WORD(scratch, 4));
    }
#endif
    return share;
}

uint group_number() { return parameters.first_group + gl_WorkGroupID.x; }

// A workgroup's part: whole tiles [first, end), then perhaps a last tile that holds `cut` items.
struct Part {
    uint first;
    uint end;
    uint cut;  // 0: no such tile; otherwise it is tile `end`
};

Part part_of_group(Share share, uint group, uint tile_items) {
    uint first = min(group * share.tiles_per_group, share.tiles);
    uint end = first + min(share.tiles_per_group, share.tiles - first);
    uint missing = share.tiles * tile_items - share.count.x;  // in the last tile: fits 32 bits
    bool cut = missing != 0u && first < end && end == share.tiles;
    return Part(first, cut ? end - 1u : end, cut ? tile_items - missing : 0u);
}

uint divide_up(uint a, uint b) { return a / b + (a % b != 0u ? 1u : 0u); }

// The tiles of `count` fit 32 bits. Of counts that do not, tile_items is a power of two.
Share share_out(uvec2 count, uint tile_items, uint max_groups, uint max_tiles_per_dispatch) {
    uint tiles = divide_up(count.x, tile_items);
    if (count.y != 0u) {
        int shift = findMSB(tile_items);  // not 0: the tiles would not fit
        tiles = (count.x >> shift | count.y << ((32 - shift) & 31)) +
                ((count.x & (tile_items - 1u)) != 0u ? 1u : 0u);
    }
    uint tiles_per_group = clamp(divide_up(tiles, max_groups), 1u,
                                 max(1u, max_tiles_per_dispatch / max_groups));
    uint groups = max(1u, divide_up(tiles, tiles_per_group));
    return Share(count, tiles, tiles_per_group, groups);
}

// Of the first `most` items of a use, shared out over the workgroups of all; most ~0: of all. Workgroups
// from Share::groups on have no part.
Share read_first_share(uint most, uint tile_items) {
    Share share = read_share();
    if (most != ~0u) {
        uint count = share.count.y != 0u ? most : min(share.count.x, most);
        share = share_out(uvec2(count, 0u), tile_items, share.groups, ~0u);
    }
    return share;
}

// Workgroups in dispatch i of those that `groups` take.
uint groups_of_dispatch(uint groups, uint max_groups, uint i) {
    uvec2 before = multiply32(i, max_groups);
    return less64(before, uvec2(groups, 0u)) ? min(groups - before.x, max_groups) : 0u;
}

#endif
