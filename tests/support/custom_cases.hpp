// Custom operators to test with, each with data on which its answer depends on every item, and a
// serial reference in C++. Integers, or floats that no order rounds: answers are equal bit for bit.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/custom.hpp"
#include "lanewise/scan.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes raw(const T& value) {
    Bytes bytes(sizeof(T));
    std::memcpy(bytes.data(), &value, sizeof(T));
    return bytes;
}

// What an operator says in WGSL where GLSL has other words; what is empty is the same in both.
struct WgslTexts {
    std::string load;
    std::string combine;
};

struct CustomCase {
    CustomOperator op;  // without `nothing` and `initial`
    WgslTexts wgsl;
    Bytes nothing;  // what they can be
    Bytes initial;
    bool narrow = false;  // of 8 or 16 bits
    // Items, so many; the direction in which they are meant to be combined.
    std::function<Bytes(std::size_t count, std::uint64_t seed, Direction)> make;
    Bytes hostile;  // an element that spoils the answer
    // `op` has nothing and initial as the run has them.
    std::function<Bytes(const CustomOperator& op, std::span<const std::byte> items)> reduce;
    // Of items [begin, end) alone.
    std::function<Bytes(const CustomOperator& op, std::span<const std::byte> items,
                        std::size_t begin, std::size_t end)>
        reduce_part;
    std::function<Bytes(const CustomOperator& op, std::span<const std::byte> items, ScanKind,
                        Direction)>
        scan;

    std::string name() const { return op.name; }
    CustomCase with_wgsl(WgslTexts texts) const {
        CustomCase made = *this;
        made.wgsl = std::move(texts);
        return made;
    }
    CustomCase in_wgsl() const {
        CustomCase made = *this;
        if (!wgsl.load.empty()) made.op.load = wgsl.load;
        if (!wgsl.combine.empty()) made.op.combine = wgsl.combine;
        return made;
    }
    bool has_scalar(std::initializer_list<Scalar> scalars) const {
        for (const Fields& fields : {op.element, value_of(op), result_of(op)}) {
            for (const Field& field : fields)
                if (std::ranges::find(scalars, field.scalar) != scalars.end()) return true;
        }
        return false;
    }
};

// make: E(index, hash, step), step counting in the direction of the scan. load: V(E, index).
// combine: V(V, V). store: R(V).
template <class E, class V, class R, class Make, class Load, class Combine, class Store>
CustomCase make_case(CustomOperator op, E hostile, R nothing, V initial, Make make, Load load,
                     Combine combine, Store store) {
    CustomCase made;
    made.op = std::move(op);
    made.hostile = raw(hostile);
    made.nothing = raw(nothing);
    made.initial = raw(initial);
    made.make = [make](std::size_t count, std::uint64_t seed, Direction direction) {
        Bytes items(count * sizeof(E));
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t step = direction == Direction::forward ? i : count - 1 - i;
            const E item = make(static_cast<std::uint32_t>(i), hash(seed, i),
                                static_cast<std::uint32_t>(step));
            std::memcpy(items.data() + i * sizeof(E), &item, sizeof(E));
        }
        return items;
    };
    const auto value_at = [load](std::span<const std::byte> items, std::size_t i) -> V {
        E item;
        std::memcpy(&item, items.data() + i * sizeof(E), sizeof(E));
        return load(item, static_cast<std::uint32_t>(i));
    };
    const auto of_nothing = [](const CustomOperator& custom) {
        R result{};
        if (!custom.nothing.empty()) std::memcpy(&result, custom.nothing.data(), sizeof(R));
        return result;
    };
    made.reduce_part = [=](const CustomOperator& custom, std::span<const std::byte> items,
                           std::size_t begin, std::size_t end) {
        if (begin == end) return raw(of_nothing(custom));
        V sum = value_at(items, begin);
        for (std::size_t i = begin + 1; i < end; ++i) sum = combine(sum, value_at(items, i));
        return raw<R>(store(sum));
    };
    made.reduce = [part = made.reduce_part](const CustomOperator& custom,
                                            std::span<const std::byte> items) {
        return part(custom, items, 0, items.size() / sizeof(E));
    };
    made.scan = [=](const CustomOperator& custom, std::span<const std::byte> items, ScanKind kind,
                    Direction direction) {
        const std::size_t count = items.size() / sizeof(E);
        Bytes outputs(count * sizeof(R));
        V sum{};
        bool any = !custom.initial.empty();
        if (any) std::memcpy(&sum, custom.initial.data(), sizeof(V));
        for (std::size_t step = 0; step < count; ++step) {
            const std::size_t i = direction == Direction::forward ? step : count - 1 - step;
            const R before = any ? store(sum) : of_nothing(custom);
            const V value = value_at(items, i);
            sum = any ? combine(sum, value) : value;
            any = true;
            const R output = kind == ScanKind::exclusive ? before : store(sum);
            std::memcpy(outputs.data() + i * sizeof(R), &output, sizeof(R));
        }
        return outputs;
    };
    return made;
}

