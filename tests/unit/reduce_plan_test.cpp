// plan_reduce on described devices.
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
constexpr ReduceStrategy kStrategies[] = {ReduceStrategy::one_workgroup,
                                          ReduceStrategy::last_workgroup, ReduceStrategy::two_pass};

bool is_bitwise(Operator op) {
    return op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
}

// What reduce.hpp says the default accumulator is.
Scalar default_accumulator(Scalar element) {
    switch (element) {
        case Scalar::u8:
        case Scalar::u16: return Scalar::u32;
        case Scalar::i8:
        case Scalar::i16: return Scalar::i32;
        case Scalar::f16: return Scalar::f32;
        default: return element;
    }
}

Scalar wide_accumulator(Scalar element) {
    if (is_float(element)) return Scalar::f64;
    return is_signed_integer(element) ? Scalar::i64 : Scalar::u64;
}

std::vector<Scalar> accumulators(Scalar element) {
    std::vector<Scalar> all{default_accumulator(element)};
    if (wide_accumulator(element) != all[0]) all.push_back(wide_accumulator(element));
    return all;
}

std::string text(const ReduceDesc& desc) {
    return fmt::format("{} of {} into {}, {} items, tier {}, {}, policy {}", to_text(desc.op),
                       to_text(desc.element),
                       desc.accumulator ? to_text(*desc.accumulator) : "default", desc.max_count,
                       desc.tier ? to_text(*desc.tier) : "auto",
                       desc.addressing ? to_text(*desc.addressing) : "auto",
                       desc.policy ? to_text(*desc.policy) : "auto");
}

// A plan that keeps to all rules, or a refusal that says why. True where there is a plan.
bool expect_plan_or_reason(const Caps& caps, const ReduceDesc& desc) {
    const auto plan = plan_reduce(caps, desc);
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
    EXPECT_EQ(plan->primitive, "reduce");
    EXPECT_EQ(plan->max_count, desc.max_count);
    EXPECT_EQ(plan->element_bytes, size_of(desc.element));
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier))
        << "a forced tier never falls back in silence";
    EXPECT_EQ(plan->addressing, desc.addressing.value_or(plan->addressing));
    EXPECT_EQ(plan->policy, desc.policy ? to_text(*desc.policy) : plan->policy);
    const Argument* output = plan->argument(Role::output);
    EXPECT_EQ(output != nullptr ? output->bytes : 0, reduce_result_bytes(desc)) << text(desc);
    return true;
}

TEST(ReduceTypes, DefaultAccumulators) {
    for (const Scalar element : kScalars) {
        EXPECT_EQ(reduce_accumulator({.element = element}), default_accumulator(element))
            << to_text(element);
        EXPECT_EQ(
            reduce_accumulator({.element = element, .accumulator = wide_accumulator(element)}),
            wide_accumulator(element));
    }
}

TEST(ReduceTypes, ResultBytes) {
    const std::uint64_t one = 1;
    EXPECT_EQ(reduce_result_bytes({.element = Scalar::u8}), 4u);
    EXPECT_EQ(reduce_result_bytes({.element = Scalar::u8, .accumulator = Scalar::u64}), 8u);
    EXPECT_EQ(reduce_result_bytes({.element = Scalar::f64}), 8u);
    EXPECT_EQ(reduce_result_bytes({.op = Operator::argmin}), 8u);
    EXPECT_EQ(reduce_result_bytes({.element = Scalar::i64, .op = Operator::argmax}), 16u);
    EXPECT_EQ(reduce_result_bytes({.op = Operator::argmin, .accumulator = Scalar::u64}), 16u);
    EXPECT_EQ(reduce_index_bytes({.op = Operator::argmin, .accumulator = Scalar::u64}), 8u);
    EXPECT_EQ(reduce_index_bytes({.op = Operator::argmin, .max_count = one << 32}), 4u);
    EXPECT_EQ(reduce_index_bytes({.op = Operator::argmin, .max_count = (one << 32) + 1}), 8u);
    EXPECT_EQ(reduce_result_bytes({.op = Operator::argmin, .max_count = (one << 32) + 1}), 16u);
    EXPECT_EQ(reduce_result_bytes({.op = Operator::sum, .max_count = (one << 32) + 1}), 4u);
}

