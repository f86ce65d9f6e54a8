// plan_segmented_sort on described devices, and its reference against answers worked out by hand.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "primitives/segmented_sort/segmented_sort_reference.hpp"
#include "tests/unit/described_devices.hpp"
#include "tests/unit/plan_rules.hpp"

namespace lanewise::test {
namespace {

constexpr Scalar kKeys[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                            Scalar::f16, Scalar::u32, Scalar::i32, Scalar::f32,
                            Scalar::u64, Scalar::i64, Scalar::f64};
constexpr Tier kTiers[] = {Tier::pinned, Tier::portable, Tier::barrier};
constexpr Addressing kAddressings[] = {Addressing::descriptor, Addressing::device_address};
// Bytes of a value; 1 stands for argsort.
constexpr std::uint32_t kValues[] = {0, 4, 8, 12, 16, 1};

std::string text(const SegmentedSortDesc& desc) {
    return fmt::format("{} with {} bytes{}, bits {} to {}, {} items, tier {}, policy {}",
                       to_text(desc.key), desc.value_bytes, desc.argsort ? " of indices" : "",
                       desc.begin_bit, desc.end_bit ? std::to_string(*desc.end_bit) : "the end",
                       desc.max_count, desc.tier ? to_text(*desc.tier) : "auto",
                       desc.policy ? to_text(*desc.policy) : "auto");
}

bool has_buffers_for(const Caps& caps, const SegmentedSortDesc& desc) {
    const std::uint32_t most = desc.argsort || desc.value_bytes != 0 ? 8 : 5;
    return caps.device_addresses || caps.limits.max_storage_buffers >= most;
}

// A plan that keeps to all rules, or a refusal that says why. True where there is a plan.
bool expect_plan_or_reason(const Caps& caps, const SegmentedSortDesc& desc) {
    const auto plan = plan_segmented_sort(caps, desc);
    if (!plan) {
        EXPECT_FALSE(plan.error().message.empty()) << text(desc);
        EXPECT_EQ(plan.error().message.find('\n'), std::string::npos) << plan.error().message;
        return false;
    }
    for (const std::string& rule : broken_rules(*plan, caps))
        ADD_FAILURE() << text(desc) << ": " << rule << "\n" << to_text(*plan);
    EXPECT_EQ(plan->primitive, "segmented_sort");
    EXPECT_EQ(plan->max_count, desc.max_count);
    EXPECT_EQ(plan->element_bytes, size_of(desc.key));
    EXPECT_EQ(plan->result_bytes, desc.argsort ? 0 : size_of(desc.key));
    EXPECT_EQ(plan->value_bytes, desc.argsort ? 4 : desc.value_bytes);
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier));
    EXPECT_EQ(plan->addressing, desc.addressing.value_or(plan->addressing));
    EXPECT_EQ(plan->policy, desc.policy ? to_text(*desc.policy) : plan->policy);
    EXPECT_EQ(plan->result, Role::output);
    EXPECT_EQ(plan->passes.size(), size_of(desc.key) < 4 && !desc.argsort ? 3u : 2u);
    EXPECT_EQ(plan->passes[1].name, "segmented_sort_tiles");
    const auto constant = [](const Pass& pass, std::uint32_t id) {
        return std::ranges::find(pass.constants, id, &Constant::id)->value;
    };
    // Windows are half a tile, and sort_pack goes by windows.
    EXPECT_EQ(2 * plan->share.tile_items,
              plan->passes[1].workgroup_size * constant(plan->passes[1], 1));
    if (plan->passes.size() == 3) {
        EXPECT_EQ(plan->share.tile_items,
                  plan->passes[2].workgroup_size * constant(plan->passes[2], 1));
    }
    const Argument* offsets = plan->argument(Role::offsets);
    EXPECT_TRUE(offsets != nullptr && offsets->access == Access::read && offsets->bytes == 4);
    return true;
}

void expect_refused(const SegmentedSortDesc& desc, ErrorCode code,
                    std::initializer_list<const char*> words) {
    const auto plan = plan_segmented_sort(described("all"), desc);
    ASSERT_FALSE(plan) << text(desc);
    EXPECT_EQ(plan.error().code, code) << plan.error().message;
    EXPECT_TRUE(plan.error().message.starts_with("segmented_sort: ")) << plan.error().message;
    for (const char* word : words) {
        EXPECT_NE(plan.error().message.find(word), std::string::npos)
            << "no '" << word << "' in: " << plan.error().message;
    }
}

