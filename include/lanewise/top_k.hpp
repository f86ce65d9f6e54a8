// top_k: the first k keys in order, pairs or indices. primitives/top_k/top_k.md explains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanewise/error.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/sort.hpp"

namespace lanewise {

enum class TopKStrategy : std::uint8_t {
    // A sort of all items in one workgroup, of which the first k are written.
    one_workgroup,
    // For each digit from the highest top_k_counts and top_k_digit: the k-th key. Then top_k_sums,
    // top_k_offsets and top_k_gather: the keys that come before it, and as many of its equals as
    // are wanted, in order of their items; and a sort of those.
    select,
};

// The tunables of a plan. top_k_policy() chooses; a caller may pass its own.
struct TopKPolicy {
    TopKStrategy strategy = TopKStrategy::select;
    // Of the selection.
    std::uint32_t workgroup_size = 256;  // W: a power of two, 4 to 1024
    std::uint32_t items = 8;             // keys of each invocation and tile: 1 to 32
    std::uint32_t digit_bits = 8;        // of a round: 1 to 11
    std::uint32_t max_groups = 1024;     // workgroups of one dispatch
    // How all items are sorted, or the k: by one_workgroup or bitonic, where that holds them; the k
    // also by count_then_scatter with the selection's W, items and max_groups.
    SortPolicy sort;

    bool operator==(const TopKPolicy&) const = default;
};

struct TopKDesc {
    Scalar key = Scalar::u32;
    std::uint64_t k = 1;
    // Which come first: the largest keys, or with ascending the smallest.
    SortOrder order = SortOrder::descending;
    // Bytes of a value that travels with each key: 0 (none), 4, 8, 12 or 16.
    std::uint32_t value_bytes = 0;
    // The values are the numbers 0, 1, 2, ... of the items, as u32, and written beside the keys.
    // value_bytes stays 0.
    bool indices = false;
    std::uint64_t max_count = 0;  // items, at most, of any use of the plan
    // Forced where set; impossible is an error that says what is missing.
    std::optional<Tier> tier;
    std::optional<Addressing> addressing;
    std::optional<TopKPolicy> policy;
};

// Plans the first k items of a stable sort: in order, of equal keys the one with the lowest index
// first. A use with fewer than k items gives them all.
//
// Buffers: input has the keys, output takes min(k, count) of them; values and values_out likewise,
// in words of value_bytes. No buffers may overlap. Nothing is written past the results.
//
// Order: as of plan_sort. Results are the same on every tier, API and device.
//
// Errors: those of plan_sort.
Result<Plan> plan_top_k(const Caps& caps, const TopKDesc& desc);

// The policy that plan_top_k uses where desc.policy is not set.
TopKPolicy top_k_policy(const Caps& caps, const TopKDesc& desc, Tier tier);

const char* to_text(TopKStrategy strategy);
std::optional<TopKStrategy> top_k_strategy_from_text(std::string_view text);
std::string to_text(const TopKPolicy& policy);

}  // namespace lanewise
