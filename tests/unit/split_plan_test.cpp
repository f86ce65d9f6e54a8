// plan_split on described devices, and its reference against answers worked out by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "primitives/split/split_reference.hpp"
#include "tests/unit/described_devices.hpp"
#include "tests/unit/plan_rules.hpp"

namespace lanewise::test {
namespace {

constexpr Scalar kKeys[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                            Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                            Scalar::u64, Scalar::i64, Scalar::f64};
constexpr Tier kTiers[] = {Tier::pinned, Tier::portable, Tier::barrier};
constexpr Addressing kAddressings[] = {Addressing::descriptor, Addressing::device_address};
// Bytes of a value; 1 stands for indices.
constexpr std::uint32_t kValues[] = {0, 4, 8, 12, 16, 1};

std::string text(const SplitDesc& desc) {
    return fmt::format("{} with {} bytes{}, bits {} to {}, {} items, tier {}", to_text(desc.key),
                       desc.value_bytes, desc.indices ? " of indices" : "", desc.begin_bit,
                       desc.end_bit ? std::to_string(*desc.end_bit) : "the end", desc.max_count,
                       desc.tier ? to_text(*desc.tier) : "auto");
}

// A plan that keeps to all rules, or a refusal that says why. True where there is a plan.
bool expect_plan_or_reason(const Caps& caps, const SplitDesc& desc) {
    const auto plan = plan_split(caps, desc);
    if (!plan) {
        EXPECT_FALSE(plan.error().message.empty()) << text(desc);
        EXPECT_EQ(plan.error().message.find('\n'), std::string::npos) << plan.error().message;
        EXPECT_EQ(plan.error().message.find("sort: "), std::string::npos) << plan.error().message;
        return false;
    }
    for (const std::string& rule : broken_rules(*plan, caps))
        ADD_FAILURE() << text(desc) << ": " << rule << "\n" << to_text(*plan);
    EXPECT_EQ(plan->primitive, "split");
    EXPECT_EQ(plan->max_count, desc.max_count);
    EXPECT_EQ(plan->element_bytes, size_of(desc.key));
    EXPECT_EQ(plan->result_bytes, size_of(desc.key));
    EXPECT_EQ(plan->value_bytes, desc.indices ? 4 : desc.value_bytes);
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier));
    EXPECT_EQ(plan->addressing, desc.addressing.value_or(plan->addressing));
    EXPECT_EQ(plan->result, Role::output);
    EXPECT_EQ(plan->passes.back().name, "split_offsets");
    EXPECT_EQ(plan->passes.back().groups, Groups::one);
    EXPECT_TRUE(plan->passes.back().waits);
    const Argument* offsets = plan->argument(Role::offsets);
    EXPECT_TRUE(offsets != nullptr && offsets->access == Access::write &&
                offsets->bytes == 4 * (split_buckets(desc) + 1))
        << to_text(*plan);
    EXPECT_EQ(bytes_needed(*plan, Role::offsets, 0), offsets->bytes) << "n = 0 has offsets, too";
    EXPECT_EQ(plan->argument(Role::values) != nullptr, desc.value_bytes != 0);
    // One tile is no reason for the passes of a single workgroup.
    EXPECT_TRUE(std::ranges::none_of(
        plan->passes, [](const Pass& pass) { return pass.name == "sort_workgroup"; }));
    return true;
}

void expect_refused(const SplitDesc& desc, ErrorCode code,
                    std::initializer_list<const char*> words) {
    const auto plan = plan_split(described("all"), desc);
    ASSERT_FALSE(plan) << text(desc);
    EXPECT_EQ(plan.error().code, code) << plan.error().message;
    EXPECT_TRUE(plan.error().message.starts_with("split: ")) << plan.error().message;
    for (const char* word : words) {
        EXPECT_NE(plan.error().message.find(word), std::string::npos)
            << "no '" << word << "' in: " << plan.error().message;
    }
}