TEST(SegmentedSortPlan, EveryRequestOnEveryDevice) {
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
                        SegmentedSortDesc desc{
                            .key = key,
                            .value_bytes = values == 1 ? 0 : values,
                            .argsort = values == 1,
                            .order = form % 2 == 0 ? SortOrder::ascending : SortOrder::descending,
                            .max_count = form % 3 == 0 ? 300u : 1u << 22,
                            .tier = tier,
                            .addressing = addressing};
                        if (form % 4 == 0) desc.end_bit = size_of(key) * 4;
                        if (form % 5 == 0) desc.policy = SegmentedSortPolicy{128, 4, 4, 7};
                        plans += expect_plan_or_reason(device.caps, desc) ? 1 : 0;
                    }
                }
            }
        }
        // A device of 4 storage buffers and no addresses can do nothing.
        if (has_buffers_for(device.caps, {})) {
            EXPECT_GT(plans, 0);
        }
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(SegmentedSortPlan, TheBarrierTierRunsWhereThereAreBuffers) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const Scalar key : kKeys) {
            for (const std::uint32_t values : kValues) {
                const SegmentedSortDesc desc{.key = key,
                                             .value_bytes = values == 1 ? 0 : values,
                                             .argsort = values == 1,
                                             .max_count = 1u << 20,
                                             .tier = Tier::barrier};
                EXPECT_EQ(expect_plan_or_reason(device.caps, desc),
                          has_buffers_for(device.caps, desc))
                    << text(desc);
            }
        }
    }
}

TEST(SegmentedSortPlan, RefusalsSayWhy) {
    expect_refused({.value_bytes = 5, .max_count = 10}, ErrorCode::bad_argument, {"5"});
    expect_refused({.value_bytes = 4, .argsort = true, .max_count = 10}, ErrorCode::bad_argument,
                   {"argsort", "4"});
    expect_refused({.begin_bit = 9, .end_bit = 5, .max_count = 10}, ErrorCode::bad_argument,
                   {"begin_bit 9", "end_bit 5"});
    expect_refused({.end_bit = 33, .max_count = 10}, ErrorCode::bad_argument, {"33", "32 bits"});
    expect_refused({.max_count = std::uint64_t{1} << 32}, ErrorCode::limit_exceeded, {"max_count"});
    expect_refused({.value_bytes = 16, .max_count = std::uint64_t{1} << 30},
                   ErrorCode::limit_exceeded, {"4 words"});
    const auto refused = [](SegmentedSortPolicy policy, Tier tier, ErrorCode code,
                            std::initializer_list<const char*> words) {
        expect_refused({.max_count = 5000, .tier = tier, .policy = policy}, code, words);
    };
    constexpr ErrorCode kBad = ErrorCode::bad_argument;
    refused({63, 8, 8, 9}, Tier::portable, kBad, {"workgroup_size 63"});
    refused({2048, 8, 8, 9}, Tier::portable, kBad, {"workgroup_size 2048"});
    refused({64, 3, 8, 9}, Tier::portable, kBad, {"items 3", "even"});
    refused({64, 0, 8, 9}, Tier::portable, kBad, {"items 0"});
    refused({64, 34, 8, 9}, Tier::portable, kBad, {"items 34"});
    refused({64, 8, 9, 9}, Tier::portable, kBad, {"digit_bits 9"});
    refused({64, 8, 0, 9}, Tier::portable, kBad, {"digit_bits 0"});
    refused({64, 8, 5, 9}, Tier::barrier, kBad, {"digit_bits 5", "barrier"});
    refused({64, 8, 4, 0}, Tier::barrier, kBad, {"max_groups"});
    Caps caps = described("all");
    caps.limits.max_workgroup_memory = 4096;
    const auto plan =
        plan_segmented_sort(caps, {.max_count = 10, .policy = SegmentedSortPolicy{256, 8, 4, 9}});
    ASSERT_FALSE(plan);
    EXPECT_NE(plan.error().message.find("workgroup memory"), std::string::npos);
    const auto bindings = plan_segmented_sort(described("webgpu-minimum"), {.max_count = 10});
    EXPECT_TRUE(bindings) << bindings.error().message;
}

TEST(SegmentedSortPlan, PoliciesPrintAndCompare) {
    const SegmentedSortPolicy policy{64, 4, 4, 7};
    for (const SegmentedSortPolicy& other :
         {SegmentedSortPolicy{32, 4, 4, 7}, SegmentedSortPolicy{64, 2, 4, 7},
          SegmentedSortPolicy{64, 4, 3, 7}, SegmentedSortPolicy{64, 4, 4, 8}}) {
        EXPECT_NE(other, policy);
        EXPECT_NE(to_text(other), to_text(policy));
    }
}

// Places for segments that are longer than a tile are there from where there can be such.
TEST(SegmentedSortPlan, ScratchGrowsWithTheCount) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        for (const bool values : {false, true}) {
            std::uint64_t before = 0;
            for (std::uint64_t count = 1; count < std::uint64_t{1} << 32; count *= 2) {
                for (const std::uint64_t near : {count - 1, count, count + 1}) {
                    const auto plan = plan_segmented_sort(
                        device.caps, {.value_bytes = values ? 4u : 0u, .max_count = near});
                    if (!plan) continue;
                    const std::uint64_t bytes = plan->argument(Role::scratch)->bytes;
                    EXPECT_GE(bytes, before) << near;
                    if (near > 2 * plan->share.tile_items) {
                        EXPECT_GE(bytes, near * (values ? 8 : 4));
                    }
                    before = bytes;
                }
            }
        }
    }
}

