// plan_scan on described devices.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "tests/unit/described_devices.hpp"
#include "tests/unit/plan_rules.hpp"

namespace lanewise::test {
namespace {

constexpr Scalar kScalars[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                               Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                               Scalar::u64, Scalar::i64, Scalar::f64};
constexpr Operator kOperators[] = {Operator::sum,     Operator::product, Operator::min,
                                   Operator::max,     Operator::bit_and, Operator::bit_or,
                                   Operator::bit_xor, Operator::argmin,  Operator::argmax};
constexpr Tier kTiers[] = {Tier::pinned, Tier::portable, Tier::barrier};
constexpr Addressing kAddressings[] = {Addressing::descriptor, Addressing::device_address};
constexpr ScanStrategy kStrategies[] = {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan,
                                        ScanStrategy::look_back, ScanStrategy::reduce_ahead};

bool is_bitwise(Operator op) {
    return op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
}

bool looks_back(ScanStrategy strategy) {
    return strategy == ScanStrategy::look_back || strategy == ScanStrategy::reduce_ahead;
}

Scalar wide_accumulator(Scalar element) {
    if (is_float(element)) return Scalar::f64;
    return is_signed_integer(element) ? Scalar::i64 : Scalar::u64;
}

// What scan.hpp allows: the default, and the wide one of the element's kind.
std::vector<Scalar> accumulators(Scalar element) {
    std::vector<Scalar> all{reduce_accumulator({.element = element})};
    if (wide_accumulator(element) != all[0]) all.push_back(wide_accumulator(element));
    return all;
}

ScanPolicy policy_with(ScanStrategy strategy) {
    return {.strategy = strategy, .ahead = strategy == ScanStrategy::reduce_ahead ? 4u : 0u};
}

std::string text(const ScanDesc& desc) {
    return fmt::format("{} {} {} of {} into {}{}, {} items, {}, tier {}, {}, policy {}",
                       to_text(desc.kind), to_text(desc.direction), to_text(desc.op),
                       to_text(desc.element),
                       desc.accumulator ? to_text(*desc.accumulator) : "default",
                       desc.initial ? fmt::format(" from {:x}", *desc.initial) : "", desc.max_count,
                       to_text(desc.determinism), desc.tier ? to_text(*desc.tier) : "auto",
                       desc.addressing ? to_text(*desc.addressing) : "auto",
                       desc.policy ? to_text(*desc.policy) : "auto");
}

// The strategy that a plan has, by its passes.
std::vector<std::string> passes_of(const Plan& plan) {
    std::vector<std::string> names;
    for (const Pass& pass : plan.passes) {
        if (pass.when == When::always) names.push_back(pass.name);
    }
    return names;
}
bool waits_for_others(const Plan& plan) {
    const auto names = passes_of(plan);
    return std::find(names.begin(), names.end(), "scan_lookback") != names.end();
}

bool contains(const std::string& text, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return text.find(word) != std::string::npos; });
}

// A plan that keeps to all rules, or a refusal that says why. True where there is a plan.
bool expect_plan_or_reason(const Caps& caps, const ScanDesc& desc) {
    const auto plan = plan_scan(caps, desc);
    if (!plan) {
        EXPECT_FALSE(plan.error().message.empty()) << text(desc);
        EXPECT_EQ(plan.error().message.find('\n'), std::string::npos) << plan.error().message;
        EXPECT_TRUE(plan.error().code == ErrorCode::unsupported ||
                    plan.error().code == ErrorCode::bad_argument ||
                    plan.error().code == ErrorCode::limit_exceeded)
            << to_text(plan.error().code) << ": " << plan.error().message;
        return false;
    }
    for (const std::string& rule : broken_rules(*plan, caps)) {
        ADD_FAILURE() << text(desc) << ": " << rule << "\n" << to_text(*plan);
    }
    EXPECT_EQ(plan->primitive, "scan");
    EXPECT_EQ(plan->max_count, desc.max_count);
    EXPECT_EQ(plan->element_bytes, size_of(desc.element));
    EXPECT_EQ(plan->result_bytes, scan_result_bytes(desc));
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier))
        << "a forced tier never falls back in silence";
    EXPECT_EQ(plan->addressing, desc.addressing.value_or(plan->addressing));
    EXPECT_EQ(plan->policy, desc.policy ? to_text(*desc.policy) : plan->policy);
    const Argument* output = plan->argument(Role::output);
    EXPECT_NE(output, nullptr);
    if (output == nullptr) return true;
    EXPECT_GE(output->bytes / scan_result_bytes(desc), desc.max_count) << text(desc);
    for (const std::uint64_t count : {std::uint64_t{0}, desc.max_count / 3, desc.max_count}) {
        EXPECT_EQ(bytes_needed(*plan, Role::output, count), count * scan_result_bytes(desc))
            << text(desc);
    }
    EXPECT_NE(output->access, Access::read);
    const bool same_size = size_of(desc.element) == scan_result_bytes(desc);
    EXPECT_EQ(plan->in_place, same_size && !waits_for_others(*plan)) << text(desc);
    const bool rounded =
        is_float(desc.element) && (desc.op == Operator::sum || desc.op == Operator::product);
    EXPECT_FALSE(rounded && desc.determinism == Determinism::run_to_run && waits_for_others(*plan))
        << text(desc) << ": the order changes from run to run";
    return true;
}

