// scan in WGSL, in the simulator: at every subgroup size, full and partial, with every strategy,
// against the serial reference, and bit by bit against the kernels in GLSL.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <set>

#include "lanewise/scan.hpp"
#include "primitives/scan/scan_reference.hpp"
#include "tests/support/test_data.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

using simulator::Machine;

// Small: a few thousand items cross many tiles and workgroups.
ScanPolicy small_policy(ScanStrategy strategy, std::uint32_t w, std::uint32_t max_groups = 7) {
    ScanPolicy policy;
    policy.strategy = strategy;
    policy.workgroup_size = w;
    policy.vectors = 2;
    policy.max_groups = max_groups;
    policy.ahead = strategy == ScanStrategy::reduce_ahead ? 3 : 0;
    policy.patience = 16;
    return policy;
}

bool looks_back(ScanStrategy strategy) {
    return strategy == ScanStrategy::look_back || strategy == ScanStrategy::reduce_ahead;
}

bool adds(Operator op) { return op == Operator::sum || op == Operator::product; }

void expect_right(const Machine& machine, const ScanDesc& desc, std::size_t count,
                  std::uint64_t seed, const WgslRun& run = {}, std::uint32_t most_epochs = 0) {
    const Caps caps = webgpu_caps(desc.tier == Tier::barrier ? 0 : machine.subgroup_size);
    auto plan = plan_scan(caps, desc);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->tier, desc.tier.value_or(plan->tier));
    // NaN, infinities and zeros of both signs in every other run.
    const Elements data =
        make_elements(desc.element, desc.op, count, seed,
                      seed % 2 == 0 && !adds(desc.op) ? FloatData::special : FloatData::exact);
    if (most_epochs != 0) {
        for (Pass& pass : plan->passes) {
            for (Constant& constant : pass.constants) {
                if (constant.name == "most_epochs") constant.value = most_epochs;
            }
        }
    }
    const auto output = run_plan(machine, caps, *plan, data.bytes(), run);
    ASSERT_TRUE(output);
    std::string why;
    EXPECT_TRUE(scan_matches(desc, data.bytes(), *output, &why, &*plan))
        << to_text(machine) << "\n"
        << to_text(*plan) << count << " items: " << why;
    // Sums of floats that look back come out in the order of who was quick.
    if (is_float(desc.element) && looks_back(desc.policy->strategy)) return;
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

constexpr ScanStrategy kStrategies[] = {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan,
                                        ScanStrategy::look_back, ScanStrategy::reduce_ahead};
constexpr Tier kTiers[] = {Tier::portable, Tier::barrier};

class WgslScan : public testing::TestWithParam<std::uint32_t> {
protected:
    void SetUp() override {
        if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    }
    std::uint32_t size() const { return GetParam(); }
    std::uint32_t workgroup_size() const { return std::max(32u, size()); }
    ScanDesc desc(Scalar element, Operator op, ScanStrategy strategy, Tier tier) const {
        ScanDesc made{.element = element, .op = op};
        made.max_count = 12000;
        made.tier = tier;
        made.determinism = looks_back(strategy) ? Determinism::unordered : Determinism::run_to_run;
        made.policy = small_policy(strategy, workgroup_size());
        return made;
    }
};

