// lanewise select and partition: the items that an expression or flags keep, with what belongs to
// them; the others left out, to a file of their own, or behind.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "cli/records.hpp"
#include "lanewise/select.hpp"
#include "primitives/select/select_reference.hpp"

namespace lanewise::cli {
namespace {

struct SelectVerbOptions : RecordOptions {
    std::string where;
    std::string flags;
    std::string indices_output;
    std::string rejected_output;
    std::string capacity;
    bool unordered = false;
    bool is_partition = false;
};

tl::unexpected<Error> bad(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, std::move(message), nullptr});
}

// One for each item, of which any that is not zero keeps.
Result<NpyArray> read_flags(const SelectVerbOptions& options, std::uint64_t items) {
    auto flags = read_npy(options.flags, NpyShape::flags);
    if (!flags) return flags;
    if (flags->count != items) {
        return bad(fmt::format("{} has {} flags, {} has {} items: one flag for each item is wanted",
                               options.flags, flags->count, options.keys, items));
    }
    if (is_float(flags->element) || size_of(flags->element) > 4) {
        return bad(
            fmt::format("{} has flags of type {}, where integers of 8, 16 or 32 bits are wanted",
                        options.flags, to_text(flags->element)));
    }
    return flags;
}

std::string what_was_selected(const SelectDesc& desc, std::uint64_t kept) {
    std::string text = fmt::format("{} of {} {}", kept, desc.max_count, to_text(desc.element));
    if (desc.indices) text += ", with indices";
    if (desc.value_bytes != 0) text += fmt::format(" with {} bytes each", desc.value_bytes);
    return text;
}

Json asked(const SelectVerbOptions& options, const SelectDesc& desc) {
    Json json{{"element", to_text(desc.element)}, {"value_bytes", desc.value_bytes},
              {"indices", desc.indices},          {"rest", to_text(desc.rest)},
              {"order", to_text(desc.order)},     {"count", desc.max_count}};
    if (desc.predicate) {
        json["where"] = options.where;
    } else {
        json["flag_bits"] = desc.flag_bits;
    }
    if (desc.capacity) json["capacity"] = *desc.capacity;
    return json;
}

Selected selected_of(const SelectResult& result) {
    return {result.items, result.values, result.rejected, result.count};
}

// What a predicate keeps, by a run of its own: in the tier barrier, with indices. That what it
// keeps and what it rejects are the items, each in order, is checked, too.
Result<Kept> keep_again(Gpu& gpu, const NpyArray& items, const SelectDesc& asked_for,
                        Verdict& verdict) {
    const SelectDesc desc{.element = asked_for.element,
                          .predicate = asked_for.predicate,
                          .indices = true,
                          .rest = SelectRest::rejected,
                          .max_count = asked_for.max_count,
                          .tier = Tier::barrier};
    const auto again = gpu.select(items.data, {}, {}, desc);
    if (!again) return tl::unexpected(again.error());
    Kept kept(items.count);
    for (std::size_t at = 0; at + 4 <= again->values.size(); at += 4) {
        std::uint32_t index = 0;
        std::memcpy(&index, again->values.data() + at, 4);
        if (index < kept.size()) kept[index] = 1;
    }
    std::string why;
    if (!select_matches(desc, items.data, {}, kept, selected_of(*again), &why)) {
        verdict.wrong = true;
        verdict.why = "in the tier barrier " + why;
    }
    return kept;
}

