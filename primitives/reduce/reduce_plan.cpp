// Planner of reduce: pure arithmetic from Caps and ReduceDesc to a Plan.
//
//   one_workgroup    reduce_tiles (one workgroup) -> result
//   last_workgroup   reduce_tiles -> partials; the last workgroup to finish -> result
//   two_pass         reduce_tiles -> partials, reduce_partials (one workgroup) -> result
//   arrival_sum      reduce_tiles, each workgroup into one atomic word; the last one -> result
// and before them, where the count is in a buffer, count_to_groups.

#include <fmt/format.h>
#include <algorithm>
#include <bit>

#include "lanewise/reduce.hpp"
#include "primitives/reduce/reduce_policy.hpp"
#include "src/core/accumulators.hpp"
#include "src/core/arithmetic.hpp"
#include "src/core/names.hpp"
#include "src/core/passes.hpp"
#include "src/core/policy_rows.hpp"
#include "src/core/tiers.hpp"
#include "src/core/workgroups.hpp"

namespace lanewise {
namespace {

constexpr detail::Names<ReduceStrategy, 4> kStrategyNames{
    {{ReduceStrategy::one_workgroup, "one_workgroup"},
     {ReduceStrategy::last_workgroup, "last_workgroup"},
     {ReduceStrategy::two_pass, "two_pass"},
     {ReduceStrategy::arrival_sum, "arrival_sum"}}};

// What the subgroup form of workgroup_reduce and workgroup_vlane call.
constexpr std::uint32_t kOperations =
    SubgroupOperation::basic | SubgroupOperation::ballot | SubgroupOperation::shuffle;

constexpr std::uint32_t kMostBindings = 4;  // of a pass: reduce_tiles
// Indirect arguments are held for every dispatch that max_count could take.
constexpr std::uint32_t kMaxDispatches = 4096;

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected(Error{code, "reduce: " + std::move(message), {}});
}

using detail::AccumulatorLayout;
using detail::combination_of;
using detail::workgroup_reduce_barriers;
using detail::workgroup_reduce_slots;

AccumulatorLayout layout_of(const ReduceDesc& desc) {
    return detail::layout_of(combination_of(desc));
}

// What arrival_sum lacks; empty when it can be.
std::string arrival_sum_lacks(const Caps& caps, const ReduceDesc& desc) {
    if (desc.custom || desc.op != Operator::sum || is_float(desc.element) ||
        size_of(reduce_accumulator(desc)) != 4) {
        return "arrival_sum is for sums of integers in 32 bits";
    }
    if (!caps.int64_atomics || !caps.types.int64) {
        return "arrival_sum needs 64-bit atomics (shaderInt64, shaderBufferInt64Atomics)";
    }
    return {};
}

struct Shape {
    ReducePolicy policy;
    std::uint32_t subgroup_size = 0;  // pinned tier
    Share share;
    std::uint64_t scratch_bytes = 0;
    std::uint64_t partials_offset = 0;   // in scratch, bytes
    Launch launch;                       // of max_count
    std::uint32_t workgroup_memory = 0;  // bytes of a workgroup_reduce
    std::uint32_t barriers = 0;          // of a workgroup_reduce
};

// Beside it, reduce_tiles shares how many workgroups have arrived.
constexpr std::uint32_t kArrivedBytes = 4;

std::uint32_t items_per_vector(const ReduceDesc& desc) {
    const detail::Combination combination = combination_of(desc);
    return detail::vector_bytes(combination) / detail::element_bytes(combination);
}

// Everything that follows from a policy; an error where the device or the arithmetic forbids it.
Result<Shape> shape_of(const Caps& caps, const ReduceDesc& desc, Tier tier,
                       const ReducePolicy& policy, std::uint64_t count) {
    const AccumulatorLayout layout = layout_of(desc);
    const std::uint32_t w = policy.workgroup_size;
    if (!std::has_single_bit(w) || w < 4 || w > 1024) {
        return fail(ErrorCode::bad_argument,
                    fmt::format("policy: workgroup_size {} is no power of two from 4 to 1024", w));
    }
    if (!std::has_single_bit(policy.vectors) || policy.vectors > 16) {
        return fail(ErrorCode::bad_argument,
                    fmt::format("policy: vectors {} is not 1, 2, 4, 8 or 16", policy.vectors));
    }
    if (policy.max_groups == 0) {
        return fail(ErrorCode::bad_argument, "policy: max_groups is 0");
    }
    if (auto checked = detail::check_workgroup_size(caps, w, "reduce"); !checked)
        return tl::unexpected(checked.error());
    if (policy.strategy == ReduceStrategy::last_workgroup && !caps.device_scope_barrier) {
        return fail(ErrorCode::unsupported,
                    "policy: last_workgroup needs a memory barrier of device scope; use two_pass");
    }
    if (policy.strategy == ReduceStrategy::arrival_sum) {
        if (std::string lacks = arrival_sum_lacks(caps, desc); !lacks.empty()) {
            return fail(ErrorCode::unsupported, "policy: " + std::move(lacks));
        }
    }
    Shape shape;
    shape.policy = policy;
    const auto size = detail::required_subgroup_size(caps, tier, w, "reduce");
    if (!size) return tl::unexpected(size.error());
    shape.subgroup_size = *size;
    const Tier sizing = detail::sizing_tier(caps, tier);
    shape.workgroup_memory =
        workgroup_reduce_slots(sizing, w, shape.subgroup_size) * layout.workgroup_bytes() +
        detail::numbering_bytes(caps, tier);
    shape.barriers = workgroup_reduce_barriers(sizing, w, shape.subgroup_size);
    if (shape.workgroup_memory + kArrivedBytes > caps.limits.max_workgroup_memory) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("policy: workgroup_size {} needs {} bytes of workgroup memory, the "
                                "device has {}",
                                w, shape.workgroup_memory + kArrivedBytes,
                                caps.limits.max_workgroup_memory));
    }

    Share& share = shape.share;
    share.tile_items = w * policy.vectors * items_per_vector(desc);
    share.max_groups = policy.strategy == ReduceStrategy::one_workgroup
                           ? 1
                           : std::min(policy.max_groups, caps.limits.max_groups_x);
    // A single workgroup takes whatever there is; the rest keep to the bound of one dispatch.
    if (policy.strategy != ReduceStrategy::one_workgroup && policy.max_items_per_dispatch > 0) {
        share.max_tiles_per_dispatch = static_cast<std::uint32_t>(
            std::clamp<std::uint64_t>(policy.max_items_per_dispatch / share.tile_items, 1, ~0u));
        share.max_groups = std::min(share.max_groups, share.max_tiles_per_dispatch);
    }
    if (detail::divide_up(count, share.tile_items) > ~0u) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} makes more than 2^32 - 1 tiles of {} items", count,
                                share.tile_items));
    }
    shape.launch = share_out(share, count);
    if (shape.launch.dispatches > kMaxDispatches) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} takes {} dispatches, the limit is {}: raise "
                                "max_items_per_dispatch",
                                count, shape.launch.dispatches, kMaxDispatches));
    }
    shape.partials_offset = detail::scratch_header_bytes(shape.launch.dispatches);
    shape.scratch_bytes = shape.partials_offset;
    if (policy.strategy == ReduceStrategy::last_workgroup ||
        policy.strategy == ReduceStrategy::two_pass) {
        shape.scratch_bytes += detail::partials_bound(share, count) * layout.bytes();
    }
    shape.scratch_bytes = detail::round_up(shape.scratch_bytes, detail::kScratchAlignment);
    return shape;
}

