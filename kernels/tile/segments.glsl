// Segments by their offsets: how many there are, and where they begin and end in a tile.
//
//     offsets     3 5 5 9                    3 segments: items 3 4, none, items 5 6 7 8
//     items       0 1 2 3 4 5 6 7 8 | 9
//     marks       . . . x . x . . . x        an item begins something there, the one before ends it
//     sh_ends           0   1       3        which of the offsets it is, the first of equal ones: one more
//                                            than the segment that ends; 0 ends what no segment has
//
// Offsets above the count count as the count. Whatever they are, nothing outside is touched.
//
// The kernel defines before: LW_BINDINGS, buffers named offsets and segment_total (tile/memory.glsl);
// tile/row_sums.glsl's, and that module; kMostSegments, kSegmentsInBuffer (1: their number is the word
// segment_total; 0: of the range of offsets there is one segment fewer than it has numbers) (constants).
// Needs GL_KHR_memory_scope_semantics.
#ifndef LW_TILE_SEGMENTS_GLSL
#define LW_TILE_SEGMENTS_GLSL

#include "tile/row_sums.glsl"

// A bit for each item, and one for the end of the last.
const uint kMarkWords = kTileItems / 32u + 1u;
shared uint sh_marks[kMarkWords];

// Items that neighbouring lanes hold are in neighbouring slots.
const uint kEndStride = kTileVectors + 1u;
shared uint sh_ends[kItemsPerVector * kEndStride];

uint end_slot(uint place) {
    return place % kItemsPerVector * kEndStride + place / kItemsPerVector;
}

// At most kMostSegments.
uint segment_count() {
    uint segments = max(parameters.offset_words, 1u) - 1u;
    if (kSegmentsInBuffer != 0u) segments = LW_WORD(segment_total, 0);
    return min(segments, kMostSegments);
}

uint offset_at(uint i, uint count) { return min(LW_WORD(offsets, i), count); }

// The first of the offsets from number `begin` on that is not below `item`; `segments` + 1 where all are.
uint first_offset_from(uint item, uint begin, uint segments, uint count) {
    uint end = segments + 1u;
    while (begin < end) {
        uint middle = begin + (end - begin) / 2u;
        if (offset_at(middle, count) < item) {
            begin = middle + 1u;
        } else {
            end = middle;
        }
    }
    return begin;
}

void mark(uint place, uint i) {
    atomicOr(sh_marks[place / 32u], 1u << place % 32u);
    // Atomic for offsets that descend alone: of others one has this place.
    atomicStore(sh_ends[end_slot(place)], i, gl_ScopeWorkgroup, gl_StorageSemanticsNone,
                gl_SemanticsRelaxed);
}

// Marks what begins and ends in the tile. `next` is a number of the offsets before which none lies in the
// tile; it moves on for the next tile. A barrier must stand between the use of one tile's marks and this.
void workgroup_mark_tile(Tile tile, uint vlane, uint segments, uint count, inout uint next) {
    for (uint word = vlane; word < kMarkWords; word += kWorkgroupSize) sh_marks[word] = 0u;
    barrier();
    const uint batch = 4u;
    uint first = tile.number * kTileItems;
    uint last = first + tile.items;
    uint from = next;
    bool more = segments != 0u && from <= segments && offset_at(from, count) <= last;
    while (more) {
        uint at[batch];
        uint before[batch];
        [[unroll]] for (uint j = 0u; j < batch; ++j) {
            uint i = min(from + j * kWorkgroupSize + vlane, segments);
            at[j] = offset_at(i, count);
            before[j] = offset_at(max(i, 1u) - 1u, count);
        }
        [[unroll]] for (uint j = 0u; j < batch; ++j) {
            uint i = from + j * kWorkgroupSize + vlane;
            bool rises = i == 0u || before[j] < at[j];
            if (i <= segments && rises && at[j] >= first && at[j] <= last) mark(at[j] - first, i);
        }
        uint begin = offset_at(from, count);
        from += batch * kWorkgroupSize;
        // Over a run of empty segments at once.
        if (from <= segments && offset_at(from, count) == begin) {
            from = first_offset_from(begin + 1u, from, segments, count);
        }
        more = from <= segments && offset_at(from, count) <= last;
        // What ends with this tile marks the begin of the next.
        if (more && offset_at(from, count) < last) next = from;
    }
    barrier();
}

uint heads_of_vector(Tile tile, uint i) {
    uint place = i * kItemsPerVector;
    return bitfieldExtract(sh_marks[place / 32u], int(place % 32u), int(kItemsPerVector));
}

// Bit j is 1 where item j of the tile's vector i ends something.
uint ends_of_vector(Tile tile, uint i) {
    uint next = (i + 1u) * kItemsPerVector;
    return heads_of_vector(tile, i) >> 1 | (sh_marks[next / 32u] >> next % 32u & 1u) << (kItemsPerVector - 1u);
}

#endif
