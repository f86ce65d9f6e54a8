// The serial scan against the definition, reduce of every prefix, and against answers worked out by
// hand: all other tests of scan believe it.
#include "primitives/scan/scan_reference.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Scalar kScalars[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                               Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                               Scalar::u64, Scalar::i64, Scalar::f64};
constexpr Operator kOperators[] = {Operator::sum,     Operator::product, Operator::min,
                                   Operator::max,     Operator::bit_and, Operator::bit_or,
                                   Operator::bit_xor, Operator::argmin,  Operator::argmax};

using U32 = std::vector<std::uint32_t>;
using I32 = std::vector<std::int32_t>;
using U64 = std::vector<std::uint64_t>;
using F32 = std::vector<float>;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

template <class R, class T>
std::vector<R> reference(ScanDesc desc, const std::vector<T>& values) {
    desc.max_count = std::max<std::uint64_t>(desc.max_count, values.size());
    const auto bytes = scan_reference(desc, bytes_of(values));
    EXPECT_EQ(bytes.size(), values.size() * scan_result_bytes(desc));
    std::vector<R> result(bytes.size() / sizeof(R));
    if (!result.empty()) std::memcpy(result.data(), bytes.data(), result.size() * sizeof(R));
    return result;
}

std::uint32_t bits(float value) { return std::bit_cast<std::uint32_t>(value); }

bool is_bitwise(Operator op) {
    return op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
}

TEST(ScanReference, Sums) {
    const U32 values{7, 0xfffffffe, 3, 12};
    const auto u32 = [&](ScanKind kind, Direction direction,
                         std::optional<std::uint64_t> initial = {}) {
        return reference<std::uint32_t>({.kind = kind, .direction = direction, .initial = initial},
                                        values);
    };
    EXPECT_EQ(u32(ScanKind::inclusive, Direction::forward), (U32{7, 5, 8, 20}));
    EXPECT_EQ(u32(ScanKind::exclusive, Direction::forward), (U32{0, 7, 5, 8}));
    EXPECT_EQ(u32(ScanKind::inclusive, Direction::reverse), (U32{20, 13, 15, 12}));
    EXPECT_EQ(u32(ScanKind::exclusive, Direction::reverse), (U32{13, 15, 12, 0}));
    EXPECT_EQ(u32(ScanKind::inclusive, Direction::forward, 100), (U32{107, 105, 108, 120}));
    EXPECT_EQ(u32(ScanKind::exclusive, Direction::forward, 100), (U32{100, 107, 105, 108}));
    EXPECT_EQ(u32(ScanKind::exclusive, Direction::reverse, 100), (U32{113, 115, 112, 100}));
    EXPECT_EQ(reference<std::uint64_t>({.accumulator = Scalar::u64}, values),
              (U64{7, 0x100000005, 0x100000008, 0x100000014}));
    EXPECT_EQ(reference<std::uint64_t>({.kind = ScanKind::exclusive,
                                        .accumulator = Scalar::u64,
                                        .initial = std::uint64_t{1} << 40},
                                       values),
              (U64{0x10000000000, 0x10000000007, 0x10100000005, 0x10100000008}));
}

TEST(ScanReference, OtherOperators) {
    const I32 values{3, -2, 5, -2};
    const auto i32 = [&](Operator op, std::optional<std::uint64_t> initial = {}) {
        return reference<std::int32_t>({.element = Scalar::i32, .op = op, .initial = initial},
                                       values);
    };
    EXPECT_EQ(i32(Operator::product), (I32{3, -6, -30, 60}));
    EXPECT_EQ(i32(Operator::min), (I32{3, -2, -2, -2}));
    EXPECT_EQ(i32(Operator::max), (I32{3, 3, 5, 5}));
    EXPECT_EQ(i32(Operator::max, 4), (I32{4, 4, 5, 5}));
    EXPECT_EQ(i32(Operator::min, static_cast<std::uint32_t>(-1)), (I32{-1, -2, -2, -2}));
    EXPECT_EQ(i32(Operator::bit_and), (I32{3, 2, 0, 0}));
    EXPECT_EQ(i32(Operator::bit_or), (I32{3, -1, -1, -1}));
    EXPECT_EQ(i32(Operator::bit_xor), (I32{3, -3, -8, 6}));
}

