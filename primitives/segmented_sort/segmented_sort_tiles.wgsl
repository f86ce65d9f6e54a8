// Purpose: the segments that begin in each window of a workgroup's share, in order.
// Passes before: count_to_groups, where the count is in a buffer. After: sort_pack, for narrow keys.
// Inputs: keys_in (0), offsets (3), values_in (5). Outputs: keys_out (1), values_out (6); none of the inputs.
//   Scratch: keys_place (4) and numbers_place (7), between the digits of segments that are longer than a tile.
// Needs: subgroup form: the feature subgroups.
// Memory order: what a workgroup writes for a digit of a long segment it reads for the next, behind a
//   storage barrier. No other workgroup's writes are read.
// Tail: keys that are not there have no rank and are not written; segments end at the count.
// Source: none beyond workgroup/rank_*.wgsl.
// What differs: one lane looks for the segments, and the others get them by workgroupUniformLoad. Bins are
//   counted in atomics. scratch (2) is not there, as the count is always in the parameters.
//   segmented_sort_tiles.comp draws windows, batches and rounds.

//#if LW_FORM_SUBGROUP && LW_ENABLE
enable subgroups;
//#endif
//#if LW_SUBGROUP_SIZE
enable subgroup_size_control;
//#endif

// Prologue: the assembler writes other values.
const LW_KEY_WORDS = 1u;      // 2: keys of 64 bits
const LW_VALUES = 0u;         // 1: values besides keys
const LW_RECORDS_STORE = 0u;  // 1: records are stored by bins
const LW_FORM_SUBGROUP = 0u;  // 1: subgroup operations; else barriers alone
const LW_SUBGROUP_ID = 0u;    // 1: the language has subgroup_id and num_subgroups
const LW_SUBGROUP_SIZE = 0u;  // the size that the pass requires; 0: none
const LW_ENABLE = 1u;         // 0: the language has no `enable subgroups`
const kWorkgroupSize = 256u;  // id 0; a power of two
const kItems = 8u;            // id 1; of a lane and tile; even
const kDigitBits = 8u;        // id 2; of a digit; the last may have fewer
const kShift = 0u;            // id 3; the first bit of the first digit
const kBallotWords = 4u;      // id 7; that hold the lanes of a subgroup
const kRankSlots = 1u;        // id 8; subgroups that have counters of their own
const kRankOverlay = 1u;      // id 9; 1: counters share words with what moves
const kKeyKind = 0u;          // id 10; item/names.wgsl
const kKeyBits = 32u;         // id 11; 8, 16, 32, 64
const kDescending = 0u;       // id 12; 1: from the largest key to the smallest
const kSourceBits = 32u;      // id 13; of a key in keys_in
const kImageIn = 1u;          // id 14; always
const kImageOut = 1u;         // id 15; 0: keys_out takes images
const kValueWords = 1u;       // id 16; 1 to 4
const kIndices = 0u;          // id 17; 1: values are the numbers of the items
const kWriteKeys = 1u;        // id 18; 0: only values are wanted
const kDigits = 4u;           // id 24; how many digits of the key there are
const kEndBit = 32u;          // id 25; one past the last bit that counts
// End of the prologue.

const kBins = 1u << kDigitBits;

@group(0) @binding(0) var<storage, read> keys_in: array<u32>;
@group(0) @binding(1) var<storage, read_write> keys_out: array<u32>;
@group(0) @binding(3) var<storage, read> offsets: array<u32>;
@group(0) @binding(4) var<storage, read_write> keys_place: array<u32>;
//#if LW_VALUES
@group(0) @binding(5) var<storage, read> values_in: array<u32>;
@group(0) @binding(6) var<storage, read_write> values_out: array<u32>;
@group(0) @binding(7) var<storage, read_write> numbers_place: array<u32>;
//#endif

//#include "tile/share.wgsl"
//#if LW_FORM_SUBGROUP
//#include "workgroup/rank_subgroup.wgsl"
//#else
//#include "workgroup/rank_barrier.wgsl"
//#endif
//#include "tile/load_key.wgsl"
//#include "tile/records.wgsl"

fn workgroup_counted(vlane: u32, totals: ptr<function, Bins>) {}

// Items whose segments are one job.
const kWindow = kTileItems / 2u;

// Of a tag: the place in the batch below, the segment above.
const kSegmentShift = 16u;

// Where the keys of a long segment are: the input, then keys_place and keys_out by turns, so that the last
// digit goes to keys_out.
const kInInput = 0u;
const kInOutput = 1u;
const kInPlace = 2u;
fn place_after(digit: u32) -> u32 { return select(kInPlace, kInOutput, ((kDigits - 1u - digit) & 1u) == 0u); }

