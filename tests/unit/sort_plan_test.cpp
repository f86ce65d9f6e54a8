// plan_sort on described devices.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/sort.hpp"
#include "tests/unit/described_devices.hpp"
#include "tests/unit/plan_rules.hpp"

namespace lanewise::test {
namespace {

constexpr Scalar kKeys[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                            Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                            Scalar::u64, Scalar::i64, Scalar::f64};
constexpr Tier kTiers[] = {Tier::pinned, Tier::portable, Tier::barrier};
constexpr Addressing kAddressings[] = {Addressing::descriptor, Addressing::device_address};
constexpr SortStrategy kStrategies[] = {SortStrategy::one_workgroup,
                                        SortStrategy::count_then_scatter, SortStrategy::look_back,
                                        SortStrategy::bitonic};
// Those of one workgroup, which sort one tile.
bool is_alone(SortStrategy strategy) {
    return strategy == SortStrategy::one_workgroup || strategy == SortStrategy::bitonic;
}
constexpr SortOrder kOrders[] = {SortOrder::ascending, SortOrder::descending};
// Bytes of a value; 1 stands for argsort.
constexpr std::uint32_t kValues[] = {0, 4, 8, 12, 16, 1};
constexpr std::uint32_t kArgsort = 1;

// Of 4 bits, for every tier.
SortPolicy policy_with(SortStrategy strategy) {
    return {.strategy = strategy, .workgroup_size = 128, .items = 4, .digit_bits = 4};
}

SortDesc with_values(SortDesc desc, std::uint32_t values) {
    desc.argsort = values == kArgsort;
    desc.value_bytes = desc.argsort ? 0 : values;
    return desc;
}

std::string text(const SortDesc& desc) {
    return fmt::format("{} {}{}, bits {} to {}{}, {} items, tier {}, {}, policy {}",
                       to_text(desc.key), to_text(desc.order),
                       desc.argsort ? " indices" : fmt::format(" with {} bytes", desc.value_bytes),
                       desc.begin_bit, desc.end_bit ? std::to_string(*desc.end_bit) : "the end",
                       desc.ping_pong ? ", ping-pong" : "", desc.max_count,
                       desc.tier ? to_text(*desc.tier) : "auto",
                       desc.addressing ? to_text(*desc.addressing) : "auto",
                       desc.policy ? to_text(*desc.policy) : "auto");
}

std::vector<std::string> passes_of(const Plan& plan) {
    std::vector<std::string> names;
    for (const Pass& pass : plan.passes) {
        if (pass.when == When::always) names.push_back(pass.name);
    }
    return names;
}
bool waits_for_others(const Plan& plan) {
    return std::ranges::count(passes_of(plan), "sort_lookback") != 0;
}

bool contains(const std::string& text, std::initializer_list<const char*> words) {
    return std::any_of(words.begin(), words.end(),
                       [&](const char* word) { return text.find(word) != std::string::npos; });
}

std::uint64_t scratch_of(const Plan& plan) {
    const Argument* scratch = plan.argument(Role::scratch);
    return scratch != nullptr ? scratch->bytes : 0;
}

// Keys alone take three buffers at a time, records five. Vulkan promises four.
bool has_buffers_for(const Caps& caps, const SortDesc& desc) {
    const std::uint32_t most = desc.argsort || desc.value_bytes != 0 ? 5 : 3;
    return caps.device_addresses || caps.limits.max_storage_buffers >= most;
}

// The error of a request that cannot be, with these words in its one line.
void expect_refused(const Caps& caps, const SortDesc& desc, ErrorCode code,
                    std::initializer_list<const char*> words) {
    const auto plan = plan_sort(caps, desc);
    ASSERT_FALSE(plan) << text(desc) << "\n" << to_text(*plan);
    EXPECT_EQ(plan.error().code, code) << text(desc) << ": " << plan.error().message;
    EXPECT_EQ(plan.error().message.find('\n'), std::string::npos) << plan.error().message;
    for (const char* word : words) {
        EXPECT_NE(plan.error().message.find(word), std::string::npos)
            << text(desc) << ": no '" << word << "' in: " << plan.error().message;
    }
}

// A plan that keeps to all rules, or a refusal that says why. True where there is a plan.
bool expect_plan_or_reason(const Caps& caps, const SortDesc& desc) {
    const auto plan = plan_sort(caps, desc);
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
    EXPECT_EQ(plan->primitive, "sort");
    EXPECT_EQ(plan->max_count, desc.max_count);
    EXPECT_EQ(plan->element_bytes, size_of(desc.key));
    EXPECT_EQ(plan->value_bytes, desc.argsort ? 4 : desc.value_bytes);
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier))
        << "a forced tier never falls back in silence";
    EXPECT_EQ(plan->addressing, desc.addressing.value_or(plan->addressing));
    EXPECT_EQ(plan->policy, desc.policy ? to_text(*desc.policy) : plan->policy);
    EXPECT_FALSE(plan->in_place);
    // The buffers that the header names, each with the access that it promises.
    const auto access_of = [&](Role role) -> std::optional<Access> {
        const Argument* argument = plan->argument(role);
        if (argument == nullptr) return std::nullopt;
        return argument->access;
    };
    const bool pairs = desc.value_bytes != 0;
    EXPECT_EQ(access_of(Role::output).has_value(), !desc.argsort) << text(desc);
    EXPECT_EQ(access_of(Role::values).has_value(), pairs) << text(desc);
    EXPECT_EQ(access_of(Role::values_out).has_value(), pairs || desc.argsort) << text(desc);
    if (!desc.ping_pong) {
        EXPECT_EQ(access_of(Role::input), Access::read) << text(desc);
        if (pairs) {
            EXPECT_EQ(access_of(Role::values), Access::read) << text(desc);
        }
        EXPECT_EQ(plan->result, Role::output) << text(desc);
    }
    return true;
}

