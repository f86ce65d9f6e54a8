// select: the items that a predicate keeps, in order; partition: those first, then the others.
// primitives/select/select.md explains.
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

enum class SelectStrategy : std::uint8_t {
    one_workgroup,  // one pass of one workgroup: the least latency for what it can chew
    // select_counts, then select_tiles: reads what decides twice, waits for nobody.
    count_then_scatter,
    // One pass, select_lookback: each workgroup publishes how many items of its tile are kept and
    // looks back for those before it, as scan's look_back does.
    look_back,
    // The same, where a workgroup counts the tile `ahead` places further on before it moves its
    // own, as scan's reduce_ahead does.
    count_ahead,
    // One pass, select_append, for SelectOrder::any alone: places by an atomic counter, one add for
    // each subgroup (in the tier barrier for each workgroup) and tile.
    append,
};

// The tunables of a plan. select_policy() chooses; a caller may pass its own.
struct SelectPolicy {
    SelectStrategy strategy = SelectStrategy::count_then_scatter;
    std::uint32_t workgroup_size = 256;  // W: a power of two, 4 to 1024
    std::uint32_t vectors = 4;           // 16-byte loads per invocation and tile: 1, 2, 4 or 8
    std::uint32_t max_groups = 1024;     // workgroups of one dispatch
    std::uint32_t ahead = 0;             // count_ahead: tiles, at least 1
    // look_back and count_ahead: looks at a tile that has published nothing, before it is counted
    // again.
    std::uint32_t patience = 4096;
    // For tests: a tile that publishes nothing, as one whose workgroup never runs.
    std::uint32_t silent_tile = ~0u;

    bool operator==(const SelectPolicy&) const = default;
};

// A caller's predicate, as a shader expression: docs/custom.md says what it may use. Its kernels
// are compiled by lanewise::jit, or come from a bundle.
struct CustomPredicate {
    // Names kernels and plans: a letter, then letters, digits and underscores, all lower case.
    std::string name = "custom";
    // An item of the input: 1, 2, or a multiple of 4 bytes, up to 256.
    Fields element;
    // A bool from `x`, an Element, and `index`, the u32 number of the item: whether it is kept. As
    // statements (with `return`) they return a u32: 0 or 1.
    std::string keep;

    bool operator==(const CustomPredicate&) const = default;
};

// The order of what is kept.
enum class SelectOrder : std::uint8_t {
    input,  // as in the input: the same on every tier, device and run
    any,    // whatever comes first: may differ from run to run, also in what a capacity cuts off
};

// What becomes of the items that are not kept.
enum class SelectRest : std::uint8_t {
    dropped,
    rejected,  // written to the buffer `rejected`, in order
    after,     // written to the output behind those that are kept, in order: a partition
};

struct SelectDesc {
    Scalar element = Scalar::u32;
    // In the place of element and flags.
    std::optional<CustomPredicate> predicate;
    // Without a predicate the buffer `flags` says which items are kept: bits of each item's flag,
    // 1 (a bit mask, item i at bit i % 32 of word i / 32), 8, 16 or 32. Not zero: kept.
    std::uint32_t flag_bits = 8;
    // Bytes of a value that travels with each item: 0 (none), 4, 8, 12 or 16.
    std::uint32_t value_bytes = 0;
    // The values are the numbers 0, 1, 2, ... of the items, as u32. value_bytes stays 0.
    bool indices = false;
    // False: the items themselves are not written, only their values or indices.
    bool items = true;
    SelectRest rest = SelectRest::dropped;
    SelectOrder order = SelectOrder::input;
    std::uint64_t max_count = 0;  // items, at most, of any use of the plan; below 2^32
    // Most items that the output has room for. Empty: as many as there are. Not with
    // SelectRest::after.
    std::optional<std::uint64_t> capacity;
    // Forced where set; impossible is an error that says what is missing.
    std::optional<Tier> tier;
    std::optional<Addressing> addressing;
    std::optional<SelectPolicy> policy;
};

// Plans a selection.
//
// Buffers: input has the items, flags what decides (where there is no predicate), output takes
// what is kept; values and values_out likewise; rejected what is not kept; count_out takes one u32,
// the number of items that are kept, whatever the capacity: it may be another plan's CountBuffer,
// or the count of an indirect draw. The first `capacity` of them are written, and nothing behind.
// An empty input writes a count of 0. Without `items` there is no output; with them kept nowhere
// else than in the output `values` travel only with what is kept. No buffers may overlap.
//
// Errors: bad_argument (an impossible predicate, flag_bits, value_bytes or policy; a rest or a
// strategy that the order does not have), unsupported (a forced tier, or a strategy, that the
// device lacks), limit_exceeded (bytes above the device's largest binding where device addresses
// are not enabled; 2^32 items or more; more storage buffers than a pass may have; more workgroup
// memory than the device has).
Result<Plan> plan_select(const Caps& caps, const SelectDesc& desc);

// The policy that plan_select uses where desc.policy is not set.
SelectPolicy select_policy(const Caps& caps, const SelectDesc& desc, Tier tier);

const char* to_text(SelectStrategy strategy);
const char* to_text(SelectOrder order);
const char* to_text(SelectRest rest);
std::optional<SelectStrategy> select_strategy_from_text(std::string_view text);
std::string to_text(const SelectPolicy& policy);

}  // namespace lanewise