// Segments that are sorted together: `segments` from `segment` on, items [first, first + items).
struct Batch {
    first: u32,
    items: u32,
    segment: u32,
    segments: u32,
}

var<workgroup> sh_batch: Batch;
// What a bin's place in the output is ahead of the rank of its first key; before that, its count.
var<workgroup> sh_base: array<atomic<u32>, kBins>;

fn segment_count() -> u32 { return max(parameters.offset_words, 1u) - 1u; }

// The first segment that begins at `item` or behind it; as many as there are, where none does.
fn first_segment_from(item: u32) -> u32 {
    var begin = 0u;
    var end = segment_count();
    while (begin < end) {
        let middle = begin + (end - begin) / 2u;
        if (offsets[middle] < item) {
            begin = middle + 1u;
        } else {
            end = middle;
        }
    }
    return begin;
}

// The segments [segment, end), which may be none. Whatever the offsets say, items that there are.
fn batch_of(segment: u32, end: u32, count: u32) -> Batch {
    let first = min(offsets[segment], count);
    let items = clamp(offsets[end], first, count) - first;
    return Batch(first, items, segment, end - segment);
}

// A number for the segment of an item, rising with the segments, and below both their number and the
// items'. Where segments are more than items, many are empty, and begins are the lesser numbers.
fn segment_number(batch: Batch, place: u32) -> u32 {
    var begin = batch.segment;
    var end = batch.segment + batch.segments;
    while (end - begin > 1u) {
        let middle = begin + (end - begin) / 2u;
        if (offsets[middle] <= batch.first + place) {
            begin = middle;
        } else {
            end = middle;
        }
    }
    var number = begin - batch.segment;
    if (batch.segments > batch.items) {
        number = min(max(offsets[begin], batch.first) - batch.first, batch.items - 1u);
    }
    return number;
}

fn write_key(place: u32, key: Key) {
//#if LW_KEY_WORDS == 2
    keys_out[2u * place] = key.low;
    keys_out[2u * place + 1u] = key.high;
//#else
    keys_out[place] = key.low;
//#endif
}

fn store_key(place: u32, image: Key) {
//#if kWriteKeys && kImageOut
    write_key(place, key_of_image(image));
//#elif kWriteKeys
    write_key(place, image);
//#endif
}

// The value of item `number`, at its place in order.
fn store_value(place: u32, number: u32) {
//#if LW_VALUES
    for (var word = 0u; word < kValueWords; word++) {
//#if kIndices
        values_out[place * kValueWords + word] = number;
//#else
        values_out[place * kValueWords + word] = values_in[number * kValueWords + word];
//#endif
    }
//#endif
}

// What no segment has goes where it stood.
fn copy_outside(vlane: u32, first: u32, items: u32) {
    let segments = segment_count();
    for (var place = vlane; place < items; place += kWorkgroupSize) {
        let item = first + place;
        if (segments == 0u || item < offsets[0] || item >= offsets[segments]) {
            store_key(item, load_key(item));
            store_value(item, item);
        }
    }
}

fn workgroup_sort_batch(lane: RankLane, group: Group, batch: Batch) {
    let items = batch.items;
    var keys = load_keys(lane, batch.first, items);
    var tags: Ranks;
    for (var k = 0u; k < kItems; k++) {
        let place = tile_place(lane, k);
        tags[k] = place;
        if (batch.segments > 1u) { tags[k] |= segment_number(batch, place) << kSegmentShift; }
    }
    let segment_bits = 32u - countLeadingZeros(min(batch.segments, items) - 1u);
    let rounds = kDigits + divide_up(segment_bits, kDigitBits);
    for (var round = 0u; round < rounds; round++) {
        let by_key = round < kDigits;
        let shift = select(kSegmentShift + (round - kDigits) * kDigitBits, kShift + round * kDigitBits, by_key);
        let end_bit = select(kSegmentShift + segment_bits, kEndBit, by_key);
        var by: Keys;
        for (var k = 0u; k < kItems; k++) {
            by[k] = keys[k];
            if (!by_key) { by[k].low = tags[k]; }
        }
        var ranks: Ranks;
        var starts: Bins;
        var totals: Bins;
        workgroup_rank(lane, group, &by, items, shift, min(kDigitBits, end_bit - shift), &ranks, &starts,
                       &totals);
        workgroupBarrier();
        move_lows(&keys, &ranks, items);
        workgroupBarrier();
        for (var k = 0u; k < kItems; k++) {
            let place = tile_place(lane, k);
            if (place < items) { keys[k].low = load_shared(place); }
        }
        workgroupBarrier();
//#if LW_KEY_WORDS == 2
        move_highs(&keys, &ranks, items);
        workgroupBarrier();
        for (var k = 0u; k < kItems; k++) {
            let place = tile_place(lane, k);
            if (place < items) { keys[k].high = load_shared(place); }
        }
        workgroupBarrier();
//#endif
        for (var k = 0u; k < kItems; k++) {
            if (ranks[k] < items) { store_shared(ranks[k], tags[k]); }
        }
        workgroupBarrier();
        for (var k = 0u; k < kItems; k++) {
            let place = tile_place(lane, k);
            if (place < items) { tags[k] = load_shared(place); }
        }
        workgroupBarrier();
    }
    for (var k = 0u; k < kItems; k++) {
        let place = tile_place(lane, k);
        if (place < items) {
            store_key(batch.first + place, keys[k]);
            store_value(batch.first + place, batch.first + (tags[k] & ((1u << kSegmentShift) - 1u)));
        }
    }
}

