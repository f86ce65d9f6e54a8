// Planner of split: a sort by up to 16 bits (primitives/sort/sort_plan.hpp), and behind it
//
//   split_offsets        where each bucket begins, read from the keys in order
//
// so that the table depends on neither strategy nor tier nor the number of digits.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "lanewise/split.hpp"
#include "primitives/sort/sort_plan.hpp"
#include "primitives/sort/sort_policy.hpp"
#include "src/core/accumulators.hpp"
#include "src/core/passes.hpp"
#include "src/core/tiers.hpp"

namespace lanewise {
namespace {

constexpr std::uint32_t kMostBits = 16;

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected(Error{code, "split: " + std::move(message), {}});
}

std::uint32_t key_bits(const SplitDesc& desc) { return 8 * size_of(desc.key); }
std::uint32_t end_bit(const SplitDesc& desc) { return desc.end_bit.value_or(key_bits(desc)); }
std::uint32_t bucket_bits(const SplitDesc& desc) { return end_bit(desc) - desc.begin_bit; }

// What has not is for the sort to refuse.
bool has_bits(const SplitDesc& desc) {
    return desc.begin_bit <= end_bit(desc) && end_bit(desc) <= key_bits(desc);
}

bool moves_tiles(SortStrategy strategy) {
    return strategy == SortStrategy::count_then_scatter || strategy == SortStrategy::look_back;
}

std::string wrong(const SplitDesc& desc) {
    if (desc.indices && desc.value_bytes != 0) {
        return fmt::format("indices are values already: value_bytes is {}, not 0",
                           desc.value_bytes);
    }
    if (has_bits(desc) && bucket_bits(desc) > kMostBits) {
        return fmt::format(
            "bits {} to {} make 2^{} buckets, 2^{} are the most: set begin_bit and "
            "end_bit",
            desc.begin_bit, end_bit(desc), bucket_bits(desc), kMostBits);
    }
    if (desc.policy && !moves_tiles(desc.policy->strategy)) {
        return fmt::format(
            "policy: {} is a sort in one workgroup; use count_then_scatter or "
            "look_back",
            to_text(desc.policy->strategy));
    }
    return {};
}

detail::SortTask task_of(const SplitDesc& desc) {
    detail::SortTask task;
    task.key = desc.key;
    task.value_bytes = desc.value_bytes;
    task.argsort = task.keys_too = desc.indices;
    task.begin_bit = desc.begin_bit;
    task.end_bit = desc.end_bit;
    task.max_count = desc.max_count;
    task.tier = desc.tier;
    task.addressing = desc.addressing;
    task.policy = desc.policy;
    return task;
}

SortPolicy policy_for(const Caps& caps, const SplitDesc& desc, Tier tier, std::uint64_t count) {
    detail::SortTask task = task_of(desc);
    task.max_count = count;
    SortPolicy policy = sort_policy(caps, task, tier);
    // What one workgroup would sort is one tile of it.
    if (!moves_tiles(policy.strategy)) policy.strategy = SortStrategy::count_then_scatter;
    return policy;
}

// A sort's errors are this one's.
tl::unexpected<Error> as_own(Error error) {
    constexpr std::string_view kSort = "sort: ";
    if (error.message.starts_with(kSort)) error.message.replace(0, kSort.size(), "split: ");
    return tl::unexpected(std::move(error));
}

// The most bytes of scratch that the default policies of smaller inputs would take: scratch is
// monotone in max_count although the policy changes with it.
std::uint64_t most_scratch_bytes(const Caps& caps, const detail::SortTask& task,
                                 const SplitDesc& desc, const Plan& plan) {
    std::uint64_t bytes = plan.argument(Role::scratch)->bytes;
    std::vector<std::uint64_t> counts{detail::kMostLookBackCount};
    for (const detail::SortPolicyRow& row : detail::sort_policy_rows(caps, plan.tier))
        counts.push_back(row.max_count);
    for (const std::uint64_t count : counts) {
        if (count >= desc.max_count) continue;
        detail::SortTask smaller = task;
        smaller.max_count = count;
        smaller.policy = policy_for(caps, desc, plan.tier, count);
        const auto part = detail::sort_part(caps, smaller, plan.tier, plan.addressing);
        if (part) bytes = std::max(bytes, part->scratch_bytes);
    }
    return bytes;
}

std::string summary_of(const SplitDesc& desc) {
    std::string text = fmt::format("{} keys", to_text(desc.key));
    if (desc.indices) text += " and their indices";
    if (desc.value_bytes != 0) text += fmt::format(" with values of {} bytes", desc.value_bytes);
    return text + fmt::format(", by bits {} to {}, into {} buckets", desc.begin_bit, end_bit(desc),
                              1u << bucket_bits(desc));
}

Pass offsets_pass(const SplitDesc& desc, const Plan& plan) {
    const std::uint32_t w = plan.passes.back().workgroup_size;
    Pass pass;
    pass.name = "split_offsets";
    pass.kernel = fmt::format("split_offsets.barrier.k{}.{}", key_bits(desc) == 64 ? 2 : 1,
                              to_text(plan.addressing));
    pass.form = Form::barrier;
    pass.workgroup_size = w;
    pass.constants = {{0, "workgroup_size", w},
                      {2, "digit_bits", bucket_bits(desc)},
                      {3, "shift", desc.begin_bit},
                      {10, "key_kind", detail::element_kind(desc.key)},
                      {11, "key_bits", key_bits(desc)},
                      {12, "descending", 0},
                      {13, "source_bits", key_bits(desc)},
                      {14, "image_in", 1}};
    // The parameters' range is that of count_to_groups.
    pass.bindings = {Role::output, Role::offsets, plan.passes.front().bindings.back()};
    pass.groups = Groups::one;
    pass.waits = true;
    return pass;
}

}  // namespace

