// Planner of scan: pure arithmetic from Caps and ScanDesc to a Plan.
//
//   one_workgroup      scan_tiles (one workgroup)
//   reduce_then_scan   scan_sums -> partials, scan_tiles
//   look_back          scan_lookback, a tile to each workgroup
//   reduce_ahead       the same, with another tile summed ahead
// and before them, where the count is in a buffer, count_to_groups.

#include <fmt/format.h>
#include <algorithm>
#include <bit>

#include "lanewise/scan.hpp"
#include "primitives/scan/scan_policy.hpp"
#include "src/core/accumulators.hpp"
#include "src/core/arithmetic.hpp"
#include "src/core/look_back.hpp"
#include "src/core/names.hpp"
#include "src/core/passes.hpp"
#include "src/core/policy_rows.hpp"
#include "src/core/tiers.hpp"
#include "src/core/workgroups.hpp"

namespace lanewise {
namespace {

using detail::AccumulatorLayout;
using detail::combination_of;

constexpr detail::Names<ScanStrategy, 4> kStrategyNames{
    {{ScanStrategy::one_workgroup, "one_workgroup"},
     {ScanStrategy::reduce_then_scan, "reduce_then_scan"},
     {ScanStrategy::look_back, "look_back"},
     {ScanStrategy::reduce_ahead, "reduce_ahead"}}};
constexpr detail::Names<ScanKind, 2> kKindNames{
    {{ScanKind::inclusive, "inclusive"}, {ScanKind::exclusive, "exclusive"}}};
constexpr detail::Names<Direction, 2> kDirectionNames{
    {{Direction::forward, "forward"}, {Direction::reverse, "reverse"}}};

// What the subgroup forms call.
constexpr std::uint32_t kOperations =
    SubgroupOperation::basic | SubgroupOperation::ballot | SubgroupOperation::shuffle;

constexpr std::uint32_t kVectorBytes = 16;  // that policies speak of
constexpr std::uint32_t kMostBindings = 4;  // of a pass: scan_lookback
constexpr std::uint32_t kMaxDispatches = 4096;

// Beside the scan's own, what scan_lookback shares, but for an accumulator: sh_ticket, sh_look.
constexpr std::uint32_t kLookBackWords = 8;

// Every look at a tile reads a value whole.
constexpr std::uint32_t kMostPublishedBytes = 32;
constexpr std::uint32_t kMostBytesToLookBack = 4;  // where the policy is ours

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected(Error{code, "scan: " + std::move(message), {}});
}

bool looks_back(ScanStrategy strategy) {
    return strategy == ScanStrategy::look_back || strategy == ScanStrategy::reduce_ahead;
}

// What look_back and reduce_ahead lack; empty when they can be.
std::string look_back_lacks(const ScanDesc& desc) {
    const AccumulatorLayout layout = detail::layout_of(combination_of(desc));
    if (layout.index_bits != 0) return "published sums have no room for an index";
    if (layout.float64) return "there is no kernel for arithmetic in f64";
    if (layout.bytes() > kMostPublishedBytes) return "the values are too long to be published";
    return {};
}

// Sums of floats whose order depends on who is quick.
bool is_out_of_order(const ScanDesc& desc) {
    return detail::rounds(combination_of(desc)) && desc.determinism == Determinism::run_to_run;
}

bool has_image(Operator op) { return op == Operator::min || op == Operator::max; }

// The initial value as kernels hold it: for min and max its order image (kernels/item/order.glsl).
std::uint64_t initial_words(const ScanDesc& desc) {
    if (desc.custom) return 0;  // a part of its kernels
    const std::uint64_t bits = desc.initial.value_or(0);
    if (!has_image(desc.op)) return bits;
    const std::uint32_t width = 8 * size_of(desc.element);
    const std::uint64_t mask = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    const std::uint64_t complement = desc.op == Operator::max ? mask : 0;
    if (!is_float(desc.element)) {
        return (bits ^ complement ^ (is_signed_integer(desc.element) ? sign : 0)) & mask;
    }
    const std::uint64_t infinity = width == 64 ? 0x7ff0000000000000 : std::uint64_t{0x7f800000};
    const std::uint64_t turn = ~(infinity | sign) & mask;
    const std::uint64_t ascending = (bits & sign) != 0 ? ~bits & mask : bits | sign;
    return ((ascending ^ complement) - turn) & mask;
}

bool has_initial(const ScanDesc& desc) {
    return desc.custom ? !desc.custom->initial.empty() : desc.initial.has_value();
}

std::string wrong_initial(const ScanDesc& desc) {
    if (!desc.initial) return {};
    if (desc.custom) return "a custom operator has its own initial value, in bytes";
    if (is_arg(desc.op)) {
        return fmt::format("{} takes no initial value: it has no index", to_text(desc.op));
    }
    const Scalar accumulator = scan_accumulator(desc);
    if (has_image(desc.op) && accumulator != desc.element) {
        return fmt::format(
            "{} takes an initial value where the output has the element's type, not "
            "{} for {}",
            to_text(desc.op), to_text(accumulator), to_text(desc.element));
    }
    if (size_of(accumulator) == 4 && *desc.initial >> 32 != 0) {
        return fmt::format("initial value {:#x} has more bits than {}", *desc.initial,
                           to_text(accumulator));
    }
    return {};
}

std::uint32_t workgroup_memory(const Caps& caps, const ScanDesc& desc, Tier tier,
                               const ScanPolicy& policy, std::uint32_t size) {
    const std::uint32_t accumulator = detail::layout_of(combination_of(desc)).workgroup_bytes();
    const std::uint32_t w = policy.workgroup_size;
    const Tier sizing = detail::sizing_tier(caps, tier);
    const std::uint32_t scan =
        detail::workgroup_scan_slots(sizing, w, policy.vectors, size) * accumulator;
    const std::uint32_t sum = detail::workgroup_reduce_slots(sizing, w, size) * accumulator;
    const std::uint32_t numbering = detail::numbering_bytes(caps, tier);
    if (looks_back(policy.strategy))
        return scan + sum + 4 * kLookBackWords + accumulator + numbering;
    return std::max(scan, sum) + numbering;
}

struct Shape {
    ScanPolicy policy;
    std::uint32_t subgroup_size = 0;  // pinned tier
    Share share;
    Launch launch;  // of max_count
    std::uint64_t scratch_bytes = 0;
    std::uint64_t partials_offset = 0;  // in scratch, bytes
    std::uint64_t state_bytes = 0;
    std::uint32_t workgroup_memory = 0;  // bytes
    std::uint32_t barriers = 0;          // of a workgroup_scan
};

std::string impossible(const ScanPolicy& policy) {
    const std::uint32_t w = policy.workgroup_size;
    if (!std::has_single_bit(w) || w < 4 || w > 1024)
        return fmt::format("workgroup_size {} is no power of two from 4 to 1024", w);
    if (!std::has_single_bit(policy.vectors) || policy.vectors > 8)
        return fmt::format("vectors {} is not 1, 2, 4 or 8", policy.vectors);
    if (policy.max_groups == 0) return "max_groups is 0";
    const bool ahead = policy.strategy == ScanStrategy::reduce_ahead;
    if (ahead == (policy.ahead == 0)) {
        return ahead ? std::string("reduce_ahead needs a distance: ahead is 0")
                     : fmt::format("ahead is {}, but {} sums nothing ahead", policy.ahead,
                                   to_text(policy.strategy));
    }
    if (looks_back(policy.strategy) && policy.patience == 0) return "patience is 0";
    return {};
}

// Everything that follows from a policy; an error where the device or the arithmetic forbids it.
Result<Shape> shape_of(const Caps& caps, const ScanDesc& desc, Tier tier, const ScanPolicy& policy,
                       std::uint64_t count) {
    const AccumulatorLayout layout = detail::layout_of(combination_of(desc));
    const std::uint32_t w = policy.workgroup_size;
    if (std::string why = impossible(policy); !why.empty())
        return fail(ErrorCode::bad_argument, "policy: " + std::move(why));
    if (auto checked = detail::check_workgroup_size(caps, w, "scan"); !checked)
        return tl::unexpected(checked.error());
    if (looks_back(policy.strategy)) {
        if (std::string lacks = look_back_lacks(desc); !lacks.empty()) {
            return fail(ErrorCode::unsupported, fmt::format("policy: {}: {}; use reduce_then_scan",
                                                            to_text(policy.strategy), lacks));
        }
        if (is_out_of_order(desc)) {
            return fail(ErrorCode::bad_argument,
                        fmt::format("policy: {} adds floats in the order in which workgroups "
                                    "finish; use reduce_then_scan, or allow Determinism::unordered",
                                    to_text(policy.strategy)));
        }
    }
    Shape shape;
    shape.policy = policy;
    const auto size = detail::required_subgroup_size(caps, tier, w, "scan");
    if (!size) return tl::unexpected(size.error());
    shape.subgroup_size = *size;
    shape.workgroup_memory = workgroup_memory(caps, desc, tier, policy, shape.subgroup_size);
    shape.barriers = detail::workgroup_scan_barriers(detail::sizing_tier(caps, tier), w,
                                                     policy.vectors, shape.subgroup_size);
    if (shape.workgroup_memory > caps.limits.max_workgroup_memory) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("policy: workgroup_size {} with vectors {} needs {} bytes of "
                                "workgroup memory, the device has {}",
                                w, policy.vectors, shape.workgroup_memory,
                                caps.limits.max_workgroup_memory));
    }

    Share& share = shape.share;
    share.tile_items = w * policy.vectors * detail::vector_bytes(combination_of(desc)) /
                       detail::element_bytes(combination_of(desc));
    share.max_groups = policy.strategy == ScanStrategy::one_workgroup
                           ? 1
                           : std::min(policy.max_groups, caps.limits.max_groups_x);
    // One tile to each workgroup: more tiles are more dispatches.
    if (looks_back(policy.strategy)) share.max_tiles_per_dispatch = share.max_groups;
    const std::uint64_t tiles = detail::divide_up(count, share.tile_items);
    if (tiles > ~0u) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} makes more than 2^32 - 1 tiles of {} items", count,
                                share.tile_items));
    }
    shape.launch = share_out(share, count);
    if (shape.launch.dispatches > kMaxDispatches) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} takes {} dispatches, the limit is {}: raise "
                                "max_groups",
                                count, shape.launch.dispatches, kMaxDispatches));
    }
    shape.partials_offset = detail::scratch_header_bytes(shape.launch.dispatches);
    shape.scratch_bytes = shape.partials_offset;
    if (policy.strategy == ScanStrategy::reduce_then_scan)
        shape.scratch_bytes += detail::partials_bound(share, count) * layout.bytes();
    shape.scratch_bytes = detail::round_up(shape.scratch_bytes, detail::kScratchAlignment);
    if (looks_back(policy.strategy)) {
        // Each word of a tile's sum with its flag, or each half of one.
        shape.state_bytes =
            detail::kLookBackHeaderBytes + std::max<std::uint64_t>(tiles, 1) * 2 * layout.bytes();
        if (shape.state_bytes > caps.limits.max_storage_range) {
            return fail(ErrorCode::limit_exceeded,
                        fmt::format("policy: {} tiles keep {} bytes of state, above "
                                    "max_storage_range {}; use reduce_then_scan",
                                    tiles, shape.state_bytes, caps.limits.max_storage_range));
        }
    }
    return shape;
}