// Of a long segment.
fn load_image(source: u32, i: u32) -> Key {
    var key = key_of_zeros();
    if (source == kInInput) {
        key = load_key(i);
    } else if (source == kInOutput) {
//#if LW_KEY_WORDS == 2
        key = Key(keys_out[2u * i], keys_out[2u * i + 1u]);
//#else
        key = Key(keys_out[i]);
//#endif
    } else {
//#if LW_KEY_WORDS == 2
        key = Key(keys_place[2u * i], keys_place[2u * i + 1u]);
//#else
        key = Key(keys_place[i]);
//#endif
    }
    return key;
}

fn store_image(to: u32, place: u32, key: Key) {
    if (to == kInOutput) {
        write_key(place, key);
    } else {
//#if LW_KEY_WORDS == 2
        keys_place[2u * place] = key.low;
        keys_place[2u * place + 1u] = key.high;
//#else
        keys_place[place] = key.low;
//#endif
    }
}

//#if LW_VALUES
// Numbers of items, in numbers_place or where values of the segment that begins with item `begin` go.
fn load_number(source: u32, begin: u32, i: u32) -> u32 {
    var number = i;
    if (source == kInOutput) {
        number = values_out[begin * (kValueWords - 1u) + i];
    } else if (source == kInPlace) {
        number = numbers_place[i];
    }
    return number;
}

fn store_number(to: u32, begin: u32, place: u32, number: u32) {
    if (to == kInOutput) {
        values_out[begin * (kValueWords - 1u) + place] = number;
    } else {
        numbers_place[place] = number;
    }
}
//#endif

// Where the keys of each bin go: bins vlane * kBinsPerLane + j of a lane.
fn workgroup_count_long(lane: RankLane, group: Group, begin: u32, end: u32, source: u32, shift: u32,
                        bits: u32, places: ptr<function, Bins>) {
    let vlane = lane.vlane;
    for (var bin = vlane; bin < kBins; bin += kWorkgroupSize) { atomicStore(&sh_base[bin], 0u); }
    workgroupBarrier();
    let tiles = divide_up(end - begin, kTileItems);
    for (var tile = 0u; tile < tiles; tile++) {
        let first = begin + tile * kTileItems;
        let items = min(kTileItems, end - first);
        for (var place = vlane; place < items; place += kWorkgroupSize) {
            atomicAdd(&sh_base[digit_of(load_image(source, first + place), shift, bits)], 1u);
        }
    }
    workgroupBarrier();
    var counts: Bins;
    var sum = 0u;
    for (var j = 0u; j < kBinsPerLane; j++) {
        let bin = vlane * kBinsPerLane + j;
        counts[j] = 0u;
        if (bin < kBins) { counts[j] = atomicLoad(&sh_base[bin]); }
        sum += counts[j];
    }
    var total = 0u;
//#if LW_FORM_SUBGROUP
    var place = begin + workgroup_offset(sum, vlane, lane.lane, group, &total);
//#else
    var place = begin + workgroup_offset(sum, vlane, &total);
//#endif
    for (var j = 0u; j < kBinsPerLane; j++) {
        (*places)[j] = place;
        place += counts[j];
    }
}