TEST(ScanReference, TiesGoToTheLowestIndexInBothDirections) {
    const U32 values{4, 2, 9, 2, 9};
    const auto u32 = [&](Operator op, Direction direction, ScanKind kind = ScanKind::inclusive) {
        return reference<std::uint32_t>({.op = op, .kind = kind, .direction = direction}, values);
    };
    EXPECT_EQ(u32(Operator::argmin, Direction::forward), (U32{4, 0, 2, 1, 2, 1, 2, 1, 2, 1}));
    EXPECT_EQ(u32(Operator::argmax, Direction::forward), (U32{4, 0, 4, 0, 9, 2, 9, 2, 9, 2}));
    EXPECT_EQ(u32(Operator::argmin, Direction::reverse), (U32{2, 1, 2, 1, 2, 3, 2, 3, 9, 4}));
    EXPECT_EQ(u32(Operator::argmax, Direction::reverse), (U32{9, 2, 9, 2, 9, 2, 9, 4, 9, 4}));
    EXPECT_EQ(u32(Operator::argmin, Direction::forward, ScanKind::exclusive),
              (U32{~0u, ~0u, 4, 0, 2, 1, 2, 1, 2, 1}));
}

TEST(ScanReference, IndicesGrowTo64BitsWithTheCount) {
    EXPECT_EQ(reference<std::uint64_t>(
                  {.op = Operator::argmax, .max_count = (std::uint64_t{1} << 32) + 1}, U32{5, 7}),
              (U64{5, 0, 7, 1}));
}

TEST(ScanReference, FloatsThatAreNoNumbers) {
    const auto f32 = [](Operator op, const F32& values, ScanKind kind = ScanKind::inclusive,
                        Direction direction = Direction::forward) {
        return reference<std::uint32_t>(
            {.element = Scalar::f32, .op = op, .kind = kind, .direction = direction}, values);
    };
    const std::uint32_t nan = bits(kNan), low = bits(-kInfinity), high = bits(kInfinity);
    EXPECT_EQ(f32(Operator::min, {-kNan, 3, kNan, -2}), (U32{nan, bits(3), bits(3), bits(-2)}));
    EXPECT_EQ(f32(Operator::min, {kNan, 3}, ScanKind::exclusive), (U32{high, nan}));
    EXPECT_EQ(f32(Operator::max, {kNan, -kInfinity, 1}), (U32{nan, low, bits(1)}));
    EXPECT_EQ(f32(Operator::max, {2, kNan}, ScanKind::exclusive, Direction::reverse),
              (U32{nan, low}));
    EXPECT_EQ(f32(Operator::min, {0.0f, -0.0f, 0.0f}), (U32{0, 0x80000000, 0x80000000}));
    EXPECT_EQ(f32(Operator::argmax, {kNan, -0.0f, 0.0f, 0.0f}),
              (U32{nan, 0, 0x80000000, 1, 0, 2, 0, 2}));
    EXPECT_EQ(f32(Operator::argmax, {0.0f, 0.0f, kNan}, ScanKind::inclusive, Direction::reverse),
              (U32{0, 0, 0, 1, nan, 2}));
    EXPECT_EQ(f32(Operator::sum, {1, kInfinity, 2}), (U32{bits(1), high, high}));
    EXPECT_EQ(f32(Operator::sum, {1, 2, -kInfinity}, ScanKind::exclusive),
              (U32{0, bits(1), bits(3)}));
}

