// segmented_sort: each of many segments in order of its own, stable.
// primitives/segmented_sort/segmented_sort.md explains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanewise/error.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/sort.hpp"

namespace lanewise {

// The tunables of a plan. segmented_sort_policy() chooses; a caller may pass its own.
struct SegmentedSortPolicy {
    std::uint32_t workgroup_size = 256;  // W: a power of two, 4 to 1024
    std::uint32_t items = 8;             // keys of each invocation and tile: 2 to 32, even
    std::uint32_t digit_bits = 8;        // of a round: 1 to 8; in the tier barrier 1 to 4
    std::uint32_t max_groups = 1024;     // workgroups of one dispatch

    bool operator==(const SegmentedSortPolicy&) const = default;
};

struct SegmentedSortDesc {
    Scalar key = Scalar::u32;
    // Bytes of a value that travels with each key: 0 (none), 4, 8, 12 or 16.
    std::uint32_t value_bytes = 0;
    // As of SortDesc: only values_out is written, with where in the input each key stood.
    bool argsort = false;
    SortOrder order = SortOrder::ascending;
    std::uint32_t begin_bit = 0;           // as of SortDesc
    std::optional<std::uint32_t> end_bit;  // likewise
    std::uint64_t max_count = 0;           // items, at most, of any use of the plan
    // Forced where set; impossible is an error that says what is missing.
    std::optional<Tier> tier;
    std::optional<Addressing> addressing;
    std::optional<SegmentedSortPolicy> policy;
};

// Plans a sort of segments.
//
// Buffers: input, output, values and values_out as of plan_sort; and offsets, which is read: u32
// numbers that do not descend, segment s being items [offsets[s], offsets[s + 1]). The range that
// is bound says how many there are: one segment fewer than it has numbers, so that one plan serves
// any number of segments. Segments may be empty. Items before the first offset and from the last on
// go where they stood. What passes the count counts as the count; of offsets that descend the
// result is some order of the input's items or of fewer, and no memory outside the buffers is
// touched.
//
// Built for many small segments: those that fit a tile together are sorted at once, in one
// reading. A segment above W * items keys is sorted by one workgroup through memory: right, and
// slow.
//
// Order and errors: as of plan_sort; but keys alone take 5 storage buffers at a time, values 8.
Result<Plan> plan_segmented_sort(const Caps& caps, const SegmentedSortDesc& desc);

// The policy that plan_segmented_sort uses where desc.policy is not set.
SegmentedSortPolicy segmented_sort_policy(const Caps& caps, const SegmentedSortDesc& desc,
                                          Tier tier);

std::string to_text(const SegmentedSortPolicy& policy);

}  // namespace lanewise
