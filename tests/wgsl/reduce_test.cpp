// reduce in WGSL, in the simulator: at every subgroup size, full and partial, against the serial
// reference, and bit by bit against the kernels in GLSL.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>

#include "lanewise/reduce.hpp"
#include "primitives/reduce/reduce_reference.hpp"
#include "tests/support/test_data.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

using simulator::Machine;

// Small: a few thousand items cross many tiles and workgroups.
ReducePolicy small_policy(ReduceStrategy strategy, std::uint32_t w, std::uint32_t vectors = 2,
                          std::uint32_t max_groups = 7) {
    ReducePolicy policy;
    policy.strategy = strategy;
    policy.workgroup_size = w;
    policy.vectors = vectors;
    policy.max_groups = max_groups;
    return policy;
}

bool adds(Operator op) { return op == Operator::sum || op == Operator::product; }

void expect_right(const Machine& machine, const ReduceDesc& desc, std::size_t count,
                  std::uint64_t seed, const WgslRun& run = {}) {
    const Caps caps = webgpu_caps(desc.tier == Tier::barrier ? 0 : machine.subgroup_size);
    const auto plan = plan_reduce(caps, desc);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->tier, desc.tier.value_or(plan->tier));
    // NaN, infinities and zeros of both signs in every other run.
    const Elements data =
        make_elements(desc.element, desc.op, count, seed,
                      seed % 2 == 0 && !adds(desc.op) ? FloatData::special : FloatData::exact);
    const auto output = run_plan(machine, caps, *plan, data.bytes(), run);
    ASSERT_TRUE(output);
    std::string why;
    EXPECT_TRUE(reduce_matches(desc, data.bytes(), *output, &why, reduce_depth(*plan, count)))
        << to_text(machine) << "\n"
        << to_text(*plan) << count << " items: " << why;
    WgslRun built_in = run;
    built_in.built_in = true;
    EXPECT_EQ(output, run_plan(machine, caps, *plan, data.bytes(), built_in))
        << "GLSL and WGSL differ on " << to_text(machine) << "\n"
        << to_text(*plan) << count << " items";
}

std::vector<std::size_t> sizes_around(std::initializer_list<std::size_t> edges) {
    std::set<std::size_t> sizes{0, 1, 2, 3, 4, 5, 7};
    for (const std::size_t edge : edges) {
        for (const std::size_t size : {edge - 1, edge, edge + 1}) sizes.insert(size);
    }
    return {sizes.begin(), sizes.end()};
}

class WgslReduce : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override {
        if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    }
    std::uint32_t size() const { return GetParam(); }
    std::uint32_t workgroup_size() const { return std::max(64u, size()); }
    ReduceDesc desc(Scalar element, Operator op, ReduceStrategy strategy, Tier tier) const {
        ReduceDesc made{.element = element, .op = op};
        made.max_count = 20000;
        made.tier = tier;
        made.policy = small_policy(strategy, workgroup_size());
        return made;
    }
};

constexpr ReduceStrategy kStrategies[] = {ReduceStrategy::one_workgroup, ReduceStrategy::two_pass};
constexpr Tier kTiers[] = {Tier::portable, Tier::barrier};