namespace custom_cases {

using u8 = std::uint8_t;
using i8 = std::int8_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
template <class T, std::size_t N>
using Vec = std::array<T, N>;

inline constexpr auto kSame = [](const auto& value) { return value; };
inline constexpr u32 kMark = 0x600d600d;

template <class T, std::size_t N, class F>
Vec<T, N> each(const Vec<T, N>& a, const Vec<T, N>& b, F f) {
    Vec<T, N> c{};
    for (std::size_t i = 0; i < N; ++i) c[i] = f(a[i], b[i]);
    return c;
}
inline constexpr auto kPlus = [](auto a, auto b) { return static_cast<decltype(a)>(a + b); };
inline constexpr auto kTimes = [](auto a, auto b) { return static_cast<decltype(a)>(a * b); };
inline constexpr auto kXor = [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); };
inline constexpr auto kOr = [](auto a, auto b) { return static_cast<decltype(a)>(a | b); };
inline constexpr auto kMin = [](auto a, auto b) { return std::min(a, b); };
inline constexpr auto kMax = [](auto a, auto b) { return std::max(a, b); };

inline float small_float(u64 h) { return static_cast<float>(static_cast<int>(h % 31) - 15); }

// f16 of a small number, and back: normal ones and zero.
inline u16 half_bits(float value) { return static_cast<u16>(float_bits(Scalar::f16, value)); }
inline float half_value(u16 bits) {
    if ((bits & 0x7fff) == 0) return 0;
    const float size =
        std::ldexp(static_cast<float>((bits & 0x3ff) + 1024), ((bits >> 10) & 31) - 25);
    return (bits & 0x8000) != 0 ? -size : size;
}

// The bounding box of points: a value twice the element, by a commutative operator.
inline CustomCase box() {
    using Point = Vec<float, 3>;
    struct Box {
        Point low, high;
    };
    const float inf = std::numeric_limits<float>::infinity();
    const auto at = [](u32 step, u64 h) {
        // Farther and farther out: outputs go on changing.
        return static_cast<float>(static_cast<int>(h % (2 * step + 5)) - static_cast<int>(step));
    };
    return make_case<Point, Box, Box>(
        {.name = "box",
         .element = {{Scalar::f32, 3, {}}},
         .value = {{Scalar::f32, 3, "low"}, {Scalar::f32, 3, "high"}},
         .load = "Value(x, x)",
         .combine = "Value(min(a.low, b.low), max(a.high, b.high))",
         .commutative = true},
        {-1e30f, 1e30f, 1e30f}, {{inf, inf, inf}, {-inf, -inf, -inf}}, {{-3, -2, -1}, {1, 2, 3}},
        [=](u32, u64 h, u32 step) {
            return Point{at(step, h & 0xfffff), at(step, (h >> 20) & 0xfffff), at(step, h >> 40)};
        },
        [](Point p, u32) {
            return Box{p, p};
        },
        [](const Box& a, const Box& b) {
            return Box{each(a.low, b.low, kMin), each(a.high, b.high, kMax)};
        },
        kSame);
}

// The sum of vectors: the element itself is the value.
inline CustomCase forces() {
    using Force = Vec<float, 4>;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    return make_case<Force, Force, Force>(
        {.name = "forces",
         .element = {{Scalar::f32, 4, {}}},
         .combine = "a + b",
         .commutative = true},
        {nan, nan, nan, nan}, {0.5f, -0.5f, 8, 1e20f}, {7, -100, 0.25f, 1},
        [](u32, u64 h, u32) {
            return Force{small_float(h), small_float(h >> 16), small_float(h >> 32),
                         small_float(h >> 48)};
        },
        [](Force f, u32) { return f; }, [](Force a, Force b) { return each(a, b, kPlus); }, kSame);
}

