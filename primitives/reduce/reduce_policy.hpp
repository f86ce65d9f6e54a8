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

// GPUs. Measured on an H200 (driver 580.159, u32 sum, 2026-11-29) with prototypes of these kernels:
// time of one use, its barrier included; an empty dispatch and its barrier take 1.54 us there.
//   items   one workgroup   last_workgroup   arrival_sum   two_pass
//   2^12    2.52 us         3.36             2.47
//   2^16    3.61            3.40             2.60
//   2^18                    3.61             2.72          5.2
//   2^20                    4.11             3.20          5.6
//   2^22                    5.74             4.67          7.1
//   2^24                    19.3             18.1          20.6
//   2^28                    237.9                          239.4
// Where a row says last_workgroup, arrival_sum takes its place for the sums that it can do. More
// workgroups than these gain nothing; fewer lose bandwidth above 2^24. At 2^28, kernels as they
// are: W 512, 8 vectors, 2048 groups 235.4 us; W 1024, 8, 4096 groups 238.0.
inline constexpr ReducePolicyRow kGpuReducePolicies[] = {
    {16_KiB, {ReduceStrategy::one_workgroup, 256, 4, 1}},
    {64_KiB, {ReduceStrategy::one_workgroup, 512, 8, 1}},
    {256_KiB, {ReduceStrategy::last_workgroup, 256, 4, 16}},
    {1_MiB, {ReduceStrategy::last_workgroup, 256, 8, 32}},
    {4_MiB, {ReduceStrategy::last_workgroup, 256, 8, 128}},
    {16_MiB, {ReduceStrategy::last_workgroup, 512, 16, 128}},
    {128_MiB, {ReduceStrategy::last_workgroup, 512, 8, 256}},
    {~std::uint64_t{0}, {ReduceStrategy::last_workgroup, 512, 8, 2048}},
};

// The barrier tier prefers smaller workgroups: its levels cost more as W grows.
inline constexpr ReducePolicyRow kGpuBarrierReducePolicies[] = {
    {16_KiB, {ReduceStrategy::one_workgroup, 128, 4, 1}},
    {64_KiB, {ReduceStrategy::one_workgroup, 256, 8, 1}},
    {256_KiB, {ReduceStrategy::last_workgroup, 128, 4, 32}},
    {1_MiB, {ReduceStrategy::last_workgroup, 128, 8, 64}},
    {4_MiB, {ReduceStrategy::last_workgroup, 128, 16, 128}},
    {128_MiB, {ReduceStrategy::last_workgroup, 128, 16, 512}},
    {~std::uint64_t{0}, {ReduceStrategy::last_workgroup, 512, 8, 2048}},
};

// CPU drivers run a workgroup as a loop over vectors on one core, and each barrier of it is dear:
// few workgroups, small ones, with many items each. Seen on lavapipe (Mesa 22.3) and SwiftShader on
// two cores: against 64 workgroups of 128, these take a half to a tenth of the time.
inline constexpr ReducePolicyRow kCpuReducePolicies[] = {
    {256_KiB, {ReduceStrategy::one_workgroup, 64, 16, 1}},
    {~std::uint64_t{0}, {ReduceStrategy::last_workgroup, 64, 16, 8}},
};

inline std::span<const ReducePolicyRow> reduce_policy_rows(const Caps& caps, Tier tier) {
    if (caps.cpu_device) return kCpuReducePolicies;
    if (tier == Tier::barrier) return kGpuBarrierReducePolicies;
    return kGpuReducePolicies;
}

}  // namespace lanewise::detail