TEST_P(WgslReduce, SizesAroundEdges) {
    const std::size_t w = workgroup_size();
    const std::size_t tile = w * 2 * 4;
    for (const Tier tier : kTiers) {
        for (const ReduceStrategy strategy : kStrategies) {
            const ReduceDesc sum = desc(Scalar::u32, Operator::sum, strategy, tier);
            std::uint64_t seed = 1;
            for (const std::size_t count :
                 sizes_around({size(), w, 4 * w, tile, 3 * tile, 7 * tile, 14 * tile})) {
                expect_right(wgsl_machines(size())[0], sum, count, ++seed,
                             {.options = {.subgroup_id = seed % 2 == 0}});
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(WgslReduce, Machines) {
    for (const Machine& machine : wgsl_machines(size())) {
        for (const Tier tier : kTiers) {
            for (const bool subgroup_id : {false, true}) {
                for (const std::size_t count :
                     {std::size_t{3}, std::size_t{997}, std::size_t{9001}}) {
                    expect_right(machine,
                                 desc(Scalar::u32, Operator::sum, ReduceStrategy::two_pass, tier),
                                 count, count, {.options = {.subgroup_id = subgroup_id}});
                    expect_right(
                        machine,
                        desc(Scalar::f32, Operator::argmin, ReduceStrategy::two_pass, tier), count,
                        count, {.options = {.subgroup_id = subgroup_id}});
                    if (HasFailure()) return;
                }
            }
        }
    }
}

TEST_P(WgslReduce, CountInBuffer) {
    for (const Tier tier : kTiers) {
        for (const ReduceStrategy strategy : kStrategies) {
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5003}}) {
                expect_right(wgsl_machines(size())[1],
                             desc(Scalar::u32, Operator::sum, strategy, tier), count, count + 1,
                             {.count_in_buffer = true, .uses = 2});
                // Several dispatches, of which some are not needed.
                ReduceDesc many = desc(Scalar::i16, Operator::min, strategy, tier);
                many.policy->max_items_per_dispatch = 2048;
                expect_right(wgsl_machines(size())[1], many, count, count + 1,
                             {.count_in_buffer = true});
                expect_right(wgsl_machines(size())[1], many, count, count + 1);
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(WgslReduce, TypesAndOperators) {
    const auto machines = wgsl_machines(size());
    std::uint64_t seed = 1;
    int plans = 0;
    for (const Scalar element :
         {Scalar::u8, Scalar::i8, Scalar::u16, Scalar::i16, Scalar::u32, Scalar::i32, Scalar::u64,
          Scalar::i64, Scalar::f16, Scalar::f32, Scalar::f64}) {
        for (const Operator op :
             {Operator::sum, Operator::product, Operator::min, Operator::max, Operator::bit_and,
              Operator::bit_or, Operator::bit_xor, Operator::argmin, Operator::argmax}) {
            const Scalar wide = is_float(element)            ? Scalar::f64
                                : is_signed_integer(element) ? Scalar::i64
                                                             : Scalar::u64;
            for (const std::optional<Scalar> accumulator :
                 {std::optional<Scalar>(), std::optional(wide)}) {
                ++seed;
                // Each on one of the six sizes.
                if ((seed + std::bit_width(size())) % 6 != 0) continue;
                const Tier tier = seed % 2 == 0 ? Tier::portable : Tier::barrier;
                ReduceDesc made = desc(element, op, kStrategies[seed / 2 % 2], tier);
                made.accumulator = accumulator;
                const Machine& machine = machines[seed % machines.size()];
                if (!plan_reduce(webgpu_caps(size()), made)) continue;  // no such operator, or f64
                ++plans;
                for (const std::size_t count : {seed % 3, 1000 + seed, std::uint64_t{4999}}) {
                    expect_right(machine, made, count, seed);
                    if (HasFailure()) return;
                }
            }
        }
    }
    EXPECT_GE(plans, 18);
}

// Nothing but NaNs of all kinds: the first of them.
TEST_P(WgslReduce, NothingButNan) {
    for (const Scalar element : {Scalar::f16, Scalar::f32, Scalar::f64}) {
        for (const Operator op : {Operator::argmin, Operator::argmax, Operator::min}) {
            const ReduceDesc made = desc(element, op, ReduceStrategy::two_pass, Tier::portable);
            const Caps caps = webgpu_caps(size());
            const auto plan = plan_reduce(caps, made);
            ASSERT_TRUE(plan) << plan.error().message;
            Elements data(element, 777);
            const std::uint64_t sign = std::uint64_t{1} << (8 * size_of(element) - 1);
            for (std::size_t i = 0; i < data.count(); ++i) {
                const std::uint64_t h = hash(size(), i);
                data.set(i, nan_bits(element) | (h & 255) | (h & 256 ? sign : 0));
            }
            const auto output = run_plan(wgsl_machines(size())[1], caps, *plan, data.bytes());
            ASSERT_TRUE(output);
            std::string why;
            EXPECT_TRUE(reduce_matches(made, data.bytes(), *output, &why, reduce_depth(*plan, 777)))
                << why;
        }
    }
}

TEST_P(WgslReduce, DefaultPolicy) {
    for (const Tier tier : kTiers) {
        for (const std::size_t count : {std::size_t{100}, std::size_t{70001}}) {
            ReduceDesc sum{.element = Scalar::i32, .op = Operator::max};
            sum.max_count = count;
            sum.tier = tier;
            expect_right(wgsl_machines(size())[0], sum, count, 5);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, WgslReduce, testing::Values(4u, 8u, 16u, 32u, 64u, 128u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace lanewise::test