TEST(SortTypes, Names) {
    for (const SortStrategy strategy : kStrategies)
        EXPECT_EQ(sort_strategy_from_text(to_text(strategy)), strategy);
    EXPECT_FALSE(sort_strategy_from_text("reduce_then_scan"));
    EXPECT_STREQ(to_text(SortStrategy::count_then_scatter), "count_then_scatter");
    EXPECT_STREQ(to_text(SortOrder::descending), "descending");
    EXPECT_STREQ(to_text(SortOrder::ascending), "ascending");
    // Two policies that differ print differently, whatever it is that differs.
    const SortPolicy policy = policy_with(SortStrategy::look_back);
    const auto changed = [&](auto change) {
        SortPolicy other = policy;
        change(other);
        EXPECT_NE(other, policy);
        EXPECT_NE(to_text(other), to_text(policy));
    };
    changed([](SortPolicy& other) { other.strategy = SortStrategy::one_workgroup; });
    changed([](SortPolicy& other) { other.workgroup_size = 64; });
    changed([](SortPolicy& other) { other.items = 1; });
    changed([](SortPolicy& other) { other.digit_bits = 3; });
    changed([](SortPolicy& other) { other.max_groups = 7; });
    changed([](SortPolicy& other) { other.patience = 3; });
    changed([](SortPolicy& other) { other.silent_tile = 3; });
}

// E2 and C5: whatever is asked of whatever device, the plan keeps to what the device has, or is
// refused with a reason.
TEST(SortPlan, EveryRequestOnEveryDevice) {
    std::size_t turn = 0;
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        int plans = 0;
        for (const Scalar key : kKeys) {
            for (const std::uint32_t values : kValues) {
                for (const Tier tier : kTiers) {
                    for (const Addressing addressing : kAddressings) {
                        // The rest takes turns.
                        const std::size_t form = turn++;
                        SortDesc desc{.key = key,
                                      .order = kOrders[form % 2],
                                      .max_count = form % 3 == 0 ? std::uint64_t{300}
                                                                 : std::uint64_t{1} << 22,
                                      .tier = tier,
                                      .addressing = addressing};
                        desc = with_values(desc, values);
                        if (form % 4 == 0) desc.end_bit = size_of(key) * 8 / 2;
                        if (form % 5 == 0) desc.policy = policy_with(kStrategies[form / 5 % 4]);
                        if (form % 7 == 0) desc.ping_pong = size_of(key) >= 4 && !desc.argsort;
                        plans += expect_plan_or_reason(device.caps, desc) ? 1 : 0;
                    }
                }
            }
        }
        EXPECT_GT(plans, 0) << "the device can do nothing";
        if (::testing::Test::HasFailure()) return;
    }
}

// The other side of E2: what the device has is used.
TEST(SortPlan, DevicesTakeTheTierThatTheyCan) {
    const std::pair<const char*, Tier> rows[] = {
        {"apple-m2", Tier::portable},  // a size cannot be required
        {"mali-g715", Tier::pinned},
        {"adreno-740", Tier::pinned},
        {"intel-xe", Tier::pinned},
        {"amd-rdna", Tier::pinned},
        {"nvidia", Tier::pinned},
        {"all", Tier::pinned},
        {"size-128", Tier::pinned},
        {"webgpu-minimum", Tier::barrier},
        {"none", Tier::barrier},
        {"basic-only", Tier::barrier},
        {"no-compute-stage", Tier::barrier},
    };
    for (const auto& [name, tier] : rows) {
        SCOPED_TRACE(name);
        const auto plan = plan_sort(described(name), {.max_count = 1u << 20});
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(plan->tier, tier) << plan->reason;
    }
}

TEST(SortPlan, ACapableDeviceRunsEverythingInEveryTier) {
    const Caps caps = described("all");
    for (const Scalar key : kKeys) {
        for (const std::uint32_t values : kValues) {
            for (const SortOrder order : kOrders) {
                for (const Tier tier : kTiers) {
                    for (const Addressing addressing : kAddressings) {
                        for (const SortStrategy strategy : kStrategies) {
                            for (const bool ping_pong : {false, true}) {
                                if (ping_pong && (size_of(key) < 4 || values == kArgsort)) continue;
                                const SortDesc desc =
                                    with_values({.key = key,
                                                 .order = order,
                                                 .ping_pong = ping_pong,
                                                 .max_count = is_alone(strategy) ? 512u : 100000u,
                                                 .tier = tier,
                                                 .addressing = addressing,
                                                 .policy = policy_with(strategy)},
                                                values);
                                const auto plan = plan_sort(caps, desc);
                                ASSERT_TRUE(plan) << text(desc) << ": " << plan.error().message;
                            }
                        }
                    }
                }
            }
        }
    }
}

