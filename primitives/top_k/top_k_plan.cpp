// Planner of top_k: pure arithmetic from Caps and TopKDesc to a Plan.
//
//   one_workgroup   the pass of a sort of all items
//   select          for each digit, from the highest, top_k_counts and top_k_digit; top_k_sums,
//                   top_k_offsets, top_k_gather; the passes of a sort of what was gathered
// and before them, where the count is in a buffer, count_to_groups.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

#include "lanewise/top_k.hpp"
#include "primitives/sort/sort_plan.hpp"
#include "primitives/top_k/top_k_policy.hpp"
#include "src/core/accumulators.hpp"
#include "src/core/arithmetic.hpp"
#include "src/core/names.hpp"
#include "src/core/passes.hpp"
#include "src/core/ranks.hpp"
#include "src/core/tiers.hpp"
#include "src/core/workgroups.hpp"

namespace lanewise {
namespace {

using detail::SortTask;

constexpr detail::Names<TopKStrategy, 2> kStrategyNames{
    {{TopKStrategy::one_workgroup, "one_workgroup"}, {TopKStrategy::select, "select"}}};

constexpr std::uint32_t kMostDigitBits = 11;
constexpr std::uint64_t kMostCount = ~0u;
constexpr std::uint32_t kSideBits = 2;     // top_k_gather.comp
constexpr std::uint32_t kGatherWords = 7;  // sh_wanted, sh_sides; in WGSL sh_last, too
constexpr std::uint32_t kRun = 4;          // top_k_digit.comp

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected(Error{code, "top_k: " + std::move(message), {}});
}

std::uint32_t key_bits(const TopKDesc& desc) { return 8 * size_of(desc.key); }
// In which the passes hold a key.
std::uint32_t key_words(const TopKDesc& desc) { return key_bits(desc) == 64 ? 2 : 1; }
bool has_values(const TopKDesc& desc) { return desc.indices || desc.value_bytes != 0; }
std::uint32_t value_words(const TopKDesc& desc) { return desc.indices ? 1 : desc.value_bytes / 4; }
std::uint64_t most_results(const TopKDesc& desc) { return std::min(desc.k, desc.max_count); }

std::string wrong(const TopKDesc& desc) {
    if (desc.value_bytes % 4 != 0 || desc.value_bytes > 16)
        return fmt::format("value_bytes {} is not 0, 4, 8, 12 or 16", desc.value_bytes);
    if (desc.indices && desc.value_bytes != 0)
        return fmt::format("indices are the values: value_bytes is {}, not 0", desc.value_bytes);
    return {};
}

// The sort of all items, of which the first k are written.
SortTask sort_of_all(const TopKDesc& desc) {
    SortTask task;
    task.key = desc.key;
    task.value_bytes = desc.value_bytes;
    task.argsort = desc.indices;
    task.keys_too = true;
    task.order = desc.order;
    task.max_count = desc.max_count;
    task.tier = desc.tier;
    task.addressing = desc.addressing;
    task.most_results = static_cast<std::uint32_t>(most_results(desc));
    return task;
}

// The sort of the k that were gathered, with values of their own.
SortTask sort_of_gathered(const TopKDesc& desc) {
    SortTask task;
    task.key = desc.key;
    task.value_bytes = 4 * value_words(desc);
    task.order = desc.order;
    task.max_count = most_results(desc);
    task.images_in = true;
    task.most_count = static_cast<std::uint32_t>(most_results(desc));
    return task;
}

std::string impossible(const TopKPolicy& policy) {
    const SortPolicy& sort = policy.sort;
    if (policy.strategy == TopKStrategy::one_workgroup) {
        if (detail::sorts_alone(sort.strategy)) return {};
        return fmt::format("{} of all items is no sort in one workgroup", to_text(sort.strategy));
    }
    const std::uint32_t w = policy.workgroup_size;
    if (!std::has_single_bit(w) || w < 4 || w > 1024)
        return fmt::format("workgroup_size {} is no power of two from 4 to 1024", w);
    if (policy.items == 0 || policy.items > detail::kMostRankItems)
        return fmt::format("items {} is not from 1 to {}", policy.items, detail::kMostRankItems);
    if (policy.digit_bits == 0 || policy.digit_bits > kMostDigitBits)
        return fmt::format("digit_bits {} is not from 1 to {}", policy.digit_bits, kMostDigitBits);
    if (policy.max_groups == 0) return "max_groups is 0";
    if (detail::sorts_alone(sort.strategy)) return {};
    if (sort.strategy != SortStrategy::count_then_scatter)
        return fmt::format("{} does not sort what is selected", to_text(sort.strategy));
    if (sort.workgroup_size != w || sort.items != policy.items ||
        sort.max_groups != policy.max_groups) {
        return fmt::format(
            "what is selected is shared out as the items are: workgroup_size, items and max_groups "
            "{}, {} and {} of the sort are not {}, {} and {}",
            sort.workgroup_size, sort.items, sort.max_groups, w, policy.items, policy.max_groups);
    }
    return {};
}

// Everything that follows from a policy of select.
struct Shape {
    TopKPolicy policy;
    std::uint32_t subgroup_size = 0;  // pinned tier
    detail::Ranks ranks;
    Share share;
    Launch launch;  // of max_count
    detail::SortPart sort;
    // In scratch, bytes, behind what the sort has there.
    std::uint64_t threshold_offset = 0;
    std::uint64_t sums_offset = 0;
    std::uint64_t table_end = 0;
    std::uint64_t keys_bytes = 0;
    std::uint64_t values_bytes = 0;  // 0: there are none
    std::uint64_t scratch_bytes = 0;

