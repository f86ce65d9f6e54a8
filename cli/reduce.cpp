// lanewise reduce: one value from an array.
#include <fmt/format.h>

#include <memory>

#include "cli/npy.hpp"
#include "cli/operation.hpp"
#include "lanewise/reduce.hpp"
#include "primitives/reduce/reduce_reference.hpp"

namespace lanewise::cli {
namespace {

struct ReduceOptions : CommonOptions {
    std::string input;
    OperationOptions operation;
    bool verify = false;
};

struct Value {
    std::span<const std::byte> value;
    std::optional<std::uint64_t> index;  // argmin and argmax of something; none of nothing
};

Value value_of(const ReduceResult& result, Operator op, std::uint64_t count) {
    Value value{result.bytes, std::nullopt};
    if (!is_arg(op) || count == 0) return value;
    const std::size_t half = result.bytes.size() / 2;
    value.index = 0;
    for (std::size_t byte = 0; byte < half; ++byte) {
        value.index = *value.index | std::to_integer<std::uint64_t>(result.bytes[half + byte])
                                         << (8 * byte);
    }
    return value;
}

Json report_json(const Gpu& gpu, const ReduceDesc& desc, const NpyArray& array,
                 const ReduceResult& result, const Value& value) {
    Json json{{"op", to_text(desc.op)},
              {"element", to_text(desc.element)},
              {"accumulator", to_text(result.accumulator)},
              {"determinism", to_text(desc.determinism)},
              {"count", array.count},
              {"value", scalar_to_json(result.accumulator, value.value)}};
    if (is_arg(desc.op)) json["index"] = value.index ? Json(*value.index) : Json();
    add_run(json, gpu, result.report);
    return json;
}

Status run_reduce(const ReduceOptions& options) {
    const auto array = read_npy(options.input);
    if (!array) return fail(array.error());
    ReduceDesc desc;
    desc.element = array->element;
    options.operation.set(desc);
    desc.max_count = array->count;
    desc.tier = options.forced_tier();

    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    const auto result = gpu->reduce(array->data, desc);
    if (!result) return fail(result.error());
    note_run(result->report, options.quiet);

    Verdict verdict{.verified = options.verify};
    verdict.wrong =
        options.verify && !reduce_matches(desc, array->data, result->bytes, &verdict.why,
                                          reduce_depth(result->report.plan, array->count));
    const Value value = value_of(*result, desc.op, array->count);
    if (options.json) {
        Json json = report_json(*gpu, desc, *array, *result, value);
        if (options.verify) json["verified"] = !verdict.wrong;
        print_json(json);
    } else if (is_arg(desc.op)) {
        print(value.index ? fmt::format("{}\n", *value.index) : "none\n");
    } else {
        print(scalar_to_text(result->accumulator, value.value) + "\n");
    }
    const Status status = judge(verdict, *gpu, result->report);
    if (status != Status::good) return status;
    note_verified(verdict, *gpu, result->report,
                  fmt::format("{} of {} {}", to_text(desc.op), array->count, to_text(desc.element)),
                  options.quiet);
    return Status::good;
}

}  // namespace

void add_reduce(CLI::App& app, Action& action) {
    auto options = std::make_shared<ReduceOptions>();
    CLI::App* verb = app.add_subcommand("reduce", "one value from an array");
    verb->add_option("IN.npy", options->input, "array of one dimension")->required();
    add_operation_options(
        *verb, options->operation,
        "sum, product, min, max, and, or, xor; argmin and argmax print the index of the first such "
        "element, `none` for no elements",
        "type in which to add up and to print: u64, i64 or f64 (default: the element's own, 32 "
        "bits at least)");
    verb->add_flag("--verify", options->verify,
                   "compare with a serial reference on the host; status 1 when it differs");
    add_api_option(*verb, *options);
    add_device_option(*verb, *options);
    add_tier_option(*verb, *options);
    add_json_option(*verb, *options);
    add_quiet_option(*verb, *options);
    verb->callback([options, &action] { action = [options] { return run_reduce(*options); }; });
}

}  // namespace lanewise::cli
