// reduce on machines that nobody here owns: reduce_tiles, reduce_partials and count_to_groups at
// every subgroup size, full and partial, with lanes in any order and hostile schedules, against the
// serial reference; and no fault of any kind.

#include <cstdlib>
#include <map>

#include "lanewise/reduce.hpp"
#include "lanewise/simulator.hpp"
#include "primitives/reduce/reduce_reference.hpp"
#include "tests/simulator/support.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

using namespace simulator;

constexpr std::uint32_t kSizes[] = {4, 8, 16, 32, 64, 128};

std::string faults_text(const Report& report) {
    std::string text;
    for (const Fault& fault : report.faults) text += to_text(fault) + "\n";
    return text;
}

// Small: a few thousand items cross many tiles and workgroups.
ReducePolicy tiny_policy(ReduceStrategy strategy, std::uint32_t workgroup_size,
                         std::uint32_t vectors = 1, std::uint32_t max_groups = 7) {
    ReducePolicy policy;
    policy.strategy = strategy;
    policy.workgroup_size = workgroup_size;
    policy.vectors = vectors;
    policy.max_groups = max_groups;
    return policy;
}

// The kernels of another build, where the environment names their folder (tools/mutate_kernels.py).
std::span<const std::uint32_t> kernel_of_folder(std::string_view kernel, void*) {
    static std::map<std::string, std::vector<std::uint32_t>> modules;
    const char* folder = std::getenv("LANEWISE_TEST_KERNELS");
    const std::string name(kernel);
    auto found = modules.find(name);
    if (found == modules.end())
        found = modules.emplace(name, read_words(std::filesystem::path(folder) / (name + ".spv")))
                    .first;
    return found->second;
}

Result<simulator::Executable> compiled(const simulator::Device& device, const Plan& plan) {
    if (std::getenv("LANEWISE_TEST_KERNELS") != nullptr)
        return device.compile(plan, &kernel_of_folder, nullptr);
    return device.compile(plan);
}

struct Run {
    bool count_in_buffer = false;
    bool may_be_unfinished =
        false;  // a workgroup that never runs: faults are looked at, not the result
};

void expect_right(const Machine& machine, const ReduceDesc& desc, std::size_t count,
                  std::uint64_t seed, const Run& run = {}) {
    const auto device = simulator::Device::create(machine);
    ASSERT_TRUE(device) << device.error().message;
    const auto plan = plan_reduce(device->caps(), desc);
    ASSERT_TRUE(plan) << plan.error().message;
    ASSERT_EQ(plan->tier, desc.tier.value_or(plan->tier));
    const auto executable = compiled(*device, *plan);
    ASSERT_TRUE(executable) << executable.error().message << "\n" << to_text(*plan);

    const Elements data = make_elements(desc.element, desc.op, count, seed);
    std::vector<std::byte> input(plan->argument(Role::input)->bytes);
    Elements tail(desc.element, input.size() / size_of(desc.element));
    for (std::size_t i = 0; i < tail.count(); ++i)
        tail.set(i, hostile_bits(desc.element, desc.op, i));
    std::copy(tail.bytes().begin(), tail.bytes().end(), input.begin());
    std::copy(data.bytes().begin(), data.bytes().end(), input.begin());
    std::vector<std::byte> output(plan->argument(Role::output)->bytes, std::byte{0xab});
    std::vector<std::byte> scratch(plan->argument(Role::scratch)->bytes, std::byte{0xcd});
    std::uint64_t stored_count = count;
    simulator::Count what = stored_count;
    if (run.count_in_buffer)
        what = simulator::CountBuffer{std::as_writable_bytes(std::span(&stored_count, 1))};
    const auto binding = executable->bind({{input}, {output}, {scratch}}, what);
    ASSERT_TRUE(binding) << binding.error().message;
    // Twice: state must be left as it was found.
    for (int use = 0; use < 2; ++use) {
        std::fill(output.begin(), output.end(), std::byte{0xab});
        const auto report = binding->run();
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->faults.empty()) << to_text(machine) << "\n"
                                            << to_text(*plan) << count << " items\n"
                                            << faults_text(*report);
        if (run.may_be_unfinished) return;
        std::string why;
        EXPECT_TRUE(reduce_matches(desc, data.bytes(), output, &why, reduce_depth(*plan, count)))
            << to_text(machine) << "\n"
            << to_text(*plan) << count << " items, use " << use << ": " << why;
        if (testing::Test::HasFailure()) return;
    }
}