// E2 and C5: whatever is asked of whatever device, the plan keeps to what the device has, or is
// refused with a reason.
TEST(ReducePlan, EveryRequestOnEveryDevice) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        int plans = 0;
        for (const Scalar element : kScalars) {
            for (const Scalar accumulator : accumulators(element)) {
                for (const Operator op : kOperators) {
                    for (const Tier tier : kTiers) {
                        for (const Addressing addressing : kAddressings) {
                            for (const std::uint64_t count :
                                 {std::uint64_t{1000}, std::uint64_t{1} << 22}) {
                                const ReduceDesc desc{.element = element,
                                                      .op = op,
                                                      .accumulator = accumulator,
                                                      .max_count = count,
                                                      .tier = tier,
                                                      .addressing = addressing};
                                if (is_bitwise(op) && is_float(element)) {
                                    const auto plan = plan_reduce(device.caps, desc);
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
        }
        EXPECT_GT(plans, 0) << "the device can do nothing";
        if (::testing::Test::HasFailure()) return;
    }
}

// The other side of E2: what the device has is used. (Too strong a support test sends everyone to
// the slow path.)
TEST(ReducePlan, DevicesTakeTheTierThatTheyCan) {
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
        const auto plan = plan_reduce(described(name), {.max_count = 1u << 20});
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_EQ(plan->tier, tier) << plan->reason;
    }
}

TEST(ReducePlan, ACapableDeviceRunsEverythingInEveryTier) {
    const Caps caps = described("all");
    for (const Scalar element : kScalars) {
        for (const Scalar accumulator : accumulators(element)) {
            for (const Operator op : kOperators) {
                if (is_bitwise(op) && is_float(element)) continue;
                if (is_arg(op) && accumulator != default_accumulator(element)) continue;
                for (const Tier tier : kTiers) {
                    for (const Addressing addressing : kAddressings) {
                        for (const ReduceStrategy strategy : kStrategies) {
                            const ReduceDesc desc{.element = element,
                                                  .op = op,
                                                  .accumulator = accumulator,
                                                  .max_count = 100000,
                                                  .tier = tier,
                                                  .addressing = addressing,
                                                  .policy = ReducePolicy{.strategy = strategy}};
                            const auto plan = plan_reduce(caps, desc);
                            ASSERT_TRUE(plan) << text(desc) << ": " << plan.error().message;
                        }
                    }
                }
            }
        }
    }
}

TEST(ReducePlan, TheBarrierTierRunsEverywhere) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const Scalar element : kScalars) {
            for (const Operator op : kOperators) {
                if (is_bitwise(op) && is_float(element)) continue;
                const ReduceDesc desc{
                    .element = element, .op = op, .max_count = 1u << 20, .tier = Tier::barrier};
                const auto plan = plan_reduce(device.caps, desc);
                if (element == Scalar::f64 && !device.caps.types.float64) continue;
                if (element == Scalar::f16 && !device.caps.types.float16) continue;
                EXPECT_TRUE(plan) << text(desc) << ": " << plan.error().message;
            }
        }
    }
}

