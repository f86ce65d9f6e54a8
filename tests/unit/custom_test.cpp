// Custom operators without a GPU: what check() refuses, plans on described devices, bundles, and
// what lanewise::jit compiles.
#include "lanewise/custom.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/bundle.hpp"
#include "lanewise/jit.hpp"
#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "lanewise/select.hpp"
#include "tests/support/custom_cases.hpp"
#include "tests/support/spirv_scan.hpp"
#include "tests/unit/described_devices.hpp"
#include "tests/unit/plan_rules.hpp"

namespace lanewise::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr Tier kTiers[] = {Tier::pinned, Tier::portable, Tier::barrier};
constexpr Addressing kAddressings[] = {Addressing::descriptor, Addressing::device_address};
constexpr ReduceStrategy kReduceStrategies[] = {
    ReduceStrategy::one_workgroup, ReduceStrategy::last_workgroup, ReduceStrategy::two_pass};
constexpr ScanStrategy kScanStrategies[] = {ScanStrategy::one_workgroup,
                                            ScanStrategy::reduce_then_scan, ScanStrategy::look_back,
                                            ScanStrategy::reduce_ahead};
constexpr std::uint32_t kVersions[] = {0x00010300, 0x00010600};

bool waits_for_others(const Plan& plan) {
    return std::ranges::find(plan.passes, "scan_lookback", &Pass::name) != plan.passes.end();
}

Fields one(Scalar scalar, std::uint32_t components = 1) { return {{scalar, components, {}}}; }

// The bounding box of the header.
CustomOperator box() { return custom_cases::box().op; }

// u32 sums: the least that there can be.
CustomOperator least() { return {.element = one(Scalar::u32), .combine = "a + b"}; }

TEST(CustomTypes, BytesFollowEachOtherWithoutGaps) {
    EXPECT_EQ(bytes_of({}), 0u);
    EXPECT_EQ(bytes_of(one(Scalar::u8)), 1u);
    EXPECT_EQ(bytes_of(one(Scalar::f16, 3)), 6u);
    EXPECT_EQ(bytes_of(one(Scalar::f64, 4)), 32u);
    EXPECT_EQ(bytes_of({{Scalar::f32, 3, "p"}, {Scalar::u8, 4, "color"}, {Scalar::u64, 1, "id"}}),
              24u);
}

TEST(CustomTypes, AsText) {
    EXPECT_EQ(to_text(one(Scalar::f32)), "f32");
    EXPECT_EQ(to_text(one(Scalar::f32, 3)), "f32 x3");
    EXPECT_EQ(to_text(box().value), "{low f32 x3, high f32 x3}");
    // One field with a name is a struct, and says so.
    EXPECT_EQ(to_text(Fields{{Scalar::u8, 1, "x"}}), "{x u8}");
}

TEST(CustomTypes, WhatIsNotSaidFollowsFromTheOthers) {
    CustomOperator custom = least();
    EXPECT_EQ(value_of(custom), one(Scalar::u32));
    EXPECT_EQ(result_of(custom), one(Scalar::u32));
    const auto value_of_element = [](Fields element) {
        return value_of({.element = std::move(element)});
    };
    EXPECT_EQ(value_of_element(one(Scalar::u8, 4)), one(Scalar::u32, 4));
    EXPECT_EQ(value_of_element(one(Scalar::u16)), one(Scalar::u32));
    EXPECT_EQ(value_of_element(one(Scalar::i8, 2)), one(Scalar::i32, 2));
    EXPECT_EQ(value_of_element(one(Scalar::i16, 2)), one(Scalar::i32, 2));
    EXPECT_EQ(value_of_element(one(Scalar::f16, 2)), one(Scalar::f32, 2));
    for (const Scalar wide :
         {Scalar::u32, Scalar::i32, Scalar::f32, Scalar::u64, Scalar::i64, Scalar::f64})
        EXPECT_EQ(value_of_element(one(wide, 2)), one(wide, 2));
    EXPECT_EQ(value_of_element({{Scalar::f16, 4, "h"}, {Scalar::u32, 1, "c"}}),
              (Fields{{Scalar::f32, 4, "h"}, {Scalar::u32, 1, "c"}}));
    custom.value = one(Scalar::f64, 2);
    EXPECT_EQ(value_of(custom), one(Scalar::f64, 2));
    EXPECT_EQ(result_of(custom), one(Scalar::f64, 2));
    custom.result = one(Scalar::u32);
    EXPECT_EQ(value_of(custom), one(Scalar::f64, 2));
    EXPECT_EQ(result_of(custom), one(Scalar::u32));
}

TEST(CustomCheck, TakesWhatTheHeaderAllows) {
    for (const CustomCase& custom : custom_cases::all()) {
        CustomOperator op = custom.op;
        EXPECT_TRUE(check(op)) << op.name << ": " << check(op).error().message;
        op.nothing = custom.nothing;
        op.initial = custom.initial;
        EXPECT_TRUE(check(op)) << op.name << ": " << check(op).error().message;
    }
    EXPECT_TRUE(check(least()));
    for (const char* name : {"a", "box", "box_2", "a1b2", "low_and_high"}) {
        CustomOperator custom = least();
        custom.name = name;
        EXPECT_TRUE(check(custom)) << name;
    }
    // A load of its own makes any value of any element.
    EXPECT_TRUE(check({.element = one(Scalar::u8, 2),
                       .value = one(Scalar::f32, 4),
                       .load = "vec4f(x, x)",
                       .combine = "a + b"}));
    // Names that are the same in different types.
    EXPECT_TRUE(check({.element = {{Scalar::u32, 1, "n"}},
                       .value = {{Scalar::u32, 1, "n"}},
                       .combine = "Value(a.n + b.n)",
                       .result = {{Scalar::u32, 1, "n"}},
                       .store = "Result(a.n)"}));
}

struct Refusal {
    const char* what;
    std::function<void(CustomOperator&)> change;
    std::vector<const char*> words;  // of the message
};

