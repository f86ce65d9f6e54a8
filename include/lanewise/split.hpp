// split: items by buckets of a small key, in order, and where each bucket begins.
// primitives/split/split.md explains.
#pragma once

#include <cstdint>
#include <optional>

#include "lanewise/error.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/sort.hpp"

namespace lanewise {

struct SplitDesc {
    Scalar key = Scalar::u32;
    // Bytes of a value that travels with each key: 0 (none), 4, 8, 12 or 16.
    std::uint32_t value_bytes = 0;
    // The values are the numbers 0, 1, 2, ... of the items, as u32, and written beside the keys.
    // value_bytes stays 0.
    bool indices = false;
    // The bucket of an item: bits [begin_bit, end_bit) of its key, as SortDesc counts them; up to
    // 16 bits. Empty: all bits of the key, where it has so few.
    std::uint32_t begin_bit = 0;
    std::optional<std::uint32_t> end_bit;
    std::uint64_t max_count = 0;  // items, at most, of any use of the plan
    // Forced where set; impossible is an error that says what is missing.
    std::optional<Tier> tier;
    std::optional<Addressing> addressing;
    std::optional<SortPolicy> policy;  // of the passes that move; not one_workgroup, not bitonic
};

// Plans a multi-way split: a stable sort by a digit, with the digit's table for its user. Sorts
// work by kind, so that each subgroup does one kind of it.
//
// Buffers: input has the keys, output takes them; values and values_out likewise; offsets takes
// 2^bits + 1 numbers, u32: bucket b is items [offsets[b], offsets[b + 1]) of the output, and the
// last number is the count. No buffers may overlap.
//
// Errors: those of plan_sort; bad_argument (more than 16 bits, a policy that sorts in one
// workgroup).
Result<Plan> plan_split(const Caps& caps, const SplitDesc& desc);

// The policy that plan_split uses where desc.policy is not set.
SortPolicy split_policy(const Caps& caps, const SplitDesc& desc, Tier tier);

}  // namespace lanewise