// A forced tier that the device cannot run is refused with the name of what is missing.
TEST(ReducePlan, AnImpossibleTierNamesTheMissingBit) {
    const auto message = [](const char* device, Tier tier) {
        const auto plan = plan_reduce(described(device), {.max_count = 1000, .tier = tier});
        EXPECT_FALSE(plan) << device;
        if (plan) return std::string();
        EXPECT_EQ(plan.error().code, ErrorCode::unsupported) << plan.error().message;
        return plan.error().message;
    };
    const auto names = [](const std::string& text, std::initializer_list<const char*> words) {
        return std::any_of(words.begin(), words.end(),
                           [&](const char* word) { return text.find(word) != std::string::npos; });
    };
    for (const Tier tier : {Tier::portable, Tier::pinned}) {
        SCOPED_TRACE(to_text(tier));
        EXPECT_TRUE(names(message("none", tier), {"no subgroup", "basic"}))
            << message("none", tier);
        EXPECT_TRUE(names(message("basic-only", tier), {"arithmetic", "shuffle", "ballot"}))
            << message("basic-only", tier);
        EXPECT_TRUE(names(message("basic-ballot", tier), {"arithmetic", "shuffle"}))
            << message("basic-ballot", tier);
        EXPECT_TRUE(names(message("no-compute-stage", tier), {"compute"}))
            << message("no-compute-stage", tier);
        EXPECT_TRUE(names(message("webgpu-minimum", tier), {"no subgroup", "basic"}))
            << message("webgpu-minimum", tier);
    }
    EXPECT_TRUE(names(message("apple-m2", Tier::pinned), {"require"}))
        << message("apple-m2", Tier::pinned);

    Caps partial = described("nvidia");
    partial.subgroup.full_subgroups = false;
    const auto plan = plan_reduce(partial, {.max_count = 1000, .tier = Tier::pinned});
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find("full"), std::string::npos) << plan.error().message;
}

// Each operation taken away from a capable device leads to a plan without it.
TEST(ReducePlan, EachMissingOperationIsNoticed) {
    const Caps whole = described("all");
    for (std::uint32_t bit = 1; bit <= SubgroupOperation::quad; bit <<= 1) {
        Caps caps = whole;
        caps.subgroup.operations &= ~bit;
        SCOPED_TRACE(operations_to_text(bit));
        for (const Operator op : {Operator::sum, Operator::argmin}) {
            expect_plan_or_reason(caps, {.op = op, .max_count = 1u << 20});
            for (const Tier tier : kTiers)
                expect_plan_or_reason(caps, {.op = op, .max_count = 1u << 20, .tier = tier});
        }
    }
}

// A probe that failed leaves no subgroup operations: the plan must not count on the rest.
TEST(ReducePlan, AFailedProbeLeadsToTheBarrierTier) {
    Caps caps = described("nvidia");
    caps.probe = ProbeState::failed;
    caps.subgroup.operations = 0;
    const auto plan = plan_reduce(caps, {.max_count = 1000});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->tier, Tier::barrier);
    EXPECT_TRUE(broken_rules(*plan, caps).empty());
}

TEST(ReducePlan, WithoutADeviceScopeBarrierNoWorkgroupWaitsForOthers) {
    Caps caps = described("nvidia");
    caps.device_scope_barrier = false;
    for (const Tier tier : kTiers) {
        for (const std::uint64_t count : {std::uint64_t{100}, std::uint64_t{1} << 24}) {
            EXPECT_NE(reduce_policy(caps, {.max_count = count}, tier).strategy,
                      ReduceStrategy::last_workgroup);
        }
        const auto forced =
            plan_reduce(caps, {.max_count = 1u << 20,
                               .tier = tier,
                               .policy = ReducePolicy{.strategy = ReduceStrategy::last_workgroup}});
        ASSERT_FALSE(forced);
        EXPECT_FALSE(forced.error().message.empty());
    }
}

TEST(ReducePlan, ThePolicyOfThePlanIsThePolicyThatItWasGiven) {
    const Caps caps = described("nvidia");
    const ReduceDesc desc{.max_count = 1u << 24};
    for (const Tier tier : kTiers) {
        ReduceDesc forced = desc;
        forced.tier = tier;
        const auto plan = plan_reduce(caps, forced);
        ASSERT_TRUE(plan);
        EXPECT_EQ(plan->policy, to_text(reduce_policy(caps, desc, tier)));
        forced.policy = reduce_policy(caps, desc, tier);
        const auto again = plan_reduce(caps, forced);
        ASSERT_TRUE(again);
        EXPECT_EQ(*again, *plan);
    }
}