// Keys are words: not even f64 needs a feature.
TEST(SortPlan, TheBarrierTierRunsEverywhere) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const Scalar key : kKeys) {
            for (const std::uint32_t values : kValues) {
                const SortDesc desc =
                    with_values({.key = key, .max_count = 1u << 20, .tier = Tier::barrier}, values);
                if (has_buffers_for(device.caps, desc)) {
                    EXPECT_TRUE(expect_plan_or_reason(device.caps, desc)) << text(desc);
                } else {
                    expect_refused(device.caps, desc, ErrorCode::limit_exceeded,
                                   {"max_storage_buffers", "5"});
                }
            }
        }
    }
}

// A forced tier that the device cannot run is refused with the name of what is missing.
TEST(SortPlan, AnImpossibleTierNamesTheMissingBit) {
    const auto message = [](const char* device, Tier tier) {
        const auto plan = plan_sort(described(device), {.max_count = 1000, .tier = tier});
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
        EXPECT_TRUE(contains(message("no-compute-stage", tier), {"compute"}))
            << message("no-compute-stage", tier);
        EXPECT_TRUE(contains(message("webgpu-minimum", tier), {"no subgroup", "basic"}))
            << message("webgpu-minimum", tier);
    }
    EXPECT_TRUE(contains(message("apple-m2", Tier::pinned), {"require"}))
        << message("apple-m2", Tier::pinned);
}

// Each operation taken away from a capable device leads to a plan without it.
TEST(SortPlan, EachMissingOperationIsNoticed) {
    const Caps whole = described("all");
    for (std::uint32_t bit = 1; bit <= SubgroupOperation::quad; bit <<= 1) {
        Caps caps = whole;
        caps.subgroup.operations &= ~bit;
        SCOPED_TRACE(operations_to_text(bit));
        for (const SortStrategy strategy : kStrategies) {
            SortDesc desc{.value_bytes = 4, .max_count = 500, .policy = policy_with(strategy)};
            EXPECT_TRUE(expect_plan_or_reason(caps, desc));
            for (const Tier tier : kTiers) {
                desc.tier = tier;
                expect_plan_or_reason(caps, desc);
            }
        }
    }
}

TEST(SortPlan, AFailedProbeLeadsToTheBarrierTier) {
    Caps caps = described("nvidia");
    caps.probe = ProbeState::failed;
    caps.subgroup.operations = 0;
    const auto plan = plan_sort(caps, {.max_count = 1000});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->tier, Tier::barrier);
    EXPECT_TRUE(broken_rules(*plan, caps).empty());
}

TEST(SortPlan, StrategiesHaveTheirPasses) {
    for (const Tier tier : kTiers) {
        SCOPED_TRACE(to_text(tier));
        for (const std::uint32_t bits : {32u, 30u, 4u, 5u, 1u}) {
            const std::uint32_t digits = (bits + 3) / 4;
            const auto names_with = [&](SortStrategy strategy) {
                const auto plan = plan_sort(described("nvidia"),
                                            {.value_bytes = 4,
                                             .end_bit = bits,
                                             .max_count = is_alone(strategy) ? 500u : 1u << 20,
                                             .tier = tier,
                                             .policy = policy_with(strategy)});
                EXPECT_TRUE(plan) << plan.error().message;
                return plan ? passes_of(*plan) : std::vector<std::string>();
            };
            EXPECT_EQ(names_with(SortStrategy::one_workgroup),
                      (std::vector<std::string>{"sort_workgroup"}));
            EXPECT_EQ(names_with(SortStrategy::bitonic),
                      (std::vector<std::string>{"sort_bitonic"}));
            const auto three = names_with(SortStrategy::count_then_scatter);
            for (const char* name : {"sort_counts", "sort_offsets", "sort_scatter"})
                EXPECT_EQ(std::ranges::count(three, name), digits) << name;
            const auto ahead = names_with(SortStrategy::look_back);
            EXPECT_EQ(std::ranges::count(ahead, "sort_histograms"), 1);
            EXPECT_EQ(std::ranges::count(ahead, "sort_bases"), 1);
            EXPECT_EQ(std::ranges::count(ahead, "sort_lookback"), digits);
        }
    }
}

// Each pass of a digit reads what the one before it wrote.
TEST(SortPlan, PassesWaitForEachOther) {
    for (const SortStrategy strategy :
         {SortStrategy::count_then_scatter, SortStrategy::look_back}) {
        const auto plan = plan_sort(described("nvidia"),
                                    {.max_count = 1u << 20, .policy = policy_with(strategy)});
        ASSERT_TRUE(plan) << plan.error().message;
        bool is_first = true;
        for (const Pass& pass : plan->passes) {
            if (pass.when != When::always) continue;
            EXPECT_TRUE(is_first || pass.waits) << pass.name;
            is_first = false;
        }
    }
}

// Each kernel finds out about the request in one way or another.
TEST(SortPlan, TheRequestReachesTheKernels) {
    const Caps caps = described("nvidia");
    for (const SortStrategy strategy : kStrategies) {
        const SortDesc desc{.value_bytes = 4, .max_count = 500, .policy = policy_with(strategy)};
        const auto plan = plan_sort(caps, desc);
        ASSERT_TRUE(plan) << plan.error().message;
        const auto changed = [&](auto change) {
            SortDesc other = desc;
            change(other);
            const auto made = plan_sort(caps, other);
            ASSERT_TRUE(made) << made.error().message;
            EXPECT_NE(made->passes, plan->passes) << text(other);
        };
        changed([](SortDesc& other) { other.order = SortOrder::descending; });
        changed([](SortDesc& other) { other.key = Scalar::f32; });
        changed([](SortDesc& other) { other.key = Scalar::i32; });
        changed([](SortDesc& other) { other.key = Scalar::u16; });
        changed([](SortDesc& other) { other.value_bytes = 8; });
        changed([](SortDesc& other) { other.begin_bit = 4; });
        changed([](SortDesc& other) { other.end_bit = 31; });
        changed([](SortDesc& other) { other = with_values(other, kArgsort); });
        if (strategy == SortStrategy::look_back)
            changed([](SortDesc& other) { other.policy->silent_tile = 3; });
    }
}

