#include "src/vulkan/probe_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <optional>
#include <vector>

namespace lanewise::vulkan::detail {

namespace {

// The names of probe_subgroup.comp's words.
enum Word : std::uint32_t { echo, size, lane, subgroup, num_subgroups, first_seen };

struct Invocation {
    std::array<std::uint32_t, kSubgroupProbeWords> words;
    std::uint32_t value;

    std::uint32_t seen(std::uint32_t i) const { return words[first_seen + i]; }
};

// One workgroup's invocations, found by what they say of themselves.
using Lanes = std::map<std::uint32_t, const Invocation*>;  // by lane
using Subgroups = std::map<std::uint32_t, Lanes>;          // by subgroup id

std::string wrong_built_ins(const std::vector<Invocation>& group, std::uint32_t required_size,
                            const SubgroupCaps& caps, Subgroups& subgroups) {
    const Invocation& first = group.front();
    const std::uint32_t s = first.words[size];
    if (required_size != 0 && s != required_size)
        return fmt::format("size {} was required, shaders see {}", required_size, s);
    if (!std::has_single_bit(s) || s < caps.min_size || s > caps.max_size)
        return fmt::format("shaders see size {}, the API says {} to {}", s, caps.min_size,
                           caps.max_size);
    if (!caps.size_is_true && s != caps.size)
        return fmt::format("shaders see size {}, the API says {}", s, caps.size);

    for (const Invocation& one : group) {
        if (one.words[size] != s || one.words[num_subgroups] != first.words[num_subgroups])
            return "size or number of subgroups differ within a workgroup";
        if (one.words[lane] >= s)
            return fmt::format("lane {} in a subgroup of {}", one.words[lane], s);
        if (one.words[subgroup] >= one.words[num_subgroups])
            return fmt::format("subgroup {} of {}", one.words[subgroup], one.words[num_subgroups]);
        if (!subgroups[one.words[subgroup]].emplace(one.words[lane], &one).second)
            return fmt::format("two invocations are lane {} of subgroup {}", one.words[lane],
                               one.words[subgroup]);
    }
    if (subgroups.size() != first.words[num_subgroups])
        return fmt::format("{} subgroups are reported, {} run", first.words[num_subgroups],
                           subgroups.size());
    // The kernels conclude from this equation that subgroups are full, so it must not be a chance.
    const bool full = subgroups.size() * s == group.size();
    const bool all_full = std::all_of(subgroups.begin(), subgroups.end(),
                                      [&](const auto& entry) { return entry.second.size() == s; });
    if (full != all_full) return "subgroups are not as full as their number says";
    // SPIR-V 1.6 promises full subgroups here, older ones do not; but a size that no subgroup ever
    // has is not what the device says.
    if (group.size() % s == 0) {
        std::size_t most = 0;
        for (const auto& entry : subgroups) most = std::max(most, entry.second.size());
        if (most < s)
            return fmt::format("no subgroup of {} runs more than {} invocations", s, most);
    }
    if (required_size != 0 && !full)
        return fmt::format("full subgroups were required, {} subgroups of {} hold {} invocations",
                           subgroups.size(), s, group.size());
    return {};
}

// What seen(i) must be; nothing where the specification leaves it undefined.
using Expected = std::array<std::optional<std::uint32_t>, 5>;

Expected expected_of(ProbeKind kind, const Lanes& lanes, const Invocation& one, bool odd_group) {
    const std::uint32_t own = one.words[lane];
    const std::uint32_t s = one.words[size];
    const auto sum = [&](auto term, std::uint32_t below) {
        std::uint32_t total = 0;
        for (const auto& [at, other] : lanes) {
            if (at < below) total += term(other->value);
        }
        return total;
    };
    switch (kind) {
        case ProbeKind::basic:
            // Who is elected is for the device to say; that it is one is checked elsewhere.
            return {std::nullopt, 0u, 0u, 0u, 0u};
        case ProbeKind::ballot: {
            const auto odd = [](std::uint32_t v) { return v & 1; };
            const auto second = [](std::uint32_t v) { return v >> 1 & 1; };
            return {static_cast<std::uint32_t>(lanes.size()), sum(odd, s), sum(odd, own),
                    odd_group ? sum(second, s) : 0u, lanes.begin()->first};
        }
        case ProbeKind::shuffle: {
            // A lane that does not run has no value to give.
            const auto of = [&](std::uint32_t source) -> std::optional<std::uint32_t> {
                const auto found = lanes.find(source);
                if (found == lanes.end()) return std::nullopt;
                return found->second->value;
            };
            return {of((own + 1) % s), of(own ^ 1), of(own ^ 2),
                    odd_group ? of(own ^ 1) : std::optional(0u), of(own ^ (s / 2))};
        }
        case ProbeKind::arithmetic: {
            const auto value = [](std::uint32_t v) { return v; };
            std::uint32_t least = ~0u;
            std::uint32_t most = 0;
            for (const auto& entry : lanes) {
                least = std::min(least, entry.second->value);
                most = std::max(most, entry.second->value);
            }
            return {sum(value, s), sum(value, own), least, odd_group ? sum(value, s) : 0u, most};
        }
    }
    return {};
}

std::string operation_name(ProbeKind kind, std::uint32_t i) {
    static constexpr std::array<std::array<const char*, 5>, 4> kNames{{
        {"elect", "", "", "", ""},
        {"ballot bit count of all", "ballot bit count", "ballot exclusive bit count",
         "ballot in odd workgroups only", "ballot find lsb"},
        {"shuffle", "shuffle xor 1", "shuffle xor 2", "shuffle xor in odd workgroups only",
         "shuffle xor half"},
        {"add", "exclusive add", "min", "add in odd workgroups only", "max"},
    }};
    return kNames[static_cast<std::size_t>(kind)][i];
}

std::string never_ran(std::size_t missing, std::size_t all, std::uint32_t workgroup_size) {
    return fmt::format("{} of {} invocations never ran, in workgroups of {}", missing, all,
                       workgroup_size);
}

}  // namespace

std::uint32_t probe_value(std::uint32_t at) {
    std::uint32_t h = at * 0x9E3779B9u + 0x7F4A7C15u;
    h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
    // 20 bits: sums over a workgroup stay below the poison, complements above it.
    return (h ^ (h >> 13)) & 0xFFFFFu;
}

std::string wrong_in_barrier_probe(const ProbeWords& seen) {
    const std::uint32_t w = seen.workgroup_size;
    std::size_t missing = 0;
    std::string first_wrong;
    for (std::uint32_t group = 0; group < seen.groups; ++group) {
        std::uint32_t sum = 0;
        for (std::uint32_t i = 0; i < w; ++i) sum += probe_value(group * w + i);
        for (std::uint32_t i = 0; i < w; ++i) {
            const std::size_t at = std::size_t{group} * w + i;
            const std::uint32_t neighbour = seen.words[2 * at];
            const std::uint32_t total = seen.words[2 * at + 1];
            if (neighbour == kProbePoison && total == kProbePoison) {
                ++missing;
            } else if (neighbour != probe_value(group * w + (i + 1) % w) || total != sum) {
                first_wrong = "workgroup memory is wrong after a barrier";
            }
        }
    }
    if (missing > 0) return never_ran(missing, std::size_t{seen.groups} * w, w);
    return first_wrong;
}

std::string wrong_in_subgroup_probe(const ProbeWords& seen, ProbeKind kind,
                                    std::uint32_t required_size, const SubgroupCaps& caps) {
    const std::size_t all = std::size_t{seen.groups} * seen.workgroup_size;
    std::vector<Invocation> invocations(all);
    std::size_t missing = 0;
    for (std::size_t at = 0; at < all; ++at) {
        Invocation& one = invocations[at];
        std::copy_n(seen.words.begin() + static_cast<std::ptrdiff_t>(at * kSubgroupProbeWords),
                    kSubgroupProbeWords, one.words.begin());
        one.value = probe_value(static_cast<std::uint32_t>(at));
        if (one.words[echo] == kProbePoison) ++missing;
    }
    if (missing > 0) return never_ran(missing, all, seen.workgroup_size);

    for (std::uint32_t group = 0; group < seen.groups; ++group) {
        const auto begin = invocations.begin() + std::ptrdiff_t{group} * seen.workgroup_size;
        const std::vector<Invocation> members(begin, begin + seen.workgroup_size);
        for (const Invocation& one : members) {
            if (one.words[echo] != ~one.value) return "storage buffers are read or written wrongly";
        }
        Subgroups subgroups;
        if (std::string wrong = wrong_built_ins(members, required_size, caps, subgroups);
            !wrong.empty())
            return wrong;
        for (const auto& [id, lanes] : subgroups) {
            std::size_t elected = 0;
            for (const auto& entry : lanes) {
                const Invocation& one = *entry.second;
                const Expected expected = expected_of(kind, lanes, one, (group & 1) != 0);
                for (std::uint32_t i = 0; i < expected.size(); ++i) {
                    if (expected[i] && one.seen(i) != *expected[i])
                        return fmt::format("{} gives {}, not {}", operation_name(kind, i),
                                           one.seen(i), *expected[i]);
                }
                elected += one.seen(0);
            }
            if (kind == ProbeKind::basic && elected != 1)
                return fmt::format("elect chose {} lanes of subgroup {}", elected, id);
        }
    }
    return {};
}

}  // namespace lanewise::vulkan::detail
