// Input of benchmarks: hashed, so that no two stretches are alike and nothing compresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "lanewise/operators.hpp"

namespace lanewise::bench {

// bench/peers/cub_timing.cuh has the same hash.
constexpr std::uint32_t hashed(std::uint32_t index) {
    std::uint32_t x = index * 2654435761u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    return x;
}

// Integers: hashed bits. Floats: in [-1, 1), spread evenly (f16: spread by exponent).
std::vector<std::byte> hashed_data(Scalar element, std::uint64_t count);

// 32-bit floats that are integers from 0 to 7, whose sums are exact up to 2^21 of them.
std::vector<float> small_integers(std::uint64_t count);

}  // namespace lanewise::bench
