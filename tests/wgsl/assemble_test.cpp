// The assembler's directives, and what it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "src/wgsl/unroll.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

using testing::HasSubstr;
using testing::Not;

class Directives : public testing::Test {
protected:
    // A kernel with a prologue, then `body`.
    std::string kernel(const std::string& body) const {
        return "// Prologue: p.\nconst LW_A = 1u;  // of the build\nconst kB = 2u;    // id 7; "
               "two\n"
               "// End of the prologue.\n" +
               body;
    }
    Result<std::string> assembled(const std::map<std::string, std::uint32_t>& by_name = {},
                                  const std::map<std::uint32_t, std::uint32_t>& by_id = {}) const {
        const auto sources = [&](std::string_view name) -> std::optional<std::string_view> {
            const auto found = files.find(std::string(name));
            return found != files.end() ? std::optional<std::string_view>(found->second)
                                        : std::nullopt;
        };
        return wgsl::detail::assemble(sources, "k.wgsl", {by_name, {}, by_id});
    }
    std::string error(const std::string& body) {
        files["k.wgsl"] = kernel(body);
        const auto text = assembled();
        return text ? "no error:\n" + *text : text.error().message;
    }
    // What of the body is left.
    std::string body(const std::string& body,
                     const std::map<std::string, std::uint32_t>& by_name = {},
                     const std::map<std::uint32_t, std::uint32_t>& by_id = {}) {
        files["k.wgsl"] = kernel(body);
        const auto text = assembled(by_name, by_id);
        if (!text) return text.error().message;
        const std::string end = "prologue.\n";
        return text->substr(text->find(end) + end.size());
    }

    std::map<std::string, std::string> files;
};

TEST_F(Directives, PrologueTakesValues) {
    files["k.wgsl"] = kernel("");
    EXPECT_EQ(assembled().value(), kernel(""));
    EXPECT_EQ(
        assembled({{"LW_A", 5}}, {{7, 4294967295u}, {8, 1}}).value(),
        "// Prologue: p.\nconst LW_A = 5u;  // of the build\nconst kB = 4294967295u;    // id 7; "
        "two\n// End of the prologue.\n");
    EXPECT_THAT(assembled({{"LW_C", 5}}).error().message,
                HasSubstr("k.wgsl has no LW_C (to be 5)"));
    files["k.wgsl"] = "// Prologue: p.\nvar<private> x: u32;\n// End of the prologue.\n";
    EXPECT_THAT(assembled().error().message, HasSubstr("k.wgsl:2: a prologue has lines"));
    files["k.wgsl"] = "const LW_A = 1u;\n";
    EXPECT_THAT(assembled().error().message, HasSubstr("k.wgsl: has no prologue"));
}

TEST_F(Directives, ConditionsStandBeforeThePrologue) {
    files["k.wgsl"] = "//#if LW_A\nenable subgroups;\n//#endif\n" + kernel("");
    EXPECT_THAT(assembled({{"LW_A", 1}}).value(), HasSubstr("enable"));
    EXPECT_THAT(assembled({{"LW_A", 0}}).value(), testing::Not(HasSubstr("enable")));
}

TEST_F(Directives, ConditionsChoose) {
    const std::string text =
        "//#if LW_A == 1\na\n//#elif LW_A == 2 && kB > 2\nb\n//#else\nc\n//#endif\n";
    EXPECT_EQ(body(text), "a\n");
    EXPECT_EQ(body(text, {{"LW_A", 2}}, {{7, 3}}), "b\n");
    EXPECT_EQ(body(text, {{"LW_A", 2}}), "c\n");
    const std::string nested = "//#if LW_A\n//#if kB\nx\n//#else\ny\n//#endif\nz\n//#endif\n";
    EXPECT_EQ(body(nested), "x\nz\n");
    EXPECT_EQ(body(nested, {}, {{7, 0}}), "y\nz\n");
    EXPECT_EQ(body(nested, {{"LW_A", 0}}), "");
    const auto holds = [&](const std::string& condition) {
        return body("//#if " + condition + "\n1\n//#endif\n") == "1\n";
    };
    EXPECT_TRUE(holds("1 + 2 * 3 == 7u"));
    EXPECT_TRUE(holds("(1 + 2) * 3 == 9"));
    EXPECT_TRUE(holds("8 - 3 - 2 == 3"));
    EXPECT_TRUE(holds("!(LW_A != 1) && (kB <= 1 || kB >= 2)"));
    EXPECT_TRUE(holds("1 << 2 + 1 == 8 && 9 >> 1 < 5"));
    EXPECT_TRUE(holds("7 / 2 == 3 && 7 % 4 == 3"));
    EXPECT_TRUE(holds("LW_A  // and why"));
    EXPECT_FALSE(holds("LW_A < 1 || kB > 2"));
}