std::vector<Tier> tiers_of(const Machine& machine) {
    if (machine.populations.empty() && !machine.random_populations)
        return {Tier::pinned, Tier::portable, Tier::barrier};
    return {Tier::portable, Tier::barrier};
}

constexpr ReduceStrategy kStrategies[] = {ReduceStrategy::one_workgroup,
                                          ReduceStrategy::last_workgroup, ReduceStrategy::two_pass};

class ReduceSimulated : public testing::TestWithParam<std::uint32_t> {
protected:
    std::uint32_t size() const { return GetParam(); }
    Machine machine() const {
        Machine made;
        made.subgroup_size = size();
        made.seed = size();
        return made;
    }
};

TEST_P(ReduceSimulated, TiersStrategiesAddressings) {
    std::uint64_t seed = 1;
    for (const Tier tier : tiers_of(machine())) {
        for (const ReduceStrategy strategy : kStrategies) {
            for (const Addressing addressing :
                 {Addressing::descriptor, Addressing::device_address}) {
                ReduceDesc desc;
                desc.tier = tier;
                desc.addressing = addressing;
                desc.policy = tiny_policy(strategy, 128);
                const std::size_t count = 3001 + 10 * size();
                desc.max_count = count;
                expect_right(machine(), desc, count, ++seed);
                expect_right(machine(), desc, count - 517, ++seed, {.count_in_buffer = true});
            }
        }
    }
}