// D5: devices of which it is not known that they let a waiting workgroup's predecessor run take no
// strategy that waits, unless they are asked to. (What is asked for ends even so.)
TEST(SortPlan, WaitingIsNotTheDefaultOnUnknownDevices) {
    for (const char* name :
         {"apple-m2", "mali-g715", "adreno-740", "webgpu-minimum", "none", "size-128"}) {
        const Caps caps = described(name);
        for (const std::uint64_t count : {std::uint64_t{1000}, std::uint64_t{1} << 22}) {
            const auto plan = plan_sort(caps, {.max_count = count});
            ASSERT_TRUE(plan) << name << ": " << plan.error().message;
            EXPECT_FALSE(waits_for_others(*plan)) << name;
        }
    }
}

TEST(SortPlan, ThePolicyOfThePlanIsThePolicyThatItWasGiven) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const std::uint64_t count : {std::uint64_t{100}, std::uint64_t{1} << 22}) {
            for (const Tier tier : kTiers) {
                SortDesc desc{.max_count = count};
                const SortPolicy policy = sort_policy(device.caps, desc, tier);
                desc.tier = tier;
                const auto plan = plan_sort(device.caps, desc);
                if (!plan) continue;
                EXPECT_LE(policy.digit_bits, tier == Tier::barrier ? 4u : 8u);
                EXPECT_EQ(plan->policy, to_text(policy));
                desc.policy = policy;
                const auto again = plan_sort(device.caps, desc);
                ASSERT_TRUE(again) << again.error().message;
                EXPECT_EQ(*again, *plan);
            }
        }
    }
}

TEST(SortPlan, ImpossiblePoliciesAreRefused) {
    const Caps caps = described("nvidia");
    for (const SortStrategy strategy : kStrategies) {
        SCOPED_TRACE(to_text(strategy));
        const SortPolicy good = policy_with(strategy);
        ASSERT_TRUE(plan_sort(caps, {.max_count = 500, .policy = good}));
        const auto refused = [&](auto change, std::initializer_list<const char*> words) {
            SortPolicy policy = good;
            change(policy);
            expect_refused(caps, {.max_count = 500, .policy = policy}, ErrorCode::bad_argument,
                           words);
        };
        for (const std::uint32_t size : {0u, 1u, 2u, 3u, 48u, 100u, 2048u, 0x80000000u, ~0u}) {
            refused([&](SortPolicy& policy) { policy.workgroup_size = size; },
                    {"workgroup", std::to_string(size).c_str()});
        }
        for (const std::uint32_t items : {0u, 33u, 64u, ~0u}) {
            refused([&](SortPolicy& policy) { policy.items = items; },
                    {"items", std::to_string(items).c_str()});
        }
        const bool bitonic = strategy == SortStrategy::bitonic;
        if (bitonic) {
            for (const std::uint32_t items : {1u, 3u, 12u, 31u}) {
                refused([&](SortPolicy& policy) { policy.items = items; },
                        {"items", "bitonic", "power of two", std::to_string(items).c_str()});
            }
        }
        for (const std::uint32_t bits : {0u, 9u, 32u, ~0u}) {
            if (bitonic) {  // which has no digits
                SortPolicy policy = good;
                policy.digit_bits = bits;
                EXPECT_TRUE(expect_plan_or_reason(caps, {.max_count = 500, .policy = policy}));
                continue;
            }
            refused([&](SortPolicy& policy) { policy.digit_bits = bits; },
                    {"digit", std::to_string(bits).c_str()});
        }
        refused([](SortPolicy& policy) { policy.max_groups = 0; }, {"max_groups"});
        // In the tier barrier digits have 4 bits at most.
        for (const std::uint32_t bits : {5u, 8u}) {
            if (bitonic) continue;
            SortDesc desc{.max_count = 500, .tier = Tier::barrier, .policy = good};
            desc.policy->digit_bits = bits;
            expect_refused(caps, desc, ErrorCode::bad_argument,
                           {"digit", "barrier", std::to_string(bits).c_str()});
        }
        // The largest values that the type holds must not wrap into something small.
        SortPolicy policy = good;
        policy.max_groups = ~0u;
        EXPECT_TRUE(expect_plan_or_reason(caps, {.max_count = 500, .policy = policy}));
        for (const std::uint32_t patience : {0u, ~0u}) {
            policy.patience = patience;
            expect_plan_or_reason(caps, {.max_count = 500, .policy = policy});
        }
    }
}