// With a tile to each workgroup, in so many dispatches and so much state as there can be.
bool can_look_back(const Caps& caps, const ScanDesc& desc, const ScanPolicy& policy) {
    if (!look_back_lacks(desc).empty() || is_out_of_order(desc)) return false;
    const std::uint64_t groups = std::min(policy.max_groups, caps.limits.max_groups_x);
    // Tiles of the smallest workgroup that fitting may leave; most inputs are far from it.
    const std::uint64_t tile_items = policy.workgroup_size * policy.vectors * 4 / 8;
    const std::uint64_t tiles =
        detail::divide_up(desc.max_count, std::max<std::uint64_t>(1, tile_items));
    const std::uint32_t accumulator = detail::layout_of(combination_of(desc)).bytes();
    return tiles <= groups * kMaxDispatches &&
           detail::kLookBackHeaderBytes + tiles * 2 * accumulator <= caps.limits.max_storage_range;
}

// What a lane holds of a vector, at most: its elements as they were read, or its results.
std::uint32_t row_bytes(const ScanDesc& desc) {
    const detail::Combination combination = combination_of(desc);
    const std::uint32_t items =
        detail::vector_bytes(combination) / detail::element_bytes(combination);
    if (!desc.custom) return items * 4;  // as the policies were measured: wide results are no more
    return std::max({detail::vector_bytes(combination), items * detail::result_bytes(combination),
                     detail::layout_of(combination).bytes()});
}

