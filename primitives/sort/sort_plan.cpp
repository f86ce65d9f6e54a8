// Planner of sort: pure arithmetic from Caps and SortDesc to a Plan.
//
//   one_workgroup        sort_workgroup
//   count_then_scatter   for each digit sort_counts, sort_offsets, sort_scatter
//   look_back            sort_histograms, sort_bases; for each digit sort_lookback
//   bitonic              sort_bitonic
// and before them, where the count is in a buffer, count_to_groups; behind the two in the middle,
// for narrow keys, sort_pack.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "primitives/sort/sort_plan.hpp"
#include "primitives/sort/sort_policy.hpp"
#include "src/core/accumulators.hpp"
#include "src/core/arithmetic.hpp"
#include "src/core/names.hpp"
#include "src/core/passes.hpp"
#include "src/core/ranks.hpp"
#include "src/core/tiers.hpp"
#include "src/core/workgroups.hpp"

namespace lanewise {
namespace {

using detail::kMostLookBackCount;
using detail::SortTask;

constexpr detail::Names<SortStrategy, 4> kStrategyNames{
    {{SortStrategy::one_workgroup, "one_workgroup"},
     {SortStrategy::count_then_scatter, "count_then_scatter"},
     {SortStrategy::look_back, "look_back"},
     {SortStrategy::bitonic, "bitonic"}}};
constexpr detail::Names<SortOrder, 2> kOrderNames{
    {{SortOrder::ascending, "ascending"}, {SortOrder::descending, "descending"}}};

constexpr std::uint32_t kMaxDispatches = 4096;
constexpr std::uint32_t kTicketWords = 64;  // digit_table.glsl
constexpr std::uint64_t kMostCount = ~0u;

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected(Error{code, "sort: " + std::move(message), {}});
}

std::uint32_t key_bits(const SortDesc& desc) { return 8 * size_of(desc.key); }
// In which the passes hold a key.
std::uint32_t key_words(const SortDesc& desc) { return key_bits(desc) == 64 ? 2 : 1; }
bool is_narrow(const SortDesc& desc) { return key_bits(desc) < 32; }
bool writes_keys(const SortTask& task) { return !task.argsort || task.keys_too; }
bool has_values(const SortDesc& desc) { return desc.argsort || desc.value_bytes != 0; }
std::uint32_t value_words(const SortDesc& desc) { return desc.argsort ? 1 : desc.value_bytes / 4; }
std::uint32_t end_bit(const SortDesc& desc) { return desc.end_bit.value_or(key_bits(desc)); }
std::uint32_t most_bindings(const SortDesc& desc) { return has_values(desc) ? 5 : 3; }
bool all_bits_count(const SortDesc& desc) {
    return desc.begin_bit == 0 && end_bit(desc) == key_bits(desc);
}
// One workgroup sorts, in one pass: there is one tile.

std::string wrong(const SortDesc& desc) {
    if (desc.value_bytes % 4 != 0 || desc.value_bytes > 16)
        return fmt::format("value_bytes {} is not 0, 4, 8, 12 or 16", desc.value_bytes);
    if (desc.argsort && desc.value_bytes != 0) {
        return fmt::format("argsort makes its own values: value_bytes is {}, not 0",
                           desc.value_bytes);
    }
    if (end_bit(desc) > key_bits(desc))
        return fmt::format("end_bit {} is above the {} bits of {}", end_bit(desc), key_bits(desc),
                           to_text(desc.key));
    if (desc.begin_bit > end_bit(desc))
        return fmt::format("begin_bit {} is above end_bit {}", desc.begin_bit, end_bit(desc));
    if (desc.ping_pong && desc.argsort)
        return "argsort leaves the keys alone: it has no use for ping_pong";
    if (desc.ping_pong && is_narrow(desc))
        return fmt::format("ping_pong is for keys of 32 and 64 bits, not {}", to_text(desc.key));
    return {};
}

std::string impossible(const SortPolicy& policy, Tier tier) {
    const std::uint32_t w = policy.workgroup_size;
    if (!std::has_single_bit(w) || w < 4 || w > 1024)
        return fmt::format("workgroup_size {} is no power of two from 4 to 1024", w);
    if (policy.items == 0 || policy.items > detail::kMostRankItems)
        return fmt::format("items {} is not from 1 to {}", policy.items, detail::kMostRankItems);
    if (policy.max_groups == 0) return "max_groups is 0";
    if (policy.strategy == SortStrategy::bitonic) {
        if (std::has_single_bit(policy.items) && policy.items >= 2) return {};
        return fmt::format("items {} of bitonic is no power of two from 2 to {}", policy.items,
                           detail::kMostRankItems);
    }
    const std::uint32_t most =
        tier == Tier::barrier ? detail::kMostBarrierRankBits : detail::kMostRankBits;
    if (policy.digit_bits == 0 || policy.digit_bits > most) {
        return fmt::format("digit_bits {} is not from 1 to {}{}", policy.digit_bits, most,
                           tier == Tier::barrier ? " (tier barrier)" : "");
    }
    if (policy.strategy == SortStrategy::look_back && policy.patience == 0) return "patience is 0";
    return {};
}

// A digit's bits of the keys.
struct Digit {
    std::uint32_t shift = 0;
    std::uint32_t bits = 0;
};

// An empty range is a digit of no bits, which moves nothing. A bitonic sort has none.
std::vector<Digit> digits_of(const SortDesc& desc, const SortPolicy& policy) {
    std::vector<Digit> digits;
    if (policy.strategy == SortStrategy::bitonic) return digits;
    for (std::uint32_t shift = desc.begin_bit; shift < end_bit(desc); shift += policy.digit_bits)
        digits.push_back({shift, std::min(policy.digit_bits, end_bit(desc) - shift)});
    if (digits.empty()) digits.push_back({desc.begin_bit, 0});
    return digits;
}

detail::RankShape rank_shape(const SortPolicy& policy) {
    // sh_base; and sh_ticket and sh_missing.
    const std::uint32_t others =
        (1u << policy.digit_bits) + (policy.strategy == SortStrategy::look_back ? 2 : 0);
    return {policy.workgroup_size, policy.items, policy.digit_bits, others};
}

// A bitonic sort needs the numbers of items for values, and where keys that compare as equal
// differ.
bool has_numbers(const SortDesc& desc) { return has_values(desc) || !all_bits_count(desc); }

// Words of workgroup memory of sort_bitonic: kSharedWords of bitonic_barrier.glsl.
std::uint32_t bitonic_words(const Caps& caps, const SortDesc& desc, Tier tier,
                            const SortPolicy& policy) {
    const std::uint32_t tile = policy.workgroup_size * policy.items;
    std::uint32_t words = (key_words(desc) + (has_numbers(desc) ? 1 : 0)) * (tile + tile / 32);
    // As in workgroup_words.
    if (caps.api == Api::webgpu) words += 4;
    return words + detail::numbering_bytes(caps, tier) / 4;
}

// Control barriers of sort_bitonic, at most (bitonic_barrier.glsl).
std::uint32_t bitonic_barriers(const SortTask& desc, const SortPolicy& policy,
                               std::uint32_t full_subgroup_size) {
    const auto log2 = [](std::uint32_t power) {
        return static_cast<std::uint32_t>(std::countr_zero(power));
    };
    const std::uint32_t item_bits = log2(policy.items);
    const std::uint32_t near = item_bits + log2(std::max(1u, full_subgroup_size));
    const std::uint32_t stages = log2(policy.workgroup_size) + item_bits;
    std::uint32_t barriers = 2 + (is_narrow(desc) && writes_keys(desc) ? 2 : 0);
    for (std::uint32_t stage = near + 1; stage <= stages; ++stage) {
        const auto windows = detail::divide_up(stage - near, item_bits);
        barriers += static_cast<std::uint32_t>(windows) + 1;
    }
    return barriers;
}

struct Shape {
    SortPolicy policy;
    std::uint32_t subgroup_size = 0;  // pinned tier
    detail::Ranks ranks;
    std::vector<Digit> digits;
    Share share;
    Launch launch;                   // of max_count
    std::uint64_t table_offset = 0;  // in scratch, bytes; as the next
    std::uint64_t table_end = 0;
    std::uint64_t keys_bytes[2] = {0, 0};  // of the two places for keys in scratch
    std::uint64_t values_bytes = 0;        // of the place for values
    std::uint64_t scratch_bytes = 0;
    std::uint64_t state_bytes = 0;
    std::uint32_t workgroup_memory = 0;  // bytes

