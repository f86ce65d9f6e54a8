// Tables of policies by the bytes of an input.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lanewise::detail {

// The policy for `count` items of `item_bytes` each: that of the first row whose max_bytes they do
// not pass. The last row's bound is the largest number, so there is one. Saturating: a count whose
// bytes pass 2^64 is refused elsewhere.
template <class Rows>
auto policy_for_bytes(const Rows& rows, std::uint64_t count, std::uint64_t item_bytes) {
    constexpr std::uint64_t kMost = ~std::uint64_t{0};
    const std::uint64_t bytes = count > kMost / item_bytes ? kMost : count * item_bytes;
    return std::ranges::find_if(rows, [&](const auto& row) { return bytes <= row.max_bytes; })
        ->policy;
}

}  // namespace lanewise::detail