// The product of 2x2 matrices, which no other order gives.
inline CustomCase matrix() {
    using Matrix = Vec<u32, 4>;
    return make_case<Matrix, Matrix, Matrix>(
        {.name = "matrix",
         .element = {{Scalar::u32, 2, "r0"}, {Scalar::u32, 2, "r1"}},
         .combine = "Value(a.r0.x * b.r0 + a.r0.y * b.r1,\n      a.r1.x * b.r0 + a.r1.y * b.r1)"},
        {0, 0, 0, 0}, {1, 0, 0, 1}, {2, 3, 5, 8},
        [](u32, u64 h, u32) {
            // Odd determinants: no product loses what came before.
            const u32 x = static_cast<u32>(h), y = static_cast<u32>(h >> 32);
            return Matrix{x | 1, y & ~1u, x ^ y, (y * 3) | 1};
        },
        [](Matrix m, u32) { return m; },
        [](Matrix a, Matrix b) {
            return Matrix{a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3],
                          a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
        },
        kSame);
}

// The index of the largest of transformed items, ties to the lowest: statements, and `index`.
inline CustomCase farthest() {
    struct Found {
        i32 value;
        u32 at;
    };
    return make_case<i32, Found, Found>(
               {.name = "farthest",
                .element = {{Scalar::i32, 1, {}}},
                .value = {{Scalar::i32, 1, "value"}, {Scalar::u32, 1, "at"}},
                .load = "i32 distance = abs(x - 70);\nreturn Value(distance, index);",
                .combine = "if (a.value > b.value) { return a; }\n"
                           "if (b.value > a.value) { return b; }\n"
                           "if (a.at < b.at) { return a; }\n"
                           "return b;",
                .commutative = true},
               1 << 30, {-1, ~0u}, {1, 0x7fffffff},
               [](u32, u64 h, u32 step) {
                   // Few values, many ties, and new ones all the way.
                   return static_cast<i32>(h % (20 + step / 8)) - 10;
               },
               [](i32 x, u32 index) {
                   return Found{std::abs(x - 70), index};
               },
               [](Found a, Found b) {
                   if (a.value != b.value) return a.value > b.value ? a : b;
                   return a.at < b.at ? a : b;
               },
               kSame)
        .with_wgsl({.load = "let distance = abs(x - 70);\nreturn Value(distance, index);"});
}

// Functions m * x + c, one after the other: two words, the order matters.
inline CustomCase affine() {
    struct Function {
        u32 m, c;
    };
    return make_case<Function, Function, Function>(
        {.name = "affine",
         .element = {{Scalar::u32, 1, "m"}, {Scalar::u32, 1, "c"}},
         .combine = "Value(a.m * b.m, a.c * b.m + b.c)"},
        {0, 99}, {1, 0}, {5, 77},
        [](u32, u64 h, u32) {
            return Function{static_cast<u32>(h) | 1, static_cast<u32>(h >> 32)};
        },
        [](Function f, u32) { return f; },
        [](Function a, Function b) {
            return Function{a.m * b.m, a.c * b.m + b.c};
        },
        kSame);
}

// The last item that is not zero: one byte, the order matters.
inline CustomCase last_byte() {
    return make_case<u8, u32, u32>(
               {.name = "last_byte",
                .element = {{Scalar::u8, 1, {}}},
                .combine = "b != 0u ? b : a"},
               255, 0x12345678, 300,
               [](u32, u64 h, u32) { return static_cast<u8>(h % 4 ? 0 : h >> 8); },
               [](u8 x, u32) { return u32{x}; }, [](u32 a, u32 b) { return b != 0 ? b : a; }, kSame)
        .with_wgsl({.combine = "select(a, b, b != 0u)"});
}

// Signed elements of 16 bits.
inline CustomCase short_sum() {
    return make_case<i16, i32, i32>(
        {.name = "short_sum",
         .element = {{Scalar::i16, 1, {}}},
         .load = "x * 3 - 1",
         .combine = "a + b",
         .commutative = true},
        -32768, -5, 1 << 30, [](u32, u64 h, u32) { return static_cast<i16>(h); },
        [](i16 x, u32) { return x * 3 - 1; },
        [](i32 a, i32 b) { return static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b)); },
        kSame);
}