TEST_F(Directives, IncludesComeOnce) {
    files["a.wgsl"] = "a\n//#include \"b.wgsl\"\n";
    files["b.wgsl"] = "b\n//#include \"a.wgsl\"\n";
    EXPECT_EQ(body("//#include \"a.wgsl\"\n//#include \"b.wgsl\"\nc\n"),
              "// ---- a.wgsl\na\n// ---- b.wgsl\nb\nc\n");
    EXPECT_EQ(body("//#if !LW_A\n//#include \"a.wgsl\"\n//#endif\n"), "");
    files["bad.wgsl"] = "\n//#endif\n";
    EXPECT_THAT(error("//#include \"bad.wgsl\"\n"), HasSubstr("bad.wgsl:2: #endif without #if"));
}

TEST_F(Directives, FaultsAreNamed) {
    EXPECT_THAT(error("//#if LW_A\n"), HasSubstr("k.wgsl:5: #if without #endif"));
    EXPECT_THAT(error("//#else\n"), HasSubstr("k.wgsl:5: #else without #if"));
    EXPECT_THAT(error("//#if 1\n//#else\n//#else\n//#endif\n"),
                HasSubstr("k.wgsl:7: #else after #else"));
    EXPECT_THAT(error("//#if 1\n//#else\n//#elif 1\n//#endif\n"),
                HasSubstr("k.wgsl:7: #elif after #else"));
    EXPECT_THAT(error("//#if LW_D\n//#endif\n"),
                HasSubstr("k.wgsl:5: #if LW_D: the prologue has no constant LW_D"));
    EXPECT_THAT(error("//#if\n//#endif\n"), HasSubstr("an operand is missing"));
    EXPECT_THAT(error("//#if (LW_A\n//#endif\n"), HasSubstr("a ) is missing"));
    EXPECT_THAT(error("//#if LW_A kB\n//#endif\n"), HasSubstr("'kB' is not understood"));
    EXPECT_THAT(error("//#if LW_A / 0\n//#endif\n"), HasSubstr("division by zero"));
    EXPECT_THAT(error("//#if LW_A << 32\n//#endif\n"), HasSubstr("a shift by more than 31"));
    EXPECT_THAT(error("//#if 4294967296\n//#endif\n"), HasSubstr("more than 32 bits"));
    EXPECT_THAT(error("//#include b.wgsl\n"), HasSubstr("#include wants a name in double quotes"));
    EXPECT_THAT(error("//#include \"none.wgsl\"\n"), HasSubstr("k.wgsl:5: there is no none.wgsl"));
    EXPECT_THAT(error("//#define X\n"), HasSubstr("there is no directive #define"));
    EXPECT_THAT(error("//#if kB == 2\n//#error not for two\n//#endif\n"), HasSubstr("not for two"));
    EXPECT_EQ(body("//#if 0\n//#error\n//#nonsense\n//#if LW_D\n//#endif\n//#endif\n"), "");
}

std::string refusal(const Plan& plan, const wgsl::Options& options = {}) {
    const auto shader = wgsl::assemble(plan, plan.passes[1], options);
    EXPECT_TRUE(shader || shader.error().code == ErrorCode::unsupported);
    return shader ? "no error" : shader.error().message;
}

