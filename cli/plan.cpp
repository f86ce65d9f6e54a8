// lanewise plan: what would run, for a device here or a described one.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cli/files.hpp"
#include "cli/operation.hpp"
#include "lanewise/histogram.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "lanewise/segmented_reduce.hpp"
#include "lanewise/segmented_sort.hpp"
#include "lanewise/select.hpp"
#include "lanewise/sort.hpp"
#include "lanewise/split.hpp"
#include "lanewise/top_k.hpp"
#include "src/core/kernel_catalogue.hpp"
#include "src/wgsl/assemble.hpp"

namespace lanewise::cli {
namespace {

struct PlanOptions : CommonOptions {
    std::string caps_file;
    std::string element = "u32";
    std::string count = "2^24";
    std::string addressing;
    std::string emit;
    std::string output;
    std::string pass;
};

Result<Caps> caps_of(const PlanOptions& options) {
    if (options.caps_file.empty()) {
        auto gpu = Gpu::create(options.gpu());
        if (!gpu) return tl::unexpected(gpu.error());
        return gpu->caps();
    }
    const auto text = read_text_file(options.caps_file);
    if (!text) return tl::unexpected(text.error());
    auto caps = caps_from_json(*text);
    if (!caps) {
        return tl::unexpected(Error{ErrorCode::bad_argument,
                                    fmt::format("{}: {}", options.caps_file, caps.error().message),
                                    nullptr});
    }
    return caps;
}

struct ReducePlanOptions : PlanOptions {
    OperationOptions operation;
};

struct ScanPlanOptions : PlanOptions {
    OperationOptions operation;
    ScanOptions scan;
};

struct SegmentedReducePlanOptions : PlanOptions {
    OperationOptions operation;
    std::string segments = "2^20";
};

struct SortPlanOptions : PlanOptions {
    std::uint32_t value_bytes = 0;
    bool ping_pong = false;
    SortOptions sort;
};

struct SegmentedSortPlanOptions : PlanOptions {
    std::uint32_t value_bytes = 0;
    SortOptions sort;
};

struct SplitPlanOptions : PlanOptions {
    std::uint32_t value_bytes = 0;
    bool indices = false;
    std::string bits;
};

struct SelectPlanOptions : PlanOptions {
    std::uint32_t value_bytes = 0;
    std::uint32_t flag_bits = 8;
    bool indices = false;
    std::string where;
    std::string rest = to_text(SelectRest::dropped);
    std::string capacity;
    bool unordered = false;
};

struct TopKPlanOptions : PlanOptions {
    std::uint32_t value_bytes = 0;
    bool indices = false;
    bool smallest = false;
    std::string k = "100";
};

struct HistogramPlanOptions : PlanOptions {
    HistogramOptions histogram;
};

// What all of them have.
template <class Desc>
Desc desc_of(const PlanOptions& options) {
    Desc desc;
    desc.max_count = *parse_count(options.count);
    desc.tier = options.forced_tier();
    for (const Addressing addressing : {Addressing::descriptor, Addressing::device_address}) {
        if (options.addressing == to_text(addressing)) desc.addressing = addressing;
    }
    return desc;
}

Result<Plan> plan_of(const Caps& caps, const ReducePlanOptions& options) {
    auto desc = desc_of<ReduceDesc>(options);
    desc.element = *scalar_from_text(options.element);
    options.operation.set(desc);
    return plan_reduce(caps, desc);
}

Result<Plan> plan_of(const Caps& caps, const ScanPlanOptions& options) {
    auto desc = desc_of<ScanDesc>(options);
    desc.element = *scalar_from_text(options.element);
    options.operation.set(desc);
    if (const auto done = options.scan.set(desc, caps); !done) return tl::unexpected(done.error());
    return plan_scan(caps, desc);
}

Result<Plan> plan_of(const Caps& caps, const SegmentedReducePlanOptions& options) {
    auto desc = desc_of<SegmentedReduceDesc>(options);
    desc.element = *scalar_from_text(options.element);
    desc.max_segments = *parse_count(options.segments);
    options.operation.set(desc);
    return plan_segmented_reduce(caps, desc);
}

Result<Plan> plan_of(const Caps& caps, const TopKPlanOptions& options) {
    auto desc = desc_of<TopKDesc>(options);
    desc.key = *scalar_from_text(options.element);
    desc.k = *parse_count(options.k);
    desc.order = options.smallest ? SortOrder::ascending : SortOrder::descending;
    desc.value_bytes = options.value_bytes;
    desc.indices = options.indices;
    return plan_top_k(caps, desc);
}

Result<Plan> plan_of(const Caps& caps, const SortPlanOptions& options) {
    auto desc = desc_of<SortDesc>(options);
    desc.key = *scalar_from_text(options.element);
    desc.value_bytes = options.value_bytes;
    desc.ping_pong = options.ping_pong;
    options.sort.set(desc);
    return plan_sort(caps, desc);
}

Result<Plan> plan_of(const Caps& caps, const SegmentedSortPlanOptions& options) {
    auto desc = desc_of<SegmentedSortDesc>(options);
    desc.key = *scalar_from_text(options.element);
    desc.value_bytes = options.value_bytes;
    options.sort.set(desc);
    return plan_segmented_sort(caps, desc);
}

Result<Plan> plan_of(const Caps& caps, const SplitPlanOptions& options) {
    auto desc = desc_of<SplitDesc>(options);
    desc.key = *scalar_from_text(options.element);
    desc.value_bytes = options.value_bytes;
    desc.indices = options.indices;
    set_bits(desc, options.bits);
    return plan_split(caps, desc);
}

Result<Plan> plan_of(const Caps& caps, const SelectPlanOptions& options) {
    auto desc = desc_of<SelectDesc>(options);
    desc.element = *scalar_from_text(options.element);
    if (!options.where.empty())
        desc.predicate = CustomPredicate{
            .name = "where", .element = {{desc.element, 1, ""}}, .keep = options.where};
    desc.flag_bits = options.flag_bits;
    desc.value_bytes = options.value_bytes;
    desc.indices = options.indices;
    for (const SelectRest rest : {SelectRest::rejected, SelectRest::after})
        if (options.rest == to_text(rest)) desc.rest = rest;
    if (options.unordered) desc.order = SelectOrder::any;
    if (!options.capacity.empty()) desc.capacity = parse_count(options.capacity);
    return plan_select(caps, desc);
}

Result<Plan> plan_of(const Caps& caps, const HistogramPlanOptions& options) {
    auto desc = desc_of<HistogramDesc>(options);
    desc.sample = *scalar_from_text(options.element);
    options.histogram.set(desc);
    desc.channels = std::max(options.histogram.channels, 1u);
    return plan_histogram(caps, desc);
}

// SPIR-V 1.6 from Vulkan 1.3 on, as the Vulkan host chooses.
std::uint32_t newest_spirv(const Caps& caps) {
    const bool has_1_6 =
        caps.api_version_major > 1 || (caps.api_version_major == 1 && caps.api_version_minor >= 3);
    return has_1_6 ? 0x00010600 : 0x00010300;
}

// The pass that --emit is for.
Result<Pass> chosen_pass(const Plan& plan, const PlanOptions& options) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < plan.passes.size(); ++i) {
        const Pass& pass = plan.passes[i];
        if (pass.name == options.pass || std::to_string(i) == options.pass) return pass;
        if (std::ranges::find(names, pass.name) == names.end()) names.push_back(pass.name);
    }
    if (options.pass.empty() && plan.passes.size() == 1) return plan.passes[0];
    return tl::unexpected(
        Error{ErrorCode::bad_argument,
              fmt::format("{}; choose one with --pass: {}",
                          options.pass.empty() ? "the plan has several passes"
                                               : "the plan has no pass " + options.pass,
                          fmt::join(names, ", ")),
              nullptr});
}