TEST(ScanTypes, AccumulatorsAndResultBytesAreThoseOfReduce) {
    for (const Scalar element : kScalars) {
        for (const Scalar accumulator : accumulators(element)) {
            for (const Operator op : kOperators) {
                for (const std::uint64_t count :
                     {std::uint64_t{0}, std::uint64_t{1} << 32, (std::uint64_t{1} << 32) + 1}) {
                    const ScanDesc scan{.element = element,
                                        .op = op,
                                        .accumulator = accumulator,
                                        .max_count = count};
                    const ReduceDesc reduce{.element = element,
                                            .op = op,
                                            .accumulator = accumulator,
                                            .max_count = count};
                    EXPECT_EQ(scan_accumulator(scan), accumulator);
                    EXPECT_EQ(scan_result_bytes(scan), reduce_result_bytes(reduce)) << text(scan);
                }
            }
        }
        EXPECT_EQ(scan_accumulator({.element = element}), accumulators(element)[0]);
    }
}

TEST(ScanTypes, Names) {
    for (const ScanStrategy strategy : kStrategies)
        EXPECT_EQ(scan_strategy_from_text(to_text(strategy)), strategy);
    EXPECT_FALSE(scan_strategy_from_text("two_pass"));
    EXPECT_STREQ(to_text(ScanStrategy::reduce_then_scan), "reduce_then_scan");
    EXPECT_STREQ(to_text(ScanKind::exclusive), "exclusive");
    EXPECT_STREQ(to_text(Direction::reverse), "reverse");
    // Two policies that differ print differently, whatever it is that differs.
    const ScanPolicy policy = policy_with(ScanStrategy::reduce_ahead);
    const auto changed = [&](auto change) {
        ScanPolicy other = policy;
        change(other);
        EXPECT_NE(other, policy);
        EXPECT_NE(to_text(other), to_text(policy));
    };
    changed([](ScanPolicy& other) { other.strategy = ScanStrategy::look_back; });
    changed([](ScanPolicy& other) { other.workgroup_size = 64; });
    changed([](ScanPolicy& other) { other.vectors = 1; });
    changed([](ScanPolicy& other) { other.max_groups = 7; });
    changed([](ScanPolicy& other) { other.ahead = 9; });
    changed([](ScanPolicy& other) { other.patience = 3; });
    changed([](ScanPolicy& other) { other.silent_tile = 3; });
}

// E2 and C5: whatever is asked of whatever device, the plan keeps to what the device has, or is
// refused with a reason.
TEST(ScanPlan, EveryRequestOnEveryDevice) {
    std::size_t turn = 0;
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        int plans = 0;
        for (const Scalar element : kScalars) {
            for (const Scalar accumulator : accumulators(element)) {
                for (const Operator op : kOperators) {
                    for (const Tier tier : kTiers) {
                        for (const Addressing addressing : kAddressings) {
                            // Kind and direction take turns.
                            const std::size_t form = turn++;
                            ScanDesc desc{
                                .element = element,
                                .op = op,
                                .kind = form % 2 == 0 ? ScanKind::inclusive : ScanKind::exclusive,
                                .direction =
                                    form / 2 % 2 == 0 ? Direction::forward : Direction::reverse,
                                .accumulator = accumulator,
                                .max_count =
                                    form % 3 == 0 ? std::uint64_t{1000} : std::uint64_t{1} << 22,
                                .tier = tier,
                                .addressing = addressing};
                            if (form % 5 == 0) desc.policy = policy_with(kStrategies[form / 5 % 4]);
                            if (is_bitwise(op) && is_float(element)) {
                                const auto plan = plan_scan(device.caps, desc);
                                ASSERT_FALSE(plan) << text(desc);
                                EXPECT_EQ(plan.error().code, ErrorCode::bad_argument)
                                    << plan.error().message;
                                continue;
                            }
                            plans += expect_plan_or_reason(device.caps, desc) ? 1 : 0;
                        }
                    }
                }
            }
        }
        EXPECT_GT(plans, 0) << "the device can do nothing";
        if (::testing::Test::HasFailure()) return;
    }
}

// The other side of E2: what the device has is used.
TEST(ScanPlan, DevicesTakeTheTierThatTheyCan) {
    const std::pair<const char*, Tier> rows[] = {
        {"apple-m2", Tier::portable},  // a size cannot be required
        {"mali-g715", Tier::pinned},     {"adreno-740", Tier::pinned},
        {"intel-xe", Tier::pinned},      {"amd-rdna", Tier::pinned},
        {"nvidia", Tier::pinned},        {"all", Tier::pinned},
        {"size-128", Tier::pinned},      {"webgpu-minimum", Tier::barrier},
        {"none", Tier::barrier},         {"basic-only", Tier::barrier},
        {"basic-ballot", Tier::barrier}, {"no-compute-stage", Tier::barrier},
    };
    for (const auto& [name, tier] : rows) {
        SCOPED_TRACE(name);
        const auto plan = plan_scan(described(name), {.max_count = 1u << 20});
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(plan->tier, tier) << plan->reason;
    }
}

// Those that wait for nobody run everything in every tier.
TEST(ScanPlan, ACapableDeviceRunsEverythingInEveryTier) {
    const Caps caps = described("all");
    for (const Scalar element : kScalars) {
        for (const Scalar accumulator : accumulators(element)) {
            for (const Operator op : kOperators) {
                if (is_bitwise(op) && is_float(element)) continue;
                if (is_arg(op) && accumulator != accumulators(element)[0]) continue;
                for (const Tier tier : kTiers) {
                    for (const Addressing addressing : kAddressings) {
                        for (const ScanStrategy strategy : kStrategies) {
                            ScanDesc desc{.element = element,
                                          .op = op,
                                          .accumulator = accumulator,
                                          .max_count = 100000,
                                          .determinism = Determinism::unordered,
                                          .tier = tier,
                                          .addressing = addressing,
                                          .policy = policy_with(strategy)};
                            if (!is_arg(op) && accumulator == element) desc.initial = 1;
                            const auto plan = plan_scan(caps, desc);
                            if (!plan && looks_back(strategy)) {
                                // Not for what a published word cannot hold.
                                EXPECT_EQ(plan.error().code, ErrorCode::unsupported)
                                    << text(desc) << ": " << plan.error().message;
                                EXPECT_TRUE(is_arg(op) || size_of(accumulator) == 8)
                                    << text(desc) << ": " << plan.error().message;
                                continue;
                            }
                            ASSERT_TRUE(plan) << text(desc) << ": " << plan.error().message;
                        }
                    }
                }
            }
        }
    }
}