TEST(ScanReference, HalvesAreReadExactly) {
    const std::vector<std::uint16_t> values{0x3c00, 0xc000, 0x7bff};  // 1, -2, 65504
    EXPECT_EQ(reference<float>({.element = Scalar::f16, .initial = bits(0.25f)}, values),
              (F32{1.25f, -0.75f, 65503.25f}));
    EXPECT_EQ(reference<float>({.element = Scalar::f16, .op = Operator::max}, values),
              (F32{1, 1, 65504}));
}

TEST(ScanReference, NoItemsHaveNoOutput) {
    for (const Operator op : kOperators) {
        EXPECT_TRUE(scan_reference({.op = op, .kind = ScanKind::exclusive}, {}).empty());
        EXPECT_TRUE(scan_matches({.op = op}, {}, {}));
    }
}

// The definition: what reduce gives for the items of each prefix, widened to the accumulator so
// that the initial value can stand before them.
std::vector<std::byte> by_definition(const ScanDesc& desc, std::span<const std::byte> data) {
    const Scalar accumulator = scan_accumulator(desc);
    const ReduceDesc one{.element = desc.element,
                         .op = Operator::max,
                         .accumulator = desc.accumulator,
                         .max_count = desc.max_count};
    const std::uint32_t item_bytes = size_of(desc.element), wide_bytes = size_of(accumulator);
    const std::size_t count = data.size() / item_bytes;
    std::vector<std::byte> output;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t included = desc.kind == ScanKind::inclusive ? 1 : 0;
        const bool forward = desc.direction == Direction::forward;
        const std::size_t begin = forward ? 0 : i + 1 - included;
        const std::size_t end = forward ? i + included : count;
        std::vector<std::byte> items;
        if (desc.initial) {
            items.resize(wide_bytes);
            std::memcpy(items.data(), &*desc.initial, wide_bytes);
        }
        for (std::size_t j = begin; j < end; ++j) {
            // The largest of one item is that item, widened.
            const auto wide = reduce_reference(data.subspan(j * item_bytes, item_bytes), one);
            items.insert(items.end(), wide.begin(), wide.end());
        }
        const ReduceDesc all{.element = accumulator, .op = desc.op, .max_count = desc.max_count};
        std::vector<std::byte> result = reduce_reference(items, all);
        if (is_arg(desc.op) && begin > 0 && end > begin) {
            // Indices count from the begin of the input.
            const std::uint32_t bytes = reduce_index_bytes(all);
            std::uint64_t index = 0;
            std::memcpy(&index, result.data() + bytes, bytes);
            index += begin;
            std::memcpy(result.data() + bytes, &index, bytes);
        }
        output.insert(output.end(), result.begin(), result.end());
    }
    return output;
}

Scalar wide_accumulator(Scalar element) {
    if (is_float(element)) return Scalar::f64;
    return is_signed_integer(element) ? Scalar::i64 : Scalar::u64;
}

// Every type with every operator in all forms.
TEST(ScanReference, IsReduceOfEveryPrefix) {
    std::uint64_t seed = 0;
    for (const Scalar element : kScalars) {
        for (const Operator op : kOperators) {
            if (is_bitwise(op) && is_float(element)) continue;
            for (int form = 0; form < 16; ++form) {
                ScanDesc desc{
                    .element = element,
                    .op = op,
                    .kind = (form & 1) != 0 ? ScanKind::exclusive : ScanKind::inclusive,
                    .direction = (form & 2) != 0 ? Direction::reverse : Direction::forward,
                    .max_count = 100};
                if ((form & 4) != 0) {
                    if (is_arg(op)) continue;
                    desc.accumulator = wide_accumulator(element);
                }
                if ((form & 8) != 0) {
                    if (is_arg(op)) continue;
                    desc.initial =
                        is_float(element)
                            ? float_bits(scan_accumulator(desc), -3.0)
                            : hash(seed) & (size_of(scan_accumulator(desc)) == 8 ? ~std::uint64_t{0}
                                                                                 : 0xffffffff);
                }
                const FloatData floats = is_arg(op) || op == Operator::min || op == Operator::max
                                             ? FloatData::special
                                             : FloatData::exact;
                const Elements data = make_elements(element, op, 9, ++seed, floats);
                std::string why;
                const auto expected = by_definition(desc, data.bytes());
                EXPECT_TRUE(scan_matches(desc, data.bytes(), expected, &why))
                    << to_text(op) << " of " << to_text(element) << " form " << form << ": " << why;
                EXPECT_EQ(scan_reference(desc, data.bytes()), expected)
                    << to_text(op) << " of " << to_text(element) << " form " << form;
            }
        }
    }
}

