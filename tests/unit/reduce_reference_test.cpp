// The serial reference against answers worked out by hand: all other tests believe it.
#include "primitives/reduce/reduce_reference.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace lanewise {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::uint32_t kQuietNan = 0x7fc00000;

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
    return std::as_bytes(std::span(values));
}

template <class R, class T>
std::vector<R> reference(const std::vector<T>& values, Scalar element, Operator op,
                         std::optional<Scalar> accumulator = {}) {
    const ReduceDesc desc{
        .element = element, .op = op, .accumulator = accumulator, .max_count = values.size()};
    const auto bytes = reduce_reference(bytes_of(values), desc);
    std::vector<R> result(bytes.size() / sizeof(R));
    std::memcpy(result.data(), bytes.data(), result.size() * sizeof(R));
    EXPECT_EQ(bytes.size() % sizeof(R), 0u);
    return result;
}

using U32 = std::vector<std::uint32_t>;
using I32 = std::vector<std::int32_t>;
using U64 = std::vector<std::uint64_t>;
using F32 = std::vector<float>;

std::uint32_t float_bits(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(ReduceReference, Integers) {
    const U32 values{7, 0xfffffffe, 3, 12, 3};
    const auto u32 = [&](Operator op) { return reference<std::uint32_t>(values, Scalar::u32, op); };
    EXPECT_EQ(u32(Operator::sum), U32{23});  // wraps
    EXPECT_EQ(u32(Operator::product), U32{static_cast<std::uint32_t>(-2 * 7 * 3 * 12 * 3)});
    EXPECT_EQ(u32(Operator::min), U32{3});
    EXPECT_EQ(u32(Operator::max), U32{0xfffffffe});
    EXPECT_EQ(u32(Operator::bit_and), U32{0});
    EXPECT_EQ(u32(Operator::bit_or), U32{0xffffffff});
    EXPECT_EQ(u32(Operator::bit_xor), U32{7u ^ 0xfffffffeu ^ 3u ^ 12u ^ 3u});
    EXPECT_EQ(u32(Operator::argmin), (U32{3, 2}));
    EXPECT_EQ(u32(Operator::argmax), (U32{0xfffffffe, 1}));
    EXPECT_EQ(reference<std::uint64_t>(values, Scalar::u32, Operator::sum, Scalar::u64),
              U64{0x100000017});
    EXPECT_EQ(reference<std::uint64_t>(values, Scalar::u32, Operator::argmax, Scalar::u64),
              (U64{0xfffffffe, 1}));
}

TEST(ReduceReference, SignsAreExtended) {
    const std::vector<std::int8_t> values{-128, 5, -1};
    const auto i8 = [&](Operator op) { return reference<std::int32_t>(values, Scalar::i8, op); };
    EXPECT_EQ(i8(Operator::sum), I32{-124});
    EXPECT_EQ(i8(Operator::min), I32{-128});
    EXPECT_EQ(i8(Operator::max), I32{5});
    EXPECT_EQ(i8(Operator::bit_and), I32{-128 & 5 & -1});
    EXPECT_EQ(i8(Operator::argmin), (I32{-128, 0}));
    EXPECT_EQ(reference<std::int64_t>(values, Scalar::i8, Operator::product, Scalar::i64),
              std::vector<std::int64_t>{640});
    const std::vector<std::uint16_t> wide{65535, 65535};
    EXPECT_EQ(reference<std::uint32_t>(wide, Scalar::u16, Operator::sum), U32{131070});
    EXPECT_EQ(reference<std::uint32_t>(wide, Scalar::u16, Operator::bit_and), U32{65535});
}

TEST(ReduceReference, EmptyInputGivesTheIdentity) {
    const U32 none;
    const auto u32 = [&](Operator op) { return reference<std::uint32_t>(none, Scalar::u32, op); };
    EXPECT_EQ(u32(Operator::sum), U32{0});
    EXPECT_EQ(u32(Operator::product), U32{1});
    EXPECT_EQ(u32(Operator::min), U32{0xffffffff});
    EXPECT_EQ(u32(Operator::max), U32{0});
    EXPECT_EQ(u32(Operator::bit_and), U32{0xffffffff});
    EXPECT_EQ(u32(Operator::bit_or), U32{0});
    EXPECT_EQ(u32(Operator::bit_xor), U32{0});
    EXPECT_EQ(u32(Operator::argmin), (U32{0xffffffff, 0xffffffff}));
    EXPECT_EQ(u32(Operator::argmax), (U32{0, 0xffffffff}));
    EXPECT_EQ(reference<std::int32_t>(I32{}, Scalar::i32, Operator::max),
              I32{std::numeric_limits<std::int32_t>::min()});
    EXPECT_EQ(reference<std::int32_t>(I32{}, Scalar::i32, Operator::min),
              I32{std::numeric_limits<std::int32_t>::max()});
    EXPECT_EQ(reference<std::int64_t>(I32{}, Scalar::i32, Operator::max, Scalar::i64),
              std::vector<std::int64_t>{std::numeric_limits<std::int64_t>::min()});
    EXPECT_EQ(reference<float>(F32{}, Scalar::f32, Operator::min), F32{kInfinity});
    EXPECT_EQ(reference<float>(F32{}, Scalar::f32, Operator::max), F32{-kInfinity});
    EXPECT_EQ(reference<float>(F32{}, Scalar::f32, Operator::product), F32{1.0f});
    EXPECT_EQ(reference<std::uint32_t>(F32{}, Scalar::f32, Operator::argmax),
              (U32{float_bits(-kInfinity), 0xffffffff}));
    EXPECT_EQ(reference<std::uint64_t>(std::vector<double>{}, Scalar::f64, Operator::argmin),
              (U64{0x7ff0000000000000, ~std::uint64_t{0}}));
}

TEST(ReduceReference, MinAndMaxOfFloatsFollowTheirImages) {
    const auto f32 = [](const F32& values, Operator op) {
        return reference<std::uint32_t>(values, Scalar::f32, op);
    };
    EXPECT_EQ(f32({3, kNan, -2, 5}, Operator::min), U32{float_bits(-2)});
    EXPECT_EQ(f32({3, kNan, -2, 5}, Operator::argmax), (U32{float_bits(5), 3}));
    EXPECT_EQ(f32({kNan, kNan}, Operator::min), U32{kQuietNan});
    EXPECT_EQ(f32({-kNan, kNan}, Operator::argmin), (U32{kQuietNan, 0}));
    EXPECT_EQ(f32({0.0f, -0.0f}, Operator::min), U32{0x80000000});
    EXPECT_EQ(f32({-0.0f, 0.0f}, Operator::max), U32{0});
    EXPECT_EQ(f32({0.0f, -0.0f}, Operator::argmin), (U32{0x80000000, 1}));
    EXPECT_EQ(f32({-0.0f, 0.0f, 0.0f}, Operator::argmax), (U32{0, 1}));
    EXPECT_EQ(f32({kInfinity, kInfinity}, Operator::argmin), (U32{float_bits(kInfinity), 0}));
    EXPECT_EQ(f32({-kInfinity, kNan}, Operator::argmax), (U32{float_bits(-kInfinity), 0}));
    const float tiny = std::numeric_limits<float>::denorm_min();
    EXPECT_EQ(f32({tiny, -tiny, 0}, Operator::argmin), (U32{0x80000001, 1}));
    EXPECT_EQ(f32({0, tiny, -tiny}, Operator::max), U32{1});
}

TEST(ReduceReference, HalvesAreReadExactly) {
    // 1, -2, the largest, the smallest normal, the smallest denormal.
    const std::vector<std::uint16_t> values{0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001};
    const auto f16 = [&](Operator op) { return reference<float>(values, Scalar::f16, op); };
    EXPECT_EQ(f16(Operator::max), F32{65504.0f});
    EXPECT_EQ(f16(Operator::min), F32{-2.0f});
    const double sum = 1.0 - 2.0 + 65504.0 + 0x1p-14 + 0x1p-24;
    EXPECT_EQ(reference<double>(values, Scalar::f16, Operator::sum, Scalar::f64),
              std::vector<double>{sum});
    const std::vector<std::uint16_t> infinite{0x7c00, 0xfc00, 0x7e00, 0x8000};
    EXPECT_EQ(reference<float>(infinite, Scalar::f16, Operator::max), F32{kInfinity});
    EXPECT_EQ(reference<float>(infinite, Scalar::f16, Operator::min), F32{-kInfinity});
}

TEST(ReduceReference, IndicesGrowTo64BitsWithTheCount) {
    const U32 values{5, 3, 9};
    const ReduceDesc desc{.op = Operator::argmin, .max_count = (std::uint64_t{1} << 32) + 1};
    const auto bytes = reduce_reference(bytes_of(values), desc);
    ASSERT_EQ(bytes.size(), 16u);
    std::uint64_t index = 0;
    std::memcpy(&index, bytes.data() + 8, 8);
    EXPECT_EQ(index, 1u);
}

template <class T>
std::vector<std::byte> result_of(T value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

bool sum_is(const F32& values, float result, std::uint64_t depth = 0) {
    const ReduceDesc desc{.element = Scalar::f32, .op = Operator::sum, .max_count = values.size()};
    return reduce_matches(desc, bytes_of(values), result_of(result), nullptr, depth);
}

bool product_is(const F32& values, float result) {
    const ReduceDesc desc{
        .element = Scalar::f32, .op = Operator::product, .max_count = values.size()};
    return reduce_matches(desc, bytes_of(values), result_of(result));
}

TEST(ReduceMatches, OneWrongBitOfAnIntegerIsSeen) {
    const U32 values{1, 2, 3};
    const ReduceDesc desc{.max_count = 3};
    std::string why;
    EXPECT_TRUE(reduce_matches(desc, bytes_of(values), result_of(std::uint32_t{6}), &why));
    EXPECT_FALSE(reduce_matches(desc, bytes_of(values), result_of(std::uint32_t{7}), &why));
    EXPECT_EQ(why, "expected 6, got 7");
    EXPECT_FALSE(reduce_matches(desc, bytes_of(values), result_of(std::uint64_t{6}), &why));
    EXPECT_NE(why.find("8 bytes"), std::string::npos) << why;
}

TEST(ReduceMatches, AWrongIndexIsSeen) {
    const U32 values{4, 2, 2};
    const ReduceDesc desc{.op = Operator::argmin, .max_count = 3};
    std::string why;
    EXPECT_TRUE(
        reduce_matches(desc, bytes_of(values), result_of(std::uint64_t{0x100000002}), &why));
    EXPECT_FALSE(
        reduce_matches(desc, bytes_of(values), result_of(std::uint64_t{0x200000002}), &why));
    EXPECT_EQ(why, "expected index 1, got 2 (value 2)");
}

TEST(ReduceMatches, ValuesBesideIndicesOf64BitsHaveZerosAbove) {
    const U32 values{4, 2, 2};
    const ReduceDesc desc{.op = Operator::argmin, .max_count = (std::uint64_t{1} << 32) + 1};
    std::string why;
    const auto with_high_word = [](std::uint64_t high) {
        const std::uint64_t words[] = {high << 32 | 2, 1};
        const auto bytes = std::as_bytes(std::span(words));
        return std::vector<std::byte>(bytes.begin(), bytes.end());
    };
    EXPECT_TRUE(reduce_matches(desc, bytes_of(values), with_high_word(0), &why)) << why;
    EXPECT_FALSE(reduce_matches(desc, bytes_of(values), with_high_word(1), &why));
    EXPECT_NE(why.find("zeros"), std::string::npos) << why;
}

TEST(ReduceMatches, SumsWithoutRoundingAreExact) {
    F32 values(1000);
    std::iota(values.begin(), values.end(), 1.0f);
    EXPECT_TRUE(sum_is(values, 500500.0f));
    EXPECT_FALSE(sum_is(values, std::nextafter(500500.0f, kInfinity)));
    EXPECT_TRUE(sum_is({0.25f, -0.25f}, -0.0f));
    EXPECT_TRUE(sum_is({}, 0.0f));
    EXPECT_FALSE(sum_is({}, std::numeric_limits<float>::denorm_min()));
}

TEST(ReduceMatches, RoundedSumsHaveABound) {
    const F32 values(10000, 0.1f);
    float serial = 0.0f;
    for (const float value : values) serial += value;
    EXPECT_NE(serial, 1000.0f);
    EXPECT_TRUE(sum_is(values, 1000.0f));
    EXPECT_TRUE(sum_is(values, serial, 10000)) << "as deep as a serial sum is";
    EXPECT_FALSE(sum_is(values, serial, 10)) << "but not as a shallow tree is";
    EXPECT_FALSE(sum_is(values, 1000.1f, 40)) << "one element too many";
    EXPECT_FALSE(sum_is(values, kNan));
    EXPECT_FALSE(sum_is(values, kInfinity));
}

TEST(ReduceMatches, SumsKeepWhatIsNotFinite) {
    EXPECT_TRUE(sum_is({1, kInfinity}, kInfinity));
    EXPECT_FALSE(sum_is({1, kInfinity}, -kInfinity));
    EXPECT_FALSE(sum_is({1, kInfinity}, 1));
    EXPECT_TRUE(sum_is({kInfinity, -kInfinity}, kNan));
    EXPECT_FALSE(sum_is({kInfinity, -kInfinity}, 0));
    EXPECT_TRUE(sum_is({1, kNan}, kNan));
    EXPECT_FALSE(sum_is({1, kNan}, 1));
    const float largest = std::numeric_limits<float>::max();
    EXPECT_TRUE(sum_is({largest, largest}, kInfinity));
    EXPECT_FALSE(sum_is({largest, largest}, -kInfinity));
    EXPECT_FALSE(sum_is({largest, largest}, largest));
    // In one order this overflows, in another it does not.
    EXPECT_TRUE(sum_is({largest, largest, -largest}, kInfinity));
    EXPECT_TRUE(sum_is({largest, largest, -largest}, largest));
    EXPECT_FALSE(sum_is({largest, largest, -largest}, 0));
}

TEST(ReduceMatches, Products) {
    EXPECT_TRUE(product_is({3, 0.5f, -4}, -6));
    EXPECT_FALSE(product_is({3, 0.5f, -4}, std::nextafter(-6.0f, 0.0f)));
    EXPECT_TRUE(product_is({}, 1));
    EXPECT_FALSE(product_is({}, 0));
    const F32 values(1000, 1.001f);
    const float exact = static_cast<float>(std::pow(static_cast<double>(1.001f), 1000.0));
    EXPECT_TRUE(product_is(values, exact));
    EXPECT_FALSE(product_is(values, exact * 1.001f)) << "one factor too many";
    EXPECT_TRUE(product_is({0, 5, -1}, -0.0f));
    EXPECT_TRUE(product_is({0, kInfinity}, kNan));
    EXPECT_FALSE(product_is({0, kInfinity}, 0));
    EXPECT_TRUE(product_is({2, -kInfinity}, -kInfinity));
    EXPECT_FALSE(product_is({2, -kInfinity}, kInfinity));
    EXPECT_TRUE(product_is(F32(200, 2.0f), kInfinity));
    EXPECT_FALSE(product_is(F32(200, 2.0f), 0));
    EXPECT_TRUE(product_is(F32(200, 0.5f), 0));
    EXPECT_FALSE(product_is(F32(200, 0.5f), 1));
    EXPECT_FALSE(product_is({3, kNan}, 3));
}

TEST(ReduceMatches, DepthOfAPlan) {
    Plan plan;
    plan.share = {.tile_items = 64, .max_groups = 4};
    plan.passes.push_back({.name = "reduce_tiles", .workgroup_size = 16});
    // 64 tiles in 4 groups: 16 tiles of 4 items for each invocation.
    EXPECT_GE(reduce_depth(plan, 4096), 64u);
    EXPECT_LE(reduce_depth(plan, 4096), 64u + 32u);
    // Never above the bound that needs no plan.
    const ReduceDesc desc{.policy = ReducePolicy{.workgroup_size = 16}};
    for (const std::uint64_t count : {0u, 1u, 15u, 64u, 4096u, 1000000u}) {
        EXPECT_LE(reduce_depth(plan, count), reduce_depth(desc, count)) << count;
    }
}

RC_GTEST_PROP(ReduceReference, OrderDoesNotMatterToIntegers, (std::vector<std::int16_t> values)) {
    auto reversed = values;
    std::reverse(reversed.begin(), reversed.end());
    for (const Operator op : {Operator::sum, Operator::product, Operator::min, Operator::max,
                              Operator::bit_and, Operator::bit_or, Operator::bit_xor}) {
        RC_ASSERT(reference<std::int32_t>(values, Scalar::i16, op) ==
                  reference<std::int32_t>(reversed, Scalar::i16, op));
    }
}

RC_GTEST_PROP(ReduceReference, ArgFindsTheFirstOfItsValue, (std::vector<float> values)) {
    const auto found = reference<std::uint32_t>(values, Scalar::f32, Operator::argmin);
    RC_ASSERT(found.size() == 2u);
    if (values.empty()) {
        RC_ASSERT(found[1] == ~0u);
        return;
    }
    RC_ASSERT(found[1] < values.size());
    RC_ASSERT(float_bits(values[found[1]]) == found[0]);
    for (std::uint32_t i = 0; i < values.size(); ++i) {
        RC_ASSERT(!(values[i] < values[found[1]]));
        if (float_bits(values[i]) == found[0]) RC_ASSERT(i >= found[1]);
    }
}

}  // namespace
}  // namespace lanewise