TEST(ReducePlan, ImpossiblePoliciesAreRefused) {
    const Caps caps = described("nvidia");
    const ReducePolicy good{.workgroup_size = 128, .vectors = 1, .max_groups = 7};
    ASSERT_TRUE(plan_reduce(caps, {.max_count = 1000, .policy = good}));
    const auto refused = [&](auto change) {
        ReducePolicy policy = good;
        change(policy);
        const auto plan = plan_reduce(caps, {.max_count = 1000, .policy = policy});
        if (plan) return std::string();
        EXPECT_EQ(plan.error().code, ErrorCode::bad_argument) << plan.error().message;
        return plan.error().message;
    };
    for (const std::uint32_t size : {0u, 1u, 2u, 3u, 48u, 100u, 2048u, 0x80000000u, ~0u}) {
        EXPECT_NE(refused([&](ReducePolicy& policy) { policy.workgroup_size = size; }), "")
            << "W " << size;
    }
    for (const std::uint32_t vectors : {0u, 3u, 5u, 32u, ~0u}) {
        EXPECT_NE(refused([&](ReducePolicy& policy) { policy.vectors = vectors; }), "")
            << "vectors " << vectors;
    }
    EXPECT_NE(refused([&](ReducePolicy& policy) { policy.max_groups = 0; }), "");
}

