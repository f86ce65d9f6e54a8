// Planner of select: pure arithmetic from Caps and SelectDesc to a Plan.
//
//   one_workgroup        select_tiles (one workgroup)
//   count_then_scatter   select_counts -> partials, select_tiles
//   look_back            select_lookback, a tile to each workgroup
//   count_ahead          the same, with another tile counted ahead
//   append               select_begin, select_append
// and before them, where the count is in a buffer, count_to_groups; behind them, for each buffer of
// narrow items, which the other passes write as words, sort_pack.

#include "primitives/select/select_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "primitives/select/select_policy.hpp"
#include "src/core/accumulators.hpp"
#include "src/core/arithmetic.hpp"
#include "src/core/custom.hpp"
#include "src/core/look_back.hpp"
#include "src/core/names.hpp"
#include "src/core/passes.hpp"
#include "src/core/policy_rows.hpp"
#include "src/core/ranks.hpp"
#include "src/core/tiers.hpp"
#include "src/core/workgroups.hpp"

namespace lanewise {
namespace {

using detail::SelectTask;

constexpr detail::Names<SelectStrategy, 5> kStrategyNames{
    {{SelectStrategy::one_workgroup, "one_workgroup"},
     {SelectStrategy::count_then_scatter, "count_then_scatter"},
     {SelectStrategy::look_back, "look_back"},
     {SelectStrategy::count_ahead, "count_ahead"},
     {SelectStrategy::append, "append"}}};
constexpr detail::Names<SelectOrder, 2> kOrderNames{
    {{SelectOrder::input, "input"}, {SelectOrder::any, "any"}}};
constexpr detail::Names<SelectRest, 3> kRestNames{{{SelectRest::dropped, "dropped"},
                                                   {SelectRest::rejected, "rejected"},
                                                   {SelectRest::after, "after"}}};

// What the subgroup forms call.
constexpr std::uint32_t kOperations =
    SubgroupOperation::basic | SubgroupOperation::ballot | SubgroupOperation::shuffle;

constexpr std::uint32_t kWordBytes = 4;
constexpr std::uint32_t kMaxDispatches = 4096;
constexpr std::uint64_t kMostCount = ~0u;  // items, and words of each buffer: kernels number them

constexpr std::uint32_t kTileStateBytes = 8;  // of select_lookback: a count with its flag
// What select_lookback shares besides: sh_ticket, sh_look, sh_before.
constexpr std::uint32_t kLookBackWords = 9;

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected(Error{code, "select: " + std::move(message), {}});
}

bool looks_back(SelectStrategy strategy) {
    return strategy == SelectStrategy::look_back || strategy == SelectStrategy::count_ahead;
}

// A task with what follows from it alone.
struct Request : SelectTask {
    std::optional<CustomOperator> custom;

    explicit Request(const SelectTask& task) : SelectTask(task) {
        if (predicate) custom = detail::operator_of(*predicate);
    }

