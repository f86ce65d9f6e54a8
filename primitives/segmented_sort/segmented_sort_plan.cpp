// Planner of segmented_sort: pure arithmetic from Caps and SegmentedSortDesc to a Plan.
//
//   segmented_sort_tiles
// and before it, where the count is in a buffer, count_to_groups; behind it, for narrow keys,
// sort_pack.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "lanewise/segmented_sort.hpp"
#include "primitives/segmented_sort/segmented_sort_policy.hpp"
#include "primitives/sort/sort_plan.hpp"
#include "src/core/accumulators.hpp"
#include "src/core/arithmetic.hpp"
#include "src/core/passes.hpp"
#include "src/core/ranks.hpp"
#include "src/core/tiers.hpp"
#include "src/core/workgroups.hpp"

namespace lanewise {
namespace {

constexpr std::uint64_t kMostCount = ~0u;
constexpr std::uint32_t kMostDispatches = 4096;

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected(Error{code, "segmented_sort: " + std::move(message), {}});
}

std::uint32_t key_bits(const SegmentedSortDesc& desc) { return 8 * size_of(desc.key); }
// In which the passes hold a key.
std::uint32_t key_words(const SegmentedSortDesc& desc) { return key_bits(desc) == 64 ? 2 : 1; }
bool is_narrow(const SegmentedSortDesc& desc) { return key_bits(desc) < 32; }
bool has_values(const SegmentedSortDesc& desc) { return desc.argsort || desc.value_bytes != 0; }
std::uint32_t value_words(const SegmentedSortDesc& desc) {
    return desc.argsort ? 1 : desc.value_bytes / 4;
}
std::uint32_t end_bit(const SegmentedSortDesc& desc) {
    return desc.end_bit.value_or(key_bits(desc));
}
std::uint32_t most_bindings(const SegmentedSortDesc& desc) { return has_values(desc) ? 8 : 5; }
// Where the caller's output does not take what the passes hold.
bool keys_stay_in_scratch(const SegmentedSortDesc& desc) { return desc.argsort || is_narrow(desc); }

std::string wrong(const SegmentedSortDesc& desc) {
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
    return {};
}

std::string impossible(const SegmentedSortPolicy& policy, Tier tier) {
    const std::uint32_t w = policy.workgroup_size;
    if (!std::has_single_bit(w) || w < 4 || w > 1024)
        return fmt::format("workgroup_size {} is no power of two from 4 to 1024", w);
    if (policy.items < 2 || policy.items > detail::kMostRankItems || policy.items % 2 != 0) {
        return fmt::format("items {} is no even number from 2 to {}", policy.items,
                           detail::kMostRankItems);
    }
    const std::uint32_t most =
        tier == Tier::barrier ? detail::kMostBarrierRankBits : detail::kMostRankBits;
    if (policy.digit_bits == 0 || policy.digit_bits > most) {
        return fmt::format("digit_bits {} is not from 1 to {}{}", policy.digit_bits, most,
                           tier == Tier::barrier ? " (tier barrier)" : "");
    }
    if (policy.max_groups == 0) return "max_groups is 0";
    return {};
}

detail::RankShape rank_shape(const SegmentedSortPolicy& policy) {
    // sh_base, and sh_batch of the twin in WGSL.
    return {policy.workgroup_size, policy.items, policy.digit_bits, (1u << policy.digit_bits) + 4};
}

struct Shape {
    SegmentedSortPolicy policy;
    std::uint32_t subgroup_size = 0;  // pinned tier
    detail::Ranks ranks;
    std::uint32_t digits = 0;
    Share share;
    Launch launch;                   // of max_count
    std::uint64_t header_bytes = 0;  // of scratch
    std::uint64_t keys_bytes = 0;    // of the place for keys that stands for an output; 0: none
    std::uint64_t place_bytes = 0;   // of the other place for keys
    std::uint64_t numbers_bytes = 0;
    std::uint64_t scratch_bytes = 0;
    std::uint32_t workgroup_memory = 0;  // bytes
};

// Everything that follows from a policy; an error where the device or the arithmetic forbids it.
Result<Shape> shape_of(const Caps& caps, const SegmentedSortDesc& desc, Tier tier,
                       const SegmentedSortPolicy& policy) {
    const std::uint32_t w = policy.workgroup_size;
    if (std::string why = impossible(policy, tier); !why.empty())
        return fail(ErrorCode::bad_argument, "policy: " + std::move(why));
    if (auto checked = detail::check_workgroup_size(caps, w, "segmented_sort"); !checked)
        return tl::unexpected(checked.error());
    Shape shape;
    shape.policy = policy;
    // An empty range is a digit of no bits, which moves nothing.
    shape.digits = std::max(1u, static_cast<std::uint32_t>(detail::divide_up(
                                    end_bit(desc) - desc.begin_bit, policy.digit_bits)));
    const auto size = detail::required_subgroup_size(caps, tier, w, "segmented_sort");
    if (!size) return tl::unexpected(size.error());
    shape.subgroup_size = *size;
    const std::uint32_t tile = w * policy.items;
    if (tile > detail::kMostRankTile) {
        return fail(ErrorCode::bad_argument,
                    fmt::format("policy: {} invocations of {} items are a tile of {}, above {}", w,
                                policy.items, tile, detail::kMostRankTile));
    }
    const auto ranks = detail::ranks_of(caps, tier, rank_shape(policy), shape.subgroup_size);
    if (!ranks) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("policy: workgroup_size {} with items {} and digit_bits {} needs "
                                "{} bytes of workgroup memory, the device has {}",
                                w, policy.items, policy.digit_bits,
                                4 * detail::rank_words(caps, tier, rank_shape(policy), {}),
                                caps.limits.max_workgroup_memory));
    }
    shape.ranks = *ranks;
    shape.workgroup_memory = 4 * detail::rank_words(caps, tier, rank_shape(policy), *ranks);

    shape.share.tile_items = tile / 2;
    shape.share.max_groups = std::min(policy.max_groups, caps.limits.max_groups_x);
    shape.launch = share_out(shape.share, desc.max_count);
    if (shape.launch.dispatches > kMostDispatches) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} takes {} dispatches, the limit is {}: raise "
                                "max_groups",
                                desc.max_count, shape.launch.dispatches, kMostDispatches));
    }

    // What is bound but not written has no more than a range must have.
    const auto place = [&](bool is_written, std::uint64_t words) {
        const std::uint64_t bytes = is_written ? desc.max_count * 4 * words : 0;
        return std::max<std::uint64_t>(detail::round_up(bytes, detail::kScratchAlignment),
                                       detail::kScratchAlignment);
    };
    // Segments go through memory where they can be longer than a tile.
    const bool can_be_long = desc.max_count > tile;
    const bool by_turns = can_be_long && shape.digits >= 2;
    shape.header_bytes = detail::scratch_header_bytes(shape.launch.dispatches);
    if (keys_stay_in_scratch(desc)) {
        // Of argsort's last digit nobody wants the keys.
        shape.keys_bytes =
            place(!desc.argsort || (can_be_long && shape.digits >= 3), key_words(desc));
    }
    shape.place_bytes = place(by_turns, key_words(desc));
    if (has_values(desc)) shape.numbers_bytes = place(by_turns, 1);
    shape.scratch_bytes =
        shape.header_bytes + shape.keys_bytes + shape.place_bytes + shape.numbers_bytes;
    return shape;
}