TEST(ReducePlan, ImpossibleAccumulatorsAreRefused) {
    const Caps caps = described("all");
    for (const Scalar element : kScalars) {
        const auto allowed = accumulators(element);
        for (const Scalar accumulator : kScalars) {
            const ReduceDesc desc{
                .element = element, .accumulator = accumulator, .max_count = 1000};
            const auto plan = plan_reduce(caps, desc);
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

TEST(ReducePlan, ArgTakesTheDefaultAccumulator) {
    const Caps caps = described("all");
    for (const Scalar element : kScalars) {
        for (const Scalar accumulator : accumulators(element)) {
            const ReduceDesc desc{.element = element,
                                  .op = Operator::argmax,
                                  .accumulator = accumulator,
                                  .max_count = 1000};
            const auto plan = plan_reduce(caps, desc);
            EXPECT_EQ(plan.has_value(), accumulator == default_accumulator(element)) << text(desc);
        }
    }
}

TEST(ReducePlan, MissingTypesAreNamed) {
    const auto plan = plan_reduce(described("none"), {.element = Scalar::f64, .max_count = 1000});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
    EXPECT_NE(plan.error().message.find("loat64"), std::string::npos) << plan.error().message;
}

// A9: larger than a binding can be.
TEST(ReducePlan, InputsAboveTheLargestBinding) {
    Caps caps = described("nvidia");
    caps.limits.max_storage_range = 1u << 20;
    const std::uint64_t count = (1u << 18) + 1;
    const auto by_address = plan_reduce(caps, {.max_count = count});
    ASSERT_TRUE(by_address) << by_address.error().message;
    EXPECT_EQ(by_address->addressing, Addressing::device_address);
    EXPECT_TRUE(broken_rules(*by_address, caps).empty());

    const auto forced =
        plan_reduce(caps, {.max_count = count, .addressing = Addressing::descriptor});
    ASSERT_FALSE(forced);
    EXPECT_EQ(forced.error().code, ErrorCode::limit_exceeded);
    EXPECT_NE(forced.error().message.find("1048576"), std::string::npos) << forced.error().message;
    EXPECT_NE(forced.error().message.find("1048580"), std::string::npos) << forced.error().message;

    caps.device_addresses = false;
    const auto refused = plan_reduce(caps, {.max_count = count});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::limit_exceeded);
    const auto fits = plan_reduce(caps, {.max_count = count - 1});
    EXPECT_TRUE(fits) << fits.error().message;
}

TEST(ReducePlan, DeviceAddressesCannotBeForcedWhereTheyAreMissing) {
    const auto plan =
        plan_reduce(described("none"), {.max_count = 10, .addressing = Addressing::device_address});
    ASSERT_FALSE(plan);
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
    EXPECT_NE(plan.error().message.find("address"), std::string::npos) << plan.error().message;
}

// A6, A7, A8, E1: sizes that do not fit 32 bits, signed or not, end in a right plan or a clean
// refusal.
TEST(ReducePlan, HugeCounts) {
    const std::uint64_t one = 1;
    const std::uint64_t counts[] = {
        (one << 31) - 1, one << 31, (one << 31) + 1, (one << 32) - 1, one << 32, (one << 32) + 7,
        4333734380,      one << 36, one << 40,       one << 48,       one << 62, ~std::uint64_t{0}};
    for (const char* name : {"nvidia", "all", "webgpu-minimum", "apple-m2"}) {
        const Caps caps = described(name);
        SCOPED_TRACE(name);
        for (const Scalar element : {Scalar::u8, Scalar::u32, Scalar::u64}) {
            for (const Operator op : {Operator::sum, Operator::argmax}) {
                std::uint64_t scratch_before = 0;
                for (const std::uint64_t count : counts) {
                    const ReduceDesc desc{.element = element, .op = op, .max_count = count};
                    if (!expect_plan_or_reason(caps, desc)) continue;
                    const Plan plan = *plan_reduce(caps, desc);
                    const std::uint64_t scratch = plan.argument(Role::scratch)->bytes;
                    EXPECT_GE(scratch, scratch_before) << text(desc);
                    EXPECT_LT(scratch, one << 36) << text(desc);
                    scratch_before = scratch;
                }
            }
        }
    }
    // Where addresses are 64 bits wide, 2^40 bytes are no reason to refuse.
    EXPECT_TRUE(plan_reduce(described("nvidia"), {.element = Scalar::u8, .max_count = one << 40}));
    // Too many tiles for 32 bits must be refused, not wrapped.
    const ReducePolicy tiny{.workgroup_size = 4, .vectors = 1, .max_groups = 7};
    expect_plan_or_reason(described("nvidia"),
                          {.element = Scalar::u64, .max_count = one << 44, .policy = tiny});
}

TEST(ReducePlan, ScratchGrowsWithTheCount) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const std::optional<ReducePolicy> policy :
             {std::optional<ReducePolicy>(),
              std::optional<ReducePolicy>(ReducePolicy{.workgroup_size = 16,
              .vectors = 1,
              .max_groups = 7,
              .max_items_per_dispatch = 500})}) {
            std::uint64_t before = 0;
            const auto next = [&](std::uint64_t count) {
                const auto plan = plan_reduce(
                    device.caps, {.max_count = count, .tier = Tier::barrier, .policy = policy});
                if (!plan) {
                    EXPECT_EQ(plan.error().code, ErrorCode::limit_exceeded)
                        << count << ": " << plan.error().message;
                    return;
                }
                const Argument* scratch = plan->argument(Role::scratch);
                ASSERT_NE(scratch, nullptr);
                ASSERT_GE(scratch->bytes, before) << count;
                before = scratch->bytes;
            };
            for (std::uint64_t count = 0; count <= 5000; ++count) next(count);
            for (std::uint64_t count = 8192; count <= std::uint64_t{1} << 40; count *= 2) {
                next(count - 1);
                next(count);
                next(count + 1);
            }
        }
    }
}

TEST(ReducePlan, ZeroItemsHaveAPlan) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const Operator op : kOperators) {
            EXPECT_TRUE(expect_plan_or_reason(device.caps, {.op = op, .max_count = 0}));
        }
    }
}

