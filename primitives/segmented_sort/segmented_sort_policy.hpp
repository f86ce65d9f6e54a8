// Policies of segmented_sort: which tunables where.
#pragma once

#include "lanewise/segmented_sort.hpp"

namespace lanewise::detail {

// Of 32-bit keys: keys of 64 bits take half as many items. The barrier tier has digits of 4 bits.

// GPUs: a tile of 8 KB beside its counters, so that several workgroups share a multiprocessor. Not
// measured against others.
inline constexpr SegmentedSortPolicy kGpuSegmentedSortPolicy = {256, 8, 8, 1024};

// CPU drivers: as kCpuSortPolicies, for the reasons given there.
inline constexpr SegmentedSortPolicy kCpuSegmentedSortPolicy = {64, 4, 8, 8};

}  // namespace lanewise::detail