    // As planners of combinations see the element. Stock ones are bits that are moved: by an
    // operator that has no arithmetic, f64 needs no feature.
    detail::Combination combination() const {
        return {element, Operator::max, std::nullopt, max_count, custom ? &*custom : nullptr};
    }
    std::uint32_t element_bytes() const { return detail::element_bytes(combination()); }
    std::uint32_t vector_items() const {
        return detail::vector_bytes(combination()) / element_bytes();
    }
    // Of an item in workgroup memory, and in the buffers that passes write.
    std::uint32_t item_words() const {
        return static_cast<std::uint32_t>(detail::divide_up(element_bytes(), kWordBytes));
    }
    bool is_narrow() const { return element_bytes() < kWordBytes; }
    bool has_flags() const { return !predicate && !changes; }
    bool has_values() const { return indices || value_bytes != 0; }
    std::uint32_t value_words() const { return indices ? 1 : value_bytes / kWordBytes; }
    bool has_rejected() const { return rest == SelectRest::rejected; }
    bool moves_items() const { return items || has_rejected(); }
    std::uint64_t most_results() const { return std::min(capacity.value_or(max_count), max_count); }
    // Of select_tiles, which has as many as select_append and no state.
    std::uint32_t bindings(SelectStrategy strategy) const {
        return 5 + (has_values() ? 2 : 0) + (has_rejected() ? 1 : 0) +
               (looks_back(strategy) ? 1 : 0);
    }
};

std::string wrong(const Request& request) {
    if (request.predicate && request.predicate->keep.empty()) return "`keep` is missing";
    if (request.custom) {
        if (auto checked = check(*request.custom); !checked) return checked.error().message;
    }
    if (request.has_flags() && request.flag_bits != 1 && request.flag_bits != 8 &&
        request.flag_bits != 16 && request.flag_bits != 32) {
        return fmt::format("flag_bits {} is not 1, 8, 16 or 32", request.flag_bits);
    }
    if (request.value_bytes % kWordBytes != 0 || request.value_bytes > 16)
        return fmt::format("value_bytes {} is not 0, 4, 8, 12 or 16", request.value_bytes);
    if (request.indices && request.value_bytes != 0) {
        return fmt::format("indices are the values: value_bytes is {}, not 0", request.value_bytes);
    }
    if (!request.items && !request.has_values())
        return "nothing is written: ask for items, values or indices";
    if (request.order == SelectOrder::any && request.rest != SelectRest::dropped) {
        return fmt::format("what is not kept is {}: that needs SelectOrder::input",
                           to_text(request.rest));
    }
    if (request.rest == SelectRest::after && request.capacity)
        return "a capacity is not for what follows the kept items: SelectRest::after writes all";
    return {};
}

// Counts in workgroup memory are sums of u32.
std::uint32_t workgroup_memory(const Caps& caps, const Request& request, Tier tier,
                               const SelectPolicy& policy, std::uint32_t size) {
    const std::uint32_t w = policy.workgroup_size;
    const Tier sizing = detail::sizing_tier(caps, tier);
    const std::uint32_t scan = detail::workgroup_scan_slots(sizing, w, policy.vectors, size);
    const std::uint32_t sum = detail::workgroup_reduce_slots(sizing, w, size);
    const std::uint32_t moved = w * policy.vectors * request.vector_items() *
                                (request.moves_items() ? request.item_words() : 1);
    std::uint32_t words = 0;
    if (policy.strategy == SelectStrategy::append) {
        words = scan + 1;  // sh_base
    } else if (looks_back(policy.strategy)) {
        words = scan + sum + moved + kLookBackWords;
    } else {
        words = std::max(scan + moved, sum);
    }
    return kWordBytes * words + detail::numbering_bytes(caps, tier);
}

struct Shape {
    SelectPolicy policy;
    std::uint32_t subgroup_size = 0;  // pinned tier
    Share share;
    Launch launch;                      // of max_count
    std::uint64_t partials_offset = 0;  // in scratch, bytes
    std::uint64_t table_end = 0;
    // Narrow items as words, behind the table; 0: there are none.
    std::uint64_t kept_bytes = 0;
    std::uint64_t rejected_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    std::uint64_t state_bytes = 0;
    std::uint32_t workgroup_memory = 0;  // bytes
    std::uint32_t barriers = 0;          // of a workgroup_scan

