// segmented_reduce: one value from each of many segments, by an associative operator.
// primitives/segmented_reduce/segmented_reduce.md explains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "lanewise/custom.hpp"
#include "lanewise/error.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"

namespace lanewise {

enum class SegmentedReduceStrategy : std::uint8_t {
    one_workgroup,  // one pass of one workgroup: the least latency for what it can chew
    // segmented_reduce_tiles, then segmented_reduce_partials for the segments that workgroups share
    two_pass,
};

// The tunables of a plan. segmented_reduce_policy() chooses; a caller may pass its own.
struct SegmentedReducePolicy {
    SegmentedReduceStrategy strategy = SegmentedReduceStrategy::two_pass;
    std::uint32_t workgroup_size = 256;  // W: a power of two, 4 to 1024
    std::uint32_t vectors = 4;           // 16-byte loads per invocation and tile: 1, 2, 4 or 8
    std::uint32_t max_groups = 1024;     // workgroups of one dispatch

    bool operator==(const SegmentedReducePolicy&) const = default;
};

struct SegmentedReduceDesc {
    Scalar element = Scalar::u32;
    Operator op = Operator::sum;
    // As of ReduceDesc.
    std::optional<Scalar> accumulator;
    // The caller's own type and operator, in the place of element, op and accumulator. It need not
    // be commutative.
    std::optional<CustomOperator> custom;
    std::uint64_t max_count = 0;     // items, at most, of any use of the plan; below 2^32
    std::uint64_t max_segments = 0;  // likewise; below 2^31
    // Forced where set; impossible is an error that says what is missing.
    std::optional<Tier> tier;
    std::optional<Addressing> addressing;
    std::optional<SegmentedReducePolicy> policy;
};

// Plans a reduction of segments.
//
// Buffers: input; offsets, which is read: u32 numbers that do not descend, segment s being items
// [offsets[s], offsets[s + 1]); output, with room for max_segments results. The range of offsets
// that is bound says how many segments there are: one fewer than it has numbers. Results beyond
// them are not written; of more than max_segments the first so many count.
//
// The result of a segment is what plan_reduce says of its items, in as many bytes
// (segmented_reduce_result_bytes): for argmin and argmax the index is that in the whole input; a
// segment without items gives what an empty input gives there. Items before the first offset and
// from the last on are of no segment. Offsets that pass the count count as the count. Where offsets
// descend, results are undefined, and no memory outside the buffers is touched.
//
// The work is shared out by items: neither one segment of everything nor millions of short ones are
// slow. A use with far more segments than items is, as only so many workgroups write the results.
//
// Floats: as of plan_reduce; sums and products have an order that max_count, the policy and the
// offsets fix.
//
// In place: output and scratch must not overlap input or offsets, nor each other.
//
// Errors: as of plan_reduce; and limit_exceeded where max_count or max_segments are.
Result<Plan> plan_segmented_reduce(const Caps& caps, const SegmentedReduceDesc& desc);

// The policy that plan_segmented_reduce uses where desc.policy is not set.
SegmentedReducePolicy segmented_reduce_policy(const Caps& caps, const SegmentedReduceDesc& desc,
                                              Tier tier);

// Type of the value in a result: desc.accumulator or its default.
Scalar segmented_reduce_accumulator(const SegmentedReduceDesc& desc);
// Bytes of a result: 4, 8 or 16; of a custom operator its Result's.
std::uint32_t segmented_reduce_result_bytes(const SegmentedReduceDesc& desc);

const char* to_text(SegmentedReduceStrategy strategy);
std::optional<SegmentedReduceStrategy> segmented_reduce_strategy_from_text(std::string_view text);
std::string to_text(const SegmentedReducePolicy& policy);

}  // namespace lanewise
