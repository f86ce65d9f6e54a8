// lanewise reduce: one value from an array.
#include <fmt/format.h>

#include <memory>

#include "cli/npy.hpp"
#include "cli/output.hpp"
#include "lanewise/reduce.hpp"
#include "primitives/reduce/reduce_reference.hpp"

namespace lanewise::cli {
namespace {

struct ReduceOptions : CommonOptions {
    std::string input;
    std::string op = "sum";
    std::string accumulator;
    std::string determinism = to_text(Determinism::run_to_run);
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
    const RunReport& report = result.report;
    Json json{{"op", to_text(desc.op)},
              {"element", to_text(desc.element)},
              {"accumulator", to_text(result.accumulator)},
              {"determinism", to_text(desc.determinism)},
              {"count", array.count},
              {"value", scalar_to_json(result.accumulator, value.value)}};
    if (is_arg(desc.op)) json["index"] = value.index ? Json(*value.index) : Json();
    json["device"] = gpu.info().name;
    json["driver"] = gpu.info().driver;
    json["tier"] = to_text(report.plan.tier);
    json["reason"] = report.plan.reason;
    json["policy"] = report.plan.policy;
    json["passes"] = Json::array();
    for (const PassTime& pass : report.passes) {
        json["passes"].push_back({{"name", pass.name}, {"nanoseconds", pass.nanoseconds}});
    }
    json["fallbacks"] = report.fallbacks;
    if (!report.faults.empty()) json["faults"] = report.faults;
    return json;
}

Status run_reduce(const ReduceOptions& options) {
    const auto array = read_npy(options.input);
    if (!array) return fail(array.error());
    ReduceDesc desc;
    desc.element = array->element;
    desc.op = *operator_from_text(options.op);
    desc.max_count = array->count;
    if (!options.accumulator.empty()) desc.accumulator = scalar_from_text(options.accumulator);
    desc.determinism = options.determinism == to_text(Determinism::unordered)
                           ? Determinism::unordered
                           : Determinism::run_to_run;
    desc.tier = options.forced_tier();

    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    const auto result = gpu->reduce(array->data, desc);
    if (!result) return fail(result.error());
    for (const std::string& fallback : result->report.fallbacks) {
        note(options.quiet, "lanewise: fell back: " + fallback);
    }

    for (const std::string& fault : result->report.faults) note(false, "lanewise: " + fault);

    std::string why;
    const bool wrong =
        options.verify && !reduce_matches(desc, array->data, result->bytes, &why,
                                          reduce_depth(result->report.plan, array->count));
    const Value value = value_of(*result, desc.op, array->count);
    if (options.json) {
        Json json = report_json(*gpu, desc, *array, *result, value);
        if (options.verify) json["verified"] = !wrong;
        print_json(json);
    } else if (is_arg(desc.op)) {
        print(value.index ? fmt::format("{}\n", *value.index) : "none\n");
    } else {
        print(scalar_to_text(result->accumulator, value.value) + "\n");
    }
    if (wrong) {
        return fail(Status::failed, fmt::format("wrong result on {}, tier {}: {}", gpu->info().name,
                                                to_text(result->report.plan.tier), why));
    }
    if (!result->report.faults.empty()) {
        return fail(Status::failed, fmt::format("{} faults in the kernels, on {}",
                                                result->report.faults.size(), gpu->info().name));
    }
    if (options.verify) {
        note(options.quiet, fmt::format("lanewise: verified: {} of {} {} on {}, tier {}",
                                        to_text(desc.op), array->count, to_text(desc.element),
                                        gpu->info().name, to_text(result->report.plan.tier)));
    }
    return Status::good;
}

}  // namespace

void add_reduce(CLI::App& app, Action& action) {
    auto options = std::make_shared<ReduceOptions>();
    CLI::App* verb = app.add_subcommand("reduce", "one value from an array");
    verb->add_option("IN.npy", options->input, "array of one dimension")->required();
    verb->add_option("--op", options->op,
                     "sum, product, min, max, and, or, xor; argmin and argmax print the index of "
                     "the first such element, `none` for no elements")
        ->check(one_of(operator_words()))
        ->capture_default_str();
    verb->add_option("--accumulate", options->accumulator,
                     "type in which to add up and to print: u64, i64 or f64 (default: the "
                     "element's own, 32 bits at least)")
        ->check(one_of(scalar_words()));
    verb->add_option("--determinism", options->determinism,
                     "run_to_run, or unordered: float sums in any order")
        ->check(one_of({to_text(Determinism::run_to_run), to_text(Determinism::unordered)}))
        ->capture_default_str();
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
