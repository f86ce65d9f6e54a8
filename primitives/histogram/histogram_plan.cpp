// Planner of histogram: pure arithmetic from Caps and HistogramDesc to a Plan.
//
//   one_workgroup    histogram_tiles (one workgroup) -> output
//   last_workgroup   histogram_tiles, each workgroup into the state; the last one -> output
//   two_pass         histogram_zeros; histogram_tiles, each workgroup into the output
//   global           histogram_zeros; histogram_tiles, each sample into the output
// and before them, where the count is in a buffer, count_to_groups.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "lanewise/histogram.hpp"
#include "primitives/histogram/histogram_policy.hpp"
#include "src/core/accumulators.hpp"
#include "src/core/arithmetic.hpp"
#include "src/core/names.hpp"
#include "src/core/passes.hpp"
#include "src/core/tiers.hpp"

namespace lanewise {
namespace {

constexpr detail::Names<HistogramStrategy, 4> kStrategyNames{
    {{HistogramStrategy::one_workgroup, "one_workgroup"},
     {HistogramStrategy::last_workgroup, "last_workgroup"},
     {HistogramStrategy::two_pass, "two_pass"},
     {HistogramStrategy::global, "global"}}};

constexpr std::uint32_t kMostBindings = 4;  // of a pass: histogram_tiles
constexpr std::uint32_t kMostChannels = 4;
constexpr std::uint32_t kMostBins = 1u << 20;  // the products of item/bin.glsl have room for these
constexpr std::uint32_t kMostVectors = 8;
constexpr std::uint32_t kMostCopies = 32;
constexpr std::uint32_t kArrivedBytes = 4;    // sh_arrived
constexpr std::uint32_t kBinsOfCopies = 256;  // for which the policies give copies
constexpr std::uint64_t kMostCount = ~0u;
constexpr std::uint64_t kAllWords = std::uint64_t{1} << 32;

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected(Error{code, "histogram: " + std::move(message), {}});
}

std::uint32_t sample_bits(const HistogramDesc& desc) { return 8 * size_of(desc.sample); }
std::uint32_t item_bytes(const HistogramDesc& desc) { return desc.channels * size_of(desc.sample); }
std::uint32_t slots_of(const HistogramDesc& desc) { return desc.channels * desc.bins; }
bool has_table(const HistogramPolicy& policy) {
    return policy.strategy != HistogramStrategy::global;
}
bool adds_to_output(const HistogramPolicy& policy) {
    return policy.strategy == HistogramStrategy::two_pass || !has_table(policy);
}
std::uint64_t table_bytes(const HistogramDesc& desc, const HistogramPolicy& policy) {
    return has_table(policy) ? std::uint64_t{4} * slots_of(desc) * policy.copies : 4;
}
std::uint64_t workgroup_memory(const HistogramDesc& desc, const HistogramPolicy& policy) {
    return table_bytes(desc, policy) +
           (policy.strategy == HistogramStrategy::last_workgroup ? kArrivedBytes : 0);
}

// All values of an integer type.
HistogramRange range_of_type(Scalar sample) {
    const double values = std::ldexp(1.0, static_cast<int>(8 * size_of(sample)));
    if (is_signed_integer(sample)) return {-values / 2, values / 2};
    return {0.0, values};
}

// Volatile: of two such roundings side by side GCC 12 makes one of vectors, at -O2, and leaves it
// out.
double nearest_f32(double x) {
    const volatile float nearest = static_cast<float>(x);
    return nearest;
}

// As the plan takes it. Precondition: there is one.
HistogramRange range_of(const HistogramDesc& desc) {
    if (!desc.range) return range_of_type(desc.sample);
    if (!is_float(desc.sample)) return *desc.range;
    return {nearest_f32(desc.range->lower), nearest_f32(desc.range->upper)};
}

// The range in units, as item/bin.glsl has it.
struct Units {
    int exponent = 0;         // a unit is 2^exponent
    std::int64_t origin = 0;  // where the range begins
    std::uint64_t width = 0;  // 1 to 2^32; of floats up to 2^31
};

Units units_of(Scalar sample, const HistogramRange& range) {
    if (!is_float(sample)) {
        const auto lower = static_cast<std::int64_t>(range.lower);
        const auto upper = static_cast<std::int64_t>(range.upper);
        return {0, lower, static_cast<std::uint64_t>(upper - lower)};
    }
    Units units;
    // With a unit half as large the width would be above 2^31.
    for (units.exponent = std::ilogb(range.upper - range.lower) - 31;; ++units.exponent) {
        // Scaling by a power of two is exact, and so is rounding: both are below 2^56.
        const double lower = std::floor(std::ldexp(range.lower, -units.exponent));
        const double upper = std::ceil(std::ldexp(range.upper, -units.exponent));
        units.origin = static_cast<std::int64_t>(lower);
        units.width = static_cast<std::uint64_t>(static_cast<std::int64_t>(upper) - units.origin);
        if (units.width <= kAllWords / 2) return units;
    }
}

double float_of_bits(Scalar sample, std::uint32_t bits) {
    if (sample == Scalar::f32) return double{std::bit_cast<float>(bits)};
    const int exponent = static_cast<int>(bits >> 10 & 31);
    const double fraction = bits & 1023;
    const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
    if (exponent == 31) return sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(fraction + 1024, exponent - 25);
}

// The least ascending image, as is_in_range has it, of a float not below the bound; +infinity's for
// a bound above all of them. Images of f16 stand in the high half.
std::uint32_t first_place(Scalar sample, double bound) {
    const std::uint32_t bits = 8 * size_of(sample);
    const std::uint32_t sign = 1u << (bits - 1);
    const std::uint32_t infinity = sample == Scalar::f32 ? 0x7f800000u : 0x7c00u;
    const auto value_of_image = [&](std::uint32_t image) {
        return float_of_bits(sample, (image & sign) != 0 ? image ^ sign : image ^ (2 * sign - 1));
    };
    std::uint32_t low = sign - 1 - infinity;  // of -infinity, which is below
    std::uint32_t high = sign | infinity;
    while (high - low > 1) {
        const std::uint32_t middle = low + (high - low) / 2;
        (value_of_image(middle) >= bound ? high : low) = middle;
    }
    // Behind a negative f16 the low half of the image is ones.
    const std::uint32_t below = (high & sign) != 0 ? 0 : (1u << (32 - bits)) - 1;
    return bits == 32 ? high : high << 16 | below;
}

// How an offset of less than `width` becomes a bin.
struct Reciprocal {
    std::uint32_t multiplier = 0;  // 0: a shift alone
    std::uint32_t shift = 0;
    bool corrected = false;
};

// width is from 1 to 2^32, bins up to 2^20.
//
// With s = 31 + floor(log2 width) - ceil(log2 bins) the multiplier m = ceil(bins * 2^s / width) is
// at most 2^31, and offset * m / 2^s is above offset * bins / width by offset * e / (width * 2^s),
// where e = m * width - bins * 2^s < width <= 2^(s - 10): the bin or the next. Below 1 / width,
// which is the least distance to the next bin, it is the bin.
Reciprocal reciprocal_of(std::uint64_t width, std::uint32_t bins) {
    const auto floor_log2 = [](std::uint64_t x) {
        return static_cast<std::uint32_t>(std::bit_width(x)) - 1;
    };
    if (width % bins == 0 && std::has_single_bit(width / bins) && width / bins < kAllWords)
        return {0, floor_log2(width / bins), false};
    Reciprocal made;
    made.shift = 31 + floor_log2(width) - floor_log2(std::bit_ceil(bins));
    const std::uint64_t scaled = std::uint64_t{bins} << made.shift;
    const std::uint64_t multiplier = detail::divide_up(scaled, width);
    const std::uint64_t error = multiplier * width - scaled;
    made.multiplier = static_cast<std::uint32_t>(multiplier);
    made.corrected = error != 0 && error * (width - 1) >= std::uint64_t{1} << made.shift;
    return made;
}

std::string wrong_range(const HistogramDesc& desc) {
    if (!desc.range) {
        if (is_float(desc.sample))
            return fmt::format("{} has no range of its own: set range", to_text(desc.sample));
        return {};
    }
    const HistogramRange& range = *desc.range;
    if (!std::isfinite(range.lower) || !std::isfinite(range.upper))
        return fmt::format("range {} to {} is not finite", range.lower, range.upper);
    if (is_float(desc.sample)) {
        const double most = std::numeric_limits<float>::max();
        if (std::fabs(range.lower) > most || std::fabs(range.upper) > most)
            return fmt::format("range {} to {} is not of f32", range.lower, range.upper);
        const HistogramRange taken = range_of(desc);
        if (taken.lower < taken.upper) return {};
        return fmt::format("range {} to {} is empty in f32", range.lower, range.upper);
    }
    if (std::floor(range.lower) != range.lower || std::floor(range.upper) != range.upper)
        return fmt::format("range {} to {} is not of whole numbers, as {} is", range.lower,
                           range.upper, to_text(desc.sample));
    const HistogramRange most =
        range_of_type(desc.sample == Scalar::u32 ? Scalar::u32 : Scalar::i32);
    if (range.lower < most.lower || range.upper > most.upper)
        return fmt::format("range {} to {} of {} is not within {} to {}", range.lower, range.upper,
                           to_text(desc.sample), most.lower, most.upper);
    if (range.lower >= range.upper)
        return fmt::format("range {} to {} is empty", range.lower, range.upper);
    return {};
}

std::string wrong(const HistogramDesc& desc) {
    if (desc.channels == 0 || desc.channels > kMostChannels)
        return fmt::format("channels {} is not from 1 to {}", desc.channels, kMostChannels);
    if (desc.bins == 0 || desc.bins > kMostBins)
        return fmt::format("bins {} is not from 1 to 2^20", desc.bins);
    return wrong_range(desc);
}

std::string impossible(const HistogramPolicy& policy) {
    const std::uint32_t w = policy.workgroup_size;
    if (!std::has_single_bit(w) || w < 4 || w > 1024)
        return fmt::format("workgroup_size {} is no power of two from 4 to 1024", w);
    if (!std::has_single_bit(policy.vectors) || policy.vectors > kMostVectors)
        return fmt::format("vectors {} is not 1, 2, 4 or 8", policy.vectors);
    if (has_table(policy) && (!std::has_single_bit(policy.copies) || policy.copies > kMostCopies))
        return fmt::format("copies {} is no power of two from 1 to {}", policy.copies, kMostCopies);
    if (policy.max_groups == 0) return "max_groups is 0";
    return {};
}

// Refuses a policy that the device lacks something for.
Result<void> check_policy(const Caps& caps, const HistogramDesc& desc,
                          const HistogramPolicy& policy) {
    if (auto checked = detail::check_workgroup_size(caps, policy.workgroup_size, "histogram");
        !checked)
        return checked;
    if (policy.strategy == HistogramStrategy::last_workgroup && !caps.device_scope_barrier) {
        return fail(ErrorCode::unsupported,
                    "policy: last_workgroup needs a memory barrier of device scope; use two_pass");
    }
    if (workgroup_memory(desc, policy) > caps.limits.max_workgroup_memory) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("policy: {} bins with {} copies need {} bytes of workgroup memory, "
                                "max_workgroup_memory is {}; use fewer copies, or global",
                                slots_of(desc), policy.copies, workgroup_memory(desc, policy),
                                caps.limits.max_workgroup_memory));
    }
    return {};
}

