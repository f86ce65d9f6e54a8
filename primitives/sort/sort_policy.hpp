// Policies of sort: which tunables where, with the measurements that chose them.
#pragma once

#include <cstdint>
#include <span>

#include "lanewise/sort.hpp"

namespace lanewise::detail {

// One row holds for inputs of up to `max_count` items; the first that fits is taken. Items are
// those of 32-bit keys: keys of 64 bits take half as many.
struct SortPolicyRow {
    std::uint64_t max_count;
    SortPolicy policy;
};

// GPUs that promise forward progress. Measured on an H200 (driver 580.159, u32 keys and pairs,
// 2026-11-30), in us:
//   W x items   2^16   2^18   2^20   2^22   2^24   2^28    pairs 2^28
//   256 x 8     33.5   40.6   79.9   225    826
//   512 x 8     40.6   46.3   79.8   236    873
//   1024 x 8    55.7   61.3   70.4   197    656    9800
//   512 x 15    48.2   53.8   75.4   191    633    9416    10803
//   512 x 23    58.5   64.0   71.8   192    562    7788    9315
//   1024 x 11                                      8328    9597
// This driver gives the workgroups of a multiprocessor about 50 KB of workgroup memory in all, so
// that those of more than 24 KB are alone on it: then the largest tile is the best.
// One workgroup takes 20 us for up to 4096 keys.
inline constexpr SortPolicyRow kGpuSortPolicies[] = {
    {4096, {SortStrategy::one_workgroup, 1024, 4, 8, 1}},
    {1u << 19, {SortStrategy::look_back, 256, 8, 8, 1u << 20}},
    {1u << 21, {SortStrategy::look_back, 1024, 8, 8, 1u << 20}},
    {~std::uint64_t{0}, {SortStrategy::look_back, 512, 23, 8, 1u << 20}},
};

// The barrier tier, on the same card, 2^28 keys: 256 x 19 take 14.2 ms, 256 x 11 14.5, 256 x 15
// 15.6, 128 x 19 15.1, 512 x 7 16.0.
inline constexpr SortPolicyRow kGpuBarrierSortPolicies[] = {
    {2048, {SortStrategy::one_workgroup, 256, 8, 4, 1}},
    {~std::uint64_t{0}, {SortStrategy::look_back, 256, 19, 4, 1u << 20}},
};

// GPUs that nobody measured, and whose workgroups may not progress while others wait: no waiting,
// though it would end.
inline constexpr SortPolicyRow kOtherGpuSortPolicies[] = {
    {2048, {SortStrategy::one_workgroup, 256, 8, 8, 1}},
    {~std::uint64_t{0}, {SortStrategy::count_then_scatter, 256, 12, 8, 512}},
};

// CPU drivers run a workgroup as a loop over vectors on one core: few workgroups, small ones; and
// their compilers take a second for each key of a lane.
inline constexpr SortPolicyRow kCpuSortPolicies[] = {
    {256, {SortStrategy::one_workgroup, 64, 4, 8, 1}},
    {~std::uint64_t{0}, {SortStrategy::count_then_scatter, 64, 4, 8, 8}},
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
