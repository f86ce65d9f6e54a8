// How `count` items are shared out over workgroups: the twin of share.glsl, which draws it.
//
// What differs: the share is always in the parameters. Where the count is in a buffer, the host copies
// there what count_to_groups wrote to scratch (kernels.md), so that compilers see that it is the same
// in the whole workgroup.

//#include "item/words64.wgsl"
//#include "tile/memory.wgsl"

struct Share {
    count: vec2<u32>,
    tiles: u32,
    tiles_per_group: u32,
    groups: u32,
}

fn read_share() -> Share {
    return Share(vec2<u32>(parameters.count_low, parameters.count_high), parameters.tiles,
                 parameters.tiles_per_group, parameters.groups);
}

// A workgroup's part: whole tiles [first, end), then perhaps a last tile that holds `cut` items.
struct Part {
    first: u32,
    end: u32,
    cut: u32,  // 0: no such tile; otherwise it is tile `end`
}

fn part_of_group(share: Share, group: u32, tile_items: u32) -> Part {
    let first = min(group * share.tiles_per_group, share.tiles);
    let end = first + min(share.tiles_per_group, share.tiles - first);
    let missing = share.tiles * tile_items - share.count.x;  // in the last tile: fits 32 bits
    let cut = missing != 0u && first < end && end == share.tiles;
    return Part(first, select(end, end - 1u, cut), select(0u, tile_items - missing, cut));
}

fn divide_up(a: u32, b: u32) -> u32 { return a / b + select(0u, 1u, a % b != 0u); }

// The tiles of `count` fit 32 bits. Of counts that do not, tile_items is a power of two.
fn share_out(count: vec2<u32>, tile_items: u32, max_groups: u32, max_tiles_per_dispatch: u32) -> Share {
    var tiles = divide_up(count.x, tile_items);
    if (count.y != 0u) {
        let shift = firstLeadingBit(tile_items);  // not 0: the tiles would not fit
        tiles = ((count.x >> shift) | (count.y << ((32u - shift) & 31u))) +
                select(0u, 1u, (count.x & (tile_items - 1u)) != 0u);
    }
    let tiles_per_group = clamp(divide_up(tiles, max_groups), 1u,
                                max(1u, max_tiles_per_dispatch / max_groups));
    let groups = max(1u, divide_up(tiles, tiles_per_group));
    return Share(count, tiles, tiles_per_group, groups);
}

// Of the first `most` items of a use, shared out over the workgroups of all; most ~0: of all. Workgroups
// from Share::groups on have no part.
fn read_first_share(most: u32, tile_items: u32) -> Share {
    var share = read_share();
    if (most != 0xffffffffu) {
        let count = select(min(share.count.x, most), most, share.count.y != 0u);
        share = share_out(vec2<u32>(count, 0u), tile_items, share.groups, 0xffffffffu);
    }
    return share;
}

// Workgroups in dispatch i of those that `groups` take.
fn groups_of_dispatch(groups: u32, max_groups: u32, i: u32) -> u32 {
    let before = multiply32(i, max_groups);
    let needed = less64(before, vec2<u32>(groups, 0u));
    return select(0u, min(groups - before.x, max_groups), needed);
}