TEST(SortPlan, ImpossibleValuesAreRefused) {
    const Caps caps = described("all");
    for (const std::uint32_t bytes : {1u, 2u, 3u, 5u, 6u, 7u, 10u, 15u, 20u, 24u, 32u, ~0u}) {
        expect_refused(caps, {.value_bytes = bytes, .max_count = 1000}, ErrorCode::bad_argument,
                       {"value_bytes", std::to_string(bytes).c_str()});
    }
    for (const std::uint32_t bytes : {4u, 16u}) {
        expect_refused(caps, {.value_bytes = bytes, .argsort = true, .max_count = 1000},
                       ErrorCode::bad_argument, {"argsort", "value_bytes"});
    }
}

TEST(SortPlan, ImpossibleBitsAreRefused) {
    const Caps caps = described("all");
    expect_refused(caps, {.begin_bit = 9, .end_bit = 5, .max_count = 1000}, ErrorCode::bad_argument,
                   {"bit", "9", "5"});
    for (const Scalar key : kKeys) {
        const std::uint32_t width = size_of(key) * 8;
        const std::string above = std::to_string(width + 1), most = std::to_string(width);
        expect_refused(caps, {.key = key, .end_bit = width + 1, .max_count = 1000},
                       ErrorCode::bad_argument, {"bit", above.c_str(), most.c_str()});
        expect_refused(caps, {.key = key, .begin_bit = width + 1, .max_count = 1000},
                       ErrorCode::bad_argument, {"bit", above.c_str(), most.c_str()});
        expect_refused(caps, {.key = key, .end_bit = ~0u, .max_count = 1000},
                       ErrorCode::bad_argument, {"bit"});
        for (const std::uint32_t bit : {0u, 3u, width}) {
            EXPECT_TRUE(expect_plan_or_reason(
                caps, {.key = key, .begin_bit = bit, .end_bit = bit, .max_count = 1000}));
        }
        EXPECT_TRUE(
            expect_plan_or_reason(caps, {.key = key, .begin_bit = width - 1, .max_count = 1000}));
    }
}

// The caller's buffers serve in turn: what is read is written, too, and scratch has counts alone.
TEST(SortPlan, PingPong) {
    for (const char* name : {"nvidia", "all", "webgpu-minimum", "size-128"}) {
        const Caps caps = described(name);
        SCOPED_TRACE(name);
        for (const SortStrategy strategy :
             {SortStrategy::count_then_scatter, SortStrategy::look_back}) {
            for (const std::uint32_t bits : {4u, 8u}) {
                SortDesc desc{.value_bytes = 16,
                              .end_bit = bits,
                              .ping_pong = true,
                              .max_count = 1u << 20,
                              .tier = Tier::barrier,
                              .policy = policy_with(strategy)};
                ASSERT_TRUE(expect_plan_or_reason(caps, desc));
                const Plan plan = *plan_sort(caps, desc);
                // Twice 16 counts for each tile of 512, with room.
                EXPECT_LT(scratch_of(plan), 1u << 19) << to_text(plan);
                // One digit goes there, two there and back.
                EXPECT_EQ(plan.result, bits == 4 ? Role::output : Role::input);
                if (plan.result == Role::input) {
                    EXPECT_NE(plan.argument(Role::input)->access, Access::read);
                    EXPECT_NE(plan.argument(Role::values)->access, Access::read);
                }
            }
        }
    }
    const Caps caps = described("all");
    for (const Scalar key : {Scalar::u8, Scalar::i8, Scalar::u16, Scalar::i16, Scalar::f16}) {
        expect_refused(caps, {.key = key, .ping_pong = true, .max_count = 1000},
                       ErrorCode::bad_argument, {"ping_pong", to_text(key)});
    }
    expect_refused(caps, {.argsort = true, .ping_pong = true, .max_count = 1000},
                   ErrorCode::bad_argument, {"ping_pong", "argsort"});
}

// A9: keys or values larger than a binding can be.
TEST(SortPlan, BuffersAboveTheLargestBinding) {
    for (const std::uint32_t value_bytes : {0u, 16u}) {
        Caps caps = described("nvidia");
        caps.limits.max_storage_range = 1u << 22;
        const SortDesc desc{.value_bytes = value_bytes, .max_count = (1u << 20) + 1};
        const auto by_address = plan_sort(caps, desc);
        ASSERT_TRUE(by_address) << by_address.error().message;
        EXPECT_EQ(by_address->addressing, Addressing::device_address);
        EXPECT_TRUE(broken_rules(*by_address, caps).empty());

        SortDesc forced = desc;
        forced.addressing = Addressing::descriptor;
        expect_refused(caps, forced, ErrorCode::limit_exceeded, {"4194304"});
        caps.device_addresses = false;
        expect_refused(caps, desc, ErrorCode::limit_exceeded, {"4194304"});
        SortDesc smaller = desc;
        smaller.max_count = 1u << 17;
        EXPECT_TRUE(expect_plan_or_reason(caps, smaller));
    }
}

TEST(SortPlan, DeviceAddressesCannotBeForcedWhereTheyAreMissing) {
    expect_refused(described("none"), {.max_count = 10, .addressing = Addressing::device_address},
                   ErrorCode::unsupported, {"address"});
}