// The longest range that a pass binds.
std::uint64_t most_range_bytes(const SegmentedSortDesc& desc, const Shape& shape) {
    return std::max({desc.max_count * 4 * key_words(desc), desc.max_count * 4 * value_words(desc),
                     shape.keys_bytes, shape.place_bytes, shape.numbers_bytes, shape.header_bytes});
}

// The policy as this device and these keys can run it.
SegmentedSortPolicy fitted(const Caps& caps, const SegmentedSortDesc& desc, Tier tier,
                           SegmentedSortPolicy policy) {
    if (tier == Tier::barrier)
        policy.digit_bits = std::min(policy.digit_bits, detail::kMostBarrierRankBits);
    if (key_words(desc) == 2) policy.items = std::max(2u, policy.items / 2);
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
    const std::uint32_t least = tier == Tier::pinned ? caps.subgroup.min_size : 4;
    while (!fits()) {
        if (policy.workgroup_size > std::max(32u, least)) {
            policy.workgroup_size /= 2;
        } else if (policy.items > 2) {
            policy.items -= 2;
        } else if (policy.digit_bits > 1) {
            --policy.digit_bits;
        } else if (policy.workgroup_size > least) {
            policy.workgroup_size /= 2;
        } else {
            break;
        }
    }
    return policy;
}

std::string summary_of(const SegmentedSortDesc& desc) {
    std::string text = desc.argsort ? fmt::format("indices by {} keys", to_text(desc.key))
                                    : fmt::format("{} keys", to_text(desc.key));
    if (desc.value_bytes != 0) text += fmt::format(" with values of {} bytes", desc.value_bytes);
    text += fmt::format(", {} in each segment", to_text(desc.order));
    if (desc.begin_bit != 0 || end_bit(desc) != key_bits(desc))
        text += fmt::format(", by bits {} to {}", desc.begin_bit, end_bit(desc));
    return text;
}

