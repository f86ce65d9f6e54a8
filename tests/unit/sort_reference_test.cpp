// The serial sort against answers worked out by hand, and against the definition of its order: all
// other tests of sort believe it.
#include "primitives/sort/sort_reference.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <compare>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Scalar kScalars[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                               Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                               Scalar::u64, Scalar::i64, Scalar::f64};
constexpr SortOrder kOrders[] = {SortOrder::ascending, SortOrder::descending};

using U32 = std::vector<std::uint32_t>;
using F32 = std::vector<float>;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

template <class T>
std::vector<T> values_of(const std::vector<std::byte>& bytes) {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
}

template <class T>
std::vector<T> sorted(SortDesc desc, const std::vector<T>& keys) {
    const Sorted result = sort_reference(desc, bytes_of(keys));
    EXPECT_TRUE(result.values.empty());
    return values_of<T>(result.keys);
}

template <class T>
U32 indices(SortDesc desc, const std::vector<T>& keys) {
    desc.argsort = true;
    const Sorted result = sort_reference(desc, bytes_of(keys));
    EXPECT_TRUE(result.keys.empty());
    return values_of<std::uint32_t>(result.values);
}

U32 iota(std::size_t count) {
    U32 all(count);
    std::iota(all.begin(), all.end(), 0u);
    return all;
}

TEST(SortReference, IntegersOfEveryWidth) {
    EXPECT_EQ(sorted({.key = Scalar::u8}, std::vector<std::uint8_t>{200, 3, 255, 0, 128}),
              (std::vector<std::uint8_t>{0, 3, 128, 200, 255}));
    EXPECT_EQ(sorted({.key = Scalar::i8}, std::vector<std::int8_t>{5, -128, 127, -1, 0}),
              (std::vector<std::int8_t>{-128, -1, 0, 5, 127}));
    EXPECT_EQ(sorted({.key = Scalar::u16}, std::vector<std::uint16_t>{40000, 256, 255}),
              (std::vector<std::uint16_t>{255, 256, 40000}));
    EXPECT_EQ(sorted({.key = Scalar::i16, .order = SortOrder::descending},
                     std::vector<std::int16_t>{-32768, 300, -1, 32767}),
              (std::vector<std::int16_t>{32767, 300, -1, -32768}));
    EXPECT_EQ(sorted({}, U32{7, 0xffffffff, 0, 0x80000000}), (U32{0, 7, 0x80000000, 0xffffffff}));
    EXPECT_EQ(sorted({.key = Scalar::i32}, std::vector<std::int32_t>{3, -2, 5, -2147483647 - 1}),
              (std::vector<std::int32_t>{-2147483647 - 1, -2, 3, 5}));
    EXPECT_EQ(sorted({.key = Scalar::u64},
                     std::vector<std::uint64_t>{0x100000000, 0xffffffff, ~std::uint64_t{0}, 1}),
              (std::vector<std::uint64_t>{1, 0xffffffff, 0x100000000, ~std::uint64_t{0}}));
    EXPECT_EQ(
        sorted({.key = Scalar::i64, .order = SortOrder::descending},
               std::vector<std::int64_t>{-5, std::numeric_limits<std::int64_t>::min(), 1ll << 40}),
        (std::vector<std::int64_t>{1ll << 40, -5, std::numeric_limits<std::int64_t>::min()}));
}

