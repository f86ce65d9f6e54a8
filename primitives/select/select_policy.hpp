// Policies of select: which tunables where.
#pragma once

#include <cstdint>
#include <span>

#include "lanewise/select.hpp"

namespace lanewise::detail {

// One row holds for inputs of up to `max_bytes`; the first that fits is taken. Vectors are those of
// 32-bit elements: narrower ones take fewer, as each has more items to move through workgroup
// memory.
struct SelectPolicyRow {
    std::uint64_t max_bytes;
    SelectPolicy policy;
};

inline constexpr std::uint64_t kSelectKiB = 1024;
inline constexpr std::uint64_t kSelectMiB = 1024 * 1024;

// GPUs that promise forward progress. Measured on an H200 (driver 580.159, 2026-12-01), u32 by a
// predicate, half kept, in us; W x vectors (workgroups, or tiles ahead):
//   2^28   count_then_scatter  512 x 2 (2048) 781, 256 x 4 (1024) 800, 512 x 4 (2048) 859
//          count_ahead         256 x 4 (213) 977, 512 x 4 (128) 1020
//          look_back           512 x 4 1146, 256 x 8 1157, 256 x 4 1206
//   2^24   count_then_scatter  256 x 4 (1024) 62.4; count_ahead 256 x 4 (213) 67.4;
//          look_back           512 x 4 76.7, 256 x 4 80.9
inline constexpr SelectPolicyRow kGpuSelectPolicies[] = {
    {16 * kSelectKiB, {SelectStrategy::one_workgroup, 1024, 1, 1}},
    {512 * kSelectKiB, {SelectStrategy::look_back, 256, 2, 1u << 20}},
    {16 * kSelectMiB, {SelectStrategy::look_back, 256, 4, 1u << 20}},
    {~std::uint64_t{0}, {SelectStrategy::count_then_scatter, 512, 2, 2048}},
};

// GPUs whose workgroups may not progress while others wait: no waiting, though it would end.
inline constexpr SelectPolicyRow kOtherGpuSelectPolicies[] = {
    {64 * kSelectKiB, {SelectStrategy::one_workgroup, 256, 4, 1}},
    {~std::uint64_t{0}, {SelectStrategy::count_then_scatter, 256, 4, 1024}},
};

// What takes the place of look_back and count_ahead where they cannot be.
inline constexpr SelectPolicy kGpuSelectFallBack = {SelectStrategy::count_then_scatter, 256, 4,
                                                    2048};

// CPU drivers run a workgroup as a loop over vectors on one core: few workgroups, small ones.
inline constexpr SelectPolicyRow kCpuSelectPolicies[] = {
    {256 * kSelectKiB, {SelectStrategy::one_workgroup, 64, 4, 1}},
    {~std::uint64_t{0}, {SelectStrategy::count_then_scatter, 64, 4, 8}},
};

inline std::span<const SelectPolicyRow> select_policy_rows(const Caps& caps) {
    if (caps.cpu_device) return kCpuSelectPolicies;
    if (caps.forward_progress != ForwardProgress::guaranteed) return kOtherGpuSelectPolicies;
    return kGpuSelectPolicies;
}

}  // namespace lanewise::detail
