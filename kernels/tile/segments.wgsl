// Segments by their offsets: how many there are, and where they begin and end in a tile. The twin of
// segments.glsl, which draws the marks.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: buffers named offsets and, with kSegmentsInBuffer, segment_total
// (tile/memory.wgsl); tile/row_sums.wgsl's, and that module; kMostSegments, kSegmentsInBuffer (1: their number is
// the word segment_total; 0: of the range of offsets there is one segment fewer than it has numbers)
// (constants).

//#include "tile/row_sums.wgsl"

// A bit for each item, and one for the end of the last.
const kMarkWords = kTileItems / 32u + 1u;
var<workgroup> sh_marks: array<atomic<u32>, kMarkWords>;

// Items that neighbouring lanes hold are in neighbouring slots.
const kEndStride = kTileVectors + 1u;
const kEndSlots = kItemsPerVector * kEndStride;
var<workgroup> sh_ends: array<atomic<u32>, kEndSlots>;

fn end_slot(place: u32) -> u32 {
    return place % kItemsPerVector * kEndStride + place / kItemsPerVector;
}

// At most kMostSegments.
fn segment_count() -> u32 {
//#if kSegmentsInBuffer
    let segments = segment_total[0];
//#else
    let segments = max(parameters.offset_words, 1u) - 1u;
//#endif
    return min(segments, kMostSegments);
}

fn offset_at(i: u32, count: u32) -> u32 { return min(offsets[i], count); }

// The first of the offsets from number `begin` on that is not below `item`; `segments` + 1 where all are.
fn first_offset_from(item: u32, begin: u32, segments: u32, count: u32) -> u32 {
    var first = begin;
    var end = segments + 1u;
    while (first < end) {
        let middle = first + (end - first) / 2u;
        if (offset_at(middle, count) < item) {
            first = middle + 1u;
        } else {
            end = middle;
        }
    }
    return first;
}

fn mark(place: u32, i: u32) {
    atomicOr(&sh_marks[place / 32u], 1u << (place % 32u));
    // Atomic for offsets that descend alone: of others one has this place.
    atomicStore(&sh_ends[end_slot(place)], i);
}

// Marks what begins and ends in the tile. `next` is a number of the offsets before which none lies in the
// tile; gives the one for the next tile. A barrier must stand between the use of one tile's marks and this.
fn workgroup_mark_tile(tile: Tile, vlane: u32, segments: u32, count: u32, next: u32) -> u32 {
    for (var word = vlane; word < kMarkWords; word += kWorkgroupSize) {
        atomicStore(&sh_marks[word], 0u);
    }
    workgroupBarrier();
    const batch = 4u;
    let first = tile.number * kTileItems;
    let last = first + tile.items;
    var next_tile = next;
    var begin = next;
    var more = segments != 0u && begin <= segments;
    if (more) { more = offset_at(begin, count) <= last; }
    while (more) {
        var at: array<u32, batch>;
        var before: array<u32, batch>;
        for (var j = 0u; j < batch; j++) {
            let i = min(begin + j * kWorkgroupSize + vlane, segments);
            at[j] = offset_at(i, count);
            before[j] = offset_at(max(i, 1u) - 1u, count);
        }
        for (var j = 0u; j < batch; j++) {
            let i = begin + j * kWorkgroupSize + vlane;
            let rises = i == 0u || before[j] < at[j];
            if (i <= segments && rises && at[j] >= first && at[j] <= last) { mark(at[j] - first, i); }
        }
        let lowest = offset_at(begin, count);
        begin += batch * kWorkgroupSize;
        more = begin <= segments;
        if (more) {
            // Over a run of empty segments at once.
            if (offset_at(begin, count) == lowest) {
                begin = first_offset_from(lowest + 1u, begin, segments, count);
            }
            let at_begin = offset_at(min(begin, segments), count);
            more = begin <= segments && at_begin <= last;
            // What ends with this tile marks the begin of the next.
            if (more && at_begin < last) { next_tile = begin; }
        }
    }
    workgroupBarrier();
    return next_tile;
}

fn heads_of_vector(tile: Tile, i: u32) -> u32 {
    let place = i * kItemsPerVector;
    return extractBits(atomicLoad(&sh_marks[place / 32u]), place % 32u, kItemsPerVector);
}

// Bit j is 1 where item j of the tile's vector i ends something.
fn ends_of_vector(tile: Tile, i: u32) -> u32 {
    let next = (i + 1u) * kItemsPerVector;
    let last = (atomicLoad(&sh_marks[next / 32u]) >> (next % 32u)) & 1u;
    return (heads_of_vector(tile, i) >> 1u) | (last << (kItemsPerVector - 1u));
}
