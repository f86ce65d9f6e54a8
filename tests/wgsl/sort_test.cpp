// sort in WGSL, in the simulator: at every subgroup size, full and partial, with every strategy,
// against the serial reference, which some of the kernels in GLSL are held against, too.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "lanewise/sort.hpp"
#include "primitives/sort/sort_reference.hpp"
#include "tests/support/test_data.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

using simulator::Machine;

constexpr SortStrategy kStrategies[] = {SortStrategy::one_workgroup,
                                        SortStrategy::count_then_scatter, SortStrategy::look_back,
                                        SortStrategy::bitonic};
// Those of one workgroup, which sort one tile.
bool is_alone(SortStrategy strategy) {
    return strategy == SortStrategy::one_workgroup || strategy == SortStrategy::bitonic;
}
constexpr Tier kTiers[] = {Tier::portable, Tier::barrier};

constexpr std::uint32_t kItems = 3;

// Every bit pattern, or a few of them, so that the order of equal keys counts.
std::vector<std::byte> make_keys(Scalar key, std::size_t count, std::uint64_t seed) {
    Elements keys(key, count);
    for (std::size_t i = 0; i < count; ++i)
        keys.set(i, seed % 2 == 0 ? hash(seed, i) : hash(seed, hash(seed, i) % 13));
    return keys.bytes();
}

std::vector<std::byte> make_values(std::uint32_t bytes, std::size_t count) {
    std::vector<std::uint32_t> words(count * bytes / 4);
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = static_cast<std::uint32_t>(hash(i));
    const auto all = std::as_bytes(std::span(words));
    return {all.begin(), all.end()};
}

void expect_right(const Machine& machine, const SortDesc& desc, std::size_t count,
                  std::uint64_t seed, WgslRun run = {}) {
    const Caps caps = webgpu_caps(desc.tier == Tier::barrier ? 0 : machine.subgroup_size);
    const auto plan = plan_sort(caps, desc);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->tier, desc.tier.value_or(plan->tier));
    const bool packs = size_of(desc.key) < 4 && !desc.argsort && !is_alone(desc.policy->strategy);
    ASSERT_EQ(plan->passes.back().name == "sort_pack", packs);
    const std::vector<std::byte> keys = make_keys(desc.key, count, seed);
    const std::vector<std::byte> values = make_values(desc.value_bytes, count);
    run.values = values;
    const Sorted expected = sort_reference(desc, keys, values);
    // Both have to be as the reference is; those in GLSL have tests of their own.
    for (const bool built_in : {false, true}) {
        if (built_in && seed % 4 != 0) continue;
        run.built_in = built_in;
        const auto result = run_plan_with_values(machine, caps, *plan, keys, run);
        ASSERT_TRUE(result) << (built_in ? "GLSL" : "WGSL");
        std::string why;
        ASSERT_TRUE(sort_matches(desc, keys, values, result->output, result->values_out, &why))
            << (built_in ? "GLSL, " : "WGSL, ") << to_text(machine) << "\n"
            << to_text(*plan) << count << " items: " << why;
    }
}

std::vector<std::size_t> sizes_around(std::initializer_list<std::size_t> edges) {
    std::set<std::size_t> sizes{0, 1, 2, 3, 4, 5, 7};
    for (const std::size_t edge : edges) {
        for (const std::size_t size : {edge - 1, edge, edge + 1}) sizes.insert(size);
    }
    return {sizes.begin(), sizes.end()};
}

class WgslSort : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override {
        if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    }
    std::uint32_t size() const { return GetParam(); }
    std::uint32_t workgroup_size() const { return std::max(32u, size()); }
    std::size_t tile() const { return workgroup_size() * kItems; }
    // Small: a few hundred items cross many tiles and workgroups.
    SortDesc desc(Scalar key, SortStrategy strategy, Tier tier) const {
        SortDesc made{.key = key, .max_count = 7 * tile()};
        made.tier = tier;
        made.policy = SortPolicy{.strategy = strategy,
                                 .workgroup_size = workgroup_size(),
                                 .items = strategy == SortStrategy::bitonic ? 4 : kItems,
                                 .digit_bits = tier == Tier::barrier ? 4u : 6u,
                                 .max_groups = 4,
                                 .patience = 16};
        if (is_alone(strategy)) made.max_count = workgroup_size() * made.policy->items;
        return made;
    }
};