// Floats of 16 bits in, an integer out.
inline CustomCase half_sum() {
    return make_case<u16, float, i32>(
        {.name = "half_sum",
         .element = {{Scalar::f16, 1, {}}},
         .combine = "a + b",
         .commutative = true,
         .result = {{Scalar::i32, 1, {}}},
         .store = "i32(a * 4.0)"},
        half_bits(1000), 123456789, 2.5f,
        [](u32, u64 h, u32) { return half_bits(small_float(h) / 4); },
        [](u16 x, u32) { return half_value(x); }, [](float a, float b) { return a + b; },
        [](float a) { return static_cast<i32>(a * 4); });
}

// Four bytes in, one word out, four words between: in place where the strategy can be.
inline CustomCase bytes_hash() {
    using Value = Vec<u32, 4>;
    return make_case<Vec<u8, 4>, Value, u32>(
        {.name = "bytes_hash",
         .element = {{Scalar::u8, 4, {}}},
         .combine = "a + b",
         .commutative = true,
         .result = {{Scalar::u32, 1, {}}},
         .store = "a.x + 257u * a.y + 65539u * a.z + 16777259u * a.w"},
        {255, 255, 255, 255}, 0xffffffff, {1, 2, 3, 0xfffffff0},
        [](u32, u64 h, u32) {
            return Vec<u8, 4>{static_cast<u8>(h), static_cast<u8>(h >> 8), static_cast<u8>(h >> 16),
                              static_cast<u8>(h >> 24)};
        },
        [](Vec<u8, 4> x, u32) {
            return Value{x[0], x[1], x[2], x[3]};
        },
        [](Value a, Value b) { return each(a, b, kPlus); },
        [](Value a) { return a[0] + 257 * a[1] + 65539 * a[2] + 16777259 * a[3]; });
}

// A struct of scalars of every width, 20 bytes; three words out.
inline CustomCase particle() {
    struct Particle {
        Vec<float, 2> p;
        u32 id;
        Vec<u8, 4> flags;
        i16 w;
        u16 z;
    };
    static_assert(sizeof(Particle) == 20);
    struct Value {
        Vec<float, 2> p;
        u32 id, flags;
        i32 w;
    };
    return make_case<Particle, Value, Vec<u32, 3>>(
               {.name = "particle",
                .element = {{Scalar::f32, 2, "p"},
                            {Scalar::u32, 1, "id"},
                            {Scalar::u8, 4, "flags"},
                            {Scalar::i16, 1, "w"},
                            {Scalar::u16, 1, "z"}},
                .value = {{Scalar::f32, 2, "p"},
                          {Scalar::u32, 1, "id"},
                          {Scalar::u32, 1, "flags"},
                          {Scalar::i32, 1, "w"}},
                .load =
                    "u32 flags = x.flags.x | x.flags.y << 8 | x.flags.z << 16 | x.flags.w << 24;\n"
                    "return Value(x.p, x.id, flags, x.w - i32(x.z));",
                .combine =
                    "Value(a.p + b.p, b.id != 0u ? b.id : a.id, a.flags ^ b.flags, min(a.w, b.w))",
                .result = {{Scalar::u32, 3, {}}},
                .store = "vec3u(a.id, a.flags ^ u32(a.w), u32(i32(a.p.x * 64.0 + a.p.y)))"},
               {{1e9f, 1e9f}, 0xbad, {255, 1, 2, 3}, -32768, 65535}, {1, 0xffffffff, 3},
               {{-1, 1}, 9, 0x80000001, 5},
               [](u32, u64 h, u32 step) {
                   return Particle{{small_float(h), small_float(h >> 8)},
                                   h % 5 == 0 ? static_cast<u32>(h >> 32) : 0,
                                   {static_cast<u8>(h >> 8), static_cast<u8>(h >> 16),
                                    static_cast<u8>(h >> 24), static_cast<u8>(h >> 40)},
                                   static_cast<i16>(1000 - static_cast<int>(step)),
                                   static_cast<u16>(h >> 48)};
               },
               [](const Particle& x, u32) {
                   const u32 flags = u32{x.flags[0]} | u32{x.flags[1]} << 8 |
                                     u32{x.flags[2]} << 16 | u32{x.flags[3]} << 24;
                   return Value{x.p, x.id, flags, x.w - x.z};
               },
               [](const Value& a, const Value& b) {
                   return Value{each(a.p, b.p, kPlus), b.id != 0 ? b.id : a.id, a.flags ^ b.flags,
                                std::min(a.w, b.w)};
               },
               [](const Value& a) {
                   return Vec<u32, 3>{a.id, a.flags ^ static_cast<u32>(a.w),
                                      static_cast<u32>(static_cast<i32>(a.p[0] * 64 + a.p[1]))};
               })
        .with_wgsl({.load = "let flags = x.flags.x | (x.flags.y << 8u) | (x.flags.z << 16u) |\n"
                            "            (x.flags.w << 24u);\n"
                            "return Value(x.p, x.id, flags, x.w - i32(x.z));",
                    .combine = "Value(a.p + b.p, select(a.id, b.id, b.id != 0u),\n"
                               "      a.flags ^ b.flags, min(a.w, b.w))"});
}