// The table's policy as this device can run it.
ReducePolicy fitted(const Caps& caps, const ReduceDesc& desc, Tier tier, ReducePolicy policy) {
    policy.workgroup_size = detail::fitted_workgroup(caps, tier, policy.workgroup_size);
    if (desc.custom) {
        // Elements may be long; a lane holds no more than this of them at a time. In order, the
        // workgroup reduces for every tile: less of it waits at the barrier then.
        const std::uint32_t most_bytes = desc.custom->commutative ? 128 : 64;
        if (!desc.custom->commutative)
            policy.workgroup_size = std::min(policy.workgroup_size, 256u);
        while (policy.vectors > 1 &&
               policy.vectors * detail::vector_bytes(combination_of(desc)) > most_bytes) {
            policy.vectors /= 2;
        }
    }
    const std::uint32_t accumulator_bytes = layout_of(desc).workgroup_bytes();
    while (policy.workgroup_size > 4 &&
           workgroup_reduce_slots(Tier::barrier, policy.workgroup_size, 0) * accumulator_bytes +
                   detail::numbering_bytes(caps, tier) + kArrivedBytes >
               caps.limits.max_workgroup_memory) {
        policy.workgroup_size /= 2;
    }
    if (policy.strategy == ReduceStrategy::last_workgroup) {
        if (arrival_sum_lacks(caps, desc).empty()) {
            policy.strategy = ReduceStrategy::arrival_sum;
        } else if (!caps.device_scope_barrier) {
            policy.strategy = ReduceStrategy::two_pass;
        }
    }
    return policy;
}

