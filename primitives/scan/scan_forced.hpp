// A policy of scan with a strategy that the caller names, for tools: all else as scan_policy would
// have it.
#pragma once

#include <algorithm>

#include "lanewise/scan.hpp"

namespace lanewise {

// Errors: those of planning without a policy.
inline Result<ScanPolicy> scan_policy_with(const Caps& caps, ScanDesc desc, ScanStrategy strategy) {
    desc.policy.reset();
    const auto free = plan_scan(caps, desc);
    if (!free) return tl::unexpected(free.error());
    ScanPolicy policy = scan_policy(caps, desc, free->tier);
    policy.strategy = strategy;
    if (strategy != ScanStrategy::reduce_ahead) {
        policy.ahead = 0;
    } else if (policy.ahead == 0) {
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