// A3, A5: limits that are lower than the policy, and limits that lie in between powers of two.
TEST(ReducePlan, FakeLimits) {
    for (const std::uint32_t invocations : {128u, 256u, 512u, 768u, 1024u}) {
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
                            const ReduceDesc desc{
                                .element = element, .op = op, .max_count = 1u << 24, .tier = tier};
                            const bool planned = expect_plan_or_reason(caps, desc);
                            // 512 bytes are below what any API guarantees; from 2048 on there is a
                            // way.
                            EXPECT_TRUE(planned || memory < 2048) << text(desc);
                        }
                    }
                }
                // A policy that does not fit is refused or fitted, never planned as it is.
                expect_plan_or_reason(
                    caps, {.max_count = 1u << 24, .policy = ReducePolicy{.workgroup_size = 1024}});
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

TEST(ReducePlan, LoweredGroupLimitStillCoversEverything) {
    Caps caps = described("all");
    caps.limits.max_groups_x = 7;
    const ReducePolicy policy{.workgroup_size = 32, .vectors = 1, .max_groups = 1024};
    for (const Tier tier : kTiers) {
        for (const std::uint64_t count : {7 * 128 + 1, 65535 * 128 + 1}) {
            const ReduceDesc desc{.max_count = count, .tier = tier, .policy = policy};
            const auto plan = plan_reduce(caps, desc);
            ASSERT_TRUE(plan) << plan.error().message;
            EXPECT_LE(plan->share.max_groups, 7u);
        }
    }
}

// C5, C12: sizes 4 to 128 against workgroups 32 to 1024. No size from the list is baked in
// anywhere.
TEST(ReducePlan, EverySubgroupSizeWithEveryWorkgroupSize) {
    for (std::uint32_t size = 4; size <= 128; size *= 2) {
        for (std::uint32_t workgroup = 32; workgroup <= 1024; workgroup *= 2) {
            for (const std::uint32_t subgroups : {8u, 16u, 32u, 64u, 256u, ~0u}) {
                Caps caps = described("all");
                caps.subgroup.size = caps.subgroup.min_size = caps.subgroup.max_size = size;
                caps.subgroup.max_workgroup_subgroups = subgroups;
                for (const Tier tier : kTiers) {
                    for (const ReduceStrategy strategy : kStrategies) {
                        for (const Operator op : {Operator::sum, Operator::argmax}) {
                            const ReduceDesc desc{
                                .op = op,
                                .max_count = 100000,
                                .tier = tier,
                                .policy = ReducePolicy{.strategy = strategy,
                                                       .workgroup_size = workgroup,
                                                       .vectors = 2}};
                            SCOPED_TRACE(
                                fmt::format("S {} W {} subgroups {}", size, workgroup, subgroups));
                            const bool planned = expect_plan_or_reason(caps, desc);
                            const bool possible =
                                tier != Tier::pinned ||
                                (workgroup >= size && workgroup / size <= subgroups);
                            EXPECT_TRUE(planned || !possible) << text(desc);
                        }
                    }
                }
                // Without a forced tier or policy there is always a way.
                EXPECT_TRUE(expect_plan_or_reason(caps, {.max_count = 100000}));
            }
        }
    }
}

// C2, C12: where the size is only known in the shader, room for the smallest legal one.
TEST(ReducePlan, PortablePlansHaveRoomForTheSmallestSubgroups) {
    for (const char* name : {"adreno-740", "nvidia", "all", "intel-xe"}) {
        for (const std::uint32_t workgroup : {64u, 256u, 1024u}) {
            const ReduceDesc desc{.max_count = 1u << 20,
                                  .tier = Tier::portable,
                                  .policy = ReducePolicy{.workgroup_size = workgroup}};
            const auto plan = plan_reduce(described(name), desc);
            ASSERT_TRUE(plan) << plan.error().message;
            for (const Pass& pass : plan->passes) {
                if (pass.form != Form::subgroup) continue;
                EXPECT_GE(pass.workgroup_memory, pass.workgroup_size / 4 * 4)
                    << name << ' ' << pass.name;
            }
        }
    }
}

