// What planners know of kernels/workgroup/rank_*: how its counters fit into workgroup memory, the
// constants that say so, and its barriers.
#pragma once

#include <cstdint>
#include <optional>

#include "lanewise/caps.hpp"
#include "lanewise/plan.hpp"

namespace lanewise::detail {

inline constexpr std::uint32_t kMostRankBits = 8;
inline constexpr std::uint32_t kMostBarrierRankBits = 4;
inline constexpr std::uint32_t kMostRankItems = 32;     // of a lane
inline constexpr std::uint32_t kMostRankTile = 65535;   // items: ranks have 16 bits
inline constexpr std::uint32_t kMostRankVariables = 8;  // of a kernel in workgroup memory

// What is ranked: a tile of workgroup_size * items keys, by a digit of digit_bits.
struct RankShape {
    std::uint32_t workgroup_size = 256;
    std::uint32_t items = 8;
    std::uint32_t digit_bits = 8;
    std::uint32_t other_words = 0;  // of workgroup memory that the kernel has besides
};

// Counters of rank_subgroup.glsl.
struct Ranks {
    std::uint32_t slots = 1;      // subgroups with counters of their own
    bool overlay = true;          // counters share words with what moves
    std::uint32_t subgroups = 0;  // of a workgroup, where they are full; 0: not known
};

// kOffsetsWords of kernels/workgroup/offsets_barrier.glsl.
std::uint32_t offsets_words(std::uint32_t workgroup_size);

// Words of workgroup memory of a kernel that ranks.
std::uint32_t rank_words(const Caps& caps, Tier tier, const RankShape& shape, const Ranks& ranks);

// The most counters that fit beside a tile, from one set for the smallest subgroup that may come
// down to one set for all. subgroup_size: that is required; 0: none.
std::optional<Ranks> ranks_of(const Caps& caps, Tier tier, const RankShape& shape,
                              std::uint32_t subgroup_size);

// Constants 5 and 6 of a kernel with subgroups, and 7 to 9 of one that ranks; pass.full_subgroups
// and required_subgroup_size are set.
void add_subgroup_constants(Pass& pass);
void add_rank_constants(Pass& pass, const Caps& caps, const Ranks& ranks);

// Control barriers of a workgroup_rank, at most.
std::uint32_t rank_barriers(const Caps& caps, Tier tier, std::uint32_t workgroup_size);

}  // namespace lanewise::detail
