// Policies of sort: which tunables where, with the measurements that chose them.
#pragma once

#include <cstdint>
#include <span>

#include "lanewise/sort.hpp"

namespace lanewise::detail {

// One row holds for inputs of up to `max_count` items; the first that fits is taken. Items are
// those of 32-bit keys without values: larger records take fewer.
struct SortPolicyRow {
    std::uint64_t max_count;
    SortPolicy policy;
};

// GPUs that promise forward progress.
inline constexpr SortPolicyRow kGpuSortPolicies[] = {
    {4096, {SortStrategy::one_workgroup, 512, 8, 8, 1}},
    {~std::uint64_t{0}, {SortStrategy::look_back, 512, 15, 8, 1u << 20}},
};

inline constexpr SortPolicyRow kGpuBarrierSortPolicies[] = {
    {2048, {SortStrategy::one_workgroup, 256, 8, 4, 1}},
    {~std::uint64_t{0}, {SortStrategy::look_back, 256, 15, 4, 1u << 20}},
};

// GPUs that nobody measured, and whose workgroups may not progress while others wait: no waiting,
// though it would end.
inline constexpr SortPolicyRow kOtherGpuSortPolicies[] = {
    {2048, {SortStrategy::one_workgroup, 256, 8, 8, 1}},
    {~std::uint64_t{0}, {SortStrategy::count_then_scatter, 256, 12, 8, 512}},
};

// CPU drivers run a workgroup as a loop over vectors on one core: few workgroups, small ones.
inline constexpr SortPolicyRow kCpuSortPolicies[] = {
    {1024, {SortStrategy::one_workgroup, 64, 16, 8, 1}},
    {~std::uint64_t{0}, {SortStrategy::count_then_scatter, 64, 16, 8, 8}},
};

// What takes the place of look_back where it cannot be.
inline constexpr SortPolicy kGpuSortFallBack = {SortStrategy::count_then_scatter, 512, 8, 8, 1024};

inline std::span<const SortPolicyRow> sort_policy_rows(const Caps& caps, Tier tier) {
    if (caps.cpu_device) return kCpuSortPolicies;
    if (caps.forward_progress != ForwardProgress::guaranteed) return kOtherGpuSortPolicies;
    if (tier == Tier::barrier) return kGpuBarrierSortPolicies;
    return kGpuSortPolicies;
}

}  // namespace lanewise::detail