// Makes the passes of a plan.
class Passes {
public:
    Passes(const Caps& caps, const SegmentedSortDesc& desc, Tier tier, Addressing addressing,
           const Shape& shape)
        : caps_(caps), desc_(desc), tier_(tier), addressing_(addressing), shape_(shape) {}

    Pass tiles() const {
        const Form form = tier_ == Tier::barrier ? Form::barrier : Form::subgroup;
        Pass pass =
            make_pass("segmented_sort_tiles", form,
                      fmt::format("k{}.{}", key_words(desc_), has_values(desc_) ? "v" : "v0"));
        pass.required_subgroup_size = shape_.subgroup_size;
        pass.full_subgroups = detail::sizing_tier(caps_, tier_) == Tier::pinned;
        pass.workgroup_memory = shape_.workgroup_memory;
        add(pass, 1, "items", shape_.policy.items);
        add(pass, 2, "digit_bits", shape_.policy.digit_bits);
        add(pass, 3, "shift", desc_.begin_bit);
        detail::add_rank_constants(pass, caps_, shape_.ranks);
        add_key_constants(pass);
        add(pass, 13, "source_bits", key_bits(desc_));
        add(pass, 14, "image_in", 1);
        add(pass, 15, "image_out", keys_stay_in_scratch(desc_) ? 0 : 1);
        add(pass, 16, "value_words", value_words(desc_));
        add(pass, 17, "indices", desc_.argsort ? 1 : 0);
        add(pass, 18, "write_keys", desc_.argsort ? 0 : 1);
        add(pass, 24, "digits", shape_.digits);
        add(pass, 25, "end_bit", end_bit(desc_));
        pass.barriers = barriers();
        pass.bindings = {Role::input, keys_stay_in_scratch(desc_) ? keys() : Role::output,
                         parameters(), Role::offsets, place()};
        if (has_values(desc_)) {
            // Nothing is read of argsort's values: any buffer that is only read.
            pass.bindings.emplace_back(desc_.argsort ? Role::input : Role::values);
            pass.bindings.emplace_back(Role::values_out);
            pass.bindings.push_back(numbers());
        }
        return pass;
    }

    Pass pack() const {
        Pass pass = make_pass("sort_pack", Form::barrier, "none");
        add(pass, 1, "items", shape_.policy.items / 2);  // a tile of it is one of the share
        add_key_constants(pass);
        add(pass, 26, "most_count", ~0u);
        pass.bindings = {keys(), Role::output, parameters()};
        return pass;
    }

    PassBuffer parameters() const { return {Role::scratch, 0, shape_.header_bytes}; }

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

    static void add(Pass& pass, std::uint32_t id, const char* name, std::uint32_t value) {
        pass.constants.push_back({id, name, value});
    }

    void add_key_constants(Pass& pass) const {
        add(pass, 10, "key_kind", detail::element_kind(desc_.key));
        add(pass, 11, "key_bits", key_bits(desc_));
        add(pass, 12, "descending", desc_.order == SortOrder::descending ? 1 : 0);
    }

    // One segment that is all of the input, or a window's two batches for each window.
    std::uint32_t barriers() const {
        const std::uint64_t words = key_words(desc_);
        const std::uint64_t rank =
            detail::rank_barriers(caps_, tier_, shape_.policy.workgroup_size);
        const std::uint64_t id_bits =
            std::bit_width(std::uint64_t{2} * shape_.share.tile_items - 1);
        const std::uint64_t rounds =
            shape_.digits + detail::divide_up(id_bits, shape_.policy.digit_bits);
        const std::uint64_t windows = shape_.launch.tiles_per_group;
        const std::uint64_t batches = 2 * windows * (2 + rounds * (rank + 1 + 2 * (words + 1)));
        const std::uint64_t tiles =
            detail::divide_up(desc_.max_count, std::uint64_t{2} * shape_.share.tile_items);
        const std::uint64_t long_segment =
            shape_.digits *
            (6 + tiles * (rank + 3 + 2 * (words - 1) + (has_values(desc_) ? 2 : 0)));
        return static_cast<std::uint32_t>(std::min<std::uint64_t>(~0u, batches + long_segment));
    }

    PassBuffer keys() const { return {Role::scratch, shape_.header_bytes, shape_.keys_bytes}; }
    PassBuffer place() const {
        return {Role::scratch, shape_.header_bytes + shape_.keys_bytes, shape_.place_bytes};
    }
    PassBuffer numbers() const {
        return {Role::scratch, shape_.header_bytes + shape_.keys_bytes + shape_.place_bytes,
                shape_.numbers_bytes};
    }

