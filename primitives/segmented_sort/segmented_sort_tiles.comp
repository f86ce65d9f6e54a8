// Purpose: the segments that begin in each window of a workgroup's share, in order.
// Passes before: count_to_groups, where the count is in a buffer. After: sort_pack, for narrow keys.
// Inputs: keys_in (0), offsets (3), values_in (5). Outputs: keys_out (1), values_out (6); none of the inputs.
//   Scratch: parameters where the count is in a buffer (2); keys_place (4) and numbers_place (7), between the
//   digits of segments that are longer than a tile.
// Needs: subgroup form: basic, ballot and shuffle operations.
// Memory order: what a workgroup writes for a digit of a long segment it reads for the next, behind a
//   memory barrier in uniform flow. No other workgroup's writes are read.
// Tail: keys that are not there have no rank and are not written; segments end at the count.
// Source: none beyond workgroup/rank_*.glsl.
// What differs in WGSL: one lane looks for the segments, and the others get them by workgroupUniformLoad.
//
//     windows         |       0       |       1       |       2       |      half a tile each; a segment belongs
//     segments         aaaa bbb c ddddddd eee ffffffffffffffffffff gg        to the one in which it begins
//     batches         [aaaa bbb c ddddddd][eee][fffff ...         ][gg]
//
// A batch fits a tile: all segments of a window, or all but the last, which then is one of its own. Its items
// go round through workgroup memory, by the digits of their keys and then by those of their segments:
//
//     segment, key    a7 a3 b5 b1 b6 c2     by keys: b1 c2 a3 b5 b6 a7     by segments: a3 a7 b1 b5 b6 c2
//
// A segment that is no batch goes digit by digit between memory and memory, tile by tile: counted, then
// scattered, the last digit to the output:
//
//     input -> keys_place -> keys_out -> keys_place -> keys_out       values stay; their items' numbers go along
#version 450

// Prologue: a build or the assembler replaces these.
#ifndef LW_KEY_WORDS
#define LW_KEY_WORDS 1  // 2: keys of 64 bits
#endif
// LW_FORM_SUBGROUP: subgroup operations; else barriers alone.
// LW_VALUES: values besides keys.
// LW_DEVICE_ADDRESS: buffers by address; else by descriptor.
// End of the prologue.

#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#ifdef LW_FORM_SUBGROUP
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#endif
#ifdef LW_DEVICE_ADDRESS
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#endif

layout(local_size_x_id = 0) in;
layout(constant_id = 0) const uint kWorkgroupSize = 256u;      // a power of two
layout(constant_id = 1) const uint kItems = 8u;                // of a lane and tile; even
layout(constant_id = 2) const uint kDigitBits = 8u;            // of a digit; the last may have fewer
layout(constant_id = 3) const uint kShift = 0u;                // the first bit of the first digit
layout(constant_id = 5) const uint kSubgroupSize = 0u;         // 0: read in the shader
layout(constant_id = 6) const uint kFullSubgroups = 0u;        // 1: promised by the API
layout(constant_id = 7) const uint kBallotWords = 4u;          // that hold the lanes of a subgroup
layout(constant_id = 8) const uint kRankSlots = 1u;            // subgroups that have counters of their own
layout(constant_id = 9) const uint kRankOverlay = 1u;          // 1: counters share words with what moves
layout(constant_id = 10) const uint kKeyKind = 0u;             // item/names.glsl
layout(constant_id = 11) const uint kKeyBits = 32u;            // 8, 16, 32, 64
layout(constant_id = 12) const uint kDescending = 0u;          // 1: from the largest key to the smallest
layout(constant_id = 13) const uint kSourceBits = 32u;         // of a key in keys_in
layout(constant_id = 14) const uint kImageIn = 1u;             // always
layout(constant_id = 15) const uint kImageOut = 1u;            // 0: keys_out takes images
layout(constant_id = 16) const uint kValueWords = 1u;          // 1 to 4
layout(constant_id = 17) const uint kIndices = 0u;             // 1: values are the numbers of the items
layout(constant_id = 18) const uint kWriteKeys = 1u;           // 0: only values are wanted
layout(constant_id = 24) const uint kDigits = 4u;              // how many digits of the key there are
layout(constant_id = 25) const uint kEndBit = 32u;             // one past the last bit that counts
const uint kBins = 1u << kDigitBits;

