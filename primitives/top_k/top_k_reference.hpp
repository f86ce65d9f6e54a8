// top_k, computed serially on the CPU: what every tier, strategy and API must answer. Used by the
// tests and by `--verify`, so it stands on the public headers alone.
//
//   top_k_reference(desc, keys, values)     the first k of the stable sort, with values or indices
//   top_k_matches(desc, keys, values, ...)  whether a device's answer is right: bit for bit
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanewise/top_k.hpp"
#include "primitives/sort/sort_reference.hpp"

namespace lanewise {

inline std::uint32_t top_k_value_bytes(const TopKDesc& desc) {
    return desc.indices ? 4 : desc.value_bytes;
}

// Precondition: plan_top_k accepts desc on some device; as many values as keys.
inline Sorted top_k_reference(const TopKDesc& desc, std::span<const std::byte> keys,
                              std::span<const std::byte> values = {}) {
    namespace detail = sort_reference_detail;
    std::vector<std::uint32_t> order = sort_order({.key = desc.key, .order = desc.order}, keys);
    order.resize(static_cast<std::size_t>(std::min<std::uint64_t>(order.size(), desc.k)));
    Sorted first{detail::gather(keys, size_of(desc.key), order), {}};
    if (desc.indices) {
        const auto bytes = std::as_bytes(std::span(order));
        first.values.assign(bytes.begin(), bytes.end());
    } else {
        first.values = detail::gather(values, desc.value_bytes, order);
    }
    return first;
}

// Whether that is so; if not, `why` (may be null) gets one line that says where it first differs.
inline bool top_k_matches(const TopKDesc& desc, std::span<const std::byte> keys,
                          std::span<const std::byte> values, std::span<const std::byte> keys_out,
                          std::span<const std::byte> values_out, std::string* why = nullptr) {
    namespace detail = sort_reference_detail;
    const Sorted expected = top_k_reference(desc, keys, values);
    std::string difference =
        detail::first_difference("key", size_of(desc.key), expected.keys, keys_out);
    if (difference.empty()) {
        difference = detail::first_difference(desc.indices ? "index" : "value",
                                              std::max(1u, top_k_value_bytes(desc)),
                                              expected.values, values_out);
    }
    if (difference.empty()) return true;
    if (why != nullptr) *why = std::move(difference);
    return false;
}

}  // namespace lanewise