// B3. d is the smallest denormal.
TEST(SortReference, FloatsAreInTheTotalOrder) {
    const float nan = std::numeric_limits<float>::quiet_NaN();
    const float d = std::numeric_limits<float>::denorm_min();
    const F32 keys{3, nan, -0.0f, 0.0f, -kInfinity, d, -d, kInfinity, -2.5f};
    EXPECT_EQ(indices({.key = Scalar::f32}, keys), (U32{4, 8, 6, 2, 3, 5, 0, 7, 1}));
    EXPECT_EQ(indices({.key = Scalar::f32, .order = SortOrder::descending}, keys),
              (U32{1, 7, 0, 5, 3, 2, 6, 8, 4}));
    const double nan64 = std::numeric_limits<double>::quiet_NaN();
    const double d64 = std::numeric_limits<double>::denorm_min();
    EXPECT_EQ(indices({.key = Scalar::f64}, std::vector<double>{3, nan64, -0.0, 0.0, -HUGE_VAL, d64,
                                                                -d64, HUGE_VAL, -2.5}),
              (U32{4, 8, 6, 2, 3, 5, 0, 7, 1}));
    EXPECT_EQ(indices({.key = Scalar::f16},
                      std::vector<std::uint16_t>{0x4200, 0x7e00, 0x8000, 0x0000, 0xfc00, 0x0001,
                                                 0x8001, 0x7c00, 0xc100}),
              (U32{4, 8, 6, 2, 3, 5, 0, 7, 1}));
    // NaNs by sign and payload: -NaN before all, larger payloads further out; bits as they were.
    EXPECT_EQ(sorted({.key = Scalar::f32},
                     U32{0x7fc00001, 0xff800001, 0x7f800000, 0xffffffff, 0xff800000, 0x7fc00000}),
              (U32{0xffffffff, 0xff800001, 0xff800000, 0x7f800000, 0x7fc00000, 0x7fc00001}));
}

// B4.
TEST(SortReference, ZerosDifferInSign) {
    const F32 keys{0.0f, -0.0f, 0.0f, -0.0f};
    const U32 values{0, 1, 2, 3};
    const Sorted result =
        sort_reference({.key = Scalar::f32, .value_bytes = 4}, bytes_of(keys), bytes_of(values));
    EXPECT_EQ(values_of<std::uint32_t>(result.values), (U32{1, 3, 0, 2}));
    EXPECT_EQ(values_of<std::uint32_t>(result.keys), (U32{0x80000000, 0x80000000, 0, 0}));
    EXPECT_EQ(indices({.key = Scalar::f32, .order = SortOrder::descending}, keys),
              (U32{0, 2, 1, 3}));
}

// B5.
TEST(SortReference, NegativeFloatsInBothOrders) {
    const F32 keys{-1.5f, 2, -3, 0.5f, -0.25f};
    EXPECT_EQ(sorted({.key = Scalar::f32}, keys), (F32{-3, -1.5f, -0.25f, 0.5f, 2}));
    EXPECT_EQ(sorted({.key = Scalar::f32, .order = SortOrder::descending}, keys),
              (F32{2, 0.5f, -0.25f, -1.5f, -3}));
    EXPECT_EQ(sorted({.key = Scalar::f32}, U32{2, 1}), (U32{1, 2}));  // denormals
    EXPECT_EQ(sorted({.key = Scalar::f32}, U32{0x80000001, 0x80000002}),
              (U32{0x80000002, 0x80000001}));
}

// B6.
TEST(SortReference, TheLargestKeyIsAKey) {
    const std::size_t count = 255;
    for (const SortOrder order : kOrders) {
        for (const Scalar key : {Scalar::u32, Scalar::f32}) {
            const Sorted result =
                sort_reference({.key = key, .value_bytes = 4, .order = order},
                               bytes_of(U32(count, 0xffffffff)), bytes_of(iota(count)));
            EXPECT_EQ(values_of<std::uint32_t>(result.values), iota(count));
            EXPECT_EQ(values_of<std::uint32_t>(result.keys), U32(count, 0xffffffff));
        }
    }
}

// B8.
TEST(SortReference, EqualKeysKeepTheirOrder) {
    U32 keys(4097);
    for (std::uint32_t i = 0; i < keys.size(); ++i) keys[i] = 7 * i % 4;
    const U32 order = indices({}, keys);
    EXPECT_EQ((U32{order[0], order[1], order[2]}), (U32{0, 4, 8}));
    EXPECT_EQ((U32{order[4094], order[4095], order[4096]}), (U32{4085, 4089, 4093}));
    const U32 in_order = sorted({}, keys);
    EXPECT_EQ(in_order[1024], 0u);
    EXPECT_EQ(in_order[1025], 1u);
    EXPECT_EQ(in_order[2049], 2u);
    EXPECT_EQ(in_order[3073], 3u);
    const U32 falling = indices({.order = SortOrder::descending}, keys);
    EXPECT_EQ((U32{falling[0], falling[1], falling[1024]}), (U32{1, 5, 2}));
    EXPECT_EQ(falling[4096], 4096u);
}