Status run_select(const SelectVerbOptions& options) {
    if (options.where.empty() == options.flags.empty())
        return fail(Status::usage, "give --where or --flags: what says which items are kept");
    if (options.output.empty() && options.indices_output.empty() && options.values_output.empty())
        return fail(Status::usage, "give -o, --indices or --values-out: where what is kept goes");
    if (const auto own =
            require_files_of_their_own({options.output, options.values_output,
                                        options.indices_output, options.rejected_output});
        !own)
        return fail(own.error());
    const auto records = read_records(options);
    if (!records) return fail(records.error());
    const auto& [items, values, value_bytes] = *records;
    SelectDesc desc;
    desc.element = items.element;
    desc.value_bytes = value_bytes;
    desc.indices = !options.indices_output.empty();
    desc.items = !options.output.empty();
    if (!options.rejected_output.empty()) desc.rest = SelectRest::rejected;
    if (options.is_partition) desc.rest = SelectRest::after;
    if (options.unordered) desc.order = SelectOrder::any;
    if (!options.capacity.empty()) desc.capacity = parse_count(options.capacity);
    desc.max_count = items.count;
    desc.tier = options.forced_tier();
    NpyArray flags;
    if (options.where.empty()) {
        auto read = read_flags(options, items.count);
        if (!read) return fail(read.error());
        flags = *std::move(read);
        desc.flag_bits = 8 * size_of(flags.element);
    } else {
        desc.predicate = CustomPredicate{
            .name = "where", .element = {{items.element, 1, ""}}, .keep = options.where};
    }
    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());

    const auto result = gpu->select(items.data, flags.data, values.data, desc);
    if (!result) {
        // Implementations of WebGPU compile when the kernels are wanted: what they refuse is the
        // expression.
        const bool is_expression =
            desc.predicate && result.error().code == ErrorCode::compile_failed;
        return fail(is_expression ? Status::usage : status_of(result.error().code),
                    result.error().message);
    }
    Verdict verdict{.verified = options.verify};
    if (options.verify) {
        Kept kept;
        if (desc.predicate) {
            auto again = keep_again(*gpu, items, desc, verdict);
            if (!again) return fail(again.error());
            kept = *std::move(again);
        } else {
            kept = flags_to_kept(desc.flag_bits, flags.data, items.count);
        }
        if (!verdict.wrong)
            verdict.wrong = !select_matches(desc, items.data, values.data, kept,
                                            selected_of(*result), &verdict.why);
    }
    Outputs outputs;
    if (desc.items) outputs.add("output", options.output, items.element, result->items);
    if (desc.indices)
        outputs.add("indices_output", options.indices_output, Scalar::u32, result->values);
    if (value_bytes != 0) {
        outputs.add("values_output", options.values_output, values.element, result->values,
                    values.columns);
    }
    if (!options.rejected_output.empty())
        outputs.add("rejected_output", options.rejected_output, items.element, result->rejected);
    Json json = asked(options, desc);
    json["kept"] = result->count;
    const Status status = finish(options, *gpu, result->report, verdict, outputs, std::move(json),
                                 what_was_selected(desc, result->count));
    if (status != Status::good) return status;
    if (!options.json) print(fmt::format("{}\n", result->count));
    if (desc.capacity && *desc.capacity < result->count) {
        note(options.quiet,
             fmt::format("lanewise: {} of them are written: the capacity", *desc.capacity));
    }
    return status;
}

CLI::App* add_verb(CLI::App& app, const char* name, const char* help,
                   const std::shared_ptr<SelectVerbOptions>& options, Action& action) {
    options->item = "item";
    CLI::App* verb = app.add_subcommand(name, help);
    verb->add_option("IN.npy", options->keys, "array of one dimension")->required();
    verb->add_option("-o,--output", options->output,
                     "the file for the items; it appears whole or not at all, and may be IN.npy");
    CLI::Option* where = verb->add_option(
        "--where", options->where,
        "a shader expression of `x`, an item, and `index`, its number (u32): true keeps it, as in "
        "\"x > 15\" or \"index % 2u == 0u && x < 0\". In GLSL, or on WebGPU in WGSL; 8- and 16-bit "
        "integers are u32 or i32 in it, f16 is f32");
    verb->add_option("--flags", options->flags,
                     "array of a bool or an integer for each item: one that is not zero keeps it")
        ->excludes(where);
    CLI::Option* indices = verb->add_option("--indices", options->indices_output,
                                            "a file for where each of the items stood, as u32");
    verb->add_option("--values", options->values,
                     "array of what travels with the items: elements of 4 or 8 bytes, or rows of "
                     "4, 8, 12 or 16 bytes")
        ->excludes(indices);
    verb->add_option("--values-out", options->values_output,
                     "the file for the values, in the order of their items; may be that of "
                     "--values");
    verb->add_flag("--verify", options->verify,
                   "compare with a serial reference on the host; with --where, which the host "
                   "cannot evaluate, with a second run in the tier barrier, in which what is kept "
                   "and what is not must together be the items in their order. Where it differs, "
                   "nothing is written and the status is 1");
    add_api_option(*verb, *options);
    add_device_option(*verb, *options);
    add_tier_option(*verb, *options);
    add_json_option(*verb, *options);
    add_quiet_option(*verb, *options);
    verb->callback([options, &action] { action = [options] { return run_select(*options); }; });
    return verb;
}

}  // namespace

void add_select(CLI::App& app, Action& action) {
    const auto options = std::make_shared<SelectVerbOptions>();
    CLI::App* verb =
        add_verb(app, "select", "the items that an expression or flags keep; prints how many",
                 options, action);
    verb->add_option("--rejected", options->rejected_output,
                     "a file for the items that are not kept, in order");
    verb->add_option("--capacity", options->capacity,
                     "most items to write, as 100 or 2^10; the number printed is that of all that "
                     "are kept")
        ->check(count_validator());
    verb->add_flag("--unordered", options->unordered,
                   "in whatever order comes first, which may differ from run to run");
}

void add_partition(CLI::App& app, Action& action) {
    const auto options = std::make_shared<SelectVerbOptions>();
    options->is_partition = true;
    add_verb(
        app, "partition",
        "the items that an expression or flags keep, then the others; prints how many are kept",
        options, action);
}

}  // namespace lanewise::cli
