// lanewise sort: keys in order, with what belongs to them, or as indices.
#include <fmt/format.h>

#include <memory>

#include "cli/files.hpp"
#include "cli/npy.hpp"
#include "cli/operation.hpp"
#include "lanewise/sort.hpp"
#include "primitives/sort/sort_reference.hpp"

namespace lanewise::cli {
namespace {

struct SortVerbOptions : CommonOptions {
    std::string keys;
    std::string output;
    std::string values;
    std::string values_output;
    SortOptions sort;
    bool verify = false;
};

std::string what_was_sorted(const SortDesc& desc) {
    const std::uint32_t width = size_of(desc.key) * 8;
    const std::uint32_t end = desc.end_bit.value_or(width);
    std::string text = fmt::format("{} {} {}{}", to_text(desc.order), desc.max_count,
                                   to_text(desc.key), desc.argsort ? ", as indices" : "");
    if (desc.value_bytes != 0) text += fmt::format(" with {} bytes each", desc.value_bytes);
    if (desc.begin_bit != 0 || end != width) {
        text += fmt::format(", by bits {} to {}", desc.begin_bit, end);
    }
    return text;
}

Json report_json(const Gpu& gpu, const SortDesc& desc, const SortResult& result) {
    Json json{{"key", to_text(desc.key)},
              {"order", to_text(desc.order)},
              {"begin_bit", desc.begin_bit},
              {"end_bit", desc.end_bit.value_or(size_of(desc.key) * 8)},
              {"value_bytes", desc.value_bytes},
              {"argsort", desc.argsort},
              {"count", desc.max_count}};
    add_run(json, gpu, result.report);
    return json;
}

Result<void> write_outputs(const SortVerbOptions& options, const SortDesc& desc,
                           const NpyArray& keys, const NpyArray& values, const SortResult& result) {
    const Scalar type = desc.argsort ? Scalar::u32 : keys.element;
    const auto header = make_npy_header(type, keys.count);
    const auto values_header = make_npy_header(values.element, values.count, values.columns);
    std::vector<FileToWrite> files{
        {options.output, {header, desc.argsort ? result.values : result.keys}}};
    if (desc.value_bytes != 0) {
        files.push_back({options.values_output, {values_header, result.values}});
    }
    return write_whole_files(files);
}

Status run_sort(const SortVerbOptions& options) {
    if (options.values.empty() != options.values_output.empty()) {
        return fail(Status::usage, "--values and --values-out go together: give both, or none");
    }
    if (!options.values.empty() && options.values_output == options.output) {
        return fail(Status::usage, "-o and --values-out name the same file");
    }
    const auto keys = read_npy(options.keys);
    if (!keys) return fail(keys.error());
    const auto values = read_values(options.values, options.keys, *keys, "--argsort");
    if (!values) return fail(values.error());
    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    SortDesc desc;
    desc.key = keys->element;
    desc.value_bytes = options.values.empty() ? 0 : static_cast<std::uint32_t>(values->row_bytes());
    options.sort.set(desc);
    desc.max_count = keys->count;
    desc.tier = options.forced_tier();

    const auto result = gpu->sort(keys->data, values->data, desc);
    if (!result) return fail(result.error());
    note_run(result->report, options.quiet);
    Verdict verdict{.verified = options.verify};
    verdict.wrong = options.verify && !sort_matches(desc, keys->data, values->data, result->keys,
                                                    result->values, &verdict.why);
    const auto report = [&](bool has_written) {
        if (!options.json) return;
        Json json = report_json(*gpu, desc, *result);
        json["output"] = has_written ? Json(options.output) : Json();
        json["output_type"] = to_text(desc.argsort ? Scalar::u32 : keys->element);
        if (desc.value_bytes != 0)
            json["values_output"] = has_written ? Json(options.values_output) : Json();
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
    note_verified(verdict, *gpu, result->report, what_was_sorted(desc), options.quiet);
    return Status::good;
}

}  // namespace

void add_sort(CLI::App& app, Action& action) {
    auto options = std::make_shared<SortVerbOptions>();
    CLI::App* verb = app.add_subcommand("sort", "keys in order, stable, with values or as indices");
    verb->add_option("KEYS.npy", options->keys, "array of one dimension")->required();
    verb->add_option("-o,--output", options->output,
                     "the file for the keys in order, or the indices; it appears whole or not at "
                     "all, and may be KEYS.npy")
        ->required();
    CLI::Option* values =
        verb->add_option("--values", options->values,
                         "array of what travels with the keys: elements of 4 or 8 bytes, or rows "
                         "of 4, 8, 12 or 16 bytes");
    verb->add_option(
        "--values-out", options->values_output,
        "the file for the values, in the order of their keys; may be that of --values");
    add_sort_options(*verb, options->sort);
    verb->get_option("--argsort")->excludes(values);
    verb->add_flag("--verify", options->verify,
                   "compare with a serial reference on the host; where it differs, nothing is "
                   "written and the status is 1");
    add_api_option(*verb, *options);
    add_device_option(*verb, *options);
    add_tier_option(*verb, *options);
    add_json_option(*verb, *options);
    add_quiet_option(*verb, *options);
    verb->callback([options, &action] { action = [options] { return run_sort(*options); }; });
}

}  // namespace lanewise::cli