    bool packs() const { return kept_bytes + rejected_bytes != 0; }
    PassBuffer table() const {
        return packs() ? PassBuffer(Role::scratch, 0, table_end) : PassBuffer(Role::scratch);
    }
    PassBuffer kept() const { return {Role::scratch, table_end, kept_bytes}; }
    PassBuffer rejected() const { return {Role::scratch, table_end + kept_bytes, rejected_bytes}; }
};

std::string impossible(const Request& request, const SelectPolicy& policy) {
    const std::uint32_t w = policy.workgroup_size;
    if (!std::has_single_bit(w) || w < 4 || w > 1024)
        return fmt::format("workgroup_size {} is no power of two from 4 to 1024", w);
    if (!std::has_single_bit(policy.vectors) || policy.vectors > 8)
        return fmt::format("vectors {} is not 1, 2, 4 or 8", policy.vectors);
    if (policy.max_groups == 0) return "max_groups is 0";
    const bool ahead = policy.strategy == SelectStrategy::count_ahead;
    if (ahead == (policy.ahead == 0)) {
        return ahead ? std::string("count_ahead needs a distance: ahead is 0")
                     : fmt::format("ahead is {}, but {} counts nothing ahead", policy.ahead,
                                   to_text(policy.strategy));
    }
    if (looks_back(policy.strategy) && policy.patience == 0) return "patience is 0";
    if (looks_back(policy.strategy) && request.rest == SelectRest::after) {
        return fmt::format(
            "{} does not know how many are kept in all before it writes what follows them; use "
            "count_then_scatter",
            to_text(policy.strategy));
    }
    if (policy.strategy == SelectStrategy::append && request.order != SelectOrder::any)
        return "append keeps no order: it is for SelectOrder::any";
    return {};
}

// Everything that follows from a policy; an error where the device or the arithmetic forbids it.
Result<Shape> shape_of(const Caps& caps, const Request& request, Tier tier,
                       const SelectPolicy& policy, std::uint64_t count) {
    const std::uint32_t w = policy.workgroup_size;
    if (std::string why = impossible(request, policy); !why.empty())
        return fail(ErrorCode::bad_argument, "policy: " + std::move(why));
    if (auto checked = detail::check_workgroup_size(caps, w, "select"); !checked)
        return tl::unexpected(checked.error());
    Shape shape;
    shape.policy = policy;
    const auto size = detail::required_subgroup_size(caps, tier, w, "select");
    if (!size) return tl::unexpected(size.error());
    shape.subgroup_size = *size;
    shape.workgroup_memory = workgroup_memory(caps, request, tier, policy, shape.subgroup_size);
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
    share.tile_items = w * policy.vectors * request.vector_items();
    share.max_groups = policy.strategy == SelectStrategy::one_workgroup
                           ? 1
                           : std::min(policy.max_groups, caps.limits.max_groups_x);
    // One tile to each workgroup: more tiles are more dispatches.
    if (looks_back(policy.strategy)) share.max_tiles_per_dispatch = share.max_groups;
    shape.launch = share_out(share, count);
    if (shape.launch.dispatches > kMaxDispatches) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} takes {} dispatches, the limit is {}: raise "
                                "max_groups",
                                count, shape.launch.dispatches, kMaxDispatches));
    }
    shape.partials_offset = detail::scratch_header_bytes(shape.launch.dispatches);
    shape.table_end = shape.partials_offset;
    if (policy.strategy == SelectStrategy::count_then_scatter)
        shape.table_end += detail::partials_bound(share, count) * kWordBytes;
    shape.table_end = detail::round_up(shape.table_end, detail::kScratchAlignment);
    if (request.is_narrow()) {
        const auto words = [](std::uint64_t items) {
            return detail::round_up(std::max<std::uint64_t>(1, items) * kWordBytes,
                                    detail::kScratchAlignment);
        };
        if (request.items && request.capacity != 0u)
            shape.kept_bytes = words(std::min(request.capacity.value_or(count), count));
        if (request.has_rejected()) shape.rejected_bytes = words(count);
    }
    shape.scratch_bytes = shape.table_end + shape.kept_bytes + shape.rejected_bytes;
    if (looks_back(policy.strategy)) {
        shape.state_bytes = detail::kLookBackHeaderBytes +
                            std::max<std::uint64_t>(shape.launch.tiles, 1) * kTileStateBytes;
        if (shape.state_bytes > caps.limits.max_storage_range) {
            return fail(
                ErrorCode::limit_exceeded,
                fmt::format("policy: {} tiles keep {} bytes of state, above "
                            "max_storage_range {}; use count_then_scatter",
                            shape.launch.tiles, shape.state_bytes, caps.limits.max_storage_range));
        }
    }
    return shape;
}

// In so many dispatches, so much state and so many buffers as there can be.
bool can_look_back(const Caps& caps, const Request& request, const SelectPolicy& policy) {
    if (request.rest == SelectRest::after) return false;
    if (request.addressing != Addressing::device_address &&
        request.bindings(policy.strategy) > caps.limits.max_storage_buffers)
        return false;
    const std::uint64_t groups = std::min(policy.max_groups, caps.limits.max_groups_x);
    const std::uint64_t tiles =
        detail::divide_up(request.max_count, std::uint64_t{policy.workgroup_size} * policy.vectors *
                                                 request.vector_items());
    return tiles <= groups * kMaxDispatches &&
           detail::kLookBackHeaderBytes + tiles * kTileStateBytes <= caps.limits.max_storage_range;
}

