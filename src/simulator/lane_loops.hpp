// Loops over lanes that handlers are made of. With all lanes running together the whole range is
// computed in one go, lanes that do not exist included: their values are never looked at.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "src/simulator/engine.hpp"

namespace lanewise::simulator::detail {

template <unsigned W>
constexpr std::uint64_t narrow(std::uint64_t x) {
    if constexpr (W == 8) return static_cast<std::uint8_t>(x);
    if constexpr (W == 16) return static_cast<std::uint16_t>(x);
    if constexpr (W == 32) return static_cast<std::uint32_t>(x);
    return x;
}

template <unsigned W>
constexpr std::int64_t widen(std::uint64_t x) {
    if constexpr (W == 8) return static_cast<std::int8_t>(x);
    if constexpr (W == 16) return static_cast<std::int16_t>(x);
    if constexpr (W == 32) return static_cast<std::int32_t>(x);
    return static_cast<std::int64_t>(x);
}

inline std::int64_t widen(std::uint64_t x, std::uint32_t width) {
    const unsigned shift = 64 - width;
    return static_cast<std::int64_t>(x << shift) >> shift;
}

float half_to_float(std::uint16_t bits);
std::uint16_t float_to_half(double value);  // rounds to nearest even

// Floats are computed in float or double and kept as bits.
template <unsigned W>
struct FloatOf;
template <>
struct FloatOf<16> {
    using type = float;
    static float load(std::uint64_t x) { return half_to_float(static_cast<std::uint16_t>(x)); }
    static std::uint64_t store(double x) { return float_to_half(x); }
};
template <>
struct FloatOf<32> {
    using type = float;
    static float load(std::uint64_t x) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(x));
    }
    static std::uint64_t store(float x) { return std::bit_cast<std::uint32_t>(x); }
};
template <>
struct FloatOf<64> {
    using type = double;
    static double load(std::uint64_t x) { return std::bit_cast<double>(x); }
    static std::uint64_t store(double x) { return std::bit_cast<std::uint64_t>(x); }
};

template <class F>
inline void each_slot(Context& c, const Code& k, F&& f) {
    const std::size_t lanes = c.lanes;
    if (c.all) {
        for (std::size_t i = 0; i < k.count * lanes; ++i) f(i);
    } else {
        for (std::size_t part = 0; part < k.count; ++part)
            for_each_lane(c.mask, [&](std::uint32_t lane) { f(part * lanes + lane); });
    }
}

// Lambdas without captures, given as template arguments, so that each handler is a plain function.
template <auto F>
void unary(Context& c, const Code& k) {
    const std::uint64_t* a = c.in(k.operand[0]);
    std::uint64_t* r = c.out(k.result);
    each_slot(c, k, [=](std::size_t i) { r[i] = F(a[i]); });
}

template <auto F>
void binary(Context& c, const Code& k) {
    const std::uint64_t* a = c.in(k.operand[0]);
    const std::uint64_t* b = c.in(k.operand[1]);
    std::uint64_t* r = c.out(k.result);
    each_slot(c, k, [=](std::size_t i) { r[i] = F(a[i], b[i]); });
}

template <auto F>
void ternary(Context& c, const Code& k) {
    const std::uint64_t* a = c.in(k.operand[0]);
    const std::uint64_t* b = c.in(k.operand[1]);
    const std::uint64_t* d = c.in(k.operand[2]);
    std::uint64_t* r = c.out(k.result);
    each_slot(c, k, [=](std::size_t i) { r[i] = F(a[i], b[i], d[i]); });
}

// Calls f(lane) for the running lanes.
template <class F>
inline void each_lane(Context& c, F&& f) {
    for_each_lane(c.mask, f);
}

}  // namespace lanewise::simulator::detail