// Scratch is monotone in max_count although the policy changes with it: the most that the default
// policies of all smaller inputs would take.
std::uint64_t monotone_scratch_bytes(const Caps& caps, const ReduceDesc& desc, Tier tier,
                                     std::uint64_t own_bytes) {
    std::uint64_t bytes = own_bytes;
    for (const detail::ReducePolicyRow& row : detail::reduce_policy_rows(caps, tier)) {
        const std::uint64_t row_count = row.max_bytes / detail::element_bytes(combination_of(desc));
        if (row_count >= desc.max_count) break;
        const auto shape =
            shape_of(caps, desc, tier, fitted(caps, desc, tier, row.policy), row_count);
        if (shape) bytes = std::max(bytes, shape->scratch_bytes);
    }
    return bytes;
}

}  // namespace

Scalar reduce_accumulator(const ReduceDesc& desc) {
    return desc.accumulator.value_or(detail::default_accumulator(desc.element));
}

std::uint32_t reduce_index_bytes(const ReduceDesc& desc) {
    return detail::index_bytes(combination_of(desc));
}

std::uint32_t reduce_result_bytes(const ReduceDesc& desc) {
    return detail::result_bytes(combination_of(desc));
}

ReducePolicy reduce_policy(const Caps& caps, const ReduceDesc& desc, Tier tier) {
    return fitted(caps, desc, tier,
                  detail::policy_for_bytes(detail::reduce_policy_rows(caps, tier), desc.max_count,
                                           detail::element_bytes(combination_of(desc))));
}

