// Names and facts of element types and operators.
#include "lanewise/operators.hpp"

#include <gtest/gtest.h>

#include <string>

#include "lanewise/error.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/reduce.hpp"

namespace lanewise {
namespace {

TEST(Operators, ScalarsHaveTheirSizesAndKinds) {
    struct Row {
        Scalar scalar;
        const char* name;
        std::uint32_t bytes;
        bool floating;
        bool signed_integer;
    };
    const Row rows[] = {
        {Scalar::u8, "u8", 1, false, false},   {Scalar::i8, "i8", 1, false, true},
        {Scalar::u16, "u16", 2, false, false}, {Scalar::i16, "i16", 2, false, true},
        {Scalar::f16, "f16", 2, true, false},  {Scalar::u32, "u32", 4, false, false},
        {Scalar::i32, "i32", 4, false, true},  {Scalar::f32, "f32", 4, true, false},
        {Scalar::u64, "u64", 8, false, false}, {Scalar::i64, "i64", 8, false, true},
        {Scalar::f64, "f64", 8, true, false},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_STREQ(to_text(row.scalar), row.name);
        EXPECT_EQ(scalar_from_text(row.name), row.scalar);
        EXPECT_EQ(size_of(row.scalar), row.bytes);
        EXPECT_EQ(is_float(row.scalar), row.floating);
        EXPECT_EQ(is_signed_integer(row.scalar), row.signed_integer);
    }
}

TEST(Operators, OperatorsHaveTheNamesOfTheCommandLine) {
    struct Row {
        Operator op;
        const char* name;
        bool arg;
    };
    const Row rows[] = {
        {Operator::sum, "sum", false},      {Operator::product, "product", false},
        {Operator::min, "min", false},      {Operator::max, "max", false},
        {Operator::bit_and, "and", false},  {Operator::bit_or, "or", false},
        {Operator::bit_xor, "xor", false},  {Operator::argmin, "argmin", true},
        {Operator::argmax, "argmax", true},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        EXPECT_STREQ(to_text(row.op), row.name);
        EXPECT_EQ(operator_from_text(row.name), row.op);
        EXPECT_EQ(is_arg(row.op), row.arg);
    }
}

TEST(Operators, UnknownNamesAreNoNames) {
    for (const char* text : {"", "U32", "u33", "sum ", "int", "bit_and", "average"}) {
        SCOPED_TRACE(text);
        EXPECT_EQ(scalar_from_text(text), std::nullopt);
        EXPECT_EQ(operator_from_text(text), std::nullopt);
    }
    EXPECT_EQ(reduce_strategy_from_text("three_pass"), std::nullopt);
}

TEST(Operators, EnumeratorsPrintByTheirCppNames) {
    EXPECT_STREQ(to_text(Tier::pinned), "pinned");
    EXPECT_STREQ(to_text(Tier::portable), "portable");
    EXPECT_STREQ(to_text(Tier::barrier), "barrier");
    EXPECT_STREQ(to_text(Addressing::descriptor), "descriptor");
    EXPECT_STREQ(to_text(Addressing::device_address), "device_address");
    EXPECT_STREQ(to_text(Form::subgroup), "subgroup");
    EXPECT_STREQ(to_text(Form::barrier), "barrier");
    EXPECT_STREQ(to_text(Determinism::run_to_run), "run_to_run");
    EXPECT_STREQ(to_text(Determinism::unordered), "unordered");
    EXPECT_STREQ(to_text(Role::scratch), "scratch");
    EXPECT_STREQ(to_text(When::count_in_buffer), "count_in_buffer");
    EXPECT_STREQ(to_text(Groups::share), "share");
    for (const auto strategy : {ReduceStrategy::one_workgroup, ReduceStrategy::last_workgroup,
                                ReduceStrategy::two_pass, ReduceStrategy::arrival_sum}) {
        EXPECT_EQ(reduce_strategy_from_text(to_text(strategy)), strategy);
    }
    EXPECT_STREQ(to_text(ReduceStrategy::last_workgroup), "last_workgroup");
}

TEST(Operators, ErrorCodesHaveStableNames) {
    EXPECT_STREQ(to_text(ErrorCode::bad_argument), "bad_argument");
    EXPECT_STREQ(to_text(ErrorCode::unsupported), "unsupported");
    EXPECT_STREQ(to_text(ErrorCode::limit_exceeded), "limit_exceeded");
    EXPECT_STREQ(to_text(ErrorCode::out_of_memory), "out_of_memory");
    EXPECT_STREQ(to_text(ErrorCode::device_lost), "device_lost");
    EXPECT_STREQ(to_text(ErrorCode::compile_failed), "compile_failed");
    EXPECT_STREQ(to_text(ErrorCode::io), "io");
}

}  // namespace
}  // namespace lanewise
