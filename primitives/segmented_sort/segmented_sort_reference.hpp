// segmented_sort, computed serially on the CPU: what every tier and API must answer. Used by the
// tests and by `--verify`, so it stands on the public headers and the reference of sort alone.
//
//   segmented_sort_reference(desc, keys, values, offsets)     keys and values in order
//   segmented_sort_matches(desc, keys, values, ...)           whether a device's answer is right
//
// Offsets that descend are taken pair by pair, so that nothing outside the items is touched; a
// device may answer otherwise then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/segmented_sort.hpp"
#include "primitives/sort/sort_reference.hpp"

namespace lanewise {

// The sort of each segment.
inline SortDesc segmented_sort_sort(const SegmentedSortDesc& desc) {
    SortDesc sort;
    sort.key = desc.key;
    sort.value_bytes = desc.value_bytes;
    sort.argsort = desc.argsort;
    sort.order = desc.order;
    sort.begin_bit = desc.begin_bit;
    sort.end_bit = desc.end_bit;
    return sort;
}

// The order of the whole keys in `keys`, as indices. Precondition: fewer than 2^32 of them.
inline std::vector<std::uint32_t> segmented_sort_order(const SegmentedSortDesc& desc,
                                                       std::span<const std::byte> keys,
                                                       std::span<const std::uint32_t> offsets) {
    const SortDesc sort = segmented_sort_sort(desc);
    const std::size_t size = size_of(desc.key);
    const std::size_t count = keys.size() / size;
    std::vector<std::uint64_t> parts(count);
    for (std::size_t i = 0; i < count; ++i)
        parts[i] = sort_part(sort, sort_reference_detail::bits_at(keys, size, i));
    std::vector<std::uint32_t> order(count);
    std::iota(order.begin(), order.end(), 0u);
    const auto part_of = [&](std::uint32_t i) { return parts[i]; };
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        const std::size_t begin = std::min<std::size_t>(offsets[s], count);
        const std::size_t end = std::clamp<std::size_t>(offsets[s + 1], begin, count);
        const auto segment = std::span(order).subspan(begin, end - begin);
        if (desc.order == SortOrder::ascending) {
            std::ranges::stable_sort(segment, std::less(), part_of);
        } else {
            std::ranges::stable_sort(segment, std::greater(), part_of);
        }
    }
    return order;
}

// Precondition: plan_segmented_sort accepts desc on some device; as many values as keys.
inline Sorted segmented_sort_reference(const SegmentedSortDesc& desc,
                                       std::span<const std::byte> keys,
                                       std::span<const std::byte> values,
                                       std::span<const std::uint32_t> offsets) {
    namespace detail = sort_reference_detail;
    const std::vector<std::uint32_t> order = segmented_sort_order(desc, keys, offsets);
    if (desc.argsort) {
        const auto bytes = std::as_bytes(std::span(order));
        return {{}, {bytes.begin(), bytes.end()}};
    }
    return {detail::gather(keys, size_of(desc.key), order),
            detail::gather(values, desc.value_bytes, order)};
}

// Whether that is what `keys` and `values` are with each segment in order; if not, `why` (may be
// null) gets one line that says where it first differs.
inline bool segmented_sort_matches(const SegmentedSortDesc& desc, std::span<const std::byte> keys,
                                   std::span<const std::byte> values,
                                   std::span<const std::uint32_t> offsets,
                                   std::span<const std::byte> keys_out,
                                   std::span<const std::byte> values_out,
                                   std::string* why = nullptr) {
    namespace detail = sort_reference_detail;
    const Sorted expected = segmented_sort_reference(desc, keys, values, offsets);
    std::string difference =
        detail::first_difference("key", size_of(desc.key), expected.keys, keys_out);
    if (difference.empty()) {
        const std::size_t size = desc.argsort ? 4 : std::max(1u, desc.value_bytes);
        difference = detail::first_difference(desc.argsort ? "index" : "value", size,
                                              expected.values, values_out);
    }
    if (difference.empty()) return true;
    if (why != nullptr) *why = std::move(difference);
    return false;
}

}  // namespace lanewise
