// A sort as part of another primitive's plan.
#pragma once

#include <cstdint>
#include <vector>

#include "lanewise/sort.hpp"

namespace lanewise::detail {

// What the subgroup forms call: SubgroupOperation bits.
inline constexpr std::uint32_t kSortOperations =
    SubgroupOperation::basic | SubgroupOperation::ballot | SubgroupOperation::shuffle;
// A word of look_back's table has a flag of two bits beside its value.
inline constexpr std::uint64_t kMostLookBackCount = (std::uint64_t{1} << 30) - 1;

// A sort, and what no caller of plan_sort asks for.
struct SortTask : SortDesc {
    // The input has images of keys (kernels/item/key.glsl), each in one or two whole words.
    bool images_in = false;
    // With argsort: the keys are written, too, to the output.
    bool keys_too = false;
    // Of the items of a use the first so many are sorted. Not with look_back.
    std::uint32_t most_count = ~0u;
    // Of the sorted items the first so many are written. For one_workgroup alone.
    std::uint32_t most_results = ~0u;
};

// plan_sort of a task. Errors: those of plan_sort.
Result<Plan> plan_sort_task(const Caps& caps, const SortTask& task);

// Its passes, all but count_to_groups: for a plan whose scratch begins as this part says, and whose
// share has the same tiles. A pass of one_workgroup or bitonic is Groups::one there.
struct SortPart {
    std::vector<Pass> passes;
    Share share;
    std::uint64_t scratch_bytes = 0;
    std::uint64_t state_bytes = 0;
    std::uint64_t most_range_bytes = 0;  // that a pass binds
};

// Whether a strategy sorts in one pass of one workgroup.
bool sorts_alone(SortStrategy strategy);

// A policy for `count` items as this device and these records can run it.
SortPolicy fitted_sort_policy(const Caps& caps, const SortDesc& desc, Tier tier,
                              std::uint64_t count, SortPolicy policy);

// task.policy is set, and task.max_count at most what the policy can sort. Errors: those of
// plan_sort that follow from policy and device.
Result<SortPart> sort_part(const Caps& caps, const SortTask& task, Tier tier,
                           Addressing addressing);

}  // namespace lanewise::detail