    std::uint64_t keys_offset(int place) const {
        return table_end + (place == 0 ? 0 : keys_bytes[0]);
    }
    std::uint64_t values_offset() const { return table_end + keys_bytes[0] + keys_bytes[1]; }
};

// Where the caller's output does not take what the passes hold.
bool keys_stay_in_scratch(const SortTask& task) { return !writes_keys(task) || is_narrow(task); }

// Everything that follows from a policy; an error where the device or the arithmetic forbids it.
Result<Shape> shape_of(const Caps& caps, const SortTask& desc, Tier tier, const SortPolicy& policy,
                       std::uint64_t count) {
    const std::uint32_t w = policy.workgroup_size;
    if (std::string why = impossible(policy, tier); !why.empty())
        return fail(ErrorCode::bad_argument, "policy: " + std::move(why));
    if (auto checked = detail::check_workgroup_size(caps, w, "sort"); !checked)
        return tl::unexpected(checked.error());
    Shape shape;
    shape.policy = policy;
    // A bitonic sort has none, and digit_bits may be anything.
    const bool bitonic = policy.strategy == SortStrategy::bitonic;
    if (!bitonic) shape.digits = digits_of(desc, policy);
    const auto size = detail::required_subgroup_size(caps, tier, w, "sort");
    if (!size) return tl::unexpected(size.error());
    shape.subgroup_size = *size;
    const bool alone = detail::sorts_alone(policy.strategy);
    const bool look_back = policy.strategy == SortStrategy::look_back;
    const auto digit_count = static_cast<std::uint32_t>(shape.digits.size());
    if (bitonic) {
        shape.workgroup_memory = 4 * bitonic_words(caps, desc, tier, policy);
        if (shape.workgroup_memory > caps.limits.max_workgroup_memory) {
            return fail(ErrorCode::limit_exceeded,
                        fmt::format("policy: workgroup_size {} with items {} needs {} bytes of "
                                    "workgroup memory, the device has {}",
                                    w, policy.items, shape.workgroup_memory,
                                    caps.limits.max_workgroup_memory));
        }
    } else {
        const auto ranks = detail::ranks_of(caps, tier, rank_shape(policy), shape.subgroup_size);
        const std::uint32_t histogram_bytes = 4 * digit_count << policy.digit_bits;
        if (!ranks || (look_back && histogram_bytes > caps.limits.max_workgroup_memory)) {
            const std::uint32_t words = detail::rank_words(caps, tier, rank_shape(policy), {});
            return fail(
                ErrorCode::limit_exceeded,
                fmt::format("policy: workgroup_size {} with items {} and digit_bits {} needs "
                            "{} bytes of workgroup memory, the device has {}",
                            w, policy.items, policy.digit_bits,
                            look_back ? std::max(4 * words, histogram_bytes) : 4 * words,
                            caps.limits.max_workgroup_memory));
        }
        shape.ranks = *ranks;
        shape.workgroup_memory = 4 * detail::rank_words(caps, tier, rank_shape(policy), *ranks);
    }

    Share& share = shape.share;
    share.tile_items = w * policy.items;
    if (share.tile_items > detail::kMostRankTile) {
        return fail(ErrorCode::bad_argument,
                    fmt::format("policy: {} invocations of {} items are a tile of {}, above {}", w,
                                policy.items, share.tile_items, detail::kMostRankTile));
    }
    if (alone && count > share.tile_items) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("policy: one workgroup of {} holds {} items, max_count is {}", w,
                                share.tile_items, count));
    }
    if (look_back && count > kMostLookBackCount) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("policy: look_back counts up to {} items, max_count is {}; use "
                                "count_then_scatter",
                                kMostLookBackCount, count));
    }
    share.max_groups = alone ? 1 : std::min(policy.max_groups, caps.limits.max_groups_x);
    // One tile to each workgroup: more tiles are more dispatches.
    if (look_back) share.max_tiles_per_dispatch = share.max_groups;
    shape.launch = share_out(share, count);
    if (shape.launch.dispatches > kMaxDispatches) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} takes {} dispatches, the limit is {}: raise "
                                "max_groups",
                                count, shape.launch.dispatches, kMaxDispatches));
    }

    const auto padded = [](std::uint64_t bytes) {
        return std::max<std::uint64_t>(detail::round_up(bytes, detail::kScratchAlignment),
                                       detail::kScratchAlignment);
    };
    shape.table_offset = detail::scratch_header_bytes(shape.launch.dispatches);
    std::uint64_t table_words = 0;
    if (look_back) {
        const std::uint64_t tiles = std::max(1u, shape.launch.tiles);
        table_words = kTicketWords + ((digit_count + 2 * tiles) << policy.digit_bits);
        shape.state_bytes = 4 * digit_count << policy.digit_bits;
    } else if (!alone) {
        // Of any count up to this one.
        table_words = detail::partials_bound(share, count) << policy.digit_bits;
    }
    shape.table_end =
        detail::round_up(shape.table_offset + 4 * table_words, detail::kScratchAlignment);

    // A place that is bound but not written has no more than a range must have.
    const std::uint64_t keys = padded(count * 4 * key_words(desc));
    const std::uint64_t values = padded(count * 4 * value_words(desc));
    if (desc.ping_pong) {
        // All passes go between the caller's buffers.
    } else if (alone) {
        if (!writes_keys(desc)) shape.keys_bytes[0] = padded(0);
    } else if (keys_stay_in_scratch(desc)) {
        // Of argsort's last pass nobody wants the keys.
        const std::uint32_t written = digit_count - (writes_keys(desc) ? 0 : 1);
        shape.keys_bytes[0] = written >= 1 ? keys : padded(0);
        if (digit_count >= 2) shape.keys_bytes[1] = written >= 2 ? keys : padded(0);
    } else if (digit_count >= 2) {
        shape.keys_bytes[0] = keys;
    }
    if (has_values(desc) && !desc.ping_pong && !alone && digit_count >= 2)
        shape.values_bytes = values;
    shape.scratch_bytes =
        shape.table_end + shape.keys_bytes[0] + shape.keys_bytes[1] + shape.values_bytes;
    return shape;
}

