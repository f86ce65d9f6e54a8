#include <gtest/gtest.h>
#include <cstring>
#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "tests/support/plan_runner.hpp"
namespace lanewise::test {
using CustomOperatorTest = DeviceTest;
TEST_F(CustomOperatorTest, Smoke) {
    std::vector<std::uint32_t> data(4000);
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = std::uint32_t(i * 2654435761u);
    CustomOperator mat{
        .name = "mat",
        .element = {{Scalar::u32, 2, "r0"}, {Scalar::u32, 2, "r1"}},
        .combine = "Value(a.r0.x * b.r0 + a.r0.y * b.r1, a.r1.x * b.r0 + a.r1.y * b.r1)"};
    for (Tier tier : {Tier::pinned, Tier::portable, Tier::barrier})
        for (auto strategy : {ReduceStrategy::one_workgroup, ReduceStrategy::last_workgroup,
                              ReduceStrategy::two_pass}) {
            ReduceDesc desc{
                .custom = mat,
                .max_count = 1000,
                .tier = tier,
                .policy = ReducePolicy{
                    .strategy = strategy, .workgroup_size = 32, .vectors = 2, .max_groups = 5}};
            auto plan = plan_reduce(device().caps(), desc);
            if (!plan) {
                std::printf("%s\n", plan.error().message.c_str());
                continue;
            }
            PlanRunner runner(device(), *plan);
            ASSERT_TRUE(runner);
            auto out = runner.run(std::as_bytes(std::span(data)), 1000);
            ASSERT_EQ(out.size(), 16u);
            std::uint32_t r[4];
            std::memcpy(r, out.data(), 16);
            std::uint32_t e[4];
            std::memcpy(e, data.data(), 16);
            for (std::size_t i = 1; i < 1000; ++i) {
                const std::uint32_t* b = &data[4 * i];
                std::uint32_t n[4] = {e[0] * b[0] + e[1] * b[2], e[0] * b[1] + e[1] * b[3],
                                      e[2] * b[0] + e[3] * b[2], e[2] * b[1] + e[3] * b[3]};
                std::memcpy(e, n, 16);
            }
            for (int i = 0; i < 4; ++i) EXPECT_EQ(r[i], e[i]) << to_text(*plan);
        }
    for (Tier tier : {Tier::pinned, Tier::portable, Tier::barrier})
        for (auto strategy : {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan,
                              ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
            ScanDesc desc{
                .custom = mat,
                .max_count = 1000,
                .tier = tier,
                .policy = ScanPolicy{.strategy = strategy,
                                     .workgroup_size = 32,
                                     .vectors = 2,
                                     .max_groups = 5,
                                     .ahead = strategy == ScanStrategy::reduce_ahead ? 2u : 0u}};
            auto plan = plan_scan(device().caps(), desc);
            if (!plan) {
                std::printf("%s\n", plan.error().message.c_str());
                continue;
            }
            PlanRunner runner(device(), *plan);
            ASSERT_TRUE(runner);
            auto out = runner.run(std::as_bytes(std::span(data)), 1000);
            ASSERT_EQ(out.size(), 16000u);
            std::vector<std::uint32_t> r(4000);
            std::memcpy(r.data(), out.data(), 16000);
            std::uint32_t e[4];
            std::memcpy(e, data.data(), 16);
            for (std::size_t i = 0; i < 1000; ++i) {
                const std::uint32_t* b = &data[4 * i];
                if (i) {
                    std::uint32_t n[4] = {e[0] * b[0] + e[1] * b[2], e[0] * b[1] + e[1] * b[3],
                                          e[2] * b[0] + e[3] * b[2], e[2] * b[1] + e[3] * b[3]};
                    std::memcpy(e, n, 16);
                }
                ASSERT_EQ(0, std::memcmp(&r[4 * i], e, 16)) << i << to_text(*plan);
            }
        }
}
}  // namespace lanewise::test
