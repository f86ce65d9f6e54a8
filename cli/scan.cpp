// lanewise scan: every prefix of an array, combined, as an array.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/npy.hpp"
#include "cli/operation.hpp"
#include "lanewise/scan.hpp"
#include "primitives/scan/scan_reference.hpp"

namespace lanewise::cli {
namespace {

struct ScanVerbOptions : CommonOptions {
    std::string input;
    std::string output;
    OperationOptions operation;
    ScanOptions scan;
    bool verify = false;
};

Json report_json(const Gpu& gpu, const ScanDesc& desc, const ScanResult& result) {
    Json json{{"op", to_text(desc.op)},
              {"kind", to_text(desc.kind)},
              {"direction", to_text(desc.direction)},
              {"element", to_text(desc.element)},
              {"accumulator", to_text(result.accumulator)}};
    if (desc.initial) {
        json["initial"] =
            scalar_to_json(result.accumulator, std::as_bytes(std::span(&*desc.initial, 1)));
    }
    json["determinism"] = to_text(desc.determinism);
    json["count"] = desc.max_count;
    add_run(json, gpu, result.report);
    return json;
}

Status run_scan(const ScanVerbOptions& options) {
    const auto array = read_npy(options.input);
    if (!array) return fail(array.error());
    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    ScanDesc desc;
    desc.element = array->element;
    options.operation.set(desc);
    desc.max_count = array->count;
    desc.tier = options.forced_tier();
    if (const auto done = options.scan.set(desc, gpu->caps()); !done) return fail(done.error());

    const auto result = gpu->scan(array->data, desc);
    if (!result) return fail(result.error());
    note_run(result->report, options.quiet);
    Verdict verdict{.verified = options.verify};
    verdict.wrong = options.verify && !scan_matches(desc, array->data, result->bytes, &verdict.why,
                                                    &result->report.plan);
    const CombinedOutput output =
        combined_output(result->bytes, result->accumulator, desc.op, scan_result_bytes(desc));
    const auto report = [&](bool has_written) {
        if (!options.json) return;
        Json json = report_json(*gpu, desc, *result);
        json["output"] = has_written ? Json(options.output) : Json();
        json["output_type"] = to_text(output.type);
        if (options.verify) json["verified"] = !verdict.wrong;
        print_json(json);
    };

    // A result that is known to be wrong replaces no file.
    const Status status = judge(verdict, *gpu, result->report);
    if (status != Status::good) {
        report(false);
        return status;
    }
    const auto written = write_npy(options.output, output.type, output.data);
    if (!written) return fail(Status::failed, written.error().message);
    report(true);
    note_verified(
        verdict, *gpu, result->report,
        fmt::format("{} {} of {} {}{}", to_text(desc.kind), to_text(desc.op), array->count,
                    to_text(desc.element), desc.direction == Direction::reverse ? ", reverse" : ""),
        options.quiet);
    return Status::good;
}

}  // namespace

void add_scan(CLI::App& app, Action& action) {
    auto options = std::make_shared<ScanVerbOptions>();
    CLI::App* verb = app.add_subcommand("scan", "every prefix of an array, combined");
    verb->add_option("IN.npy", options->input, "array of one dimension")->required();
    verb->add_option("-o,--output", options->output,
                     "the file for the outputs, one for each item, of the accumulator's type; it "
                     "appears whole or not at all, and may be IN.npy")
        ->required();
    add_operation_options(
        *verb, options->operation,
        "sum, product, min, max, and, or, xor; argmin and argmax give indices alone (of the first "
        "such element so far; all bits set for no elements), as u32, or as u64 where values have "
        "64 bits or items may be more than 2^32",
        "type in which to add up and of the output: u64, i64 or f64 (default: the element's own, "
        "32 bits at least)");
    add_scan_options(*verb, options->scan);
    verb->add_flag("--verify", options->verify,
                   "compare with a serial reference on the host; where it differs, nothing is "
                   "written and the status is 1");
    add_api_option(*verb, *options);
    add_device_option(*verb, *options);
    add_tier_option(*verb, *options);
    add_json_option(*verb, *options);
    add_quiet_option(*verb, *options);
    verb->callback([options, &action] { action = [options] { return run_scan(*options); }; });
}

}  // namespace lanewise::cli