TEST(ScanPlan, TheBarrierTierRunsEverywhere) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const Scalar element : kScalars) {
            for (const Operator op : kOperators) {
                if (is_bitwise(op) && is_float(element)) continue;
                if (element == Scalar::f64 && !device.caps.types.float64) continue;
                const ScanDesc desc{
                    .element = element, .op = op, .max_count = 1u << 20, .tier = Tier::barrier};
                const auto plan = plan_scan(device.caps, desc);
                EXPECT_TRUE(plan) << text(desc) << ": " << plan.error().message;
            }
        }
    }
}

// A forced tier that the device cannot run is refused with the name of what is missing.
TEST(ScanPlan, AnImpossibleTierNamesTheMissingBit) {
    const auto message = [](const char* device, Tier tier) {
        const auto plan = plan_scan(described(device), {.max_count = 1000, .tier = tier});
        EXPECT_FALSE(plan) << device;
        if (plan) return std::string();
        EXPECT_EQ(plan.error().code, ErrorCode::unsupported) << plan.error().message;
        return plan.error().message;
    };
    for (const Tier tier : {Tier::portable, Tier::pinned}) {
        SCOPED_TRACE(to_text(tier));
        EXPECT_TRUE(contains(message("none", tier), {"no subgroup", "basic"}))
            << message("none", tier);
        EXPECT_TRUE(contains(message("basic-only", tier), {"arithmetic", "shuffle", "ballot"}))
            << message("basic-only", tier);
        EXPECT_TRUE(contains(message("basic-ballot", tier), {"arithmetic", "shuffle"}))
            << message("basic-ballot", tier);
        EXPECT_TRUE(contains(message("no-compute-stage", tier), {"compute"}))
            << message("no-compute-stage", tier);
        EXPECT_TRUE(contains(message("webgpu-minimum", tier), {"no subgroup", "basic"}))
            << message("webgpu-minimum", tier);
    }
    EXPECT_TRUE(contains(message("apple-m2", Tier::pinned), {"require"}))
        << message("apple-m2", Tier::pinned);
}

// Each operation taken away from a capable device leads to a plan without it.
TEST(ScanPlan, EachMissingOperationIsNoticed) {
    const Caps whole = described("all");
    for (std::uint32_t bit = 1; bit <= SubgroupOperation::quad; bit <<= 1) {
        Caps caps = whole;
        caps.subgroup.operations &= ~bit;
        SCOPED_TRACE(operations_to_text(bit));
        for (const Operator op : {Operator::sum, Operator::argmin}) {
            for (const ScanStrategy strategy : kStrategies) {
                const ScanDesc desc{
                    .op = op, .max_count = 1u << 20, .policy = policy_with(strategy)};
                expect_plan_or_reason(caps, desc);
                for (const Tier tier : kTiers) {
                    ScanDesc forced = desc;
                    forced.tier = tier;
                    expect_plan_or_reason(caps, forced);
                }
            }
        }
    }
}

TEST(ScanPlan, AFailedProbeLeadsToTheBarrierTier) {
    Caps caps = described("nvidia");
    caps.probe = ProbeState::failed;
    caps.subgroup.operations = 0;
    const auto plan = plan_scan(caps, {.max_count = 1000});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->tier, Tier::barrier);
    EXPECT_TRUE(broken_rules(*plan, caps).empty());
}