// The longest range that a pass binds.
std::uint64_t most_range_bytes(const SortDesc& desc, const Shape& shape) {
    return std::max({desc.max_count * 4 * key_words(desc), desc.max_count * 4 * value_words(desc),
                     shape.keys_bytes[0], shape.keys_bytes[1], shape.values_bytes,
                     shape.table_end});
}

// The table's policy as this device and these records can run it.
SortPolicy fitted(const Caps& caps, const SortDesc& desc, Tier tier, std::uint64_t count,
                  SortPolicy policy) {
    if (policy.strategy == SortStrategy::look_back && count > kMostLookBackCount)
        policy = detail::kGpuSortFallBack;
    if (tier == Tier::barrier)
        policy.digit_bits = std::min(policy.digit_bits, detail::kMostBarrierRankBits);
    if (key_words(desc) == 2) policy.items = std::max(1u, (policy.items + 1) / 2);
    policy.workgroup_size = detail::fitted_workgroup(caps, tier, policy.workgroup_size);
    const auto fits = [&] {
        // Where no size fits, shape_of says so.
        const auto [possible, size] = detail::sized_as(caps, tier, policy.workgroup_size);
        const auto ranks = detail::ranks_of(caps, possible, rank_shape(policy), size);
        if (!ranks) return false;
        // Turns are for subgroups that nobody expected.
        const std::uint32_t usual = size != 0 ? size : std::max(4u, caps.subgroup.size);
        return tier == Tier::barrier || ranks->slots >= std::max(1u, policy.workgroup_size / usual);
    };
    const auto histograms_fit = [&] {
        return policy.strategy != SortStrategy::look_back ||
               (4 * digits_of(desc, policy).size() << policy.digit_bits) <=
                   caps.limits.max_workgroup_memory;
    };
    const std::uint32_t least = tier == Tier::pinned ? caps.subgroup.min_size : 4;
    const std::uint32_t items = policy.items;
    while (!fits()) {
        // A little too large: fewer items. Much: a smaller workgroup.
        if (policy.items > items - items / 4) {
            --policy.items;
        } else if (policy.workgroup_size > std::max(32u, least)) {
            policy.workgroup_size /= 2;
            policy.items = items;
        } else if (policy.items > 2) {
            policy.items /= 2;
        } else if (policy.digit_bits > 1) {
            --policy.digit_bits;
        } else if (policy.workgroup_size > least) {
            policy.workgroup_size /= 2;
        } else {
            break;
        }
    }
    while (!histograms_fit() && policy.digit_bits > 1) --policy.digit_bits;
    if (policy.strategy == SortStrategy::one_workgroup) {
        // What a smaller workgroup cannot hold goes the way of larger inputs.
        if (std::uint64_t{policy.workgroup_size} * policy.items < count)
            policy.strategy = SortStrategy::count_then_scatter;
    }
    if (policy.strategy == SortStrategy::look_back) {
        // In so many dispatches and with such a table as there can be.
        const std::uint64_t tiles =
            detail::divide_up(count, std::uint64_t{policy.workgroup_size} * policy.items);
        const std::uint64_t groups = std::min(policy.max_groups, caps.limits.max_groups_x);
        if (tiles > groups * kMaxDispatches ||
            (!caps.device_addresses &&
             4 * (2 * tiles + 65) << policy.digit_bits > caps.limits.max_storage_range))
            policy.strategy = SortStrategy::count_then_scatter;
    }
    if (policy.strategy == SortStrategy::count_then_scatter)
        policy.max_groups = std::min(policy.max_groups, 1024u);
    return policy;
}

