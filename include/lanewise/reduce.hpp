// reduce: one value from many, by an associative operator. primitives/reduce/reduce.md explains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanewise/custom.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"

namespace lanewise {

enum class ReduceStrategy : std::uint8_t {
    one_workgroup,   // one pass of one workgroup: the least latency for what it can chew
    last_workgroup,  // one pass; the workgroup that finishes last combines the partials
    two_pass,        // reduce_tiles, then reduce_partials: needs nothing of the device
    // One pass; each workgroup adds its sum and its arrival to one 64-bit word, so that the last to
    // arrive has the result. Sums of integers in 32 bits; needs 64-bit atomics.
    arrival_sum,
};

// The tunables of a plan. reduce_policy() chooses; a caller may pass its own.
struct ReducePolicy {
    ReduceStrategy strategy = ReduceStrategy::two_pass;
    std::uint32_t workgroup_size = 256;  // W: a power of two, 4 to 1024
    std::uint32_t vectors = 4;           // 16-byte loads per invocation and tile: 1, 2, 4, 8 or 16
    std::uint32_t max_groups = 1024;     // workgroups of one dispatch of reduce_tiles
    // Items that one dispatch may handle (0: no bound): keeps a dispatch short where a watchdog
    // ends long ones. More items take more dispatches; only indirect ones have a barrier between
    // them.
    std::uint64_t max_items_per_dispatch = std::uint64_t{1} << 31;

    bool operator==(const ReducePolicy&) const = default;
};

struct ReduceDesc {
    Scalar element = Scalar::u32;
    Operator op = Operator::sum;
    // The type in which sums are formed and the result is given. Default: the element itself, but
    // u32, i32, f32 for 8- and 16-bit elements. Allowed: the default, and u64, i64 or f64 (of the
    // element's kind; argmin and argmax take the default). Integer sums and products wrap in it.
    std::optional<Scalar> accumulator;
    // The caller's own type and operator, in the place of element, op and accumulator.
    std::optional<CustomOperator> custom;
    std::uint64_t max_count = 0;  // items, at most, of any use of the plan
    Determinism determinism = Determinism::run_to_run;
    // Forced where set; impossible is an error that says what is missing.
    std::optional<Tier> tier;
    std::optional<Addressing> addressing;
    std::optional<ReducePolicy> policy;
};

// Plans a reduction.
//
// Result in `output`: a custom operator's Result, or the value, in the accumulator type (4 or 8
// bytes). For argmin and argmax: the value, then the index, in two words of equal size: 4 bytes
// each, or 8 each when the accumulator has 8 or max_count is above 2^32 (a value of 4 bytes then
// has the low ones, above zeros).
//
// Empty input: the identity: 0 for sum, or, xor; 1 for product; all bits set for and; the largest
// value (floats: +infinity) for min, the smallest (-infinity) for max; for argmin and argmax that
// value and the index with all bits set; of a custom operator what it says (`nothing`).
//
// Floats: min, max, argmin, argmax ignore NaN unless all elements are NaN; then the value is the
// quiet NaN (index 0). -0 is below +0. Sums and products follow IEEE arithmetic in the accumulator
// type, NaN included; run_to_run fixes their order by the policy and max_count.
//
// In place: output and scratch must not overlap input, nor each other.
//
// Errors: bad_argument (an operator that the type does not have, an impossible accumulator or
// policy), unsupported (a forced tier, or a type, that the device lacks), limit_exceeded (the
// input's bytes against the device's largest binding, where device addresses are not enabled; a
// policy that takes more workgroup memory than the device has).
Result<Plan> plan_reduce(const Caps& caps, const ReduceDesc& desc);

// The policy that plan_reduce uses where desc.policy is not set.
ReducePolicy reduce_policy(const Caps& caps, const ReduceDesc& desc, Tier tier);

// Type of the value in the result: desc.accumulator or its default.
Scalar reduce_accumulator(const ReduceDesc& desc);
// Bytes of the result: 4, 8 or 16.
std::uint32_t reduce_result_bytes(const ReduceDesc& desc);
// Bytes of each of the two words of an argmin or argmax result: 4 or 8.
std::uint32_t reduce_index_bytes(const ReduceDesc& desc);

const char* to_text(ReduceStrategy strategy);
std::optional<ReduceStrategy> reduce_strategy_from_text(std::string_view text);
std::string to_text(const ReducePolicy& policy);

}  // namespace lanewise
