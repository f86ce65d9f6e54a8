// sort: keys, pairs or indices in order, stable. primitives/sort/sort.md explains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lanewise/error.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"

namespace lanewise {

enum class SortStrategy : std::uint8_t {
    one_workgroup,  // one pass of one workgroup, sort_workgroup: what its memory can hold
    // For each digit sort_counts, sort_offsets and sort_scatter: waits for nobody.
    count_then_scatter,
    // sort_histograms and sort_bases once, then for each digit sort_lookback: a workgroup learns
    // where its keys go from the counts that those before it publish. A wait that lasts too long
    // ends with counting the missing tile again.
    look_back,
    bitonic,  // one pass of one workgroup, sort_bitonic: by comparisons, not by digits
};

// The tunables of a plan. sort_policy() chooses; a caller may pass its own.
struct SortPolicy {
    SortStrategy strategy = SortStrategy::count_then_scatter;
    std::uint32_t workgroup_size = 256;  // W: a power of two, 4 to 1024
    // Keys of each invocation and tile: 1 to 32; of bitonic a power of two, 2 to 32.
    std::uint32_t items = 8;
    // Of a pass: 1 to 8; in the tier barrier 1 to 4. Of no meaning for bitonic.
    std::uint32_t digit_bits = 8;
    std::uint32_t max_groups = 1024;  // workgroups of one dispatch
    // look_back: looks at a tile that has published nothing, before it is counted again.
    std::uint32_t patience = 4096;
    // For tests: a tile that publishes nothing, as one whose workgroup never runs.
    std::uint32_t silent_tile = ~0u;

    bool operator==(const SortPolicy&) const = default;
};

enum class SortOrder : std::uint8_t { ascending, descending };

struct SortDesc {
    Scalar key = Scalar::u32;
    // Bytes of a value that travels with each key: 0 (none), 4, 8, 12 or 16.
    std::uint32_t value_bytes = 0;
    // The values are the numbers 0, 1, 2, ... of the keys, as u32, and only they are written:
    // values_out[i] is where the i-th key in order stood. value_bytes stays 0.
    bool argsort = false;
    SortOrder order = SortOrder::ascending;
    // Only bits [begin_bit, end_bit) of the key count, of the key as an unsigned number that is in
    // the keys' order (signs and exponents folded in; the same for both orders). Empty: all bits.
    // begin_bit == end_bit leaves everything where it stands.
    std::uint32_t begin_bit = 0;
    std::optional<std::uint32_t> end_bit;
    // The caller's buffers serve for the passes in turn: the input (and the values) are written,
    // too, and Plan::result says where the result is. Takes no more scratch than the counts. For
    // keys of 32 and 64 bits; not with argsort.
    bool ping_pong = false;
    std::uint64_t max_count = 0;  // items, at most, of any use of the plan
    // Forced where set; impossible is an error that says what is missing.
    std::optional<Tier> tier;
    std::optional<Addressing> addressing;
    std::optional<SortPolicy> policy;
};

// Plans a sort.
//
// Buffers: input has the keys, output takes them; values and values_out likewise, in words of
// value_bytes. With argsort there are input and values_out alone. No buffers may overlap. Nothing
// is written past the count, and without ping_pong input and values stay as they are.
//
// Order: stable, also descending: equal keys keep the order in which they stood. Floats are in the
// total order of IEEE 754-2019, 5.10: -NaN, -infinity, ..., -0, +0, ..., +infinity, +NaN. Bits are
// kept, those of NaNs included. Results are the same on every tier, API and device.
//
// Errors: bad_argument (impossible value_bytes, bits or policy), unsupported (a forced tier that
// the device lacks), limit_exceeded (more than 2^32 - 1 items, words of keys or words of values; of
// look_back 2^30 items; bytes of a buffer above the device's largest binding, where device
// addresses are not enabled; values on a device that binds fewer than 5 storage buffers at a time;
// a policy that takes more than 4096 dispatches, or more workgroup memory than the device has).
Result<Plan> plan_sort(const Caps& caps, const SortDesc& desc);

// The policy that plan_sort uses where desc.policy is not set.
SortPolicy sort_policy(const Caps& caps, const SortDesc& desc, Tier tier);

const char* to_text(SortStrategy strategy);
const char* to_text(SortOrder order);
std::optional<SortStrategy> sort_strategy_from_text(std::string_view text);
std::string to_text(const SortPolicy& policy);

}  // namespace lanewise