// Every line of the header that says what a type must be, broken once.
TEST(CustomCheck, RefusesAndSaysWhat) {
    const Refusal refusals[] = {
        {"no name", [](auto& c) { c.name = ""; }, {"name", "''"}},
        {"a digit first", [](auto& c) { c.name = "2box"; }, {"name", "2box"}},
        {"an underscore first", [](auto& c) { c.name = "_box"; }, {"name", "_box"}},
        {"upper case", [](auto& c) { c.name = "Box"; }, {"name", "Box", "lower case"}},
        {"a dot", [](auto& c) { c.name = "box.descriptor"; }, {"name", "box.descriptor"}},
        {"a space", [](auto& c) { c.name = "my box"; }, {"name", "my box"}},
        {"a slash", [](auto& c) { c.name = "../box"; }, {"name", "../box"}},
        {"no element", [](auto& c) { c.element.clear(); }, {"element", "no fields"}},
        {"no components",
         [](auto& c) { c.element[0].components = 0; },
         {"element", "0 components", "1 to 4"}},
        {"five components",
         [](auto& c) { c.element[0].components = 5; },
         {"element", "5 components", "1 to 4"}},
        {"components whose bytes wrap",
         [](auto& c) { c.element[0].components = 0x40000001; },
         {"element", "components"}},
        {"five components of a value",
         [](auto& c) { c.value[1].components = 5; },
         {"value.high", "5 components"}},
        {"two fields without names",
         [](auto& c) {
             c.element = {{Scalar::u32, 1, {}}, {Scalar::u32, 1, {}}};
         },
         {"element", "field 0", "name"}},
        {"a field without a name among others",
         [](auto& c) { c.value[1].name = ""; },
         {"value", "field 1", "name"}},
        {"a field with a digit first",
         [](auto& c) { c.value[0].name = "0low"; },
         {"value", "field 0", "0low"}},
        {"a field with text that is no name",
         [](auto& c) { c.value[0].name = "low; } void main() {"; },
         {"value", "field 0", "name"}},
        {"a field with a name of GLSL's",
         [](auto& c) {
             c.element = {{Scalar::u32, 1, "gl_count"}};
         },
         {"element.gl_count", "taken"}},
        {"fields with names of kernels",
         [](auto& c) { c.value[1].name = "LW_high"; },
         {"value.LW_high", "taken"}},
        {"a function's name",
         [](auto& c) { c.value[0].name = "operation_load"; },
         {"value.operation_load", "taken"}},
        {"a field twice", [](auto& c) { c.value[1].name = "low"; }, {"value", "two fields", "low"}},
        {"narrow scalars in a value",
         [](auto& c) {
             c.value = {{Scalar::f16, 4, "low"}, {Scalar::f16, 4, "high"}};
         },
         {"value.low", "f16", "32 or 64"}},
        {"narrow scalars in a result",
         [](auto& c) {
             c.result = one(Scalar::u8, 4);
             c.store = "a.low.x";
         },
         {"result", "u8", "32 or 64"}},
        {"a field that is misaligned",
         [](auto& c) {
             c.element = {{Scalar::u8, 1, "tag"}, {Scalar::f32, 3, "p"}};
         },
         {"element.p", "byte 1", "4"}},
        {"64 bits after 32",
         [](auto& c) {
             c.value = {{Scalar::u32, 1, "n"}, {Scalar::f64, 1, "t"}};
         },
         {"value.t", "byte 4", "8"}},
        {"an end that is no multiple of the largest",
         [](auto& c) {
             c.element = {{Scalar::f64, 1, "t"}, {Scalar::u32, 1, "n"}};
         },
         {"element", "byte 12", "8"}},
        {"3 bytes", [](auto& c) { c.element = one(Scalar::u8, 3); }, {"element", "3 bytes"}},
        {"6 bytes", [](auto& c) { c.element = one(Scalar::f16, 3); }, {"element", "6 bytes"}},
        {"260 bytes of element",
         [](auto& c) {
             c.element.clear();
             for (int i = 0; i < 65; ++i)
                 c.element.push_back({Scalar::u32, 1, fmt::format("e{}", i)});
         },
         {"element", "256 bytes"}},
        {"132 bytes of value",
         [](auto& c) {
             c.value.clear();
             for (int i = 0; i < 33; ++i)
                 c.value.push_back({Scalar::u32, 1, fmt::format("v{}", i)});
         },
         {"value", "128 bytes"}},
        {"260 bytes of result",
         [](auto& c) {
             c.store = "Result()";
             for (int i = 0; i < 65; ++i)
                 c.result.push_back({Scalar::u32, 1, fmt::format("r{}", i)});
         },
         {"result", "256 bytes"}},
        {"a value of 160 bytes by widening",
         [](auto& c) {
             c = least();
             c.element.clear();
             for (int i = 0; i < 10; ++i)
                 c.element.push_back({Scalar::u8, 4, fmt::format("e{}", i)});
         },
         {"value", "128 bytes"}},
        {"no combine", [](auto& c) { c.combine = ""; }, {"`combine` is missing"}},
        {"no load for another value",
         [](auto& c) { c.load = ""; },
         {"`load` is missing", "{low f32 x3, high f32 x3}", "f32 x3"}},
        {"no store for another result",
         [](auto& c) { c.result = one(Scalar::f32, 3); },
         {"`store` is missing", "{low f32 x3, high f32 x3}"}},
        {"nothing of a value's bytes, not the result's",
         [](auto& c) {
             c.result = one(Scalar::f32);
             c.store = "a.low.x";
             c.nothing = Bytes(24);
         },
         {"`nothing`", "24 bytes", "4"}},
        {"initial of a result's bytes, not the value's",
         [](auto& c) {
             c.result = one(Scalar::f32);
             c.store = "a.low.x";
             c.initial = Bytes(4);
         },
         {"`initial`", "4 bytes", "24"}},
        {"one byte too many", [](auto& c) { c.nothing = Bytes(25); }, {"`nothing`", "25", "24"}},
    };
    for (const Refusal& refusal : refusals) {
        SCOPED_TRACE(refusal.what);
        CustomOperator custom = box();
        refusal.change(custom);
        const auto checked = check(custom);
        ASSERT_FALSE(checked);
        EXPECT_EQ(checked.error().code, ErrorCode::bad_argument);
        const std::string& message = checked.error().message;
        EXPECT_THAT(message, HasSubstr("custom operator"));
        EXPECT_THAT(message, Not(HasSubstr("\n")));
        for (const char* word : refusal.words) EXPECT_THAT(message, HasSubstr(word));
        // Planners refuse the same, in the same words.
        const auto reduce = plan_reduce(described("all"), {.custom = custom, .max_count = 1000});
        ASSERT_FALSE(reduce);
        EXPECT_EQ(reduce.error().code, ErrorCode::bad_argument);
        EXPECT_EQ(reduce.error().message, "reduce: " + message);
        const auto scan = plan_scan(described("all"), {.custom = custom, .max_count = 1000});
        ASSERT_FALSE(scan);
        EXPECT_EQ(scan.error().code, ErrorCode::bad_argument);
        EXPECT_EQ(scan.error().message, "scan: " + message);
    }
}