// A6, A7, A8, E1: sizes that do not fit 32 bits, signed or not, end in a right plan or a clean
// refusal.
TEST(SortPlan, HugeCounts) {
    const std::uint64_t one = 1;
    const std::uint64_t counts[] = {(one << 30) - 1, one << 30,       (one << 31) - 1,
                                    one << 31,       (one << 31) + 1, (one << 32) - 1,
                                    one << 32,       (one << 32) + 7, 4333734380,
                                    one << 40,       one << 62,       ~std::uint64_t{0}};
    for (const char* name : {"nvidia", "all", "webgpu-minimum", "apple-m2"}) {
        const Caps caps = described(name);
        SCOPED_TRACE(name);
        for (const Scalar key : {Scalar::u8, Scalar::u32, Scalar::u64}) {
            for (std::size_t s = 0; s <= std::size(kStrategies); ++s) {
                std::uint64_t before = 0;
                for (const std::uint64_t count : counts) {
                    SortDesc desc{.key = key, .value_bytes = 4, .max_count = count};
                    if (s < std::size(kStrategies)) desc.policy = policy_with(kStrategies[s]);
                    if (!expect_plan_or_reason(caps, desc)) continue;
                    EXPECT_LT(count, one << 32) << text(desc);
                    const Plan plan = *plan_sort(caps, desc);
                    EXPECT_TRUE(!waits_for_others(plan) || count < one << 30) << text(desc);
                    if (desc.policy) {
                        EXPECT_GE(scratch_of(plan), before) << text(desc);
                    }
                    EXPECT_LT(scratch_of(plan), one << 38) << text(desc);
                    before = scratch_of(plan);
                }
            }
        }
    }
    const Caps caps = described("nvidia");
    expect_refused(caps, {.key = Scalar::u8, .max_count = one << 32}, ErrorCode::limit_exceeded,
                   {"4294967296", "4294967295"});
    EXPECT_TRUE(plan_sort(caps, {.key = Scalar::u8, .max_count = (one << 32) - 1}));
    SortPolicy large{.strategy = SortStrategy::look_back, .max_groups = 65535};
    expect_refused(caps, {.key = Scalar::u8, .max_count = one << 30, .policy = large},
                   ErrorCode::limit_exceeded, {"1073741824", "1073741823"});
    EXPECT_TRUE(
        plan_sort(caps, {.key = Scalar::u8, .max_count = (one << 30) - 1, .policy = large}));
}

// More dispatches than a plan may have, or more workgroup memory than the device has.
TEST(SortPlan, PoliciesThatTakeTooMuchAreRefused) {
    const Caps caps = described("nvidia");
    SortPolicy policy = policy_with(SortStrategy::look_back);
    policy.workgroup_size = 64;
    policy.items = 1;
    policy.max_groups = 3;
    expect_refused(caps, {.max_count = 1u << 22, .policy = policy}, ErrorCode::limit_exceeded,
                   {"dispatches", "4096"});
    policy = policy_with(SortStrategy::one_workgroup);
    policy.workgroup_size = 1024;
    policy.items = 32;
    expect_refused(caps,
                   {.key = Scalar::u64, .value_bytes = 16, .max_count = 32768, .policy = policy},
                   ErrorCode::limit_exceeded, {"memory"});
    policy.strategy = SortStrategy::bitonic;
    expect_refused(caps,
                   {.key = Scalar::u64, .value_bytes = 16, .max_count = 32768, .policy = policy},
                   ErrorCode::limit_exceeded, {"memory"});
    // One workgroup sorts one tile.
    for (const SortStrategy strategy : {SortStrategy::one_workgroup, SortStrategy::bitonic}) {
        policy.strategy = strategy;
        policy.items = 2;
        policy.workgroup_size = 32;
        EXPECT_TRUE(plan_sort(caps, {.max_count = 64, .policy = policy}));
        const auto more = plan_sort(caps, {.max_count = 65, .policy = policy});
        ASSERT_FALSE(more);
        EXPECT_TRUE(more.error().code == ErrorCode::limit_exceeded ||
                    more.error().code == ErrorCode::bad_argument)
            << more.error().message;
        EXPECT_TRUE(contains(more.error().message, {"64"})) << more.error().message;
    }
}

// E1, D6: scratch never shrinks as the count grows, and its parts begin where any device can bind:
// broken_rules looks at that.
TEST(SortPlan, ScratchGrowsWithTheCount) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        std::vector<std::optional<SortPolicy>> policies{std::nullopt};
        for (const SortStrategy strategy : kStrategies) {
            SortPolicy policy = policy_with(strategy);
            policy.workgroup_size = 16;
            policy.items = strategy == SortStrategy::bitonic ? 4 : 3;
            policy.max_groups = 7;
            policies.push_back(policy);
        }
        for (const auto& policy : policies) {
            for (const std::uint32_t value_bytes : {0u, 12u}) {
                std::uint64_t before = 0;
                const auto next = [&](std::uint64_t count) {
                    const SortDesc desc{.value_bytes = value_bytes,
                                        .max_count = count,
                                        .tier = Tier::barrier,
                                        .policy = policy};
                    const auto plan = plan_sort(device.caps, desc);
                    if (!plan) {
                        const bool one = policy && is_alone(policy->strategy);
                        EXPECT_TRUE(one || plan.error().code == ErrorCode::limit_exceeded)
                            << count << ": " << plan.error().message;
                        return;
                    }
                    for (const Pass& pass : plan->passes) {
                        for (const std::string& broken : broken_ranges(*plan, pass))
                            ADD_FAILURE() << text(desc) << ": " << broken;
                    }
                    // The policy that is chosen may change with the size, and with it the way.
                    if (policy) {
                        ASSERT_GE(scratch_of(*plan), before) << text(desc);
                    }
                    before = scratch_of(*plan);
                    ASSERT_EQ(bytes_needed(*plan, Role::scratch, count), before) << text(desc);
                };
                for (std::uint64_t count = 0; count <= 5000; count += count < 300 ? 1 : 7)
                    next(count);
                for (std::uint64_t count = 8192; count <= std::uint64_t{1} << 40; count *= 2) {
                    next(count - 1);
                    next(count);
                    next(count + 1);
                }
            }
        }
    }
}

