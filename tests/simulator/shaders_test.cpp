// The interpreter against known answers: instructions, subgroup operations at every size, pointers
// and layouts, and where lanes meet again at the three levels of reconvergence.
#include <array>
#include <utility>

#include "tests/simulator/support.hpp"

namespace lanewise::test {
namespace {

using namespace simulator;

Result<Report> run_two(const std::string& name, const Machine& machine, TwoBuffers& buffers,
                       std::vector<ShaderConstant> constants = {}) {
    const auto words = test_module(name);
    ShaderRun run;
    run.module = words;
    run.name = name;
    run.buffers = buffers.bindings();
    run.constants = std::move(constants);
    return run_shader(machine, run);
}

TEST(SimulatorShaders, Opcodes) {
    TwoBuffers buffers;
    const auto report = run_two("opcodes", {.subgroup_size = 4}, buffers);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->faults.empty()) << all_faults(*report);
    EXPECT_EQ(buffers.result[0], 0u) << "wrong answers; the last is check " << buffers.result[1];
}

TEST(SimulatorShaders, GroupOperations) {
    for (const std::uint32_t size : {4u, 8u, 16u, 32u, 64u, 128u}) {
        TwoBuffers buffers;
        const auto report = run_two("group", {.subgroup_size = size}, buffers, {{0, size}});
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_TRUE(report->faults.empty()) << all_faults(*report);
        for (std::uint32_t lane = 0; lane < size; ++lane) {
            EXPECT_EQ(buffers.result[lane], 0u)
                << "size " << size << ", lane " << lane << ": the last is check "
                << buffers.result[128 + lane];
        }
    }
}

TEST(SimulatorShaders, PointersAndLayouts) {
    std::vector<std::uint32_t> data(64, 0), result(64, 0), rows(128);
    // mat3x2, row-major, std140: two rows, 16 bytes apart.
    const float matrix[8] = {1.0f, 2.0f, 3.0f, 0.0f, 4.0f, 5.0f, 6.0f, 0.0f};
    std::memcpy(data.data(), matrix, sizeof matrix);
    for (std::uint32_t i = 0; i < rows.size(); ++i) rows[i] = i;
    const auto words = test_module("pointers");
    ShaderRun run;
    run.module = words;
    const std::uint64_t address = 0x123400000010;
    run.buffers = {{0, 0, std::as_writable_bytes(std::span(data)), true, "data"},
                   {0, 1, std::as_writable_bytes(std::span(result)), false, "result"},
                   {9, 9, std::as_writable_bytes(std::span(rows)), true, "rows", address}};
    run.push_constants.resize(12);
    std::memcpy(run.push_constants.data(), &address, 8);
    auto report = run_shader({}, run);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->faults.empty()) << all_faults(*report);
    for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(result[i], 8 * i + 3);
    EXPECT_EQ(result[40], 601u);
    EXPECT_EQ(result[41], 9u);
    EXPECT_EQ(data[8 + 12 + 12], 4u);  // two rows, three columns, then 16 bytes for each of `rest`

    // Shifted by 4 bytes: no longer a multiple of 16; and at the end 4 bytes too far.
    const std::uint64_t shifted = address + 4;
    std::memcpy(run.push_constants.data(), &shifted, 8);
    report = run_shader({}, run);
    ASSERT_TRUE(report);
    std::array<int, 2> seen{};
    for (const Fault& fault : report->faults) {
        if (fault.kind == FaultKind::misaligned) ++seen[0];
        if (fault.kind == FaultKind::out_of_bounds) ++seen[1];
        EXPECT_EQ(fault.at.line, 13u) << to_text(fault);
    }
    EXPECT_EQ(seen, (std::array<int, 2>{1, 1})) << all_faults(*report);
}

struct Litmus {
    const char* what;
    bool meets[3];  // at maximal, subgroup_uniform, weakest: the lanes that should be together are
};

TEST(SimulatorShaders, Reconvergence) {
    const Litmus shapes[] = {
        {"after an if", {true, true, true}},
        {"inside an arm", {true, true, true}},
        {"after a loop", {true, true, true}},
        {"after an if inside an arm", {true, false, false}},
        {"after a continue", {true, false, false}},
        {"after two returns", {true, false, false}},
        {"after a switch", {true, true, true}},
    };
    const std::uint32_t expected[] = {32, 8, 32, 16, 32, 32, 32};
    for (const auto level :
         {Reconvergence::maximal, Reconvergence::subgroup_uniform, Reconvergence::weakest}) {
        TwoBuffers buffers;
        Machine machine;
        machine.reconvergence = level;
        const auto report = run_two("reconvergence", machine, buffers);
        ASSERT_TRUE(report) << report.error().message;
        for (std::size_t shape = 0; shape < std::size(shapes); ++shape) {
            // Lane 0 takes every arm.
            const bool together = buffers.result[shape * 32] == expected[shape];
            EXPECT_EQ(together, shapes[shape].meets[static_cast<std::size_t>(level)])
                << shapes[shape].what << " at level " << to_text(level) << ": "
                << buffers.result[shape * 32] << " lanes";
        }
        const bool reports = std::ranges::any_of(report->faults, [](const Fault& fault) {
            return fault.kind == FaultKind::divergent_subgroup_operation;
        });
        EXPECT_EQ(reports, level != Reconvergence::maximal) << all_faults(*report);
    }
}