ReduceDesc reduce_with(const CustomOperator& custom, std::uint64_t max_count = 1 << 20) {
    return {.custom = custom, .max_count = max_count};
}
ScanDesc scan_with(const CustomOperator& custom, std::uint64_t max_count = 1 << 20) {
    return {.custom = custom, .max_count = max_count};
}

// Every operator, device, tier, addressing and strategy: a plan that keeps the rules, or a reason.
TEST(CustomPlan, KeepsTheRulesOrSaysWhyNot) {
    std::size_t plans = 0, refusals = 0;
    for (const DescribedDevice& device : described_devices()) {
        for (const CustomCase& custom : custom_cases::all()) {
            const auto judge = [&](const Result<Plan>& plan, const std::string& strategy) {
                SCOPED_TRACE(fmt::format("{}, {}, {}", device.name, custom.name(), strategy));
                if (!plan) {
                    ++refusals;
                    EXPECT_THAT(plan.error().code,
                                AnyOf(ErrorCode::unsupported, ErrorCode::limit_exceeded));
                    EXPECT_FALSE(plan.error().message.empty());
                    EXPECT_THAT(plan.error().message, Not(HasSubstr("\n")));
                    return;
                }
                ++plans;
                for (const std::string& rule : broken_rules(*plan, device.caps))
                    ADD_FAILURE() << rule << "\n" << to_text(*plan);
                EXPECT_EQ(plan->custom, custom.op);
                EXPECT_EQ(plan->element_bytes, bytes_of(custom.op.element));
                EXPECT_THAT(plan->summary, HasSubstr(custom.name()));
            };
            for (const Tier tier : kTiers) {
                for (const Addressing addressing : kAddressings) {
                    ReduceDesc reduce = reduce_with(custom.op);
                    reduce.tier = tier;
                    reduce.addressing = addressing;
                    judge(plan_reduce(device.caps, reduce), "reduce as chosen");
                    for (const ReduceStrategy strategy : kReduceStrategies) {
                        reduce.policy = ReducePolicy{.strategy = strategy, .workgroup_size = 64};
                        judge(plan_reduce(device.caps, reduce), to_text(strategy));
                    }
                    ScanDesc scan = scan_with(custom.op);
                    scan.tier = tier;
                    scan.addressing = addressing;
                    judge(plan_scan(device.caps, scan), "scan as chosen");
                    for (const ScanStrategy strategy : kScanStrategies) {
                        scan.determinism = Determinism::unordered;
                        scan.policy =
                            ScanPolicy{.strategy = strategy,
                                       .workgroup_size = 64,
                                       .ahead = strategy == ScanStrategy::reduce_ahead ? 4u : 0u};
                        judge(plan_scan(device.caps, scan), to_text(strategy));
                    }
                }
            }
        }
    }
    EXPECT_GT(plans, 1000u);
    EXPECT_GT(refusals, 100u);
}

// With nothing forced, every device that has the types and a compute stage has a plan.
TEST(CustomPlan, EveryDeviceWithTheTypesHasOne) {
    for (const DescribedDevice& device : described_devices()) {
        if (device.caps.limits.max_workgroup_invocations == 0) continue;
        for (const CustomCase& custom : custom_cases::all()) {
            if (custom.has_scalar({Scalar::u64, Scalar::i64}) && !device.caps.types.int64) continue;
            if (custom.has_scalar({Scalar::f64}) && !device.caps.types.float64) continue;
            for (const std::uint64_t count : {0, 1, 1000, 100000}) {
                const auto reduce = plan_reduce(device.caps, reduce_with(custom.op, count));
                const auto scan = plan_scan(device.caps, scan_with(custom.op, count));
                EXPECT_TRUE(reduce)
                    << device.name << ' ' << custom.name() << ": " << reduce.error().message;
                EXPECT_TRUE(scan) << device.name << ' ' << custom.name() << ": "
                                  << scan.error().message;
            }
        }
    }
}

TEST(CustomPlan, RefusesTypesThatTheDeviceLacks) {
    Caps caps = described("all");
    const auto expect_refused = [&](const CustomOperator& custom, const char* word) {
        for (const auto& plan :
             {plan_reduce(caps, reduce_with(custom)), plan_scan(caps, scan_with(custom))}) {
            ASSERT_FALSE(plan) << custom.name;
            EXPECT_EQ(plan.error().code, ErrorCode::unsupported);
            EXPECT_THAT(plan.error().message, HasSubstr(word));
        }
    };
    // Where a type is needed at all: as an element, a value or a result.
    const auto with_value = [](Scalar scalar) {
        return CustomOperator{.element = one(Scalar::u32),
                              .value = one(scalar),
                              .load = "Value(x)",
                              .combine = "a + b",
                              .result = one(Scalar::u32),
                              .store = "u32(a)"};
    };
    const auto with_element = [](Scalar scalar) {
        return CustomOperator{.element = one(scalar),
                              .value = one(Scalar::u32),
                              .load = "u32(x)",
                              .combine = "a + b"};
    };
    const auto with_result = [](Scalar scalar) {
        return CustomOperator{.element = one(Scalar::u32),
                              .combine = "a + b",
                              .result = one(scalar),
                              .store = "Result(a)"};
    };
    caps.types.int64 = false;
    for (const Scalar scalar : {Scalar::u64, Scalar::i64}) {
        expect_refused(with_value(scalar), "64");
        expect_refused(with_element(scalar), "64");
        expect_refused(with_result(scalar), "64");
    }
    EXPECT_TRUE(plan_reduce(caps, reduce_with(with_value(Scalar::f64))));
    caps = described("all");
    caps.types.float64 = false;
    expect_refused(with_value(Scalar::f64), "64");
    expect_refused(with_element(Scalar::f64), "64");
    expect_refused(with_result(Scalar::f64), "64");
    EXPECT_TRUE(plan_scan(caps, scan_with(with_value(Scalar::u64))));
    // Narrow elements are taken from words: no device lacks anything for them.
    caps = described("all");
    caps.types = {};
    for (const Scalar narrow : {Scalar::u8, Scalar::i8, Scalar::u16, Scalar::i16, Scalar::f16}) {
        EXPECT_TRUE(plan_reduce(caps, reduce_with(with_element(narrow)))) << to_text(narrow);
        EXPECT_TRUE(plan_scan(caps, scan_with(with_element(narrow)))) << to_text(narrow);
    }
}

