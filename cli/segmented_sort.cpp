// lanewise segmented-sort: each of many segments of keys in order, with what belongs to them, or as
// indices.
#include <fmt/format.h>

#include <memory>

#include "cli/records.hpp"
#include "lanewise/segmented_sort.hpp"
#include "primitives/segmented_sort/segmented_sort_reference.hpp"

namespace lanewise::cli {
namespace {

struct SegmentedSortVerbOptions : RecordOptions {
    std::string offsets;
    SortOptions sort;
};

std::string what_was_sorted(const SegmentedSortDesc& desc, std::size_t segments) {
    std::string text = fmt::format("{} {} {}{}", to_text(desc.order), desc.max_count,
                                   to_text(desc.key), desc.argsort ? ", as indices" : "");
    if (desc.value_bytes != 0) text += fmt::format(" with {} bytes each", desc.value_bytes);
    text += fmt::format(", in {} segments", segments);
    const std::string bits = bits_to_text(desc);
    if (!bits.empty()) text += ", by bits " + bits;
    return text;
}

Json asked(const SegmentedSortDesc& desc, std::size_t segments) {
    return {{"key", to_text(desc.key)},
            {"order", to_text(desc.order)},
            {"begin_bit", desc.begin_bit},
            {"end_bit", desc.end_bit.value_or(size_of(desc.key) * 8)},
            {"value_bytes", desc.value_bytes},
            {"argsort", desc.argsort},
            {"count", desc.max_count},
            {"segments", segments},
            {"output_type", to_text(desc.argsort ? Scalar::u32 : desc.key)}};
}

Status run_segmented_sort(const SegmentedSortVerbOptions& options) {
    const auto records = read_records(options);
    if (!records) return fail(records.error());
    const auto& [keys, values, value_bytes] = *records;
    const auto offsets = read_offsets(options.offsets);
    if (!offsets) return fail(offsets.error());
    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    SegmentedSortDesc desc;
    desc.key = keys.element;
    desc.value_bytes = value_bytes;
    options.sort.set(desc);
    desc.max_count = keys.count;
    desc.tier = options.forced_tier();

    const auto result = gpu->segmented_sort(keys.data, values.data, *offsets, desc);
    if (!result) return fail(result.error());
    Verdict verdict{.verified = options.verify};
    verdict.wrong =
        options.verify && !segmented_sort_matches(desc, keys.data, values.data, *offsets,
                                                  result->keys, result->values, &verdict.why);
    Outputs outputs;
    if (desc.argsort) {
        outputs.add("output", options.output, Scalar::u32, result->values);
    } else {
        outputs.add("output", options.output, keys.element, result->keys);
    }
    if (value_bytes != 0) {
        outputs.add("values_output", options.values_output, values.element, result->values,
                    values.columns);
    }
    const std::size_t segments = offsets->empty() ? 0 : offsets->size() - 1;
    return finish(options, *gpu, result->report, verdict, outputs, asked(desc, segments),
                  what_was_sorted(desc, segments));
}

}  // namespace

void add_segmented_sort(CLI::App& app, Action& action) {
    auto options = std::make_shared<SegmentedSortVerbOptions>();
    CLI::App* verb = app.add_subcommand(
        "segmented-sort", "each segment of keys in order, stable, with values or as indices");
    CLI::Option* values = add_record_options(
        *verb, *options, "the file for the keys, each segment in order, or the indices");
    verb->add_option("--offsets", options->offsets,
                     "array of integers that do not descend: segment i is keys offsets[i] to "
                     "offsets[i + 1] - 1; keys of no segment stay where they are")
        ->required();
    add_sort_options(*verb, options->sort);
    verb->get_option("--argsort")->excludes(values);
    verb->callback(
        [options, &action] { action = [options] { return run_segmented_sort(*options); }; });
}

}  // namespace lanewise::cli