TEST(SplitPlan, EveryRequestOnEveryDevice) {
    std::size_t turn = 0;
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        int plans = 0;
        for (const Scalar key : kKeys) {
            for (const std::uint32_t values : kValues) {
                for (const Tier tier : kTiers) {
                    for (const Addressing addressing : kAddressings) {
                        // The rest takes turns.
                        const auto form = static_cast<std::uint32_t>(turn++);
                        SplitDesc desc{.key = key,
                                       .value_bytes = values == 1 ? 0 : values,
                                       .indices = values == 1,
                                       .begin_bit = form % 3,
                                       .end_bit = form % 3 + form % 6,
                                       .max_count = form % 4 == 0 ? 300u : 1u << 22,
                                       .tier = tier,
                                       .addressing = addressing};
                        if (size_of(key) == 8) desc.end_bit = desc.begin_bit + 16;
                        plans += expect_plan_or_reason(device.caps, desc) ? 1 : 0;
                    }
                }
            }
        }
        EXPECT_GT(plans, 0) << "the device can do nothing";
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(SplitPlan, RefusalsSayWhy) {
    expect_refused({.max_count = 10}, ErrorCode::bad_argument, {"0 to 32", "2^16"});
    expect_refused({.begin_bit = 5, .end_bit = 22, .max_count = 10}, ErrorCode::bad_argument,
                   {"2^17"});
    expect_refused({.begin_bit = 9, .end_bit = 5, .max_count = 10}, ErrorCode::bad_argument,
                   {"begin_bit 9", "end_bit 5"});
    expect_refused({.key = Scalar::u8, .end_bit = 4000000000u, .max_count = 10},
                   ErrorCode::bad_argument, {"8 bits of u8"});
    expect_refused({.value_bytes = 4, .indices = true, .end_bit = 4, .max_count = 10},
                   ErrorCode::bad_argument, {"indices", "value_bytes is 4"});
    expect_refused({.value_bytes = 5, .end_bit = 4, .max_count = 10}, ErrorCode::bad_argument,
                   {"value_bytes 5"});
    expect_refused(
        {.end_bit = 4,
         .max_count = 10,
         .policy = SortPolicy{.strategy = SortStrategy::one_workgroup, .workgroup_size = 64}},
        ErrorCode::bad_argument, {"one_workgroup", "count_then_scatter"});
    expect_refused({.end_bit = 4, .max_count = 10, .policy = SortPolicy{.workgroup_size = 63}},
                   ErrorCode::bad_argument, {"workgroup_size 63"});
    expect_refused({.end_bit = 4, .max_count = std::uint64_t{1} << 32}, ErrorCode::limit_exceeded,
                   {"max_count"});
    EXPECT_TRUE(plan_split(described("all"), {.begin_bit = 16, .max_count = 10}));
    EXPECT_TRUE(plan_split(described("all"), {.key = Scalar::u16, .max_count = 10}));
    Caps caps = described("none");
    caps.limits.max_storage_range = 4096;
    const auto plan = plan_split(caps, {.end_bit = 12, .max_count = 10});
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find("max_storage_range"), std::string::npos);
}

TEST(SplitPlan, ScratchGrowsWithTheCount) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        std::uint64_t before = 0;
        for (std::uint64_t count = 1; count < std::uint64_t{1} << 32; count *= 2) {
            for (const std::uint64_t near : {count - 1, count, count + 1}) {
                const auto plan =
                    plan_split(device.caps, {.value_bytes = 4, .end_bit = 12, .max_count = near});
                if (!plan) continue;
                EXPECT_GE(plan->argument(Role::scratch)->bytes, before) << near;
                before = plan->argument(Role::scratch)->bytes;
            }
        }
    }
}

