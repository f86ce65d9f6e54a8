// histogram on the host, sample by sample, as lanewise/histogram.hpp defines it: what tests, the
// tool and benchmarks believe.
#pragma once

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

#include "lanewise/histogram.hpp"

namespace lanewise {
namespace histogram_reference_detail {

inline double value_of(Scalar scalar, std::uint32_t bits) {
    switch (scalar) {
        case Scalar::i8: return static_cast<std::int8_t>(bits);
        case Scalar::i16: return static_cast<std::int16_t>(bits);
        case Scalar::i32: return static_cast<std::int32_t>(bits);
        case Scalar::f32: return std::bit_cast<float>(bits);
        case Scalar::f16: break;
        default: return bits;
    }
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const double fraction = bits & 1023;
    const double magnitude = exponent == 0   ? std::ldexp(fraction, -24)
                             : exponent < 31 ? std::ldexp(1024 + fraction, exponent - 25)
                             : fraction == 0 ? std::numeric_limits<double>::infinity()
                                             : std::numeric_limits<double>::quiet_NaN();
    return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

// In whole numbers of units; integers are their own.
struct Range {
    double lower = 0.0, upper = 0.0;
    int unit = 0;  // 2^unit
    std::int64_t first = 0, width = 0;

    static Range of(const HistogramDesc& desc) {
        Range range;
        const double values = std::exp2(8.0 * size_of(desc.sample));
        range.upper = is_signed_integer(desc.sample) ? values / 2 : values;
        range.lower = range.upper - values;
        if (desc.range) {
            range.lower = desc.range->lower;
            range.upper = desc.range->upper;
        }
        if (is_float(desc.sample)) {
            // Volatile: else GCC 12 may leave roundings out.
            const volatile float lower = static_cast<float>(range.lower);
            const volatile float upper = static_cast<float>(range.upper);
            range.lower = lower;
            range.upper = upper;
            range.unit = 128;
            while (range.width_in(range.unit - 1) <= 2147483648.0) --range.unit;
        }
        range.first = range.floor_in_units(range.lower);
        range.width = static_cast<std::int64_t>(range.width_in(range.unit));
        return range;
    }
    double width_in(int exponent) const {
        return std::ceil(std::ldexp(upper, -exponent)) - std::floor(std::ldexp(lower, -exponent));
    }
    std::int64_t floor_in_units(double x) const {
        return static_cast<std::int64_t>(std::floor(std::ldexp(x, -unit)));
    }
    std::optional<std::uint32_t> bin_of(double x, std::uint32_t bins) const {
        if (!(x >= lower && x < upper)) return std::nullopt;
        return static_cast<std::uint32_t>((floor_in_units(x) - first) * bins / width);
    }
};

inline std::uint32_t bits_at(std::span<const std::byte> samples, std::size_t size, std::size_t i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, samples.data() + i * size, size);
    return bits;
}

}  // namespace histogram_reference_detail

// The counts, channel after channel. Precondition: whole items, of a descriptor that can be
// planned.
inline std::vector<std::uint32_t> histogram_reference(const HistogramDesc& desc,
                                                      std::span<const std::byte> samples) {
    using namespace histogram_reference_detail;
    const Range range = Range::of(desc);
    const std::size_t size = size_of(desc.sample);
    const auto bin_of = [&](std::uint32_t bits) {
        return range.bin_of(value_of(desc.sample, bits), desc.bins);
    };
    // Of narrow samples there are few.
    std::vector<std::optional<std::uint32_t>> bins;
    if (size < 4) {
        for (std::uint32_t bits = 0; bits < 1u << (8 * size); ++bits) bins.push_back(bin_of(bits));
    }
    std::vector<std::uint32_t> counts(std::size_t{desc.channels} * desc.bins);
    for (std::size_t i = 0; i < samples.size() / size; ++i) {
        const std::uint32_t bits = bits_at(samples, size, i);
        const auto bin = size < 4 ? bins[bits] : bin_of(bits);
        if (bin) ++counts[i % desc.channels * desc.bins + *bin];
    }
    return counts;
}

// If not, `why` says which count is another.
inline bool histogram_matches(const HistogramDesc& desc, std::span<const std::byte> samples,
                              std::span<const std::uint32_t> counts, std::string* why = nullptr) {
    const std::vector<std::uint32_t> expected = histogram_reference(desc, samples);
    const auto say = [&](std::string what) {
        if (why != nullptr) *why = std::move(what);
        return false;
    };
    if (counts.size() != expected.size()) {
        return say(std::to_string(counts.size()) + " counts, not " +
                   std::to_string(expected.size()));
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (counts[i] == expected[i]) continue;
        return say("bin " + std::to_string(i % desc.bins) + " of channel " +
                   std::to_string(i / desc.bins) + " has " + std::to_string(counts[i]) + ", not " +
                   std::to_string(expected[i]));
    }
    return true;
}

}  // namespace lanewise
