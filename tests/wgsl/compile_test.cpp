// Every kernel in WGSL, as plans need it, goes through naga and Tint without a word.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "lanewise/reduce.hpp"
#include "tests/wgsl/support.hpp"

namespace lanewise::test {
namespace {

constexpr Scalar kScalars[] = {Scalar::u8,  Scalar::i8,  Scalar::u16, Scalar::i16,
                               Scalar::u32, Scalar::i32, Scalar::u64, Scalar::i64,
                               Scalar::f16, Scalar::f32, Scalar::f64};
constexpr Operator kOperators[] = {Operator::sum,     Operator::product, Operator::min,
                                   Operator::max,     Operator::bit_and, Operator::bit_or,
                                   Operator::bit_xor, Operator::argmin,  Operator::argmax};

std::vector<std::optional<Scalar>> accumulators_of(Scalar element) {
    const Scalar wide = is_float(element)            ? Scalar::f64
                        : is_signed_integer(element) ? Scalar::i64
                                                     : Scalar::u64;
    return {std::nullopt, wide};
}

// Assembled texts, each once, by what they are.
class Texts {
public:
    void add(const Plan& plan, const wgsl::Options& options) {
        for (const Pass& pass : plan.passes) {
            // The numberings of subgroups and the forms differ, what is computed does not.
            if (options.subgroup_id && pass.form == Form::barrier) continue;
            const auto shader = wgsl::assemble(plan, pass, options);
            if (!shader) {
                ADD_FAILURE() << plan.summary << ": " << shader.error().message;
                continue;
            }
            kernels_.insert(pass.kernel);
            texts_.emplace(shader->text, fmt::format("{}, {}", pass.kernel, plan.summary));
        }
    }
    const std::map<std::string, std::string>& texts() const { return texts_; }
    const std::set<std::string>& kernels() const { return kernels_; }

private:
    std::map<std::string, std::string> texts_;
    std::set<std::string> kernels_;
};

void add_reductions(Texts& texts, const Caps& caps) {
    for (const Scalar element : kScalars) {
        for (const Operator op : kOperators) {
            for (const auto& accumulator : accumulators_of(element)) {
                for (const ReduceStrategy strategy :
                     {ReduceStrategy::one_workgroup, ReduceStrategy::two_pass}) {
                    ReduceDesc desc{.element = element, .op = op, .accumulator = accumulator};
                    desc.max_count = 1u << 20;
                    desc.policy = ReducePolicy{.strategy = strategy, .workgroup_size = 128};
                    const auto plan = plan_reduce(caps, desc);
                    if (!plan) continue;  // no such operator, or f64
                    texts.add(*plan, {});
                    if (caps.subgroup.operations != 0) texts.add(*plan, {.subgroup_id = true});
                }
            }
        }
    }
}

const Texts& all_texts() {
    static const Texts texts = [] {
        Texts made;
        for (const std::uint32_t size : {0u, 32u}) {
            add_reductions(made, webgpu_caps(size));
        }
        return made;
    }();
    return texts;
}

TEST(Compile, EveryKernelIsPlanned) {
    std::set<std::string> all;
    for (const std::string_view name : wgsl::detail::kernel_names()) {
        // A 64-bit index beside a narrow element is for counts that no binding reaches.
        const bool unreachable =
            name.find("_a64_i64") != name.npos && name.find("e64_a64_i64") == name.npos;
        if (!unreachable || name.starts_with("reduce_partials")) all.emplace(name);
    }
    EXPECT_EQ(all_texts().kernels(), all);
}

TEST(Compile, NagaTakesAll) {
    if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    for (const auto& [text, what] : all_texts().texts()) {
        const std::string said = naga_says(text);
        ASSERT_EQ(said, "") << what << "\n" << text;
    }
    std::cout << all_texts().texts().size() << " texts\n";
}

TEST(Compile, TintTakesAll) {
    if (!has_tint()) GTEST_SKIP() << "tint is not on the PATH";
    for (const auto& [text, what] : all_texts().texts()) {
        const std::string said = tint_says(text);
        ASSERT_EQ(said, "") << what << "\n" << text;
    }
}

// Plain text that needs no more of the language than WebGPU always has.
TEST(Compile, TextsKeepToTheRules) {
    const std::regex operation("(subgroup[A-Z]|builtin\\((subgroup_|num_subgroups))");
    for (const auto& [text, what] : all_texts().texts()) {
        for (const char* word : {"override ", "diagnostic", "ptr<workgroup", "ptr<storage",
                                 "requires ", "//#", "var<private>"}) {
            EXPECT_EQ(text.find(word), std::string::npos) << what << " has " << word;
        }
        const bool subgroups = what.find(".subgroup.") != std::string::npos;
        EXPECT_EQ(text.find("\nenable subgroups;") != std::string::npos, subgroups) << what;
        EXPECT_EQ(std::regex_search(text, operation), subgroups) << what;
    }
}

}  // namespace
}  // namespace lanewise::test
