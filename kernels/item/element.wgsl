// Elements out of the words of a 16-byte vector, as accumulators, in streams: the twin of
// element.glsl, which draws them.
//
// What differs: no f64.
//
// The kernel defines before: LW_ELEMENT_BITS, and what item/accumulator.wgsl asks for.

//#include "item/accumulator.wgsl"

//#if LW_CUSTOM
//#include "item/custom_element.wgsl"
//#else

//#if LW_ELEMENT_BITS == 64
const kStreams = 2u;
//#else
const kStreams = 4u;
//#endif
const kItemsPerVector = 128u / LW_ELEMENT_BITS;
const kItemsPerStream = kItemsPerVector / kStreams;

//#if LW_ELEMENT_BITS == 64

fn item_value(vector: vec4<u32>, stream: u32, item: u32) -> AccumulatorValue {
    let bits = select(vector.zw, vector.xy, stream == 0u);
    var image = float_image64(bits);
//#if LW_INDEX_BITS != 0
    // All NaNs alike: the first of them is the answer when there is nothing else.
    image = min64(image, add64(float_last_image64(), vec2<u32>(1u, 0u)));
//#endif
    image = select(integer_image64(bits), image, kElementKind == kFloat);
    return select(bits, image, operator_orders());
}

//#else

// A value of 32 bits in the accumulator's.
fn widen(bits: u32, is_signed: bool) -> AccumulatorValue {
//#if LW_ACCUMULATOR_BITS == 64
    return select(vec2<u32>(bits, 0u), sign_extend64(bits), is_signed);
//#else
    return bits;
//#endif
}

fn item_image(word: u32, item: u32) -> u32 {
//#if LW_ELEMENT_BITS == 32
    let integer = word ^ order_flip();
//#else
    let integer = extractBits(word ^ order_flip(), item * LW_ELEMENT_BITS, LW_ELEMENT_BITS);
//#endif
//#if LW_ELEMENT_BITS == 16
    var image = float_image(select(word & 0xffff0000u, word << 16u, item == 0u));
//#else
    var image = float_image(word);
//#endif
//#if LW_INDEX_BITS != 0
    // All NaNs alike: the first of them is the answer when there is nothing else.
    image = min(image, float_last_image() + 1u);
//#endif
    return select(integer, image, kElementKind == kFloat);
}

// An integer, extended to 32 bits.
fn item_integer(word: u32, item: u32) -> u32 {
//#if LW_ELEMENT_BITS == 32
    return word;
//#else
    let first = item * LW_ELEMENT_BITS;
    return select(extractBits(word, first, LW_ELEMENT_BITS),
                  u32(extractBits(i32(word), first, LW_ELEMENT_BITS)), kElementKind == kSigned);
//#endif
}

fn item_value(vector: vec4<u32>, stream: u32, item: u32) -> AccumulatorValue {
    let word = component(vector, stream);
    var bits = item_integer(word, item);
//#if LW_ELEMENT_BITS == 16
    let pair = unpack2x16float(word);
    bits = select(bits, bitcast<u32>(select(pair.y, pair.x, item == 0u)), kElementKind == kFloat);
//#endif
    let value = widen(bits, kElementKind == kSigned);
    return select(value, widen(item_image(word, item), false), operator_orders());
}

//#endif

// `position` is the item's index, or its distance from an index that accumulator_moved() adds.
fn item_accumulator(vector: vec4<u32>, stream: u32, item: u32, position: u32) -> Accumulator {
//#if LW_INDEX_BITS == 64
    return accumulator_of(item_value(vector, stream, item), vec2<u32>(position, 0u));
//#elif LW_INDEX_BITS == 32
    return accumulator_of(item_value(vector, stream, item), position);
//#else
    return accumulator_of(item_value(vector, stream, item));
//#endif
}

// All items of a stream of one vector; `position` is the first one's.
fn stream_accumulator(vector: vec4<u32>, stream: u32, position: u32) -> Accumulator {
//#if LW_ELEMENT_BITS < 32 && LW_ACCUMULATOR_BITS == 64 && LW_INDEX_BITS == 0
    // Sums and products of the items of one word fit 32 bits: widened once, not item by item.
    let word = component(vector, stream);
    var whole = 0u;
    for (var item = 0u; item < kItemsPerStream; item++) {
        let value = select(item_integer(word, item), item_image(word, item), operator_orders());
        whole = select(combine32(whole, value), value, item == 0u);
    }
    return accumulator_of(widen(whole, kElementKind == kSigned && !operator_orders()));
//#else
    var whole = item_accumulator(vector, stream, 0u, position);
    for (var item = 1u; item < kItemsPerStream; item++) {
        whole = combine_in_order(whole, item_accumulator(vector, stream, item, position + item));
    }
    return whole;
//#endif
}

// The accumulator of items that lie `base` further on.
fn accumulator_moved(a: Accumulator, base: vec2<u32>) -> Accumulator {
    var moved = a;
//#if LW_INDEX_BITS == 64
    moved.index = add64(a.index, base);
//#elif LW_INDEX_BITS == 32
    moved.index = a.index + base.x;
//#endif
    return moved;
}

// Item `item` of a vector that begins at index `base`; the identity where the vector has no more than
// `items`.
fn item_or_identity(vector: vec4<u32>, item: u32, items: u32, base: vec2<u32>) -> Accumulator {
    let a = item_accumulator(vector, item / kItemsPerStream, item % kItemsPerStream, item);
    return accumulator_select(item < items, accumulator_moved(a, base), accumulator_identity());
}

//#endif