// The table's policy as this device and element can run it.
SelectPolicy fitted(const Caps& caps, const Request& request, Tier tier, SelectPolicy policy) {
    const auto fit = [&](SelectPolicy fitting) {
        // Narrow items take a word each in workgroup memory, long elements registers.
        const std::uint32_t bytes =
            request.vector_items() * std::max(kWordBytes, request.element_bytes());
        for (std::uint32_t vector = bytes; vector > 16 && fitting.vectors > 1; vector /= 2)
            fitting.vectors /= 2;
        fitting.workgroup_size = detail::fitted_workgroup(caps, tier, fitting.workgroup_size);
        const auto memory = [&] {
            // Where no size fits, shape_of says so.
            const auto [possible, size] = detail::sized_as(caps, tier, fitting.workgroup_size);
            return workgroup_memory(caps, request, possible, fitting, size);
        };
        while (memory() > caps.limits.max_workgroup_memory) {
            if (fitting.vectors > 1) {
                fitting.vectors /= 2;
            } else if (fitting.workgroup_size > 4) {
                fitting.workgroup_size /= 2;
            } else {
                break;
            }
        }
        return fitting;
    };
    if (request.order == SelectOrder::any && policy.strategy != SelectStrategy::one_workgroup) {
        policy.strategy = SelectStrategy::append;
        policy.ahead = 0;
    }
    const SelectPolicy own = fit(policy);
    return looks_back(own.strategy) && !can_look_back(caps, request, own)
               ? fit(detail::kGpuSelectFallBack)
               : own;
}

SelectPolicy policy_for(const Caps& caps, const Request& request, Tier tier, std::uint64_t count) {
    return fitted(
        caps, request, tier,
        detail::policy_for_bytes(detail::select_policy_rows(caps), count, request.element_bytes()));
}

// The most bytes of scratch that the default policies of all smaller inputs would take: scratch is
// monotone in max_count although the policy changes with it.
std::uint64_t monotone_scratch_bytes(const Caps& caps, const Request& request, Tier tier,
                                     std::uint64_t own_bytes) {
    std::uint64_t bytes = own_bytes;
    for (const detail::SelectPolicyRow& row : detail::select_policy_rows(caps)) {
        const std::uint64_t row_count = row.max_bytes / request.element_bytes();
        if (row_count >= request.max_count) break;
        const auto shape =
            shape_of(caps, request, tier, fitted(caps, request, tier, row.policy), row_count);
        if (shape) bytes = std::max(bytes, shape->scratch_bytes);
    }
    return bytes;
}

std::string summary_of(const Request& request) {
    std::string text = detail::element_text(request.combination());
    if (request.predicate) {
        text += fmt::format(" that {} keeps", request.predicate->name);
    } else if (request.changes) {
        text += " where they change";
    } else {
        text += fmt::format(" by flags of {} bit{}", request.flag_bits,
                            request.flag_bits == 1 ? "" : "s");
    }
    if (request.indices) text += request.items ? ", with indices" : ", as indices";
    if (request.value_bytes != 0)
        text += fmt::format(", {}values of {} bytes", request.items ? "with " : "as ",
                            request.value_bytes);
    if (request.has_rejected()) text += ", the rest apart";
    if (request.rest == SelectRest::after) text += ", the rest behind them";
    if (request.order == SelectOrder::any) text += ", in any order";
    if (request.capacity) text += fmt::format(", {} at most", *request.capacity);
    return text;
}

// Makes the passes.
class Passes {
public:
    Passes(const Caps& caps, const Request& request, Tier tier, Addressing addressing,
           const Shape& shape)
        : caps_(caps), request_(request), tier_(tier), addressing_(addressing), shape_(shape) {}

    std::vector<Pass> make() {
        const SelectStrategy strategy = shape_.policy.strategy;
        if (strategy == SelectStrategy::append) {
            add_begin();
            add_append();
        } else if (looks_back(strategy)) {
            add_lookback();
        } else {
            if (strategy == SelectStrategy::count_then_scatter) add_counts();
            add_tiles();
        }
        if (shape_.kept_bytes != 0) add_pack(shape_.kept(), Role::output, false);
        if (shape_.rejected_bytes != 0) add_pack(shape_.rejected(), Role::rejected, true);
        return std::move(passes_);
    }

private:
    Pass make_pass(const char* name, Form form, const std::string& variant) const {
        Pass pass;
        pass.name = name;
        pass.kernel =
            fmt::format("{}.{}.{}.{}", name, to_text(form), variant, to_text(addressing_));
        pass.form = form;
        pass.workgroup_size = shape_.policy.workgroup_size;
        pass.constants = {{0, "workgroup_size", shape_.policy.workgroup_size}};
        pass.groups = Groups::share;
        pass.waits = true;
        return pass;
    }