TEST(CustomPlan, InitialIsForScansAndInTheOperator) {
    CustomOperator custom = least();
    custom.initial = raw(std::uint32_t{7});
    const auto reduce = plan_reduce(described("all"), reduce_with(custom));
    ASSERT_FALSE(reduce);
    EXPECT_EQ(reduce.error().code, ErrorCode::bad_argument);
    EXPECT_THAT(reduce.error().message, AllOf(HasSubstr("`initial`"), HasSubstr("`nothing`")));
    EXPECT_TRUE(plan_scan(described("all"), scan_with(custom)));
    ScanDesc desc = scan_with(least());
    desc.initial = 7;
    const auto scan = plan_scan(described("all"), desc);
    ASSERT_FALSE(scan);
    EXPECT_EQ(scan.error().code, ErrorCode::bad_argument);
    EXPECT_THAT(scan.error().message, HasSubstr("custom"));
    custom.nothing = raw(std::uint32_t{7});
    custom.initial.clear();
    EXPECT_TRUE(plan_reduce(described("all"), reduce_with(custom)));
}

// A6: more items never need less, and never wrap.
TEST(CustomPlan, ScratchGrowsWithTheCount) {
    for (const char* name : {"all", "mali-g715", "webgpu-minimum"}) {
        Caps caps = described(name);
        caps.limits.max_storage_range = ~std::uint64_t{0};
        for (const CustomCase& custom : custom_cases::all()) {
            if (custom.has_scalar({Scalar::u64, Scalar::f64}) && !caps.types.float64) continue;
            for (const bool is_scan : {false, true}) {
                SCOPED_TRACE(fmt::format("{} {} {}", name, custom.name(), is_scan));
                std::uint64_t before = 0;
                for (std::uint64_t count = 0; count < std::uint64_t{1} << 33;
                     count += count / 5 + 1) {
                    // Of one policy: another one may need less.
                    ReduceDesc reduce = reduce_with(custom.op, count);
                    reduce.policy =
                        ReducePolicy{.strategy = ReduceStrategy::two_pass, .workgroup_size = 64};
                    ScanDesc scan = scan_with(custom.op, count);
                    scan.policy = ScanPolicy{.workgroup_size = 16};
                    const auto plan = is_scan ? plan_scan(caps, scan) : plan_reduce(caps, reduce);
                    if (!plan) {
                        EXPECT_EQ(plan.error().code, ErrorCode::limit_exceeded)
                            << plan.error().message;
                        break;
                    }
                    const Argument* scratch = plan->argument(Role::scratch);
                    const std::uint64_t bytes = scratch != nullptr ? scratch->bytes : 0;
                    EXPECT_GE(bytes, before) << count;
                    before = bytes;
                    EXPECT_GE(plan->argument(Role::input)->bytes,
                              count * bytes_of(custom.op.element));
                }
                EXPECT_GT(before, 0u);
            }
        }
    }
}