#ifdef LW_VALUES
#define LW_BINDINGS 8
#else
#define LW_BINDINGS 5
#endif
#define LW_SCRATCH
#include "tile/memory.glsl"
LW_BUFFER(keys_in, 0, readonly)
LW_BUFFER(keys_out, 1, coherent)
LW_BUFFER(scratch, 2, readonly)
LW_BUFFER(offsets, 3, readonly)
LW_BUFFER(keys_place, 4, coherent)
#ifdef LW_VALUES
LW_BUFFER(values_in, 5, readonly)
LW_BUFFER(values_out, 6, coherent)
LW_BUFFER(numbers_place, 7, coherent)
#endif
#include "tile/share.glsl"
#ifdef LW_FORM_SUBGROUP
#include "workgroup/rank_subgroup.glsl"
#else
#include "workgroup/rank_barrier.glsl"
#endif
#include "tile/load_key.glsl"
#include "tile/records.glsl"

void workgroup_counted(uint vlane, uint totals[kBinsPerLane]) {}

// Items whose segments are one job.
const uint kWindow = kTileItems / 2u;

// Of a tag: the place in the batch below, the segment above.
const uint kSegmentShift = 16u;

// Where the keys of a long segment are: the input, then keys_place and keys_out by turns, so that the last
// digit goes to keys_out.
const uint kInInput = 0u;
const uint kInOutput = 1u;
const uint kInPlace = 2u;
uint place_after(uint digit) { return ((kDigits - 1u - digit) & 1u) == 0u ? kInOutput : kInPlace; }

// Segments that are sorted together: `segments` from `segment` on, items [first, first + items).
struct Batch {
    uint first;
    uint items;
    uint segment;
    uint segments;
};

uint segment_count() { return max(parameters.offset_words, 1u) - 1u; }

// The first segment that begins at `item` or behind it; as many as there are, where none does.
uint first_segment_from(uint item) {
    uint begin = 0u;
    uint end = segment_count();
    while (begin < end) {
        uint middle = begin + (end - begin) / 2u;
        if (LW_WORD(offsets, middle) < item) {
            begin = middle + 1u;
        } else {
            end = middle;
        }
    }
    return begin;
}

// The segments [segment, end), which may be none. Whatever the offsets say, items that there are.
Batch batch_of(uint segment, uint end, uint count) {
    uint first = min(LW_WORD(offsets, segment), count);
    uint items = clamp(LW_WORD(offsets, end), first, count) - first;
    return Batch(first, items, segment, end - segment);
}

// A number for the segment of an item, rising with the segments, and below both their number and the
// items'. Where segments are more than items, many are empty, and begins are the lesser numbers.
uint segment_number(Batch batch, uint place) {
    uint begin = batch.segment;
    uint end = batch.segment + batch.segments;
    while (end - begin > 1u) {
        uint middle = begin + (end - begin) / 2u;
        if (LW_WORD(offsets, middle) <= batch.first + place) {
            begin = middle;
        } else {
            end = middle;
        }
    }
    if (batch.segments <= batch.items) return begin - batch.segment;
    return min(max(LW_WORD(offsets, begin), batch.first) - batch.first, batch.items - 1u);
}

void write_key(uint place, Key key) {
#if LW_KEY_WORDS == 2
    LW_WORD(keys_out, 2u * place) = key.low;
    LW_WORD(keys_out, 2u * place + 1u) = key.high;
#else
    LW_WORD(keys_out, place) = key.low;
#endif
}

void store_key(uint place, Key image) {
    Key key = image;
    if (kImageOut != 0u) key = key_of_image(image);
    if (kWriteKeys != 0u) write_key(place, key);
}

// The value of item `number`, at its place in order.
void store_value(uint place, uint number) {
#ifdef LW_VALUES
    [[unroll]] for (uint word = 0u; word < kValueWords; ++word) {
        uint value = number;
        if (kIndices == 0u) value = LW_WORD(values_in, number * kValueWords + word);
        LW_WORD(values_out, place * kValueWords + word) = value;
    }
#endif
}

// What no segment has goes where it stood.
void copy_outside(uint vlane, uint first, uint items) {
    uint segments = segment_count();
    for (uint place = vlane; place < items; place += kWorkgroupSize) {
        uint item = first + place;
        if (segments == 0u || item < LW_WORD(offsets, 0) || item >= LW_WORD(offsets, segments)) {
            store_key(item, load_key(item));
            store_value(item, item);
        }
    }
}

