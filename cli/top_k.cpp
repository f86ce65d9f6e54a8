// lanewise topk: the first k keys in order, with what belongs to them, or with their indices.
#include <fmt/format.h>

#include <memory>

#include "cli/records.hpp"
#include "lanewise/top_k.hpp"
#include "primitives/top_k/top_k_reference.hpp"

namespace lanewise::cli {
namespace {

struct TopKVerbOptions : RecordOptions {
    std::string indices_output;
    std::string k;
    bool smallest = false;
};

std::string what_was_selected(const TopKDesc& desc) {
    std::string text = fmt::format("the {} {} of {} {}",
                                   desc.order == SortOrder::descending ? "largest" : "smallest",
                                   desc.k, desc.max_count, to_text(desc.key));
    if (desc.indices) text += ", with indices";
    if (desc.value_bytes != 0) text += fmt::format(" with {} bytes each", desc.value_bytes);
    return text;
}

Json asked(const TopKDesc& desc) {
    return {{"key", to_text(desc.key)},     {"k", desc.k},
            {"order", to_text(desc.order)}, {"value_bytes", desc.value_bytes},
            {"indices", desc.indices},      {"count", desc.max_count}};
}

Status run_top_k(const TopKVerbOptions& options) {
    if (const auto own = require_files_of_their_own(
            {options.output, options.values_output, options.indices_output});
        !own)
        return fail(own.error());
    const auto records = read_records(options);
    if (!records) return fail(records.error());
    const auto& [keys, values, value_bytes] = *records;
    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    TopKDesc desc;
    desc.key = keys.element;
    desc.k = *parse_count(options.k);
    desc.order = options.smallest ? SortOrder::ascending : SortOrder::descending;
    desc.value_bytes = value_bytes;
    desc.indices = !options.indices_output.empty();
    desc.max_count = keys.count;
    desc.tier = options.forced_tier();

    const auto result = gpu->top_k(keys.data, values.data, desc);
    if (!result) return fail(result.error());
    Verdict verdict{.verified = options.verify};
    verdict.wrong = options.verify && !top_k_matches(desc, keys.data, values.data, result->keys,
                                                     result->values, &verdict.why);
    Outputs outputs;
    outputs.add("output", options.output, keys.element, result->keys);
    if (desc.indices)
        outputs.add("indices_output", options.indices_output, Scalar::u32, result->values);
    if (value_bytes != 0) {
        outputs.add("values_output", options.values_output, values.element, result->values,
                    values.columns);
    }
    return finish(options, *gpu, result->report, verdict, outputs, asked(desc),
                  what_was_selected(desc));
}

}  // namespace

void add_top_k(CLI::App& app, Action& action) {
    auto options = std::make_shared<TopKVerbOptions>();
    CLI::App* verb = app.add_subcommand(
        "topk", "the largest or smallest k keys in order, with values or indices");
    CLI::Option* values = add_record_options(*verb, *options, "the file for the keys in order");
    verb->add_option("-k", options->k,
                     "how many, as 100 or 2^10; where there are fewer keys, all of them")
        ->required()
        ->check(count_validator());
    verb->add_flag("--smallest", options->smallest, "the smallest keys, the smallest first");
    verb->add_option("--indices", options->indices_output,
                     "a file for where each of these keys stood, as u32; of equal keys the lowest "
                     "index comes first")
        ->excludes(values);
    verb->callback([options, &action] { action = [options] { return run_top_k(*options); }; });
}

}  // namespace lanewise::cli