Plan sum_plan(const Caps& caps, ReduceStrategy strategy, Scalar element = Scalar::u32,
              std::optional<Addressing> addressing = {}) {
    const auto plan = plan_reduce(caps, {.element = element,
                                         .max_count = 1000,
                                         .addressing = addressing,
                                         .policy = ReducePolicy{.strategy = strategy}});
    EXPECT_TRUE(plan) << plan.error().message;
    return plan ? *plan : Plan{};
}

TEST(Assemble, RefusesWhatWgslHasNot) {
    const Caps all = simulator::Device::create()->caps();
    const auto barrier = [&] {
        Caps caps = all;
        caps.subgroup.operations = 0;
        return caps;
    }();
    EXPECT_THAT(refusal(sum_plan(all, ReduceStrategy::two_pass)),
                HasSubstr("WGSL cannot require full subgroups"));
    EXPECT_THAT(refusal(sum_plan(barrier, ReduceStrategy::last_workgroup)),
                HasSubstr("last_workgroup needs a memory barrier of device scope"));
    EXPECT_THAT(refusal(sum_plan(barrier, ReduceStrategy::arrival_sum)),
                HasSubstr("reduce_tiles.barrier.e32_a32_atomic64.descriptor"));
    EXPECT_THAT(refusal(sum_plan(barrier, ReduceStrategy::two_pass, Scalar::f64)),
                HasSubstr("there is no kernel reduce_tiles.barrier.e64_f64.descriptor in WGSL"));
    EXPECT_THAT(refusal(sum_plan(barrier, ReduceStrategy::two_pass, Scalar::u32,
                                 Addressing::device_address)),
                HasSubstr("no device addresses"));
    EXPECT_THAT(refusal(sum_plan(barrier, ReduceStrategy::two_pass), {.in_place = true}),
                HasSubstr("reduce_tiles.wgsl has no LW_IN_PLACE"));
}

TEST(Assemble, TellsTheBindings) {
    const Plan plan = sum_plan(webgpu_caps(0), ReduceStrategy::two_pass);
    const auto tiles = wgsl::assemble(plan, plan.passes[1]);
    ASSERT_TRUE(tiles) << tiles.error().message;
    EXPECT_THAT(tiles->bindings,
                testing::ElementsAre(wgsl::ShaderBinding{0, "input", Access::read, true},
                                     wgsl::ShaderBinding{1, "result", Access::read_write},
                                     wgsl::ShaderBinding{2, "scratch", Access::read_write}));
    EXPECT_TRUE(tiles->parameters);
    const auto groups = wgsl::assemble(plan, plan.passes[0]);
    ASSERT_TRUE(groups) << groups.error().message;
    EXPECT_EQ(groups->bindings.size(), 2u);
}

TEST(Assemble, PinnedPassesRequireTheirSize) {
    Caps caps = webgpu_caps(32);
    caps.subgroup.required_size_stages = Stage::compute;
    caps.subgroup.max_workgroup_subgroups = 8;
    const auto plan = plan_reduce(caps, {.max_count = 1000});
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->tier, Tier::pinned);
    const auto shader = wgsl::assemble(*plan, plan->passes[1]);
    ASSERT_TRUE(shader) << shader.error().message;
    EXPECT_THAT(shader->text, HasSubstr("\nenable subgroup_size_control;\n"));
    EXPECT_THAT(shader->text, HasSubstr("const LW_SUBGROUP_SIZE = 32u;"));
    EXPECT_THAT(shader->text, HasSubstr("\n@subgroup_size(LW_SUBGROUP_SIZE)\n"));
}

TEST(Assemble, LeavesOutADirectiveThatCompilersLack) {
    const auto plan = plan_reduce(webgpu_caps(32), {.max_count = 1000});
    ASSERT_TRUE(plan) << plan.error().message;
    const std::string directive = "enable subgroups;";
    const auto with = wgsl::assemble(*plan, plan->passes[1]);
    const auto without = wgsl::assemble(*plan, plan->passes[1], {.enable_subgroups = false});
    ASSERT_TRUE(with && without);
    EXPECT_THAT(with->text, HasSubstr('\n' + directive + '\n'));
    EXPECT_THAT(without->text, testing::Not(HasSubstr('\n' + directive)));
}