Status emit_spirv(const Caps& caps, const Plan& plan, const Pass& pass,
                  const PlanOptions& options) {
    const detail::KernelModule* module = detail::find_kernel(pass.kernel, newest_spirv(caps));
    if (module == nullptr && plan.custom) {
        return fail(Status::usage,
                    fmt::format("{} is compiled for its expression where it runs; --emit wgsl "
                                "writes its text",
                                pass.name));
    }
    if (module == nullptr) {
        return fail(Status::failed, fmt::format("this build has no kernel {}", pass.kernel));
    }
    const auto written = write_whole_file(options.output, {std::as_bytes(module->words)});
    if (!written) return fail(Status::failed, written.error().message);
    note(options.quiet,
         fmt::format("lanewise: wrote {} ({} bytes of SPIR-V {}.{}) to {}", pass.kernel,
                     module->words.size_bytes(), module->spirv_version >> 16 & 0xff,
                     module->spirv_version >> 8 & 0xff, options.output));
    return Status::good;
}

Status emit_wgsl(const Plan& plan, const Pass& pass, const PlanOptions& options) {
    const auto shader = wgsl::assemble(plan, pass);
    if (!shader) return fail(shader.error());
    if (options.output.empty()) {
        print(shader->text);
        return Status::good;
    }
    const auto written = write_whole_file(options.output, {std::as_bytes(std::span(shader->text))});
    if (!written) return fail(Status::failed, written.error().message);
    note(options.quiet, fmt::format("lanewise: wrote {} ({} bytes of WGSL) to {}", pass.kernel,
                                    shader->text.size(), options.output));
    return Status::good;
}

