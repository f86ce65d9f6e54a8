// Every kernel in WGSL, as plans need it, goes through naga and Tint without a word.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <map>
#include <regex>
#include <set>
#include <string>

#include "lanewise/histogram.hpp"
#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "lanewise/segmented_reduce.hpp"
#include "lanewise/segmented_sort.hpp"
#include "lanewise/sort.hpp"
#include "lanewise/split.hpp"
#include "lanewise/top_k.hpp"
#include "primitives/select/select_plan.hpp"
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

// Elements that share vectors, fill some, and do neither.
std::vector<CustomOperator> custom_operators() {
    return {{.name = "sum_of_products",
             .element = {{Scalar::u8}},
             .load = "x * x + index",
             .combine = "a + b",
             .commutative = true},
            {.name = "bounding_box",
             .element = {{Scalar::f32, 3}},
             .value = {{Scalar::f32, 3, "low"}, {Scalar::f32, 3, "high"}},
             .load = "Value(x, x)",
             .combine = "Value(min(a.low, b.low), max(a.high, b.high))",
             .commutative = true},
            {.name = "rotation",
             .element = {{Scalar::u32, 2, "r0"}, {Scalar::u32, 2, "r1"}},
             .combine = "Value(a.r0.x * b.r0 + a.r0.y * b.r1, a.r1.x * b.r0 + a.r1.y * b.r1)"},
            {.name = "last_of_long",
             .element = {{Scalar::u32, 4, "a"},
                         {Scalar::f16, 4, "b"},
                         {Scalar::i8, 4, "c"},
                         {Scalar::u32, 1, "d"}},
             .value = {{Scalar::u32}},
             .load = "return x.d;",
             .combine = "b",
             .result = {{Scalar::u32, 1, "value"}, {Scalar::f32, 1, "root"}},
             .store = "Result(a, sqrt(f32(a)))"}};
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
            std::string kernel = pass.kernel;
            if (plan.custom) {
                const auto types = kernel.find(plan.custom->name);
                if (types != kernel.npos)
                    kernel.replace(types, kernel.find('.', types) - types, "custom");
            }
            kernels_.insert(kernel);
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

void add_scans(Texts& texts, const Caps& caps) {
    for (const Scalar element : kScalars) {
        for (const Operator op : kOperators) {
            for (const auto& accumulator : accumulators_of(element)) {
                for (const ScanStrategy strategy :
                     {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan,
                      ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
                    ScanDesc desc{.element = element, .op = op, .accumulator = accumulator};
                    desc.max_count = 1u << 20;
                    desc.determinism = Determinism::unordered;
                    desc.policy =
                        ScanPolicy{.strategy = strategy, .workgroup_size = 64, .vectors = 2};
                    desc.policy->ahead = strategy == ScanStrategy::reduce_ahead ? 5 : 0;
                    // The strategies in turn: exclusive, reverse, with an initial value.
                    if (strategy == ScanStrategy::reduce_then_scan) desc.kind = ScanKind::exclusive;
                    if (strategy == ScanStrategy::look_back) desc.direction = Direction::reverse;
                    if (op == Operator::sum) desc.initial = 1;
                    const auto plan = plan_scan(caps, desc);
                    if (!plan) continue;  // no such operator, f64, or strategy for it
                    texts.add(*plan, {});
                    if (plan->in_place) texts.add(*plan, {.in_place = true});
                    if (caps.subgroup.operations != 0) texts.add(*plan, {.subgroup_id = true});
                }
            }
        }
    }
}

void add_segmented_reductions(Texts& texts, const Caps& caps) {
    for (const Scalar element : kScalars) {
        for (const Operator op : kOperators) {
            for (const auto& accumulator : accumulators_of(element)) {
                SegmentedReduceDesc desc{.element = element, .op = op, .accumulator = accumulator};
                desc.max_count = 1u << 20;
                desc.max_segments = 1000;
                desc.policy = SegmentedReducePolicy{SegmentedReduceStrategy::two_pass, 64, 1, 1024};
                const auto plan = plan_segmented_reduce(caps, desc);
                if (!plan) continue;  // no such operator, or f64
                texts.add(*plan, {});
                if (caps.subgroup.operations != 0) texts.add(*plan, {.subgroup_id = true});
            }
        }
    }
    const auto plan =
        plan_segmented_reduce(caps, {.max_count = 1u << 24, .max_segments = 1u << 20});
    ASSERT_TRUE(plan) << plan.error().message;
    texts.add(*plan, {});
}

void add_sort(Texts& texts, const Caps& caps, const SortDesc& desc) {
    const auto plan = plan_sort(caps, desc);
    ASSERT_TRUE(plan) << plan.error().message;
    texts.add(*plan, {});
    if (caps.subgroup.operations != 0) texts.add(*plan, {.subgroup_id = true});
}

void add_sorts(Texts& texts, const Caps& caps) {
    // Digits, items and memory as large as policies have them.
    Caps roomy = caps;
    roomy.limits.max_workgroup_memory = 32768;
    const std::uint32_t most_bits = caps.subgroup.operations != 0 ? 8 : 4;
    for (const Scalar key : {Scalar::u8, Scalar::i16, Scalar::f32, Scalar::u64}) {
        for (const SortStrategy strategy :
             {SortStrategy::one_workgroup, SortStrategy::count_then_scatter,
              SortStrategy::look_back, SortStrategy::bitonic}) {
            for (const std::uint32_t value_bytes : {0u, 12u, 1u}) {  // 1: argsort
                SortDesc desc{.key = key, .max_count = 3840};
                desc.argsort = value_bytes == 1;
                desc.value_bytes = desc.argsort ? 0 : value_bytes;
                desc.policy = SortPolicy{.strategy = strategy,
                                         .workgroup_size = 256,
                                         .items = 15,
                                         .digit_bits = most_bits};
                if (strategy == SortStrategy::bitonic) {
                    desc.policy->items = 8;
                    desc.max_count = 2048;
                }
                add_sort(texts, roomy, desc);
                // Small ones, some descending, and with bits that make no whole digits.
                if (value_bytes == 12) desc.order = SortOrder::descending;
                if (value_bytes == 0) desc.begin_bit = 3;
                desc.policy->workgroup_size = 64;
                desc.policy->items = 8;
                desc.policy->digit_bits = most_bits - 1;
                desc.max_count = 512;
                add_sort(texts, caps, desc);
            }
        }
        for (const std::uint64_t count : {1000u, 1u << 20})
            add_sort(texts, caps, {.key = key, .value_bytes = 4, .max_count = count});
    }
}

void add_parts_of_sorts(Texts& texts, const Caps& caps) {
    const auto add = [&](const Result<Plan>& plan) {
        ASSERT_TRUE(plan) << plan.error().message;
        texts.add(*plan, {});
        if (caps.subgroup.operations != 0) texts.add(*plan, {.subgroup_id = true});
    };
    for (const Scalar key : {Scalar::u8, Scalar::i16, Scalar::f32, Scalar::u64}) {
        for (const std::uint32_t value_bytes : {0u, 12u, 1u}) {  // 1: indices
            const bool indices = value_bytes == 1;
            const std::uint32_t bytes = indices ? 0 : value_bytes;
            SegmentedSortDesc sort{.key = key, .value_bytes = bytes, .argsort = indices};
            sort.max_count = 10000;
            add(plan_segmented_sort(caps, sort));
            sort.order = SortOrder::descending;
            sort.begin_bit = 3;
            sort.policy = SegmentedSortPolicy{64, 2, 3, 16};
            add(plan_segmented_sort(caps, sort));
            add(plan_split(caps, {.key = key,
                                  .value_bytes = bytes,
                                  .indices = indices,
                                  .begin_bit = 2,
                                  .end_bit = 7,
                                  .max_count = 10000}));
            TopKDesc top{.key = key, .k = 300, .value_bytes = bytes, .indices = indices};
            top.max_count = 10000;
            add(plan_top_k(caps, top));
            top.order = SortOrder::ascending;
            top.policy = TopKPolicy{TopKStrategy::select, 64, 2, 9, 16};
            top.policy->sort = {SortStrategy::count_then_scatter, 64, 2, 3, 16};
            add(plan_top_k(caps, top));
        }
    }
}

std::vector<CustomPredicate> custom_predicates() {
    return {{"odd_byte", {{Scalar::u8}}, "x % 2u == 1u"},
            {"inside", {{Scalar::f32, 3}}, "all(abs(x) < vec3f(1.0))"},
            {"every_third",
             {{Scalar::u32, 4, "a"}, {Scalar::u32, 1, "b"}},
             "if (x.b == 0u) { return 0u; }\nreturn select(0u, 1u, index % 3u == 0u);"}};
}

void add_selects(Texts& texts, const Caps& caps) {
    // Looking back with flags, values and rejected items takes nine.
    Caps roomy = caps;
    roomy.limits.max_storage_buffers = 10;
    constexpr Scalar kElements[] = {Scalar::u32, Scalar::u8, Scalar::u64, Scalar::f16};
    std::size_t turn = 0;
    // What decides: flags of so many bits, changes (0), or a predicate from 100 on.
    for (const std::uint32_t decides : {1u, 8u, 16u, 32u, 0u, 100u, 101u, 102u}) {
        for (const SelectStrategy strategy :
             {SelectStrategy::one_workgroup, SelectStrategy::count_then_scatter,
              SelectStrategy::look_back, SelectStrategy::count_ahead, SelectStrategy::append}) {
            for (const std::uint32_t value_bytes : {0u, 12u, 1u}) {  // 1: indices
                for (const SelectRest rest :
                     {SelectRest::dropped, SelectRest::rejected, SelectRest::after}) {
                    detail::SelectTask task;
                    task.element = kElements[turn++ % 4];
                    // What decides is apart from what is written: all of that with two alone.
                    if (decides != 8 && decides != 101 && turn % 9 != decides % 9) continue;
                    task.changes = decides == 0;
                    if (decides >= 100) task.predicate = custom_predicates()[decides - 100];
                    if (decides >= 1 && decides < 100) task.flag_bits = decides;
                    task.indices = value_bytes == 1;
                    task.value_bytes = task.indices ? 0 : value_bytes;
                    task.items = value_bytes == 0 || turn % 3 != 0;
                    task.rest = rest;
                    task.max_count = 100000;
                    if (strategy == SelectStrategy::append) task.order = SelectOrder::any;
                    task.policy =
                        SelectPolicy{.strategy = strategy, .workgroup_size = 64, .vectors = 2};
                    if (strategy == SelectStrategy::count_ahead) task.policy->ahead = 3;
                    const auto plan = detail::plan_select_task(roomy, task);
                    if (!plan) continue;  // no such strategy
                    texts.add(*plan, {});
                    if (caps.subgroup.operations != 0) texts.add(*plan, {.subgroup_id = true});
                }
            }
        }
    }
}

void add_histograms(Texts& texts, const Caps& caps) {
    for (const Scalar sample : {Scalar::u8, Scalar::i8, Scalar::u16, Scalar::i16, Scalar::f16,
                                Scalar::u32, Scalar::i32, Scalar::f32}) {
        for (const HistogramStrategy strategy :
             {HistogramStrategy::one_workgroup, HistogramStrategy::two_pass,
              HistogramStrategy::global}) {
            for (const std::uint32_t channels : {1u, 3u, 4u}) {
                HistogramDesc desc{.sample = sample, .channels = channels, .max_count = 1u << 20};
                desc.bins = channels == 3 ? 7 : 256;
                if (is_float(sample) || channels == 3) desc.range = HistogramRange{3, 103};
                desc.policy = HistogramPolicy{strategy, 128, 2, 4, 64};
                const auto plan = plan_histogram(caps, desc);
                ASSERT_TRUE(plan) << plan.error().message;
                texts.add(*plan, {});
            }
        }
    }
    const auto plan = plan_histogram(caps, {.max_count = 1u << 20});
    ASSERT_TRUE(plan) << plan.error().message;
    texts.add(*plan, {});
}

void add_custom(Texts& texts, const Caps& caps) {
    for (const CustomOperator& custom : custom_operators()) {
        for (const ReduceStrategy strategy :
             {ReduceStrategy::one_workgroup, ReduceStrategy::two_pass}) {
            ReduceDesc desc{.custom = custom, .max_count = 1u << 16};
            desc.policy = ReducePolicy{.strategy = strategy, .workgroup_size = 64, .vectors = 2};
            const auto plan = plan_reduce(caps, desc);
            ASSERT_TRUE(plan) << plan.error().message;
            texts.add(*plan, {});
        }
        SegmentedReduceDesc segments{.custom = custom, .max_count = 1u << 16, .max_segments = 100};
        segments.policy = SegmentedReducePolicy{SegmentedReduceStrategy::two_pass, 64, 2, 1024};
        const auto segmented = plan_segmented_reduce(caps, segments);
        ASSERT_TRUE(segmented) << segmented.error().message;
        texts.add(*segmented, {});
        for (const ScanStrategy strategy :
             {ScanStrategy::reduce_then_scan, ScanStrategy::look_back}) {
            ScanDesc desc{.custom = custom, .max_count = 1u << 16};
            desc.determinism = Determinism::unordered;
            desc.policy = ScanPolicy{.strategy = strategy, .workgroup_size = 64, .vectors = 2};
            const auto plan = plan_scan(caps, desc);
            if (!plan && strategy == ScanStrategy::look_back) continue;  // too long to be published
            ASSERT_TRUE(plan) << plan.error().message;
            texts.add(*plan, {});
            if (plan->in_place) texts.add(*plan, {.in_place = true});
        }
    }
}

const Texts& all_texts() {
    static const Texts texts = [] {
        Texts made;
        for (const std::uint32_t size : {0u, 32u}) {
            add_reductions(made, webgpu_caps(size));
            add_scans(made, webgpu_caps(size));
            add_segmented_reductions(made, webgpu_caps(size));
            add_sorts(made, webgpu_caps(size));
            add_parts_of_sorts(made, webgpu_caps(size));
            add_selects(made, webgpu_caps(size));
            add_custom(made, webgpu_caps(size));
            add_histograms(made, webgpu_caps(size));
        }
        return made;
    }();
    return texts;
}

TEST(Compile, EveryKernelIsPlanned) {
    std::set<std::string> all;
    for (const std::string_view name : wgsl::detail::kernel_names()) {
        // Of the benchmark, whose plans are no planner's.
        if (name.starts_with("copy.") || name.starts_with("read.")) continue;
        // A 64-bit index beside a narrow element is for counts that no binding reaches.
        const bool unreachable =
            name.find("_a64_i64") != name.npos && name.find("e64_a64_i64") == name.npos;
        if (!unreachable || name.starts_with("reduce_partials")) all.emplace(name);
    }
    EXPECT_EQ(all_texts().kernels(), all);
}

// The texts to compile: all of them where LANEWISE_TEST_ALL is set, else one in so many.
template <class Say>
void expect_silence(Say say) {
    const std::size_t step = std::getenv("LANEWISE_TEST_ALL") != nullptr ? 1 : 5;
    std::size_t number = 0;
    std::size_t compiled = 0;
    for (const auto& [text, what] : all_texts().texts()) {
        if (number++ % step != 0) continue;
        ++compiled;
        const std::string said = say(text);
        ASSERT_EQ(said, "") << what << "\n" << text;
    }
    std::cout << compiled << " of " << number << " texts\n";
}

TEST(Compile, NagaTakesAll) {
    if (!has_naga()) GTEST_SKIP() << "naga is not on the PATH";
    expect_silence(naga_says);
}

TEST(Compile, TintTakesAll) {
    if (!has_tint()) GTEST_SKIP() << "tint is not on the PATH";
    expect_silence(tint_says);
}

// A compiler that were silent about everything would be no test.
TEST(Compile, CompilersSeeFaults) {
    const std::string start =
        "enable subgroups;\n@group(0) @binding(0) var<storage, read_write> x: array<u32>;\n"
        "@compute @workgroup_size(64) fn main(@builtin(local_invocation_index) i: u32) {\n";
    const std::string divergent = start + "if (i < 7u) { x[i] = subgroupAdd(i); } }\n";
    const std::string undeclared = start + "x[i] = y; }\n";
    if (has_tint()) {
        EXPECT_NE(tint_says(divergent).find("uniform control flow"), std::string::npos);
        EXPECT_NE(tint_says(undeclared), "");
    }
    if (has_naga()) {
        EXPECT_NE(naga_says(undeclared), "");
    }
    if (!has_naga() || !has_tint()) GTEST_SKIP() << "naga or tint is not on the PATH";
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
