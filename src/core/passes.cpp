#include "src/core/passes.hpp"

#include <fmt/format.h>
#include <algorithm>

#include "src/core/arithmetic.hpp"

namespace lanewise::detail {

std::uint64_t scratch_header_bytes(std::uint32_t dispatches) {
    return round_up(kParameterBytes + std::uint64_t{kIndirectBytes} * dispatches,
                    kScratchAlignment);
}

Pass count_to_groups_pass(const Caps& caps, const Share& share, std::uint64_t max_count,
                          Addressing addressing) {
    const Launch most = share_out(share, max_count);
    Pass pass;
    pass.name = "count_to_groups";
    pass.kernel = fmt::format("count_to_groups.barrier.none.{}", to_text(addressing));
    pass.form = Form::barrier;
    pass.workgroup_size =
        std::min({32u, caps.limits.max_workgroup_invocations, caps.limits.max_workgroup_size_x});
    pass.constants = {{0, "workgroup_size", pass.workgroup_size},
                      {1, "tile_items", share.tile_items},
                      {2, "max_groups", share.max_groups},
                      {3, "max_tiles_per_dispatch", share.max_tiles_per_dispatch},
                      {4, "max_count_low", static_cast<std::uint32_t>(max_count)},
                      {5, "max_count_high", static_cast<std::uint32_t>(max_count >> 32)},
                      {6, "max_dispatches", most.dispatches},
                      {7, "indirect_offset", kParameterBytes}};
    pass.bindings = {Role::count, Role::scratch};
    pass.groups = Groups::one;
    pass.when = When::count_in_buffer;
    return pass;
}

}  // namespace lanewise::detail
