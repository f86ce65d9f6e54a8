// Integer helpers of the planners; all in 64 bits and free of overflow for the values they meet.
#pragma once

#include <cstdint>

namespace lanewise::detail {

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
    return a / b + (a % b != 0 ? 1 : 0);
}

constexpr std::uint64_t round_up(std::uint64_t a, std::uint64_t multiple) {
    return divide_up(a, multiple) * multiple;
}

constexpr std::uint32_t saturate32(std::uint64_t a) {
    return a > 0xffffffffu ? 0xffffffffu : static_cast<std::uint32_t>(a);
}

}  // namespace lanewise::detail