SortPolicy policy_for(const Caps& caps, const SortDesc& desc, Tier tier, std::uint64_t count) {
    const auto rows = detail::sort_policy_rows(caps, tier);
    // The last row's bound is the largest number, so a row is always found.
    const auto row = std::ranges::find_if(
        rows, [&](const detail::SortPolicyRow& r) { return count <= r.max_count; });
    return fitted(caps, desc, tier, count, row->policy);
}

// The most bytes of scratch that the default policies of all smaller inputs would take: scratch is
// monotone in max_count although the policy changes with it.
std::uint64_t monotone_scratch_bytes(const Caps& caps, const SortTask& desc, Tier tier,
                                     std::uint64_t own_bytes) {
    std::uint64_t bytes = own_bytes;
    std::vector<std::uint64_t> counts{kMostLookBackCount};
    for (const detail::SortPolicyRow& row : detail::sort_policy_rows(caps, tier))
        counts.push_back(row.max_count);
    for (const std::uint64_t count : counts) {
        if (count >= desc.max_count) continue;
        const auto shape = shape_of(caps, desc, tier, policy_for(caps, desc, tier, count), count);
        if (shape) bytes = std::max(bytes, shape->scratch_bytes);
    }
    return bytes;
}

std::string summary_of(const SortDesc& desc) {
    std::string text = desc.argsort ? fmt::format("indices by {} keys", to_text(desc.key))
                                    : fmt::format("{} keys", to_text(desc.key));
    if (desc.value_bytes != 0) text += fmt::format(" with values of {} bytes", desc.value_bytes);
    text += fmt::format(", {}", to_text(desc.order));
    if (!all_bits_count(desc))
        text += fmt::format(", by bits {} to {}", desc.begin_bit, end_bit(desc));
    if (desc.ping_pong) text += ", in two buffers by turns";
    return text;
}

