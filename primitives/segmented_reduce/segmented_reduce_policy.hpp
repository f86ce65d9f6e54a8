// Policies of segmented_reduce: which tunables where.
#pragma once

#include <cstdint>
#include <span>

#include "lanewise/segmented_reduce.hpp"

namespace lanewise::detail {

// One row holds for inputs of up to `max_bytes`; the first that fits is taken. Vectors are those of
// 32-bit elements: narrower ones take fewer, as each holds more items.
struct SegmentedReducePolicyRow {
    std::uint64_t max_bytes;
    SegmentedReducePolicy policy;
};

// GPUs: a tile of 4096 items has 16 KB of ends in workgroup memory, so that several workgroups
// share a multiprocessor. Not measured against others.
inline constexpr SegmentedReducePolicyRow kGpuSegmentedReducePolicies[] = {
    {std::uint64_t{16} << 10, {SegmentedReduceStrategy::one_workgroup, 256, 4, 1}},
    {std::uint64_t{4} << 20, {SegmentedReduceStrategy::two_pass, 256, 2, 1024}},
    {~std::uint64_t{0}, {SegmentedReduceStrategy::two_pass, 256, 4, 2048}},
};

// CPU drivers: as kCpuScanPolicies, for the reasons given there.
inline constexpr SegmentedReducePolicyRow kCpuSegmentedReducePolicies[] = {
    {std::uint64_t{256} << 10, {SegmentedReduceStrategy::one_workgroup, 64, 4, 1}},
    {~std::uint64_t{0}, {SegmentedReduceStrategy::two_pass, 64, 4, 8}},
};

inline std::span<const SegmentedReducePolicyRow> segmented_reduce_policy_rows(const Caps& caps) {
    if (caps.cpu_device) return kCpuSegmentedReducePolicies;
    return kGpuSegmentedReducePolicies;
}

}  // namespace lanewise::detail