    PassBuffer table() const { return {Role::scratch, 0, table_end}; }
    PassBuffer keys() const { return {Role::scratch, table_end, keys_bytes}; }
    PassBuffer values() const { return {Role::scratch, table_end + keys_bytes, values_bytes}; }
};

detail::RankShape rank_shape(const TopKPolicy& policy) {
    return {policy.workgroup_size, policy.items, kSideBits, kGatherWords};
}

Result<Shape> shape_of(const Caps& caps, const TopKDesc& desc, Tier tier, const TopKPolicy& policy,
                       std::uint64_t count) {
    Shape shape;
    shape.policy = policy;
    const std::uint32_t w = policy.workgroup_size;
    if (auto checked = detail::check_workgroup_size(caps, w, "top_k"); !checked)
        return tl::unexpected(checked.error());
    const auto size = detail::required_subgroup_size(caps, tier, w, "top_k");
    if (!size) return tl::unexpected(size.error());
    shape.subgroup_size = *size;
    const auto ranks = detail::ranks_of(caps, tier, rank_shape(policy), shape.subgroup_size);
    const std::uint32_t histogram_bytes = 4u << policy.digit_bits;
    if (!ranks || histogram_bytes > caps.limits.max_workgroup_memory) {
        const std::uint32_t words = detail::rank_words(caps, tier, rank_shape(policy), {});
        return fail(
            ErrorCode::limit_exceeded,
            fmt::format("policy: workgroup_size {} with items {} and digit_bits {} needs "
                        "{} bytes of workgroup memory, the device has {}",
                        w, policy.items, policy.digit_bits, std::max(4 * words, histogram_bytes),
                        caps.limits.max_workgroup_memory));
    }
    shape.ranks = *ranks;
    shape.share.tile_items = w * policy.items;
    if (shape.share.tile_items > detail::kMostRankTile) {
        return fail(ErrorCode::bad_argument,
                    fmt::format("policy: {} invocations of {} items are a tile of {}, above {}", w,
                                policy.items, shape.share.tile_items, detail::kMostRankTile));
    }
    shape.share.max_groups = std::min(policy.max_groups, caps.limits.max_groups_x);
    shape.launch = share_out(shape.share, count);

    TopKDesc part = desc;
    part.max_count = count;
    SortTask task = sort_of_gathered(part);
    task.policy = policy.sort;
    auto sort = detail::sort_part(caps, task, tier, Addressing::descriptor);
    if (!sort) return tl::unexpected(sort.error());
    shape.sort = *std::move(sort);

    const auto padded = [](std::uint64_t bytes) {
        return std::max<std::uint64_t>(detail::round_up(bytes, detail::kScratchAlignment),
                                       detail::kScratchAlignment);
    };
    shape.threshold_offset = padded(shape.sort.scratch_bytes);
    shape.sums_offset = shape.threshold_offset + detail::kScratchAlignment;
    shape.table_end =
        shape.sums_offset + padded(8 * std::uint64_t{detail::partials_bound(shape.share, count)});
    shape.keys_bytes = padded(4 * task.max_count * key_words(desc));
    if (has_values(desc)) shape.values_bytes = padded(4 * task.max_count * value_words(desc));
    shape.scratch_bytes = shape.table_end + shape.keys_bytes + shape.values_bytes;
    return shape;
}

std::uint64_t most_range_bytes(const TopKDesc& desc, const Shape& shape) {
    return std::max({desc.max_count * size_of(desc.key), desc.max_count * 4 * value_words(desc),
                     shape.table_end, shape.keys_bytes, shape.values_bytes,
                     shape.sort.most_range_bytes});
}

TopKPolicy policy_for(const Caps& caps, const TopKDesc& desc, Tier tier, std::uint64_t count) {
    TopKDesc part = desc;
    part.max_count = count;
    TopKPolicy policy;
    policy.sort = sort_policy(caps, sort_of_all(part), tier);
    if (detail::sorts_alone(policy.sort.strategy)) {
        policy.strategy = TopKStrategy::one_workgroup;
        return policy;
    }
    const detail::TopKPolicyRow& row = detail::top_k_policy_row(caps);
    SortPolicy scatter{.strategy = SortStrategy::count_then_scatter,
                       .workgroup_size = row.workgroup_size,
                       .items = row.items,
                       .digit_bits = 8,
                       .max_groups = row.max_groups};
    const SortTask gathered = sort_of_gathered(part);
    scatter = detail::fitted_sort_policy(caps, gathered, tier, count, scatter);
    policy.workgroup_size = scatter.workgroup_size;
    policy.items = scatter.items;
    policy.max_groups = scatter.max_groups;
    policy.digit_bits = row.digit_bits;
    while (policy.digit_bits > 1 && (4u << policy.digit_bits) > caps.limits.max_workgroup_memory)
        --policy.digit_bits;
    policy.sort = sort_policy(caps, gathered, tier);
    if (!detail::sorts_alone(policy.sort.strategy)) policy.sort = scatter;
    return policy;
}

// The most bytes of scratch that the default policies of all smaller inputs would take.
std::uint64_t monotone_scratch_bytes(const Caps& caps, const TopKDesc& desc, Tier tier,
                                     std::uint64_t own_bytes) {
    std::uint64_t bytes = own_bytes;
    // Where the policy of the sort changes: at the most that one workgroup takes.
    std::uint64_t alone = 0;
    for (std::uint64_t step = std::uint64_t{1} << 16; step != 0; step /= 2) {
        TopKDesc part = desc;
        part.max_count = alone + step;
        if (part.max_count < desc.max_count &&
            detail::sorts_alone(sort_policy(caps, sort_of_all(part), tier).strategy))
            alone += step;
    }
    for (const std::uint64_t count : {alone, alone + 1}) {
        if (count >= desc.max_count) continue;
        const TopKPolicy policy = policy_for(caps, desc, tier, count);
        if (policy.strategy != TopKStrategy::select) continue;
        const auto shape = shape_of(caps, desc, tier, policy, count);
        if (shape) bytes = std::max(bytes, shape->scratch_bytes);
    }
    return bytes;
}

std::string summary_of(const TopKDesc& desc) {
    std::string text = fmt::format("the {} {} {} keys",
                                   desc.order == SortOrder::descending ? "largest" : "smallest",
                                   desc.k, to_text(desc.key));
    if (desc.value_bytes != 0) text += fmt::format(" with values of {} bytes", desc.value_bytes);
    if (desc.indices) text += " with indices";
    return text;
}

// Makes the passes of select.
class Passes {
public:
    Passes(const Caps& caps, const TopKDesc& desc, Tier tier, Addressing addressing,
           const Shape& shape)
        : caps_(caps), desc_(desc), tier_(tier), addressing_(addressing), shape_(shape) {}

