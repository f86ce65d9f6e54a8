// What all verbs share: exit statuses, where output goes, and the common options.
//
// Results go to standard output; diagnostics, notes and progress to standard error, progress only
// where that is a terminal.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanewise/gpu.hpp"

namespace lanewise::cli {

using Json = nlohmann::ordered_json;

enum class Status : int {
    good = 0,
    failed = 1,  // a wrong result, or something broke on the way
    usage = 2,   // the request or its input cannot be served; one line says why and what to do
};

// usage where the request, its input or the device asked for is at fault; else failed.
Status status_of(ErrorCode code);

// Prints "lanewise: MESSAGE" to standard error as one line and gives the status back.
Status fail(Status status, std::string_view message);
Status fail(const Error& error);

void print(std::string_view text);             // to standard output
void print_json(const Json& value);            // to standard output, two-space indented, ASCII
void note(bool quiet, std::string_view text);  // a line to standard error
// False when standard output could not take everything (a full disk, a closed pipe).
bool flush_output();

// A line on a terminal that is overwritten by the next and wiped at the end.
class Progress {
public:
    explicit Progress(bool quiet);
    ~Progress();
    Progress(const Progress&) = delete;
    Progress& operator=(const Progress&) = delete;
    void show(std::string_view text);

private:
    bool shown_;
    std::size_t width_ = 0;
};

struct CommonOptions {
    std::string api = "vulkan";  // of `info`, "all"
    std::string device;
    std::uint32_t subgroup_size = 32;  // of the simulated machine
    std::string tier = "auto";
    bool json = false;
    bool quiet = false;

    std::optional<Tier> forced_tier() const;  // none for "auto"
    GpuOptions gpu() const;
};

// What --api takes beside vulkan and webgpu.
enum class ApiChoice : std::uint8_t {
    runs,      // the simulator, with --subgroup-size
    measures,  // nothing: the simulator has no speed
    lists,     // the simulator, and `all`, the default: what has devices
};
void add_api_option(CLI::App& verb, CommonOptions& options, ApiChoice choice = ApiChoice::runs);
void add_device_option(CLI::App& verb, CommonOptions& options);
// Takes LANEWISE_TIER where the option is not given.
void add_tier_option(CLI::App& verb, CommonOptions& options, bool with_all = false);
void add_json_option(CLI::App& verb, CommonOptions& options);
void add_quiet_option(CLI::App& verb, CommonOptions& options);

// The words that an option takes, with an error that lists them.
CLI::Validator one_of(std::vector<std::string> words);
const std::vector<std::string>& scalar_words();
const std::vector<std::string>& operator_words();

// "1000000", or a power as "2^20".
std::optional<std::uint64_t> parse_count(std::string_view text);
CLI::Validator count_validator();

// The shortest text that reads back as the same value; NaN is "nan", infinities "inf" and "-inf".
// `bytes` holds at least size_of(scalar) bytes, little-endian.
std::string scalar_to_text(Scalar scalar, std::span<const std::byte> bytes);
// The same as a JSON number; NaN and infinities, which JSON does not have, as that text.
Json scalar_to_json(Scalar scalar, std::span<const std::byte> bytes);
// The other way: the value's bits, low ones first; none where the text is no value of the type.
// Floats are rounded to the nearest. Not for f16.
std::optional<std::uint64_t> bits_from_text(Scalar scalar, std::string_view text);

// Each adds a verb; parsing it leaves its action in `action`.
using Action = std::function<Status()>;
void add_info(CLI::App& app, Action& action);
void add_reduce(CLI::App& app, Action& action);
void add_scan(CLI::App& app, Action& action);
void add_sort(CLI::App& app, Action& action);
void add_top_k(CLI::App& app, Action& action);
void add_segmented_reduce(CLI::App& app, Action& action);
void add_segmented_sort(CLI::App& app, Action& action);
void add_split(CLI::App& app, Action& action);
void add_select(CLI::App& app, Action& action);
void add_partition(CLI::App& app, Action& action);
void add_histogram(CLI::App& app, Action& action);
void add_plan(CLI::App& app, Action& action);
void add_bench(CLI::App& app, Action& action);
void add_check(CLI::App& app, Action& action);  // with the simulator only

}  // namespace lanewise::cli