    void add(Pass& pass, std::uint32_t id, const char* name, std::uint32_t value) const {
        pass.constants.push_back({id, name, value});
    }

    // A pass that reads the items; its kernel's name has `variant` behind the types.
    Pass make_item_pass(const char* name, const std::string& variant) const {
        const Form form = tier_ == Tier::barrier ? Form::barrier : Form::subgroup;
        const std::string types =
            request_.custom ? detail::kernel_types(*request_.custom) : std::string("none");
        Pass pass = make_pass(name, form, types + variant);
        pass.required_subgroup_size = shape_.subgroup_size;
        pass.full_subgroups = detail::sizing_tier(caps_, tier_) == Tier::pinned;
        pass.workgroup_memory = shape_.workgroup_memory;
        add(pass, 1, "vectors", shape_.policy.vectors);
        add(pass, 2, "element_bits", 8 * request_.element_bytes());
        add(pass, 3, "flag_bits", request_.has_flags() ? request_.flag_bits : 0);
        add(pass, 4, "partials_offset", static_cast<std::uint32_t>(shape_.partials_offset / 4));
        detail::add_subgroup_constants(pass);
        pass.bindings = {Role::input, request_.has_flags() ? Role::flags : Role::input};
        return pass;
    }

    // A pass that writes them.
    Pass make_moving_pass(const char* name, const std::string& words) const {
        const bool appends = shape_.policy.strategy == SelectStrategy::append;
        std::string variant = request_.has_values() ? ".v" : ".v0";
        if (!appends) variant += request_.has_rejected() ? ".r" : ".r0";
        Pass pass = make_item_pass(name, variant + words);
        add(pass, 7, "write_items", request_.items ? 1 : 0);
        if (!appends) add(pass, 8, "rest_after", request_.rest == SelectRest::after ? 1 : 0);
        add(pass, 9, "capacity", detail::saturate32(request_.capacity.value_or(~0u)));
        add(pass, 10, "value_words", std::max(1u, request_.value_words()));
        add(pass, 11, "indices", request_.indices ? 1 : 0);
        // Nothing is written where there are no items: any buffer that is written.
        if (!request_.items) {
            pass.bindings.emplace_back(Role::values_out);
        } else {
            pass.bindings.push_back(shape_.kept_bytes != 0 ? shape_.kept() : Role::output);
        }
        pass.bindings.emplace_back(Role::count_out);
        pass.bindings.push_back(shape_.table());
        if (looks_back(shape_.policy.strategy)) pass.bindings.emplace_back(Role::state);
        if (request_.has_values()) {
            // Nothing is read where they are indices: any buffer that is only read.
            pass.bindings.emplace_back(request_.indices ? Role::input : Role::values);
            pass.bindings.emplace_back(Role::values_out);
        }
        if (request_.has_rejected()) {
            pass.bindings.push_back(shape_.rejected_bytes != 0 ? shape_.rejected()
                                                               : Role::rejected);
        }
        return pass;
    }

    void add_counts() {
        Pass pass = make_item_pass("select_counts", "");
        pass.barriers = detail::workgroup_reduce_barriers(
            detail::sizing_tier(caps_, tier_), shape_.policy.workgroup_size, shape_.subgroup_size);
        pass.bindings.push_back(shape_.table());
        passes_.push_back(std::move(pass));
    }

    // Barriers of a tile besides those of its scan: before and behind what moves, once more for
    // values behind items.
    std::uint32_t move_barriers() const {
        return request_.moves_items() && request_.has_values() ? 4 : 2;
    }

    void add_tiles() {
        Pass pass = make_moving_pass("select_tiles", "");
        add(pass, 12, "alone", shape_.policy.strategy == SelectStrategy::one_workgroup ? 1 : 0);
        pass.barriers = detail::saturate32(
            std::uint64_t{shape_.barriers} * (shape_.launch.tiles_per_group + 2) +
            std::uint64_t{move_barriers()} * shape_.launch.tiles_per_group);
        passes_.push_back(std::move(pass));
    }