void workgroup_sort_batch(RankLane lane, Batch batch) {
    uint items = batch.items;
    Key keys[kItems];
    load_keys(lane, batch.first, items, keys);
    uint tags[kItems];
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        uint place = tile_place(lane, k);
        tags[k] = place;
        if (batch.segments > 1u) tags[k] |= segment_number(batch, place) << kSegmentShift;
    }
    uint segment_bits = uint(findMSB(min(batch.segments, items) - 1u) + 1);
    uint rounds = kDigits + divide_up(segment_bits, kDigitBits);
    for (uint round = 0u; round < rounds; ++round) {
        bool by_key = round < kDigits;
        uint shift = by_key ? kShift + round * kDigitBits : kSegmentShift + (round - kDigits) * kDigitBits;
        uint end_bit = by_key ? kEndBit : kSegmentShift + segment_bits;
        Key by[kItems];
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            by[k] = keys[k];
            if (!by_key) by[k].low = tags[k];
        }
        uint ranks[kItems];
        uint starts[kBinsPerLane];
        uint totals[kBinsPerLane];
        workgroup_rank(lane, by, items, shift, min(kDigitBits, end_bit - shift), ranks, starts, totals);
        barrier();
        move_lows(keys, ranks, items);
        barrier();
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = tile_place(lane, k);
            if (place < items) keys[k].low = sh_words[place];
        }
        barrier();
#if LW_KEY_WORDS == 2
        move_highs(keys, ranks, items);
        barrier();
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = tile_place(lane, k);
            if (place < items) keys[k].high = sh_words[place];
        }
        barrier();
#endif
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            if (ranks[k] < items) sh_words[ranks[k]] = tags[k];
        }
        barrier();
        [[unroll]] for (uint k = 0u; k < kItems; ++k) {
            uint place = tile_place(lane, k);
            if (place < items) tags[k] = sh_words[place];
        }
        barrier();
    }
    [[unroll]] for (uint k = 0u; k < kItems; ++k) {
        uint place = tile_place(lane, k);
        if (place < items) {
            store_key(batch.first + place, keys[k]);
            store_value(batch.first + place, batch.first + (tags[k] & ((1u << kSegmentShift) - 1u)));
        }
    }
}

// Of a long segment.
Key load_image(uint source, uint i) {
    Key key = key_of_zeros();
    if (source == kInInput) {
        key = load_key(i);
    } else if (source == kInOutput) {
#if LW_KEY_WORDS == 2
        key = Key(LW_WORD(keys_out, 2u * i), LW_WORD(keys_out, 2u * i + 1u));
#else
        key = Key(LW_WORD(keys_out, i));
#endif
    } else {
#if LW_KEY_WORDS == 2
        key = Key(LW_WORD(keys_place, 2u * i), LW_WORD(keys_place, 2u * i + 1u));
#else
        key = Key(LW_WORD(keys_place, i));
#endif
    }
    return key;
}

void store_image(uint to, uint place, Key key) {
    if (to == kInOutput) {
        write_key(place, key);
    } else {
#if LW_KEY_WORDS == 2
        LW_WORD(keys_place, 2u * place) = key.low;
        LW_WORD(keys_place, 2u * place + 1u) = key.high;
#else
        LW_WORD(keys_place, place) = key.low;
#endif
    }
}

#ifdef LW_VALUES
// Numbers of items, in numbers_place or where values of the segment that begins with item `begin` go.
uint load_number(uint source, uint begin, uint i) {
    uint number = i;
    if (source == kInOutput) {
        number = LW_WORD(values_out, begin * (kValueWords - 1u) + i);
    } else if (source == kInPlace) {
        number = LW_WORD(numbers_place, i);
    }
    return number;
}

void store_number(uint to, uint begin, uint place, uint number) {
    if (to == kInOutput) {
        LW_WORD(values_out, begin * (kValueWords - 1u) + place) = number;
    } else {
        LW_WORD(numbers_place, place) = number;
    }
}
#endif

// Where the keys of each bin go: bins vlane * kBinsPerLane + j of a lane.
void workgroup_count_long(uint vlane, uint begin, uint end, uint source, uint shift, uint bits,
                          out uint places[kBinsPerLane]) {
    for (uint bin = vlane; bin < kBins; bin += kWorkgroupSize) sh_base[bin] = 0u;
    barrier();
    uint tiles = divide_up(end - begin, kTileItems);
    for (uint tile = 0u; tile < tiles; ++tile) {
        uint first = begin + tile * kTileItems;
        uint items = min(kTileItems, end - first);
        for (uint place = vlane; place < items; place += kWorkgroupSize) {
            atomicAdd(sh_base[digit_of(load_image(source, first + place), shift, bits)], 1u);
        }
    }
    barrier();
    uint counts[kBinsPerLane];
    uint sum = 0u;
    [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
        uint bin = vlane * kBinsPerLane + j;
        counts[j] = 0u;
        if (bin < kBins) counts[j] = sh_base[bin];
        sum += counts[j];
    }
    uint total;
    uint place = begin + workgroup_offset(sum, vlane, total);
    [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
        places[j] = place;
        place += counts[j];
    }
}