    std::vector<Pass> make() {
        std::uint32_t end = key_bits(desc_);
        while (end != 0) {
            const std::uint32_t bits = std::min(shape_.policy.digit_bits, end);
            end -= bits;
            add_counts(end, bits);
            add_digit(end, bits);
        }
        add_sums();
        add_offsets();
        add_gather();
        return std::move(passes_);
    }

private:
    Pass make_pass(const char* name, Form form, const std::string& types) const {
        Pass pass;
        pass.name = name;
        pass.kernel = fmt::format("{}.{}.{}.{}", name, to_text(form), types, to_text(addressing_));
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

    void add_key_constants(Pass& pass) const {
        add(pass, 10, "key_kind", detail::element_kind(desc_.key));
        add(pass, 11, "key_bits", key_bits(desc_));
        add(pass, 12, "descending", desc_.order == SortOrder::descending ? 1 : 0);
        add(pass, 13, "source_bits", key_bits(desc_));
        add(pass, 14, "image_in", 1);
    }

    void add_table_offset(Pass& pass) const {
        add(pass, 4, "table_offset", static_cast<std::uint32_t>(shape_.threshold_offset / 4));
    }
    void add_sums_offset(Pass& pass) const {
        add(pass, 20, "sums_offset", static_cast<std::uint32_t>(shape_.sums_offset / 4));
    }
    void add_most_count(Pass& pass) const {
        add(pass, 26, "most_count", static_cast<std::uint32_t>(most_results(desc_)));
    }

    void add_counts(std::uint32_t shift, std::uint32_t bits) {
        Pass pass = make_pass("top_k_counts", Form::barrier, key_text());
        add(pass, 1, "items", shape_.policy.items);
        add(pass, 2, "digit_bits", bits);
        add(pass, 3, "shift", shift);
        add_table_offset(pass);
        add_key_constants(pass);
        pass.workgroup_memory = 4u << bits;
        pass.barriers = 2;
        pass.bindings = {Role::input, shape_.table(), Role::state};
        passes_.push_back(std::move(pass));
    }

    void add_digit(std::uint32_t shift, std::uint32_t bits) {
        Pass pass = make_pass("top_k_digit", Form::barrier, "none");
        add(pass, 2, "digit_bits", bits);
        add(pass, 3, "shift", shift);
        add_table_offset(pass);
        add(pass, 11, "key_bits", key_bits(desc_));
        add_most_count(pass);
        pass.groups = Groups::one;
        pass.workgroup_memory = offsets_bytes();
        pass.barriers = 1 + 3 * rounds(1u << bits, kRun * shape_.policy.workgroup_size);
        pass.bindings = {shape_.table(), Role::state};
        passes_.push_back(std::move(pass));
    }

    void add_sums() {
        Pass pass = make_pass("top_k_sums", Form::barrier, key_text());
        add(pass, 1, "items", shape_.policy.items);
        add_table_offset(pass);
        add_key_constants(pass);
        add_sums_offset(pass);
        pass.workgroup_memory = 16;
        pass.barriers = 2;
        pass.bindings = {Role::input, shape_.table()};
        passes_.push_back(std::move(pass));
    }

    void add_offsets() {
        Pass pass = make_pass("top_k_offsets", Form::barrier, "none");
        add_sums_offset(pass);
        pass.groups = Groups::one;
        pass.workgroup_memory = offsets_bytes();
        pass.barriers = 6 * rounds(shape_.launch.groups, shape_.policy.workgroup_size);
        pass.bindings = {shape_.table()};
        passes_.push_back(std::move(pass));
    }

    void add_gather() {
        const Form form = tier_ == Tier::barrier ? Form::barrier : Form::subgroup;
        Pass pass = make_pass("top_k_gather", form,
                              fmt::format("{}.{}", key_text(), has_values(desc_) ? "v" : "v0"));
        pass.required_subgroup_size = shape_.subgroup_size;
        pass.full_subgroups = detail::sizing_tier(caps_, tier_) == Tier::pinned;
        pass.workgroup_memory =
            4 * detail::rank_words(caps_, tier_, rank_shape(shape_.policy), shape_.ranks);
        add(pass, 1, "items", shape_.policy.items);
        add_table_offset(pass);
        detail::add_rank_constants(pass, caps_, shape_.ranks);
        add_key_constants(pass);
        add(pass, 16, "value_words", value_words(desc_));
        add(pass, 17, "indices", desc_.indices ? 1 : 0);
        add_sums_offset(pass);
        add_most_count(pass);
        const std::uint64_t of_tile =
            detail::rank_barriers(caps_, tier_, shape_.policy.workgroup_size) + 5;
        pass.barriers = static_cast<std::uint32_t>(
            std::min<std::uint64_t>(~0u, 2 + of_tile * shape_.launch.tiles_per_group));
        pass.bindings = {Role::input, shape_.keys(), shape_.table()};
        if (has_values(desc_)) {
            // Nothing is read where they are indices: any buffer that is only read.
            pass.bindings.emplace_back(desc_.indices ? Role::input : Role::values);
            pass.bindings.push_back(shape_.values());
        }
        passes_.push_back(std::move(pass));
    }

    static std::uint32_t rounds(std::uint32_t words, std::uint32_t of_round) {
        return static_cast<std::uint32_t>(detail::divide_up(words, of_round));
    }
    std::uint32_t offsets_bytes() const {
        return 4 * detail::offsets_words(shape_.policy.workgroup_size);
    }
    std::string key_text() const { return fmt::format("k{}", key_words(desc_)); }

    const Caps& caps_;
    const TopKDesc& desc_;
    Tier tier_;
    Addressing addressing_;
    const Shape& shape_;
    std::vector<Pass> passes_;
};

std::uint64_t result_bytes(const Caps& caps, std::uint64_t bytes) {
    return detail::provided_bytes(caps, std::max<std::uint64_t>(4, detail::round_up(bytes, 4)));
}

// All items sorted in one workgroup.
Result<Plan> plan_one_workgroup(const Caps& caps, const TopKDesc& desc, const TopKPolicy& policy) {
    SortTask task = sort_of_all(desc);
    task.policy = policy.sort;
    auto plan = detail::plan_sort_task(caps, task);
    if (!plan) return plan;
    for (Argument& argument : plan->arguments) {
        if (argument.role == Role::output)
            argument.bytes = result_bytes(caps, most_results(desc) * size_of(desc.key));
        if (argument.role == Role::values_out)
            argument.bytes = result_bytes(caps, most_results(desc) * 4 * value_words(desc));
    }
    return plan;
}

Result<Plan> plan_select(const Caps& caps, const TopKDesc& desc, Tier tier,
                         const TopKPolicy& policy) {
    auto shape = shape_of(caps, desc, tier, policy, desc.max_count);
    if (!shape) return tl::unexpected(shape.error());
    const auto addressing = detail::choose_addressing(
        caps, desc.addressing, desc.max_count, most_range_bytes(desc, *shape),
        has_values(desc) ? 5 : 3, "top_k", has_values(desc) ? "records" : "keys");
    if (!addressing) return tl::unexpected(addressing.error());

    Plan plan;
    plan.addressing = *addressing;
    plan.max_count = desc.max_count;
    plan.element_bytes = size_of(desc.key);
    plan.result_bytes = size_of(desc.key);
    plan.value_bytes = 4 * value_words(desc);
    plan.share = shape->share;
    plan.indirect_offset = detail::kParameterBytes;
    plan.state_bytes = 4u << policy.digit_bits;

    const std::uint32_t usage = detail::buffer_usage(*addressing);
    const std::uint32_t alignment = detail::buffer_alignment(caps, *addressing);
    const auto add = [&](Role role, std::uint64_t bytes, Access access) {
        plan.arguments.push_back({role, result_bytes(caps, bytes), alignment, usage, access});
    };
    add(Role::input, desc.max_count * plan.element_bytes, Access::read);
    add(Role::output, most_results(desc) * plan.result_bytes, Access::write);
    if (desc.value_bytes != 0) add(Role::values, desc.max_count * plan.value_bytes, Access::read);
    if (has_values(desc))
        add(Role::values_out, most_results(desc) * plan.value_bytes, Access::write);
    const std::uint64_t scratch_bytes =
        desc.policy ? shape->scratch_bytes
                    : monotone_scratch_bytes(caps, desc, tier, shape->scratch_bytes);
    plan.arguments.push_back({Role::scratch, scratch_bytes, alignment,
                              detail::scratch_usages(caps, *addressing), Access::read_write});

    plan.passes = {detail::count_to_groups_pass(caps, plan.share, desc.max_count, *addressing)};
    // Not all of scratch, which may be above what a binding reaches.
    std::ranges::replace(plan.passes[0].bindings, PassBuffer(Role::scratch), shape->table());
    std::ranges::move(Passes(caps, desc, tier, *addressing, *shape).make(),
                      std::back_inserter(plan.passes));
    SortTask task = sort_of_gathered(desc);
    task.policy = policy.sort;
    auto sort = detail::sort_part(caps, task, tier, *addressing);
    if (!sort) return tl::unexpected(sort.error());
    for (Pass& pass : sort->passes) {
        std::ranges::replace(pass.bindings, PassBuffer(Role::input), shape->keys());
        std::ranges::replace(pass.bindings, PassBuffer(Role::values), shape->values());
        plan.passes.push_back(std::move(pass));
    }
    return plan;
}

}  // namespace

TopKPolicy top_k_policy(const Caps& caps, const TopKDesc& desc, Tier tier) {
    return policy_for(caps, desc, tier, desc.max_count);
}

Result<Plan> plan_top_k(const Caps& caps, const TopKDesc& desc) {
    if (std::string why = wrong(desc); !why.empty())
        return fail(ErrorCode::bad_argument, std::move(why));
    // Kernels number words in 32 bits.
    const std::uint64_t record_words = std::max({key_words(desc), value_words(desc), 1u});
    if (desc.max_count > kMostCount / record_words) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} is above {}, the most items with {} words each",
                                desc.max_count, kMostCount / record_words, record_words));
    }
    if (auto checked = detail::check_workgroups(caps, "top_k"); !checked)
        return tl::unexpected(checked.error());
    const auto choice = detail::choose_tier(caps, detail::kSortOperations, desc.tier);
    if (!choice) return tl::unexpected(choice.error());
    const TopKPolicy policy = desc.policy.value_or(top_k_policy(caps, desc, choice->tier));
    if (std::string why = impossible(policy); !why.empty())
        return fail(ErrorCode::bad_argument, "policy: " + std::move(why));

    auto plan = policy.strategy == TopKStrategy::one_workgroup
                    ? plan_one_workgroup(caps, desc, policy)
                    : plan_select(caps, desc, choice->tier, policy);
    if (!plan) return plan;
    plan->primitive = "top_k";
    plan->summary = summary_of(desc);
    plan->tier = choice->tier;
    plan->reason = choice->reason;
    plan->policy = to_text(policy);
    plan->max_results = desc.k;
    return plan;
}

const char* to_text(TopKStrategy strategy) { return detail::name_of(kStrategyNames, strategy); }

std::optional<TopKStrategy> top_k_strategy_from_text(std::string_view text) {
    return detail::value_of(kStrategyNames, text);
}

std::string to_text(const TopKPolicy& policy) {
    if (policy.strategy == TopKStrategy::one_workgroup)
        return fmt::format("{}: {}", to_text(policy.strategy), to_text(policy.sort));
    return fmt::format("{}, workgroup_size {}, items {}, digit_bits {}, max_groups {}; then {}",
                       to_text(policy.strategy), policy.workgroup_size, policy.items,
                       policy.digit_bits, policy.max_groups, to_text(policy.sort));
}

}  // namespace lanewise