// B9.
TEST(SortReference, BitRanges) {
    const U32 keys{0x00100003, 0x00100001, 0xfff00000, 2, 9, 0x80000007};
    EXPECT_EQ(indices({.begin_bit = 20, .end_bit = 32}, keys), (U32{3, 4, 0, 1, 5, 2}));
    EXPECT_EQ(indices({.begin_bit = 0, .end_bit = 8}, keys), (U32{2, 1, 3, 0, 5, 4}));
    for (std::uint32_t bit = 0; bit <= 32; ++bit) {
        EXPECT_EQ(sorted({.begin_bit = bit, .end_bit = bit}, keys), keys);
        EXPECT_EQ(sorted({.order = SortOrder::descending, .begin_bit = bit, .end_bit = bit}, keys),
                  keys);
    }
    // Without an end it is the key's width.
    EXPECT_EQ(indices({.begin_bit = 20}, keys), (U32{3, 4, 0, 1, 5, 2}));
    // The bits are those of the number that is in the keys' order: of -1 and 0 the top bits are 0
    // and 1, of floats likewise.
    const std::vector<std::int32_t> signs{0, -1, 5, -7};
    EXPECT_EQ(indices({.key = Scalar::i32, .begin_bit = 31}, signs), (U32{1, 3, 0, 2}));
    EXPECT_EQ(indices({.key = Scalar::f32, .begin_bit = 31}, F32{1, -1, 0.0f, -0.0f}),
              (U32{1, 3, 0, 2}));
    EXPECT_EQ(indices({.key = Scalar::f32, .begin_bit = 0, .end_bit = 31},
                      U32{0x00000001, 0x80000001, 0x00000002, 0xffffffff}),
              (U32{3, 0, 2, 1}));
    EXPECT_EQ(sort_part({.key = Scalar::u64}, ~std::uint64_t{0}), ~std::uint64_t{0});
    EXPECT_EQ(sort_part({.key = Scalar::u64, .begin_bit = 4, .end_bit = 12}, 0xabcde), 0xcdu);
}

TEST(SortReference, ValuesOfEverySizeTravelWithTheirKeys) {
    const U32 keys{5, 1, 3, 1};
    for (const std::uint32_t words : {1u, 2u, 3u, 4u}) {
        U32 values, expected;
        for (std::uint32_t i = 0; i < 4 * words; ++i) values.push_back(100 + i);
        for (const std::uint32_t from : {1u, 3u, 2u, 0u})
            for (std::uint32_t word = 0; word < words; ++word)
                expected.push_back(values[from * words + word]);
        const Sorted result =
            sort_reference({.value_bytes = 4 * words}, bytes_of(keys), bytes_of(values));
        EXPECT_EQ(values_of<std::uint32_t>(result.keys), (U32{1, 1, 3, 5}));
        EXPECT_EQ(values_of<std::uint32_t>(result.values), expected);
    }
}

TEST(SortReference, NothingAndOne) {
    EXPECT_EQ(sorted({}, U32{}), U32{});
    EXPECT_EQ(indices({}, U32{}), U32{});
    EXPECT_EQ(sorted({}, U32{9}), U32{9});
    EXPECT_EQ(indices({}, U32{9}), U32{0});
}

