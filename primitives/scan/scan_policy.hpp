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

// GPUs that promise forward progress. Measured on an H200 (driver 580.159, exclusive u32 sum,
// 2026-11-30), the best of each strategy:
//   items   one_workgroup   reduce_then_scan   look_back   reduce_ahead
//   2^16    12.5 us         6.1                4.1         4.5
//   2^18                    6.8                4.8         5.1
//   2^20                    9.1                6.4         7.6
//   2^22                    16.6               13.1        15.5
//   2^24                    60.4               54.8        47.8
//   2^28    83600           785                786         622
// reduce_ahead wants a small workgroup with many vectors and 1 to 8 MiB of tiles ahead: W 512 with
// 4 vectors takes 690 us at 2^28, W 1024 with 2 1112.
inline constexpr ScanPolicyRow kGpuScanPolicies[] = {
    {16 * kScanKiB, {ScanStrategy::one_workgroup, 1024, 1, 1}},
    {512 * kScanKiB, {ScanStrategy::look_back, 256, 2, 1u << 20}},
    {2 * kScanMiB, {ScanStrategy::look_back, 256, 4, 1u << 20}},
    {8 * kScanMiB, {ScanStrategy::look_back, 256, 8, 1u << 20}},
    {32 * kScanMiB, {ScanStrategy::look_back, 512, 4, 1u << 20}},
    {~std::uint64_t{0}, {ScanStrategy::reduce_ahead, 256, 8, 1u << 20, 128}},
};

// The barrier tier, on the same card: 2^28 in 693 us as here, 820 with 4 vectors; 2^24 in 54.0.
inline constexpr ScanPolicyRow kGpuBarrierScanPolicies[] = {
    {32 * kScanKiB, {ScanStrategy::one_workgroup, 256, 4, 1}},
    {8 * kScanMiB, {ScanStrategy::look_back, 256, 4, 1u << 20}},
    {~std::uint64_t{0}, {ScanStrategy::reduce_ahead, 256, 8, 1u << 20, 256}},
};

// Through WebGPU, the same card. Dawn (npm bun-webgpu 0.1.7) at 2^26, in us, with 1, 2 and 4 MiB of
// tiles ahead, and looking back:
//                   1      2      4      look back
//   portable 256 8  244    228    207    281
//            512 4  252    252    253    318
//   barrier  128 8  198    189    192    269
//            256 8         193           254
inline constexpr ScanPolicyRow kWebgpuScanPolicies[] = {
    {16 * kScanKiB, {ScanStrategy::one_workgroup, 1024, 1, 1}},
    {512 * kScanKiB, {ScanStrategy::look_back, 256, 2, 1u << 20}},
    {2 * kScanMiB, {ScanStrategy::look_back, 256, 4, 1u << 20}},
    {8 * kScanMiB, {ScanStrategy::look_back, 256, 8, 1u << 20}},
    {~std::uint64_t{0}, {ScanStrategy::reduce_ahead, 256, 8, 1u << 20, 256}},
};

// GPUs that nobody measured, and whose workgroups may not progress while others wait: no waiting,
// though it would end.
inline constexpr ScanPolicyRow kOtherGpuScanPolicies[] = {
    {64 * kScanKiB, {ScanStrategy::one_workgroup, 256, 4, 1}},
    {~std::uint64_t{0}, {ScanStrategy::reduce_then_scan, 256, 4, 1024}},
};

// What takes the place of look_back and reduce_ahead where they cannot be.
inline constexpr ScanPolicy kGpuScanFallBack = {ScanStrategy::reduce_then_scan, 512, 4, 4096};

// CPU drivers run a workgroup as a loop over vectors on one core: few workgroups, small ones.
inline constexpr ScanPolicyRow kCpuScanPolicies[] = {
    {256 * kScanKiB, {ScanStrategy::one_workgroup, 64, 4, 1}},
    {~std::uint64_t{0}, {ScanStrategy::reduce_then_scan, 64, 4, 8}},
};

inline std::span<const ScanPolicyRow> scan_policy_rows(const Caps& caps, Tier tier) {
    if (caps.cpu_device) return kCpuScanPolicies;
    if (caps.forward_progress != ForwardProgress::guaranteed) return kOtherGpuScanPolicies;
    if (tier == Tier::barrier) return kGpuBarrierScanPolicies;
    if (caps.api == Api::webgpu) return kWebgpuScanPolicies;
    return kGpuScanPolicies;
}

// Where the barrier kernel was measured to be faster than the subgroup kernel: through WebGPU on
// the H200, whose compilers leave more of shuffles than of barriers to be done. In us, Dawn and
// wgpu-native, 2026-11-30:
//   items   portable     barrier
//   2^16    8.2   19     7.7   25
//   2^20    14    30     12    27
//   2^24    80   101     59    87
//   2^26    207  237     193  200
//   2^28    1052 997     728  723
// (2^28 and below 2^26 portable before its loops of shuffles were written out: 276 at 2^26.)
inline bool scan_prefers_barrier(const Caps& caps) {
    return caps.api == Api::webgpu && !caps.cpu_device &&
           caps.forward_progress == ForwardProgress::guaranteed;
}

}  // namespace lanewise::detail