TEST_P(WgslScan, SizesAroundEdges) {
    const std::size_t w = workgroup_size();
    const std::size_t tile = w * 2 * 4;
    for (const Tier tier : kTiers) {
        for (const ScanStrategy strategy : kStrategies) {
            const ScanDesc sum = desc(Scalar::u32, Operator::sum, strategy, tier);
            std::uint64_t seed = 1;
            for (const std::size_t count : sizes_around({size(), w, tile, 3 * tile, 9 * tile})) {
                expect_right(wgsl_machines(size())[0], sum, count, ++seed,
                             {.options = {.subgroup_id = seed % 2 == 0}});
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(WgslScan, Machines) {
    for (const Machine& machine : wgsl_machines(size())) {
        for (const Tier tier : kTiers) {
            for (const ScanStrategy strategy : kStrategies) {
                ScanDesc sum = desc(Scalar::i32, Operator::sum, strategy, tier);
                sum.kind = ScanKind::exclusive;
                sum.direction = Direction::reverse;
                sum.initial = 77;
                const bool subgroup_id = machine.seed % 2 == 0;
                for (const std::size_t count : {std::size_t{3}, std::size_t{3001}}) {
                    expect_right(machine, sum, count, count,
                                 {.options = {.subgroup_id = subgroup_id}, .uses = 2});
                    if (HasFailure()) return;
                }
            }
        }
    }
}

TEST_P(WgslScan, CountInBuffer) {
    for (const Tier tier : kTiers) {
        for (const ScanStrategy strategy : kStrategies) {
            for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{4003}}) {
                expect_right(wgsl_machines(size())[1],
                             desc(Scalar::u16, Operator::sum, strategy, tier), count, count + 1,
                             {.count_in_buffer = true, .uses = 2});
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(WgslScan, InPlace) {
    for (const Tier tier : kTiers) {
        for (const ScanStrategy strategy :
             {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan}) {
            for (const Scalar element : {Scalar::u32, Scalar::i64}) {
                for (const std::size_t count :
                     {std::size_t{1}, std::size_t{30}, std::size_t{3001}}) {
                    expect_right(wgsl_machines(size())[1],
                                 desc(element, Operator::sum, strategy, tier), count, count,
                                 {.options = {.in_place = true}, .uses = 2});
                    if (HasFailure()) return;
                }
            }
        }
    }
}

// A tile that publishes nothing is summed again by those who look back at it.
TEST_P(WgslScan, SilentTile) {
    for (const Tier tier : kTiers) {
        for (const ScanStrategy strategy : {ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
            for (const std::uint32_t silent : {0u, 1u, 5u}) {
                ScanDesc sum = desc(Scalar::u64, Operator::sum, strategy, tier);
                sum.policy->silent_tile = silent;
                sum.policy->patience = 3;
                expect_right(wgsl_machines(size())[2], sum, 4001, silent, {.uses = 2});
                if (HasFailure()) return;
            }
        }
    }
}

// Uses of one state, with so few epochs that they begin again, and words of tiles that lie about
// from an earlier one of them.
TEST_P(WgslScan, EpochsBeginAgain) {
    for (const ScanStrategy strategy : {ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
        const ScanDesc sum = desc(Scalar::u32, Operator::sum, strategy, Tier::barrier);
        for (const std::size_t count : {std::size_t{500}, std::size_t{9001}}) {
            expect_right(wgsl_machines(size())[1], sum, count, count, {.uses = 7}, 2);
            expect_right(wgsl_machines(size())[1], sum, count, count,
                         {.count_in_buffer = true, .earlier_counts = {9001, 100}}, 2);
        }
    }
}

TEST_P(WgslScan, TypesAndOperators) {
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
                const std::uint64_t choice = hash(seed, size());
                const Tier tier = choice % 2 == 0 ? Tier::portable : Tier::barrier;
                ScanDesc made = desc(element, op, kStrategies[choice / 2 % 4], tier);
                made.accumulator = accumulator;
                made.kind = choice / 8 % 2 == 0 ? ScanKind::inclusive : ScanKind::exclusive;
                made.direction = choice / 16 % 2 == 0 ? Direction::forward : Direction::reverse;
                const Caps caps = webgpu_caps(size());
                if (!plan_scan(caps, made)) {
                    made.policy = small_policy(ScanStrategy::reduce_then_scan, workgroup_size());
                    made.determinism = Determinism::run_to_run;
                }
                if (!plan_scan(caps, made)) continue;  // no such operator, or f64
                ++plans;
                const Machine& machine = machines[choice / 32 % machines.size()];
                for (const std::size_t count : {1 + seed % 3, 600 + seed, std::uint64_t{2999}}) {
                    expect_right(machine, made, count, seed);
                    if (HasFailure()) return;
                }
            }
        }
    }
    EXPECT_GE(plans, 18);
}

INSTANTIATE_TEST_SUITE_P(Sizes, WgslScan, testing::Values(4u, 8u, 16u, 32u, 64u, 128u),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace lanewise::test
