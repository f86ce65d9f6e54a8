// segmented_reduce, computed serially on the CPU: what every tier and API must answer. Used by the
// tests and by `--verify`, so it stands on the public headers and the reference of reduce alone.
//
//   segmented_reduce_reference(desc, data, offsets)          a result for each segment
//   segmented_reduce_matches(desc, data, offsets, results)   whether a device's results are right
//
// Results are right where those of reduce are, segment by segment (reduce_reference.hpp); the bound
// of float sums has the longest chain of additions that any plan may have, which is no longer than
// the segment. Offsets that descend are taken pair by pair; a device may answer otherwise then.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/segmented_reduce.hpp"
#include "primitives/reduce/reduce_reference.hpp"

namespace lanewise {

// The reduction of each segment.
inline ReduceDesc segmented_reduce_reduce(const SegmentedReduceDesc& desc) {
    ReduceDesc reduce;
    reduce.element = desc.element;
    reduce.op = desc.op;
    reduce.accumulator = desc.accumulator;
    reduce.max_count = desc.max_count;
    return reduce;
}

namespace segmented_reduce_reference_detail {

// First item and end of a segment.
inline std::pair<std::size_t, std::size_t> segment_at(std::span<const std::uint32_t> offsets,
                                                      std::size_t segment, std::size_t count) {
    const std::size_t begin = std::min<std::size_t>(offsets[segment], count);
    return {begin, std::clamp<std::size_t>(offsets[segment + 1], begin, count)};
}

// The result with its index, if it has one that is of an item, `by` further on.
inline void move_index(const ReduceDesc& desc, std::span<std::byte> result, std::uint64_t by) {
    if (!is_arg(desc.op)) return;
    const std::uint32_t bytes = reduce_index_bytes(desc);
    std::uint64_t index = 0;
    std::memcpy(&index, result.data() + bytes, bytes);
    const std::uint64_t none = bytes == 8 ? ~std::uint64_t{0} : ~0u;
    if (index == none) return;
    index += by;
    std::memcpy(result.data() + bytes, &index, bytes);
}

// Additions that an element of a segment of `length` items goes through, at most: a tile has at
// least 32 items, in whose tree there are less than 64 levels and items of a vector; workgroups
// have trees of their own.
inline std::uint64_t depth(std::uint64_t length) {
    return std::max<std::uint64_t>(1, std::min(length, length / 32 + 128));
}

}  // namespace segmented_reduce_reference_detail

// segmented_reduce_result_bytes for each segment. Precondition: plan_segmented_reduce accepts desc
// on some device.
inline std::vector<std::byte> segmented_reduce_reference(const SegmentedReduceDesc& desc,
                                                         std::span<const std::byte> data,
                                                         std::span<const std::uint32_t> offsets) {
    namespace detail = segmented_reduce_reference_detail;
    const ReduceDesc reduce = segmented_reduce_reduce(desc);
    const std::size_t size = size_of(desc.element);
    std::vector<std::byte> results;
    for (std::size_t s = 0; s + 1 < offsets.size(); ++s) {
        const auto [begin, end] = detail::segment_at(offsets, s, data.size() / size);
        std::vector<std::byte> result =
            reduce_reference(data.subspan(begin * size, (end - begin) * size), reduce);
        detail::move_index(reduce, result, begin);
        results.insert(results.end(), result.begin(), result.end());
    }
    return results;
}

// Whether `results` has a right result for each segment; if not, `why` (may be null) gets one line
// that says what was expected of the first that has none.
inline bool segmented_reduce_matches(const SegmentedReduceDesc& desc,
                                     std::span<const std::byte> data,
                                     std::span<const std::uint32_t> offsets,
                                     std::span<const std::byte> results,
                                     std::string* why = nullptr) {
    namespace detail = segmented_reduce_reference_detail;
    const ReduceDesc reduce = segmented_reduce_reduce(desc);
    const std::size_t size = size_of(desc.element);
    const std::size_t result_bytes = segmented_reduce_result_bytes(desc);
    const std::size_t segments = offsets.empty() ? 0 : offsets.size() - 1;
    if (results.size() != segments * result_bytes) {
        if (why != nullptr) {
            *why = std::to_string(results.size()) + " bytes of results, not " +
                   std::to_string(segments * result_bytes);
        }
        return false;
    }
    for (std::size_t s = 0; s < segments; ++s) {
        const auto [begin, end] = detail::segment_at(offsets, s, data.size() / size);
        const auto given = results.subspan(s * result_bytes, result_bytes);
        std::vector<std::byte> result(given.begin(), given.end());
        detail::move_index(reduce, result, ~std::uint64_t{begin} + 1);
        if (reduce_matches(reduce, data.subspan(begin * size, (end - begin) * size), result, why,
                           detail::depth(end - begin)))
            continue;
        if (why != nullptr) {
            *why = "segment " + std::to_string(s) + ", items " + std::to_string(begin) + " to " +
                   std::to_string(end) + (is_arg(desc.op) ? " (as if from 0)" : "") + ": " + *why;
        }
        return false;
    }
    return true;
}

}  // namespace lanewise
