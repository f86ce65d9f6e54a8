#include "bench/data.hpp"

#include <cstring>

namespace lanewise::bench {
namespace {

std::uint64_t hashed_64(std::uint64_t index) {
    const auto low = static_cast<std::uint32_t>(index);
    return std::uint64_t{hashed(low)} << 32 | hashed(low ^ 0x9e3779b9u);
}

template <class T, class Make>
std::vector<std::byte> filled(std::uint64_t count, Make make) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count * sizeof(T)));
    for (std::uint64_t i = 0; i < count; ++i) {
        const T value = make(i);
        std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
    }
    return bytes;
}

// Sign and fraction from the hash; exponents from the smallest normal to just below 1.
std::uint16_t hashed_half(std::uint64_t index) {
    constexpr std::uint32_t kExponents = 14;
    const std::uint32_t bits = hashed(static_cast<std::uint32_t>(index));
    const std::uint32_t exponent = 1 + (bits >> 16) % kExponents;
    return static_cast<std::uint16_t>((bits & 0x83ffu) | exponent << 10);
}

float hashed_float(std::uint64_t index) {
    const auto bits = static_cast<std::int32_t>(hashed(static_cast<std::uint32_t>(index)));
    return static_cast<float>(bits >> 8) * 0x1p-23f;
}

double hashed_double(std::uint64_t index) {
    const auto bits = static_cast<std::int64_t>(hashed_64(index));
    return static_cast<double>(bits >> 11) * 0x1p-52;
}

}  // namespace

std::vector<std::byte> hashed_data(Scalar element, std::uint64_t count) {
    switch (element) {
        case Scalar::f16: return filled<std::uint16_t>(count, hashed_half);
        case Scalar::f32: return filled<float>(count, hashed_float);
        case Scalar::f64: return filled<double>(count, hashed_double);
        case Scalar::u64:
        case Scalar::i64: return filled<std::uint64_t>(count, hashed_64);
        case Scalar::u32:
        case Scalar::i32:
            return filled<std::uint32_t>(
                count, [](std::uint64_t i) { return hashed(static_cast<std::uint32_t>(i)); });
        case Scalar::u16:
        case Scalar::i16:
            return filled<std::uint16_t>(count, [](std::uint64_t i) {
                return static_cast<std::uint16_t>(hashed(static_cast<std::uint32_t>(i)));
            });
        case Scalar::u8:
        case Scalar::i8: break;
    }
    return filled<std::uint8_t>(count, [](std::uint64_t i) {
        return static_cast<std::uint8_t>(hashed(static_cast<std::uint32_t>(i)));
    });
}

std::vector<float> small_integers(std::uint64_t count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<float>(hashed(static_cast<std::uint32_t>(i)) & 7u);
    }
    return values;
}

}  // namespace lanewise::bench