fn workgroup_sort_long(lane: RankLane, group: Group, begin: u32, end: u32) {
    var digit = 0u;
    while (digit < kDigits) {  // is not written out
        let shift = kShift + digit * kDigitBits;
        let bits = min(kDigitBits, kEndBit - shift);
        let last = digit + 1u == kDigits;
        let source = select(place_after(max(digit, 1u) - 1u), kInInput, digit == 0u);
        let to = place_after(digit);
        var places: Bins;
        workgroup_count_long(lane, group, begin, end, source, shift, bits, &places);
        let tiles = divide_up(end - begin, kTileItems);
        for (var tile = 0u; tile < tiles; tile++) {
            let first = begin + tile * kTileItems;
            let items = min(kTileItems, end - first);
            var keys: Keys;
            for (var k = 0u; k < kItems; k++) {
                let place = tile_place(lane, k);
                keys[k] = key_of_zeros();
                if (place < items) { keys[k] = load_image(source, first + place); }
            }
            var ranks: Ranks;
            var starts: Bins;
            var totals: Bins;
            workgroup_rank(lane, group, &keys, items, shift, bits, &ranks, &starts, &totals);
            if (kRankOverlay != 0u) { workgroupBarrier(); }
            move_lows(&keys, &ranks, items);
            for (var j = 0u; j < kBinsPerLane; j++) {
                let bin = lane.vlane * kBinsPerLane + j;
                if (bin < kBins) { atomicStore(&sh_base[bin], places[j] - starts[j]); }
                places[j] += totals[j];
            }
            workgroupBarrier();
            var sorted: Keys;
            for (var k = 0u; k < kItems; k++) { sorted[k].low = load_shared(k * kWorkgroupSize + lane.vlane); }
//#if LW_KEY_WORDS == 2
            workgroupBarrier();
            move_highs(&keys, &ranks, items);
            workgroupBarrier();
            for (var k = 0u; k < kItems; k++) { sorted[k].high = load_shared(k * kWorkgroupSize + lane.vlane); }
//#endif
            var goes_to: Ranks;
            for (var k = 0u; k < kItems; k++) {
                let rank = k * kWorkgroupSize + lane.vlane;
                if (rank < items) {
                    // In the segment, whatever others write into it whose offsets descend.
                    let place = atomicLoad(&sh_base[digit_of(sorted[k], shift, bits)]) + rank;
                    goes_to[k] = min(place, end - 1u);
                    if (last) {
                        store_key(goes_to[k], sorted[k]);
                    } else {
                        store_image(to, goes_to[k], sorted[k]);
                    }
                }
            }
//#if LW_VALUES
            workgroupBarrier();
            for (var k = 0u; k < kItems; k++) {
                let i = first + tile_place(lane, k);
                if (ranks[k] < items) { store_shared(ranks[k], load_number(source, begin, i)); }
            }
            workgroupBarrier();
            for (var k = 0u; k < kItems; k++) {
                let rank = k * kWorkgroupSize + lane.vlane;
                if (rank < items) {
                    if (last) {
                        store_value(goes_to[k], min(load_shared(rank), end - 1u));
                    } else {
                        store_number(to, begin, goes_to[k], load_shared(rank));
                    }
                }
            }
//#endif
            workgroupBarrier();
        }
        storageBarrier();
        workgroupBarrier();
        digit += 1u;
    }
}

fn run(number: Lane, group: Group) {
    let lane = workgroup_rank_lane(number, group);
    let share = read_share();
    let count = share.count.x;
    let end = min((group.number + 1u) * share.tiles_per_group, share.tiles);
    // Of the first lane alone.
    var segment = 0u;
    var next = 0u;
    var all: Batch;
    if (lane.vlane == 0u) { next = first_segment_from(group.number * share.tiles_per_group * kWindow); }
    for (var window = group.number * share.tiles_per_group; window < end; window++) {
        let first = window * kWindow;
        let items = min(kWindow, count - first);
        copy_outside(lane.vlane, first, items);
        if (lane.vlane == 0u) {
            segment = next;
            next = first_segment_from(first + items);
            all = batch_of(segment, next, count);
        }
        var part = 0u;
        while (part < 2u) {  // is not written out
            if (lane.vlane == 0u) {
                var batch = all;
                if (all.items > kTileItems) {
                    if (part == 0u) {
                        batch = batch_of(segment, next - 1u, count);
                    } else {
                        batch = batch_of(next - 1u, next, count);
                    }
                } else if (part == 1u) {
                    batch.items = 0u;
                }
                sh_batch = batch;
            }
            let batch = workgroupUniformLoad(&sh_batch);
            if (batch.items > kTileItems && batch.segments == 1u) {
                workgroup_sort_long(lane, group, batch.first, batch.first + batch.items);
            } else if (batch.items != 0u) {
                // Fewer than these, but for offsets that descend.
                let fitting = Batch(batch.first, min(batch.items, kTileItems), batch.segment, batch.segments);
                workgroup_sort_batch(lane, group, fitting);
            }
            part += 1u;
        }
    }
}