// Where a stock scan looks back by default, one of integers does, one of floats does only when the
// order may change, and one of values longer than a word does not: it may, but is slower.
TEST(CustomPlan, LookBackIsForShortValuesAndNotForFloatsUnlessUnordered) {
    for (const char* name : {"all", "nvidia"}) {
        const Caps caps = described(name);
        for (const std::uint64_t count : {std::uint64_t{1} << 18, std::uint64_t{1} << 23}) {
            ASSERT_TRUE(waits_for_others(*plan_scan(caps, {.max_count = count})));
            const auto looks = [&](const CustomOperator& custom, Determinism determinism) {
                ScanDesc desc = scan_with(custom, count);
                desc.determinism = determinism;
                const auto plan = plan_scan(caps, desc);
                EXPECT_TRUE(plan) << plan.error().message;
                return plan && waits_for_others(*plan);
            };
            const auto custom_of = [](Scalar element, Scalar value, Scalar result) {
                return CustomOperator{.element = one(element),
                                      .value = one(value),
                                      .load = "Value(x)",
                                      .combine = "a + b",
                                      .result = one(result),
                                      .store = "Result(a)"};
            };
            constexpr Determinism ordered = Determinism::run_to_run;
            constexpr Determinism any = Determinism::unordered;
            EXPECT_TRUE(looks(least(), ordered));
            EXPECT_FALSE(looks(custom_cases::affine().op, ordered));
            EXPECT_FALSE(looks(custom_of(Scalar::f32, Scalar::f32, Scalar::u32), ordered));
            EXPECT_TRUE(looks(custom_of(Scalar::f32, Scalar::f32, Scalar::u32), any));
            EXPECT_FALSE(looks(custom_of(Scalar::u32, Scalar::f64, Scalar::u32), ordered));
            // What is combined are integers: no order matters.
            EXPECT_TRUE(looks(custom_of(Scalar::f32, Scalar::u32, Scalar::f32), ordered));
            EXPECT_FALSE(looks(custom_cases::largest().op, any));
            EXPECT_FALSE(looks(custom_cases::permutation().op, any));
        }
        // Forced, each is an error, not another strategy.
        for (const ScanStrategy strategy : {ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
            ScanDesc desc = scan_with(custom_cases::forces().op);
            desc.policy = ScanPolicy{.strategy = strategy,
                                     .ahead = strategy == ScanStrategy::reduce_ahead ? 4u : 0u};
            const auto rounded = plan_scan(caps, desc);
            ASSERT_FALSE(rounded);
            EXPECT_THAT(rounded.error().message, HasSubstr("unordered"));
            desc.determinism = Determinism::unordered;
            EXPECT_TRUE(plan_scan(caps, desc));
            desc.custom = custom_cases::largest().op;
            const auto lengthy = plan_scan(caps, desc);
            ASSERT_FALSE(lengthy);
            EXPECT_EQ(lengthy.error().code, ErrorCode::unsupported);
            EXPECT_THAT(lengthy.error().message, HasSubstr("too long to be published"));
        }
    }
}

// 128 bytes for each invocation are more than a workgroup of the usual size has.
TEST(CustomPlan, WorkgroupsFitTheirMemory) {
    for (Caps caps : {described("webgpu-minimum"), described("all"), described("size-128")}) {
        for (const std::uint32_t memory : {16384u, 32768u}) {
            caps.limits.max_workgroup_memory = memory;
            for (const CustomCase& custom : custom_cases::all()) {
                if (custom.has_scalar({Scalar::u64, Scalar::f64}) && !caps.types.float64) continue;
                for (const Tier tier : kTiers) {
                    ReduceDesc reduce = reduce_with(custom.op, 1 << 18);
                    ScanDesc scan = scan_with(custom.op, 1 << 18);
                    reduce.tier = scan.tier = tier;
                    for (const auto& plan : {plan_reduce(caps, reduce), plan_scan(caps, scan)}) {
                        if (!plan) {
                            // The tier is missing; the memory never is what is.
                            EXPECT_NE(tier, Tier::barrier)
                                << custom.name() << ": " << plan.error().message;
                            continue;
                        }
                        for (const Pass& pass : plan->passes)
                            EXPECT_LE(pass.workgroup_memory, memory) << to_text(*plan);
                    }
                }
            }
        }
    }
    // Forced, it is an error that says so.
    Caps caps = described("all");
    caps.limits.max_workgroup_memory = 16384;
    ReduceDesc desc = reduce_with(custom_cases::largest().op);
    desc.tier = Tier::barrier;
    desc.policy = ReducePolicy{.workgroup_size = 1024};
    const auto plan = plan_reduce(caps, desc);
    ASSERT_FALSE(plan);
    EXPECT_THAT(plan.error().message, HasSubstr("memory"));
}

std::vector<std::string> kernels_of(const CustomOperator& custom, bool is_scan = true) {
    const auto plan = is_scan ? plan_scan(described("all"), scan_with(custom))
                              : plan_reduce(described("all"), reduce_with(custom));
    std::vector<std::string> names;
    EXPECT_TRUE(plan) << plan.error().message;
    if (!plan) return names;
    for (const Pass& pass : plan->passes) {
        if (pass.when == When::always) names.push_back(pass.kernel);
    }
    return names;
}

// Bundles are looked up by name: whatever changes the kernels' text must change their names.
TEST(CustomPlan, KernelsAreNamedByAllThatTheyAreMadeOf) {
    CustomOperator base{.name = "base",
                        .element = {{Scalar::u32, 1, "m"}, {Scalar::u32, 1, "c"}},
                        .value = {{Scalar::u32, 1, "m"}, {Scalar::u32, 1, "c"}},
                        .load = "Value(x.m, x.c)",
                        .combine = "Value(a.m, b.c)",
                        .result = {{Scalar::u32, 1, "m"}, {Scalar::u32, 1, "c"}},
                        .store = "Result(a.m, a.c)",
                        .nothing = Bytes(8, std::byte{1}),
                        .initial = Bytes(8, std::byte{2})};
    const std::vector<std::function<void(CustomOperator&)>> changes{
        [](auto&) {},
        [](auto& c) { c.name = "other"; },
        [](auto& c) { c.element[0].scalar = Scalar::i32; },
        [](auto& c) { c.element[0].name = "n"; },
        [](auto& c) { c.element = one(Scalar::u32, 2); },
        [](auto& c) {
            c.element = {{Scalar::u32, 2, "m"}};
        },
        [](auto& c) { c.value[1].scalar = Scalar::i32; },
        [](auto& c) { c.value[1].name = "n"; },
        [](auto& c) { c.load = "Value(x.c, x.m)"; },
        [](auto& c) { c.load = "Value(x.m, x.c) "; },
        [](auto& c) { c.combine = "Value(b.m, a.c)"; },
        [](auto& c) { c.commutative = true; },
        [](auto& c) { c.result[0].scalar = Scalar::i32; },
        [](auto& c) { c.result = one(Scalar::u32, 2); },
        [](auto& c) { c.store = "Result(a.c, a.m)"; },
        [](auto& c) { c.nothing[7] = std::byte{3}; },
        [](auto& c) { c.nothing.clear(); },
        [](auto& c) { c.initial[0] = std::byte{3}; },
        [](auto& c) { c.initial.clear(); },
        // The same letters, shared out over the texts in another way.
        [](auto& c) { std::swap(c.load, c.store); },
        [](auto& c) { std::swap(c.nothing, c.initial); },
    };
    std::set<std::string> names;
    std::size_t kernels = 0;
    for (const auto& change : changes) {
        CustomOperator custom = base;
        change(custom);
        const auto once = kernels_of(custom);
        EXPECT_EQ(once, kernels_of(CustomOperator(custom)));
        ASSERT_FALSE(once.empty());
        kernels += once.size();
        for (const std::string& name : once) {
            EXPECT_THAT(name, HasSubstr(custom.name));
            names.insert(name);
        }
    }
    EXPECT_EQ(names.size(), kernels) << "two operators, one name";
    // What an operator leaves out is what follows from the rest: the same kernel.
    CustomOperator said = custom_cases::affine().op;
    const auto unsaid = kernels_of(said);
    said.value = value_of(said);
    said.result = result_of(said);
    EXPECT_EQ(kernels_of(said), unsaid);
    // A reduction's tiles and a scan's are not the same.
    EXPECT_NE(kernels_of(said, false), unsaid);
}

BundledKernel kernel(std::string name, std::uint32_t version, std::size_t words = 6) {
    BundledKernel made{std::move(name), version, std::vector<std::uint32_t>(words)};
    for (std::size_t i = 0; i < words; ++i)
        made.words[i] = static_cast<std::uint32_t>(hash(words, i));
    made.words[0] = 0x07230203;
    made.words[1] = version;
    return made;
}

TEST(Bundle, FindsTheNewestThatTheDeviceTakes) {
    Bundle bundle;
    EXPECT_EQ(bundle.find("a", ~0u), nullptr);
    const auto old_a = kernel("a", 0x00010300, 7), new_a = kernel("a", 0x00010600, 8);
    const auto only_new = kernel("ab", 0x00010600, 9), only_old = kernel("b", 0x00010300, 10);
    for (const auto& k : {only_old, new_a, only_new, old_a}) bundle.add(k);
    ASSERT_EQ(bundle.kernels().size(), 4u);
    EXPECT_EQ(*bundle.find("a", 0x00010600), new_a);
    EXPECT_EQ(*bundle.find("a", ~0u), new_a);
    EXPECT_EQ(*bundle.find("a", 0x000105ff), old_a);
    EXPECT_EQ(*bundle.find("a", 0x00010300), old_a);
    EXPECT_EQ(bundle.find("a", 0x00010200), nullptr);
    EXPECT_EQ(bundle.find("ab", 0x00010300), nullptr);
    EXPECT_EQ(*bundle.find("ab", 0x00010600), only_new);
    EXPECT_EQ(*bundle.find("b", 0x00010600), only_old);
    for (const char* none : {"", "A", "aa", "abc", "c"}) EXPECT_EQ(bundle.find(none, ~0u), nullptr);
    // Takes the place of the one before.
    const auto newer = kernel("a", 0x00010300, 20);
    bundle.add(newer);
    EXPECT_EQ(bundle.kernels().size(), 4u);
    EXPECT_EQ(*bundle.find("a", 0x00010300), newer);
    // Another bundle's win, too; and its own may be added to itself.
    Bundle other;
    other.add(old_a);
    other.add(kernel("z", 0x00010300));
    bundle.add(other);
    EXPECT_EQ(bundle.kernels().size(), 5u);
    EXPECT_EQ(*bundle.find("a", 0x00010300), old_a);
    const auto before = bundle.kernels();
    bundle.add(bundle);
    EXPECT_EQ(bundle.kernels(), before);
}

Bundle small_bundle() {
    Bundle bundle;
    bundle.add(kernel("scan_sums.subgroup.box_1.descriptor", 0x00010300, 9));
    bundle.add(kernel("scan_sums.subgroup.box_1.descriptor", 0x00010600, 11));
    bundle.add(kernel("x", 0x00010300, 5));
    return bundle;
}

TEST(Bundle, ComesBackFromItsBytes) {
    for (const Bundle& bundle : {Bundle(), small_bundle()}) {
        const auto again = Bundle::from_bytes(bundle.to_bytes());
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(again->kernels(), bundle.kernels());
        EXPECT_EQ(again->to_bytes(), bundle.to_bytes());
    }
}

// B-side of "cut short": each beginning of a bundle is refused, and so is more than a bundle.
TEST(Bundle, RefusesWhatIsNotWhole) {
    const Bytes bytes = small_bundle().to_bytes();
    for (std::size_t length = 0; length < bytes.size(); ++length) {
        // A copy as long as that: what is read past its end is seen by a sanitizer.
        const Bytes part(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length));
        const auto bundle = Bundle::from_bytes(part);
        ASSERT_FALSE(bundle) << length << " of " << bytes.size() << " bytes";
        EXPECT_EQ(bundle.error().code, ErrorCode::bad_argument);
        EXPECT_THAT(bundle.error().message, HasSubstr("bundle"));
    }
    Bytes longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(Bundle::from_bytes(longer));
}