// Sums of u32 can have every strategy in every tier on a device that has it all.
TEST(ScanPlan, StrategiesHaveTheirPasses) {
    using Names = std::vector<std::string>;
    for (const Tier tier : kTiers) {
        const auto plan_with = [&](ScanStrategy strategy) {
            const auto plan =
                plan_scan(described("nvidia"),
                          {.max_count = 1u << 20, .tier = tier, .policy = policy_with(strategy)});
            EXPECT_TRUE(plan) << plan.error().message;
            return plan.value_or(Plan{});
        };
        const Plan two = plan_with(ScanStrategy::reduce_then_scan);
        EXPECT_EQ(passes_of(two).front(), "scan_sums");
        EXPECT_EQ(passes_of(two).back(), "scan_tiles");
        EXPECT_EQ(two.state_bytes, 0u);
        EXPECT_TRUE(two.passes.back().waits) << "scan_tiles reads what scan_sums wrote";
        for (const ScanStrategy strategy : {ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
            const Plan plan = plan_with(strategy);
            EXPECT_EQ(passes_of(plan), (Names{"scan_lookback"}));
            EXPECT_GT(plan.state_bytes, 0u);
        }
        const Plan one = plan_with(ScanStrategy::one_workgroup);
        EXPECT_EQ(passes_of(one).size(), 1u);
        EXPECT_EQ(share_out(one.share, one.max_count).groups, 1u);
        EXPECT_EQ(one.state_bytes, 0u);
    }
}

// Each kernel finds out about kind, direction and the initial value in one way or another.
TEST(ScanPlan, KindDirectionAndInitialValueReachTheKernels) {
    const Caps caps = described("nvidia");
    for (const ScanStrategy strategy : kStrategies) {
        const ScanDesc desc{.max_count = 1u << 20, .policy = policy_with(strategy)};
        const auto plan = plan_scan(caps, desc);
        ASSERT_TRUE(plan);
        const auto changed = [&](auto change) {
            ScanDesc other = desc;
            change(other);
            const auto made = plan_scan(caps, other);
            ASSERT_TRUE(made) << made.error().message;
            EXPECT_NE(made->passes, plan->passes) << text(other);
        };
        changed([](ScanDesc& other) { other.kind = ScanKind::exclusive; });
        changed([](ScanDesc& other) { other.direction = Direction::reverse; });
        changed([](ScanDesc& other) { other.initial = 5; });
        changed([](ScanDesc& other) {
            other.accumulator = Scalar::u64;
            if (looks_back(other.policy->strategy))
                other.policy = policy_with(ScanStrategy::reduce_then_scan);
        });
        if (looks_back(strategy)) changed([](ScanDesc& other) { other.policy->silent_tile = 3; });
    }
    // The high word of a wide initial value as well as the low one.
    const ScanDesc wide{
        .accumulator = Scalar::u64, .initial = std::uint64_t{1} << 40, .max_count = 1000};
    ScanDesc other = wide;
    other.initial = std::uint64_t{1} << 41;
    EXPECT_NE(plan_scan(caps, wide)->passes, plan_scan(caps, other)->passes);
}

TEST(ScanPlan, FloatSumsThatMustRepeatDoNotWaitForOthers) {
    for (const DescribedDevice& device : described_devices()) {
        for (const Scalar element : {Scalar::f16, Scalar::f32, Scalar::f64}) {
            for (const Operator op : {Operator::sum, Operator::product}) {
                for (const std::uint64_t count :
                     {std::uint64_t{100}, std::uint64_t{1} << 20, std::uint64_t{1} << 24}) {
                    ScanDesc desc{.element = element, .op = op, .max_count = count};
                    // Which strategy is chosen: expect_plan_or_reason looks at it.
                    expect_plan_or_reason(device.caps, desc);
                    for (const Tier tier : kTiers)
                        EXPECT_FALSE(looks_back(scan_policy(device.caps, desc, tier).strategy));
                    for (const ScanStrategy strategy :
                         {ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
                        desc.policy = policy_with(strategy);
                        const auto plan = plan_scan(device.caps, desc);
                        ASSERT_FALSE(plan) << device.name << ": " << text(desc);
                        EXPECT_TRUE(plan.error().code == ErrorCode::bad_argument ||
                                    plan.error().code == ErrorCode::unsupported ||
                                    plan.error().code == ErrorCode::limit_exceeded);
                    }
                }
            }
        }
    }
    // The message says what would help.
    const auto plan =
        plan_scan(described("nvidia"), {.element = Scalar::f32,
                                        .max_count = 1000,
                                        .policy = policy_with(ScanStrategy::look_back)});
    ASSERT_FALSE(plan);
    EXPECT_TRUE(contains(plan.error().message, {"unordered", "order"})) << plan.error().message;
    // Extremes are the same in any order.
    EXPECT_TRUE(plan_scan(described("nvidia"), {.element = Scalar::f32,
                                                .op = Operator::max,
                                                .max_count = 1000,
                                                .policy = policy_with(ScanStrategy::look_back)}));
    EXPECT_TRUE(plan_scan(described("nvidia"), {.element = Scalar::f32,
                                                .max_count = 1000,
                                                .determinism = Determinism::unordered,
                                                .policy = policy_with(ScanStrategy::look_back)}));
}

// D5: devices of which it is not known that they let a waiting workgroup's predecessor run take no
// strategy that waits, unless they are asked to. (What is asked for ends even so.)
TEST(ScanPlan, WaitingIsNotTheDefaultOnUnknownDevices) {
    for (const char* name :
         {"apple-m2", "mali-g715", "adreno-740", "webgpu-minimum", "none", "size-128"}) {
        const Caps caps = described(name);
        for (const std::uint64_t count : {std::uint64_t{1000}, std::uint64_t{1} << 22}) {
            const auto plan = plan_scan(caps, {.max_count = count});
            ASSERT_TRUE(plan) << name << ": " << plan.error().message;
            EXPECT_FALSE(waits_for_others(*plan)) << name;
        }
    }
}

TEST(ScanPlan, ThePolicyOfThePlanIsThePolicyThatItWasGiven) {
    const Caps caps = described("nvidia");
    const ScanDesc desc{.max_count = 1u << 24};
    for (const Tier tier : kTiers) {
        ScanDesc forced = desc;
        forced.tier = tier;
        const auto plan = plan_scan(caps, forced);
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->policy, to_text(scan_policy(caps, desc, tier)));
        forced.policy = scan_policy(caps, desc, tier);
        const auto again = plan_scan(caps, forced);
        ASSERT_TRUE(again);
        EXPECT_EQ(*again, *plan);
    }
}

TEST(ScanPlan, ImpossiblePoliciesAreRefused) {
    const Caps caps = described("nvidia");
    for (const ScanStrategy strategy : kStrategies) {
        SCOPED_TRACE(to_text(strategy));
        ScanPolicy good = policy_with(strategy);
        good.workgroup_size = 128;
        good.vectors = 1;
        good.max_groups = 7;
        ASSERT_TRUE(plan_scan(caps, {.max_count = 1000, .policy = good}));
        const auto refused = [&](auto change) {
            ScanPolicy policy = good;
            change(policy);
            const auto plan = plan_scan(caps, {.max_count = 1000, .policy = policy});
            if (plan) return std::string();
            EXPECT_EQ(plan.error().code, ErrorCode::bad_argument) << plan.error().message;
            return plan.error().message;
        };
        for (const std::uint32_t size : {0u, 1u, 2u, 3u, 48u, 100u, 2048u, 0x80000000u, ~0u}) {
            EXPECT_NE(refused([&](ScanPolicy& policy) { policy.workgroup_size = size; }), "")
                << "W " << size;
        }
        for (const std::uint32_t vectors : {0u, 3u, 5u, 16u, 32u, ~0u}) {
            EXPECT_NE(refused([&](ScanPolicy& policy) { policy.vectors = vectors; }), "")
                << "vectors " << vectors;
        }
        EXPECT_NE(refused([&](ScanPolicy& policy) { policy.max_groups = 0; }), "");
        if (strategy == ScanStrategy::reduce_ahead) {
            EXPECT_NE(refused([&](ScanPolicy& policy) { policy.ahead = 0; }), "");
        }
        // The largest values that the type holds must not wrap into something small.
        if (looks_back(strategy)) {
            ScanPolicy policy = good;
            policy.patience = ~0u;
            expect_plan_or_reason(caps, {.max_count = 1u << 20, .policy = policy});
            policy.patience = 0;
            expect_plan_or_reason(caps, {.max_count = 1u << 20, .policy = policy});
            if (strategy == ScanStrategy::reduce_ahead) policy.ahead = ~0u;
            expect_plan_or_reason(caps, {.max_count = 1u << 20, .policy = policy});
        }
    }
}

TEST(ScanPlan, ImpossibleAccumulatorsAreRefused) {
    const Caps caps = described("all");
    for (const Scalar element : kScalars) {
        const auto allowed = accumulators(element);
        for (const Scalar accumulator : kScalars) {
            const ScanDesc desc{.element = element, .accumulator = accumulator, .max_count = 1000};
            const auto plan = plan_scan(caps, desc);
            const bool expected =
                std::find(allowed.begin(), allowed.end(), accumulator) != allowed.end();
            EXPECT_EQ(plan.has_value(), expected) << text(desc);
            if (!plan) {
                EXPECT_EQ(plan.error().code, ErrorCode::bad_argument);
                EXPECT_NE(plan.error().message.find(to_text(accumulator)), std::string::npos)
                    << plan.error().message;
            }
        }
    }
}

TEST(ScanPlan, ArgTakesTheDefaultAccumulatorAndNoInitialValue) {
    const Caps caps = described("all");
    for (const Scalar element : kScalars) {
        for (const Operator op : {Operator::argmin, Operator::argmax}) {
            for (const Scalar accumulator : accumulators(element)) {
                const ScanDesc desc{
                    .element = element, .op = op, .accumulator = accumulator, .max_count = 1000};
                EXPECT_EQ(plan_scan(caps, desc).has_value(),
                          accumulator == accumulators(element)[0])
                    << text(desc);
            }
            const auto plan =
                plan_scan(caps, {.element = element, .op = op, .initial = 0, .max_count = 1000});
            ASSERT_FALSE(plan) << to_text(element);
            EXPECT_EQ(plan.error().code, ErrorCode::bad_argument);
            EXPECT_TRUE(contains(plan.error().message, {"initial"})) << plan.error().message;
        }
    }
}

// Extremes are found among elements: an initial value must be one that an element can be.
TEST(ScanPlan, MinAndMaxTakeAnInitialValueOfTheElementsType) {
    const Caps caps = described("all");
    for (const Scalar element : kScalars) {
        for (const Scalar accumulator : accumulators(element)) {
            for (const Operator op : {Operator::min, Operator::max}) {
                const ScanDesc desc{.element = element,
                                    .op = op,
                                    .accumulator = accumulator,
                                    .initial = 1,
                                    .max_count = 1000};
                const auto plan = plan_scan(caps, desc);
                EXPECT_EQ(plan.has_value(), accumulator == element) << text(desc);
                if (plan) continue;
                EXPECT_EQ(plan.error().code, ErrorCode::bad_argument) << text(desc);
                EXPECT_TRUE(contains(plan.error().message, {"initial"})) << plan.error().message;
            }
        }
    }
}

// An initial value has the bits of the accumulator: more of them are an error, not cut off.
TEST(ScanPlan, InitialValuesOfTooManyBitsAreRefused) {
    const Caps caps = described("all");
    const std::uint64_t one = 1;
    for (const Scalar element :
         {Scalar::u8, Scalar::i16, Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32}) {
        EXPECT_TRUE(
            plan_scan(caps, {.element = element, .initial = 0xffffffff, .max_count = 1000}));
        const auto plan =
            plan_scan(caps, {.element = element, .initial = one << 32, .max_count = 1000});
        ASSERT_FALSE(plan) << to_text(element);
        EXPECT_EQ(plan.error().code, ErrorCode::bad_argument);
        EXPECT_TRUE(contains(plan.error().message, {"initial"})) << plan.error().message;
        EXPECT_TRUE(plan_scan(caps, {.element = element,
                                     .accumulator = wide_accumulator(element),
                                     .initial = ~std::uint64_t{0},
                                     .max_count = 1000}));
    }
}

TEST(ScanPlan, MissingTypesAreNamed) {
    const auto plan = plan_scan(described("none"), {.element = Scalar::f64, .max_count = 1000});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
    EXPECT_NE(plan.error().message.find("loat64"), std::string::npos) << plan.error().message;
}

// A9: input or output larger than a binding can be.
TEST(ScanPlan, BuffersAboveTheLargestBinding) {
    for (const bool large_output : {false, true}) {
        Caps caps = described("nvidia");
        caps.limits.max_storage_range = 1u << 20;
        const std::uint64_t count = (1u << 18) + 1;
        // Of u8 the output has four times the input's bytes.
        const ScanDesc desc{.element = large_output ? Scalar::u8 : Scalar::u32, .max_count = count};
        const auto by_address = plan_scan(caps, desc);
        ASSERT_TRUE(by_address) << by_address.error().message;
        EXPECT_EQ(by_address->addressing, Addressing::device_address);
        EXPECT_TRUE(broken_rules(*by_address, caps).empty());

        ScanDesc forced_desc = desc;
        forced_desc.addressing = Addressing::descriptor;
        const auto forced = plan_scan(caps, forced_desc);
        ASSERT_FALSE(forced);
        EXPECT_EQ(forced.error().code, ErrorCode::limit_exceeded);
        EXPECT_NE(forced.error().message.find("1048576"), std::string::npos)
            << forced.error().message;
        EXPECT_NE(forced.error().message.find("1048580"), std::string::npos)
            << forced.error().message;
        // Not "262145 items of u8 are 1048580 bytes": that is the output.
        if (large_output) {
            EXPECT_NE(forced.error().message.find("output"), std::string::npos)
                << forced.error().message;
        }

        caps.device_addresses = false;
        const auto refused = plan_scan(caps, desc);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, ErrorCode::limit_exceeded);
        ScanDesc smaller = desc;
        --smaller.max_count;
        const auto fits = plan_scan(caps, smaller);
        EXPECT_TRUE(fits) << fits.error().message;
    }
}

