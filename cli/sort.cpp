// lanewise sort: keys in order, with what belongs to them, or as indices.
#include <fmt/format.h>

#include <memory>

#include "cli/records.hpp"
#include "lanewise/sort.hpp"
#include "primitives/sort/sort_reference.hpp"

namespace lanewise::cli {
namespace {

struct SortVerbOptions : RecordOptions {
    SortOptions sort;
};

std::string what_was_sorted(const SortDesc& desc) {
    std::string text = fmt::format("{} {} {}{}", to_text(desc.order), desc.max_count,
                                   to_text(desc.key), desc.argsort ? ", as indices" : "");
    if (desc.value_bytes != 0) text += fmt::format(" with {} bytes each", desc.value_bytes);
    const std::string bits = bits_to_text(desc);
    if (!bits.empty()) text += ", by bits " + bits;
    return text;
}

Json asked(const SortDesc& desc) {
    return {{"key", to_text(desc.key)},
            {"order", to_text(desc.order)},
            {"begin_bit", desc.begin_bit},
            {"end_bit", desc.end_bit.value_or(size_of(desc.key) * 8)},
            {"value_bytes", desc.value_bytes},
            {"argsort", desc.argsort},
            {"count", desc.max_count},
            {"output_type", to_text(desc.argsort ? Scalar::u32 : desc.key)}};
}

Status run_sort(const SortVerbOptions& options) {
    const auto records = read_records(options);
    if (!records) return fail(records.error());
    const auto& [keys, values, value_bytes] = *records;
    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    SortDesc desc;
    desc.key = keys.element;
    desc.value_bytes = value_bytes;
    options.sort.set(desc);
    desc.max_count = keys.count;
    desc.tier = options.forced_tier();

    const auto result = gpu->sort(keys.data, values.data, desc);
    if (!result) return fail(result.error());
    Verdict verdict{.verified = options.verify};
    verdict.wrong = options.verify && !sort_matches(desc, keys.data, values.data, result->keys,
                                                    result->values, &verdict.why);
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
    return finish(options, *gpu, result->report, verdict, outputs, asked(desc),
                  what_was_sorted(desc));
}

}  // namespace

void add_sort(CLI::App& app, Action& action) {
    auto options = std::make_shared<SortVerbOptions>();
    CLI::App* verb = app.add_subcommand("sort", "keys in order, stable, with values or as indices");
    CLI::Option* values =
        add_record_options(*verb, *options, "the file for the keys in order, or the indices");
    add_sort_options(*verb, options->sort);
    verb->get_option("--argsort")->excludes(values);
    verb->callback([options, &action] { action = [options] { return run_sort(*options); }; });
}

}  // namespace lanewise::cli