TEST(SortReference, MatchesSaysWhatDiffers) {
    const U32 keys{2, 1, 1}, values{10, 11, 12};
    const SortDesc desc{.value_bytes = 4};
    const auto why = [&](const U32& keys_out, const U32& values_out) {
        std::string text;
        const bool right = sort_matches(desc, bytes_of(keys), bytes_of(values), bytes_of(keys_out),
                                        bytes_of(values_out), &text);
        EXPECT_EQ(right, text.empty());
        return text;
    };
    EXPECT_EQ(why({1, 1, 2}, {11, 12, 10}), "");
    EXPECT_EQ(why({1, 2, 1}, {11, 12, 10}), "key 1 of 3 is 0x00000002, not 0x00000001");
    EXPECT_EQ(why({1, 1, 2}, {12, 11, 10}), "value 0 of 3 is 0x0000000c, not 0x0000000b");
    EXPECT_EQ(why({1, 1}, {11, 12, 10}), "the keys have 8 bytes, not 12");
    EXPECT_EQ(why({1, 1, 2}, {}), "the values have 0 bytes, not 12");
    EXPECT_FALSE(sort_matches({.argsort = true}, bytes_of(keys), {}, {}, bytes_of(U32{0, 1, 2})));
    EXPECT_TRUE(sort_matches({.argsort = true}, bytes_of(keys), {}, {}, bytes_of(U32{1, 2, 0})));
}

// An order that compares as the language does, where that is a total order.
template <class T>
void check_against_comparison(Scalar key, const Elements& keys) {
    const auto values = values_of<T>(keys.bytes());
    const U32 up = indices({.key = key}, values);
    const U32 down = indices({.key = key, .order = SortOrder::descending}, values);
    for (std::size_t i = 1; i < up.size(); ++i) {
        const T a = values[up[i - 1]], b = values[up[i]];
        const bool rises = a < b || (a == b && up[i - 1] < up[i]);
        RC_ASSERT(rises);
        const T c = values[down[i - 1]], e = values[down[i]];
        const bool falls = c > e || (c == e && down[i - 1] < down[i]);
        RC_ASSERT(falls);
    }
}

RC_GTEST_PROP(SortReference, IntegersCompareAsTheLanguageSays, ()) {
    const std::size_t count = *rc::gen::inRange<std::size_t>(0, 200);
    const std::uint64_t seed = *rc::gen::arbitrary<std::uint64_t>();
    const bool few = *rc::gen::arbitrary<bool>();
    for (const Scalar key : kScalars) {
        if (is_float(key)) continue;
        Elements keys(key, count);
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint64_t h = hash(seed, i);
            keys.set(i, few ? h % 5 - 2 : h);
        }
        switch (key) {
            case Scalar::u8: check_against_comparison<std::uint8_t>(key, keys); break;
            case Scalar::i8: check_against_comparison<std::int8_t>(key, keys); break;
            case Scalar::u16: check_against_comparison<std::uint16_t>(key, keys); break;
            case Scalar::i16: check_against_comparison<std::int16_t>(key, keys); break;
            case Scalar::u32: check_against_comparison<std::uint32_t>(key, keys); break;
            case Scalar::i32: check_against_comparison<std::int32_t>(key, keys); break;
            case Scalar::u64: check_against_comparison<std::uint64_t>(key, keys); break;
            default: check_against_comparison<std::int64_t>(key, keys); break;
        }
    }
}

// Floats: the order of std::strong_order, which is the total order of IEEE 754.
RC_GTEST_PROP(SortReference, FloatsAreInTheOrderOfStrongOrder, ()) {
    const auto bits = *rc::gen::container<U32>(rc::gen::arbitrary<std::uint32_t>());
    F32 keys(bits.size());
    for (std::size_t i = 0; i < bits.size(); ++i) {
        // Exponents of all ones and of zero come up often.
        std::uint32_t b = bits[i];
        if (b % 4 == 1) b |= 0x7f800000;
        if (b % 4 == 2) b &= 0x807fffff;
        keys[i] = std::bit_cast<float>(b);
    }
    const U32 order = indices({.key = Scalar::f32}, keys);
    for (std::size_t i = 1; i < order.size(); ++i) {
        const auto compared = std::strong_order(keys[order[i - 1]], keys[order[i]]);
        const bool rises = compared < 0 || (compared == 0 && order[i - 1] < order[i]);
        RC_ASSERT(rises);
    }
}

}  // namespace
}  // namespace lanewise::test