// Any byte changed, in several ways: refused, or a bundle that says what it holds; never a crash,
// never memory for sizes that are not there.
TEST(Bundle, SurvivesEveryByteChanged) {
    const Bytes bytes = small_bundle().to_bytes();
    std::size_t refused = 0;
    for (std::size_t at = 0; at < bytes.size(); ++at) {
        for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
            Bytes changed = bytes;
            changed[at] ^= static_cast<std::byte>(flip);
            const auto bundle = Bundle::from_bytes(changed);
            if (!bundle) {
                ++refused;
                EXPECT_EQ(bundle.error().code, ErrorCode::bad_argument);
                continue;
            }
            EXPECT_NE(bundle->kernels(), small_bundle().kernels());
            for (const BundledKernel& k : bundle->kernels()) {
                ASSERT_GE(k.words.size(), 5u);
                EXPECT_EQ(k.words[0], 0x07230203u);
                EXPECT_EQ(k.words[1], k.spirv_version);
            }
        }
    }
    EXPECT_GT(refused, 3u * 16);
    // Sizes of four gigabytes in every place of the head.
    for (std::size_t at = 0; at + 4 <= bytes.size(); ++at) {
        Bytes changed = bytes;
        std::fill_n(changed.begin() + static_cast<std::ptrdiff_t>(at), 4, std::byte{0xff});
        const auto bundle = Bundle::from_bytes(changed);
        if (bundle) {
            EXPECT_LE(bundle->to_bytes().size(), bytes.size());
        }
    }
}

TEST(Bundle, RefusesOtherFilesAndVersions) {
    const Bytes bytes = small_bundle().to_bytes();
    const auto message_of = [](const Bytes& changed) {
        const auto bundle = Bundle::from_bytes(changed);
        EXPECT_FALSE(bundle);
        return bundle ? std::string() : bundle.error().message;
    };
    EXPECT_THAT(message_of({}), HasSubstr("bundle"));
    Bytes module(64);
    std::memcpy(module.data(), "\x03\x02\x23\x07", 4);
    EXPECT_THAT(message_of(module), HasSubstr("bundle"));
    // Behind the magic stands what kernels and hosts agree on.
    for (std::size_t at = 8; at < 16; ++at) {
        Bytes other = bytes;
        other[at] ^= std::byte{1};
        EXPECT_THAT(message_of(other), HasSubstr("version"));
    }
}

// Everything that a plan of a device may need, found in a bundle, as modules that are right for it.
void expect_kernels(const Plan& plan, const Caps& caps, const Bundle& bundle) {
    for (const std::string& rule : broken_rules(plan, caps, &bundle))
        ADD_FAILURE() << rule << "\n" << to_text(plan);
}

