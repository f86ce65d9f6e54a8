// Policies of top_k's selection: which tunables where. How few items are sorted, all of them or the
// k, is sort's to say (sort_policy.hpp).
#pragma once

#include <cstdint>

#include "lanewise/top_k.hpp"

namespace lanewise::detail {

// What the selection shares out, before it is fitted to the device: as sort's count_then_scatter.
struct TopKPolicyRow {
    std::uint32_t workgroup_size;
    std::uint32_t items;  // keys of 64 bits take half as many
    std::uint32_t digit_bits;
    std::uint32_t max_groups;
};

// Three rounds for keys of 32 bits. Not measured yet.
inline constexpr TopKPolicyRow kGpuTopKPolicy = {256, 8, 11, 1024};
// As of sort: few workgroups, small ones.
inline constexpr TopKPolicyRow kCpuTopKPolicy = {64, 4, 11, 8};

inline const TopKPolicyRow& top_k_policy_row(const Caps& caps) {
    return caps.cpu_device ? kCpuTopKPolicy : kGpuTopKPolicy;
}

}  // namespace lanewise::detail
