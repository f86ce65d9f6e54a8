// top_k in WGSL, in the simulator: at every subgroup size, full and partial, with every strategy.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "lanewise/top_k.hpp"
#include "primitives/top_k/top_k_reference.hpp"
#include "tests/support/test_data.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

using simulator::Machine;

constexpr Tier kTiers[] = {Tier::portable, Tier::barrier};
constexpr std::uint32_t kItems = 2;

void expect_right(const Machine& machine, const TopKDesc& desc, std::size_t count,
                  std::uint64_t seed, WgslRun run = {}) {
    const Caps caps = webgpu_caps(desc.tier == Tier::barrier ? 0 : machine.subgroup_size);
    const auto plan = plan_top_k(caps, desc);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->tier, desc.tier.value_or(plan->tier));
    Elements keys(desc.key, count);
    for (std::size_t i = 0; i < count; ++i)
        keys.set(i, seed % 2 == 0 ? hash(seed, i) : hash(seed, hash(seed, i) % 13));
    std::vector<std::uint32_t> words(count * desc.value_bytes / 4);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(hash(i));
    const auto values = std::as_bytes(std::span(words));
    run.values = values;
    const auto result = run_plan_with_values(machine, caps, *plan, keys.bytes(), run);
    ASSERT_TRUE(result);
    std::string why;
    ASSERT_TRUE(top_k_matches(desc, keys.bytes(), values, result->output, result->values_out, &why))
        << to_text(machine) << "\n"
        << to_text(*plan) << count << " items: " << why;
}

class WgslTopK : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override {
        if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    }
    std::uint32_t workgroup_size() const { return std::max(32u, GetParam()); }
    std::size_t tile() const { return workgroup_size() * kItems; }
    // Small: a few hundred items cross many tiles and workgroups.
    TopKDesc desc(Scalar key, TopKStrategy strategy, SortStrategy sort, Tier tier) const {
        TopKDesc made{.key = key, .k = 20, .max_count = 7 * tile(), .tier = tier};
        TopKPolicy policy{.strategy = strategy,
                          .workgroup_size = workgroup_size(),
                          .items = kItems,
                          .digit_bits = 7,
                          .max_groups = 3};
        policy.sort = {sort, workgroup_size(), kItems, tier == Tier::barrier ? 4u : 6u, 3};
        made.policy = policy;
        if (strategy == TopKStrategy::one_workgroup) made.max_count = tile();
        return made;
    }
};

TEST_P(WgslTopK, KeysAndValues) {
    std::uint64_t seed = 1;
    for (const Machine& machine : wgsl_machines(GetParam())) {
        for (const Tier tier : kTiers) {
            for (const SortStrategy sort :
                 {SortStrategy::one_workgroup, SortStrategy::count_then_scatter,
                  SortStrategy::bitonic}) {
                const Scalar key = std::array{Scalar::u64, Scalar::f32, Scalar::i8}[seed % 3];
                TopKDesc top = desc(key, TopKStrategy::select, sort, tier);
                top.order = seed % 2 == 0 ? SortOrder::descending : SortOrder::ascending;
                top.indices = seed % 4 == 0;
                top.value_bytes = top.indices ? 0 : std::uint32_t(seed % 5 * 4);
                if (sort == SortStrategy::count_then_scatter) top.k = 3 * tile() - 1;
                for (const std::size_t count : {std::size_t{5}, tile(), 6 * tile() + 3}) {
                    expect_right(machine, top, count, ++seed, {.uses = 2});
                    if (HasFailure()) return;
                }
            }
        }
    }
}

TEST_P(WgslTopK, OneWorkgroupAndCountInBuffer) {
    std::uint64_t seed = 2;
    for (const Tier tier : kTiers) {
        for (const TopKStrategy strategy : {TopKStrategy::one_workgroup, TopKStrategy::select}) {
            TopKDesc top = desc(Scalar::i16, strategy, SortStrategy::one_workgroup, tier);
            top.indices = true;
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, tile() - 1}) {
                expect_right(wgsl_machines(GetParam())[1], top, count, ++seed,
                             {.count_in_buffer = true, .uses = 2, .earlier_counts = {9}});
                if (HasFailure()) return;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WgslTopK, testing::Values(4u, 8u, 16u, 32u, 64u, 128u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace lanewise::test