TEST(ScanPlan, DeviceAddressesCannotBeForcedWhereTheyAreMissing) {
    const auto plan =
        plan_scan(described("none"), {.max_count = 10, .addressing = Addressing::device_address});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
    EXPECT_NE(plan.error().message.find("address"), std::string::npos) << plan.error().message;
}

// A6, A7, A8, E1: sizes that do not fit 32 bits, signed or not, end in a right plan or a clean
// refusal.
TEST(ScanPlan, HugeCounts) {
    const std::uint64_t one = 1;
    const std::uint64_t counts[] = {
        (one << 31) - 1, one << 31, (one << 31) + 1, (one << 32) - 1, one << 32, (one << 32) + 7,
        4333734380,      one << 36, one << 40,       one << 48,       one << 62, ~std::uint64_t{0}};
    for (const char* name : {"nvidia", "all", "webgpu-minimum", "apple-m2"}) {
        const Caps caps = described(name);
        SCOPED_TRACE(name);
        for (const Scalar element : {Scalar::u8, Scalar::u32, Scalar::u64}) {
            for (const Operator op : {Operator::sum, Operator::argmax}) {
                for (std::size_t s = 0; s <= std::size(kStrategies); ++s) {
                    std::uint64_t scratch_before = 0, state_before = 0;
                    for (const std::uint64_t count : counts) {
                        ScanDesc desc{.element = element, .op = op, .max_count = count};
                        if (s < std::size(kStrategies)) desc.policy = policy_with(kStrategies[s]);
                        if (!expect_plan_or_reason(caps, desc)) continue;
                        const Plan plan = *plan_scan(caps, desc);
                        const Argument* scratch = plan.argument(Role::scratch);
                        const std::uint64_t scratch_bytes = scratch != nullptr ? scratch->bytes : 0;
                        if (desc.policy) {
                            EXPECT_GE(scratch_bytes, scratch_before) << text(desc);
                            EXPECT_GE(plan.state_bytes, state_before) << text(desc);
                        }
                        EXPECT_LT(scratch_bytes, one << 36) << text(desc);
                        scratch_before = scratch_bytes;
                        state_before = plan.state_bytes;
                    }
                }
            }
        }
    }
    // Where addresses are 64 bits wide, 2^40 bytes are no reason to refuse.
    EXPECT_TRUE(plan_scan(described("nvidia"), {.element = Scalar::u8, .max_count = one << 38}));
    // Too many tiles for 32 bits must be refused, not wrapped.
    for (const ScanStrategy strategy : kStrategies) {
        ScanPolicy tiny = policy_with(strategy);
        tiny.workgroup_size = 4;
        tiny.vectors = 1;
        tiny.max_groups = 7;
        expect_plan_or_reason(described("nvidia"),
                              {.element = Scalar::u64, .max_count = one << 44, .policy = tiny});
    }
}

