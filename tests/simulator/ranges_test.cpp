// Ranges of scratch in the simulator: each ends where the plan says, and all are one memory to the
// checks.

#include <numeric>

#include "lanewise/scan.hpp"
#include "lanewise/simulator.hpp"
#include "tests/simulator/support.hpp"

namespace lanewise::test {
namespace {

using namespace simulator;

constexpr std::uint64_t kCount = 700;
constexpr std::uint32_t kHeaderBytes = 256;  // before the partial sums

class Ranges : public testing::TestWithParam<Addressing> {
protected:
    void SetUp() override {
        const auto made = simulator::Device::create({.subgroup_size = 32});
        ASSERT_TRUE(made) << made.error().message;
        device_ = *made;
        ScanDesc desc;
        desc.max_count = kCount;
        desc.addressing = GetParam();
        desc.policy = ScanPolicy{.workgroup_size = 32, .vectors = 1, .max_groups = 100};
        auto plan = plan_scan(device_->caps(), desc);
        ASSERT_TRUE(plan) << plan.error().message;
        plan_ = *std::move(plan);
        ASSERT_EQ(plan_.passes.size(), 3u);
        partials_bytes_ = std::uint64_t{share_out(plan_.share, kCount).groups} * 4;
        ASSERT_GE(partials_bytes_, 8u);
    }

    Pass& sums() { return plan_.passes[1]; }
    Pass& tiles() { return plan_.passes[2]; }

    // Lets the pass see the partial sums alone.
    void bind_partials(Pass& pass, std::uint64_t bytes) const {
        for (PassBuffer& buffer : pass.bindings) {
            if (buffer.role == Role::scratch) buffer = {Role::scratch, kHeaderBytes, bytes};
        }
        for (Constant& constant : pass.constants) {
            if (constant.name != "partials_offset") continue;
            EXPECT_EQ(constant.value * 4, kHeaderBytes);
            constant.value = 0;
        }
    }

    Report run() {
        std::vector<std::uint32_t> input(kCount), output(kCount);
        std::iota(input.begin(), input.end(), 1u);
        std::vector<std::byte> scratch(plan_.argument(Role::scratch)->bytes);
        const auto executable = device_->compile(plan_);
        const auto binding = executable
                                 ? executable->bind({{std::as_writable_bytes(std::span(input))},
                                                     {std::as_writable_bytes(std::span(output))},
                                                     {scratch}},
                                                    kCount)
                                 : tl::unexpected(executable.error());
        const auto report = binding ? binding->run() : tl::unexpected(binding.error());
        if (!report) {
            ADD_FAILURE() << report.error().message;
            return {};
        }
        std::vector<std::uint32_t> expected(kCount);
        std::inclusive_scan(input.begin(), input.end(), expected.begin());
        right_ = output == expected;
        return *report;
    }

    static bool has(const Report& report, FaultKind kind, const std::string& words) {
        return std::ranges::any_of(report.faults, [&](const Fault& fault) {
            return fault.kind == kind && to_text(fault).find(words) != std::string::npos;
        });
    }

    std::optional<simulator::Device> device_;
    Plan plan_;
    std::uint64_t partials_bytes_ = 0;
    bool right_ = false;
};

TEST_P(Ranges, OneMemoryInManyViews) {
    bind_partials(tiles(), partials_bytes_);
    Report report = run();
    EXPECT_TRUE(report.faults.empty()) << all_faults(report);
    EXPECT_TRUE(right_);
    bind_partials(sums(), partials_bytes_);
    report = run();
    EXPECT_TRUE(report.faults.empty()) << all_faults(report);
    EXPECT_TRUE(right_);
}

TEST_P(Ranges, EndWhereThePlanSays) {
    bind_partials(sums(), partials_bytes_ - 8);  // nobody needs the last sum
    const Report report = run();
    const std::string range = "scratch[256, +" + std::to_string(partials_bytes_ - 8) + "]";
    EXPECT_TRUE(has(report, FaultKind::out_of_bounds, range)) << range << "\n"
                                                              << all_faults(report);
}

TEST_P(Ranges, RacesAreSeenThroughOtherViews) {
    bind_partials(tiles(), partials_bytes_);
    tiles().waits = false;
    const Report report = run();
    EXPECT_TRUE(has(report, FaultKind::race, "scratch")) << all_faults(report);
}

TEST_P(Ranges, WhatNobodyWroteIsSeenThroughOtherViews) {
    bind_partials(tiles(), partials_bytes_);
    plan_.passes.erase(plan_.passes.begin() + 1);
    const Report report = run();
    EXPECT_TRUE(has(report, FaultKind::uninitialized_read, "scratch")) << all_faults(report);
}

INSTANTIATE_TEST_SUITE_P(Addressings, Ranges,
                         testing::Values(Addressing::descriptor, Addressing::device_address),
                         [](const auto& made) { return std::string(to_text(made.param)); });

}  // namespace
}  // namespace lanewise::test