TEST(ScanMatches, OneWrongOutputIsNamed) {
    const U32 values{1, 2, 3, 4};
    const ScanDesc desc{.max_count = 4};
    std::string why;
    EXPECT_TRUE(scan_matches(desc, bytes_of(values), bytes_of(U32{1, 3, 6, 10}), &why));
    EXPECT_FALSE(scan_matches(desc, bytes_of(values), bytes_of(U32{1, 3, 7, 10}), &why));
    EXPECT_EQ(why, "output 2 of 4: expected 6, got 7");
    EXPECT_FALSE(scan_matches(desc, bytes_of(values), bytes_of(U32{1, 4, 7, 10}), &why));
    EXPECT_EQ(why, "output 1 of 4: expected 3, got 4 (first of 2 wrong outputs)");
    EXPECT_FALSE(scan_matches(desc, bytes_of(values), bytes_of(U32{1, 3, 6}), &why));
    EXPECT_EQ(why, "the output has 12 bytes, not 16");
    // The first in the order of the scan.
    const ScanDesc reverse{.direction = Direction::reverse, .max_count = 4};
    EXPECT_FALSE(scan_matches(reverse, bytes_of(values), bytes_of(U32{9, 9, 6, 4}), &why));
    EXPECT_EQ(why, "output 2 of 4: expected 7, got 6 (first of 2 wrong outputs)");
}

TEST(ScanMatches, AWrongIndexIsSeen) {
    const ScanDesc desc{.op = Operator::argmin, .max_count = 2};
    std::string why;
    EXPECT_TRUE(scan_matches(desc, bytes_of(U32{4, 4}), bytes_of(U32{4, 0, 4, 0}), &why)) << why;
    EXPECT_FALSE(scan_matches(desc, bytes_of(U32{4, 4}), bytes_of(U32{4, 0, 4, 1}), &why));
    EXPECT_EQ(why, "output 1 of 2: expected index 0, got 1 (value 4)");
}

TEST(ScanMatches, TheFirstOfAnExclusiveScanIsExact) {
    const F32 values{1e30f, 1.0f};
    ScanDesc desc{
        .element = Scalar::f32, .kind = ScanKind::exclusive, .initial = bits(0.1f), .max_count = 2};
    EXPECT_TRUE(scan_matches(desc, bytes_of(values), bytes_of(F32{0.1f, 1e30f})));
    EXPECT_FALSE(
        scan_matches(desc, bytes_of(values), bytes_of(F32{std::nextafter(0.1f, 1.0f), 1e30f})));
    desc.initial = bits(-0.0f);
    EXPECT_TRUE(scan_matches(desc, bytes_of(values), bytes_of(F32{-0.0f, 1e30f})));
    EXPECT_FALSE(scan_matches(desc, bytes_of(values), bytes_of(F32{0.0f, 1e30f})));
    desc.initial.reset();
    EXPECT_TRUE(scan_matches(desc, bytes_of(values), bytes_of(F32{0.0f, 1e30f})));
    EXPECT_FALSE(scan_matches(desc, bytes_of(values), bytes_of(F32{1e-45f, 1e30f})));
    desc.initial = bits(kNan);
    EXPECT_TRUE(scan_matches(desc, bytes_of(values), bytes_of(F32{-kNan, kNan})));
    EXPECT_FALSE(scan_matches(desc, bytes_of(values), bytes_of(F32{0.0f, kNan})));
}