// E1: scratch never shrinks as the count grows.
TEST(ScanPlan, ScratchGrowsWithTheCount) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        std::vector<std::optional<ScanPolicy>> policies{std::nullopt};
        for (const ScanStrategy strategy : kStrategies) {
            ScanPolicy policy = policy_with(strategy);
            policy.workgroup_size = 16;
            policy.vectors = 1;
            policy.max_groups = 7;
            policies.push_back(policy);
        }
        for (const auto& policy : policies) {
            std::uint64_t before = 0, state_before = 0;
            const auto next = [&](std::uint64_t count) {
                const auto plan = plan_scan(
                    device.caps, {.max_count = count, .tier = Tier::barrier, .policy = policy});
                if (!plan) {
                    EXPECT_TRUE(plan.error().code == ErrorCode::limit_exceeded ||
                                (policy && looks_back(policy->strategy) &&
                                 plan.error().code == ErrorCode::unsupported))
                        << count << ": " << plan.error().message;
                    return;
                }
                const Argument* scratch = plan->argument(Role::scratch);
                const std::uint64_t bytes = scratch != nullptr ? scratch->bytes : 0;
                ASSERT_GE(bytes, before) << count << ' ' << plan->policy;
                before = bytes;
                if (!policy) return;
                ASSERT_GE(plan->state_bytes, state_before) << count << ' ' << plan->policy;
                state_before = plan->state_bytes;
            };
            for (std::uint64_t count = 0; count <= 5000; count += count < 700 ? 1 : 7) next(count);
            for (std::uint64_t count = 8192; count <= std::uint64_t{1} << 40; count *= 2) {
                next(count - 1);
                next(count);
                next(count + 1);
            }
        }
    }
}

TEST(ScanPlan, ZeroItemsHaveAPlan) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const Operator op : kOperators) {
            EXPECT_TRUE(expect_plan_or_reason(device.caps, {.op = op, .max_count = 0}));
        }
    }
}