void workgroup_sort_long(RankLane lane, uint begin, uint end) {
    for (uint digit = 0u; digit < kDigits; ++digit) {
        uint shift = kShift + digit * kDigitBits;
        uint bits = min(kDigitBits, kEndBit - shift);
        bool last = digit + 1u == kDigits;
        uint source = digit == 0u ? kInInput : place_after(digit - 1u);
        uint to = place_after(digit);
        uint places[kBinsPerLane];
        workgroup_count_long(lane.vlane, begin, end, source, shift, bits, places);
        uint tiles = divide_up(end - begin, kTileItems);
        for (uint tile = 0u; tile < tiles; ++tile) {
            uint first = begin + tile * kTileItems;
            uint items = min(kTileItems, end - first);
            Key keys[kItems];
            [[unroll]] for (uint k = 0u; k < kItems; ++k) {
                uint place = tile_place(lane, k);
                keys[k] = key_of_zeros();
                if (place < items) keys[k] = load_image(source, first + place);
            }
            uint ranks[kItems];
            uint starts[kBinsPerLane];
            uint totals[kBinsPerLane];
            workgroup_rank(lane, keys, items, shift, bits, ranks, starts, totals);
            if (kRankOverlay != 0u) barrier();
            move_lows(keys, ranks, items);
            [[unroll]] for (uint j = 0u; j < kBinsPerLane; ++j) {
                uint bin = lane.vlane * kBinsPerLane + j;
                if (bin < kBins) sh_base[bin] = places[j] - starts[j];
                places[j] += totals[j];
            }
            barrier();
            Key sorted[kItems];
            [[unroll]] for (uint k = 0u; k < kItems; ++k) sorted[k].low = sh_words[k * kWorkgroupSize + lane.vlane];
#if LW_KEY_WORDS == 2
            barrier();
            move_highs(keys, ranks, items);
            barrier();
            [[unroll]] for (uint k = 0u; k < kItems; ++k) sorted[k].high = sh_words[k * kWorkgroupSize + lane.vlane];
#endif
            uint goes_to[kItems];
            [[unroll]] for (uint k = 0u; k < kItems; ++k) {
                uint rank = k * kWorkgroupSize + lane.vlane;
                if (rank < items) {
                    // In the segment, whatever others write into it whose offsets descend.
                    goes_to[k] = min(sh_base[digit_of(sorted[k], shift, bits)] + rank, end - 1u);
                    if (last) {
                        store_key(goes_to[k], sorted[k]);
                    } else {
                        store_image(to, goes_to[k], sorted[k]);
                    }
                }
            }
#ifdef LW_VALUES
            barrier();
            [[unroll]] for (uint k = 0u; k < kItems; ++k) {
                uint i = first + tile_place(lane, k);
                if (ranks[k] < items) sh_words[ranks[k]] = load_number(source, begin, i);
            }
            barrier();
            [[unroll]] for (uint k = 0u; k < kItems; ++k) {
                uint rank = k * kWorkgroupSize + lane.vlane;
                if (rank < items) {
                    if (last) {
                        store_value(goes_to[k], min(sh_words[rank], end - 1u));
                    } else {
                        store_number(to, begin, goes_to[k], sh_words[rank]);
                    }
                }
            }
#endif
            barrier();
        }
        memoryBarrierBuffer();
        barrier();
    }
}

void main() {
    RankLane lane = workgroup_rank_lane();
    Share share = read_share();
    uint count = share.count.x;
    uint group = group_number();
    uint end = min((group + 1u) * share.tiles_per_group, share.tiles);
    uint next = first_segment_from(group * share.tiles_per_group * kWindow);
    for (uint window = group * share.tiles_per_group; window < end; ++window) {
        uint first = window * kWindow;
        uint items = min(kWindow, count - first);
        copy_outside(lane.vlane, first, items);
        uint segment = next;
        next = first_segment_from(first + items);
        Batch all = batch_of(segment, next, count);
        bool together = all.items <= kTileItems;
        for (uint part = 0u; part < 2u; ++part) {
            Batch batch = all;
            if (!together) {
                batch = part == 0u ? batch_of(segment, next - 1u, count) : batch_of(next - 1u, next, count);
            }
            if (batch.items > kTileItems && batch.segments == 1u) {
                workgroup_sort_long(lane, batch.first, batch.first + batch.items);
            } else if (batch.items != 0u && (part == 0u || !together)) {
                batch.items = min(batch.items, kTileItems);  // is less, but for offsets that descend
                workgroup_sort_batch(lane, batch);
            }
        }
    }
}