// A subgroup's own control flow is uniform, the workgroup's is not: only the weakest level parts
// it.
TEST(SimulatorShaders, WeakestIsWeaker) {
    for (const auto level :
         {Reconvergence::maximal, Reconvergence::subgroup_uniform, Reconvergence::weakest}) {
        TwoBuffers buffers;
        Machine machine;
        machine.reconvergence = level;
        const auto report = run_two("parted_branch_weakest.FAULTY", machine, buffers);
        ASSERT_TRUE(report) << report.error().message;
        EXPECT_EQ(report->faults.empty(), level != Reconvergence::weakest) << all_faults(*report);
    }
}

// do_while.comp, one lane after the other.
std::array<std::uint32_t, 8> do_while_results(std::uint32_t lane) {
    std::array<std::uint32_t, 8> made{};
    std::uint32_t n = 0;
    std::uint32_t s = 1;
    do {
        ++n;
        s = s * 5 + n;
    } while (n < lane % 7);
    made[0] = s;
    n = s = 0;
    do {
        ++n;
        if (n == lane % 11) continue;
        s = s * 3 + n;
        if (s % 5 == lane % 4) break;
        s += 7;
    } while (n < 6);
    made[1] = s * 16 + n;
    n = 0;
    std::uint32_t a = lane;
    std::uint32_t b = lane + 100;
    do {
        a = std::exchange(b, a + 1);
    } while (++n < lane % 5);
    made[2] = a * 1000 + b;
    n = s = 0;
    do {
        if (lane % 2 == 0) {
            std::uint32_t m = 0;
            do {
                if ((lane + m) % 4 == 3) {
                    s += 100;
                    continue;
                }
                s += (lane + m) % 4 == 0 ? 11 : 10;
                s *= 2;
            } while (++m <= n);
        } else {
            do {
                s += lane;
            } while (s < n * 20);
        }
    } while (++n < lane % 6);
    made[3] = s;
    std::uint32_t x = lane;
    do {
        x = x * 3 + 1;
        if (x % 7 == 2) break;
    } while (x < 500);
    made[7] = x % 7 == 2 ? x + 1000 : x;
    n = 0;
    do {
        n += lane + 1;
    } while ((n < 40 && n % 2 == 1) || n == 2);
    made[6] = n;
    made[5] = lane * 8 + std::max(lane % 4, 1u);
    // 10 of the 32 lanes go round twice.
    made[4] = lane % 3 == 2 ? 32 * 32 + 10 : 32;
    return made;
}

// As compiled, and optimised: there are loops of one block, and values in OpPhi.
TEST(SimulatorShaders, DoWhile) {
    for (const char* name : {"do_while", "do_while.O"}) {
        for (const auto level :
             {Reconvergence::maximal, Reconvergence::subgroup_uniform, Reconvergence::weakest}) {
            for (const auto schedule : {Schedule::in_order, Schedule::reversed,
                                        Schedule::round_robin, Schedule::random}) {
                TwoBuffers buffers;
                Machine machine;
                machine.reconvergence = level;
                machine.workgroups = machine.subgroups = schedule;
                machine.quantum = 3;
                const auto report = run_two(name, machine, buffers);
                ASSERT_TRUE(report) << report.error().message;
                EXPECT_TRUE(report->faults.empty()) << name << ", " << to_text(machine) << "\n"
                                                    << all_faults(*report);
                for (std::uint32_t lane = 0; lane < 32; ++lane) {
                    const auto expected = do_while_results(lane);
                    for (std::uint32_t loop = 0; loop < expected.size(); ++loop) {
                        EXPECT_EQ(buffers.result[loop * 32 + lane], expected[loop])
                            << name << ", loop " << loop << ", lane " << lane << ", "
                            << to_text(machine);
                    }
                }
            }
        }
    }
}

TEST(SimulatorShaders, MachinesAreChecked) {
    TwoBuffers buffers;
    for (const Machine& machine :
         {Machine{.subgroup_size = 3}, Machine{.subgroup_size = 256}, Machine{.subgroup_size = 2},
          Machine{.subgroup_size = 8, .populations = {9}}, Machine{.populations = {0}},
          Machine{.quantum = 0}}) {
        const auto report = run_two("opcodes", machine, buffers);
        ASSERT_FALSE(report);
        EXPECT_EQ(report.error().code, ErrorCode::bad_argument);
    }
}

TEST(SimulatorShaders, BadModulesAreRefused) {
    auto words = test_module("opcodes");
    ShaderRun run;
    const auto refused = [&](const std::vector<std::uint32_t>& module) {
        run.module = module;
        const auto report = run_shader({}, run);
        ASSERT_FALSE(report);
        EXPECT_NE(report.error().message, "");
    };
    refused({});
    refused({1, 2, 3, 4, 5, 6});
    refused({words.begin(), words.begin() + 40});
    for (std::size_t i = 5; i < words.size(); i += 97) {
        auto broken = words;
        broken[i] ^= 0x00ff00ffu;
        run.module = broken;
        TwoBuffers buffers;
        run.buffers = buffers.bindings();
        (void)run_shader({.max_instructions = 100000}, run);  // an error or a run, never a crash
    }
}

}  // namespace
}  // namespace lanewise::test