// A3, A5: limits that are lower than the policy, and limits that lie in between powers of two.
TEST(ScanPlan, FakeLimits) {
    for (const std::uint32_t invocations : {128u, 256u, 768u, 1024u}) {
        for (const std::uint32_t memory : {512u, 2048u, 8192u, 16384u, 32768u}) {
            for (const std::uint32_t groups : {1u, 7u, 65535u, 0x7fffffffu, ~0u}) {
                Caps caps = described("all");
                caps.limits.max_workgroup_invocations = invocations;
                caps.limits.max_workgroup_size_x = invocations;
                caps.limits.max_workgroup_memory = memory;
                caps.limits.max_groups_x = groups;
                SCOPED_TRACE(
                    fmt::format("invocations {} memory {} groups {}", invocations, memory, groups));
                for (const Tier tier : kTiers) {
                    for (const Operator op : {Operator::sum, Operator::argmin}) {
                        for (const Scalar element : {Scalar::u32, Scalar::i64}) {
                            const ScanDesc desc{
                                .element = element, .op = op, .max_count = 1u << 24, .tier = tier};
                            const bool planned = expect_plan_or_reason(caps, desc);
                            // 512 bytes are below what any API guarantees; 16 KiB are what they all
                            // do.
                            EXPECT_TRUE(planned || memory < 16384) << text(desc);
                        }
                    }
                }
                // A policy that does not fit is refused or fitted, never planned as it is.
                for (const ScanStrategy strategy : kStrategies) {
                    ScanPolicy large = policy_with(strategy);
                    large.workgroup_size = 1024;
                    expect_plan_or_reason(caps, {.max_count = 1u << 24, .policy = large});
                }
            }
        }
    }
    // Size per dimension below the total.
    Caps caps = described("all");
    caps.limits.max_workgroup_size_x = 64;
    EXPECT_TRUE(expect_plan_or_reason(caps, {.max_count = 1u << 20}));
    // Fewer buffers than the WebGPU compatibility mode has.
    for (const std::uint32_t buffers : {1u, 2u, 3u, 4u}) {
        caps = described("none");
        caps.limits.max_storage_buffers = buffers;
        const bool planned = expect_plan_or_reason(caps, {.max_count = 1u << 20});
        EXPECT_TRUE(planned || buffers < 4);
    }
}

TEST(ScanPlan, LoweredGroupLimitStillCoversEverything) {
    Caps caps = described("all");
    caps.limits.max_groups_x = 7;
    for (const ScanStrategy strategy : kStrategies) {
        ScanPolicy policy = policy_with(strategy);
        policy.workgroup_size = 32;
        policy.vectors = 1;
        for (const Tier tier : kTiers) {
            // Those that wait for nobody take several tiles for each workgroup; the others would
            // take more dispatches than a plan may have, which is an error of its own.
            for (const std::uint64_t count : {7 * 128 + 1, 1000 * 128 + 1, 65535 * 128 + 1}) {
                if (looks_back(strategy) && count > 1000000) {
                    const auto plan =
                        plan_scan(caps, {.max_count = count, .tier = tier, .policy = policy});
                    ASSERT_FALSE(plan);
                    EXPECT_EQ(plan.error().code, ErrorCode::limit_exceeded);
                    EXPECT_TRUE(contains(plan.error().message, {"dispatches"}))
                        << plan.error().message;
                    continue;
                }
                const ScanDesc desc{.max_count = count, .tier = tier, .policy = policy};
                EXPECT_TRUE(expect_plan_or_reason(caps, desc)) << text(desc);
                const auto plan = plan_scan(caps, desc);
                ASSERT_TRUE(plan) << plan.error().message;
                EXPECT_LE(plan->share.max_groups, 7u);
            }
        }
    }
}

// C5, C12: sizes 4 to 128 against workgroups 32 to 1024.
TEST(ScanPlan, EverySubgroupSizeWithEveryWorkgroupSize) {
    for (std::uint32_t size = 4; size <= 128; size *= 2) {
        for (std::uint32_t workgroup = 32; workgroup <= 1024; workgroup *= 2) {
            for (const std::uint32_t subgroups : {8u, 32u, 256u, ~0u}) {
                Caps caps = described("all");
                caps.subgroup.size = caps.subgroup.min_size = caps.subgroup.max_size = size;
                caps.subgroup.max_workgroup_subgroups = subgroups;
                for (const Tier tier : kTiers) {
                    for (const ScanStrategy strategy : kStrategies) {
                        ScanDesc desc{.op = subgroups % 64 == 32 && !looks_back(strategy)
                                                ? Operator::argmax
                                                : Operator::sum,
                                      .max_count = 100000,
                                      .tier = tier,
                                      .policy = policy_with(strategy)};
                        desc.policy->workgroup_size = workgroup;
                        desc.policy->vectors = 2;
                        SCOPED_TRACE(
                            fmt::format("S {} W {} subgroups {}", size, workgroup, subgroups));
                        const bool planned = expect_plan_or_reason(caps, desc);
                        const bool possible = tier != Tier::pinned ||
                                              (workgroup >= size && workgroup / size <= subgroups);
                        EXPECT_TRUE(planned || !possible) << text(desc);
                    }
                }
                // Without a forced tier or policy there is always a way.
                EXPECT_TRUE(expect_plan_or_reason(caps, {.max_count = 100000}));
            }
        }
    }
}

// C2, C12: where the size is only known in the shader, room for the smallest legal one.
TEST(ScanPlan, PortablePlansHaveRoomForTheSmallestSubgroups) {
    for (const char* name : {"adreno-740", "nvidia", "all", "intel-xe"}) {
        for (const std::uint32_t workgroup : {64u, 256u, 1024u}) {
            for (const ScanStrategy strategy : kStrategies) {
                ScanPolicy policy = policy_with(strategy);
                policy.workgroup_size = workgroup;
                const auto plan =
                    plan_scan(described(name),
                              {.max_count = 1u << 20, .tier = Tier::portable, .policy = policy});
                ASSERT_TRUE(plan) << name << ": " << plan.error().message;
                for (const Pass& pass : plan->passes) {
                    if (pass.form != Form::subgroup) continue;
                    EXPECT_GE(pass.workgroup_memory, pass.workgroup_size / 4 * 4)
                        << name << ' ' << pass.name;
                }
            }
        }
    }
}