// Makes the passes of a plan.
class Passes {
public:
    Passes(const Caps& caps, const SortTask& desc, Tier tier, Addressing addressing,
           const Shape& shape)
        : caps_(caps), desc_(desc), tier_(tier), addressing_(addressing), shape_(shape) {}

    std::vector<Pass> make() {
        const SortStrategy strategy = shape_.policy.strategy;
        if (detail::sorts_alone(strategy)) {
            passes_.push_back(strategy == SortStrategy::bitonic ? bitonic_pass()
                                                                : workgroup_pass());
            return std::move(passes_);
        }
        const auto digits = static_cast<std::uint32_t>(shape_.digits.size());
        if (strategy == SortStrategy::look_back) add_histograms(digits);
        for (std::uint32_t i = 0; i < digits; ++i) {
            if (strategy == SortStrategy::count_then_scatter) add_counts(i);
            add_digit(i, digits);
        }
        if (is_narrow(desc_) && writes_keys(desc_)) add_pack(digits);
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

    // One that orders keys, in the tier's form.
    Pass make_sort_pass(const char* name) const {
        const Form form = tier_ == Tier::barrier ? Form::barrier : Form::subgroup;
        Pass pass =
            make_pass(name, form, fmt::format("{}.{}", key_text(), has_values(desc_) ? "v" : "v0"));
        pass.required_subgroup_size = shape_.subgroup_size;
        pass.full_subgroups = detail::sizing_tier(caps_, tier_) == Tier::pinned;
        pass.workgroup_memory = shape_.workgroup_memory;
        return pass;
    }

    void add(Pass& pass, std::uint32_t id, const char* name, std::uint32_t value) const {
        pass.constants.push_back({id, name, value});
    }

    void add_key_constants(Pass& pass, bool from_input) const {
        const bool from_caller = from_input && !desc_.images_in;
        add(pass, 10, "key_kind", detail::element_kind(desc_.key));
        add(pass, 11, "key_bits", key_bits(desc_));
        add(pass, 12, "descending", desc_.order == SortOrder::descending ? 1 : 0);
        add(pass, 13, "source_bits", from_caller ? key_bits(desc_) : 32 * key_words(desc_));
        add(pass, 14, "image_in", from_caller ? 1 : 0);
    }

    void add_value_constants(Pass& pass, bool first, bool last) const {
        add(pass, 16, "value_words", value_words(desc_));
        add(pass, 17, "indices", desc_.argsort && first ? 1 : 0);
        add(pass, 18, "write_keys", last && !writes_keys(desc_) ? 0 : 1);
    }

    void add_tile_constants(Pass& pass, std::uint32_t bits, std::uint32_t shift) const {
        add(pass, 1, "items", shape_.policy.items);
        add(pass, 2, "digit_bits", bits);
        add(pass, 3, "shift", shift);
    }

    void add_table_offset(Pass& pass) const {
        add(pass, 4, "table_offset", static_cast<std::uint32_t>(shape_.table_offset / 4));
    }

    // Of a pass that shares out the first items of a use.
    void add_most_count(Pass& pass) const { add(pass, 26, "most_count", desc_.most_count); }

    // Of a pass that is alone.
    void add_most_results(Pass& pass) const {
        add(pass, 26, "most_count", desc_.most_count);
        add(pass, 27, "most_results", desc_.most_results);
    }

    void add_row_constants(Pass& pass) const {
        add(pass, 20, "row_words", 1u << shape_.policy.digit_bits);
        add(pass, 21, "most_tiles", std::max(1u, shape_.launch.tiles));
    }

    void add_digits(Pass& pass) const {
        add(pass, 24, "digits", static_cast<std::uint32_t>(shape_.digits.size()));
    }

    Pass workgroup_pass() const {
        Pass pass = make_sort_pass("sort_workgroup");
        add_tile_constants(pass, shape_.policy.digit_bits, desc_.begin_bit);
        detail::add_rank_constants(pass, caps_, shape_.ranks);
        add_key_constants(pass, true);
        add_value_constants(pass, true, true);
        add_digits(pass);
        add(pass, 25, "end_bit", end_bit(desc_));
        add_most_results(pass);
        pass.barriers = static_cast<std::uint32_t>(
            shape_.digits.size() *
            (rank_barriers() + 3 + 2 * (key_words(desc_) - 1) + (has_values(desc_) ? 2 : 0)));
        add_own_bindings(pass);
        return pass;
    }

    Pass bitonic_pass() const {
        Pass pass = make_sort_pass("sort_bitonic");
        add(pass, 1, "items", shape_.policy.items);
        detail::add_subgroup_constants(pass);
        add_key_constants(pass, true);
        add_value_constants(pass, true, true);
        add_most_results(pass);
        add(pass, 29, "numbers", has_numbers(desc_) ? 1 : 0);
        const auto below = [](std::uint32_t bit) {
            return bit < 64 ? (std::uint64_t{1} << bit) - 1 : ~std::uint64_t{0};
        };
        const std::uint64_t mask = below(end_bit(desc_)) & ~below(desc_.begin_bit);
        // Where there are no numbers, what is not there is above all keys of 8 and 16 bits, too.
        const bool whole = !has_numbers(desc_);
        add(pass, 30, "low_mask", whole ? ~0u : static_cast<std::uint32_t>(mask));
        add(pass, 31, "high_mask", whole ? ~0u : static_cast<std::uint32_t>(mask >> 32));
        pass.barriers =
            bitonic_barriers(desc_, shape_.policy, pass.full_subgroups ? shape_.subgroup_size : 1);
        add_own_bindings(pass);
        return pass;
    }

    // Of a pass that is alone.
    void add_own_bindings(Pass& pass) const {
        pass.bindings = {Role::input, writes_keys(desc_) ? PassBuffer(Role::output) : keys_place(0),
                         table()};
        if (has_values(desc_)) {
            pass.bindings.emplace_back(desc_.argsort ? Role::input : Role::values);
            pass.bindings.emplace_back(Role::values_out);
        }
    }

    void add_histograms(std::uint32_t digits) {
        Pass counts = make_pass("sort_histograms", Form::barrier, key_text());
        add_tile_constants(counts, shape_.policy.digit_bits, desc_.begin_bit);
        add_table_offset(counts);
        add_key_constants(counts, true);
        add_row_constants(counts);
        add_digits(counts);
        add(counts, 25, "end_bit", end_bit(desc_));
        counts.workgroup_memory = 4 * digits << shape_.policy.digit_bits;
        counts.barriers = 2;
        counts.bindings = {Role::input, table(), Role::state};
        passes_.push_back(std::move(counts));

        Pass bases = make_pass("sort_bases", Form::barrier, "none");
        add_table_offset(bases);
        add_row_constants(bases);
        add_digits(bases);
        bases.groups = Groups::one;
        bases.workgroup_memory = offsets_bytes();
        bases.barriers = 3 * digits;
        bases.bindings = {table(), Role::state};
        passes_.push_back(std::move(bases));
    }

    void add_counts(std::uint32_t i) {
        const Digit& digit = shape_.digits[i];
        Pass counts = make_pass("sort_counts", Form::barrier, key_text());
        add_tile_constants(counts, digit.bits, digit.shift);
        add_table_offset(counts);
        add_key_constants(counts, i == 0);
        add_most_count(counts);
        counts.workgroup_memory = 4u << digit.bits;
        counts.barriers = 2;
        counts.bindings = {keys_after(i), table()};
        passes_.push_back(std::move(counts));

        Pass offsets = make_pass("sort_offsets", Form::barrier, "none");
        add(offsets, 1, "items", shape_.policy.items);
        add(offsets, 2, "digit_bits", digit.bits);
        add_table_offset(offsets);
        add_most_count(offsets);
        offsets.groups = Groups::one;
        offsets.workgroup_memory = offsets_bytes();
        offsets.barriers = static_cast<std::uint32_t>(
            3 * detail::divide_up(std::uint64_t{shape_.launch.groups} << digit.bits,
                                  4 * shape_.policy.workgroup_size));
        offsets.bindings = {table()};
        passes_.push_back(std::move(offsets));
    }

    void add_digit(std::uint32_t i, std::uint32_t digits) {
        const bool look_back = shape_.policy.strategy == SortStrategy::look_back;
        const bool last = i + 1 == digits;
        const Digit& digit = shape_.digits[i];
        Pass pass = make_sort_pass(look_back ? "sort_lookback" : "sort_scatter");
        add_tile_constants(pass, digit.bits, digit.shift);
        add_table_offset(pass);
        detail::add_rank_constants(pass, caps_, shape_.ranks);
        add_key_constants(pass, i == 0);
        add(pass, 15, "image_out", last && !keys_stay_in_scratch(desc_) ? 1 : 0);
        add_value_constants(pass, i == 0, last);
        std::uint32_t barriers = rank_barriers() + 2 + 2 * (key_words(desc_) - 1) +
                                 (has_values(desc_) ? 2 * value_words(desc_) : 0);
        if (look_back) {
            add(pass, 19, "digit", i);
            add_row_constants(pass);
            add(pass, 22, "patience", shape_.policy.patience);
            add(pass, 23, "silent_tile", shape_.policy.silent_tile);
            add_digits(pass);
            barriers += 3;  // a tile that has to be counted again adds to these
        } else {
            add_most_count(pass);
            barriers = static_cast<std::uint32_t>(std::min<std::uint64_t>(
                ~0u, (barriers + 1) * std::uint64_t{shape_.launch.tiles_per_group}));
        }
        pass.barriers = barriers;
        pass.bindings = {keys_after(i), keys_after(i + 1), table()};
        if (has_values(desc_)) {
            pass.bindings.push_back(values_after(i));
            pass.bindings.push_back(values_after(i + 1));
        }
        passes_.push_back(std::move(pass));
    }

    void add_pack(std::uint32_t digits) {
        Pass pass = make_pass("sort_pack", Form::barrier, "none");
        add(pass, 1, "items", shape_.policy.items);
        add(pass, 10, "key_kind", detail::element_kind(desc_.key));
        add(pass, 11, "key_bits", key_bits(desc_));
        add(pass, 12, "descending", desc_.order == SortOrder::descending ? 1 : 0);
        add_most_count(pass);
        pass.bindings = {keys_after(digits), Role::output, table()};
        passes_.push_back(std::move(pass));
    }

    std::uint32_t rank_barriers() const {
        return detail::rank_barriers(caps_, tier_, shape_.policy.workgroup_size);
    }

    std::uint32_t offsets_bytes() const {
        return 4 * detail::offsets_words(shape_.policy.workgroup_size);
    }

    std::string key_text() const { return fmt::format("k{}", key_words(desc_)); }

    PassBuffer table() const { return {Role::scratch, 0, shape_.table_end}; }
    PassBuffer keys_place(int place) const {
        return {Role::scratch, shape_.keys_offset(place),
                shape_.keys_bytes[static_cast<std::size_t>(place)]};
    }

    // Keys and values after i of the digits.
    PassBuffer keys_after(std::uint32_t i) const {
        const auto digits = static_cast<std::uint32_t>(shape_.digits.size());
        if (desc_.ping_pong) return i % 2 == 0 ? Role::input : Role::output;
        if (i == 0) return Role::input;
        if (keys_stay_in_scratch(desc_)) return keys_place(i % 2 == 1 ? 0 : 1);
        return (digits - i) % 2 == 0 ? PassBuffer(Role::output) : keys_place(0);
    }
    PassBuffer values_after(std::uint32_t i) const {
        const auto digits = static_cast<std::uint32_t>(shape_.digits.size());
        if (desc_.ping_pong) return i % 2 == 0 ? Role::values : Role::values_out;
        // Nothing is read of argsort's first values: any buffer that is only read.
        if (i == 0) return desc_.argsort ? Role::input : Role::values;
        if ((digits - i) % 2 == 0) return Role::values_out;
        return {Role::scratch, shape_.values_offset(), shape_.values_bytes};
    }

    const Caps& caps_;
    const SortTask& desc_;
    Tier tier_;
    Addressing addressing_;
    const Shape& shape_;
    std::vector<Pass> passes_;
};

}  // namespace