TEST(SplitPlan, LimitsOfAnySize) {
    for (const std::uint32_t invocations : {32u, 128u, 768u}) {
        for (const std::uint32_t memory : {512u, 2048u, 16384u}) {
            for (const std::uint32_t groups : {1u, 7u, ~0u}) {
                Caps caps = described("all");
                caps.limits.max_workgroup_invocations = invocations;
                caps.limits.max_workgroup_size_x = invocations;
                caps.limits.max_workgroup_memory = memory;
                caps.limits.max_groups_x = groups;
                for (const Tier tier : kTiers) {
                    for (const std::uint64_t count : {1000u, 1u << 20}) {
                        expect_plan_or_reason(
                            caps,
                            {.value_bytes = 16, .end_bit = 9, .max_count = count, .tier = tier});
                    }
                }
            }
        }
    }
    EXPECT_FALSE(plan_split(Caps{}, {.end_bit = 4, .max_count = 10}));
}

RC_GTEST_PROP(SplitPlanProperties, KeepsToTheRules, ()) {
    const auto& devices = described_devices();
    const Caps& caps = devices[*rc::gen::inRange<std::size_t>(0, devices.size())].caps;
    SplitDesc desc;
    desc.key = *rc::gen::elementOf(std::vector<Scalar>(std::begin(kKeys), std::end(kKeys)));
    const std::uint32_t width = size_of(desc.key) * 8;
    desc.begin_bit = *rc::gen::inRange<std::uint32_t>(0, width + 1);
    desc.end_bit = *rc::gen::inRange<std::uint32_t>(0, width + 2);
    desc.indices = *rc::gen::arbitrary<bool>();
    desc.value_bytes = 4 * *rc::gen::inRange<std::uint32_t>(0, 5);
    desc.max_count = std::uint64_t{1} << *rc::gen::inRange(0, 33);
    desc.max_count -= *rc::gen::inRange<std::uint64_t>(0, 2);
    expect_plan_or_reason(caps, desc);
    RC_ASSERT(!::testing::Test::HasFailure());
}

std::span<const std::byte> bytes_of(const std::vector<std::uint32_t>& words) {
    return std::as_bytes(std::span(words));
}

// The reference, which the device tests believe, in so many words.
TEST(SplitReference, ByHand) {
    const std::vector<std::uint32_t> keys{0x21, 0x10, 0x23, 0x31, 0x12};
    const std::vector<std::uint32_t> values{1, 2, 3, 4, 5};
    SplitDesc desc{.value_bytes = 4, .begin_bit = 4, .end_bit = 6};
    SplitItems made = split_reference(desc, bytes_of(keys), bytes_of(values));
    const std::vector<std::uint32_t> keys_out{0x10, 0x12, 0x21, 0x23, 0x31};
    const std::vector<std::uint32_t> values_out{2, 5, 1, 3, 4};
    EXPECT_TRUE(std::ranges::equal(made.keys, bytes_of(keys_out)));
    EXPECT_TRUE(std::ranges::equal(made.values, bytes_of(values_out)));
    EXPECT_EQ(made.offsets, (std::vector<std::uint32_t>{0, 0, 2, 4, 5}));
    EXPECT_TRUE(split_matches(desc, bytes_of(keys), bytes_of(values), made));
    std::string why;
    ++made.offsets[1];
    EXPECT_FALSE(split_matches(desc, bytes_of(keys), bytes_of(values), made, &why));
    EXPECT_NE(why.find("offset 1"), std::string::npos) << why;
    desc.value_bytes = 0;
    desc.indices = true;
    made = split_reference(desc, bytes_of(keys));
    const std::vector<std::uint32_t> indices{1, 4, 0, 2, 3};
    EXPECT_TRUE(std::ranges::equal(made.values, bytes_of(indices)));
    made.values[0] = std::byte{7};
    EXPECT_FALSE(split_matches(desc, bytes_of(keys), {}, made, &why));
    EXPECT_NE(why.find("index 0"), std::string::npos) << why;
    made.keys[0] = std::byte{7};
    EXPECT_FALSE(split_matches(desc, bytes_of(keys), {}, made, &why));
    EXPECT_NE(why.find("key 0"), std::string::npos) << why;
    EXPECT_EQ(split_reference({.end_bit = 0}, {}).offsets, (std::vector<std::uint32_t>{0, 0}));
}

}  // namespace
}  // namespace lanewise::test