TEST(Jit, CompilesWhatAPlanNeedsAndNoMore) {
    for (const bool is_scan : {false, true}) {
        ScanDesc scan = scan_with(box());
        scan.policy = ScanPolicy{};
        ReduceDesc reduce = reduce_with(box());
        reduce.policy = ReducePolicy{};
        const Caps caps = described("all");
        const auto plan = is_scan ? plan_scan(caps, scan) : plan_reduce(caps, reduce);
        ASSERT_TRUE(plan) << plan.error().message;
        const auto bundle = jit::compile(*plan);
        ASSERT_TRUE(bundle) << bundle.error().message;
        std::set<std::string> needed, compiled;
        for (const Pass& pass : plan->passes) {
            if (detail::find_kernel(pass.kernel, ~0u) != nullptr) continue;
            needed.insert(pass.kernel);
            for (const std::uint32_t version : kVersions) {
                const BundledKernel* found = bundle->find(pass.kernel, version);
                ASSERT_NE(found, nullptr) << pass.kernel;
                EXPECT_EQ(found->spirv_version, version) << pass.kernel;
                EXPECT_EQ(found->words[1], version);
                EXPECT_TRUE(scan_spirv(found->words).well_formed);
            }
        }
        for (const BundledKernel& k : bundle->kernels()) compiled.insert(k.name);
        EXPECT_EQ(compiled, needed);
        EXPECT_EQ(needed.size(), 2u);
        expect_kernels(*plan, caps, *bundle);
        const auto again = Bundle::from_bytes(bundle->to_bytes());
        ASSERT_TRUE(again);
        EXPECT_EQ(again->kernels(), bundle->kernels());
    }
}

TEST(Jit, PlansOfStockOperatorsNeedNothing) {
    for (const auto& plan : {plan_reduce(described("all"), {.max_count = 1000}),
                             plan_scan(described("all"), {.max_count = 1000})}) {
        ASSERT_TRUE(plan);
        const auto bundle = jit::compile(*plan);
        ASSERT_TRUE(bundle);
        EXPECT_TRUE(bundle->kernels().empty());
    }
}

TEST(Jit, AheadRefusesWhatPlanningWould) {
    CustomOperator nameless = least();
    nameless.name.clear();
    EXPECT_EQ(jit::compile_for_all_devices(nameless, "reduce").error().code,
              ErrorCode::bad_argument);
    const auto unknown = jit::compile_for_all_devices(least(), "sort");
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().message, HasSubstr("sort"));
}

TEST(Jit, PredicatesAreForSelect) {
    const CustomPredicate over{.name = "over", .element = {{Scalar::f32, 1}}, .keep = "x > 1.0"};
    CustomPredicate nothing = over;
    nothing.keep.clear();
    EXPECT_EQ(jit::compile_for_all_devices(nothing).error().code, ErrorCode::bad_argument);
    CustomPredicate typeless = over;
    typeless.element.clear();
    EXPECT_EQ(jit::compile_for_all_devices(typeless).error().code, ErrorCode::bad_argument);
    const auto sums = jit::compile_for_all_devices(least(), "select");
    ASSERT_FALSE(sums);
    EXPECT_THAT(sums.error().message, HasSubstr("select"));

    const auto ahead = jit::compile_for_all_devices(over);
    ASSERT_TRUE(ahead) << ahead.error().message;
    for (const SelectStrategy strategy :
         {SelectStrategy::one_workgroup, SelectStrategy::count_then_scatter,
          SelectStrategy::look_back, SelectStrategy::append}) {
        SelectDesc desc{.predicate = over, .indices = true, .max_count = 5000};
        desc.order = strategy == SelectStrategy::append ? SelectOrder::any : SelectOrder::input;
        desc.policy = SelectPolicy{.strategy = strategy};
        const auto plan = plan_select(described("all"), desc);
        ASSERT_TRUE(plan) << plan.error().message;
        for (const Pass& pass : plan->passes) {
            EXPECT_TRUE(detail::find_kernel(pass.kernel, ~0u) != nullptr ||
                        ahead->find(pass.kernel, ~0u) != nullptr)
                << pass.kernel;
        }
    }

    // The compiler's words name the expression as the caller does.
    CustomPredicate wrong = over;
    wrong.keep = "x > 1.0 &&\n mystery";
    const auto plan = plan_select(described("all"), {.predicate = wrong, .max_count = 5000});
    ASSERT_TRUE(plan) << plan.error().message;
    const auto refused = jit::compile(*plan);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::bad_argument);
    EXPECT_THAT(refused.error().message,
                AllOf(HasSubstr("predicate over"), HasSubstr("keep:2"), HasSubstr("mystery")));
}

// A plan that is quick to compile.
Plan short_plan(const CustomOperator& custom) {
    ReduceDesc desc = reduce_with(custom, 1000);
    desc.tier = Tier::barrier;
    desc.addressing = Addressing::descriptor;
    desc.policy = ReducePolicy{.strategy = ReduceStrategy::one_workgroup, .workgroup_size = 64};
    auto plan = plan_reduce(described("all"), desc);
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? *std::move(plan) : Plan{};
}

TEST(Jit, ExpressionsAndStatementsGiveTheSame) {
    CustomOperator expression = least();
    expression.combine = "max(a, b)";
    CustomOperator statements = least();
    statements.combine = "if (a > b) { return a; }\nreturn b;";
    for (const CustomOperator& custom : {expression, statements}) {
        const auto bundle = jit::compile(short_plan(custom));
        EXPECT_TRUE(bundle) << bundle.error().message;
    }
    // A word that has `return` in it is no `return`; nor does a comment make one.
    CustomOperator words = least();
    words.element = {{Scalar::u32, 1, "returned"}, {Scalar::u32, 1, "no_return"}};
    words.combine = "Value(a.returned + b.returned, a.no_return + b.no_return)";
    const auto bundle = jit::compile(short_plan(words));
    EXPECT_TRUE(bundle) << bundle.error().message;
    // Over several lines, with a comment at its end.
    CustomOperator lines = least();
    lines.combine = "a\n  + b  // the sum";
    const auto commented = jit::compile(short_plan(lines));
    EXPECT_TRUE(commented) << commented.error().message;
}