TEST_P(ReduceSimulated, SizesAroundEverything) {
    for (const Tier tier : tiers_of(machine())) {
        for (const ReduceStrategy strategy : kStrategies) {
            ReduceDesc desc;
            desc.tier = tier;
            desc.policy = tiny_policy(strategy, 128);
            const std::size_t s = size();
            const std::size_t tile = 512;
            for (const std::size_t count :
                 {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}, std::size_t{5},
                  s - 1, s, s + 1, std::size_t{127}, std::size_t{128}, std::size_t{129}, tile - 1,
                  tile, tile + 1, 2 * tile + 1, 7 * tile, 7 * tile + 1, 8 * tile - 3}) {
                desc.max_count = std::max<std::size_t>(count, 1);
                expect_right(machine(), desc, count, count + 11);
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(ReduceSimulated, TypesAndOperators) {
    std::uint64_t seed = 100;
    const Tier tiers[] = {Tier::pinned, Tier::portable, Tier::barrier};
    for (const Scalar element :
         {Scalar::u8, Scalar::i8, Scalar::u16, Scalar::i16, Scalar::f16, Scalar::u32, Scalar::i32,
          Scalar::f32, Scalar::u64, Scalar::i64, Scalar::f64}) {
        for (const Operator op :
             {Operator::sum, Operator::product, Operator::min, Operator::max, Operator::bit_and,
              Operator::bit_or, Operator::bit_xor, Operator::argmin, Operator::argmax}) {
            if (is_float(element) &&
                (op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor))
                continue;
            ++seed;
            ReduceDesc desc;
            desc.element = element;
            desc.op = op;
            desc.tier = tiers[seed % 3];
            desc.policy = tiny_policy(kStrategies[seed / 3 % 3], 64 << (seed % 2));
            if (size() > 64) desc.policy->workgroup_size = 128;
            desc.max_count = 1500 + seed;
            expect_right(machine(), desc, desc.max_count, seed);
            if (HasFailure()) return;
        }
    }
}

TEST_P(ReduceSimulated, HostileMachines) {
    std::vector<Machine> machines;
    const auto add = [&](auto&& change) {
        Machine made = machine();
        change(made);
        machines.push_back(made);
    };
    for (const LaneOrder order : {LaneOrder::reversed, LaneOrder::column_wise, LaneOrder::random}) {
        add([&](Machine& m) {
            m.lane_order = order;
            m.subgroup_ids = order == LaneOrder::reversed ? Order::reversed : Order::random;
            m.workgroups = m.subgroups = Schedule::reversed;
        });
    }
    add([](Machine& m) {
        m.workgroups = m.subgroups = Schedule::round_robin;
        m.quantum = 3;
    });
    for (const std::uint64_t seed : {7u, 8u}) {
        add([&](Machine& m) {
            m.workgroups = m.subgroups = Schedule::random;
            m.quantum = 11;
            m.seed = seed;
            m.reconvergence = seed == 7 ? Reconvergence::weakest : Reconvergence::maximal;
        });
    }
    // Partial subgroups: the last, all of one kind, a pattern, any.
    add([](Machine& m) { m.populations = {m.subgroup_size - 1}; });
    add([](Machine& m) { m.populations = {m.subgroup_size / 2}; });
    add([](Machine& m) { m.populations = {1, m.subgroup_size, 3}; });
    add([](Machine& m) {
        m.random_populations = true;
        m.scattered_lanes = true;
        m.lane_order = LaneOrder::random;
        m.subgroup_ids = Order::random;
        m.workgroups = m.subgroups = Schedule::random;
    });
    std::uint64_t seed = 300;
    for (const Machine& hostile : machines) {
        for (const Tier tier : tiers_of(hostile)) {
            for (const ReduceStrategy strategy : kStrategies) {
                ReduceDesc desc;
                desc.tier = tier;
                desc.op = seed % 2 == 0 ? Operator::sum : Operator::argmin;
                desc.policy = tiny_policy(strategy, 128);
                desc.max_count = 2500;
                expect_right(hostile, desc, 2500 - seed % 100, seed);
                ++seed;
                if (HasFailure()) return;
            }
        }
    }
}

TEST_P(ReduceSimulated, StarvedWorkgroups) {
    for (const bool for_ever : {false, true}) {
        for (const std::uint64_t after : {std::uint64_t{0}, std::uint64_t{40}}) {
            for (const ReduceStrategy strategy :
                 {ReduceStrategy::last_workgroup, ReduceStrategy::two_pass}) {
                Machine starving = machine();
                starving.workgroups = Schedule::random;
                starving.starved = {0, 3};
                starving.starved_for_ever = for_ever;
                starving.starve_after = after;
                ReduceDesc desc;
                desc.policy = tiny_policy(strategy, 128);
                desc.max_count = 4000;
                // Nobody waits for the starved one, so without it the run ends, with nothing wrong
                // but the missing result. two_pass then reads a partial that is not there, which is
                // right.
                if (for_ever && strategy == ReduceStrategy::two_pass) continue;
                expect_right(starving, desc, 4000, 5, {.may_be_unfinished = for_ever});
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ReduceSimulated, testing::ValuesIn(kSizes));

// The workgroup is smaller than a subgroup, or no multiple of it.
TEST(ReduceSimulated, SmallWorkgroups) {
    for (const std::uint32_t size : kSizes) {
        Machine machine;
        machine.subgroup_size = size;
        for (const std::uint32_t w : {4u, 8u, 16u, 32u, 64u}) {
            for (const ReduceStrategy strategy : kStrategies) {
                ReduceDesc desc;
                desc.tier = Tier::portable;
                desc.policy = tiny_policy(strategy, w, 2);
                desc.max_count = 900;
                expect_right(machine, desc, 900 - w, w);
                if (testing::Test::HasFailure()) return;
            }
        }
    }
}

// Speed is a promise: 100,000 u32 at 32 lanes with all checks in under 3 seconds on one core.
TEST(ReduceSimulated, FastEnough) {
    const auto device = simulator::Device::create({.subgroup_size = 32});
    ASSERT_TRUE(device);
    ReduceDesc desc;
    desc.max_count = 100000;
    const auto plan = plan_reduce(device->caps(), desc);
    ASSERT_TRUE(plan);
    const auto executable = device->compile(*plan);
    ASSERT_TRUE(executable) << executable.error().message;
    std::vector<std::byte> input(400000, std::byte{1});
    std::vector<std::byte> output(plan->argument(Role::output)->bytes);
    std::vector<std::byte> scratch(plan->argument(Role::scratch)->bytes);
    const auto binding = executable->bind({{input}, {output}, {scratch}}, std::uint64_t{100000});
    ASSERT_TRUE(binding);
    const auto report = binding->run();
    ASSERT_TRUE(report);
    EXPECT_TRUE(report->faults.empty()) << faults_text(*report);
    RecordProperty(
        "invocation_instructions_per_second",
        std::to_string(static_cast<double>(report->invocation_instructions) / report->seconds));
    EXPECT_LT(report->seconds, 3.0);
}

}  // namespace
}  // namespace lanewise::test
