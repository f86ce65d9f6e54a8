// The Vulkan host's self-test (src/vulkan/probe*) on described devices: its own kernels run here,
// and its own checks read what they wrote. Each device that lies must be refused for its lie, and
// no honest one must be.
#include <gmock/gmock.h>

#include "src/core/kernel_catalogue.hpp"
#include "src/vulkan/probe_check.hpp"
#include "tests/simulator/support.hpp"

namespace lanewise::test {
namespace {

using namespace simulator;
using testing::HasSubstr;
using vulkan::detail::ProbeKind;
using vulkan::detail::wrong_in_barrier_probe;
using vulkan::detail::wrong_in_subgroup_probe;

constexpr std::uint32_t kGroups = 3;  // odd ones among even ones, as the host runs it

struct Kind {
    ProbeKind kind;
    const char* kernel;
};
constexpr Kind kKinds[] = {
    {ProbeKind::basic, "probe_subgroup.subgroup.basic"},
    {ProbeKind::ballot, "probe_subgroup.subgroup.ballot"},
    {ProbeKind::shuffle, "probe_subgroup.subgroup.shuffle"},
    {ProbeKind::arithmetic, "probe_subgroup.subgroup.arithmetic"},
};

// What the device says of itself over the API.
SubgroupCaps told_caps(const Machine& machine) {
    const auto device = Device::create(machine);
    EXPECT_TRUE(device) << device.error().message;
    return device ? device->caps().subgroup : SubgroupCaps{};
}

std::vector<std::uint32_t> run_kernel(const Machine& machine, const char* name,
                                      std::uint32_t workgroup_size, std::uint32_t words_each,
                                      bool full_subgroups, std::size_t* faults = nullptr) {
    const auto* kernel = lanewise::detail::find_kernel(name, 0x00010600);
    if (kernel == nullptr) {
        ADD_FAILURE() << "no kernel " << name;
        return {};
    }
    const std::uint32_t all = workgroup_size * kGroups;
    std::vector<std::uint32_t> values(all);
    for (std::uint32_t at = 0; at < all; ++at) values[at] = vulkan::detail::probe_value(at);
    std::vector<std::uint32_t> words(std::size_t{all} * words_each, vulkan::detail::kProbePoison);
    ShaderRun run;
    run.module = kernel->words;
    run.name = name;
    run.workgroups = {kGroups, 1, 1};
    run.buffers = {{0, 0, std::as_writable_bytes(std::span(values)), true, "values"},
                   {0, 1, std::as_writable_bytes(std::span(words)), false, "words"}};
    run.push_constants.resize(32);
    run.constants = {{0, workgroup_size}};
    run.full_subgroups = full_subgroups;
    const auto report = run_shader(machine, run);
    EXPECT_TRUE(report) << report.error().message;
    if (report && faults != nullptr) *faults += report->faults.size();
    return words;
}

std::string wrong_with_barriers(const Machine& machine, std::uint32_t workgroup_size) {
    const auto words = run_kernel(machine, "probe_barrier.barrier", workgroup_size,
                                  vulkan::detail::kBarrierProbeWords, false);
    return wrong_in_barrier_probe(
        {.workgroup_size = workgroup_size, .groups = kGroups, .words = words});
}

std::string wrong_with_subgroups(const Machine& machine, const Kind& kind,
                                 std::uint32_t workgroup_size, std::uint32_t required_size = 0,
                                 std::size_t* faults = nullptr) {
    const auto words = run_kernel(machine, kind.kernel, workgroup_size,
                                  vulkan::detail::kSubgroupProbeWords, required_size != 0, faults);
    return wrong_in_subgroup_probe(
        {.workgroup_size = workgroup_size, .groups = kGroups, .words = words}, kind.kind,
        required_size, told_caps(machine));
}

// --- devices that lie ---

struct Lie {
    const char* name;
    Machine machine;
    const char* without_barriers;  // what the barrier kernel shows; empty: nothing
    const char* with_subgroups;

