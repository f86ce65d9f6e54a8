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

// GPUs that promise forward progress.
inline constexpr SelectPolicyRow kGpuSelectPolicies[] = {
    {16 * kSelectKiB, {SelectStrategy::one_workgroup, 1024, 1, 1}},
    {512 * kSelectKiB, {SelectStrategy::look_back, 256, 2, 1u << 20}},
    {~std::uint64_t{0}, {SelectStrategy::look_back, 256, 4, 1u << 20}},
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