TEST(ScanPlan, PlansOfEqualRequestsAreEqual) {
    for (const DescribedDevice& device : described_devices()) {
        const auto first = plan_scan(device.caps, {.max_count = 12345});
        const auto second = plan_scan(device.caps, {.max_count = 12345});
        ASSERT_TRUE(first) << device.name;
        EXPECT_EQ(*first, *second);
        EXPECT_EQ(to_text(*first), to_text(*second));
    }
}

TEST(ScanPlan, JsonHasTheFactsOfThePlan) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        const auto plan = plan_scan(device.caps, {.max_count = 1u << 20});
        ASSERT_TRUE(plan);
        const auto json = nlohmann::json::parse(plan_to_json(*plan), nullptr, false);
        ASSERT_TRUE(json.is_object());
        EXPECT_EQ(json.value("primitive", ""), "scan");
        EXPECT_EQ(json.value("result_bytes", 0u), 4u);
        EXPECT_EQ(json.value("in_place", false), plan->in_place);
        ASSERT_TRUE(json.contains("passes"));
        ASSERT_EQ(json["passes"].size(), plan->passes.size());
    }
}

RC_GTEST_PROP(ScanPlan, AnyRequestHasAPlanOrAReason, ()) {
    const auto& devices = described_devices();
    Caps caps = devices[*rc::gen::inRange<std::size_t>(0, devices.size())].caps;
    const auto maybe = [](auto&& change) {
        if (*rc::gen::inRange(0, 4) == 0) change();
    };
    maybe([&] { caps.subgroup.operations = *rc::gen::inRange(0u, 256u); });
    maybe([&] { caps.subgroup.stages = *rc::gen::inRange(0u, 256u); });
    maybe([&] { caps.subgroup.max_workgroup_subgroups = *rc::gen::inRange(0u, 70u); });
    maybe([&] { caps.subgroup.full_subgroups = !caps.subgroup.full_subgroups; });
    maybe([&] { caps.subgroup.size_is_true = !caps.subgroup.size_is_true; });
    maybe([&] { caps.device_scope_barrier = !caps.device_scope_barrier; });
    maybe([&] { caps.int64_atomics = !caps.int64_atomics; });
    maybe([&] { caps.device_addresses = !caps.device_addresses; });
    maybe([&] { caps.types.float64 = !caps.types.float64; });
    maybe([&] { caps.limits.max_groups_x = *rc::gen::inRange(1u, 20u); });
    maybe([&] { caps.limits.max_workgroup_invocations = *rc::gen::inRange(1u, 1100u); });
    maybe([&] { caps.limits.max_workgroup_memory = *rc::gen::inRange(0u, 5000u); });
    maybe([&] { caps.limits.max_storage_buffers = *rc::gen::inRange(1u, 8u); });
    maybe([&] {
        caps.limits.max_storage_range = *rc::gen::inRange<std::uint64_t>(1u << 20, 1u << 27);
    });
    if (caps.api == Api::webgpu) {  // which has none of these, whatever the device
        caps.subgroup.full_subgroups = false;
        caps.device_scope_barrier = false;
        caps.int64_atomics = false;
        caps.device_addresses = false;
    }
    ScanDesc desc;
    desc.element =
        *rc::gen::elementOf(std::vector<Scalar>(std::begin(kScalars), std::end(kScalars)));
    desc.op =
        *rc::gen::elementOf(std::vector<Operator>(std::begin(kOperators), std::end(kOperators)));
    desc.kind = *rc::gen::element(ScanKind::inclusive, ScanKind::exclusive);
    desc.direction = *rc::gen::element(Direction::forward, Direction::reverse);
    desc.determinism = *rc::gen::element(Determinism::run_to_run, Determinism::unordered);
    desc.max_count = *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 100000),
                                     rc::gen::arbitrary<std::uint64_t>());
    maybe([&] { desc.accumulator = wide_accumulator(desc.element); });
    maybe([&] { desc.initial = *rc::gen::arbitrary<std::uint32_t>(); });
    maybe([&] { desc.tier = *rc::gen::element(Tier::pinned, Tier::portable, Tier::barrier); });
    maybe([&] {
        desc.addressing = *rc::gen::element(Addressing::descriptor, Addressing::device_address);
    });
    maybe([&] {
        desc.policy = ScanPolicy{.strategy = *rc::gen::elementOf(std::vector<ScanStrategy>(
                                     std::begin(kStrategies), std::end(kStrategies))),
                                 .workgroup_size = 1u << *rc::gen::inRange(2, 11),
                                 .vectors = 1u << *rc::gen::inRange(0, 4),
                                 .max_groups = *rc::gen::inRange(1u, 3000u),
                                 .ahead = *rc::gen::inRange(1u, 100u),
                                 .patience = *rc::gen::arbitrary<std::uint32_t>(),
                                 .silent_tile = *rc::gen::arbitrary<std::uint32_t>()};
    });
    const auto plan = plan_scan(caps, desc);
    if (!plan) {
        RC_ASSERT(!plan.error().message.empty());
        return;
    }
    const auto broken = broken_rules(*plan, caps);
    if (!broken.empty()) RC_FAIL(text(desc) + ": " + broken[0] + "\n" + to_text(*plan));
    RC_ASSERT(bytes_needed(*plan, Role::output, desc.max_count) ==
              desc.max_count * scan_result_bytes(desc));
}

}  // namespace
}  // namespace lanewise::test