    friend void PrintTo(const Lie& lie, std::ostream* out) { *out << lie.name; }
};

class LyingMachine : public testing::TestWithParam<Lie> {};

TEST_P(LyingMachine, IsRefusedForItsLie) {
    const Lie& lie = GetParam();
    for (const Schedule schedule : {Schedule::in_order, Schedule::random}) {
        Machine machine = lie.machine;
        machine.workgroups = machine.subgroups = schedule;
        SCOPED_TRACE(to_text(machine));
        const std::string barriers = wrong_with_barriers(machine, 128);
        if (*lie.without_barriers == '\0')
            EXPECT_EQ(barriers, "");
        else
            EXPECT_THAT(barriers, HasSubstr(lie.without_barriers));
        for (const Kind& kind : kKinds) {
            EXPECT_THAT(wrong_with_subgroups(machine, kind, 128), HasSubstr(lie.with_subgroups))
                << kind.kernel;
            EXPECT_THAT(wrong_with_subgroups(machine, kind, 128, machine.reported_subgroup_size),
                        HasSubstr(lie.with_subgroups))
                << kind.kernel << ", its size required";
        }
    }
}

// lavapipe of Mesa 22.3 with LP_NATIVE_VECTOR_WIDTH 1024 and 2048 is like the first two.
INSTANTIATE_TEST_SUITE_P(
    All, LyingMachine,
    testing::Values(Lie{"HalfOfTheLanesAreLost",
                        {.subgroup_size = 32, .reported_subgroup_size = 32, .running_lanes = 16},
                        "192 of 384 invocations never ran, in workgroups of 128",
                        "192 of 384 invocations never ran, in workgroups of 128"},
                    Lie{"ThreeOfFourLanesAreLost",
                        {.subgroup_size = 64, .reported_subgroup_size = 64, .running_lanes = 16},
                        "288 of 384 invocations never ran, in workgroups of 128",
                        "288 of 384 invocations never ran, in workgroups of 128"},
                    Lie{"Says32Runs16",
                        {.subgroup_size = 16, .reported_subgroup_size = 32},
                        "",
                        "no subgroup of 32 runs more than 16 invocations"},
                    Lie{"Says64Runs16",
                        {.subgroup_size = 16, .reported_subgroup_size = 64},
                        "",
                        "no subgroup of 64 runs more than 16 invocations"},
                    Lie{"Says32Runs8",
                        {.subgroup_size = 8, .reported_subgroup_size = 32},
                        "",
                        "no subgroup of 32 runs more than 8 invocations"},
                    Lie{"Says16Runs32",
                        {.subgroup_size = 32, .reported_subgroup_size = 16},
                        "",
                        "in a subgroup of 16"}),
    [](const auto& lie) { return lie.param.name; });

TEST(ProbeOnMachines, HalfPopulatedSubgroups) {
    // Full subgroups are there in pipelines that require them: the lie is in the others alone.
    const Machine machine{.subgroup_size = 32, .populations = {16}, .scattered_lanes = true};
    for (const Kind& kind : kKinds) {
        EXPECT_EQ(wrong_with_subgroups(machine, kind, 128),
                  "no subgroup of 32 runs more than 16 invocations");
        EXPECT_EQ(wrong_with_subgroups(machine, kind, 128, 32), "");
    }
}

// --- honest devices ---

class HonestMachine : public testing::TestWithParam<std::uint32_t> {};

void expect_trusted(const Machine& machine, std::uint32_t workgroup_size, bool silent) {
    SCOPED_TRACE(to_text(machine));
    EXPECT_EQ(wrong_with_barriers(machine, workgroup_size), "");
    const bool full = machine.populations.empty() && workgroup_size % machine.subgroup_size == 0;
    for (const Kind& kind : kKinds) {
        std::size_t faults = 0;
        EXPECT_EQ(wrong_with_subgroups(machine, kind, workgroup_size, 0, &faults), "")
            << kind.kernel;
        if (silent) {
            EXPECT_EQ(faults, 0u) << kind.kernel;
        }
        if (full) {
            EXPECT_EQ(wrong_with_subgroups(machine, kind, workgroup_size, machine.subgroup_size),
                      "")
                << kind.kernel << ", its size required";
        }
    }
}

std::vector<Machine> orders(std::uint32_t size) {
    std::vector<Machine> machines;
    for (const LaneOrder lanes :
         {LaneOrder::linear, LaneOrder::reversed, LaneOrder::column_wise, LaneOrder::random}) {
        for (const Schedule schedule :
             {Schedule::in_order, Schedule::reversed, Schedule::round_robin, Schedule::random}) {
            Machine machine{.subgroup_size = size};
            machine.lane_order = lanes;
            machine.subgroup_ids = schedule == Schedule::random     ? Order::random
                                   : schedule == Schedule::reversed ? Order::reversed
                                                                    : Order::in_order;
            machine.workgroups = machine.subgroups = schedule;
            machine.quantum = 7;
            machine.seed = size + machines.size();
            machines.push_back(machine);
        }
    }
    return machines;
}

TEST_P(HonestMachine, Full) {
    for (const Machine& machine : orders(GetParam())) expect_trusted(machine, 128, true);
}

TEST_P(HonestMachine, WorkgroupsThatAreNoMultiple) {
    // A size of which the last subgroup, or the only one, is a part.
    for (const Machine& machine : orders(GetParam())) expect_trusted(machine, 27, false);
}

TEST_P(HonestMachine, Partial) {
    const std::uint32_t size = GetParam();
    for (Machine machine : orders(size)) {
        // One of each workgroup must be full, or the size would be one that is never seen.
        machine.populations = {1, size, std::max(1u, size / 2)};
        expect_trusted(machine, std::max(128u, 2 * size), false);
        machine.scattered_lanes = true;
        expect_trusted(machine, std::max(128u, 2 * size), false);
    }
}

TEST_P(HonestMachine, AtEveryLevelOfReconvergence) {
    for (const Reconvergence level :
         {Reconvergence::maximal, Reconvergence::subgroup_uniform, Reconvergence::weakest})
        expect_trusted({.subgroup_size = GetParam(), .reconvergence = level}, 128, true);
}

INSTANTIATE_TEST_SUITE_P(Sizes, HonestMachine, testing::Values(4, 8, 16, 32, 64, 128));

// --- the description itself ---

TEST(ProbeOnMachines, RunningLanes) {
    EXPECT_THAT(to_text(Machine{.subgroup_size = 32, .running_lanes = 16}),
                HasSubstr("only lanes below 16 run"));
    const auto device = Device::create({.subgroup_size = 32, .running_lanes = 33});
    ASSERT_FALSE(device);
    EXPECT_THAT(device.error().message, HasSubstr("running_lanes 33"));
    // Lanes that are populated, but none of those that run.
    const auto words = run_kernel(
        {.subgroup_size = 32, .populations = {4}, .scattered_lanes = true, .running_lanes = 1},
        "probe_barrier.barrier", 32, vulkan::detail::kBarrierProbeWords, false);
    EXPECT_THAT(wrong_in_barrier_probe({.workgroup_size = 32, .groups = kGroups, .words = words}),
                HasSubstr("invocations never ran"));
}

}  // namespace
}  // namespace lanewise::test