    void add_lookback() {
        const bool atomic64 = caps_.int64_atomics && caps_.types.int64;
        Pass pass = make_moving_pass("select_lookback", atomic64 ? ".atomic64" : ".halves");
        const SelectPolicy& policy = shape_.policy;
        add(pass, 12, "ahead", policy.ahead);
        add(pass, 13, "patience", policy.patience);
        add(pass, 14, "silent_tile", policy.silent_tile);
        add(pass, 15, "most_epochs", detail::most_look_back_epochs(atomic64));
        add(pass, 16, "most_tiles", std::max(1u, shape_.launch.tiles));
        // A tile that has to be counted again adds to these.
        pass.barriers = shape_.barriers + move_barriers() + 3;
        if (policy.strategy == SelectStrategy::count_ahead) {
            pass.barriers += detail::workgroup_reduce_barriers(
                detail::sizing_tier(caps_, tier_), policy.workgroup_size, shape_.subgroup_size);
        }
        passes_.push_back(std::move(pass));
    }

    void add_begin() {
        Pass pass = make_pass("select_begin", Form::barrier, "none");
        pass.groups = Groups::one;
        pass.bindings = {Role::count_out};
        passes_.push_back(std::move(pass));
    }

    void add_append() {
        Pass pass = make_moving_pass("select_append", "");
        pass.barriers = tier_ == Tier::barrier
                            ? detail::saturate32(std::uint64_t{shape_.barriers + 1} *
                                                 shape_.launch.tiles_per_group)
                            : 0;
        passes_.push_back(std::move(pass));
    }

    // Of the rest, what follows the count.
    void add_pack(const PassBuffer& words, Role role, bool rest) {
        const bool all = request_.rest == SelectRest::after;
        Pass pass = make_pass("sort_pack", Form::barrier, all ? "none" : "counted");
        add(pass, 1, "items", shape_.share.tile_items / shape_.policy.workgroup_size);
        add(pass, 10, "key_kind", detail::element_kind(Scalar::u8));
        add(pass, 11, "key_bits", 8 * request_.element_bytes());
        add(pass, 12, "descending", 0);
        add(pass, 26, "most_count",
            request_.capacity ? static_cast<std::uint32_t>(request_.most_results()) : ~0u);
        if (!all) add(pass, 27, "rest", rest ? 1 : 0);
        pass.bindings = {words, role, shape_.table()};
        if (!all) pass.bindings.emplace_back(Role::count_out);
        passes_.push_back(std::move(pass));
    }

    const Caps& caps_;
    const Request& request_;
    Tier tier_;
    Addressing addressing_;
    const Shape& shape_;
    std::vector<Pass> passes_;
};

// Bytes of each buffer of the caller's but scratch, for max_count items.
std::vector<Argument> arguments_of(const Caps& caps, const Request& request,
                                   Addressing addressing) {
    const std::uint32_t usage = detail::buffer_usage(addressing);
    const std::uint32_t alignment = detail::buffer_alignment(caps, addressing);
    std::vector<Argument> arguments;
    const auto add = [&](Role role, std::uint64_t items, std::uint32_t bits, Access access) {
        const std::uint64_t bytes =
            kWordBytes * std::max<std::uint64_t>(1, detail::divide_up(items * bits, 32));
        arguments.push_back({role, detail::provided_bytes(caps, bytes), alignment, usage, access});
    };
    const std::uint32_t item_bits = 8 * request.element_bytes();
    const std::uint32_t value_bits = 32 * request.value_words();
    add(Role::input, request.max_count, item_bits, Access::read);
    if (request.has_flags()) add(Role::flags, request.max_count, request.flag_bits, Access::read);
    if (request.items) add(Role::output, request.most_results(), item_bits, Access::write);
    if (request.value_bytes != 0) add(Role::values, request.max_count, value_bits, Access::read);
    if (request.has_values())
        add(Role::values_out, request.most_results(), value_bits, Access::write);
    if (request.has_rejected()) add(Role::rejected, request.max_count, item_bits, Access::write);
    // The count may lie among other words of the caller's.
    arguments.push_back({Role::count_out, kWordBytes,
                         detail::buffer_alignment(caps, addressing, kWordBytes), usage,
                         Access::write});
    return arguments;
}

}  // namespace