Status emit(const Caps& caps, const Plan& plan, const PlanOptions& options) {
    const auto pass = chosen_pass(plan, options);
    if (!pass) return fail(Status::usage, pass.error().message);
    return options.emit == "wgsl" ? emit_wgsl(plan, *pass, options)
                                  : emit_spirv(caps, plan, *pass, options);
}

template <class Options>
Status run_plan(const Options& options) {
    if (options.emit.empty() != options.output.empty() && options.emit != "wgsl") {
        return fail(Status::usage,
                    "--emit and -o go together: give both, or none to print the plan");
    }
    if (!options.pass.empty() && options.emit.empty()) {
        return fail(Status::usage, "--pass chooses what --emit writes: give --emit, too");
    }
    const auto caps = caps_of(options);
    if (!caps) return fail(caps.error());
    const auto plan = plan_of(*caps, options);
    if (!plan) return fail(plan.error());
    if (!options.emit.empty()) return emit(*caps, *plan, options);
    if (options.json) {
        print_json(Json::parse(plan_to_json(*plan)));
    } else {
        print(to_text(*plan));
    }
    return Status::good;
}

// The options that all primitives have, and what runs.
template <class Options>
CLI::App* add_primitive(CLI::App& verb, const char* name, const char* help,
                        const std::shared_ptr<Options>& options, Action& action) {
    CLI::App* primitive = verb.add_subcommand(name, help);
    CLI::Option* caps = primitive->add_option(
        "--caps", options->caps_file,
        "plan for the device that this file describes (`lanewise info --caps-json` writes one)");
    primitive->add_option("--type", options->element, "type of the elements, or of the keys")
        ->check(one_of(scalar_words()))
        ->capture_default_str();
    primitive->add_option("--count", options->count, "items, at most: a number, or a power as 2^20")
        ->check(count_validator())
        ->capture_default_str();
    primitive->add_option("--addressing", options->addressing, "descriptor or device_address")
        ->check(one_of({to_text(Addressing::descriptor), to_text(Addressing::device_address)}));
    primitive
        ->add_option("--emit", options->emit,
                     "write a pass's kernel: spirv, or wgsl (printed without -o)")
        ->check(one_of({"spirv", "wgsl"}));
    primitive->add_option("--pass", options->pass,
                          "the pass whose kernel to write: its name, or its number from 0");
    primitive->add_option("-o,--output", options->output, "file for --emit");
    add_api_option(*primitive, *options);
    add_device_option(*primitive, *options);
    primitive->get_option("--device")->excludes(caps);
    add_tier_option(*primitive, *options);
    add_json_option(*primitive, *options);
    add_quiet_option(*primitive, *options);
    primitive->callback([options, &action] { action = [options] { return run_plan(*options); }; });
    return primitive;
}

void add_value_bytes_option(CLI::App& verb, std::uint32_t& bytes) {
    verb.add_option("--value-bytes", bytes,
                    "bytes of what travels with each key: 0, 4, 8, 12 or 16")
        ->capture_default_str();
}

}  // namespace