// E3: no dispatch above the budget.
TEST(ReducePlan, TheItemBudgetOfADispatchIsKept) {
    const Caps caps = described("nvidia");
    for (const std::uint64_t budget :
         {std::uint64_t{1} << 12, std::uint64_t{100000}, std::uint64_t{1} << 20}) {
        for (const Tier tier : kTiers) {
            const ReduceDesc desc{.max_count = 1u << 24,
                                  .tier = tier,
                                  .policy = ReducePolicy{.strategy = ReduceStrategy::two_pass,
                                                         .workgroup_size = 64,
                                                         .vectors = 1,
                                                         .max_groups = 64,
                                                         .max_items_per_dispatch = budget}};
            const auto plan = plan_reduce(caps, desc);
            ASSERT_TRUE(plan) << plan.error().message;
            const Launch launch = share_out(plan->share, desc.max_count);
            const std::uint64_t items =
                std::uint64_t{std::min(launch.groups, plan->share.max_groups)} *
                launch.tiles_per_group * plan->share.tile_items;
            EXPECT_LE(items, std::max<std::uint64_t>(budget, plan->share.tile_items)) << text(desc);
            EXPECT_GT(launch.dispatches, 1u);
        }
    }
}

TEST(ReducePlan, StrategiesHaveTheirPasses) {
    const auto names = [](ReduceStrategy strategy) {
        const auto plan =
            plan_reduce(described("nvidia"),
                        {.max_count = 1u << 20, .policy = ReducePolicy{.strategy = strategy}});
        std::vector<std::string> found;
        for (const Pass& pass : plan->passes) {
            if (pass.when == When::always) found.push_back(pass.name);
        }
        return found;
    };
    using Names = std::vector<std::string>;
    EXPECT_EQ(names(ReduceStrategy::two_pass), (Names{"reduce_tiles", "reduce_partials"}));
    EXPECT_EQ(names(ReduceStrategy::last_workgroup), (Names{"reduce_tiles"}));
    EXPECT_EQ(names(ReduceStrategy::one_workgroup), (Names{"reduce_tiles"}));
    const auto one = plan_reduce(
        described("nvidia"),
        {.max_count = 1u << 20, .policy = ReducePolicy{.strategy = ReduceStrategy::one_workgroup}});
    EXPECT_EQ(share_out(one->share, one->max_count).groups, 1u);
}

TEST(ReducePlan, ArrivalSumIsForSumsOfIntegersIn32Bits) {
    Caps caps = described("all");
    ASSERT_TRUE(caps.int64_atomics);
    const auto plan_with = [&caps](Scalar element, Operator op,
                                   std::optional<Scalar> accumulator = {}) {
        return plan_reduce(caps, {.element = element,
                                  .op = op,
                                  .accumulator = accumulator,
                                  .max_count = 1u << 20,
                                  .policy = ReducePolicy{.strategy = ReduceStrategy::arrival_sum}});
    };
    const auto plan = plan_with(Scalar::u32, Operator::sum);
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->state_bytes, 8u);
    EXPECT_TRUE(plan_with(Scalar::i8, Operator::sum));
    EXPECT_FALSE(plan_with(Scalar::u32, Operator::max));
    EXPECT_FALSE(plan_with(Scalar::f32, Operator::sum));
    EXPECT_FALSE(plan_with(Scalar::u32, Operator::sum, Scalar::u64));
    // Chosen by itself where it can be.
    EXPECT_EQ(reduce_policy(caps, {.max_count = 1u << 20}, Tier::pinned).strategy,
              ReduceStrategy::arrival_sum);
    // 64-bit atomics are of no use without 64-bit integers, and the other way around.
    for (bool* lacking : {&caps.int64_atomics, &caps.types.int64}) {
        *lacking = false;
        EXPECT_FALSE(plan_with(Scalar::u32, Operator::sum));
        EXPECT_EQ(reduce_policy(caps, {.max_count = 1u << 20}, Tier::pinned).strategy,
                  ReduceStrategy::last_workgroup);
        *lacking = true;
    }
}