// The table's policy as this device and element can run it.
ScanPolicy fitted(const Caps& caps, const ScanDesc& desc, Tier tier, ScanPolicy policy) {
    // Long values make looking back dearer than a second read (docs/performance.md).
    const bool is_long =
        desc.custom && detail::layout_of(combination_of(desc)).bytes() > kMostBytesToLookBack;
    if (looks_back(policy.strategy) && (is_long || !can_look_back(caps, desc, policy)))
        policy = detail::kGpuScanFallBack;
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
        return workgroup_memory(caps, desc, possible, policy, size);
    };
    while (memory() > caps.limits.max_workgroup_memory) {
        if (policy.vectors > 1) {
            policy.vectors /= 2;
        } else if (policy.workgroup_size > 4) {
            policy.workgroup_size /= 2;
        } else {
            break;
        }
    }
    return policy;
}

// The most bytes of scratch that the default policies of all smaller inputs would take: scratch is
// monotone in max_count although the policy changes with it.
std::uint64_t monotone_scratch_bytes(const Caps& caps, const ScanDesc& desc, Tier tier,
                                     std::uint64_t own_bytes) {
    std::uint64_t bytes = own_bytes;
    for (const detail::ScanPolicyRow& row : detail::scan_policy_rows(caps, tier)) {
        const std::uint64_t row_count = row.max_bytes / scan_result_bytes(desc);
        if (row_count >= desc.max_count) break;
        const auto shape =
            shape_of(caps, desc, tier, fitted(caps, desc, tier, row.policy), row_count);
        if (shape) bytes = std::max(bytes, shape->scratch_bytes);
    }
    return bytes;
}