// Where the table's policies meet, and for keys of which a workgroup holds half as many.
TEST(SortPlan, NoDefaultPolicyIsTooSmallForItsInput) {
    for (const DescribedDevice& device : described_devices()) {
        for (const Scalar key : kKeys) {
            for (const Tier tier : kTiers) {
                if (!plan_sort(device.caps, {.key = key, .max_count = 1u << 20, .tier = tier}))
                    continue;
                for (const std::uint64_t count :
                     {100u, 129u, 256u, 257u, 1024u, 1025u, 1500u, 2048u, 2049u, 4096u, 4097u}) {
                    const SortDesc desc{.key = key, .max_count = count, .tier = tier};
                    const auto plan = plan_sort(device.caps, desc);
                    EXPECT_TRUE(plan)
                        << device.name << ": " << text(desc) << ": " << plan.error().message;
                }
            }
        }
    }
}

// Which has no digits, whatever the policy says of them.
TEST(SortPlan, ABitonicSortAsksForNoDigits) {
    for (const std::uint32_t digit_bits : {0u, 8u, 32u, ~0u}) {
        const SortPolicy policy{.strategy = SortStrategy::bitonic,
                                .workgroup_size = 128,
                                .items = 4,
                                .digit_bits = digit_bits};
        const SortDesc desc{.max_count = 512, .policy = policy};
        const auto plan = plan_sort(described("nvidia"), desc);
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(passes_of(*plan), std::vector<std::string>{"sort_bitonic"});
    }
}

TEST(SortPlan, ZeroItemsHaveAPlan) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const std::uint32_t values : kValues) {
            const SortDesc desc = with_values({.max_count = 0}, values);
            EXPECT_EQ(expect_plan_or_reason(device.caps, desc), has_buffers_for(device.caps, desc))
                << text(desc);
        }
        for (const SortStrategy strategy : kStrategies) {
            EXPECT_TRUE(expect_plan_or_reason(
                device.caps,
                {.max_count = 0, .tier = Tier::barrier, .policy = policy_with(strategy)}));
        }
    }
}

// A3, A5: limits that are lower than the policy, and limits that lie in between powers of two.
TEST(SortPlan, FakeLimits) {
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
                    for (const std::uint32_t values : {0u, 16u}) {
                        for (const Scalar key : {Scalar::u32, Scalar::i64}) {
                            for (const std::uint64_t count : {1000u, 1u << 20}) {
                                const SortDesc desc{.key = key,
                                                    .value_bytes = values,
                                                    .max_count = count,
                                                    .tier = tier};
                                const bool planned = expect_plan_or_reason(caps, desc);
                                // 512 bytes are below what any API guarantees; 16 KiB are what they
                                // all do.
                                EXPECT_TRUE(planned || memory < 16384) << text(desc);
                            }
                        }
                    }
                }
                // A policy that does not fit is refused or fitted, never planned as it is.
                for (const SortStrategy strategy : kStrategies) {
                    SortPolicy large = policy_with(strategy);
                    large.workgroup_size = 1024;
                    expect_plan_or_reason(caps, {.max_count = 4096, .policy = large});
                }
            }
        }
    }
    // Size per dimension below the total.
    Caps caps = described("all");
    caps.limits.max_workgroup_size_x = 64;
    EXPECT_TRUE(expect_plan_or_reason(caps, {.max_count = 1u << 20}));
    for (const std::uint32_t buffers : {1u, 2u, 3u, 4u, 5u, 8u}) {
        for (const std::uint32_t values : kValues) {
            caps = described("none");
            caps.limits.max_storage_buffers = buffers;
            const SortDesc desc = with_values({.max_count = 1u << 20}, values);
            EXPECT_EQ(expect_plan_or_reason(caps, desc), has_buffers_for(caps, desc))
                << buffers << ", " << values;
        }
    }
}

TEST(SortPlan, LoweredGroupLimitStillCoversEverything) {
    Caps caps = described("all");
    caps.limits.max_groups_x = 7;
    for (const SortStrategy strategy :
         {SortStrategy::count_then_scatter, SortStrategy::look_back}) {
        SortPolicy policy = policy_with(strategy);
        policy.workgroup_size = 32;
        const std::uint64_t tile = std::uint64_t{policy.workgroup_size} * policy.items;
        for (const Tier tier : kTiers) {
            for (const std::uint64_t count : {7 * tile + 1, 300 * tile + 1, 65535 * tile + 1}) {
                const SortDesc desc{.max_count = count, .tier = tier, .policy = policy};
                if (strategy == SortStrategy::look_back && count > 1000 * tile) {
                    expect_refused(caps, desc, ErrorCode::limit_exceeded, {"dispatches"});
                    continue;
                }
                EXPECT_TRUE(expect_plan_or_reason(caps, desc)) << text(desc);
                const auto plan = plan_sort(caps, desc);
                ASSERT_TRUE(plan) << plan.error().message;
                EXPECT_LE(plan->share.max_groups, 7u);
            }
        }
    }
}

