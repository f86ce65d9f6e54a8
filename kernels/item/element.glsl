// Elements out of the words of a 16-byte vector, as accumulators.
//
// A vector's items fall into streams, each combined apart from the others, so that several chains
// of combinations run at once: one stream for each word, or for each pair of words where an element
// has 64 bits.
//
//                 x          y          z          w
//      8 bits   0 1 2 3    4 5 6 7    8 9 a b    c d e f      4 streams of 4 items
//     16 bits   0   1      2   3      4   5      6   7        4 streams of 2
//     32 bits   0          1          2          3            4 streams of 1
//     64 bits   0.low      0.high     1.low      1.high       2 streams of 1
//
// The kernel defines before: LW_ELEMENT_BITS, and what item/accumulator.glsl asks for.
#ifndef LW_ITEM_ELEMENT_GLSL
#define LW_ITEM_ELEMENT_GLSL

#include "item/accumulator.glsl"

#ifdef LW_CUSTOM
#include "item/custom_element.glsl"
#else

#if LW_ELEMENT_BITS == 64
#define LW_STREAMS 2
#else
#define LW_STREAMS 4
#endif

const uint kItemsPerVector = 128u / LW_ELEMENT_BITS;
const uint kItemsPerStream = kItemsPerVector / LW_STREAMS;

#if LW_ELEMENT_BITS == 64

AccumulatorValue item_value(uvec4 vector, uint stream, uint item) {
    uvec2 bits = select(stream == 0u, vector.xy, vector.zw);
    uvec2 image = float_image64(bits);
#if LW_INDEX_BITS != 0
    // All NaNs alike: the first of them is the answer when there is nothing else.
    image = min64(image, add64(float_last_image64(), uvec2(1u, 0u)));
#endif
    image = select(kElementKind == kFloat, image, integer_image64(bits));
    return select(operator_orders(), image, bits);
}

#else

// A value of 32 bits in the accumulator's.
AccumulatorValue widen(uint bits, bool is_signed) {
#if LW_ACCUMULATOR_BITS == 64
    return select(is_signed, sign_extend64(bits), uvec2(bits, 0u));
#else
    return bits;
#endif
}

uint item_image(uint word, uint item) {
#if LW_ELEMENT_BITS == 32
    uint integer = word ^ order_flip();
#else
    uint integer =
        bitfieldExtract(word ^ order_flip(), int(item * LW_ELEMENT_BITS), LW_ELEMENT_BITS);
#endif
#if LW_ELEMENT_BITS == 16
    uint image = float_image(select(item == 0u, word << 16, word & 0xffff0000u));
#else
    uint image = float_image(word);
#endif
#if LW_INDEX_BITS != 0
    // All NaNs alike: the first of them is the answer when there is nothing else.
    image = min(image, float_last_image() + 1u);
#endif
    return select(kElementKind == kFloat, image, integer);
}

// An integer, extended to 32 bits.
uint item_integer(uint word, uint item) {
#if LW_ELEMENT_BITS == 32
    return word;
#else
    int first = int(item * LW_ELEMENT_BITS);
    return select(kElementKind == kSigned, uint(bitfieldExtract(int(word), first, LW_ELEMENT_BITS)),
                  bitfieldExtract(word, first, LW_ELEMENT_BITS));
#endif
}

float item_float(uint word, uint item) {
#if LW_ELEMENT_BITS == 16
    vec2 pair = unpackHalf2x16(word);
    return mix(pair.y, pair.x, item == 0u);
#else
    return uintBitsToFloat(word);
#endif
}

AccumulatorValue item_value(uvec4 vector, uint stream, uint item) {
    uint word = component(vector, stream);
#if LW_ACCUMULATOR_FLOAT64
    AccumulatorValue value = unpackDouble2x32(double(item_float(word, item)));
#else
    uint bits = item_integer(word, item);
#if LW_ELEMENT_BITS == 16
    bits = select(kElementKind == kFloat, floatBitsToUint(item_float(word, item)), bits);
#endif
    AccumulatorValue value = widen(bits, kElementKind == kSigned);
#endif
    return select(operator_orders(), widen(item_image(word, item), false), value);
}

#endif

// `position` is the item's index, or its distance from an index that accumulator_moved() adds.
Accumulator item_accumulator(uvec4 vector, uint stream, uint item, uint position) {
#if LW_INDEX_BITS == 64
    return accumulator_of(item_value(vector, stream, item), uvec2(position, 0u));
#elif LW_INDEX_BITS == 32
    return accumulator_of(item_value(vector, stream, item), position);
#else
    return accumulator_of(item_value(vector, stream, item));
#endif
}

// All items of a stream of one vector; `position` is the first one's.
Accumulator stream_accumulator(uvec4 vector, uint stream, uint position) {
#if LW_ELEMENT_BITS < 32 && LW_ACCUMULATOR_BITS == 64 && LW_INDEX_BITS == 0 && \
    !LW_ACCUMULATOR_FLOAT64
    // Sums and products of the items of one word fit 32 bits: widened once, not item by item.
    uint word = component(vector, stream);
    uint whole = 0u;
    [[unroll]] for (uint item = 0u; item < kItemsPerStream; ++item) {
        uint value = select(operator_orders(), item_image(word, item), item_integer(word, item));
        whole = select(item == 0u, value, combine32(whole, value));
    }
    return accumulator_of(widen(whole, kElementKind == kSigned && !operator_orders()));
#else
    Accumulator whole = item_accumulator(vector, stream, 0u, position);
    [[unroll]] for (uint item = 1u; item < kItemsPerStream; ++item) {
        whole = combine_in_order(whole,
                                 item_accumulator(vector, stream, item, position + item));
    }
    return whole;
#endif
}

// The accumulator of items that lie `base` further on.
Accumulator accumulator_moved(Accumulator a, uvec2 base) {
#if LW_INDEX_BITS == 64
    a.index = add64(a.index, base);
#elif LW_INDEX_BITS == 32
    a.index += base.x;
#endif
    return a;
}

// Item `item` of a vector that begins at index `base`; the identity where the vector has no more than
// `items`.
Accumulator item_or_identity(uvec4 vector, uint item, uint items, uvec2 base) {
    Accumulator a = item_accumulator(vector, item / kItemsPerStream, item % kItemsPerStream, item);
    return accumulator_select(item < items, accumulator_moved(a, base), accumulator_identity());
}

#endif

#endif
