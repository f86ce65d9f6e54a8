// What kernels/tile/look_back.glsl keeps in the state of a binding.
#pragma once

#include <cstdint>

namespace lanewise::detail {

// Before the words of the tiles.
inline constexpr std::uint32_t kLookBackHeaderBytes = 32;

// Epochs that fit beside a flag: in a word of its own (64-bit atomics), or beside half a value.
constexpr std::uint32_t most_look_back_epochs(bool atomic64) {
    return (atomic64 ? 1u << 30 : 1u << 14) - 1;
}

}  // namespace lanewise::detail