// The table's policy as this device can run it.
HistogramPolicy fitted(const Caps& caps, const HistogramDesc& desc, HistogramPolicy policy) {
    const auto fit_workgroup = [&] {
        policy.workgroup_size =
            detail::fitted_workgroup(caps, Tier::barrier, policy.workgroup_size);
    };
    const std::uint32_t asked = policy.workgroup_size;
    fit_workgroup();
    policy.copies = std::max(1u, policy.copies / (asked / policy.workgroup_size));
    if (policy.strategy == HistogramStrategy::last_workgroup && !caps.device_scope_barrier)
        policy.strategy = HistogramStrategy::two_pass;
    const std::uint64_t most_bytes = std::uint64_t{4} * kBinsOfCopies * policy.copies;
    const auto is_too_much = [&] {
        return table_bytes(desc, policy) > most_bytes ||
               workgroup_memory(desc, policy) > caps.limits.max_workgroup_memory;
    };
    while (policy.copies > 1 && is_too_much()) policy.copies /= 2;
    if (workgroup_memory(desc, policy) > caps.limits.max_workgroup_memory) {
        policy = detail::kGlobalHistogramPolicy;
        fit_workgroup();
    }
    return policy;
}

Share share_of(const Caps& caps, const HistogramDesc& desc, const HistogramPolicy& policy) {
    Share share;
    // Three channels divide no vector: as many vectors make whole items of them.
    const std::uint32_t per_three = desc.channels == 3 ? 3 : 1;
    share.tile_items = policy.workgroup_size * policy.vectors * per_three * 16 / item_bytes(desc);
    share.max_groups = policy.strategy == HistogramStrategy::one_workgroup
                           ? 1
                           : std::min(policy.max_groups, caps.limits.max_groups_x);
    return share;
}