// What is written out, in the place of a loop; empty: the loop stays.
std::string rounds(const std::string& loop) {
    const std::string text = "const kFour = 4u;\nconst kHalf = kFour / 2u;\n" + loop;
    std::string unrolled = wgsl::detail::unrolled(text);
    if (unrolled == text) return {};
    unrolled.erase(0, unrolled.rfind(";\n", unrolled.find('{')) + 2);
    return unrolled;
}

TEST(Unroll, WritesOutLoopsOfConstants) {
    EXPECT_EQ(rounds("for (var i = 0u; i < kHalf; i++) { a[i] = i; }"),
              "{ a[0u] = 0u; } { a[1u] = 1u; } ");
    EXPECT_EQ(rounds("for (var i = 1u; i < 2u * kFour; i *= 2u) { f(i); }"),
              "{ f(1u); } { f(2u); } { f(4u); } ");
    EXPECT_EQ(rounds("for (var i = 9u; i > 1u; i = (i + 1u) / kHalf) { f(i); }"),
              "{ f(9u); } { f(5u); } { f(3u); } { f(2u); } ");
    EXPECT_EQ(rounds("for (var i = 0u; i < 0u; i++) { f(i); }"), "");
    // Inner loops may go by the outer one's variable; members and comments are not variables.
    EXPECT_EQ(
        rounds("for (var i = 1u; i < 3u; i++) { for (var j = 0u; j < i; j++) { f(j, p.i); } }"),
        "{ { f(0u, p.i); }  } { { f(0u, p.i); } { f(1u, p.i); }  } ");
    EXPECT_EQ(rounds("for (var i = 0u; i < 1u; i++) {\n // i } here\n f(i); }"),
              "{\n // i } here\n f(0u); } ");
}

TEST(Unroll, LeavesOtherLoops) {
    for (const char* loop : {
             "for (var i = 0u; i < 33u; i++) { f(i); }",    // long
             "for (var i = 0u; i < count; i++) { f(i); }",  // not constant
             "for (var i = first; i < 4u; i++) { f(i); }",
             "for (var i = 0u; i < 4u; i += 0u) { f(i); }",  // without end
             "for (var i = 0u; i < 4u; i++) { if (i == n) { break; } }",
             "for (var i = 0u; i < 4u; i++) { if (i == n) { continue; } f(i); }",
             "for (var i = 0u; i < 4u; i++) { i += 1u; }",           // changes its variable
             "for (var i = 0u; i < 4u; i++) { let i = 3u; f(i); }",  // shadows it
             "while (i < 4u) { f(i); }",
         })
        EXPECT_EQ(rounds(loop), "") << loop;
}

// Two ranges of one buffer, of which a pass writes one: WebGPU wants both declared so.
TEST(Assemble, RangesOfABufferAreDeclaredAlike) {
    ScanDesc desc;
    desc.max_count = 100000;
    auto plan = plan_scan(webgpu_caps(0), desc);
    ASSERT_TRUE(plan) << plan.error().message;
    Pass& sums = plan->passes.at(1);
    ASSERT_EQ(sums.name, "scan_sums");
    const auto apart = wgsl::assemble(*plan, sums);
    ASSERT_TRUE(apart);
    ASSERT_EQ(apart->bindings.size(), 2u);
    EXPECT_EQ(apart->bindings[0].access, Access::read);
    EXPECT_THAT(apart->text, HasSubstr("var<storage, read> input"));

    sums.bindings = {{Role::scratch, 256, 1024}, {Role::scratch, 0, 256}};
    const auto ranges = wgsl::assemble(*plan, sums);
    ASSERT_TRUE(ranges);
    EXPECT_EQ(ranges->bindings[0].access, Access::read_write);
    EXPECT_EQ(ranges->bindings[0].name, "input");
    EXPECT_THAT(ranges->text, HasSubstr("@group(0) @binding(0) var<storage, read_write> input"));
    EXPECT_THAT(ranges->text, Not(HasSubstr("storage, read>")));
}

}  // namespace
}  // namespace lanewise::test
