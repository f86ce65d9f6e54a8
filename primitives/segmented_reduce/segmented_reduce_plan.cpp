// Planner of segmented_reduce: pure arithmetic from Caps and SegmentedReduceDesc to a Plan.
//
//   one_workgroup    segmented_reduce_tiles (one workgroup)
//   two_pass         segmented_reduce_tiles -> partials, segmented_reduce_partials (one workgroup)
// and before them, where the count is in a buffer, count_to_groups.

#include "primitives/segmented_reduce/segmented_reduce_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "primitives/segmented_reduce/segmented_reduce_policy.hpp"
#include "src/core/accumulators.hpp"
#include "src/core/arithmetic.hpp"
#include "src/core/names.hpp"
#include "src/core/passes.hpp"
#include "src/core/policy_rows.hpp"
#include "src/core/tiers.hpp"
#include "src/core/workgroups.hpp"

namespace lanewise {
namespace {

using detail::AccumulatorLayout;
using detail::combination_of;

constexpr detail::Names<SegmentedReduceStrategy, 2> kStrategyNames{
    {{SegmentedReduceStrategy::one_workgroup, "one_workgroup"},
     {SegmentedReduceStrategy::two_pass, "two_pass"}}};

constexpr std::uint32_t kVectorBytes = 16;  // that policies speak of
constexpr std::uint32_t kMostBindings = 5;  // of a pass: segmented_reduce_tiles
constexpr std::uint32_t kMaxDispatches = 4096;

// Offsets are numbers of 32 bits, and kernels count them in as many, some steps ahead.
constexpr std::uint64_t kMostCount = ~0u;
constexpr std::uint64_t kMostSegments = ~0u >> 1;

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected(Error{code, "segmented_reduce: " + std::move(message), {}});
}

AccumulatorLayout layout_of(const SegmentedReduceDesc& desc) {
    AccumulatorLayout layout = detail::layout_of(combination_of(desc));
    layout.segmented = true;
    return layout;
}

std::uint32_t items_per_vector(const SegmentedReduceDesc& desc) {
    const detail::Combination combination = combination_of(desc);
    return detail::vector_bytes(combination) / detail::element_bytes(combination);
}

struct Shape {
    SegmentedReducePolicy policy;
    std::uint32_t subgroup_size = 0;  // pinned tier
    Share share;
    Launch launch;                      // of max_count
    std::uint64_t partials_offset = 0;  // in scratch, bytes
    std::uint64_t incoming_offset = 0;  // likewise
    std::uint64_t scratch_bytes = 0;
    std::uint32_t scan_memory = 0;       // bytes of workgroup memory of a workgroup_scan
    std::uint32_t workgroup_memory = 0;  // bytes, of segmented_reduce_tiles
    std::uint32_t scan_barriers = 0;
};

std::uint32_t scan_memory(const Caps& caps, const SegmentedReduceDesc& desc, Tier tier,
                          const SegmentedReducePolicy& policy, std::uint32_t size) {
    return detail::workgroup_scan_slots(detail::sizing_tier(caps, tier), policy.workgroup_size,
                                        policy.vectors, size) *
               layout_of(desc).workgroup_bytes() +
           detail::numbering_bytes(caps, tier);
}

// kernels/tile/segments.glsl: marks, and ends with a slot more for each item of a vector; and
// sh_incoming.
std::uint32_t marks_memory(const SegmentedReduceDesc& desc, const SegmentedReducePolicy& policy) {
    const std::uint32_t vectors = policy.workgroup_size * policy.vectors;
    const std::uint32_t marks = vectors * items_per_vector(desc) / 32 + 1;
    return 4 * (marks + items_per_vector(desc) * (vectors + 1) + 1);
}

std::string impossible(const SegmentedReducePolicy& policy) {
    const std::uint32_t w = policy.workgroup_size;
    if (!std::has_single_bit(w) || w < 4 || w > 1024)
        return fmt::format("workgroup_size {} is no power of two from 4 to 1024", w);
    if (!std::has_single_bit(policy.vectors) || policy.vectors > 8)
        return fmt::format("vectors {} is not 1, 2, 4 or 8", policy.vectors);
    if (policy.max_groups == 0) return "max_groups is 0";
    return {};
}

// Everything that follows from a policy; an error where the device or the arithmetic forbids it.
Result<Shape> shape_of(const Caps& caps, const SegmentedReduceDesc& desc, Tier tier,
                       const SegmentedReducePolicy& policy, std::uint64_t count) {
    const std::uint32_t w = policy.workgroup_size;
    if (std::string why = impossible(policy); !why.empty())
        return fail(ErrorCode::bad_argument, "policy: " + std::move(why));
    if (auto checked = detail::check_workgroup_size(caps, w, "segmented_reduce"); !checked)
        return tl::unexpected(checked.error());
    Shape shape;
    shape.policy = policy;
    const auto size = detail::required_subgroup_size(caps, tier, w, "segmented_reduce");
    if (!size) return tl::unexpected(size.error());
    shape.subgroup_size = *size;
    shape.scan_memory = scan_memory(caps, desc, tier, policy, *size);
    shape.workgroup_memory = shape.scan_memory + marks_memory(desc, policy);
    shape.scan_barriers =
        detail::workgroup_scan_barriers(detail::sizing_tier(caps, tier), w, policy.vectors, *size);
    if (shape.workgroup_memory > caps.limits.max_workgroup_memory) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("policy: workgroup_size {} with vectors {} needs {} bytes of "
                                "workgroup memory, the device has {}",
                                w, policy.vectors, shape.workgroup_memory,
                                caps.limits.max_workgroup_memory));
    }

    Share& share = shape.share;
    share.tile_items = w * policy.vectors * items_per_vector(desc);
    share.max_groups = policy.strategy == SegmentedReduceStrategy::one_workgroup
                           ? 1
                           : std::min(policy.max_groups, caps.limits.max_groups_x);
    shape.launch = share_out(share, count);
    if (shape.launch.dispatches > kMaxDispatches) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} takes {} dispatches, the limit is {}: raise "
                                "max_groups",
                                count, shape.launch.dispatches, kMaxDispatches));
    }
    shape.partials_offset = detail::scratch_header_bytes(shape.launch.dispatches);
    shape.incoming_offset = shape.partials_offset;
    shape.scratch_bytes = shape.partials_offset;
    if (policy.strategy == SegmentedReduceStrategy::two_pass) {
        const std::uint64_t groups = detail::partials_bound(share, count);
        shape.incoming_offset += groups * 2 * layout_of(desc).bytes();
        shape.scratch_bytes =
            detail::round_up(shape.incoming_offset + groups * 4, detail::kScratchAlignment);
    }
    return shape;
}