    const Caps& caps_;
    const SegmentedSortDesc& desc_;
    Tier tier_;
    Addressing addressing_;
    const Shape& shape_;
};

}  // namespace

SegmentedSortPolicy segmented_sort_policy(const Caps& caps, const SegmentedSortDesc& desc,
                                          Tier tier) {
    return fitted(
        caps, desc, tier,
        caps.cpu_device ? detail::kCpuSegmentedSortPolicy : detail::kGpuSegmentedSortPolicy);
}

Result<Plan> plan_segmented_sort(const Caps& caps, const SegmentedSortDesc& desc) {
    if (std::string why = wrong(desc); !why.empty())
        return fail(ErrorCode::bad_argument, std::move(why));
    // Kernels number words in 32 bits.
    const std::uint64_t record_words = std::max(key_words(desc), value_words(desc));
    if (desc.max_count > kMostCount / record_words) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} is above {}, the most items with {} words each",
                                desc.max_count, kMostCount / record_words, record_words));
    }
    if (auto checked = detail::check_workgroups(caps, "segmented_sort"); !checked)
        return tl::unexpected(checked.error());
    const auto choice = detail::choose_tier(caps, detail::kSortOperations, desc.tier);
    if (!choice) return tl::unexpected(choice.error());
    const Tier tier = choice->tier;

    const SegmentedSortPolicy policy =
        desc.policy.value_or(segmented_sort_policy(caps, desc, tier));
    const auto shape = shape_of(caps, desc, tier, policy);
    if (!shape) return tl::unexpected(shape.error());
    const auto addressing = detail::choose_addressing(
        caps, desc.addressing, desc.max_count, most_range_bytes(desc, *shape), most_bindings(desc),
        "segmented_sort", has_values(desc) ? "records" : "keys");
    if (!addressing) return tl::unexpected(addressing.error());

    Plan plan;
    plan.primitive = "segmented_sort";
    plan.summary = summary_of(desc);
    plan.tier = tier;
    plan.reason = choice->reason;
    plan.policy = to_text(policy);
    plan.addressing = *addressing;
    plan.max_count = desc.max_count;
    plan.element_bytes = size_of(desc.key);
    plan.result_bytes = desc.argsort ? 0 : size_of(desc.key);
    plan.value_bytes = 4 * value_words(desc);
    plan.share = shape->share;
    plan.indirect_offset = detail::kParameterBytes;

    const std::uint32_t usage = detail::buffer_usage(*addressing);
    const std::uint32_t alignment = detail::buffer_alignment(caps, *addressing);
    const auto provided = [&](std::uint64_t bytes) {
        return detail::provided_bytes(caps, std::max<std::uint64_t>(4, detail::round_up(bytes, 4)));
    };
    const std::uint64_t key_bytes = provided(desc.max_count * size_of(desc.key));
    const std::uint64_t value_bytes = provided(desc.max_count * plan.value_bytes);
    plan.arguments.push_back({Role::input, key_bytes, alignment, usage, Access::read});
    if (!desc.argsort)
        plan.arguments.push_back({Role::output, key_bytes, alignment, usage, Access::write});
    if (desc.value_bytes != 0)
        plan.arguments.push_back({Role::values, value_bytes, alignment, usage, Access::read});
    if (has_values(desc))
        plan.arguments.push_back({Role::values_out, value_bytes, alignment, usage, Access::write});
    // One number at least; how many more, the use says.
    plan.arguments.push_back({Role::offsets, 4, alignment, usage, Access::read});
    plan.arguments.push_back({Role::scratch, shape->scratch_bytes, alignment,
                              detail::scratch_usages(caps, *addressing), Access::read_write});

    const Passes passes(caps, desc, tier, *addressing, *shape);
    plan.passes = {detail::count_to_groups_pass(caps, shape->share, desc.max_count, *addressing)};
    // Not all of scratch, which may be above what a binding reaches.
    std::ranges::replace(plan.passes[0].bindings, PassBuffer(Role::scratch), passes.parameters());
    plan.passes.push_back(passes.tiles());
    if (is_narrow(desc) && !desc.argsort) plan.passes.push_back(passes.pack());
    return plan;
}

std::string to_text(const SegmentedSortPolicy& policy) {
    return fmt::format("workgroup_size {}, items {}, digit_bits {}, max_groups {}",
                       policy.workgroup_size, policy.items, policy.digit_bits, policy.max_groups);
}

}  // namespace lanewise
