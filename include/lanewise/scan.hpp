// scan: every prefix of the input combined by an associative operator. primitives/scan/scan.md
// explains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanewise/custom.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"

namespace lanewise {

enum class ScanStrategy : std::uint8_t {
    one_workgroup,     // one pass of one workgroup: the least latency for what it can chew
    reduce_then_scan,  // scan_sums, then scan_tiles: reads the input twice, waits for nobody
    // One pass, scan_lookback: each workgroup publishes the sum of its tile and looks back for
    // those before it. A wait that lasts too long ends with summing the missing tile again.
    look_back,
    // The same, where a workgroup publishes the sum of the tile `ahead` places further on before it
    // scans its own, so that nobody has to wait; that tile's second read comes from the cache.
    reduce_ahead,
};

// The tunables of a plan. scan_policy() chooses; a caller may pass its own.
struct ScanPolicy {
    ScanStrategy strategy = ScanStrategy::reduce_then_scan;
    std::uint32_t workgroup_size = 256;  // W: a power of two, 4 to 1024
    std::uint32_t vectors = 4;           // 16-byte loads per invocation and tile: 1, 2, 4 or 8
    std::uint32_t max_groups = 1024;     // workgroups of one dispatch
    std::uint32_t ahead = 0;             // reduce_ahead: tiles, at least 1
    // look_back and reduce_ahead: looks at a tile that has published nothing, before it is summed
    // again.
    std::uint32_t patience = 4096;
    // For tests: a tile that publishes nothing, as one whose workgroup never runs.
    std::uint32_t silent_tile = ~0u;

    bool operator==(const ScanPolicy&) const = default;
};

enum class ScanKind : std::uint8_t { inclusive, exclusive };
enum class Direction : std::uint8_t { forward, reverse };

struct ScanDesc {
    Scalar element = Scalar::u32;
    Operator op = Operator::sum;
    ScanKind kind = ScanKind::inclusive;
    // reverse: from the last item to the first; each output then combines the items from its own
    // (or the one after it) to the end.
    Direction direction = Direction::forward;
    // The type of the output, in which sums are formed, as in ReduceDesc.
    std::optional<Scalar> accumulator;
    // The caller's own type and operator, in the place of element, op, accumulator and initial.
    std::optional<CustomOperator> custom;
    // Combined before the first item, as bits of the accumulator type (low ones first). Not for
    // argmin and argmax; for min and max only where the accumulator is the element's type.
    std::optional<std::uint64_t> initial;
    std::uint64_t max_count = 0;  // items, at most, of any use of the plan
    Determinism determinism = Determinism::run_to_run;
    // Forced where set; impossible is an error that says what is missing.
    std::optional<Tier> tier;
    std::optional<Addressing> addressing;
    std::optional<ScanPolicy> policy;
};

// Plans a scan.
//
// Output, for each item: what reduce would give (lanewise/reduce.hpp: value, or value and index, in
// words of reduce_result_bytes) for the items up to and including it, or up to but without it. The
// first output of an exclusive scan is `initial`, or else reduce's result of no items. Of a custom
// operator it is a Result, and its first argument is what comes first in the scan's order. Outputs
// past the count are not written. An empty input writes nothing.
//
// Floats: min, max, argmin, argmax as in reduce; argmin and argmax of nothing but NaN give the
// lowest index of the items combined. Sums and products follow IEEE arithmetic; with run_to_run
// their order is fixed by the policy, the subgroup size and max_count; with unordered it may change
// from run to run, which the strategies look_back and reduce_ahead need for floats.
//
// In place: the output may be the input (the same range) where an output has an element's bytes and
// the strategy is one_workgroup or reduce_then_scan: Plan::in_place says so. Otherwise no buffers
// may overlap.
//
// Errors: bad_argument (an operator that the type does not have, an impossible accumulator, initial
// value or policy), unsupported (a forced tier, a strategy, or a type, that the device lacks),
// limit_exceeded (bytes of input or output above the device's largest binding, where device
// addresses are not enabled; a policy that takes more than 4096 dispatches, or more workgroup
// memory than the device has).
Result<Plan> plan_scan(const Caps& caps, const ScanDesc& desc);

// The policy that plan_scan uses where desc.policy is not set.
ScanPolicy scan_policy(const Caps& caps, const ScanDesc& desc, Tier tier);

// Type of the values in the output: desc.accumulator or its default.
Scalar scan_accumulator(const ScanDesc& desc);
// Bytes of each output: 4, 8 or 16.
std::uint32_t scan_result_bytes(const ScanDesc& desc);

const char* to_text(ScanStrategy strategy);
const char* to_text(ScanKind kind);
const char* to_text(Direction direction);
std::optional<ScanStrategy> scan_strategy_from_text(std::string_view text);
std::string to_text(const ScanPolicy& policy);

}  // namespace lanewise