// C5, C12: sizes 4 to 128 against workgroups 32 to 1024.
TEST(SortPlan, EverySubgroupSizeWithEveryWorkgroupSize) {
    for (std::uint32_t size = 4; size <= 128; size *= 2) {
        for (std::uint32_t workgroup = 32; workgroup <= 1024; workgroup *= 2) {
            for (const std::uint32_t subgroups : {8u, 32u, ~0u}) {
                Caps caps = described("all");
                caps.subgroup.size = caps.subgroup.min_size = caps.subgroup.max_size = size;
                caps.subgroup.max_workgroup_subgroups = subgroups;
                for (const Tier tier : kTiers) {
                    for (const SortStrategy strategy : kStrategies) {
                        SortDesc desc{.value_bytes = 4,
                                      .max_count = 30,
                                      .tier = tier,
                                      .policy = policy_with(strategy)};
                        desc.policy->workgroup_size = workgroup;
                        desc.policy->items = strategy == SortStrategy::bitonic ? 2 : 1;
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

TEST(SortPlan, PlansOfEqualRequestsAreEqual) {
    for (const DescribedDevice& device : described_devices()) {
        const auto first = plan_sort(device.caps, {.max_count = 12345});
        const auto second = plan_sort(device.caps, {.max_count = 12345});
        ASSERT_TRUE(first) << device.name;
        EXPECT_EQ(*first, *second);
        EXPECT_EQ(to_text(*first), to_text(*second));
    }
}

TEST(SortPlan, JsonHasTheFactsOfThePlan) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        const SortDesc desc{.value_bytes = 12, .max_count = 1u << 20};
        if (!has_buffers_for(device.caps, desc)) continue;
        const auto plan = plan_sort(device.caps, desc);
        ASSERT_TRUE(plan) << plan.error().message;
        const auto json = nlohmann::json::parse(plan_to_json(*plan), nullptr, false);
        ASSERT_TRUE(json.is_object());
        EXPECT_EQ(json.value("primitive", ""), "sort");
        EXPECT_EQ(json.value("value_bytes", 0u), 12u);
        EXPECT_EQ(json.value("result", ""), "output");
        ASSERT_TRUE(json.contains("passes"));
        ASSERT_EQ(json["passes"].size(), plan->passes.size());
    }
}

RC_GTEST_PROP(SortPlan, AnyRequestHasAPlanOrAReason, ()) {
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
    maybe([&] { caps.limits.max_groups_x = *rc::gen::inRange(1u, 20u); });
    maybe([&] { caps.limits.max_workgroup_invocations = *rc::gen::inRange(1u, 1100u); });
    maybe([&] { caps.limits.max_workgroup_memory = *rc::gen::inRange(0u, 20000u); });
    maybe([&] { caps.limits.max_storage_buffers = *rc::gen::inRange(1u, 9u); });
    maybe([&] {
        caps.limits.max_storage_range = *rc::gen::inRange<std::uint64_t>(1u << 20, 1u << 27);
    });
    if (caps.api == Api::webgpu) {  // which has none of these, whatever the device
        caps.subgroup.full_subgroups = false;
        caps.device_scope_barrier = false;
        caps.int64_atomics = false;
        caps.device_addresses = false;
    }
    SortDesc desc;
    desc.key = *rc::gen::elementOf(std::vector<Scalar>(std::begin(kKeys), std::end(kKeys)));
    desc = with_values(desc, *rc::gen::elementOf(std::vector<std::uint32_t>(std::begin(kValues),
                                                                            std::end(kValues))));
    maybe([&] { desc.value_bytes = *rc::gen::inRange(0u, 20u); });
    desc.order = *rc::gen::element(SortOrder::ascending, SortOrder::descending);
    desc.max_count = *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 100000),
                                     rc::gen::arbitrary<std::uint64_t>());
    maybe([&] { desc.begin_bit = *rc::gen::inRange(0u, 70u); });
    maybe([&] { desc.end_bit = *rc::gen::inRange(0u, 70u); });
    maybe([&] { desc.ping_pong = true; });
    maybe([&] { desc.tier = *rc::gen::element(Tier::pinned, Tier::portable, Tier::barrier); });
    maybe([&] {
        desc.addressing = *rc::gen::element(Addressing::descriptor, Addressing::device_address);
    });
    maybe([&] {
        desc.policy = SortPolicy{.strategy = *rc::gen::elementOf(std::vector<SortStrategy>(
                                     std::begin(kStrategies), std::end(kStrategies))),
                                 .workgroup_size = 1u << *rc::gen::inRange(2, 11),
                                 .items = *rc::gen::inRange(1u, 33u),
                                 .digit_bits = *rc::gen::inRange(1u, 9u),
                                 .max_groups = *rc::gen::inRange(1u, 3000u),
                                 .patience = *rc::gen::arbitrary<std::uint32_t>(),
                                 .silent_tile = *rc::gen::arbitrary<std::uint32_t>()};
    });
    const auto plan = plan_sort(caps, desc);
    if (!plan) {
        RC_ASSERT(!plan.error().message.empty());
        return;
    }
    const auto broken = broken_rules(*plan, caps);
    if (!broken.empty()) RC_FAIL(text(desc) + ": " + broken[0] + "\n" + to_text(*plan));
}

}  // namespace
}  // namespace lanewise::test