std::string summary_of(const ScanDesc& desc) {
    std::string text = fmt::format(
        "{} {} of {} into {}", to_text(desc.kind), detail::operator_text(combination_of(desc)),
        detail::element_text(combination_of(desc)), detail::output_text(combination_of(desc)));
    if (desc.direction == Direction::reverse) text += ", reverse";
    if (desc.initial) text += fmt::format(", from {:#x}", *desc.initial);
    return text;
}

}  // namespace

Scalar scan_accumulator(const ScanDesc& desc) {
    return desc.accumulator.value_or(detail::default_accumulator(desc.element));
}

std::uint32_t scan_result_bytes(const ScanDesc& desc) {
    return detail::result_bytes(combination_of(desc));
}

ScanPolicy scan_policy(const Caps& caps, const ScanDesc& desc, Tier tier) {
    return fitted(caps, desc, tier,
                  detail::policy_for_bytes(detail::scan_policy_rows(caps, tier), desc.max_count,
                                           scan_result_bytes(desc)));
}

Result<Plan> plan_scan(const Caps& caps, const ScanDesc& desc) {
    if (std::string why = detail::mismatch(combination_of(desc)); !why.empty())
        return fail(ErrorCode::bad_argument, std::move(why));
    if (std::string why = wrong_initial(desc); !why.empty())
        return fail(ErrorCode::bad_argument, std::move(why));
    const std::uint64_t element_bytes = detail::element_bytes(combination_of(desc));
    const std::uint64_t result_bytes = scan_result_bytes(desc);
    if (auto refused = detail::check_device(caps, combination_of(desc), "scan"); !refused)
        return tl::unexpected(refused.error());
    auto choice = detail::choose_tier(caps, kOperations, desc.tier);
    if (!choice) return tl::unexpected(choice.error());
    if (!desc.tier && choice->tier != Tier::barrier && detail::scan_prefers_barrier(caps)) {
        choice->reason =
            fmt::format("faster here than {} (scan_policy.hpp)", to_text(choice->tier));
        choice->tier = Tier::barrier;
    }
    const Tier tier = choice->tier;

    const std::uint64_t input_bytes = detail::provided_bytes(
        caps, std::max<std::uint64_t>(4, detail::round_up(desc.max_count * element_bytes, 4)));
    const std::uint64_t output_bytes =
        detail::provided_bytes(caps, std::max<std::uint64_t>(4, desc.max_count * result_bytes));
    const auto addressing = detail::choose_addressing(
        caps, desc.addressing, desc.max_count, std::max(input_bytes, output_bytes), kMostBindings,
        "scan",
        output_bytes > input_bytes
            ? fmt::format("outputs of {}", detail::output_text(combination_of(desc)))
            : fmt::format("items of {}", detail::element_text(combination_of(desc))));
    if (!addressing) return tl::unexpected(addressing.error());

    const ScanPolicy policy = desc.policy.value_or(scan_policy(caps, desc, tier));
    const auto shape = shape_of(caps, desc, tier, policy, desc.max_count);
    if (!shape) return tl::unexpected(shape.error());
    const bool two_passes = policy.strategy == ScanStrategy::reduce_then_scan;
    const bool one_pass = looks_back(policy.strategy);

    Plan plan;
    plan.primitive = "scan";
    plan.summary = summary_of(desc);
    plan.custom = desc.custom;
    plan.tier = tier;
    plan.reason = choice->reason;
    plan.policy = to_text(policy);
    plan.addressing = *addressing;
    plan.max_count = desc.max_count;
    plan.element_bytes = static_cast<std::uint32_t>(element_bytes);
    plan.result_bytes = static_cast<std::uint32_t>(result_bytes);
    plan.share = shape->share;
    plan.indirect_offset = detail::kParameterBytes;
    plan.state_bytes = static_cast<std::uint32_t>(shape->state_bytes);
    plan.in_place = !one_pass && result_bytes == element_bytes;

    const std::uint32_t usage = detail::buffer_usage(*addressing);
    const std::uint32_t alignment = detail::buffer_alignment(caps, *addressing);
    const std::uint64_t scratch_bytes =
        desc.policy ? shape->scratch_bytes
                    : monotone_scratch_bytes(caps, desc, tier, shape->scratch_bytes);
    plan.arguments = {{Role::input, input_bytes, alignment, usage, Access::read},
                      {Role::output, output_bytes, alignment, usage, Access::write},
                      {Role::scratch, scratch_bytes, alignment,
                       detail::scratch_usages(caps, *addressing), Access::read_write}};

    const Form form = tier == Tier::barrier ? Form::barrier : Form::subgroup;
    const bool full = detail::sizing_tier(caps, tier) == Tier::pinned;
    const std::string types = detail::kernel_types(combination_of(desc));
    const auto make_pass = [&](const char* name, const std::string& variant) {
        Pass pass;
        pass.name = name;
        pass.kernel =
            fmt::format("{}.{}.{}.{}", name, to_text(form), variant, to_text(*addressing));
        pass.form = form;
        pass.workgroup_size = policy.workgroup_size;
        pass.required_subgroup_size = shape->subgroup_size;
        pass.full_subgroups = full;
        pass.constants = {
            {0, "workgroup_size", policy.workgroup_size},
            {1, "vectors", policy.vectors},
            {2, "op", static_cast<std::uint32_t>(desc.op)},
            {3, "element_kind", detail::element_kind(desc.element)},
            {4, "partials_offset", static_cast<std::uint32_t>(shape->partials_offset / 4)},
            {5, "subgroup_size", shape->subgroup_size},
            {6, "full_subgroups", full ? 1u : 0u},
            {7, "reverse", desc.direction == Direction::reverse ? 1u : 0u}};
        pass.groups = Groups::share;
        pass.waits = true;
        pass.workgroup_memory = shape->workgroup_memory;
        pass.barriers = shape->barriers;
        return pass;
    };
    const auto add_result_constants = [&](Pass& pass) {
        const std::uint64_t initial = initial_words(desc);
        pass.constants.insert(pass.constants.end(),
                              {{8, "exclusive", desc.kind == ScanKind::exclusive ? 1u : 0u},
                               {9, "has_initial", has_initial(desc) ? 1u : 0u},
                               {10, "initial_low", static_cast<std::uint32_t>(initial)},
                               {11, "initial_high", static_cast<std::uint32_t>(initial >> 32)}});
    };

    plan.passes.push_back(
        detail::count_to_groups_pass(caps, plan.share, desc.max_count, *addressing));
    if (one_pass) {
        const bool atomic64 = caps.int64_atomics && caps.types.int64;
        Pass pass = make_pass("scan_lookback", types + (atomic64 ? ".atomic64" : ".halves"));
        add_result_constants(pass);
        pass.constants.insert(pass.constants.end(),
                              {{12, "ahead", policy.ahead},
                               {13, "patience", policy.patience},
                               {14, "silent_tile", policy.silent_tile},
                               {15, "most_epochs", detail::most_look_back_epochs(atomic64)},
                               {16, "most_tiles", std::max(1u, shape->launch.tiles)}});
        pass.bindings = {Role::input, Role::output, Role::scratch, Role::state};
        // A tile that has to be summed again adds to these.
        pass.barriers = shape->barriers + 4;
        if (policy.strategy == ScanStrategy::reduce_ahead) {
            pass.barriers += detail::workgroup_reduce_barriers(tier, policy.workgroup_size,
                                                               shape->subgroup_size);
        }
        plan.passes.push_back(std::move(pass));
        return plan;
    }
    if (two_passes) {
        Pass sums = make_pass("scan_sums", types);
        sums.barriers =
            detail::workgroup_reduce_barriers(tier, policy.workgroup_size, shape->subgroup_size);
        sums.bindings = {Role::input, Role::scratch};
        plan.passes.push_back(std::move(sums));
    }
    Pass tiles = make_pass("scan_tiles", types);
    add_result_constants(tiles);
    tiles.bindings = {Role::input, Role::output, Role::scratch};
    const std::uint64_t places = std::uint64_t{policy.workgroup_size} * policy.vectors;
    tiles.barriers = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        shape->barriers *
            (shape->launch.tiles_per_group + detail::divide_up(shape->launch.groups - 1, places)),
        ~0u));
    plan.passes.push_back(std::move(tiles));
    return plan;
}

const char* to_text(ScanStrategy strategy) { return detail::name_of(kStrategyNames, strategy); }
const char* to_text(ScanKind kind) { return detail::name_of(kKindNames, kind); }
const char* to_text(Direction direction) { return detail::name_of(kDirectionNames, direction); }

std::optional<ScanStrategy> scan_strategy_from_text(std::string_view text) {
    return detail::value_of(kStrategyNames, text);
}

std::string to_text(const ScanPolicy& policy) {
    std::string text =
        fmt::format("{}, workgroup_size {}, vectors {}, max_groups {}", to_text(policy.strategy),
                    policy.workgroup_size, policy.vectors, policy.max_groups);
    if (policy.strategy == ScanStrategy::reduce_ahead)
        text += fmt::format(", ahead {}", policy.ahead);
    if (looks_back(policy.strategy)) text += fmt::format(", patience {}", policy.patience);
    if (policy.silent_tile != ~0u) text += fmt::format(", silent_tile {}", policy.silent_tile);
    return text;
}

}  // namespace lanewise
