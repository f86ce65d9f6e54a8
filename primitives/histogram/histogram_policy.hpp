// Policies of histogram: which tunables where.
#pragma once

#include <cstdint>
#include <span>

#include "lanewise/histogram.hpp"

namespace lanewise::detail {

// One row holds for inputs of up to `max_bytes`; the first that fits is taken. Its copies are of
// 256 bins: a table of more takes fewer copies, in about the same workgroup memory.
struct HistogramPolicyRow {
    std::uint64_t max_bytes;
    HistogramPolicy policy;
};

// GPUs. Measured on an H200 with these rows alone (docs/performance.md: 90% of the read limit at
// 2^28 bytes, whatever their values). 32 copies are what keeps the lanes of a subgroup of 32 in
// banks of their own, whatever the samples are; 256 bins of them take 32 KiB, so that an H200,
// whose driver gives about 50 KB to the workgroups of a multiprocessor, has one of these on each of
// its 132. Small inputs take small workgroups, which have less to clear and to sum up.
inline constexpr HistogramPolicyRow kGpuHistogramPolicies[] = {
    {std::uint64_t{8} << 10, {HistogramStrategy::one_workgroup, 256, 2, 8, 1}},
    {std::uint64_t{128} << 10, {HistogramStrategy::last_workgroup, 256, 1, 8, 32}},
    {std::uint64_t{1} << 20, {HistogramStrategy::last_workgroup, 256, 2, 8, 132}},
    {std::uint64_t{8} << 20, {HistogramStrategy::last_workgroup, 512, 4, 16, 264}},
    {~std::uint64_t{0}, {HistogramStrategy::last_workgroup, 1024, 4, 32, 132}},
};

// CPU drivers run a workgroup as a loop over vectors on one core, and do atomics one by one: few
// workgroups, and one table, which stays in the cache.
inline constexpr HistogramPolicyRow kCpuHistogramPolicies[] = {
    {std::uint64_t{64} << 10, {HistogramStrategy::one_workgroup, 64, 4, 1, 1}},
    {~std::uint64_t{0}, {HistogramStrategy::last_workgroup, 64, 4, 1, 8}},
};

// Of bins that no workgroup memory holds.
inline constexpr HistogramPolicy kGlobalHistogramPolicy = {HistogramStrategy::global, 256, 4, 1,
                                                           1024};

inline std::span<const HistogramPolicyRow> histogram_policy_rows(const Caps& caps) {
    if (caps.cpu_device) return kCpuHistogramPolicies;
    return kGpuHistogramPolicies;
}

}  // namespace lanewise::detail
