// Plans as text, compared with tests/golden: a change of a plan is a change of these files, for a
// reviewer to see. LANEWISE_UPDATE_GOLDEN=1 rewrites them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <variant>

#include "lanewise/histogram.hpp"
#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "lanewise/segmented_reduce.hpp"
#include "lanewise/segmented_sort.hpp"
#include "lanewise/select.hpp"
#include "lanewise/sort.hpp"
#include "lanewise/split.hpp"
#include "lanewise/top_k.hpp"
#include "tests/unit/described_devices.hpp"

namespace lanewise::test {
namespace {

using AnyDesc = std::variant<ReduceDesc, ScanDesc, SegmentedReduceDesc, SortDesc, SegmentedSortDesc,
                             SplitDesc, TopKDesc, SelectDesc, HistogramDesc>;

struct Case {
    const char* name;
    AnyDesc desc;
};

const Case kCases[] = {
    {"sum_u32", ReduceDesc{.max_count = 1u << 24}},
    {"sum_u32_small", ReduceDesc{.max_count = 1000}},
    {"argmin_f32",
     ReduceDesc{.element = Scalar::f32, .op = Operator::argmin, .max_count = 1000000}},
    {"sum_u8_into_u64",
     ReduceDesc{.element = Scalar::u8, .accumulator = Scalar::u64, .max_count = 1u << 20}},
    {"portable_max_i64", ReduceDesc{.element = Scalar::i64,
                                    .op = Operator::max,
                                    .max_count = 1u << 20,
                                    .tier = Tier::portable}},
    {"two_pass_by_address", ReduceDesc{.max_count = 100000,
                                       .addressing = Addressing::device_address,
                                       .policy = ReducePolicy{.workgroup_size = 64,
                                                              .vectors = 1,
                                                              .max_groups = 7,
                                                              .max_items_per_dispatch = 5000}}},
    {"scan_sum_u32", ScanDesc{.max_count = 1u << 24}},
    {"scan_sum_u32_small", ScanDesc{.kind = ScanKind::exclusive,
                                    .direction = Direction::reverse,
                                    .initial = 7,
                                    .max_count = 1000}},
    {"scan_sum_f32", ScanDesc{.element = Scalar::f32, .max_count = 1000000}},
    {"scan_argmax_i64",
     ScanDesc{.element = Scalar::i64, .op = Operator::argmax, .max_count = 1u << 20}},
    {"scan_portable_sum_u8_into_u64", ScanDesc{.element = Scalar::u8,
                                               .accumulator = Scalar::u64,
                                               .max_count = 1u << 20,
                                               .tier = Tier::portable}},
    {"scan_look_back", ScanDesc{.op = Operator::max,
                                .max_count = 100000,
                                .policy = ScanPolicy{.strategy = ScanStrategy::look_back,
                                                     .workgroup_size = 64,
                                                     .vectors = 2,
                                                     .max_groups = 7}}},
    {"scan_reduce_ahead_by_address",
     ScanDesc{.max_count = 100000,
              .addressing = Addressing::device_address,
              .policy = ScanPolicy{.strategy = ScanStrategy::reduce_ahead, .ahead = 8}}},
    {"segmented_reduce_sum_u32",
     SegmentedReduceDesc{.max_count = 1u << 24, .max_segments = 1u << 20}},
    {"segmented_reduce_argmin_i8_small",
     SegmentedReduceDesc{
         .element = Scalar::i8, .op = Operator::argmin, .max_count = 1000, .max_segments = 3000}},
    {"segmented_reduce_sum_u16_into_u64_by_address",
     SegmentedReduceDesc{.element = Scalar::u16,
                         .accumulator = Scalar::u64,
                         .max_count = 1u << 20,
                         .max_segments = 1000,
                         .addressing = Addressing::device_address}},
    {"sort_u32", SortDesc{.max_count = 1u << 24}},
    {"sort_u32_pairs_small", SortDesc{.value_bytes = 4, .max_count = 1000}},
    {"sort_f64_descending",
     SortDesc{.key = Scalar::f64, .order = SortOrder::descending, .max_count = 1000000}},
    {"sort_argsort_i16", SortDesc{.key = Scalar::i16, .argsort = true, .max_count = 1u << 20}},
    {"sort_portable_bits", SortDesc{.value_bytes = 12,
                                    .begin_bit = 7,
                                    .end_bit = 20,
                                    .max_count = 1u << 20,
                                    .tier = Tier::portable}},
    {"sort_ping_pong", SortDesc{.value_bytes = 16, .ping_pong = true, .max_count = 1u << 20}},
    {"sort_look_back_by_address", SortDesc{.key = Scalar::u8,
                                           .max_count = 100000,
                                           .addressing = Addressing::device_address,
                                           .policy = SortPolicy{.strategy = SortStrategy::look_back,
                                                                .workgroup_size = 64,
                                                                .items = 4,
                                                                .digit_bits = 4,
                                                                .max_groups = 70}}},
    {"segmented_sort_u32", SegmentedSortDesc{.max_count = 1u << 24}},
    {"segmented_sort_i16_pairs", SegmentedSortDesc{.key = Scalar::i16,
                                                   .value_bytes = 8,
                                                   .order = SortOrder::descending,
                                                   .max_count = 100000}},
    {"segmented_sort_argsort_u64_by_address",
     SegmentedSortDesc{.key = Scalar::u64,
                       .argsort = true,
                       .begin_bit = 20,
                       .max_count = 1u << 20,
                       .addressing = Addressing::device_address}},
    {"split_u32", SplitDesc{.indices = true, .end_bit = 5, .max_count = 1u << 24}},
    {"split_u8_pairs_small", SplitDesc{.key = Scalar::u8, .value_bytes = 4, .max_count = 1000}},
    {"top_k_f32_indices",
     TopKDesc{.key = Scalar::f32, .k = 100, .indices = true, .max_count = 1u << 24}},
    {"top_k_many_pairs", TopKDesc{.key = Scalar::u64,
                                  .k = 100000,
                                  .order = SortOrder::ascending,
                                  .value_bytes = 8,
                                  .max_count = 1u << 20}},
    {"top_k_small", TopKDesc{.key = Scalar::i16, .k = 10, .max_count = 200}},
    {"select_u32", SelectDesc{.flag_bits = 1, .indices = true, .max_count = 1u << 24}},
    {"select_where_f32x3",
     SelectDesc{.predicate = CustomPredicate{"far", {{Scalar::f32, 3}}, "dot(x, x) > 1.0"},
                .value_bytes = 8,
                .order = SelectOrder::any,
                .max_count = 1000000,
                .capacity = 5000}},
    {"select_i16_apart",
     SelectDesc{.element = Scalar::i16, .rest = SelectRest::rejected, .max_count = 100000}},
    {"partition_u64_small",
     SelectDesc{.element = Scalar::u64, .rest = SelectRest::after, .max_count = 500}},
    {"histogram_u8", HistogramDesc{.max_count = 1u << 24}},
    {"histogram_rgba8_small", HistogramDesc{.channels = 4, .max_count = 1000}},
    {"histogram_f32_many_bins", HistogramDesc{.sample = Scalar::f32,
                                              .bins = 100000,
                                              .range = HistogramRange{-1.0, 2.0},
                                              .max_count = 1u << 20}},
};

bool updating() {
    const char* update = std::getenv("LANEWISE_UPDATE_GOLDEN");
    return update != nullptr && std::string_view(update) == "1";
}

Result<Plan> plan_of(const Caps& caps, const ReduceDesc& desc) { return plan_reduce(caps, desc); }
Result<Plan> plan_of(const Caps& caps, const ScanDesc& desc) { return plan_scan(caps, desc); }
Result<Plan> plan_of(const Caps& caps, const SegmentedReduceDesc& desc) {
    return plan_segmented_reduce(caps, desc);
}
Result<Plan> plan_of(const Caps& caps, const SortDesc& desc) { return plan_sort(caps, desc); }
Result<Plan> plan_of(const Caps& caps, const SegmentedSortDesc& desc) {
    return plan_segmented_sort(caps, desc);
}
Result<Plan> plan_of(const Caps& caps, const SplitDesc& desc) { return plan_split(caps, desc); }
Result<Plan> plan_of(const Caps& caps, const TopKDesc& desc) { return plan_top_k(caps, desc); }
Result<Plan> plan_of(const Caps& caps, const SelectDesc& desc) { return plan_select(caps, desc); }
Result<Plan> plan_of(const Caps& caps, const HistogramDesc& desc) {
    return plan_histogram(caps, desc);
}

std::string printed(const Caps& caps, const AnyDesc& any) {
    const auto plan = std::visit([&](const auto& desc) { return plan_of(caps, desc); }, any);
    if (plan) return to_text(*plan);
    return std::string(to_text(plan.error().code)) + ": " + plan.error().message + "\n";
}

TEST(Golden, PlansPrintAsBefore) {
    const std::filesystem::path folder = repository_root() / "tests" / "golden";
    std::set<std::string> names;
    for (const DescribedDevice& device : described_devices()) {
        for (const Case& item : kCases) {
            const std::string name = device.name + "." + item.name + ".txt";
            names.insert(name);
            const std::string text = printed(device.caps, item.desc);
            EXPECT_TRUE(text.ends_with('\n')) << name;
            if (updating()) {
                std::ofstream(folder / name, std::ios::binary) << text;
                continue;
            }
            EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
            EXPECT_EQ(text, read_text(folder / name)) << name;
        }
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (names.contains(name)) continue;
        if (updating()) {
            std::filesystem::remove(entry.path());
        } else {
            ADD_FAILURE() << name << " belongs to no case";
        }
    }
    EXPECT_FALSE(updating()) << "golden files were rewritten, not compared";
}

}  // namespace
}  // namespace lanewise::test