TEST(ScanMatches, SumsWithoutRoundingAreExact) {
    F32 values(1000), sums(1000);
    float sum = 0.0f;
    for (std::size_t i = 0; i < values.size(); ++i)
        sums[i] = sum += values[i] = static_cast<float>(i % 31) - 15.0f;
    const ScanDesc desc{.element = Scalar::f32, .max_count = 1000};
    EXPECT_TRUE(scan_matches(desc, bytes_of(values), bytes_of(sums)));
    sums[777] = std::nextafter(sums[777], kInfinity);
    EXPECT_FALSE(scan_matches(desc, bytes_of(values), bytes_of(sums)));
}

// A plan as a device may have it: tiles of 16 invocations with 4 items each, 4 groups.
Plan plan_of(std::uint64_t max_count) {
    Plan plan;
    plan.max_count = max_count;
    plan.element_bytes = plan.result_bytes = 4;
    plan.share = {.tile_items = 64, .max_groups = 4};
    plan.passes.push_back({.name = "scan_tiles", .workgroup_size = 16});
    return plan;
}

// Tile by tile in 32-bit arithmetic, with what a fault may do to the sum that goes from one tile to
// the next.
template <class Fault>
F32 scan_in_tiles(const Elements& data, Fault&& fault) {
    F32 output(data.count());
    float carry = 0.0f;
    for (std::size_t begin = 0; begin < data.count(); begin += 64) {
        float local = 0.0f;
        for (std::size_t i = begin; i < std::min(begin + 64, data.count()); ++i) {
            local += std::bit_cast<float>(static_cast<std::uint32_t>(data.get(i)));
            output[i] = carry + local;
        }
        carry = fault(begin / 64, carry, local);
    }
    return output;
}

TEST(ScanMatches, RoundedSumsHaveABoundThatAWrongTileBreaks) {
    const std::size_t count = 20000;
    const Elements data = make_elements(Scalar::f32, Operator::sum, count, 4, FloatData::rounded);
    const ScanDesc desc{.element = Scalar::f32, .max_count = count};
    const Plan plan = plan_of(count);
    std::string why;
    const F32 right =
        scan_in_tiles(data, [](std::size_t, float carry, float local) { return carry + local; });
    EXPECT_TRUE(scan_matches(desc, data.bytes(), bytes_of(right), &why, &plan)) << why;
    EXPECT_TRUE(scan_matches(desc, data.bytes(), bytes_of(right), &why)) << why;
    for (const std::size_t tile : {0u, 1u, 155u, 310u}) {
        SCOPED_TRACE(tile);
        const F32 left_out = scan_in_tiles(data, [&](std::size_t t, float carry, float local) {
            return t == tile ? carry : carry + local;
        });
        EXPECT_FALSE(scan_matches(desc, data.bytes(), bytes_of(left_out), &why, &plan));
        EXPECT_FALSE(scan_matches(desc, data.bytes(), bytes_of(left_out), &why));
        const F32 twice = scan_in_tiles(data, [&](std::size_t t, float carry, float local) {
            return t == tile ? carry + local + local : carry + local;
        });
        EXPECT_FALSE(scan_matches(desc, data.bytes(), bytes_of(twice), &why, &plan));
        const F32 stale = scan_in_tiles(data, [&](std::size_t t, float carry, float local) {
            return t == tile ? local : carry + local;
        });
        EXPECT_EQ(scan_matches(desc, data.bytes(), bytes_of(stale), &why, &plan), tile == 0);
    }
    // One item of twenty thousand, twice as large as most.
    const auto item = [&](std::size_t i) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(data.get(i)));
    };
    std::size_t left_out = count / 2;
    while (std::fabs(item(left_out)) < 32) ++left_out;
    F32 shifted = right;
    for (std::size_t i = left_out; i < count; ++i) shifted[i] -= item(left_out);
    EXPECT_FALSE(scan_matches(desc, data.bytes(), bytes_of(shifted), &why, &plan));
}

