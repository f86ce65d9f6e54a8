// lanewise split: keys by buckets, with what belongs to them, and where each bucket begins.
#include <fmt/format.h>

#include <memory>

#include "cli/records.hpp"
#include "lanewise/split.hpp"
#include "primitives/split/split_reference.hpp"

namespace lanewise::cli {
namespace {

struct SplitVerbOptions : RecordOptions {
    std::string offsets_output;
    std::string indices_output;
    std::string bits;
};

std::string what_was_split(const SplitDesc& desc) {
    std::string text = fmt::format("{} {}", desc.max_count, to_text(desc.key));
    if (desc.value_bytes != 0) text += fmt::format(" with {} bytes each", desc.value_bytes);
    return text + fmt::format(" into {} buckets", split_buckets(desc));
}

Json asked(const SplitDesc& desc) {
    return {{"key", to_text(desc.key)},
            {"begin_bit", desc.begin_bit},
            {"end_bit", desc.end_bit.value_or(size_of(desc.key) * 8)},
            {"buckets", split_buckets(desc)},
            {"value_bytes", desc.value_bytes},
            {"indices", desc.indices},
            {"count", desc.max_count}};
}

Status run_split(const SplitVerbOptions& options) {
    if (const auto own =
            require_files_of_their_own({options.output, options.values_output,
                                        options.offsets_output, options.indices_output});
        !own)
        return fail(own.error());
    const auto records = read_records(options);
    if (!records) return fail(records.error());
    const auto& [keys, values, value_bytes] = *records;
    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    SplitDesc desc;
    desc.key = keys.element;
    desc.value_bytes = value_bytes;
    desc.indices = !options.indices_output.empty();
    set_bits(desc, options.bits);
    desc.max_count = keys.count;
    desc.tier = options.forced_tier();

    const auto result = gpu->split(keys.data, values.data, desc);
    if (!result) return fail(result.error());
    Verdict verdict{.verified = options.verify};
    verdict.wrong = options.verify &&
                    !split_matches(desc, keys.data, values.data,
                                   {result->keys, result->values, result->offsets}, &verdict.why);
    Outputs outputs;
    outputs.add("output", options.output, keys.element, result->keys);
    outputs.add("offsets_output", options.offsets_output, Scalar::u32,
                std::as_bytes(std::span(result->offsets)));
    if (desc.indices)
        outputs.add("indices_output", options.indices_output, Scalar::u32, result->values);
    if (value_bytes != 0) {
        outputs.add("values_output", options.values_output, values.element, result->values,
                    values.columns);
    }
    return finish(options, *gpu, result->report, verdict, outputs, asked(desc),
                  what_was_split(desc));
}

}  // namespace

void add_split(CLI::App& app, Action& action) {
    auto options = std::make_shared<SplitVerbOptions>();
    CLI::App* verb =
        app.add_subcommand("split", "keys by the bucket that some of their bits name, stable");
    CLI::Option* values = add_record_options(*verb, *options, "the file for the keys by buckets");
    verb->add_option("--offsets-out", options->offsets_output,
                     "the file for where each bucket begins, as u32, and for the number of keys "
                     "behind the last")
        ->required();
    verb->add_option("--indices", options->indices_output,
                     "a file for where each of these keys stood, as u32")
        ->excludes(values);
    add_bits_option(*verb, options->bits,
                    "B:E: the bucket is bits B to E - 1, 16 at most, of the key as an unsigned "
                    "number in the keys' order (default: all of a key that has so few)");
    verb->callback([options, &action] { action = [options] { return run_split(*options); }; });
}

}  // namespace lanewise::cli
