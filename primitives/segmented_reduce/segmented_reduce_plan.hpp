// A reduction of segments as part of another primitive's plan.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lanewise/segmented_reduce.hpp"

namespace lanewise::detail {

// What the subgroup forms call: SubgroupOperation bits.
inline constexpr std::uint32_t kSegmentedReduceOperations =
    SubgroupOperation::basic | SubgroupOperation::ballot | SubgroupOperation::shuffle;

// A reduction of segments, and what no caller of plan_segmented_reduce asks for.
struct SegmentedReduceTask : SegmentedReduceDesc {
    // Where the first word is how many segments there are, at most max_segments of which count. It
    // may be a range of scratch; offsets has one number more. Unset: the range that is bound as
    // Role::offsets says so.
    std::optional<PassBuffer> segment_total;
};

// Its passes, all but count_to_groups: for a plan whose scratch begins as this part says, and which
// has this share. They bind Role::input, Role::offsets (read) and Role::output (written), in whose
// places a plan may put ranges of scratch that lie behind scratch_bytes.
struct SegmentedReducePart {
    std::vector<Pass> passes;
    Share share;
    std::uint64_t scratch_bytes = 0;     // that it takes, from the first byte on; a multiple of 256
    std::uint64_t most_range_bytes = 0;  // that a pass binds of input, output and scratch
};

// A policy for this device and these types. Where `policy` is none of theirs, the nearest.
SegmentedReducePolicy fitted_segmented_reduce_policy(const Caps& caps,
                                                     const SegmentedReduceDesc& desc, Tier tier,
                                                     SegmentedReducePolicy policy);

// What plan_segmented_reduce refuses whatever the tier. `primitive` goes into messages.
Result<void> check_segmented_reduce(const Caps& caps, const SegmentedReduceDesc& desc,
                                    const char* primitive);

// task.policy is set, and check_segmented_reduce has nothing against it. Errors: those of
// plan_segmented_reduce that follow from policy and device.
Result<SegmentedReducePart> segmented_reduce_part(const Caps& caps, const SegmentedReduceTask& task,
                                                  Tier tier, Addressing addressing);

}  // namespace lanewise::detail