TEST(ReducePlan, PlansOfEqualRequestsAreEqual) {
    for (const DescribedDevice& device : described_devices()) {
        const auto first = plan_reduce(device.caps, {.max_count = 12345});
        const auto second = plan_reduce(device.caps, {.max_count = 12345});
        ASSERT_TRUE(first) << device.name;
        EXPECT_EQ(*first, *second);
        EXPECT_EQ(to_text(*first), to_text(*second));
    }
}

TEST(PlanJson, IsJsonWithTheFactsOfThePlan) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        const auto plan = plan_reduce(device.caps, {.max_count = 1u << 20});
        ASSERT_TRUE(plan);
        const auto json = nlohmann::json::parse(plan_to_json(*plan), nullptr, false);
        ASSERT_TRUE(json.is_object());
        EXPECT_EQ(json.value("primitive", ""), "reduce");
        EXPECT_EQ(json.value("tier", ""), to_text(plan->tier));
        EXPECT_EQ(json.value("reason", ""), plan->reason);
        EXPECT_EQ(json.value("max_count", 0u), 1u << 20);
        ASSERT_TRUE(json.contains("passes"));
        ASSERT_EQ(json["passes"].size(), plan->passes.size());
        for (std::size_t i = 0; i < plan->passes.size(); ++i) {
            EXPECT_EQ(json["passes"][i].value("name", ""), plan->passes[i].name);
            EXPECT_EQ(json["passes"][i].value("kernel", ""), plan->passes[i].kernel);
        }
    }
}

RC_GTEST_PROP(ReducePlan, AnyRequestHasAPlanOrAReason, ()) {
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
    maybe([&] { caps.types.int64 = !caps.types.int64; });
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
    ReduceDesc desc;
    desc.element =
        *rc::gen::elementOf(std::vector<Scalar>(std::begin(kScalars), std::end(kScalars)));
    desc.op =
        *rc::gen::elementOf(std::vector<Operator>(std::begin(kOperators), std::end(kOperators)));
    desc.max_count = *rc::gen::oneOf(rc::gen::inRange<std::uint64_t>(0, 100000),
                                     rc::gen::arbitrary<std::uint64_t>());
    maybe([&] { desc.accumulator = wide_accumulator(desc.element); });
    maybe([&] { desc.tier = *rc::gen::element(Tier::pinned, Tier::portable, Tier::barrier); });
    maybe([&] {
        desc.addressing = *rc::gen::element(Addressing::descriptor, Addressing::device_address);
    });
    maybe([&] {
        desc.policy = ReducePolicy{
            .strategy = *rc::gen::element(ReduceStrategy::one_workgroup,
                                          ReduceStrategy::last_workgroup, ReduceStrategy::two_pass),
            .workgroup_size = 1u << *rc::gen::inRange(2, 11),
            .vectors = 1u << *rc::gen::inRange(0, 5),
            .max_groups = *rc::gen::inRange(1u, 3000u),
            .max_items_per_dispatch = *rc::gen::oneOf(rc::gen::just<std::uint64_t>(0),
                                                      rc::gen::inRange<std::uint64_t>(1, 1000000))};
    });
    const auto plan = plan_reduce(caps, desc);
    if (!plan) {
        RC_ASSERT(!plan.error().message.empty());
        return;
    }
    const auto broken = broken_rules(*plan, caps);
    if (!broken.empty()) RC_FAIL(text(desc) + ": " + broken[0] + "\n" + to_text(*plan));
}

}  // namespace
}  // namespace lanewise::test
