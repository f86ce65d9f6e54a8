// What the self-test's kernels must have written: pure functions, so that lies can be told to them
// in a test without a device.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "lanewise/caps.hpp"

namespace lanewise::vulkan::detail {

enum class ProbeKind : std::uint8_t { basic, ballot, shuffle, arithmetic };

// Words that each invocation writes.
inline constexpr std::uint32_t kBarrierProbeWords = 2;
inline constexpr std::uint32_t kSubgroupProbeWords = 10;

// What output holds before; no kernel writes it.
inline constexpr std::uint32_t kProbePoison = 0xDEADBEEF;

// The value that invocation `at` reads: hashed, never such that a kernel could write the poison.
std::uint32_t probe_value(std::uint32_t at);

struct ProbeWords {
    std::uint32_t workgroup_size = 0;
    std::uint32_t groups = 0;
    std::span<const std::uint32_t> words;  // in the order of the invocations
};

// Both answer one line about the first thing that is wrong, or nothing.
std::string wrong_in_barrier_probe(const ProbeWords& seen);
// required_size: 0 in a portable pipeline; else the pipeline required it, and full subgroups.
std::string wrong_in_subgroup_probe(const ProbeWords& seen, ProbeKind kind,
                                    std::uint32_t required_size, const SubgroupCaps& caps);

}  // namespace lanewise::vulkan::detail