void add_plan(CLI::App& app, Action& action) {
    CLI::App* verb = app.add_subcommand("plan", "what a primitive would run, and its kernels");
    verb->require_subcommand(0, 1);
    verb->callback([verb, &action] {
        if (verb->get_subcommands().empty()) {
            action = [] {
                return fail(Status::usage,
                            "plan: a primitive is missing; see lanewise plan --help");
            };
        }
    });
    const auto reduce_options = std::make_shared<ReducePlanOptions>();
    CLI::App* reduce =
        add_primitive(*verb, "reduce", "one value from an array", reduce_options, action);
    add_operation_options(*reduce, reduce_options->operation);
    const auto scan_options = std::make_shared<ScanPlanOptions>();
    CLI::App* scan =
        add_primitive(*verb, "scan", "every prefix of an array, combined", scan_options, action);
    add_operation_options(*scan, scan_options->operation);
    add_scan_options(*scan, scan_options->scan);
    const auto segmented_reduce_options = std::make_shared<SegmentedReducePlanOptions>();
    CLI::App* segmented_reduce =
        add_primitive(*verb, "segmented-reduce", "one value from each segment of an array",
                      segmented_reduce_options, action);
    add_ordered_operation_options(*segmented_reduce, segmented_reduce_options->operation);
    segmented_reduce
        ->add_option("--segments", segmented_reduce_options->segments,
                     "segments, at most: a number, or a power as 2^20")
        ->check(count_validator())
        ->capture_default_str();
    const auto sort_options = std::make_shared<SortPlanOptions>();
    CLI::App* sort = add_primitive(*verb, "sort", "keys in order, with values or as indices",
                                   sort_options, action);
    add_sort_options(*sort, sort_options->sort);
    add_value_bytes_option(*sort, sort_options->value_bytes);
    sort->add_flag("--ping-pong", sort_options->ping_pong,
                   "the caller's buffers serve for the passes in turn");
    const auto segmented_sort_options = std::make_shared<SegmentedSortPlanOptions>();
    CLI::App* segmented_sort = add_primitive(
        *verb, "segmented-sort", "each segment of keys in order, with values or as indices",
        segmented_sort_options, action);
    add_sort_options(*segmented_sort, segmented_sort_options->sort);
    add_value_bytes_option(*segmented_sort, segmented_sort_options->value_bytes);
    const auto split_options = std::make_shared<SplitPlanOptions>();
    CLI::App* split = add_primitive(
        *verb, "split", "keys by the bucket that some of their bits name", split_options, action);
    add_bits_option(*split, split_options->bits, "B:E: the bucket is bits B to E - 1, 16 at most");
    add_value_bytes_option(*split, split_options->value_bytes);
    split->add_flag("--indices", split_options->indices, "where each key stood as its value");
    const auto select_options = std::make_shared<SelectPlanOptions>();
    CLI::App* select = add_primitive(*verb, "select", "the items that an expression or flags keep",
                                     select_options, action);
    CLI::Option* where = select->add_option(
        "--where", select_options->where,
        "a shader expression of `x`, an item, and `index`, its number: true keeps it (default: "
        "flags do)");
    select
        ->add_option("--flag-bits", select_options->flag_bits,
                     "bits of each item's flag: 1, 8, 16 or 32")
        ->capture_default_str()
        ->excludes(where);
    add_value_bytes_option(*select, select_options->value_bytes);
    select->add_flag("--indices", select_options->indices, "where each item stood as its value");
    select
        ->add_option("--rest", select_options->rest,
                     "what becomes of the others: dropped, rejected (to a buffer of their own) or "
                     "after (behind those that are kept)")
        ->check(one_of({to_text(SelectRest::dropped), to_text(SelectRest::rejected),
                        to_text(SelectRest::after)}))
        ->capture_default_str();
    select
        ->add_option("--capacity", select_options->capacity,
                     "most items that the output has room for")
        ->check(count_validator());
    select->add_flag("--unordered", select_options->unordered, "in any order");
    const auto top_k_options = std::make_shared<TopKPlanOptions>();
    CLI::App* top_k = add_primitive(*verb, "topk", "the largest or smallest k keys in order",
                                    top_k_options, action);
    top_k->add_option("-k", top_k_options->k, "how many, as 100 or 2^10")
        ->check(count_validator())
        ->capture_default_str();
    top_k->add_flag("--smallest", top_k_options->smallest, "the smallest keys");
    add_value_bytes_option(*top_k, top_k_options->value_bytes);
    top_k->add_flag("--indices", top_k_options->indices, "where each of the keys stood, too");
    const auto histogram_options = std::make_shared<HistogramPlanOptions>();
    CLI::App* histogram = add_primitive(*verb, "histogram", "how many samples fall into each bin",
                                        histogram_options, action);
    add_histogram_options(*histogram, histogram_options->histogram);
}

}  // namespace lanewise::cli
