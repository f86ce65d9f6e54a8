// Every shader in tests/simulator/faults holds one fault, on the line that says "fault", and has a
// corrected twin (FIXED), which must stay silent. Its opening comments say what is expected:
//   // expect: KIND
//   // run: workgroups 2, subgroup 4, level weakest ...     how it is run; see machine_of below
#include <regex>

#include "tests/simulator/support.hpp"

namespace lanewise::test {
namespace {

using namespace simulator;

struct Fixture {
    std::string name;
    std::string expect;
    std::string run;
    std::uint32_t line = 0;

    friend void PrintTo(const Fixture& fixture, std::ostream* out) { *out << fixture.name; }
};

std::vector<Fixture> fixtures() {
    std::vector<Fixture> found;
    for (const auto& entry : std::filesystem::directory_iterator(repository_root() / "tests" /
                                                                 "simulator" / "faults")) {
        if (entry.path().extension() != ".comp") continue;
        Fixture fixture;
        fixture.name = entry.path().stem().string();
        const std::string text = read_file(entry.path());
        std::uint32_t line = 0;
        std::size_t at = 0;
        while (at < text.size()) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            const std::string row = text.substr(at, end - at);
            ++line;
            at = end + 1;
            if (row.starts_with("// expect: ")) fixture.expect = row.substr(11);
            if (row.starts_with("// run: ")) fixture.run = row.substr(8);
            if (row.ends_with("// fault")) fixture.line = line;
        }
        found.push_back(fixture);
    }
    std::ranges::sort(found, {}, &Fixture::name);
    return found;
}

struct How {
    Machine machine;
    std::uint32_t workgroups = 1;
    std::optional<Machine> other;  // compared with
};

How how(const std::string& run) {
    How made;
    std::string rest = run;
    std::smatch match;
    const auto number = [&](const char* word, auto& to) {
        if (std::regex_search(rest, match, std::regex(std::string("(^|, )") + word + " (\\d+)")))
            to = static_cast<std::remove_reference_t<decltype(to)>>(std::stoul(match[2]));
    };
    const auto said = [&](const char* words) { return rest.find(words) != std::string::npos; };
    number("workgroups", made.workgroups);
    number("subgroup", made.machine.subgroup_size);
    number("quantum", made.machine.quantum);
    number("instructions", made.machine.max_instructions);
    if (said("schedule round_robin"))
        made.machine.workgroups = made.machine.subgroups = Schedule::round_robin;
    if (said("level weakest")) made.machine.reconvergence = Reconvergence::weakest;
    if (said("uniform operations")) made.machine.uniform_subgroup_operations = true;
    if (said("compare")) {
        made.other = made.machine;
        if (said("compare subgroup 64")) made.other->subgroup_size = 64;
        if (said("compare lanes reversed")) made.other->lane_order = LaneOrder::reversed;
    }
    return made;
}

Result<Report> run(const Fixture& fixture, const char* variant,
                   const std::optional<Machine>& machine = {}) {
    const How plan = how(fixture.run);
    TwoBuffers buffers;
    const auto words = test_module(fixture.name + "." + variant);
    ShaderRun shader;
    shader.module = words;
    shader.name = fixture.name;
    shader.workgroups = {plan.workgroups, 1, 1};
    shader.buffers = buffers.bindings();
    if (plan.other) {
        const Machine machines[] = {plan.machine, *plan.other};
        return compare(machines, shader);
    }
    return run_shader(machine.value_or(plan.machine), shader);
}

class Faults : public testing::TestWithParam<Fixture> {};

TEST_P(Faults, FoundWithItsLine) {
    const Fixture& fixture = GetParam();
    const auto report = run(fixture, "FAULTY");
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_FALSE(report->faults.empty()) << "nothing was found";
    for (const Fault& fault : report->faults) {
        EXPECT_EQ(to_text(fault.kind), fixture.expect) << to_text(fault);
        if (fault.kind == FaultKind::different_results) continue;
        // Of a race either access may come second.
        const bool there = fault.at.line == fixture.line || fault.other.line == fixture.line;
        EXPECT_TRUE(there) << "not line " << fixture.line << ": " << to_text(fault);
        EXPECT_EQ(std::filesystem::path(fault.at.file).filename().string(), fixture.name + ".comp");
    }
}

TEST_P(Faults, TwinIsSilent) {
    const auto report = run(GetParam(), "FIXED");
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->faults.empty()) << all_faults(*report);
}

// What is right is right on every machine.
TEST_P(Faults, TwinIsSilentElsewhere) {
    const Fixture& fixture = GetParam();
    const How plan = how(fixture.run);
    if (plan.other || fixture.name == "inactive_partial")
        GTEST_SKIP() << "made for its own machine";
    for (const auto schedule : {Schedule::reversed, Schedule::round_robin, Schedule::random}) {
        for (const std::uint32_t size : {4u, 8u, 128u}) {
            if (fixture.name == "inactive_shuffle" && size < 32)
                continue;  // shuffles over 16 lanes
            Machine machine = plan.machine;
            machine.subgroup_size = size;
            machine.workgroups = machine.subgroups = schedule;
            machine.quantum = 5;
            machine.lane_order = LaneOrder::reversed;
            machine.subgroup_ids = Order::reversed;
            const auto report = run(fixture, "FIXED", machine);
            ASSERT_TRUE(report) << report.error().message;
            EXPECT_TRUE(report->faults.empty()) << to_text(machine) << "\n" << all_faults(*report);
        }
    }
}

INSTANTIATE_TEST_SUITE_P(All, Faults, testing::ValuesIn(fixtures()),
                         [](const auto& fixture) { return fixture.param.name; });

}  // namespace
}  // namespace lanewise::test
