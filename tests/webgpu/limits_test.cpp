// Devices with WebGPU's least limits, and what is above a limit: refused by name before anything is
// made, or done in parts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/reduce_runner.hpp"
#include "tests/support/scan_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/webgpu_test.hpp"

namespace lanewise::test {
namespace {

class WebgpuLimits : public WebgpuTest {};

// A small matrix on a device that was made with the least limits: default policies and large
// workgroups, every tier.
TEST_F(WebgpuLimits, TheLeastAreEnough) {
    auto options = WebgpuRig::named();
    options.least_limits = true;
    WebgpuScope least(options);
    ASSERT_TRUE(least);
    const std::size_t count = 20001;
    std::size_t turn = 0;
    for (const Tier tier : kTiers) {
        if (!lacking(least->caps(), tier).empty()) continue;
        for (const auto& [types, op] :
             {std::pair{Types{Scalar::u32, Scalar::u32}, Operator::sum},
              std::pair{Types{Scalar::u8, Scalar::u64}, Operator::sum},
              std::pair{Types{Scalar::i64, Scalar::i64}, Operator::argmax},
              std::pair{Types{Scalar::f32, Scalar::f32}, Operator::min}}) {
            SCOPED_TRACE(
                fmt::format("{} of {}, {}", to_text(op), to_text(types.element), to_text(tier)));
            // Drivers take a second for each: reduce and scan in turns.
            if (test_all() || turn % 2 == 0) {
                ReduceRunner reduce(*least, {.element = types.element,
                                             .op = op,
                                             .accumulator = types.accumulator,
                                             .max_count = count,
                                             .tier = tier});
                ASSERT_TRUE(reduce);
                reduce.expect_right(make_elements(types.element, op, count, 1).bytes());
                reduce.expect_right(make_elements(types.element, op, 777, 2).bytes(),
                                    {.count_in_buffer = true});
            }
            if (test_all() || turn % 2 == 1) {
                const ScanDesc desc{.element = types.element,
                                    .op = op,
                                    .accumulator = types.accumulator,
                                    .max_count = count,
                                    .tier = tier};
                ScanRunner scan(*least, desc);
                ASSERT_TRUE(scan);
                scan.expect_right(make_scan_elements(desc, count, 3).bytes());
                scan.expect_right(make_scan_elements(desc, 777, 4).bytes(),
                                  {.count_in_buffer = true});
            }
            ++turn;
        }
    }
    fail_on_messages(least->take_messages());
}

// The largest workgroup of the device, as many invocations as its memory lets be.
TEST_F(WebgpuLimits, TheLargestWorkgroup) {
    const Caps& caps = rig().caps();
    const std::uint32_t most =
        std::min(caps.limits.max_workgroup_invocations, caps.limits.max_workgroup_size_x);
    for (const Tier tier : kTiers) {
        if (!lacking(caps, tier).empty()) continue;
        SCOPED_TRACE(to_text(tier));
        ReduceRunner runner(
            rig(), {.max_count = 9 * 4 * most + 3,
                    .tier = tier,
                    .policy = ReducePolicy{.workgroup_size = most, .vectors = 1, .max_groups = 4}});
        ASSERT_TRUE(runner);
        runner.expect_right(make_elements(Scalar::u32, Operator::sum, 9 * 4 * most + 3, 1).bytes());
        const auto more = plan_reduce(
            caps, {.max_count = 1000,
                   .tier = tier,
                   .policy = ReducePolicy{.workgroup_size = std::min(2 * most, 1024u)}});
        if (2 * most > 1024) continue;
        ASSERT_FALSE(more);
        EXPECT_EQ(more.error().code, ErrorCode::limit_exceeded);
    }
}

// A3: more dispatches than one, from the host and from a buffer.
TEST_F(WebgpuLimits, ManyDispatches) {
    const std::size_t tile = 32 * 4;
    const std::size_t count = 100 * tile + 1;
    ReduceRunner runner(rig(), {.max_count = count,
                                .policy = ReducePolicy{.workgroup_size = 32,
                                                       .vectors = 1,
                                                       .max_groups = 1024,
                                                       .max_items_per_dispatch = 2 * tile}});
    ASSERT_TRUE(runner);
    EXPECT_EQ(share_out(runner.plan().share, count).dispatches, 51u);
    for (const bool in_buffer : {false, true}) {
        for (const std::size_t items :
             {count, count - 1, 2 * tile, 2 * tile + 1, std::size_t{1}, std::size_t{0}}) {
            SCOPED_TRACE(items);
            runner.expect_right(make_elements(Scalar::u32, Operator::sum, items, items).bytes(),
                                {.count_in_buffer = in_buffer});
        }
    }
}

// A9: what one binding cannot hold is refused with the limit's name and both numbers: never
// clamped.
TEST_F(WebgpuLimits, AboveTheLargestBinding) {
    const std::uint64_t most = rig().caps().limits.max_storage_range;
    const auto refused = [&](const auto& plan, std::uint64_t bytes) {
        ASSERT_FALSE(plan);
        EXPECT_EQ(plan.error().code, ErrorCode::limit_exceeded);
        EXPECT_NE(plan.error().message.find(std::to_string(most)), std::string::npos)
            << plan.error().message;
        EXPECT_NE(plan.error().message.find("max_storage_range"), std::string::npos)
            << plan.error().message;
        EXPECT_NE(plan.error().message.find(std::to_string(bytes)), std::string::npos)
            << plan.error().message;
    };
    refused(plan_reduce(rig().caps(), {.max_count = most / 4 + 1}), most + 16);
    refused(plan_scan(rig().caps(), {.max_count = most / 4 + 1}), most + 16);
    // An output that is larger than its input.
    refused(plan_scan(rig().caps(), {.element = Scalar::u8, .max_count = most / 4 + 1}), most + 16);
    EXPECT_TRUE(plan_reduce(rig().caps(), {.max_count = most / 4}));
    EXPECT_TRUE(plan_scan(rig().caps(), {.max_count = most / 4}));
}

// A plan that was made for larger bindings is refused where it is bound.
TEST_F(WebgpuLimits, BindingsAreHeldAgainstTheDevice) {
    Caps caps = rig().caps();
    const std::uint64_t most = caps.limits.max_storage_range;
    caps.limits.max_storage_range = std::uint64_t{1} << 34;
    const auto plan = plan_reduce(caps, {.max_count = most / 4 + 4, .tier = Tier::barrier});
    ASSERT_TRUE(plan) << plan.error().message;
    const auto executable = rig().device().compile(*plan);
    ASSERT_TRUE(executable) << executable.error().message;
    const auto room = rig().owned().make_buffer(65536, WGPUBufferUsage_Storage);
    ASSERT_TRUE(room);
    // Nothing of that size is made: the numbers are enough.
    const auto binding = executable->bind({.input = {room->get(), 0, most + 16},
                                           .output = {room->get(), 0, 16},
                                           .scratch = {room->get(), 256, 65536 - 256}},
                                          std::uint64_t{most / 4 + 4});
    ASSERT_FALSE(binding);
    EXPECT_EQ(binding.error().code, ErrorCode::limit_exceeded);
    EXPECT_NE(binding.error().message.find("max_storage_range"), std::string::npos)
        << binding.error().message;
}

}  // namespace
}  // namespace lanewise::test