bool detail::sorts_alone(SortStrategy strategy) {
    return strategy == SortStrategy::one_workgroup || strategy == SortStrategy::bitonic;
}

SortPolicy detail::fitted_sort_policy(const Caps& caps, const SortDesc& desc, Tier tier,
                                      std::uint64_t count, SortPolicy policy) {
    return fitted(caps, desc, tier, count, policy);
}

SortPolicy sort_policy(const Caps& caps, const SortDesc& desc, Tier tier) {
    return policy_for(caps, desc, tier, desc.max_count);
}

Result<Plan> detail::plan_sort_task(const Caps& caps, const SortTask& desc) {
    if (std::string why = wrong(desc); !why.empty())
        return fail(ErrorCode::bad_argument, std::move(why));
    // Kernels number words in 32 bits.
    const std::uint64_t record_words = std::max(key_words(desc), value_words(desc));
    if (desc.max_count > kMostCount / record_words) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} is above {}, the most items with {} words each",
                                desc.max_count, kMostCount / record_words, record_words));
    }
    if (auto checked = detail::check_workgroups(caps, "sort"); !checked)
        return tl::unexpected(checked.error());
    const auto choice = detail::choose_tier(caps, detail::kSortOperations, desc.tier);
    if (!choice) return tl::unexpected(choice.error());
    const Tier tier = choice->tier;

    const SortPolicy policy = desc.policy.value_or(sort_policy(caps, desc, tier));
    const auto shape = shape_of(caps, desc, tier, policy, desc.max_count);
    if (!shape) return tl::unexpected(shape.error());
    const auto addressing = detail::choose_addressing(
        caps, desc.addressing, desc.max_count, most_range_bytes(desc, *shape), most_bindings(desc),
        "sort", has_values(desc) ? "records" : "keys");
    if (!addressing) return tl::unexpected(addressing.error());

    Plan plan;
    plan.primitive = "sort";
    plan.summary = summary_of(desc);
    plan.tier = tier;
    plan.reason = choice->reason;
    plan.policy = to_text(policy);
    plan.addressing = *addressing;
    plan.max_count = desc.max_count;
    plan.element_bytes = size_of(desc.key);
    plan.result_bytes = writes_keys(desc) ? size_of(desc.key) : 0;
    plan.value_bytes = 4 * value_words(desc);
    plan.share = shape->share;
    plan.indirect_offset = detail::kParameterBytes;
    plan.state_bytes = static_cast<std::uint32_t>(shape->state_bytes);

    const std::uint32_t usage = detail::buffer_usage(*addressing);
    const std::uint32_t alignment = detail::buffer_alignment(caps, *addressing);
    const auto provided = [&](std::uint64_t bytes) {
        return detail::provided_bytes(caps, std::max<std::uint64_t>(4, detail::round_up(bytes, 4)));
    };
    const std::uint64_t key_bytes = provided(desc.max_count * size_of(desc.key));
    const std::uint64_t value_bytes = provided(desc.max_count * plan.value_bytes);
    const bool turns = desc.ping_pong;
    const Access in = turns ? Access::read_write : Access::read;
    const Access out = turns ? Access::read_write : Access::write;
    const std::uint64_t scratch_bytes =
        desc.policy ? shape->scratch_bytes
                    : monotone_scratch_bytes(caps, desc, tier, shape->scratch_bytes);
    plan.arguments.push_back({Role::input, key_bytes, alignment, usage, in});
    if (writes_keys(desc))
        plan.arguments.push_back({Role::output, key_bytes, alignment, usage, out});
    if (desc.value_bytes != 0)
        plan.arguments.push_back({Role::values, value_bytes, alignment, usage, in});
    if (has_values(desc))
        plan.arguments.push_back({Role::values_out, value_bytes, alignment, usage, out});
    plan.arguments.push_back({Role::scratch, scratch_bytes, alignment,
                              detail::scratch_usages(caps, *addressing), Access::read_write});
    const bool even = !detail::sorts_alone(policy.strategy) && shape->digits.size() % 2 == 0;
    plan.result = turns && even ? Role::input : Role::output;
    plan.passes = {detail::count_to_groups_pass(caps, shape->share, desc.max_count, *addressing)};
    // Not all of scratch, which may be above what a binding reaches.
    std::ranges::replace(plan.passes[0].bindings, PassBuffer(Role::scratch),
                         PassBuffer(Role::scratch, 0, shape->table_end));
    std::ranges::move(Passes(caps, desc, tier, *addressing, *shape).make(),
                      std::back_inserter(plan.passes));
    return plan;
}

