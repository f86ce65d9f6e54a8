// Policies of reduce: which tunables where, with the measurements that chose them.
#pragma once

#include <cstdint>
#include <span>

#include "lanewise/reduce.hpp"

namespace lanewise::detail {

// One row holds for inputs of up to `max_bytes`; the first that fits is taken.
struct ReducePolicyRow {
    std::uint64_t max_bytes;
    ReducePolicy policy;
};

constexpr std::uint64_t operator""_KiB(unsigned long long n) { return n << 10; }
constexpr std::uint64_t operator""_MiB(unsigned long long n) { return n << 20; }

// GPUs. Measured on an H200 (driver 580.159, u32 sum, 2026-11-29), time of one use including its
// barrier, beside the other strategy at the same size; an empty dispatch and its barrier take
// 1.54 us there:
//   2^16 items: one workgroup 3.61 us, last_workgroup 4.04
//   2^18: last_workgroup 4.23, two_pass 5.19      2^20: 4.71, 5.60      2^22: 6.18, 7.06
//   2^24: 19.34, 20.55                            2^28: 237.9, 239.4
// More workgroups than these gain nothing; fewer lose bandwidth above 2^24.
inline constexpr ReducePolicyRow kGpuReducePolicies[] = {
    {16_KiB, {ReduceStrategy::one_workgroup, 256, 4, 1}},
    {64_KiB, {ReduceStrategy::one_workgroup, 512, 8, 1}},
    {256_KiB, {ReduceStrategy::one_workgroup, 1024, 16, 1}},
    {1_MiB, {ReduceStrategy::last_workgroup, 256, 4, 64}},
    {8_MiB, {ReduceStrategy::last_workgroup, 256, 8, 128}},
    {32_MiB, {ReduceStrategy::last_workgroup, 512, 4, 256}},
    {128_MiB, {ReduceStrategy::last_workgroup, 512, 4, 512}},
    {~std::uint64_t{0}, {ReduceStrategy::last_workgroup, 1024, 4, 4096}},
};

// The barrier tier prefers smaller workgroups: its levels cost more as W grows.
inline constexpr ReducePolicyRow kGpuBarrierReducePolicies[] = {
    {16_KiB, {ReduceStrategy::one_workgroup, 256, 4, 1}},
    {256_KiB, {ReduceStrategy::one_workgroup, 512, 16, 1}},
    {1_MiB, {ReduceStrategy::last_workgroup, 256, 4, 64}},
    {8_MiB, {ReduceStrategy::last_workgroup, 256, 8, 128}},
    {128_MiB, {ReduceStrategy::last_workgroup, 256, 4, 512}},
    {~std::uint64_t{0}, {ReduceStrategy::last_workgroup, 512, 8, 4096}},
};

// CPU drivers run a workgroup as a loop over vectors on one core: a few large shares per core, and
// nothing to hide latency from.
inline constexpr ReducePolicyRow kCpuReducePolicies[] = {
    {64_KiB, {ReduceStrategy::one_workgroup, 128, 4, 1}},
    {~std::uint64_t{0}, {ReduceStrategy::last_workgroup, 128, 4, 64}},
};

inline std::span<const ReducePolicyRow> reduce_policy_rows(const Caps& caps, Tier tier) {
    if (caps.cpu_device) return kCpuReducePolicies;
    if (tier == Tier::barrier) return kGpuBarrierReducePolicies;
    return kGpuReducePolicies;
}

}  // namespace lanewise::detail