// 32 bytes with narrow fields of every kind, widened without a word said.
inline CustomCase widened() {
    struct Element {
        Vec<u16, 4> h;
        Vec<float, 4> v;
        u32 c;
        Vec<u16, 2> s;
    };
    static_assert(sizeof(Element) == 32);
    struct Value {
        Vec<float, 4> h, v;
        u32 c;
        Vec<u32, 2> s;
    };
    return make_case<Element, Value, Value>(
        {.name = "widened",
         .element = {{Scalar::f16, 4, "h"},
                     {Scalar::f32, 4, "v"},
                     {Scalar::u32, 1, "c"},
                     {Scalar::u16, 2, "s"}},
         .combine = "Value(a.h + b.h, max(a.v, b.v), a.c ^ b.c, min(a.s, b.s))"},
        {{0x7bff, 0x7bff, 0x7bff, 0x7bff}, {1e30f, 1e30f, 1e30f, 1e30f}, 1, {0, 0}},
        {{1, 2, 3, 4}, {5, 6, 7, 8}, 9, {10, 11}},
        {{0.5f, 0, -0.5f, 1}, {-100, -100, -100, -100}, 0xffff0000, {65535, 70000}},
        [](u32, u64 h, u32 step) {
            Element e{};
            for (u32 i = 0; i < 4; ++i) {
                e.h[i] = half_bits(small_float(h >> (8 * i)) / 8);
                e.v[i] = small_float(h >> (8 * i + 32)) + static_cast<float>(step) / 4;
            }
            e.c = static_cast<u32>(h >> 7);
            e.s = {static_cast<u16>(65535 - step * 8 + h % 64), static_cast<u16>(h >> 40)};
            return e;
        },
        [](const Element& x, u32) {
            Value v{};
            for (u32 i = 0; i < 4; ++i) v.h[i] = half_value(x.h[i]);
            v.v = x.v;
            v.c = x.c;
            v.s = {x.s[0], x.s[1]};
            return v;
        },
        [](const Value& a, const Value& b) {
            return Value{each(a.h, b.h, kPlus), each(a.v, b.v, kMax), a.c ^ b.c,
                         each(a.s, b.s, kMin)};
        },
        kSame);
}

// Permutation matrices of 16 floats: 64 bytes, the order matters.
inline CustomCase permutation() {
    using Matrix = Vec<float, 16>;
    const auto of = [](u64 h) {
        std::array<int, 4> to{0, 1, 2, 3};
        for (u32 i = 3; i > 0; --i) std::swap(to[i], to[(h >> (i * 8)) % (i + 1)]);
        Matrix m{};
        for (u32 i = 0; i < 4; ++i) m[4 * i + static_cast<u32>(to[i])] = 1;
        return m;
    };
    const auto row = [](const std::string& r) {
        return "a." + r + ".x * b.r0 + a." + r + ".y * b.r1 + a." + r + ".z * b.r2 + a." + r +
               ".w * b.r3";
    };
    return make_case<Matrix, Matrix, Matrix>(
        {.name = "permutation",
         .element = {{Scalar::f32, 4, "r0"},
                     {Scalar::f32, 4, "r1"},
                     {Scalar::f32, 4, "r2"},
                     {Scalar::f32, 4, "r3"}},
         .combine =
             "Value(" + row("r0") + ", " + row("r1") + ", " + row("r2") + ", " + row("r3") + ")"},
        Matrix{}, of(0), of(0x01020300), [=](u32, u64 h, u32) { return of(h); },
        [](const Matrix& m, u32) { return m; },
        [](const Matrix& a, const Matrix& b) {
            Matrix c{};
            for (u32 i = 0; i < 4; ++i)
                for (u32 j = 0; j < 4; ++j)
                    for (u32 k = 0; k < 4; ++k) c[4 * i + j] += a[4 * i + k] * b[4 * k + j];
            return c;
        },
        kSame);
}