// What a lane holds of a vector, at most: its elements as they were read, or their accumulators.
std::uint32_t row_bytes(const SegmentedReduceDesc& desc) {
    if (!desc.custom) return items_per_vector(desc) * 4;
    return std::max(detail::vector_bytes(combination_of(desc)), layout_of(desc).bytes());
}

SegmentedReducePolicy fitted(const Caps& caps, const SegmentedReduceDesc& desc, Tier tier,
                             SegmentedReducePolicy policy) {
    if (desc.custom) {
        // Each value has more to it than a stock one: fewer at a time in a lane's registers.
        policy.workgroup_size = std::min(policy.workgroup_size, 256u);
        policy.vectors = std::min(policy.vectors, 4u);
    }
    for (std::uint32_t bytes = row_bytes(desc); bytes > kVectorBytes && policy.vectors > 1;
         bytes /= 2)
        policy.vectors /= 2;
    policy.workgroup_size = detail::fitted_workgroup(caps, tier, policy.workgroup_size);
    const auto memory = [&] {
        // Where no size fits, shape_of says so.
        const auto [possible, size] = detail::sized_as(caps, tier, policy.workgroup_size);
        return scan_memory(caps, desc, possible, policy, size) + marks_memory(desc, policy);
    };
    const std::uint32_t least = tier == Tier::pinned ? caps.subgroup.min_size : 4;
    while (memory() > caps.limits.max_workgroup_memory) {
        if (policy.vectors > 1) {
            policy.vectors /= 2;
        } else if (policy.workgroup_size > least) {
            policy.workgroup_size /= 2;
        } else {
            break;
        }
    }
    return policy;
}

std::uint64_t input_bytes(const Caps& caps, const SegmentedReduceDesc& desc) {
    const std::uint64_t bytes = desc.max_count * detail::element_bytes(combination_of(desc));
    return detail::provided_bytes(caps, std::max<std::uint64_t>(4, detail::round_up(bytes, 4)));
}

std::uint64_t output_bytes(const SegmentedReduceDesc& desc) {
    return std::max<std::uint64_t>(4, desc.max_segments * segmented_reduce_result_bytes(desc));
}

// Scratch is monotone in max_count although the policy changes with it: the most that the default
// policies of all smaller inputs would take.
std::uint64_t monotone_scratch_bytes(const Caps& caps, const SegmentedReduceDesc& desc, Tier tier,
                                     std::uint64_t own_bytes) {
    std::uint64_t bytes = own_bytes;
    for (const detail::SegmentedReducePolicyRow& row : detail::segmented_reduce_policy_rows(caps)) {
        const std::uint64_t row_count = row.max_bytes / detail::element_bytes(combination_of(desc));
        if (row_count >= desc.max_count) break;
        const auto shape =
            shape_of(caps, desc, tier, fitted(caps, desc, tier, row.policy), row_count);
        if (shape) bytes = std::max(bytes, shape->scratch_bytes);
    }
    return bytes;
}

}  // namespace