std::string summary_of(const HistogramDesc& desc) {
    const HistogramRange range = range_of(desc);
    std::string text = fmt::format("{} bins of {} from {} to {}", desc.bins, to_text(desc.sample),
                                   range.lower, range.upper);
    if (desc.channels != 1) text += fmt::format(", of each of {} channels", desc.channels);
    return text;
}

Pass make_pass(const char* name, const std::string& types, const Plan& plan,
               const HistogramPolicy& policy) {
    Pass pass;
    pass.name = name;
    pass.kernel = fmt::format("{}.barrier.{}.{}", name, types, to_text(plan.addressing));
    pass.form = Form::barrier;
    pass.workgroup_size = policy.workgroup_size;
    pass.constants = {{0, "workgroup_size", policy.workgroup_size}};
    pass.groups = Groups::share;
    pass.waits = true;
    return pass;
}

Pass zeros_pass(const HistogramDesc& desc, const Plan& plan, const HistogramPolicy& policy) {
    Pass pass = make_pass("histogram_zeros", "none", plan, policy);
    pass.constants.push_back({4, "channels", desc.channels});
    pass.constants.push_back({5, "bins", desc.bins});
    pass.bindings = {Role::output, Role::scratch};
    return pass;
}

Pass tiles_pass(const HistogramDesc& desc, const Plan& plan, const HistogramPolicy& policy) {
    Pass pass = make_pass("histogram_tiles", fmt::format("e{}", sample_bits(desc)), plan, policy);
    const HistogramRange range = range_of(desc);
    const Units units = units_of(desc.sample, range);
    const Reciprocal reciprocal = reciprocal_of(units.width, desc.bins);
    const HistogramRange all = range_of_type(desc.sample);
    const bool checked =
        is_float(desc.sample) || range.lower > all.lower || range.upper < all.upper;
    auto first = static_cast<std::uint32_t>(units.origin);
    auto places = static_cast<std::uint32_t>(units.width);
    std::uint32_t unit = 0;
    if (is_float(desc.sample)) {
        first = first_place(desc.sample, range.lower);
        places = first_place(desc.sample, range.upper) - first;
        // A float is a whole number times 2^(exponent field - this); of f16 in the high half.
        const int bias = desc.sample == Scalar::f32 ? 127 + 23 : 15 + 26;
        unit = static_cast<std::uint32_t>(bias + units.exponent);
    }
    const std::uint32_t per_three = desc.channels == 3 ? 3 : 1;
    const std::pair<const char*, std::uint32_t> constants[] = {
        {"vectors", policy.vectors * per_three},
        {"strategy", static_cast<std::uint32_t>(policy.strategy)},
        {"copies", has_table(policy) ? policy.copies : 1},
        {"channels", desc.channels},
        {"bins", desc.bins},
        {"sample_kind", detail::element_kind(desc.sample)},
        {"checked", checked ? 1 : 0},
        {"first_place", first},
        {"places", places},
        {"origin", static_cast<std::uint32_t>(units.origin)},
        {"width", static_cast<std::uint32_t>(units.width)},
        {"multiplier", reciprocal.multiplier},
        {"shift", reciprocal.shift},
        {"corrected", reciprocal.corrected ? 1 : 0},
        {"unit", unit}};
    std::uint32_t id = 0;
    for (const auto& [name, value] : constants) pass.constants.push_back({++id, name, value});
    // Strategies without state bind scratch in its place: the kernel does not touch it.
    pass.bindings = {Role::input, Role::output, Role::scratch,
                     plan.state_bytes > 0 ? Role::state : Role::scratch};
    pass.workgroup_memory = static_cast<std::uint32_t>(workgroup_memory(desc, policy));
    if (has_table(policy))
        pass.barriers = policy.strategy == HistogramStrategy::last_workgroup ? 4 : 2;
    return pass;
}