Result<Plan> plan_sort(const Caps& caps, const SortDesc& desc) {
    return detail::plan_sort_task(caps, {desc});
}

Result<detail::SortPart> detail::sort_part(const Caps& caps, const SortTask& task, Tier tier,
                                           Addressing addressing) {
    const auto shape = shape_of(caps, task, tier, *task.policy, task.max_count);
    if (!shape) return tl::unexpected(shape.error());
    std::vector<Pass> passes = Passes(caps, task, tier, addressing, *shape).make();
    if (sorts_alone(task.policy->strategy)) passes[0].groups = Groups::one;
    return SortPart{
        .passes = std::move(passes),
        .share = shape->share,
        .scratch_bytes = shape->scratch_bytes,
        .state_bytes = shape->state_bytes,
        .most_range_bytes = most_range_bytes(task, *shape),
    };
}

const char* to_text(SortStrategy strategy) { return detail::name_of(kStrategyNames, strategy); }
const char* to_text(SortOrder order) { return detail::name_of(kOrderNames, order); }

std::optional<SortStrategy> sort_strategy_from_text(std::string_view text) {
    return detail::value_of(kStrategyNames, text);
}

std::string to_text(const SortPolicy& policy) {
    std::string text = fmt::format("{}, workgroup_size {}, items {}", to_text(policy.strategy),
                                   policy.workgroup_size, policy.items);
    if (policy.strategy != SortStrategy::bitonic)
        text += fmt::format(", digit_bits {}", policy.digit_bits);
    text += fmt::format(", max_groups {}", policy.max_groups);
    if (policy.strategy == SortStrategy::look_back)
        text += fmt::format(", patience {}", policy.patience);
    if (policy.silent_tile != ~0u) text += fmt::format(", silent_tile {}", policy.silent_tile);
    return text;
}

}  // namespace lanewise
