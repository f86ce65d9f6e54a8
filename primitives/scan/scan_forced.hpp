// A policy of scan with a strategy that the caller names, for tools.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lanewise/scan.hpp"
#include "primitives/scan/scan_policy.hpp"

namespace lanewise {

// What scan_policy has for this strategy at the nearest size; where it has none, the policy of
// large inputs with this strategy in it. Whether the strategy is possible, planning says. Errors:
// those of planning without a policy.
inline Result<ScanPolicy> scan_policy_with(const Caps& caps, ScanDesc desc, ScanStrategy strategy) {
    desc.policy.reset();
    const auto free = plan_scan(caps, desc);
    if (!free) return tl::unexpected(free.error());
    ScanPolicy policy = scan_policy(caps, desc, free->tier);
    if (policy.strategy == strategy) return policy;

    const std::uint64_t result_bytes = scan_result_bytes(desc);
    const std::uint64_t own_count = desc.max_count;
    std::uint64_t first = 0;  // count of the row
    for (const detail::ScanPolicyRow& row : detail::scan_policy_rows(caps, free->tier)) {
        const std::uint64_t last = row.max_bytes / result_bytes;
        desc.max_count = std::clamp(own_count, first, last);
        policy = scan_policy(caps, desc, free->tier);
        if (policy.strategy == strategy) return policy;
        first = last + 1;
    }

    policy.strategy = strategy;
    // A tile to each workgroup where there is looking back, so all the workgroups that a device
    // takes.
    const bool shares = strategy == ScanStrategy::reduce_then_scan;
    policy.max_groups = shares ? ScanPolicy{}.max_groups : 1u << 20;
    policy.ahead = 0;
    if (strategy == ScanStrategy::reduce_ahead) {
        // On an H200 2 to 8 MB of input between a tile's two reads were best, and more than 10 lost
        // (2026-11-29): the second read has to come from the cache.
        constexpr std::uint32_t kBytesAhead = 4u << 20;
        constexpr std::uint32_t kLoadBytes = 16;
        const std::uint32_t tile_bytes = policy.workgroup_size * policy.vectors * kLoadBytes;
        policy.ahead = std::max(1u, kBytesAhead / tile_bytes);
    }
    return policy;
}

}  // namespace lanewise