// Everything as large as it may be: 256 bytes in, 128 between, 256 out.
inline CustomCase largest() {
    using Quad = Vec<u32, 4>;
    using Element = Vec<Quad, 16>;
    using Value = Vec<Quad, 8>;
    const auto fields = [](const char* prefix, u32 count) {
        Fields all;
        for (u32 i = 0; i < count; ++i) all.push_back({Scalar::u32, 4, prefix + std::to_string(i)});
        return all;
    };
    std::string load = "Value(", store = "Result(";
    for (u32 i = 0; i < 8; ++i) {
        const std::string n = std::to_string(i);
        load += "x.e" + n + " ^ x.e" + std::to_string(i + 8) + (i < 7 ? ", " : ")");
        store += "a.v" + n + ", ";
    }
    for (u32 i = 0; i < 8; ++i) store += "~a.v" + std::to_string(i) + (i < 7 ? ", " : ")");
    Element nothing{};
    Value initial{};
    for (u32 i = 0; i < 64; ++i) nothing[i / 4][i % 4] = i * 0x01010101;
    for (u32 i = 0; i < 32; ++i) initial[i / 4][i % 4] = 3 + i * 2;
    return make_case<Element, Value, Element>(
        {.name = "largest",
         .element = fields("e", 16),
         .value = fields("v", 8),
         .load = load,
         .combine = "Value(a.v0 + b.v0, max(a.v1, b.v1), a.v2 ^ b.v2, a.v3 | b.v3, a.v4 * b.v4, "
                    "a.v5 * b.v5, a.v6 * b.v4 + b.v6, a.v7 * b.v5 + b.v7)",
         .result = fields("r", 16),
         .store = store},
        Element{}, nothing, initial,
        [](u32, u64 h, u32) {
            Element e{};
            for (u32 i = 0; i < 64; ++i) e[i / 4][i % 4] = static_cast<u32>(hash(h, i));
            for (u32 i = 0; i < 4; ++i) {
                // Bits come one by one.
                e[3][i] = e[11][i] ^ ((h >> (8 * i)) % 64 == 0 ? 1u << (h >> 40) % 32 : 0u);
                // Odd factors lose nothing.
                for (u32 j : {4u, 5u}) e[j][i] = (e[j][i] & ~1u) | (~e[j + 8][i] & 1u);
            }
            return e;
        },
        [](const Element& x, u32) {
            Value v{};
            for (u32 i = 0; i < 8; ++i) v[i] = each(x[i], x[i + 8], kXor);
            return v;
        },
        [](const Value& a, const Value& b) {
            return Value{each(a[0], b[0], kPlus),
                         each(a[1], b[1], kMax),
                         each(a[2], b[2], kXor),
                         each(a[3], b[3], kOr),
                         each(a[4], b[4], kTimes),
                         each(a[5], b[5], kTimes),
                         each(each(a[6], b[4], kTimes), b[6], kPlus),
                         each(each(a[7], b[5], kTimes), b[7], kPlus)};
        },
        [](const Value& a) {
            Element r{};
            for (u32 i = 0; i < 8; ++i) {
                r[i] = a[i];
                for (u32 j = 0; j < 4; ++j) r[i + 8][j] = ~a[i][j];
            }
            return r;
        });
}

// Integers of 64 bits, two of them, the order matters.
inline CustomCase wide_affine() {
    struct Function {
        u64 m, c;
    };
    return make_case<Function, Function, Function>(
        {.name = "wide_affine",
         .element = {{Scalar::u64, 1, "m"}, {Scalar::u64, 1, "c"}},
         .combine = "Value(a.m * b.m, a.c * b.m + b.c)"},
        {0, 99}, {~u64{0}, u64{1} << 63}, {0x100000001, u64{5} << 40},
        [](u32, u64 h, u32) {
            return Function{h | 1, hash(h)};
        },
        [](Function f, u32) { return f; },
        [](Function a, Function b) {
            return Function{a.m * b.m, a.c * b.m + b.c};
        },
        kSame);
}

