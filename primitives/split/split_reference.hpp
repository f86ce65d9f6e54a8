// split, computed serially on the CPU: what every tier, strategy and API must answer. Used by the
// tests and by `--verify`, so it stands on the public headers and the reference of sort alone.
//
//   split_reference(desc, keys, values)             keys and values by buckets, and the offsets
//   split_matches(desc, keys, values, ...)          whether a device's answer is right: bit for bit
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/split.hpp"
#include "primitives/sort/sort_reference.hpp"

namespace lanewise {

struct SplitItems {
    std::vector<std::byte> keys;
    std::vector<std::byte> values;       // or the indices, as u32
    std::vector<std::uint32_t> offsets;  // 2^bits + 1
};

// The stable sort that it is.
inline SortDesc split_sort(const SplitDesc& desc) {
    SortDesc sort;
    sort.key = desc.key;
    sort.value_bytes = desc.value_bytes;
    sort.begin_bit = desc.begin_bit;
    sort.end_bit = desc.end_bit;
    return sort;
}

inline std::uint64_t split_buckets(const SplitDesc& desc) {
    const std::uint32_t end = desc.end_bit.value_or(size_of(desc.key) * 8);
    return std::uint64_t{1} << (end - desc.begin_bit);
}

// Precondition: plan_split accepts desc on some device; as many values as keys.
inline SplitItems split_reference(const SplitDesc& desc, std::span<const std::byte> keys,
                                  std::span<const std::byte> values = {}) {
    namespace detail = sort_reference_detail;
    const SortDesc sort = split_sort(desc);
    const std::size_t size = size_of(desc.key);
    const std::vector<std::uint32_t> order = sort_order(sort, keys);
    SplitItems items{detail::gather(keys, size, order),
                     detail::gather(values, desc.value_bytes, order),
                     std::vector<std::uint32_t>(split_buckets(desc) + 1)};
    if (desc.indices) {
        const auto bytes = std::as_bytes(std::span(order));
        items.values.assign(bytes.begin(), bytes.end());
    }
    for (std::size_t i = 0; i < order.size(); ++i)
        ++items.offsets[sort_part(sort, detail::bits_at(keys, size, i)) + 1];
    for (std::size_t bucket = 1; bucket < items.offsets.size(); ++bucket)
        items.offsets[bucket] += items.offsets[bucket - 1];
    return items;
}

// Whether that is what the split of `keys` and `values` gives; if not, `why` (may be null) gets one
// line that says where it first differs.
inline bool split_matches(const SplitDesc& desc, std::span<const std::byte> keys,
                          std::span<const std::byte> values, const SplitItems& made,
                          std::string* why = nullptr) {
    namespace detail = sort_reference_detail;
    const SplitItems expected = split_reference(desc, keys, values);
    std::string difference =
        detail::first_difference("key", size_of(desc.key), expected.keys, made.keys);
    if (difference.empty()) {
        const std::size_t size = desc.indices ? 4 : std::max(1u, desc.value_bytes);
        difference = detail::first_difference(desc.indices ? "index" : "value", size,
                                              expected.values, made.values);
    }
    if (difference.empty()) {
        difference =
            detail::first_difference("offset", 4, std::as_bytes(std::span(expected.offsets)),
                                     std::as_bytes(std::span(made.offsets)));
    }
    if (difference.empty()) return true;
    if (why != nullptr) *why = std::move(difference);
    return false;
}

}  // namespace lanewise