namespace detail {

Result<Plan> plan_select_task(const Caps& caps, const SelectTask& task) {
    const Request request(task);
    if (std::string why = wrong(request); !why.empty())
        return fail(ErrorCode::bad_argument, std::move(why));
    const std::uint32_t record_words = std::max({request.item_words(), request.value_words(), 1u});
    if (request.max_count > kMostCount / record_words) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} is above {}, the most items with {} words each",
                                request.max_count, kMostCount / record_words, record_words));
    }
    if (auto refused = check_device(caps, request.combination(), "select"); !refused)
        return tl::unexpected(refused.error());
    const auto choice = choose_tier(caps, kOperations, request.tier);
    if (!choice) return tl::unexpected(choice.error());
    const Tier tier = choice->tier;
    const SelectPolicy policy =
        request.policy.value_or(policy_for(caps, request, tier, request.max_count));
    const auto shape = shape_of(caps, request, tier, policy, request.max_count);
    if (!shape) return tl::unexpected(shape.error());

    std::uint64_t most_bytes = std::max(shape->kept_bytes, shape->rejected_bytes);
    for (const Argument& argument : arguments_of(caps, request, Addressing::descriptor))
        most_bytes = std::max(most_bytes, argument.bytes);
    const auto addressing =
        choose_addressing(caps, request.addressing, request.max_count, most_bytes,
                          request.bindings(policy.strategy), "select",
                          request.has_values() ? std::string("items with values")
                                               : "items of " + element_text(request.combination()));
    if (!addressing) return tl::unexpected(addressing.error());

    Plan plan;
    plan.primitive = "select";
    plan.summary = summary_of(request);
    plan.custom = request.custom;
    plan.tier = tier;
    plan.reason = choice->reason;
    plan.policy = to_text(policy);
    plan.addressing = *addressing;
    plan.max_count = request.max_count;
    plan.element_bytes = request.element_bytes();
    plan.result_bytes = plan.element_bytes;
    plan.value_bytes = kWordBytes * request.value_words();
    plan.flag_bits = request.has_flags() ? request.flag_bits : 0;
    if (request.capacity) plan.max_results = request.capacity;
    plan.share = shape->share;
    plan.indirect_offset = kParameterBytes;
    plan.state_bytes = static_cast<std::uint32_t>(shape->state_bytes);
    plan.arguments = arguments_of(caps, request, *addressing);
    plan.arguments.push_back(
        {Role::scratch,
         request.policy ? shape->scratch_bytes
                        : monotone_scratch_bytes(caps, request, tier, shape->scratch_bytes),
         plan.arguments.front().alignment, scratch_usages(caps, *addressing), Access::read_write});

    plan.passes = {count_to_groups_pass(caps, plan.share, request.max_count, *addressing)};
    std::ranges::replace(plan.passes[0].bindings, PassBuffer(Role::scratch), shape->table());
    for (Pass& pass : Passes(caps, request, tier, *addressing, *shape).make())
        plan.passes.push_back(std::move(pass));
    return plan;
}

}  // namespace detail

Result<Plan> plan_select(const Caps& caps, const SelectDesc& desc) {
    return detail::plan_select_task(caps, SelectTask{desc});
}

SelectPolicy select_policy(const Caps& caps, const SelectDesc& desc, Tier tier) {
    return policy_for(caps, Request(SelectTask{desc}), tier, desc.max_count);
}

const char* to_text(SelectStrategy strategy) { return detail::name_of(kStrategyNames, strategy); }
const char* to_text(SelectOrder order) { return detail::name_of(kOrderNames, order); }
const char* to_text(SelectRest rest) { return detail::name_of(kRestNames, rest); }

std::optional<SelectStrategy> select_strategy_from_text(std::string_view text) {
    return detail::value_of(kStrategyNames, text);
}

std::string to_text(const SelectPolicy& policy) {
    std::string text =
        fmt::format("{}, workgroup_size {}, vectors {}, max_groups {}", to_text(policy.strategy),
                    policy.workgroup_size, policy.vectors, policy.max_groups);
    if (policy.strategy == SelectStrategy::count_ahead)
        text += fmt::format(", ahead {}", policy.ahead);
    if (looks_back(policy.strategy)) text += fmt::format(", patience {}", policy.patience);
    if (policy.silent_tile != ~0u) text += fmt::format(", silent_tile {}", policy.silent_tile);
    return text;
}

}  // namespace lanewise
