// A set of lanes of one subgroup: up to 128.
#pragma once

#include <bit>
#include <cstdint>

namespace lanewise::simulator::detail {

inline constexpr std::uint32_t kMaxLanes = 128;

struct LaneMask {
    std::uint64_t low = 0;
    std::uint64_t high = 0;

    static constexpr LaneMask first(std::uint32_t n) {
        const auto word = [](std::uint32_t bits) {
            return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
        };
        return {word(n), n > 64 ? word(n - 64) : 0};
    }
    static constexpr LaneMask one(std::uint32_t lane) {
        return lane < 64 ? LaneMask{std::uint64_t{1} << lane, 0}
                         : LaneMask{0, std::uint64_t{1} << (lane - 64)};
    }

    constexpr bool has(std::uint32_t lane) const {
        return lane < 64 ? ((low >> lane) & 1) != 0
                         : lane < 128 && ((high >> (lane - 64)) & 1) != 0;
    }
    constexpr bool any() const { return (low | high) != 0; }
    constexpr std::uint32_t count() const {
        return static_cast<std::uint32_t>(std::popcount(low) + std::popcount(high));
    }
    // Precondition: any().
    constexpr std::uint32_t lowest() const {
        return static_cast<std::uint32_t>(low != 0 ? std::countr_zero(low)
                                                   : 64 + std::countr_zero(high));
    }
    constexpr std::uint32_t highest() const {
        return static_cast<std::uint32_t>(high != 0 ? 127 - std::countl_zero(high)
                                                    : 63 - std::countl_zero(low));
    }
    void set(std::uint32_t lane) { *this = *this | one(lane); }

    friend constexpr LaneMask operator|(LaneMask a, LaneMask b) {
        return {a.low | b.low, a.high | b.high};
    }
    friend constexpr LaneMask operator&(LaneMask a, LaneMask b) {
        return {a.low & b.low, a.high & b.high};
    }
    friend constexpr LaneMask operator-(LaneMask a, LaneMask b) {
        return {a.low & ~b.low, a.high & ~b.high};
    }
    constexpr bool operator==(const LaneMask&) const = default;
};

template <class F>
inline void for_each_lane(LaneMask mask, F&& f) {
    for (std::uint64_t bits = mask.low; bits != 0; bits &= bits - 1)
        f(static_cast<std::uint32_t>(std::countr_zero(bits)));
    for (std::uint64_t bits = mask.high; bits != 0; bits &= bits - 1)
        f(static_cast<std::uint32_t>(64 + std::countr_zero(bits)));
}

}  // namespace lanewise::simulator::detail
