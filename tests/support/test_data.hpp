// Inputs for reductions, hashed from a seed: no two runs alike, and no wrong handling of an element
// that leaves the answer as it was.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "lanewise/operators.hpp"
#include "lanewise/reduce.hpp"

namespace lanewise::test {

// A 64-bit mixer (splitmix64's finaliser): each output bit depends on each input bit.
inline std::uint64_t hash(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}
inline std::uint64_t hash(std::uint64_t seed, std::uint64_t index) {
    return hash(hash(seed) ^ index);
}

enum class FloatData {
    exact,    // sums and products have no rounding in any order
    rounded,  // they do
    special,  // any bit pattern for min and max: NaN, infinities, denormals, both zeros
};

// The bits of `value`, which is representable, in an element type.
inline std::uint64_t float_bits(Scalar element, double value) {
    if (element == Scalar::f64) return std::bit_cast<std::uint64_t>(value);
    if (element == Scalar::f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    // f16: normal numbers and zero only.
    if (value == 0.0) return std::signbit(value) ? 0x8000u : 0u;
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);  // in [1/2, 1)
    const auto digits = static_cast<std::uint64_t>(std::ldexp(fraction, 11));
    return (std::signbit(value) ? 0x8000u : 0u) | static_cast<std::uint64_t>(exponent + 14) << 10 |
           (digits & 0x3ff);
}

inline std::uint64_t nan_bits(Scalar element) {
    if (element == Scalar::f64) return 0x7ff8000000000000u;
    return element == Scalar::f32 ? 0x7fc00000u : 0x7e00u;
}
inline std::uint64_t infinity_bits(Scalar element, bool negative) {
    if (element == Scalar::f64) return negative ? 0xfff0000000000000u : 0x7ff0000000000000u;
    if (element == Scalar::f32) return negative ? 0xff800000u : 0x7f800000u;
    return negative ? 0xfc00u : 0x7c00u;
}

// Elements by their bits.
class Elements {
public:
    Elements(Scalar element, std::size_t count)
        : element_(element), bytes_(count * size_of(element)) {}

    Scalar element() const { return element_; }
    std::size_t count() const { return bytes_.size() / size_of(element_); }
    const std::vector<std::byte>& bytes() const { return bytes_; }
    void set(std::size_t index, std::uint64_t bits) {
        const std::size_t size = size_of(element_);
        std::memcpy(bytes_.data() + index * size, &bits, size);  // little-endian: the low bytes
    }
    std::uint64_t get(std::size_t index) const {
        std::uint64_t bits = 0;
        std::memcpy(&bits, bytes_.data() + index * size_of(element_), size_of(element_));
        return bits;
    }
    void fill(std::uint64_t bits) {
        for (std::size_t i = 0; i < count(); ++i) set(i, bits);
    }

private:
    Scalar element_;
    std::vector<std::byte> bytes_;
};

// Data whose reduction by `op` depends on every element's being taken exactly once.
inline Elements make_elements(Scalar element, Operator op, std::size_t count, std::uint64_t seed,
                              FloatData floats = FloatData::exact) {
    Elements data(element, count);
    const int bits = static_cast<int>(size_of(element)) * 8;
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const bool is_extreme = op == Operator::min || op == Operator::max || is_arg(op);
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t h = hash(seed, i);
        std::uint64_t value = h & mask;
        if (is_float(element)) {
            if (is_extreme) {
                if (floats == FloatData::special) {
                    value = h & mask;  // NaN now and then: one exponent of 32 in f16
                    if ((h >> 40) % 8 == 0) value = nan_bits(element) | ((h >> 50) & 7);
                    if ((h >> 40) % 8 == 1)
                        value = (h >> 50) & 1 ? 0 : std::uint64_t{1} << (bits - 1);
                } else {
                    // Few distinct values, so that ties are common.
                    value = float_bits(element, static_cast<double>(h % 64) - 32.0);
                }
            } else if (op == Operator::sum) {
                const double small = static_cast<double>(h % 31) - 15.0;
                if (floats == FloatData::exact) {
                    value = float_bits(element, small);
                } else if (element == Scalar::f16) {
                    value = float_bits(element, static_cast<double>((h >> 20) % 1024 + 1024) *
                                                    0x1p-11 * (small < 0 ? -1.0 : 1.0) *
                                                    std::ldexp(1.0, static_cast<int>(h % 8)));
                } else {
                    value = float_bits(element, std::ldexp(static_cast<double>(h >> 11),
                                                           -53 + static_cast<int>(h % 8)) *
                                                    (small < -5 ? -1.0 : 1.0));
                }
            } else {
                // Products: factors near 1 in magnitude; doublings and halvings alternate, so that
                // no partial product of neighbours leaves the range.
                const double sign = (h & 1) != 0 ? -1.0 : 1.0;
                double factor = 1.0;
                if (floats == FloatData::exact) {
                    if (hash(seed ^ 7, i / 2) % 3 == 0) factor = i % 2 == 0 ? 2.0 : 0.5;
                } else {
                    factor =
                        1.0 + static_cast<double>(static_cast<std::int64_t>(h % 3) - 1) * 0x1p-10;
                }
                value = float_bits(element, sign * factor);
            }
        } else {
            switch (op) {
                case Operator::product:
                    value |= 1;
                    break;  // odd: no factor makes all others invisible
                case Operator::bit_and:
                    // All ones but for an element here and there, which clears a bit.
                    value = (h >> 8) % (count / 16 + 1) == 0
                                ? mask & ~(std::uint64_t{1} << (h % 64) % bits)
                                : mask;
                    break;
                case Operator::bit_or:
                    value =
                        (h >> 8) % (count / 16 + 1) == 0 ? std::uint64_t{1} << (h % 64) % bits : 0;
                    break;
                case Operator::min:
                case Operator::max:
                case Operator::argmin:
                case Operator::argmax:
                    // Ties in two runs of three, the type's full range in the third.
                    if (seed % 3 != 0) value = (h % 61 + (std::uint64_t{1} << (bits - 2))) & mask;
                    break;
                default: break;
            }
        }
        data.set(i, value);
    }
    return data;
}

// Bits that spoil the result when an element past the end is taken in.
inline std::uint64_t hostile_bits(Scalar element, Operator op, std::uint64_t index) {
    const int bits = static_cast<int>(size_of(element)) * 8;
    const std::uint64_t mask = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    const std::uint64_t top = std::uint64_t{1} << (bits - 1);
    const bool floating = is_float(element);
    const bool smallest = op == Operator::min || op == Operator::argmin;
    switch (op) {
        case Operator::min:
        case Operator::max:
        case Operator::argmin:
        case Operator::argmax:
            if (floating) return infinity_bits(element, smallest);
            if (is_signed_integer(element)) return smallest ? top : top - 1;
            return smallest ? 0 : mask;
        case Operator::bit_and: return 0;
        case Operator::bit_or: return mask;
        case Operator::product: return floating ? nan_bits(element) : 6;
        default: return floating ? nan_bits(element) : (hash(0xdead, index) | 1) & mask;
    }
}

}  // namespace lanewise::test
