// plan_histogram on described devices; its arithmetic of bins, as kernels do it, against exact
// division; and its reference against answers worked out by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "primitives/histogram/histogram_reference.hpp"
#include "tests/unit/described_devices.hpp"
#include "tests/unit/plan_rules.hpp"

namespace lanewise::test {
namespace {

constexpr Scalar kSamples[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                               Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32};
constexpr Tier kTiers[] = {Tier::pinned, Tier::portable, Tier::barrier};
constexpr Addressing kAddressings[] = {Addressing::descriptor, Addressing::device_address};
constexpr HistogramStrategy kStrategies[] = {
    HistogramStrategy::one_workgroup, HistogramStrategy::last_workgroup,
    HistogramStrategy::two_pass, HistogramStrategy::global};
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string text(const HistogramDesc& desc) {
    return fmt::format("{} bins of {} x {}, {} to {}, {} items, tier {}, policy {}", desc.bins,
                       desc.channels, to_text(desc.sample), desc.range ? desc.range->lower : 0,
                       desc.range ? desc.range->upper : 0, desc.max_count,
                       desc.tier ? to_text(*desc.tier) : "auto",
                       desc.policy ? to_text(*desc.policy) : "auto");
}

// A plan that keeps to all rules, or a refusal that says why. True where there is a plan.
bool expect_plan_or_reason(const Caps& caps, const HistogramDesc& desc) {
    const auto plan = plan_histogram(caps, desc);
    if (!plan) {
        EXPECT_FALSE(plan.error().message.empty()) << text(desc);
        EXPECT_EQ(plan.error().message.find('\n'), std::string::npos) << plan.error().message;
        return false;
    }
    for (const std::string& rule : broken_rules(*plan, caps))
        ADD_FAILURE() << text(desc) << ": " << rule << "\n" << to_text(*plan);
    EXPECT_EQ(plan->primitive, "histogram");
    EXPECT_EQ(plan->max_count, desc.max_count);
    EXPECT_EQ(plan->element_bytes, desc.channels * size_of(desc.sample));
    EXPECT_EQ(plan->tier, desc.tier.value_or(Tier::barrier));
    EXPECT_EQ(plan->addressing, desc.addressing.value_or(plan->addressing));
    EXPECT_EQ(plan->passes.back().name, "histogram_tiles");
    EXPECT_EQ(plan->argument(Role::output)->bytes, std::uint64_t{4} * desc.channels * desc.bins);
    EXPECT_EQ(bytes_needed(*plan, Role::output, 0), plan->argument(Role::output)->bytes)
        << "n = 0 has counts, too";
    // A tile is whole items, and whole vectors.
    EXPECT_EQ(plan->share.tile_items * plan->element_bytes % 16, 0u) << text(desc);
    return true;
}

void expect_refused(const HistogramDesc& desc, ErrorCode code,
                    std::initializer_list<const char*> words, const Caps& caps = described("all")) {
    const auto plan = plan_histogram(caps, desc);
    ASSERT_FALSE(plan) << text(desc);
    EXPECT_EQ(plan.error().code, code) << plan.error().message;
    for (const char* word : words) {
        EXPECT_NE(plan.error().message.find(word), std::string::npos)
            << "no '" << word << "' in: " << plan.error().message;
    }
}

HistogramDesc floats(double lower, double upper, std::uint32_t bins = 8) {
    return {.sample = Scalar::f32,
            .bins = bins,
            .range = HistogramRange{lower, upper},
            .max_count = 10};
}

TEST(HistogramPlan, EveryRequestOnEveryDevice) {
    std::size_t turn = 0;
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        int plans = 0;
        for (const Scalar sample : kSamples) {
            for (const std::uint32_t channels : {1u, 2u, 3u, 4u}) {
                for (const Tier tier : kTiers) {
                    for (const Addressing addressing : kAddressings) {
                        // The rest takes turns.
                        const auto form = static_cast<std::uint32_t>(turn++);
                        HistogramDesc desc{
                            .sample = sample,
                            .channels = channels,
                            .bins = std::vector{256u, 1u, 100u, 50000u}[form % 4],
                            .max_count = std::vector{0u, 300u, 1u << 20, 1u << 27}[form / 4 % 4],
                            .tier = tier,
                            .addressing = addressing};
                        if (is_float(sample)) desc.range = HistogramRange{-1.0, 1.5};
                        plans += expect_plan_or_reason(device.caps, desc) ? 1 : 0;
                    }
                }
            }
        }
        EXPECT_GT(plans, 0) << "the device can do nothing";
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(HistogramPlan, RefusalsSayWhy) {
    const std::uint64_t most = ~0u;
    EXPECT_TRUE(plan_histogram(described("all"), {.max_count = most}));
    expect_refused({.max_count = most + 1}, ErrorCode::limit_exceeded,
                   {"max_count 4294967296", "32 bits"});
    for (const Scalar wide : {Scalar::u64, Scalar::i64, Scalar::f64})
        expect_refused({.sample = wide, .max_count = 10}, ErrorCode::unsupported,
                       {to_text(wide), "64 bits"});
    expect_refused({.channels = 0, .max_count = 10}, ErrorCode::bad_argument, {"channels 0"});
    expect_refused({.channels = 5, .max_count = 10}, ErrorCode::bad_argument, {"channels 5", "4"});
    expect_refused({.bins = 0, .max_count = 10}, ErrorCode::bad_argument, {"bins 0"});
    expect_refused({.bins = (1u << 20) + 1, .max_count = 10}, ErrorCode::bad_argument,
                   {"bins 1048577", "2^20"});
    // Ranges.
    expect_refused({.sample = Scalar::f32, .max_count = 10}, ErrorCode::bad_argument,
                   {"f32", "range"});
    for (const double bad : {kInfinity, -kInfinity, std::nan("")}) {
        expect_refused(floats(0.0, bad), ErrorCode::bad_argument, {"finite"});
        expect_refused(floats(bad, 0.0), ErrorCode::bad_argument, {"finite"});
    }
    expect_refused(floats(0.0, 1e39), ErrorCode::bad_argument, {"f32"});
    expect_refused(floats(1.0, 1.0 + 1e-12), ErrorCode::bad_argument, {"empty in f32"});
    expect_refused(floats(2.0, 1.0), ErrorCode::bad_argument, {"empty"});
    const auto integers = [](Scalar sample, double lower, double upper) {
        return HistogramDesc{
            .sample = sample, .range = HistogramRange{lower, upper}, .max_count = 10};
    };
    expect_refused(integers(Scalar::i32, 0.5, 7.0), ErrorCode::bad_argument, {"whole"});
    expect_refused(integers(Scalar::u8, 7, 7), ErrorCode::bad_argument, {"empty"});
    expect_refused(integers(Scalar::u32, -1, 7), ErrorCode::bad_argument, {"0", "4294967296"});
    expect_refused(integers(Scalar::i32, 0, 2147483649.0), ErrorCode::bad_argument, {"2147483648"});
    EXPECT_TRUE(plan_histogram(described("all"), integers(Scalar::u8, -10, 1000)));
    EXPECT_TRUE(plan_histogram(described("all"), integers(Scalar::u32, 0, 4294967296.0)));
    // Policies.
    const auto with = [](HistogramPolicy policy) {
        return HistogramDesc{.max_count = 10, .policy = policy};
    };
    expect_refused(with({.workgroup_size = 63}), ErrorCode::bad_argument, {"workgroup_size 63"});
    expect_refused(with({.vectors = 3}), ErrorCode::bad_argument, {"vectors 3"});
    expect_refused(with({.vectors = 16}), ErrorCode::bad_argument, {"vectors 16"});
    expect_refused(with({.copies = 3}), ErrorCode::bad_argument, {"copies 3"});
    expect_refused(with({.copies = 64}), ErrorCode::bad_argument, {"copies 64"});
    expect_refused(with({.max_groups = 0}), ErrorCode::bad_argument, {"max_groups"});
    Caps small = described("all");
    small.limits.max_workgroup_memory = 16384;
    small.limits.max_workgroup_invocations = 128;
    expect_refused(with({.workgroup_size = 256}), ErrorCode::limit_exceeded, {"256", "128"}, small);
    expect_refused(with({.workgroup_size = 64, .copies = 16}), ErrorCode::limit_exceeded,
                   {"16388", "max_workgroup_memory is 16384", "copies", "global"}, small);
    EXPECT_TRUE(plan_histogram(small, with({HistogramStrategy::two_pass, 64, 1, 16, 4})));
    small.device_scope_barrier = false;
    expect_refused(with({.workgroup_size = 64, .copies = 1}), ErrorCode::unsupported,
                   {"last_workgroup", "two_pass"}, small);
    // Forced tiers, that a device lacks what it takes for.
    HistogramDesc pinned{.max_count = 10, .tier = Tier::pinned};
    expect_refused(pinned, ErrorCode::unsupported, {"pinned"}, described("none"));
    const auto plan = plan_histogram(described("all"), pinned);
    ASSERT_TRUE(plan);
    EXPECT_NE(plan->reason.find("all tiers run the same kernels"), std::string::npos);
    Caps narrow = described("none");
    narrow.limits.max_storage_range = 1 << 20;
    expect_refused({.max_count = (1 << 20) + 1}, ErrorCode::limit_exceeded, {"max_storage_range"},
                   narrow);
}

// Copies of the table give way to bins; a table that does not fit at all is none.
TEST(HistogramPlan, PoliciesFitTheDevice) {
    for (const std::uint32_t memory : {1024u, 16384u, 49152u}) {
        for (const std::uint32_t invocations : {64u, 1024u}) {
            for (const bool device_scope : {false, true}) {
                Caps caps = described("all");
                caps.limits.max_workgroup_memory = memory;
                caps.limits.max_workgroup_invocations = invocations;
                caps.limits.max_workgroup_size_x = invocations;
                caps.device_scope_barrier = device_scope;
                for (const std::uint32_t bins : {1u, 100u, 256u, 3000u, 20000u}) {
                    for (const std::uint64_t count : {100u, 1u << 16, 1u << 28}) {
                        const HistogramDesc desc{.bins = bins, .max_count = count};
                        const HistogramPolicy policy = histogram_policy(caps, desc);
                        EXPECT_TRUE(expect_plan_or_reason(caps, desc)) << text(desc);
                        const bool global = 4 * bins + 4 > memory;
                        EXPECT_TRUE(device_scope ||
                                    policy.strategy != HistogramStrategy::last_workgroup);
                        if (4 * bins == memory || 4 * bins + 4 == memory) continue;
                        EXPECT_EQ(policy.strategy == HistogramStrategy::global, global)
                            << text(desc) << ": " << to_text(policy);
                    }
                }
            }
        }
    }
}

TEST(HistogramPlan, LimitsOfAnySize) {
    for (const std::uint32_t invocations : {32u, 128u, 768u}) {
        for (const std::uint32_t memory : {16u, 2048u, 16384u}) {
            for (const std::uint32_t groups : {1u, 7u, 65535u, ~0u}) {
                Caps caps = described("all");
                caps.limits.max_workgroup_invocations = invocations;
                caps.limits.max_workgroup_size_x = invocations;
                caps.limits.max_workgroup_memory = memory;
                caps.limits.max_groups_x = groups;
                for (const std::uint64_t count : {1000u, 1u << 20, ~0u}) {
                    for (const std::uint32_t channels : {1u, 3u})
                        expect_plan_or_reason(caps, {.channels = channels, .max_count = count});
                }
            }
        }
    }
    EXPECT_FALSE(plan_histogram(Caps{}, {.max_count = 10}));
}

TEST(HistogramPlan, StrategiesHaveTheirPasses) {
    const auto names = [](const HistogramDesc& desc) {
        std::string all;
        const auto plan = plan_histogram(described("all"), desc);
        if (!plan) return plan.error().message;
        for (const Pass& pass : plan->passes)
            if (pass.when == When::always) all += pass.name + " ";
        return all + std::to_string(plan->state_bytes);
    };
    HistogramDesc desc{.channels = 2, .max_count = 100000, .policy = HistogramPolicy{}};
    const char* expected[] = {"histogram_tiles 0", "histogram_tiles 2052",
                              "histogram_zeros histogram_tiles 0",
                              "histogram_zeros histogram_tiles 0"};
    for (const HistogramStrategy strategy : kStrategies) {
        desc.policy->strategy = strategy;
        EXPECT_EQ(names(desc), expected[static_cast<std::size_t>(strategy)]) << to_text(strategy);
        EXPECT_EQ(histogram_strategy_from_text(to_text(strategy)), strategy);
    }
    EXPECT_EQ(histogram_strategy_from_text("warp"), std::nullopt);
}

RC_GTEST_PROP(HistogramPlanProperties, KeepsToTheRules, ()) {
    const auto& devices = described_devices();
    const Caps& caps = devices[*rc::gen::inRange<std::size_t>(0, devices.size())].caps;
    HistogramDesc desc;
    desc.sample =
        *rc::gen::elementOf(std::vector<Scalar>(std::begin(kSamples), std::end(kSamples)));
    desc.channels = *rc::gen::inRange<std::uint32_t>(0, 6);
    desc.bins = *rc::gen::inRange<std::uint32_t>(0, 1u << *rc::gen::inRange(1, 22));
    if (*rc::gen::arbitrary<bool>()) {
        desc.range = HistogramRange{double(*rc::gen::inRange(-300, 300)),
                                    double(*rc::gen::inRange(-300, 70000))};
    }
    desc.max_count = std::uint64_t{1} << *rc::gen::inRange(0, 33);
    desc.max_count -= *rc::gen::inRange<std::uint64_t>(0, 2);
    expect_plan_or_reason(caps, desc);
    RC_ASSERT(!::testing::Test::HasFailure());
}

// What kernels/item/bin.glsl does with the constants of a plan.
class Kernel {
public:
    explicit Kernel(const HistogramDesc& desc) : desc_(desc) {
        const auto plan = plan_histogram(described("all"), desc);
        EXPECT_TRUE(plan) << plan.error().message;
        if (plan) constants_ = plan->passes.back().constants;
    }

    std::optional<std::uint32_t> bin_of(std::uint32_t bits) const {
        const bool is_f16 = desc_.sample == Scalar::f16;
        std::uint32_t value = is_f16 ? bits << 16 : bits;
        if (desc_.sample == Scalar::i8) value = static_cast<std::uint32_t>(std::int8_t(bits));
        if (desc_.sample == Scalar::i16) value = static_cast<std::uint32_t>(std::int16_t(bits));
        std::uint32_t place = value;
        if (is_float(desc_.sample)) place ^= (value >> 31 != 0 ? ~0u : 0u) | 0x80000000u;
        if (at("checked") != 0 && place - at("first_place") >= at("places")) return std::nullopt;
        const std::uint32_t offset =
            (is_float(desc_.sample) ? units_of(value) : value) - at("origin");
        const std::uint32_t shift = at("shift");
        if (at("multiplier") == 0) {
            EXPECT_LT(shift, 32u);
            return offset >> shift;
        }
        EXPECT_GE(shift, 11u);
        EXPECT_LT(shift, 64u);
        const std::uint64_t product = std::uint64_t{offset} * at("multiplier");
        EXPECT_LT(product >> shift, std::uint64_t{1} << 32);
        auto bin = static_cast<std::uint32_t>(product >> shift);
        const bool is_above = std::uint64_t{offset} * at("bins") < std::uint64_t{bin} * at("width");
        if (at("corrected") != 0 && is_above) --bin;
        return bin;
    }

private:
    std::uint32_t at(const char* name) const {
        const auto found = std::ranges::find(constants_, name, &Constant::name);
        return found == constants_.end() ? 0xdeadbeef : found->value;
    }
    std::uint32_t units_of(std::uint32_t bits) const {
        const std::uint32_t fraction_bits = desc_.sample == Scalar::f16 ? 26 : 23;
        const std::uint32_t exponent = (bits & 0x7fffffffu) >> fraction_bits;
        const std::uint32_t fraction = bits & ((1u << fraction_bits) - 1);
        auto number = std::int64_t{exponent == 0 ? fraction : fraction | 1u << fraction_bits};
        if (bits >> 31 != 0) number = -number;
        const int shift = static_cast<int>(std::max(exponent, 1u)) - static_cast<int>(at("unit"));
        if (shift > 31) return 0;
        return static_cast<std::uint32_t>(shift < 0 ? number >> std::min(-shift, 31)
                                                    : number << shift);
    }

    HistogramDesc desc_;
    std::vector<Constant> constants_;
};

// All values of narrow samples; of others those given.
void expect_exact(const HistogramDesc& desc, std::vector<std::uint32_t> values = {}) {
    using histogram_reference_detail::Range;
    using histogram_reference_detail::value_of;
    if (size_of(desc.sample) < 4) {
        for (std::uint32_t bits = 0; bits < 1u << (8 * size_of(desc.sample)); ++bits)
            values.push_back(bits);
    }
    const Kernel kernel(desc);
    const Range range = Range::of(desc);
    for (const std::uint32_t bits : values) {
        const auto expected = range.bin_of(value_of(desc.sample, bits), desc.bins);
        ASSERT_EQ(kernel.bin_of(bits), expected)
            << text(desc) << ": " << value_of(desc.sample, bits) << " (" << bits << ")";
        ASSERT_LT(expected.value_or(0), desc.bins);
    }
}

TEST(HistogramBins, AllNarrowSamples) {
    for (const std::uint32_t bins : {1u, 2u, 3u, 10u, 255u, 256u, 257u, 1000u, 65537u, 1u << 20}) {
        for (const Scalar sample : {Scalar::u8, Scalar::i8, Scalar::u16, Scalar::i16})
            expect_exact({.sample = sample, .bins = bins, .max_count = 1});
        for (const HistogramRange range :
             {HistogramRange{-4, 7}, HistogramRange{0, 255}, HistogramRange{-300, 70000},
              HistogramRange{-2147483648.0, 2147483648.0}, HistogramRange{3, 4}}) {
            expect_exact({.sample = Scalar::i16, .bins = bins, .range = range, .max_count = 1});
            expect_exact({.sample = Scalar::u8, .bins = bins, .range = range, .max_count = 1});
        }
        for (const HistogramRange range :
             {HistogramRange{0, 1}, HistogramRange{-1, 2}, HistogramRange{-1e30, 1e30},
              HistogramRange{0.1, 0.3}, HistogramRange{-0.3, -0.1}, HistogramRange{1e-30, 2e-30},
              HistogramRange{-65504, 65504}, HistogramRange{-1e-7, 1e-7},
              HistogramRange{70000, 80000}})
            expect_exact({.sample = Scalar::f16, .bins = bins, .range = range, .max_count = 1});
        if (HasFailure()) return;
    }
}

RC_GTEST_PROP(HistogramBinsProperties, IntegersAreExact, ()) {
    HistogramDesc desc{.sample = *rc::gen::element(Scalar::u32, Scalar::i32), .max_count = 1};
    const std::int64_t least = desc.sample == Scalar::i32 ? -(std::int64_t{1} << 31) : 0;
    const std::int64_t most = least + (std::int64_t{1} << 32);
    const auto width = std::int64_t{1} << *rc::gen::inRange(0, 33);
    const std::int64_t lower = *rc::gen::inRange<std::int64_t>(least, most);
    const std::int64_t upper =
        std::clamp(lower + width - *rc::gen::inRange<std::int64_t>(-width / 2, width / 2 + 1),
                   lower + 1, most);
    desc.range = HistogramRange{static_cast<double>(lower), static_cast<double>(upper)};
    desc.bins = *rc::gen::inRange<std::uint32_t>(1, (1u << *rc::gen::inRange(0, 21)) + 1);
    desc.bins = std::min(desc.bins, 1u << 20);
    // Where bins begin, and beside that: there a product would be one off.
    std::vector<std::uint32_t> values;
    for (int i = 0; i < 200; ++i) {
        const std::int64_t bin = *rc::gen::inRange<std::int64_t>(0, desc.bins + 1);
        const std::int64_t edge = lower + (bin * (upper - lower) + desc.bins - 1) / desc.bins;
        for (const std::int64_t near : {edge - 1, edge, edge + 1})
            if (near >= least && near < most) values.push_back(static_cast<std::uint32_t>(near));
    }
    expect_exact(desc, values);
    RC_ASSERT(!::testing::Test::HasFailure());
}

RC_GTEST_PROP(HistogramBinsProperties, FloatsAreExact, ()) {
    const auto any = [] {
        const float x = std::bit_cast<float>(*rc::gen::arbitrary<std::uint32_t>());
        return std::isfinite(x) ? double{x} : 1.0;
    };
    double lower = *rc::gen::arbitrary<bool>() ? any() : *rc::gen::inRange(-10, 10);
    double upper = *rc::gen::arbitrary<bool>()
                       ? any()
                       : lower + *rc::gen::inRange(1, 1000) * std::exp2(*rc::gen::inRange(-40, 40));
    if (lower > upper) std::swap(lower, upper);
    RC_PRE(plan_histogram(described("all"), floats(lower, upper)).has_value());
    const HistogramDesc desc =
        floats(lower, upper, *rc::gen::inRange<std::uint32_t>(1, (1u << 20) + 1));
    std::vector<std::uint32_t> values{0,           0x80000000u, 1,           0x80000001u,
                                      0x7f800000u, 0xff800000u, 0x7fc00000u, 0xffc00000u,
                                      0x7f7fffffu, 0xff7fffffu};
    const auto add = [&](double x) {
        const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
        for (const std::uint32_t near : {bits - 1, bits, bits + 1}) values.push_back(near);
    };
    add(lower);
    add(upper);
    for (int i = 0; i < 100; ++i) {
        const double part = *rc::gen::inRange<std::uint32_t>(0, desc.bins + 1) / double(desc.bins);
        add(lower + part * (upper - lower));
    }
    expect_exact(desc, values);
    RC_ASSERT(!::testing::Test::HasFailure());
}

template <class T>
std::vector<std::uint32_t> counted(Scalar sample, double lower, double upper, std::uint32_t bins,
                                   const std::vector<T>& samples) {
    return histogram_reference(
        {.sample = sample, .bins = bins, .range = HistogramRange{lower, upper}},
        std::as_bytes(std::span(samples)));
}

using Counts = std::vector<std::uint32_t>;

// The reference, which the device tests believe, in so many words.
TEST(HistogramReference, ByHand) {
    std::vector<std::int32_t> samples;
    for (std::int32_t x = 0; x < 10; ++x) samples.push_back(x);
    EXPECT_EQ(counted(Scalar::i32, 0, 10, 3, samples), (Counts{4, 3, 3}));
    samples.clear();
    for (std::int32_t x = -5; x < 9; ++x) samples.push_back(x);
    EXPECT_EQ(counted(Scalar::i32, -4, 7, 5, samples), (Counts{3, 2, 2, 2, 2}));
    EXPECT_EQ(counted<std::int16_t>(Scalar::i16, -32768, 32767, 4,
                                    {-32768, -32767, -8192, -1, 0, 1, 8191, 8192, 32766}),
              (Counts{2, 2, 4, 1}));
    EXPECT_EQ(counted<std::int32_t>(Scalar::i32, -1.5e9, 1.5e9, 3,
                                    {-1500000000, -1, 0, 1, 1499999999, 1500000000}),
              (Counts{1, 3, 1}));
    const float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(counted<float>(Scalar::f32, 0, 1, 10,
                             {-0.0f, 0.0f, 0.1f, 0.3f, 0.7f, 1.0f, std::nextafter(1.0f, 0.0f),
                              std::nanf(""), -std::nanf(""), infinity, -infinity, -1e-40f, 1e-40f}),
              (Counts{3, 1, 0, 1, 0, 0, 1, 0, 0, 1}));
    // 1/3 is no multiple of 2^-31: the bin begins at the next one.
    const float third = 1.0f / 3.0f;  // above
    EXPECT_EQ(counted<float>(Scalar::f32, 0, 1, 3, {third, std::nextafter(third, 0.0f)}),
              (Counts{1, 1, 0}));
    EXPECT_EQ(
        counted<std::uint16_t>(Scalar::f16, 0, 2, 2, {0x3c00, 0x3bff, 0x8000, 0x4000, 0x7e00}),
        (Counts{2, 1}));
    const std::vector<std::uint8_t> pixels{1, 2, 3, 255, 1, 7, 3, 0};
    const HistogramDesc desc{.channels = 4};
    Counts counts = histogram_reference(desc, std::as_bytes(std::span(pixels)));
    ASSERT_EQ(counts.size(), 1024u);
    EXPECT_EQ(counts[1], 2u);
    EXPECT_EQ(counts[256 + 2], 1u);
    EXPECT_EQ(counts[256 + 7], 1u);
    EXPECT_EQ(counts[512 + 3], 2u);
    EXPECT_EQ(counts[768 + 255] + counts[768], 2u);
    std::string why;
    EXPECT_TRUE(histogram_matches(desc, std::as_bytes(std::span(pixels)), counts, &why));
    ++counts[700];
    EXPECT_FALSE(histogram_matches(desc, std::as_bytes(std::span(pixels)), counts, &why));
    EXPECT_EQ(why, "bin 188 of channel 2 has 1, not 0");
    EXPECT_EQ(counted<std::int32_t>(Scalar::i32, 0, 10, 3, {}), (Counts{0, 0, 0}));
}

}  // namespace
}  // namespace lanewise::test