// One kernel serves all tiers: the barrier tier is the one that says so.
Result<detail::TierChoice> tier_of(const Caps& caps, std::optional<Tier> forced) {
    constexpr const char* kWhy = "no subgroup operation is needed, all tiers run the same kernels";
    if (!forced) return detail::TierChoice{Tier::barrier, kWhy};
    auto choice = detail::choose_tier(caps, SubgroupOperation::basic, forced);
    if (choice) choice->reason += fmt::format("; {}", kWhy);
    return choice;
}

}  // namespace

HistogramPolicy histogram_policy(const Caps& caps, const HistogramDesc& desc) {
    const auto rows = detail::histogram_policy_rows(caps);
    // The last row's bound is the largest number, so a row is always found. Counts above 32 bits
    // are refused elsewhere.
    const std::uint64_t bytes = std::min(desc.max_count, kMostCount) * item_bytes(desc);
    const auto row = std::ranges::find_if(
        rows, [&](const detail::HistogramPolicyRow& r) { return bytes <= r.max_bytes; });
    return fitted(caps, desc, row->policy);
}

Result<Plan> plan_histogram(const Caps& caps, const HistogramDesc& desc) {
    if (size_of(desc.sample) == 8) {
        return fail(ErrorCode::unsupported,
                    fmt::format("samples of {} have 64 bits, the bins of 32 are counted: take "
                                "samples of 32 bits",
                                to_text(desc.sample)));
    }
    if (std::string why = wrong(desc); !why.empty())
        return fail(ErrorCode::bad_argument, std::move(why));
    if (desc.max_count > kMostCount) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} is above {}: counts have 32 bits", desc.max_count,
                                kMostCount));
    }
    if (auto checked = detail::check_workgroups(caps, "histogram"); !checked)
        return tl::unexpected(checked.error());
    const auto choice = tier_of(caps, desc.tier);
    if (!choice) return tl::unexpected(choice.error());
    const HistogramPolicy policy = desc.policy.value_or(histogram_policy(caps, desc));
    if (std::string why = impossible(policy); !why.empty())
        return fail(ErrorCode::bad_argument, "policy: " + std::move(why));
    if (auto checked = check_policy(caps, desc, policy); !checked)
        return tl::unexpected(checked.error());

    const std::uint64_t input_bytes = detail::provided_bytes(
        caps, std::max<std::uint64_t>(4, detail::round_up(desc.max_count * item_bytes(desc), 4)));
    const std::uint64_t output_bytes = std::uint64_t{4} * slots_of(desc);
    const auto addressing = detail::choose_addressing(
        caps, desc.addressing, desc.max_count, std::max(input_bytes, output_bytes), kMostBindings,
        "histogram", fmt::format("items of {} x {}", desc.channels, to_text(desc.sample)));
    if (!addressing) return tl::unexpected(addressing.error());

    Plan plan;
    plan.primitive = "histogram";
    plan.summary = summary_of(desc);
    plan.tier = choice->tier;
    plan.reason = choice->reason;
    plan.policy = to_text(policy);
    plan.addressing = *addressing;
    plan.max_count = desc.max_count;
    plan.element_bytes = item_bytes(desc);
    plan.share = share_of(caps, desc, policy);
    plan.indirect_offset = detail::kParameterBytes;
    if (policy.strategy == HistogramStrategy::last_workgroup)
        plan.state_bytes = static_cast<std::uint32_t>(output_bytes) + 4;

    const std::uint32_t usage = detail::buffer_usage(*addressing);
    const std::uint32_t alignment = detail::buffer_alignment(caps, *addressing);
    plan.arguments = {{Role::input, input_bytes, alignment, usage, Access::read},
                      {Role::output, output_bytes, alignment, usage, Access::write},
                      {Role::scratch, detail::scratch_header_bytes(1), alignment,
                       detail::scratch_usages(caps, *addressing), Access::read_write}};

    plan.passes.push_back(
        detail::count_to_groups_pass(caps, plan.share, desc.max_count, *addressing));
    if (adds_to_output(policy)) plan.passes.push_back(zeros_pass(desc, plan, policy));
    plan.passes.push_back(tiles_pass(desc, plan, policy));
    return plan;
}

const char* to_text(HistogramStrategy strategy) {
    return detail::name_of(kStrategyNames, strategy);
}

std::optional<HistogramStrategy> histogram_strategy_from_text(std::string_view text) {
    return detail::value_of(kStrategyNames, text);
}

std::string to_text(const HistogramPolicy& policy) {
    std::string copies;
    if (has_table(policy)) copies = fmt::format(", copies {}", policy.copies);
    return fmt::format("{}, workgroup_size {}, vectors {}{}, max_groups {}",
                       to_text(policy.strategy), policy.workgroup_size, policy.vectors, copies,
                       policy.max_groups);
}

}  // namespace lanewise
