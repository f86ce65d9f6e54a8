// Policies of scan: which tunables where, with the measurements that chose them.
#pragma once

#include <cstdint>
#include <span>

#include "lanewise/scan.hpp"

namespace lanewise::detail {

// One row holds for outputs of up to `max_bytes`; the first that fits is taken. Vectors are those
// of 32-bit elements: narrower ones take fewer, as each holds more items.
struct ScanPolicyRow {
    std::uint64_t max_bytes;
    ScanPolicy policy;
};

inline constexpr std::uint64_t kScanKiB = 1024;
inline constexpr std::uint64_t kScanMiB = 1024 * 1024;

inline constexpr ScanPolicyRow kGpuScanPolicies[] = {
    {64 * kScanKiB, {ScanStrategy::one_workgroup, 1024, 4, 1}},
    {4 * kScanMiB, {ScanStrategy::look_back, 256, 4, 1u << 20}},
    {~std::uint64_t{0}, {ScanStrategy::reduce_ahead, 512, 4, 1u << 20, 128}},
};

inline constexpr ScanPolicyRow kGpuBarrierScanPolicies[] = {
    {32 * kScanKiB, {ScanStrategy::one_workgroup, 256, 4, 1}},
    {4 * kScanMiB, {ScanStrategy::look_back, 256, 4, 1u << 20}},
    {~std::uint64_t{0}, {ScanStrategy::reduce_ahead, 256, 4, 1u << 20, 256}},
};

// What takes the place of look_back and reduce_ahead where they cannot be.
inline constexpr ScanPolicy kGpuScanFallBack = {ScanStrategy::reduce_then_scan, 512, 4, 1024};

// CPU drivers run a workgroup as a loop over vectors on one core: few workgroups, small ones.
inline constexpr ScanPolicyRow kCpuScanPolicies[] = {
    {256 * kScanKiB, {ScanStrategy::one_workgroup, 64, 4, 1}},
    {~std::uint64_t{0}, {ScanStrategy::reduce_then_scan, 64, 4, 8}},
};

inline std::span<const ScanPolicyRow> scan_policy_rows(const Caps& caps, Tier tier) {
    if (caps.cpu_device) return kCpuScanPolicies;
    if (tier == Tier::barrier) return kGpuBarrierScanPolicies;
    return kGpuScanPolicies;
}

}  // namespace lanewise::detail