// One integer of 64 bits.
inline CustomCase wide_largest() {
    return make_case<u64, u64, u64>(
        {.name = "wide_largest",
         .element = {{Scalar::u64, 1, {}}},
         .combine = "max(a, b)",
         .commutative = true},
        ~u64{0}, 5, u64{3} << 32,
        [](u32, u64 h, u32 step) { return u64{step / 4} << 32 | (h & 0xffffffff); },
        [](u64 x, u32) { return x; }, [](u64 a, u64 b) { return std::max(a, b); }, kSame);
}

// One float of 64 bits: sums that one of 32 bits cannot hold.
inline CustomCase double_sum() {
    return make_case<double, double, double>(
        {.name = "double_sum",
         .element = {{Scalar::f64, 1, {}}},
         .combine = "a + b",
         .commutative = true},
        1e300, 0.1, -0x1p40,
        [](u32, u64 h, u32) { return static_cast<double>(static_cast<std::int64_t>(h) >> 24); },
        [](double x, u32) { return x; }, [](double a, double b) { return a + b; }, kSame);
}

// 64 and 32 bits in one struct.
inline CustomCase mixed_wide() {
    struct Mixed {
        double t;
        u64 n;
        float w;
        i32 i;
    };
    static_assert(sizeof(Mixed) == 24);
    return make_case<Mixed, Mixed, Mixed>(
        {.name = "mixed_wide",
         .element = {{Scalar::f64, 1, "t"},
                     {Scalar::u64, 1, "n"},
                     {Scalar::f32, 1, "w"},
                     {Scalar::i32, 1, "i"}},
         .combine = "Value(a.t + b.t, a.n * b.n, max(a.w, b.w), min(a.i, b.i))"},
        {1e200, 0, 1e30f, -2147483647}, {1.5, ~u64{0}, 2, 3}, {0x1p41, 3, -5, 1 << 30},
        [](u32, u64 h, u32 step) {
            return Mixed{static_cast<double>(static_cast<std::int64_t>(h) >> 24), hash(h) | 1,
                         static_cast<float>(step + h % 9),
                         static_cast<i32>(h >> 50) - static_cast<i32>(step)};
        },
        [](Mixed x, u32) { return x; },
        [](Mixed a, Mixed b) {
            return Mixed{a.t + b.t, a.n * b.n, std::max(a.w, b.w), std::min(a.i, b.i)};
        },
        kSame);
}

struct Run {
    u32 first, last, mark;
};

// Items that know their place, joined to runs: the mark is lost where two meet that are not next to
// each other in the scan's order, and where one was never in the input.
inline CustomCase runs() {
    struct Item {
        u32 place, mark;
    };
    return make_case<Item, Run, Run>(
               {.name = "runs",
                .element = {{Scalar::u32, 1, "place"}, {Scalar::u32, 1, "mark"}},
                .value = {{Scalar::u32, 1, "first"},
                          {Scalar::u32, 1, "last"},
                          {Scalar::u32, 1, "mark"}},
                .load = "Value(x.place, x.place, x.mark)",
                .combine = "bool good = a.mark == 0x600d600du && b.mark == 0x600d600du &&\n"
                           "            a.last + 1u == b.first;\n"
                           "return Value(a.first, b.last, good ? a.mark : 0xbadu);"},
               {1, 0xbad}, {7, 8, 9}, {0u - 5, 0u - 1, kMark},
               [](u32, u64, u32 step) {
                   return Item{step, kMark};
               },
               [](Item x, u32) {
                   return Run{x.place, x.place, x.mark};
               },
               [](Run a, Run b) {
                   const bool good = a.mark == kMark && b.mark == kMark && a.last + 1 == b.first;
                   return Run{a.first, b.last, good ? a.mark : 0xbad};
               },
               kSame)
        .with_wgsl({.combine = "let good = a.mark == 0x600d600du && b.mark == 0x600d600du &&\n"
                               "           a.last + 1u == b.first;\n"
                               "return Value(a.first, b.last, select(0xbadu, a.mark, good));"});
}

