// lanewise bench: verified, then timed, beside the limits of the machine.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "bench/harness.hpp"
#include "bench/report.hpp"
#include "bench/textbook.hpp"
#include "cli/files.hpp"
#include "cli/operation.hpp"

namespace lanewise::cli {
namespace {

struct BenchOptions : CommonOptions {
    std::vector<std::string> primitives;
    std::string sizes;
    std::string element = "u32";
    OperationOptions operation;
    bool inclusive = false;
    std::uint32_t value_bytes = 0;
    std::string k = "100";
    std::string data = "uniform";
    bool strategies = false;
    std::string json_file;
    std::string report_folder;
    std::string peer_file;
    bool textbook = false;
};

constexpr std::string_view kSizesHelp =
    "powers of two FROM:TO[:STEP], or a list of sizes as 1000,2^20";

std::optional<std::uint32_t> parse_small(std::string_view text) {
    std::uint32_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t start = 0; start <= text.size();) {
        const std::size_t end = std::min(text.find(separator, start), text.size());
        parts.push_back(text.substr(start, end - start));
        start = end + 1;
    }
    return parts;
}

// Ascending; none where the text means nothing.
std::vector<std::uint64_t> parse_sizes(std::string_view text) {
    std::vector<std::uint64_t> sizes;
    if (text.find(':') == std::string_view::npos) {
        for (const std::string_view part : split(text, ',')) {
            const auto count = parse_count(part);
            if (!count) return {};
            sizes.push_back(*count);
        }
        std::ranges::sort(sizes);
        sizes.erase(std::ranges::unique(sizes).begin(), sizes.end());
        return sizes;
    }
    constexpr std::uint32_t kLargestPower = 40;
    std::vector<std::uint32_t> numbers;
    for (const std::string_view part : split(text, ':')) {
        const auto number = parse_small(part);
        if (!number) return {};
        numbers.push_back(*number);
    }
    if (numbers.size() == 2) numbers.push_back(1);
    if (numbers.size() != 3 || numbers[1] > kLargestPower || numbers[2] == 0) return {};
    for (std::uint32_t power = numbers[0]; power <= numbers[1]; power += numbers[2]) {
        sizes.push_back(std::uint64_t{1} << power);
    }
    return sizes;
}

std::string default_sizes(const BenchOptions& options, const Caps& caps) {
    // A CPU driver takes seconds for what a GPU does in milliseconds.
    if (options.textbook) return caps.cpu_device ? "2^20" : "2^28";
    return caps.cpu_device ? "10:20:2" : "10:28:2";
}

std::vector<std::optional<Tier>> tiers_of(const BenchOptions& options) {
    if (options.tier == "all") return {Tier::barrier, Tier::portable, Tier::pinned};
    return {options.forced_tier()};
}

// Letters and digits of a text, lower-case, all else as single dashes.
std::string slug(std::string_view text) {
    std::string result;
    for (const char letter : text) {
        const bool upper = letter >= 'A' && letter <= 'Z';
        const bool plain =
            upper || (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9');
        if (plain) {
            result += upper ? static_cast<char>(letter - 'A' + 'a') : letter;
        } else if (!result.empty() && result.back() != '-') {
            result += '-';
        }
    }
    while (result.ends_with('-')) result.pop_back();
    return result;
}

// Prints the table or the JSON and writes the files that were asked for.
Status publish(const BenchOptions& options, const bench::Machine& machine, const std::string& what,
               const std::string& table, const std::string& json) {
    print(options.json || options.json_file == "-" ? json : table);
    if (!options.json_file.empty() && options.json_file != "-") {
        const auto written = write_whole_file(options.json_file, json);
        if (!written) return fail(Status::failed, written.error().message);
    }
    if (options.report_folder.empty()) return Status::good;
    std::error_code code;
    std::filesystem::create_directories(options.report_folder, code);
    if (code) {
        return fail(Status::failed, fmt::format("{}: {}", options.report_folder, code.message()));
    }
    const std::filesystem::path stem =
        std::filesystem::path(options.report_folder) /
        fmt::format("{}_{}_{}", slug(machine.device), machine.date.substr(0, 10), what);
    for (const auto& [extension, text] : {std::pair{".json", &json}, std::pair{".txt", &table}}) {
        std::filesystem::path path = stem;
        path += extension;
        const auto written = write_whole_file(path, *text);
        if (!written) return fail(Status::failed, written.error().message);
        note(options.quiet, "lanewise: wrote " + path.string());
    }
    return Status::good;
}

Status run_textbook(const BenchOptions& options, bench::Session& session, std::uint64_t count,
                    Progress& progress) {
    const auto textbook = bench::measure_textbook(
        session, count, [&](const std::string& text) { progress.show(text); });
    progress.show("");
    if (!textbook) return fail(textbook.error());
    const Status status =
        publish(options, textbook->machine, "textbook", to_table(*textbook), to_json(*textbook));
    if (!textbook->all_right()) return fail(Status::failed, "a kernel gave a wrong result");
    return status;
}

Status run_bench(const BenchOptions& options) {
    std::optional<bench::Peer> peer;
    if (!options.peer_file.empty()) {
        const auto text = read_text_file(options.peer_file);
        if (!text) return fail(text.error());
        auto parsed = bench::peer_from_json(*text);
        if (!parsed) {
            return fail(Status::usage,
                        fmt::format("{}: {}", options.peer_file, parsed.error().message));
        }
        peer = std::move(*parsed);
    }

    if (options.textbook && options.api == "webgpu") {
        return fail(Status::usage,
                    "--textbook has kernels for Vulkan alone: leave out --api webgpu");
    }
    auto session = bench::Session::create(options.gpu());
    if (!session) return fail(session.error());
    bench::Request request;
    request.sizes = parse_sizes(options.sizes.empty() ? default_sizes(options, session->caps())
                                                      : options.sizes);
    request.tiers = tiers_of(options);
    request.element = *scalar_from_text(options.element);
    options.operation.set(request);
    request.kind = options.inclusive ? ScanKind::inclusive : ScanKind::exclusive;
    request.strategies = options.strategies;
    request.value_bytes = options.value_bytes;
    request.k = *parse_count(options.k);
    request.one_bin = options.data == "one_bin";
    Progress progress(options.quiet);
    if (options.textbook) {
        if (request.sizes.back() == 0)
            return fail(Status::usage, "--textbook needs items: --sizes 2^20");
        return run_textbook(options, *session, request.sizes.back(), progress);
    }

    bench::Report report;
    report.machine = session->machine();
    report.peer = std::move(peer);
    for (const bench::Primitive* primitive : bench::primitives()) {
        const bool wanted =
            options.primitives.empty() ||
            std::ranges::find(options.primitives, primitive->name) != options.primitives.end();
        if (!wanted) continue;
        auto section = bench::measure(*session, *primitive, request,
                                      [&](const std::string& text) { progress.show(text); });
        progress.show("");
        if (!section) return fail(section.error());
        report.sections.push_back(std::move(*section));
    }
    if (report.all_right() && !report.any_timing()) {
        return fail(Status::usage, report.sections.front().rows.front().note);
    }
    const Status status = publish(options, report.machine,
                                  fmt::format("{}_{}_{}", fmt::join(options.primitives, "-"),
                                              options.operation.op, options.element),
                                  to_table(report), to_json(report));
    if (!report.all_right()) return fail(Status::failed, "a result was wrong; its row says which");
    return status;
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
    auto options = std::make_shared<BenchOptions>();
    CLI::App* verb = app.add_subcommand(
        "bench", "how fast primitives are, every result verified, beside this machine's limits");
    std::vector<std::string> names;
    for (const bench::Primitive* primitive : bench::primitives())
        names.emplace_back(primitive->name);
    verb->add_option("PRIMITIVE", options->primitives,
                     fmt::format("which to run: {} (default: all)", fmt::join(names, ", ")))
        ->check(one_of(names));
    verb->add_option("--sizes", options->sizes,
                     fmt::format("{} (default: 10:28:2; on CPU drivers 10:20:2)", kSizesHelp))
        ->check(CLI::Validator(
            [](std::string& text) {
                return parse_sizes(text).empty() ? fmt::format("'{}' is not {}", text, kSizesHelp)
                                                 : std::string();
            },
            "", ""));
    verb->add_option("--type", options->element, "type of the elements")
        ->check(one_of(scalar_words()))
        ->capture_default_str();
    add_operation_options(*verb, options->operation);
    verb->add_flag("--inclusive", options->inclusive,
                   "scan: each output with its own item (default: without)");
    verb->add_option("--value-bytes", options->value_bytes,
                     "sort: of a value that travels with each key: 0, 4, 8, 12 or 16")
        ->check(CLI::IsMember({0, 4, 8, 12, 16}))
        ->capture_default_str();
    verb->add_option("-k", options->k, "top_k: how many keys, as 100 or 2^10")
        ->check(count_validator())
        ->capture_default_str();
    verb->add_option("--data", options->data,
                     "histogram: samples spread evenly, or all in one bin: uniform or one_bin")
        ->check(one_of({"uniform", "one_bin"}))
        ->capture_default_str();
    verb->add_flag("--strategies", options->strategies,
                   "also each strategy of a primitive, in lines of its own");
    CLI::Option* textbook = verb->add_flag(
        "--textbook", options->textbook,
        "instead: a tree of barriers against a subgroup sum, workgroups of 256 (at the largest of "
        "--sizes)");
    verb->add_option("--peer", options->peer_file,
                     "another library's results to stand beside ours (bench/peers)")
        ->excludes(textbook);
    // An optional value: --json alone prints.
    verb->add_option("--json", options->json_file,
                     "print JSON instead of the table; with FILE, write it there as well as the "
                     "table here")
        ->expected(0, 1)
        ->default_str("-")
        ->type_name("[FILE]");
    verb->add_option("--report", options->report_folder,
                     "folder that gets the table and the JSON, named by device and date");
    options->tier = "all";
    add_api_option(*verb, *options, ApiChoice::measures);
    add_device_option(*verb, *options);
    add_tier_option(*verb, *options, true);
    add_quiet_option(*verb, *options);
    verb->callback([options, &action] {
        if (options->primitives.empty()) {
            for (const bench::Primitive* primitive : bench::primitives()) {
                options->primitives.emplace_back(primitive->name);
            }
        }
        action = [options] { return run_bench(*options); };
    });
}

}  // namespace lanewise::cli
