// lanewise histogram: how many elements of an array fall into each of a row of even bins.
#include <fmt/format.h>

#include <bit>
#include <memory>

#include "cli/records.hpp"
#include "lanewise/histogram.hpp"
#include "primitives/histogram/histogram_reference.hpp"

namespace lanewise::cli {
namespace {

struct HistogramVerbOptions : CommonOptions {
    std::string input;
    std::string output;
    HistogramOptions histogram;
    bool verify = false;
};

tl::unexpected<Error> bad(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, std::move(message), nullptr});
}

// Rows are items, or --channels says how many elements one is.
Result<std::uint32_t> channels_of(const HistogramVerbOptions& options, const NpyArray& array) {
    const std::uint32_t asked = options.histogram.channels;
    if (array.columns == 0) {
        if (asked == 0) return 1;
        if (array.count % asked == 0) return asked;
        return bad(fmt::format("{} has {} elements, which are no whole items of {} channels",
                               options.input, array.count, asked));
    }
    if (asked != 0 && asked != array.columns) {
        return bad(fmt::format("{} has rows of {} elements, --channels says {}", options.input,
                               array.columns, asked));
    }
    if (array.columns > 4) {
        return bad(fmt::format("{} has rows of {} elements, where an item has up to 4 channels",
                               options.input, array.columns));
    }
    return static_cast<std::uint32_t>(array.columns);
}

// A line for each bin, with a number for each channel.
std::string lines_of(const HistogramDesc& desc, const std::vector<std::uint32_t>& counts) {
    std::string text;
    for (std::size_t bin = 0; bin < desc.bins; ++bin) {
        for (std::size_t channel = 0; channel < desc.channels; ++channel) {
            text += fmt::format("{}{}", channel == 0 ? "" : " ", counts[channel * desc.bins + bin]);
        }
        text += '\n';
    }
    return text;
}

// An array, or one of each channel.
Json json_of(const HistogramDesc& desc, const std::vector<std::uint32_t>& counts) {
    if (desc.channels == 1) return counts;
    Json channels = Json::array();
    for (std::size_t channel = 0; channel < desc.channels; ++channel) {
        const auto first = counts.begin() + static_cast<std::ptrdiff_t>(channel * desc.bins);
        channels.push_back(std::vector<std::uint32_t>(first, first + desc.bins));
    }
    return channels;
}

Json asked(const HistogramDesc& desc) {
    Json json{{"sample", to_text(desc.sample)},
              {"channels", desc.channels},
              {"bins", desc.bins},
              {"count", desc.max_count}};
    if (desc.range) json["range"] = {desc.range->lower, desc.range->upper};
    return json;
}

Status run_histogram(const HistogramVerbOptions& options) {
    const auto array = read_npy(options.input, NpyShape::with_rows);
    if (!array) return fail(array.error());
    const auto channels = channels_of(options, *array);
    if (!channels) return fail(channels.error());
    HistogramDesc desc;
    desc.sample = array->element;
    options.histogram.set(desc);
    desc.channels = *channels;
    desc.max_count = array->columns != 0 ? array->count : array->count / desc.channels;
    desc.tier = options.forced_tier();

    auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    const auto result = gpu->histogram(array->data, desc);
    if (!result) return fail(result.error());
    note_run(result->report, options.quiet);

    Verdict verdict{.verified = options.verify};
    verdict.wrong =
        options.verify && !histogram_matches(desc, array->data, result->counts, &verdict.why);
    const Status status = judge(verdict, *gpu, result->report);
    const bool writes = !options.output.empty() && status == Status::good;
    Outputs outputs;
    if (!options.output.empty()) {
        outputs.add("output", options.output, Scalar::u32, std::as_bytes(std::span(result->counts)),
                    desc.channels == 1 ? 0 : desc.bins);
    }
    if (writes) {
        if (const auto written = outputs.write(); !written)
            return fail(Status::failed, written.error().message);
    }
    if (options.json) {
        Json json = asked(desc);
        if (options.output.empty()) json["counts"] = json_of(desc, result->counts);
        add_run(json, *gpu, result->report);
        outputs.add_to(json, writes);
        if (options.verify) json["verified"] = !verdict.wrong;
        print_json(json);
    } else if (options.output.empty()) {
        print(lines_of(desc, result->counts));
    }
    if (status != Status::good) return status;
    note_verified(verdict, *gpu, result->report,
                  fmt::format("{} bins of {} {}", desc.bins,
                              array->data.size() / size_of(desc.sample), to_text(desc.sample)),
                  options.quiet);
    return Status::good;
}

// "-1.5:2"
std::optional<HistogramRange> range_from_text(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto lower = bits_from_text(Scalar::f64, text.substr(0, colon));
    const auto upper = bits_from_text(Scalar::f64, text.substr(colon + 1));
    if (!lower || !upper) return std::nullopt;
    return HistogramRange{std::bit_cast<double>(*lower), std::bit_cast<double>(*upper)};
}

}  // namespace

void HistogramOptions::set(HistogramDesc& desc) const {
    desc.bins = bins;
    if (!range.empty()) desc.range = range_from_text(range);
}

void add_histogram_options(CLI::App& verb, HistogramOptions& options) {
    verb.add_option("--bins", options.bins, "even bins of each channel, up to 2^20")
        ->capture_default_str();
    verb.add_option(
            "--range", options.range,
            "LOWER:UPPER: what is below LOWER, or not below UPPER, is not counted (default: "
            "all values of an integer type)")
        ->check(CLI::Validator(
            [](std::string& text) {
                return range_from_text(text) ? std::string()
                                             : fmt::format("'{}' is no range, as -1.5:2", text);
            },
            "", ""));
    verb.add_option("--channels", options.channels,
                    "elements of an item, side by side, each counted in bins of its own")
        ->check(CLI::IsMember({1, 2, 3, 4}));
}

void add_histogram(CLI::App& app, Action& action) {
    auto options = std::make_shared<HistogramVerbOptions>();
    CLI::App* verb = app.add_subcommand(
        "histogram", "how many elements of an array fall into each of a row of even bins");
    verb->add_option("IN.npy", options->input,
                     "array of one dimension, or of two whose rows are items of up to 4 channels")
        ->required();
    verb->add_option("-o,--output", options->output,
                     "file for the counts, as u32, with a row for each channel where there are "
                     "several; it appears whole or not at all (default: a line for each bin to "
                     "standard output)");
    add_histogram_options(*verb, options->histogram);
    verb->add_flag("--verify", options->verify,
                   "compare with a serial reference on the host; where it differs, nothing is "
                   "written and the status is 1");
    add_api_option(*verb, *options);
    add_device_option(*verb, *options);
    add_tier_option(*verb, *options);
    add_json_option(*verb, *options);
    add_quiet_option(*verb, *options);
    verb->callback([options, &action] { action = [options] { return run_histogram(*options); }; });
}

}  // namespace lanewise::cli