TEST(ScanMatches, DepthGrowsWithTheItemsBeforeAnOutput) {
    const ScanDepth depth = scan_depth(plan_of(20000));
    EXPECT_LE(depth.of(1), 60u);
    EXPECT_GE(depth.of(20000), 20000u / 64 + 4 * (20000 / 64 / 4));
    EXPECT_LE(depth.of(20000), 20000u / 64 + 4 * (20000 / 64 / 4 + 3) + 60);
    for (std::uint64_t items = 1; items < 20000; ++items)
        ASSERT_LE(depth.of(items - 1), depth.of(items));
}

template <class T>
void expect_definition(Scalar element, const std::vector<T>& values) {
    for (const Operator op : kOperators) {
        if (is_bitwise(op) && is_float(element)) continue;
        ScanDesc desc{.element = element,
                      .op = op,
                      .kind = *rc::gen::element(ScanKind::inclusive, ScanKind::exclusive),
                      .direction = *rc::gen::element(Direction::forward, Direction::reverse),
                      .max_count = values.size()};
        if (!is_arg(op) && *rc::gen::arbitrary<bool>())
            desc.accumulator = wide_accumulator(element);
        if (!is_arg(op) && *rc::gen::arbitrary<bool>())
            desc.initial = is_float(element)
                               ? float_bits(scan_accumulator(desc), *rc::gen::inRange(-9, 9))
                               : std::uint64_t{*rc::gen::arbitrary<std::uint32_t>()};
        std::string why;
        if (!scan_matches(desc, bytes_of(values), by_definition(desc, bytes_of(values)), &why))
            RC_FAIL(why);
    }
}

RC_GTEST_PROP(ScanReference, IsReduceOfEveryPrefixOfBytes, (std::vector<std::int8_t> values)) {
    expect_definition(Scalar::i8, values);
}
RC_GTEST_PROP(ScanReference, IsReduceOfEveryPrefixOfWords, (std::vector<std::uint64_t> values)) {
    expect_definition(Scalar::u64, values);
}
RC_GTEST_PROP(ScanReference, IsReduceOfEveryPrefixOfFloats, (std::vector<std::uint32_t> values)) {
    // All bit patterns, with few values among them so that ties occur.
    F32 floats;
    for (const std::uint32_t word : values)
        floats.push_back(word % 3 == 0
                             ? std::bit_cast<float>(static_cast<std::uint32_t>(hash(word)))
                             : static_cast<float>(word % 7) - 3.0f);
    expect_definition(Scalar::f32, floats);
}

RC_GTEST_PROP(ScanReference, ReverseIsForwardOfTheMirroredInput, (U32 values, bool exclusive)) {
    U32 mirrored(values.rbegin(), values.rend());
    const ScanKind kind = exclusive ? ScanKind::exclusive : ScanKind::inclusive;
    for (const Operator op : {Operator::sum, Operator::max, Operator::bit_xor}) {
        const auto forward = reference<std::uint32_t>({.op = op, .kind = kind}, mirrored);
        const auto reverse = reference<std::uint32_t>(
            {.op = op, .kind = kind, .direction = Direction::reverse}, values);
        RC_ASSERT(reverse == U32(forward.rbegin(), forward.rend()));
    }
}

RC_GTEST_PROP(ScanReference, ExclusiveIsInclusiveOneItemLater, (U32 values)) {
    for (const Operator op : {Operator::sum, Operator::product, Operator::min}) {
        const auto inclusive = reference<std::uint32_t>({.op = op}, values);
        const auto exclusive =
            reference<std::uint32_t>({.op = op, .kind = ScanKind::exclusive}, values);
        for (std::size_t i = 1; i < values.size(); ++i) RC_ASSERT(exclusive[i] == inclusive[i - 1]);
    }
}

}  // namespace
}  // namespace lanewise::test