SortPolicy split_policy(const Caps& caps, const SplitDesc& desc, Tier tier) {
    return policy_for(caps, desc, tier, desc.max_count);
}

Result<Plan> plan_split(const Caps& caps, const SplitDesc& desc) {
    if (std::string why = wrong(desc); !why.empty())
        return fail(ErrorCode::bad_argument, std::move(why));
    if (auto checked = detail::check_workgroups(caps, "split"); !checked)
        return tl::unexpected(checked.error());
    detail::SortTask task = task_of(desc);
    if (!task.policy && has_bits(desc)) {
        // The tier decides on the policy, so it is chosen here, too.
        const auto choice = detail::choose_tier(caps, detail::kSortOperations, desc.tier);
        if (!choice) return tl::unexpected(choice.error());
        task.policy = split_policy(caps, desc, choice->tier);
    }
    auto sorted = detail::plan_sort_task(caps, task);
    if (!sorted) return as_own(std::move(sorted.error()));
    Plan plan = *std::move(sorted);
    plan.primitive = "split";
    plan.summary = summary_of(desc);

    // By words: no kernel takes them in vectors.
    const std::uint64_t bytes = 4 * ((std::uint64_t{1} << bucket_bits(desc)) + 1);
    if (plan.addressing == Addressing::descriptor && bytes > caps.limits.max_storage_range) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("{} bytes of offsets are above max_storage_range {}: take fewer "
                                "bits",
                                bytes, caps.limits.max_storage_range));
    }
    const auto scratch = std::ranges::find(plan.arguments, Role::scratch, &Argument::role);
    if (!desc.policy) scratch->bytes = most_scratch_bytes(caps, task, desc, plan);
    Argument offsets = plan.arguments.front();
    offsets.role = Role::offsets;
    offsets.bytes = bytes;
    offsets.access = Access::write;
    plan.arguments.insert(scratch, offsets);
    plan.passes.push_back(offsets_pass(desc, plan));
    return plan;
}

}  // namespace lanewise