TEST(SegmentedSortPlan, LimitsOfAnySize) {
    for (const std::uint32_t invocations : {32u, 128u, 768u}) {
        for (const std::uint32_t memory : {512u, 2048u, 16384u}) {
            for (const std::uint32_t groups : {1u, 7u, ~0u}) {
                Caps caps = described("all");
                caps.limits.max_workgroup_invocations = invocations;
                caps.limits.max_workgroup_size_x = invocations;
                caps.limits.max_workgroup_memory = memory;
                caps.limits.max_groups_x = groups;
                for (const Tier tier : kTiers) {
                    for (const Scalar key : {Scalar::u32, Scalar::i64}) {
                        for (const std::uint64_t count : {1000u, 1u << 20}) {
                            const SegmentedSortDesc desc{
                                .key = key, .value_bytes = 16, .max_count = count, .tier = tier};
                            // 512 bytes are below what any API guarantees; 16 KiB they all do.
                            EXPECT_TRUE(expect_plan_or_reason(caps, desc) || memory < 16384 ||
                                        (tier == Tier::pinned && invocations < 128))
                                << text(desc);
                        }
                    }
                }
            }
        }
    }
    EXPECT_FALSE(plan_segmented_sort(Caps{}, {.max_count = 10}));
}

RC_GTEST_PROP(SegmentedSortPlanProperties, KeepsToTheRules, ()) {
    const auto& devices = described_devices();
    const Caps& caps = devices[*rc::gen::inRange<std::size_t>(0, devices.size())].caps;
    SegmentedSortDesc desc;
    desc.key = *rc::gen::elementOf(std::vector<Scalar>(std::begin(kKeys), std::end(kKeys)));
    const std::uint32_t width = size_of(desc.key) * 8;
    desc.begin_bit = *rc::gen::inRange<std::uint32_t>(0, width + 1);
    desc.end_bit = *rc::gen::inRange<std::uint32_t>(0, width + 2);
    desc.argsort = *rc::gen::arbitrary<bool>();
    desc.value_bytes = 4 * *rc::gen::inRange<std::uint32_t>(0, 5);
    desc.max_count = std::uint64_t{1} << *rc::gen::inRange(0, 33);
    desc.max_count -= *rc::gen::inRange<std::uint64_t>(0, 2);
    if (*rc::gen::arbitrary<bool>()) {
        desc.policy = SegmentedSortPolicy{
            1u << *rc::gen::inRange(1, 12), *rc::gen::inRange<std::uint32_t>(0, 34),
            *rc::gen::inRange<std::uint32_t>(0, 10), *rc::gen::inRange<std::uint32_t>(0, 2000)};
    }
    expect_plan_or_reason(caps, desc);
    RC_ASSERT(!::testing::Test::HasFailure());
}

using U32 = std::vector<std::uint32_t>;

std::span<const std::byte> bytes_of(const U32& words) { return std::as_bytes(std::span(words)); }

// The reference, which the device tests believe, in so many words.
TEST(SegmentedSortReference, ByHand) {
    const U32 keys{9, 8, 30, 20, 10, 5, 21, 1, 5, 2, 4, 3};
    const U32 offsets{2, 5, 5, 6, 10};
    SegmentedSortDesc desc;
    const auto keys_of = [&](const U32& at) {
        const Sorted made = segmented_sort_reference(desc, bytes_of(keys), {}, at);
        U32 words(made.keys.size() / 4);
        std::memcpy(words.data(), made.keys.data(), made.keys.size());
        return words;
    };
    EXPECT_EQ(keys_of(offsets), (U32{9, 8, 10, 20, 30, 5, 1, 2, 5, 21, 4, 3}));
    EXPECT_EQ(keys_of({}), keys);
    EXPECT_EQ(keys_of({7}), keys);
    EXPECT_EQ(keys_of({0, 2, 99}), (U32{8, 9, 1, 2, 3, 4, 5, 5, 10, 20, 21, 30}));
    desc.order = SortOrder::descending;
    EXPECT_EQ(keys_of(offsets), (U32{9, 8, 30, 20, 10, 5, 21, 5, 2, 1, 4, 3}));
    // By bits that many keys share: they stay in order.
    desc.begin_bit = 4;
    EXPECT_EQ(keys_of(offsets), (U32{9, 8, 30, 20, 10, 5, 21, 1, 5, 2, 4, 3}));
    desc.order = SortOrder::ascending;
    EXPECT_EQ(keys_of(offsets), (U32{9, 8, 10, 30, 20, 5, 1, 5, 2, 21, 4, 3}));
    desc.argsort = true;
    const U32 order{0, 1, 4, 2, 3, 5, 7, 8, 9, 6, 10, 11};
    std::string why;
    EXPECT_TRUE(segmented_sort_matches(desc, bytes_of(keys), {}, offsets, {}, bytes_of(order)));
    EXPECT_FALSE(
        segmented_sort_matches(desc, bytes_of(keys), {}, offsets, {}, bytes_of(keys), &why));
    EXPECT_NE(why.find("index 0"), std::string::npos) << why;
}

}  // namespace
}  // namespace lanewise::test