Result<Plan> plan_reduce(const Caps& caps, const ReduceDesc& desc) {
    if (std::string why = detail::mismatch(combination_of(desc)); !why.empty()) {
        return fail(ErrorCode::bad_argument, std::move(why));
    }
    if (desc.custom && !desc.custom->initial.empty()) {
        return fail(ErrorCode::bad_argument,
                    "custom operator: `initial` is for scans; `nothing` is what no items give");
    }
    const std::uint64_t element_bytes = detail::element_bytes(combination_of(desc));
    if (auto refused = detail::check_device(caps, combination_of(desc), "reduce"); !refused)
        return tl::unexpected(refused.error());
    const AccumulatorLayout layout = layout_of(desc);
    const auto choice = detail::choose_tier(caps, kOperations, desc.tier);
    if (!choice) return tl::unexpected(choice.error());
    const Tier tier = choice->tier;

    const std::uint64_t input_bytes = detail::provided_bytes(
        caps, std::max<std::uint64_t>(4, detail::round_up(desc.max_count * element_bytes, 4)));
    const auto addressing = detail::choose_addressing(
        caps, desc.addressing, desc.max_count, input_bytes, kMostBindings, "reduce",
        fmt::format("items of {}", detail::element_text(combination_of(desc))));
    if (!addressing) return tl::unexpected(addressing.error());

    const ReducePolicy policy = desc.policy.value_or(reduce_policy(caps, desc, tier));
    const auto shape = shape_of(caps, desc, tier, policy, desc.max_count);
    if (!shape) return tl::unexpected(shape.error());

    Plan plan;
    plan.primitive = "reduce";
    plan.summary = fmt::format("{} of {} into {}", detail::operator_text(combination_of(desc)),
                               detail::element_text(combination_of(desc)),
                               detail::output_text(combination_of(desc)));
    plan.custom = desc.custom;
    plan.tier = tier;
    plan.reason = choice->reason;
    plan.policy = to_text(policy);
    plan.addressing = *addressing;
    plan.max_count = desc.max_count;
    plan.element_bytes = static_cast<std::uint32_t>(element_bytes);
    plan.share = shape->share;
    plan.indirect_offset = detail::kParameterBytes;

    const std::uint32_t usage = detail::buffer_usage(*addressing);
    const std::uint32_t alignment = detail::buffer_alignment(caps, *addressing);
    const std::uint64_t scratch_bytes =
        desc.policy ? shape->scratch_bytes
                    : monotone_scratch_bytes(caps, desc, tier, shape->scratch_bytes);
    plan.arguments = {{Role::input, input_bytes, alignment, usage, Access::read},
                      {Role::output, reduce_result_bytes(desc), alignment, usage, Access::write},
                      {Role::scratch, scratch_bytes, alignment,
                       detail::scratch_usages(caps, *addressing), Access::read_write}};
    const bool last_workgroup = policy.strategy == ReduceStrategy::last_workgroup;
    const bool arrival_sum = policy.strategy == ReduceStrategy::arrival_sum;
    plan.state_bytes = last_workgroup ? 4 : arrival_sum ? 8 : 0;

    const Form form = tier == Tier::barrier ? Form::barrier : Form::subgroup;
    const bool full = detail::sizing_tier(caps, tier) == Tier::pinned;
    const auto make_pass = [&](const char* name, const std::string& types) {
        Pass pass;
        pass.name = name;
        pass.kernel = fmt::format("{}.{}.{}.{}", name, to_text(form), types, to_text(*addressing));
        pass.form = form;
        pass.workgroup_size = policy.workgroup_size;
        pass.required_subgroup_size = shape->subgroup_size;
        pass.full_subgroups = full;
        pass.constants = {
            {0, "workgroup_size", policy.workgroup_size},
            {1, "vectors", policy.vectors},
            {2, "op", static_cast<std::uint32_t>(desc.op)},
            {3, "element_kind", detail::element_kind(desc.element)},
            {4, "element_bits", static_cast<std::uint32_t>(8 * element_bytes)},
            {5, "strategy", static_cast<std::uint32_t>(policy.strategy)},
            {6, "partials_offset", static_cast<std::uint32_t>(shape->partials_offset / 4)},
            {7, "subgroup_size", shape->subgroup_size},
            {8, "full_subgroups", full ? 1u : 0u}};
        pass.waits = true;
        pass.workgroup_memory = shape->workgroup_memory;
        pass.barriers = shape->barriers;
        return pass;
    };

    plan.passes.push_back(
        detail::count_to_groups_pass(caps, plan.share, desc.max_count, *addressing));
    Pass tiles = make_pass("reduce_tiles", detail::kernel_types(combination_of(desc)) +
                                               (arrival_sum ? "_atomic64" : ""));
    // Strategies without state bind scratch in its place: the kernel does not touch it.
    tiles.bindings = {Role::input, Role::output, Role::scratch,
                      plan.state_bytes > 0 ? Role::state : Role::scratch};
    tiles.groups = Groups::share;
    tiles.workgroup_memory += kArrivedBytes;
    // The last workgroup reduces once more, after a barrier that tells it that it is the last;
    // where one subgroup can hold all partials, that does it without.
    const bool one_subgroup_finishes =
        tier == Tier::pinned && detail::partials_bound(plan.share, desc.max_count) <=
                                    std::min(policy.workgroup_size, 8 * shape->subgroup_size);
    if (last_workgroup && !one_subgroup_finishes) tiles.barriers = 2 * shape->barriers + 1;
    plan.passes.push_back(std::move(tiles));
    if (policy.strategy == ReduceStrategy::two_pass) {
        Pass partials = make_pass("reduce_partials", layout.name());
        partials.bindings = {Role::scratch, Role::output};
        partials.groups = Groups::one;
        plan.passes.push_back(std::move(partials));
    }
    return plan;
}

const char* to_text(ReduceStrategy strategy) { return detail::name_of(kStrategyNames, strategy); }

std::optional<ReduceStrategy> reduce_strategy_from_text(std::string_view text) {
    return detail::value_of(kStrategyNames, text);
}

std::string to_text(const ReducePolicy& policy) {
    return fmt::format(
        "{}, workgroup_size {}, vectors {}, max_groups {}, max_items_per_dispatch {}",
        to_text(policy.strategy), policy.workgroup_size, policy.vectors, policy.max_groups,
        policy.max_items_per_dispatch);
}

}  // namespace lanewise
