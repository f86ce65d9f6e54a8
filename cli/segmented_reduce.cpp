// lanewise segmented-reduce: one value from each of many segments of an array, as an array.
#include <fmt/format.h>

#include <memory>

#include "cli/npy.hpp"
#include "cli/operation.hpp"
#include "cli/records.hpp"
#include "lanewise/segmented_reduce.hpp"
#include "primitives/segmented_reduce/segmented_reduce_reference.hpp"

namespace lanewise::cli {
namespace {

struct SegmentedReduceVerbOptions : CommonOptions {
    std::string input;
    std::string offsets;
    std::string output;
    OperationOptions operation;
    bool verify = false;
};

Json asked(const SegmentedReduceDesc& desc, const SegmentedReduceResult& result, Scalar output) {
    return {{"op", to_text(desc.op)},
            {"element", to_text(desc.element)},
            {"accumulator", to_text(result.accumulator)},
            {"count", desc.max_count},
            {"segments", desc.max_segments},
            {"output_type", to_text(output)}};
}

Status run_segmented_reduce(const SegmentedReduceVerbOptions& options) {
    const auto array = read_npy(options.input);
    if (!array) return fail(array.error());
    const auto offsets = read_offsets(options.offsets);
    if (!offsets) return fail(offsets.error());
    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    SegmentedReduceDesc desc;
    desc.element = array->element;
    options.operation.set(desc);
    desc.max_count = array->count;
    desc.max_segments = offsets->empty() ? 0 : offsets->size() - 1;
    desc.tier = options.forced_tier();

    const auto result = gpu->segmented_reduce(array->data, *offsets, desc);
    if (!result) return fail(result.error());
    Verdict verdict{.verified = options.verify};
    verdict.wrong = options.verify && !segmented_reduce_matches(desc, array->data, *offsets,
                                                                result->bytes, &verdict.why);
    const CombinedOutput output = combined_output(result->bytes, result->accumulator, desc.op,
                                                  segmented_reduce_result_bytes(desc));
    Outputs outputs;
    outputs.add("output", options.output, output.type, output.data);
    return finish(options, *gpu, result->report, verdict, outputs,
                  asked(desc, *result, output.type),
                  fmt::format("{} of {} segments of {} {}", to_text(desc.op), desc.max_segments,
                              desc.max_count, to_text(desc.element)));
}

}  // namespace

void add_segmented_reduce(CLI::App& app, Action& action) {
    auto options = std::make_shared<SegmentedReduceVerbOptions>();
    CLI::App* verb =
        app.add_subcommand("segmented-reduce", "one value from each segment of an array");
    verb->add_option("IN.npy", options->input, "array of one dimension")->required();
    verb->add_option("--offsets", options->offsets,
                     "array of integers that do not descend: segment i is items offsets[i] to "
                     "offsets[i + 1] - 1; there is one segment fewer than numbers")
        ->required();
    verb->add_option("-o,--output", options->output,
                     "the file for the results, one for each segment, of the accumulator's type; "
                     "it appears whole or not at all, and may be IN.npy")
        ->required();
    add_ordered_operation_options(
        *verb, options->operation,
        "sum, product, min, max, and, or, xor; argmin and argmax give indices alone (of the first "
        "such element, in the whole array; all bits set for no elements), as u32, or as u64 where "
        "values have 64 bits",
        "type in which to add up and of the output: u64, i64 or f64 (default: the element's own, "
        "32 bits at least)");
    verb->add_flag("--verify", options->verify,
                   "compare with a serial reference on the host; where it differs, nothing is "
                   "written and the status is 1");
    add_api_option(*verb, *options);
    add_device_option(*verb, *options);
    add_tier_option(*verb, *options);
    add_json_option(*verb, *options);
    add_quiet_option(*verb, *options);
    verb->callback(
        [options, &action] { action = [options] { return run_segmented_reduce(*options); }; });
}

}  // namespace lanewise::cli