// Marked items, summed by a commutative operator: the mark is lost where one was never in the
// input.
inline CustomCase marked() {
    struct Item {
        u32 value, mark;
    };
    return make_case<Item, Item, Item>(
               {.name = "marked",
                .element = {{Scalar::u32, 1, "value"}, {Scalar::u32, 1, "mark"}},
                .combine =
                    "Value(a.value + b.value,\n"
                    "      a.mark == 0x600d600du && b.mark == 0x600d600du ? a.mark : 0xbadu)",
                .commutative = true},
               {5, 0}, {1, 2}, {1000, kMark},
               [](u32, u64 h, u32) {
                   return Item{static_cast<u32>(h), kMark};
               },
               [](Item x, u32) { return x; },
               [](Item a, Item b) {
                   return Item{a.value + b.value,
                               a.mark == kMark && b.mark == kMark ? kMark : 0xbad};
               },
               kSame)
        .with_wgsl({.combine = "Value(a.value + b.value, select(0xbadu, a.mark,\n"
                               "      a.mark == 0x600d600du && b.mark == 0x600d600du))"});
}

// One word in, three out.
inline CustomCase three_words() {
    return make_case<u32, u32, Vec<u32, 3>>(
        {.name = "three_words",
         .element = {{Scalar::u32, 1, {}}},
         .combine = "a + b",
         .commutative = true,
         .result = {{Scalar::u32, 2, "twice"}, {Scalar::u32, 1, "inverse"}},
         .store = "Result(vec2u(a, a * 2u), ~a)"},
        0x7fffffff, {11, 22, 33}, 1 << 20, [](u32, u64 h, u32) { return static_cast<u32>(h); },
        [](u32 x, u32) { return x; }, [](u32 a, u32 b) { return a + b; },
        [](u32 a) {
            return Vec<u32, 3>{a, a * 2, ~a};
        });
}

// Two signed bytes.
inline CustomCase byte_pair() {
    using Pair = Vec<i32, 2>;
    return make_case<Vec<i8, 2>, Pair, Pair>(
        {.name = "byte_pair",
         .element = {{Scalar::i8, 2, {}}},
         .load = "vec2i(x.x * 1000 + i32(index), x.y)",
         .combine = "vec2i(max(a.x, b.x), a.y + b.y)",
         .commutative = true},
        {127, -128}, {-1, -2}, {-100000, 7},
        [](u32, u64 h, u32) {
            return Vec<i8, 2>{static_cast<i8>(h), static_cast<i8>(h >> 8)};
        },
        [](Vec<i8, 2> x, u32 index) {
            return Pair{x[0] * 1000 + static_cast<i32>(index), x[1]};
        },
        [](Pair a, Pair b) {
            return Pair{std::max(a[0], b[0]), a[1] + b[1]};
        },
        kSame);
}

// A vector of three in a narrow type, then single bytes: 8 bytes.
inline CustomCase odd_fields() {
    struct Element {
        Vec<u16, 3> h;
        i8 c;
        u8 d;
    };
    static_assert(sizeof(Element) == 8);
    struct Value {
        Vec<u32, 3> h;
        i32 c;
        u32 d;
    };
    return make_case<Element, Value, Value>(
               {.name = "odd_fields",
                .element = {{Scalar::u16, 3, "h"}, {Scalar::i8, 1, "c"}, {Scalar::u8, 1, "d"}},
                .combine = "Value(a.h + b.h, a.c + b.c, b.d >= 128u ? b.d : a.d)"},
               {{65535, 65535, 65535}, -128, 255}, {{1, 2, 3}, -4, 5},
               {{~0u, 0, 70000}, -70000, 300},
               [](u32, u64 h, u32) {
                   return Element{
                       {static_cast<u16>(h), static_cast<u16>(h >> 16), static_cast<u16>(h >> 32)},
                       static_cast<i8>(h >> 48),
                       static_cast<u8>(h >> 56)};
               },
               [](const Element& x, u32) {
                   return Value{{x.h[0], x.h[1], x.h[2]}, x.c, x.d};
               },
               [](const Value& a, const Value& b) {
                   return Value{each(a.h, b.h, kPlus), a.c + b.c, b.d >= 128 ? b.d : a.d};
               },
               kSame)
        .with_wgsl({.combine = "Value(a.h + b.h, a.c + b.c, select(a.d, b.d, b.d >= 128u))"});
}

inline const std::vector<CustomCase>& all() {
    static const std::vector<CustomCase> cases{
        box(),       forces(),      matrix(),       farthest(),   affine(),     last_byte(),
        short_sum(), half_sum(),    bytes_hash(),   particle(),   widened(),    permutation(),
        largest(),   wide_affine(), wide_largest(), double_sum(), mixed_wide(), runs(),
        marked(),    three_words(), byte_pair(),    odd_fields()};
    return cases;
}

}  // namespace custom_cases

}  // namespace lanewise::test
