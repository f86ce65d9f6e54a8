#include "src/core/ranks.hpp"

#include <algorithm>

#include "src/core/arithmetic.hpp"
#include "src/core/tiers.hpp"
#include "src/core/workgroups.hpp"

namespace lanewise::detail {

std::uint32_t offsets_words(std::uint32_t workgroup_size) {
    const std::uint32_t w = workgroup_size;
    return w + w / (w > 256 ? 32 : w > 64 ? 16 : w > 16 ? 8 : 4);
}

std::uint32_t rank_words(const Caps& caps, Tier tier, const RankShape& shape, const Ranks& ranks) {
    const std::uint32_t w = shape.workgroup_size;
    const std::uint32_t bins = 1u << shape.digit_bits;
    const std::uint32_t tile = w * shape.items;
    std::uint32_t words = shape.other_words;
    if (tier == Tier::barrier) {
        const std::uint32_t counters = std::max(bins / 2, 1u) * w;
        words += std::max(tile, counters + counters / 32);
    } else {
        const std::uint32_t counters = ranks.slots * bins;
        words += ranks.overlay ? std::max(tile, counters) : tile + counters;
        words += ranks.subgroups != 0 ? 1 : w;  // sh_populations
    }
    words += ranks.subgroups != 0 ? ranks.subgroups : offsets_words(w);
    // WebGPU counts each variable in whole 16 bytes.
    if (caps.api == Api::webgpu) words += 4 * kMostRankVariables;
    return words + numbering_bytes(caps, tier) / 4;
}

std::optional<Ranks> ranks_of(const Caps& caps, Tier tier, const RankShape& shape,
                              std::uint32_t subgroup_size) {
    const std::uint32_t most = caps.limits.max_workgroup_memory / 4;
    const std::uint32_t w = shape.workgroup_size;
    const std::uint32_t smallest =
        subgroup_size != 0 ? subgroup_size : std::max(4u, caps.subgroup.min_size);
    const auto fits = [&](const Ranks& ranks) {
        return rank_words(caps, tier, shape, ranks) <= most;
    };
    if (tier == Tier::barrier) return fits({}) ? std::optional(Ranks{}) : std::nullopt;
    const bool full = sizing_tier(caps, tier) == Tier::pinned && subgroup_size != 0;
    const std::uint32_t subgroups = full ? w / subgroup_size : 0;
    for (std::uint32_t slots = std::max(1u, w / smallest); slots != 0; slots /= 2) {
        for (const bool overlay : {false, true}) {
            const Ranks ranks{slots, overlay, subgroups};
            if (fits(ranks)) return ranks;
        }
    }
    return std::nullopt;
}

void add_subgroup_constants(Pass& pass) {
    pass.constants.push_back({5, "subgroup_size", pass.required_subgroup_size});
    pass.constants.push_back({6, "full_subgroups", pass.full_subgroups ? 1u : 0u});
}

void add_rank_constants(Pass& pass, const Caps& caps, const Ranks& ranks) {
    const std::uint32_t size = pass.required_subgroup_size;
    const std::uint32_t largest = size != 0 ? size : caps.subgroup.max_size;
    const auto words = static_cast<std::uint32_t>(divide_up(largest, 32));
    add_subgroup_constants(pass);
    pass.constants.push_back({7, "ballot_words", std::clamp(words, 1u, 4u)});
    pass.constants.push_back({8, "rank_slots", ranks.slots});
    pass.constants.push_back({9, "rank_overlay", ranks.overlay ? 1u : 0u});
}

std::uint32_t rank_barriers(const Caps& caps, Tier tier, std::uint32_t workgroup_size) {
    if (tier == Tier::barrier) return 8;
    if (sizing_tier(caps, tier) == Tier::pinned) return 5;
    return 7 + workgroup_size;  // each subgroup may take its turn
}

}  // namespace lanewise::detail