TEST_P(WgslSort, SizesAroundEdges) {
    for (const Tier tier : kTiers) {
        for (const SortStrategy strategy : kStrategies) {
            SortDesc sort = desc(Scalar::u32, strategy, tier);
            sort.begin_bit = 10;
            sort.end_bit = 20;
            std::uint64_t seed = 1;
            for (const std::size_t count :
                 sizes_around({size(), workgroup_size(), tile(), 6 * tile()})) {
                if (count > sort.max_count) continue;
                expect_right(wgsl_machines(size())[0], sort, count, ++seed,
                             {.options = {.subgroup_id = seed % 2 == 0}});
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(WgslSort, Machines) {
    for (const Machine& machine : wgsl_machines(size())) {
        for (const Tier tier : kTiers) {
            for (const SortStrategy strategy : kStrategies) {
                SortDesc sort = desc(Scalar::i16, strategy, tier);
                sort.value_bytes = 8;
                sort.order = SortOrder::descending;
                const bool subgroup_id = machine.seed % 2 == 0;
                for (const std::size_t count : {std::size_t{3}, tile() - 5, 4 * tile() + 7}) {
                    if (count > sort.max_count) continue;
                    expect_right(machine, sort, count, count,
                                 {.options = {.subgroup_id = subgroup_id}, .uses = 2});
                    if (HasFailure()) return;
                }
            }
        }
    }
}

TEST_P(WgslSort, CountInBuffer) {
    for (const Tier tier : kTiers) {
        for (const SortStrategy strategy : kStrategies) {
            SortDesc sort = desc(Scalar::u8, strategy, tier);
            sort.value_bytes = 4;
            for (const std::size_t count :
                 {std::size_t{0}, std::size_t{1}, tile() - 3, std::size_t{sort.max_count}}) {
                expect_right(wgsl_machines(size())[1], sort, count, count + 1,
                             {.count_in_buffer = true, .uses = 2, .earlier_counts = {77}});
                if (HasFailure()) return;
            }
        }
    }
}

// Both parities of the number of digits.
TEST_P(WgslSort, PingPong) {
    for (const Tier tier : kTiers) {
        for (const SortStrategy strategy : kStrategies) {
            for (const std::uint32_t end_bit : {4u, 8u}) {
                SortDesc sort = desc(end_bit == 4 ? Scalar::f32 : Scalar::i64, strategy, tier);
                sort.value_bytes = 12;
                sort.ping_pong = true;
                sort.end_bit = end_bit;
                sort.policy->digit_bits = 4;
                expect_right(wgsl_machines(size())[1], sort, tile() - 1, end_bit, {.uses = 3});
                if (HasFailure()) return;
            }
        }
    }
}

// A tile that publishes nothing is counted again by those who look back at it.
TEST_P(WgslSort, SilentTile) {
    for (const Tier tier : kTiers) {
        for (const std::uint32_t silent : {0u, 1u, 4u}) {
            SortDesc sort = desc(Scalar::u64, SortStrategy::look_back, tier);
            sort.begin_bit = 29;
            sort.end_bit = 37;
            sort.argsort = silent == 1;
            sort.policy->silent_tile = silent;
            sort.policy->patience = 3;
            expect_right(wgsl_machines(size())[2], sort, 6 * tile() + 5, silent, {.uses = 2});
            if (HasFailure()) return;
        }
    }
}

// Widths of digits, from one that no lane has a bin of its own for to none at all.
TEST_P(WgslSort, Bits) {
    const Machine machine = wgsl_machines(size())[3];
    std::uint64_t seed = 1;
    for (const Tier tier : kTiers) {
        for (const SortStrategy strategy : kStrategies) {
            for (const auto [begin, end, digit] :
                 {std::array{0u, 0u, 4u}, std::array{31u, 32u, 1u}, std::array{3u, 14u, 8u},
                  std::array{11u, 22u, 3u}, std::array{20u, 32u, 8u}}) {
                if (++seed % 3 != size() / 4 % 3) continue;
                SortDesc sort = desc(Scalar::f32, strategy, tier);
                sort.begin_bit = begin;
                sort.end_bit = end;
                sort.policy->digit_bits = std::min(digit, tier == Tier::barrier ? 4u : 8u);
                expect_right(machine, sort, tile() - 1, seed);
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(WgslSort, KeysAndValues) {
    const auto machines = wgsl_machines(size());
    std::uint64_t seed = 1;
    for (const Scalar key :
         {Scalar::u8, Scalar::i8, Scalar::u16, Scalar::i16, Scalar::u32, Scalar::i32, Scalar::u64,
          Scalar::i64, Scalar::f16, Scalar::f32, Scalar::f64}) {
        for (const std::uint32_t value_bytes : {0u, 4u, 8u, 12u, 16u, 1u}) {  // 1: argsort
            ++seed;
            // Each on one of the six sizes.
            if ((seed + seed / 6 + std::bit_width(size())) % 6 != 0) continue;
            const std::uint64_t choice = hash(seed, size());
            const Tier tier = kTiers[choice % 2];
            const SortStrategy strategy = kStrategies[choice / 2 % 4];
            SortDesc sort = desc(key, strategy, tier);
            sort.argsort = value_bytes == 1;
            sort.value_bytes = sort.argsort ? 0 : value_bytes;
            sort.order = choice / 8 % 2 == 0 ? SortOrder::ascending : SortOrder::descending;
            const Machine& machine = machines[choice / 32 % machines.size()];
            for (const std::size_t count :
                 {tile() - seed % 7, std::size_t{sort.max_count} - seed}) {
                if (count > sort.max_count) continue;
                expect_right(machine, sort, count, seed);
                if (HasFailure()) return;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WgslSort, testing::Values(4u, 8u, 16u, 32u, 64u, 128u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace lanewise::test
