// lanewise topk: the first k keys in order, with what belongs to them, or with their indices.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/files.hpp"
#include "cli/npy.hpp"
#include "cli/operation.hpp"
#include "lanewise/top_k.hpp"
#include "primitives/top_k/top_k_reference.hpp"

namespace lanewise::cli {
namespace {

struct TopKVerbOptions : CommonOptions {
    std::string keys;
    std::string output;
    std::string values;
    std::string values_output;
    std::string indices_output;
    std::string k;
    bool smallest = false;
    bool verify = false;
};

std::string what_was_selected(const TopKDesc& desc) {
    std::string text = fmt::format("the {} {} of {} {}",
                                   desc.order == SortOrder::descending ? "largest" : "smallest",
                                   desc.k, desc.max_count, to_text(desc.key));
    if (desc.indices) text += ", with indices";
    if (desc.value_bytes != 0) text += fmt::format(" with {} bytes each", desc.value_bytes);
    return text;
}

Json report_json(const Gpu& gpu, const TopKDesc& desc, const TopKResult& result) {
    Json json{{"key", to_text(desc.key)},
              {"k", desc.k},
              {"largest", desc.order == SortOrder::descending},
              {"value_bytes", desc.value_bytes},
              {"indices", desc.indices},
              {"count", desc.max_count},
              {"results", result.keys.size() / size_of(desc.key)}};
    add_run(json, gpu, result.report);
    return json;
}

Result<void> write_outputs(const TopKVerbOptions& options, const TopKDesc& desc,
                           const NpyArray& keys, const NpyArray& values, const TopKResult& result) {
    const std::uint64_t count = result.keys.size() / size_of(desc.key);
    const auto header = make_npy_header(keys.element, count);
    const auto values_header = make_npy_header(values.element, count, values.columns);
    const auto indices_header = make_npy_header(Scalar::u32, count);
    std::vector<FileToWrite> files{{options.output, {header, result.keys}}};
    if (desc.value_bytes != 0)
        files.push_back({options.values_output, {values_header, result.values}});
    if (desc.indices) files.push_back({options.indices_output, {indices_header, result.values}});
    return write_whole_files(files);
}

Status run_top_k(const TopKVerbOptions& options) {
    if (options.values.empty() != options.values_output.empty()) {
        return fail(Status::usage, "--values and --values-out go together: give both, or none");
    }
    if (options.values_output == options.output || options.indices_output == options.output) {
        return fail(Status::usage,
                    fmt::format("-o and {} name the same file",
                                options.values_output == options.output ? "--values-out"
                                                                        : "--indices-out"));
    }
    const auto keys = read_npy(options.keys);
    if (!keys) return fail(keys.error());
    const auto values = read_values(options.values, options.keys, *keys, "--indices-out");
    if (!values) return fail(values.error());
    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    TopKDesc desc;
    desc.key = keys->element;
    desc.k = *parse_count(options.k);
    desc.order = options.smallest ? SortOrder::ascending : SortOrder::descending;
    desc.value_bytes = options.values.empty() ? 0 : static_cast<std::uint32_t>(values->row_bytes());
    desc.indices = !options.indices_output.empty();
    desc.max_count = keys->count;
    desc.tier = options.forced_tier();

    const auto result = gpu->top_k(keys->data, values->data, desc);
    if (!result) return fail(result.error());
    note_run(result->report, options.quiet);
    Verdict verdict{.verified = options.verify};
    verdict.wrong = options.verify && !top_k_matches(desc, keys->data, values->data, result->keys,
                                                     result->values, &verdict.why);
    const auto report = [&](bool has_written) {
        if (!options.json) return;
        Json json = report_json(*gpu, desc, *result);
        const auto file = [&](const std::string& name) {
            return has_written ? Json(name) : Json();
        };
        json["output"] = file(options.output);
        if (desc.value_bytes != 0) json["values_output"] = file(options.values_output);
        if (desc.indices) json["indices_output"] = file(options.indices_output);
        if (options.verify) json["verified"] = !verdict.wrong;
        print_json(json);
    };

    // A result that is known to be wrong replaces no file.
    const Status status = judge(verdict, *gpu, result->report);
    if (status != Status::good) {
        report(false);
        return status;
    }
    const auto written = write_outputs(options, desc, *keys, *values, *result);
    if (!written) return fail(Status::failed, written.error().message);
    report(true);
    note_verified(verdict, *gpu, result->report, what_was_selected(desc), options.quiet);
    return Status::good;
}

}  // namespace

void add_top_k(CLI::App& app, Action& action) {
    auto options = std::make_shared<TopKVerbOptions>();
    CLI::App* verb = app.add_subcommand(
        "topk", "the largest or smallest k keys in order, with values or indices");
    verb->add_option("KEYS.npy", options->keys, "array of one dimension")->required();
    verb->add_option("-k", options->k,
                     "how many, as 100 or 2^10; where there are fewer keys, all of them")
        ->required()
        ->check(count_validator());
    verb->add_option("-o,--output", options->output,
                     "the file for the keys in order; it appears whole or not at all, and may be "
                     "KEYS.npy")
        ->required();
    verb->add_flag("--smallest", options->smallest, "the smallest keys, the smallest first");
    CLI::Option* values =
        verb->add_option("--values", options->values,
                         "array of what travels with the keys: elements of 4 or 8 bytes, or rows "
                         "of 4, 8, 12 or 16 bytes");
    verb->add_option(
        "--values-out", options->values_output,
        "the file for the values, in the order of their keys; may be that of --values");
    verb->add_option("--indices-out", options->indices_output,
                     "the file for where each of these keys stood, as u32; of equal keys the "
                     "lowest index comes first")
        ->excludes(values);
    verb->add_flag("--verify", options->verify,
                   "compare with a serial reference on the host; where it differs, nothing is "
                   "written and the status is 1");
    add_api_option(*verb, *options);
    add_device_option(*verb, *options);
    add_tier_option(*verb, *options);
    add_json_option(*verb, *options);
    add_quiet_option(*verb, *options);
    verb->callback([options, &action] { action = [options] { return run_top_k(*options); }; });
}

}  // namespace lanewise::cli