// The compiler's words name the expression and the line in it, not one of the kernel's.
TEST(Jit, ErrorsNameTheExpressionAndTheLine) {
    const auto message_of = [](const CustomOperator& custom) {
        const auto bundle = jit::compile(short_plan(custom));
        EXPECT_FALSE(bundle);
        if (bundle) return std::string();
        EXPECT_EQ(bundle.error().code, ErrorCode::bad_argument);
        return bundle.error().message;
    };
    CustomOperator base = box();
    base.store = "Result(a.low, a.high)";
    ASSERT_TRUE(jit::compile(short_plan(base)));
    const auto with = [&](std::string CustomOperator::*text, const char* to) {
        CustomOperator custom = base;
        custom.*text = to;
        return custom;
    };
    EXPECT_THAT(message_of(with(&CustomOperator::combine, "Value(a.low, wrong)")),
                AllOf(HasSubstr("combine:1"), HasSubstr("wrong")));
    EXPECT_THAT(message_of(with(&CustomOperator::combine, "Value(a.low,\n  a.hihg\n)")),
                AllOf(HasSubstr("combine:2"), HasSubstr("hihg")));
    EXPECT_THAT(message_of(with(&CustomOperator::load, "vec3f y = x;\n\nreturn Value(y, z);")),
                AllOf(HasSubstr("load:3"), HasSubstr("z")));
    EXPECT_THAT(message_of(with(&CustomOperator::store, "a.low")), HasSubstr("store:1"));
    EXPECT_THAT(message_of(with(&CustomOperator::store, "Result(a.low)")), HasSubstr("store:1"));
    EXPECT_THAT(message_of(with(&CustomOperator::combine, "Value(a.low,\n\na.high) +")),
                HasSubstr("combine:4"));
    EXPECT_THAT(message_of(with(&CustomOperator::combine, "if (a.low.x > 0.0) { return a;\n")),
                HasSubstr("combine:"));
    EXPECT_THAT(message_of(with(&CustomOperator::load, "return Value(x, x)")), HasSubstr("load:2"));
    // Nothing of ours that follows from it.
    EXPECT_THAT(message_of(with(&CustomOperator::combine, "a.low")),
                AllOf(HasSubstr("combine:1"), Not(HasSubstr("custom_")), Not(HasSubstr("glsl"))));
    EXPECT_THAT(message_of(with(&CustomOperator::combine, "a; }")), HasSubstr("combine:"));
    EXPECT_THAT(message_of(with(&CustomOperator::load, "Value(x, index)")), HasSubstr("load:1"));
    EXPECT_THAT(message_of(with(&CustomOperator::combine, "Value(a.low, b.high")),
                HasSubstr("combine:"));
    // 64 bits where no type has them: no device said that it has int64.
    CustomOperator wide = least();
    wide.combine = "u32(u64(a) + u64(b))";
    const auto bundle = jit::compile(short_plan(wide));
    if (!bundle) {
        EXPECT_THAT(bundle.error().message, HasSubstr("combine:1"));
    }
}

// An operator of the same name with another text has kernels of its own: one bundle holds both.
TEST(Jit, OperatorsOfOneNameDoNotCollide) {
    CustomOperator sum = least(), product = least();
    sum.name = product.name = "same";
    product.combine = "a * b";
    const Plan first = short_plan(sum), second = short_plan(product);
    auto bundle = jit::compile(first);
    const auto other = jit::compile(second);
    ASSERT_TRUE(bundle && other);
    bundle->add(*other);
    const std::string& a = first.passes.back().kernel;
    const std::string& b = second.passes.back().kernel;
    ASSERT_NE(a, b);
    ASSERT_NE(bundle->find(a, ~0u), nullptr);
    ASSERT_NE(bundle->find(b, ~0u), nullptr);
    EXPECT_NE(bundle->find(a, ~0u)->words, bundle->find(b, ~0u)->words);
    // Compiled twice, the same: bundles do not change from build to build.
    EXPECT_EQ(jit::compile(second)->kernels(), other->kernels());
}

// A bundle written ahead on any device has what a plan on any other needs, whatever its tier,
// addressing and strategy.
TEST(Jit, ForAllDevicesMeansAll) {
    CustomOperator custom = custom_cases::affine().op;
    for (const bool is_scan : {false, true}) {
        const auto plan_on = [&](const Caps& caps, std::optional<Tier> tier,
                                 std::optional<Addressing> addressing, std::size_t strategy) {
            if (is_scan) {
                ScanDesc desc = scan_with(custom);
                desc.tier = tier;
                desc.addressing = addressing;
                if (strategy < std::size(kScanStrategies)) {
                    const ScanStrategy which = kScanStrategies[strategy];
                    desc.policy =
                        ScanPolicy{.strategy = which,
                                   .workgroup_size = 64,
                                   .ahead = which == ScanStrategy::reduce_ahead ? 4u : 0u};
                }
                return plan_scan(caps, desc);
            }
            ReduceDesc desc = reduce_with(custom);
            desc.tier = tier;
            desc.addressing = addressing;
            if (strategy < std::size(kReduceStrategies))
                desc.policy =
                    ReducePolicy{.strategy = kReduceStrategies[strategy], .workgroup_size = 64};
            return plan_reduce(caps, desc);
        };
        const auto bundle = jit::compile_for_all_devices(custom, is_scan ? "scan" : "reduce");
        ASSERT_TRUE(bundle) << bundle.error().message;
        std::set<std::string> used;
        std::size_t plans = 0;
        for (const DescribedDevice& device : described_devices()) {
            SCOPED_TRACE(device.name);
            for (const auto& tier : {std::optional<Tier>(), std::optional(Tier::pinned),
                                     std::optional(Tier::portable), std::optional(Tier::barrier)}) {
                for (const Addressing addressing : kAddressings) {
                    for (std::size_t strategy = 0; strategy <= 4; ++strategy) {
                        const auto plan = plan_on(device.caps, tier, addressing, strategy);
                        if (!plan) continue;
                        ++plans;
                        expect_kernels(*plan, device.caps, *bundle);
                        for (const Pass& pass : plan->passes) used.insert(pass.kernel);
                    }
                }
            }
        }
        EXPECT_GT(plans, 100u);
        // And no kernel that nobody needs: it would take time and room.
        for (const BundledKernel& k : bundle->kernels())
            EXPECT_TRUE(used.contains(k.name)) << k.name;
    }
}

// Kernels need no feature that their device was not asked for: narrow elements in every form.
TEST(Jit, KernelsNeedWhatTheirDeviceHas) {
    for (const char* name : {"bytes_hash", "half_sum", "mixed_wide"}) {
        const CustomOperator& custom =
            std::ranges::find(custom_cases::all(), name, &CustomCase::name)->op;
        for (const char* device : {"basic-ballot", "all"}) {
            const Caps caps = described(device);
            ScanDesc desc = scan_with(custom);
            desc.policy = ScanPolicy{.workgroup_size = 64};
            const auto plan = plan_scan(caps, desc);
            if (!plan) continue;  // f64 is for one of them
            const auto bundle = jit::compile(*plan);
            ASSERT_TRUE(bundle) << bundle.error().message;
            expect_kernels(*plan, caps, *bundle);
        }
    }
}

}  // namespace
}  // namespace lanewise::test