namespace detail {

SegmentedReducePolicy fitted_segmented_reduce_policy(const Caps& caps,
                                                     const SegmentedReduceDesc& desc, Tier tier,
                                                     SegmentedReducePolicy policy) {
    return fitted(caps, desc, tier, policy);
}

Result<void> check_segmented_reduce(const Caps& caps, const SegmentedReduceDesc& desc,
                                    const char* primitive) {
    const auto refuse = [&](ErrorCode code, const std::string& message) {
        return tl::unexpected(Error{code, fmt::format("{}: {}", primitive, message), {}});
    };
    if (std::string why = mismatch(combination_of(desc)); !why.empty())
        return refuse(ErrorCode::bad_argument, why);
    if (desc.custom && !desc.custom->initial.empty()) {
        return refuse(ErrorCode::bad_argument,
                      "custom operator: `initial` is for scans; `nothing` is what no items give");
    }
    if (desc.max_count > kMostCount) {
        return refuse(
            ErrorCode::limit_exceeded,
            fmt::format("max_count {} is above {}, the most that offsets of 32 bits reach",
                        desc.max_count, kMostCount));
    }
    // Kernels number the words of results in 32 bits.
    const std::uint64_t most = std::min<std::uint64_t>(
        kMostSegments, std::uint64_t{~0u} * 4 / result_bytes(combination_of(desc)));
    if (desc.max_segments > most) {
        return refuse(ErrorCode::limit_exceeded,
                      fmt::format("max_segments {} is above {}, the most with results of {} bytes",
                                  desc.max_segments, most, result_bytes(combination_of(desc))));
    }
    return check_device(caps, combination_of(desc), primitive);
}

Result<SegmentedReducePart> segmented_reduce_part(const Caps& caps, const SegmentedReduceTask& task,
                                                  Tier tier, Addressing addressing) {
    const SegmentedReducePolicy& policy = *task.policy;
    const auto shape = shape_of(caps, task, tier, policy, task.max_count);
    if (!shape) return tl::unexpected(shape.error());
    SegmentedReducePart part;
    part.share = shape->share;
    part.scratch_bytes = shape->scratch_bytes;
    part.most_range_bytes =
        std::max({input_bytes(caps, task), output_bytes(task), shape->scratch_bytes});

    const Form form = tier == Tier::barrier ? Form::barrier : Form::subgroup;
    const bool full = sizing_tier(caps, tier) == Tier::pinned;
    const PassBuffer scratch(Role::scratch, 0, shape->scratch_bytes);
    const auto make_pass = [&](const char* name, const std::string& types) {
        Pass pass;
        pass.name = name;
        pass.kernel = fmt::format("{}.{}.{}.{}", name, to_text(form), types, to_text(addressing));
        pass.form = form;
        pass.workgroup_size = policy.workgroup_size;
        pass.required_subgroup_size = shape->subgroup_size;
        pass.full_subgroups = full;
        pass.constants = {
            {0, "workgroup_size", policy.workgroup_size},
            {1, "vectors", policy.vectors},
            {2, "op", static_cast<std::uint32_t>(task.op)},
            {3, "element_kind", element_kind(task.element)},
            {4, "partials_offset", static_cast<std::uint32_t>(shape->partials_offset / 4)},
            {5, "subgroup_size", shape->subgroup_size},
            {6, "full_subgroups", full ? 1u : 0u},
            {7, "incoming_offset", static_cast<std::uint32_t>(shape->incoming_offset / 4)}};
        pass.waits = true;
        return pass;
    };

    Pass tiles = make_pass("segmented_reduce_tiles", kernel_types(combination_of(task)));
    tiles.constants.push_back({8, "most_segments", static_cast<std::uint32_t>(task.max_segments)});
    tiles.constants.push_back({9, "segments_in_buffer", task.segment_total ? 1u : 0u});
    // Where nothing is read of it: any buffer that is only read.
    tiles.bindings = {Role::input, Role::output, scratch, Role::offsets,
                      task.segment_total.value_or(Role::input)};
    tiles.groups = Groups::share;
    tiles.workgroup_memory = shape->workgroup_memory;
    // Marks are cleared, made and read, tile by tile; and the end of it all.
    tiles.barriers =
        saturate32((std::uint64_t{shape->scan_barriers} + 3) * shape->launch.tiles_per_group + 1);
    part.passes.push_back(std::move(tiles));
    if (policy.strategy == SegmentedReduceStrategy::two_pass) {
        Pass partials =
            make_pass("segmented_reduce_partials", layout_of(combination_of(task)).name());
        partials.constants.push_back({10, "element_bits", 8 * element_bytes(combination_of(task))});
        partials.bindings = {scratch, Role::output};
        partials.workgroup_memory = shape->scan_memory;
        const std::uint64_t places = std::uint64_t{policy.workgroup_size} * policy.vectors;
        partials.barriers =
            saturate32(shape->scan_barriers * divide_up(shape->launch.groups, places));
        part.passes.push_back(std::move(partials));
    }
    return part;
}

}  // namespace detail

