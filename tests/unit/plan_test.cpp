// Plan: what it says of buffers, ranges and values, whoever made it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lanewise/plan.hpp"
#include "src/core/passes.hpp"

namespace lanewise {
namespace {

using testing::HasSubstr;
using testing::Not;

// Pairs of a key of one byte and a value of 12.
Plan pairs() {
    Plan plan;
    plan.max_count = 1000;
    plan.element_bytes = plan.result_bytes = 1;
    plan.value_bytes = 12;
    plan.arguments = {{Role::input, 1000, 16, BufferUsage::storage, Access::read},
                      {Role::output, 1000, 16, BufferUsage::storage, Access::write},
                      {Role::values, 12000, 16, BufferUsage::storage, Access::read},
                      {Role::values_out, 12000, 16, BufferUsage::storage, Access::write},
                      {Role::scratch, 2048, 16, BufferUsage::storage, Access::read_write}};
    Pass pass;
    pass.name = "move";
    pass.bindings = {Role::input, Role::values, {Role::scratch, 256, 1024}, Role::scratch};
    plan.passes = {pass};
    return plan;
}

TEST(Plan, BytesFollowTheCount) {
    const Plan plan = pairs();
    for (const Role role : {Role::input, Role::output}) {
        EXPECT_EQ(bytes_needed(plan, role, 0), 0u);
        EXPECT_EQ(bytes_needed(plan, role, 5), 8u) << "whole words";
        EXPECT_EQ(bytes_needed(plan, role, 1000), 1000u);
    }
    for (const Role role : {Role::values, Role::values_out}) {
        EXPECT_EQ(bytes_needed(plan, role, 0), 0u);
        EXPECT_EQ(bytes_needed(plan, role, 5), 60u);
        EXPECT_EQ(bytes_needed(plan, role, 2000), 12000u) << "no more than there are";
    }
    EXPECT_EQ(bytes_needed(plan, Role::scratch, 5), 2048u);
    EXPECT_EQ(bytes_needed(Plan{}, Role::values, 5), 0u);
}

TEST(Plan, TextSaysRangesAndWhereTheResultIs) {
    Plan plan = pairs();
    EXPECT_THAT(to_text(plan), HasSubstr("bindings  input, values, scratch[256, +1024], scratch"));
    EXPECT_THAT(to_text(plan), HasSubstr("values_out 12000 bytes"));
    EXPECT_THAT(to_text(plan), Not(HasSubstr("result")));
    EXPECT_THAT(plan_to_json(plan), HasSubstr("\"scratch[256, +1024]\""));
    EXPECT_THAT(plan_to_json(plan), HasSubstr("\"value_bytes\": 12"));
    plan.result = Role::input;
    EXPECT_THAT(to_text(plan), HasSubstr("  the result is in the input\n"));
    EXPECT_THAT(plan_to_json(plan), HasSubstr("\"result\": \"input\""));
}

TEST(Plan, RangesLieInScratch) {
    Plan plan = pairs();
    EXPECT_TRUE(detail::check_ranges(plan));
    plan.passes[0].bindings = {{Role::scratch, 1024, 1028}};
    const auto checked = detail::check_ranges(plan);
    ASSERT_FALSE(checked);
    EXPECT_THAT(checked.error().message, HasSubstr("scratch[1024, +1028]"));
    plan.passes[0].bindings = {{Role::scratch, 1024, 1024}};
    EXPECT_TRUE(detail::check_ranges(plan));
    plan.passes[0].bindings = {{Role::scratch, 1028, 4}};
    EXPECT_FALSE(detail::check_ranges(plan)) << "no multiple of 256";
    plan.passes[0].bindings = {{Role::values, 0, 4}};
    EXPECT_FALSE(detail::check_ranges(plan)) << "of another buffer";
}

// Limits are of what is bound at a time.
TEST(Plan, TheLargestBinding) {
    Plan plan = pairs();
    EXPECT_EQ(detail::most_bound(plan, Role::scratch, 2048, false), 2048u);
    EXPECT_EQ(detail::most_bound(plan, Role::input, 700, false), 700u);
    EXPECT_EQ(detail::most_bound(plan, Role::output, 700, false), 0u) << "no pass has it";
    plan.passes[0].bindings.pop_back();
    EXPECT_EQ(detail::most_bound(plan, Role::scratch, 2048, false), 1024u);
    plan.passes.push_back(plan.passes[0]);
    plan.passes[1].when = When::count_in_buffer;
    plan.passes[1].bindings = {Role::count, Role::scratch};
    EXPECT_EQ(detail::most_bound(plan, Role::scratch, 2048, false), 1024u);
    EXPECT_EQ(detail::most_bound(plan, Role::scratch, 2048, true), 2048u);
}

}  // namespace
}  // namespace lanewise
