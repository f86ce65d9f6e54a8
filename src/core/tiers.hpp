// Which tier a device can take. Each algorithm names the subgroup operations that it needs; the
// first tier whose needs the Caps meet wins.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanewise/caps.hpp"

namespace lanewise::detail {

struct TierChoice {
    Tier tier = Tier::barrier;
    std::string reason;  // one line, for Plan::reason
};

// `operations`: SubgroupOperation bits. A forced tier that the device cannot take is an error
// (unsupported) that names what is missing.
Result<TierChoice> choose_tier(const Caps& caps, std::uint32_t operations,
                               std::optional<Tier> forced);

// The subgroup size to require for workgroups of `workgroup_size`: the reported size where it
// divides the workgroup and may be required, else the largest that does. 0: none.
std::uint32_t pinned_subgroup_size(const SubgroupCaps& subgroup, std::uint32_t workgroup_size);

// How workgroup memory is sized while a policy is fitted to a device: with the size to require in
// the tier pinned (else 0), and as portable where none fits.
struct SizedAs {
    Tier tier = Tier::barrier;
    std::uint32_t subgroup_size = 0;
};
SizedAs sized_as(const Caps& caps, Tier tier, std::uint32_t workgroup_size);

}  // namespace lanewise::detail