Scalar segmented_reduce_accumulator(const SegmentedReduceDesc& desc) {
    return desc.accumulator.value_or(detail::default_accumulator(desc.element));
}

std::uint32_t segmented_reduce_result_bytes(const SegmentedReduceDesc& desc) {
    return detail::result_bytes(combination_of(desc));
}

SegmentedReducePolicy segmented_reduce_policy(const Caps& caps, const SegmentedReduceDesc& desc,
                                              Tier tier) {
    return fitted(
        caps, desc, tier,
        detail::policy_for_bytes(detail::segmented_reduce_policy_rows(caps), desc.max_count,
                                 detail::element_bytes(combination_of(desc))));
}

Result<Plan> plan_segmented_reduce(const Caps& caps, const SegmentedReduceDesc& desc) {
    if (auto checked = detail::check_segmented_reduce(caps, desc, "segmented_reduce"); !checked)
        return tl::unexpected(checked.error());
    const auto choice = detail::choose_tier(caps, detail::kSegmentedReduceOperations, desc.tier);
    if (!choice) return tl::unexpected(choice.error());
    const Tier tier = choice->tier;

    detail::SegmentedReduceTask task{desc, {}};
    task.policy = desc.policy.value_or(segmented_reduce_policy(caps, desc, tier));
    const bool results_are_more = output_bytes(desc) > input_bytes(caps, desc);
    const auto addressing = detail::choose_addressing(
        caps, desc.addressing, desc.max_count,
        std::max(input_bytes(caps, desc), output_bytes(desc)), kMostBindings, "segmented_reduce",
        results_are_more ? fmt::format("items, with {} results of {},", desc.max_segments,
                                       detail::output_text(combination_of(desc)))
                         : fmt::format("items of {}", detail::element_text(combination_of(desc))));
    if (!addressing) return tl::unexpected(addressing.error());
    auto part = detail::segmented_reduce_part(caps, task, tier, *addressing);
    if (!part) return tl::unexpected(part.error());

    Plan plan;
    plan.primitive = "segmented_reduce";
    plan.summary = fmt::format(
        "{} of each segment of {} into {}", detail::operator_text(combination_of(desc)),
        detail::element_text(combination_of(desc)), detail::output_text(combination_of(desc)));
    plan.custom = desc.custom;
    plan.tier = tier;
    plan.reason = choice->reason;
    plan.policy = to_text(*task.policy);
    plan.addressing = *addressing;
    plan.max_count = desc.max_count;
    plan.element_bytes = detail::element_bytes(combination_of(desc));
    plan.segment_result_bytes = segmented_reduce_result_bytes(desc);
    plan.share = part->share;
    plan.indirect_offset = detail::kParameterBytes;

    const std::uint32_t usage = detail::buffer_usage(*addressing);
    const std::uint32_t alignment = detail::buffer_alignment(caps, *addressing);
    const std::uint64_t scratch_bytes =
        desc.policy ? part->scratch_bytes
                    : monotone_scratch_bytes(caps, desc, tier, part->scratch_bytes);
    plan.arguments = {{Role::input, input_bytes(caps, desc), alignment, usage, Access::read},
                      {Role::output, output_bytes(desc), alignment, usage, Access::write},
                      // One number at least; how many more, the use says.
                      {Role::offsets, 4, alignment, usage, Access::read},
                      {Role::scratch, scratch_bytes, alignment,
                       detail::scratch_usages(caps, *addressing), Access::read_write}};

    plan.passes = {detail::count_to_groups_pass(caps, plan.share, desc.max_count, *addressing)};
    std::ranges::replace(plan.passes[0].bindings, PassBuffer(Role::scratch),
                         PassBuffer(Role::scratch, 0, part->scratch_bytes));
    std::ranges::move(part->passes, std::back_inserter(plan.passes));
    return plan;
}

const char* to_text(SegmentedReduceStrategy strategy) {
    return detail::name_of(kStrategyNames, strategy);
}

std::optional<SegmentedReduceStrategy> segmented_reduce_strategy_from_text(std::string_view text) {
    return detail::value_of(kStrategyNames, text);
}

std::string to_text(const SegmentedReducePolicy& policy) {
    return fmt::format("{}, workgroup_size {}, vectors {}, max_groups {}", to_text(policy.strategy),
                       policy.workgroup_size, policy.vectors, policy.max_groups);
}

}  // namespace lanewise
