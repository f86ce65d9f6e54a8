#include "cli/output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace lanewise::cli {
namespace {

#ifdef LANEWISE_HAS_SIMULATOR
constexpr bool kHasSimulator = true;
#else
constexpr bool kHasSimulator = false;
#endif

#ifdef LANEWISE_HAS_WEBGPU
constexpr bool kHasWebgpu = true;
#else
constexpr bool kHasWebgpu = false;
#endif

template <class T>
T load(std::span<const std::byte> bytes) {
    T value;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

double half_to_double(std::uint16_t half) {
    constexpr int kFractionBits = 10;
    constexpr int kBias = 15;
    constexpr int kMaxExponent = 31;
    const int exponent = half >> kFractionBits & kMaxExponent;
    const int fraction = half & ((1 << kFractionBits) - 1);
    double magnitude = 0.0;
    if (exponent == kMaxExponent) {
        magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                                  : std::numeric_limits<double>::quiet_NaN();
    } else if (exponent == 0) {
        magnitude = std::ldexp(fraction, 1 - kBias - kFractionBits);
    } else {
        magnitude = std::ldexp(fraction + (1 << kFractionBits), exponent - kBias - kFractionBits);
    }
    return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

// The whole text as a number; none where it is no number or out of the type's range.
template <class T>
std::optional<T> number_from_text(std::string_view text) {
    T value{};
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    if (error != std::errc() || stop != end) return std::nullopt;
    return value;
}

// The bits of T, which is as wide as Bits.
template <class T, class Bits>
std::optional<std::uint64_t> number_bits(std::string_view text) {
    const auto value = number_from_text<T>(text);
    if (!value) return std::nullopt;
    return std::bit_cast<Bits>(*value);
}

std::string float_text(auto value) {
    if (std::isnan(value)) return "nan";  // fmt would show its sign
    return fmt::format("{}", value);
}

std::string words_text(const std::vector<std::string>& words) {
    return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace

Status status_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::bad_argument:
        case ErrorCode::unsupported:
        case ErrorCode::limit_exceeded:
        case ErrorCode::io: return Status::usage;
        case ErrorCode::out_of_memory:
        case ErrorCode::device_lost:
        case ErrorCode::compile_failed: break;
    }
    return Status::failed;
}

Status fail(Status status, std::string_view message) {
    std::string line(message);
    for (char& letter : line) {
        if (letter == '\n' || letter == '\r') letter = ' ';
    }
    while (line.ends_with(' ')) line.pop_back();
    note(false, "lanewise: " + line);
    return status;
}

Status fail(const Error& error) { return fail(status_of(error.code), error.message); }

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_json(const Json& value) {
    print(value.dump(2, ' ', true, Json::error_handler_t::replace) + "\n");
}

void note(bool quiet, std::string_view text) {
    if (quiet) return;
    const std::string line = std::string(text) + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
}

bool flush_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

Progress::Progress(bool quiet) : shown_(!quiet && ::isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    if (width_ > 0) show("");
}

void Progress::show(std::string_view text) {
    if (!shown_) return;
    const std::string line = fmt::format("\r{:<{}}\r{}", "", width_, text);
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
    width_ = text.size();
}

std::optional<Tier> CommonOptions::forced_tier() const {
    for (const Tier candidate : {Tier::pinned, Tier::portable, Tier::barrier}) {
        if (tier == to_text(candidate)) return candidate;
    }
    return std::nullopt;
}

GpuOptions CommonOptions::gpu() const {
    GpuOptions options;
    options.device = device;
    if (api == "webgpu") options.api = Api::webgpu;
    if (api == "simulator") options.machine = simulator::Machine{.subgroup_size = subgroup_size};
    return options;
}

void add_api_option(CLI::App& verb, CommonOptions& options, ApiChoice choice) {
    const bool measures = choice == ApiChoice::measures;
    std::vector<std::string> words{"vulkan"};
    if (kHasWebgpu) words.emplace_back("webgpu");
    if (kHasSimulator && !measures) words.emplace_back("simulator");
    if (choice == ApiChoice::lists) {
        words.insert(words.begin(), "all");
        options.api = "all";
    }
    CLI::Option* api =
        verb.add_option("--api", options.api, "the API to run on: " + words_text(words))
            ->capture_default_str()
            ->check(CLI::Validator(
                [words, measures](std::string& text) {
                    if (std::ranges::find(words, text) != words.end()) return std::string();
                    if (measures && kHasSimulator && text == "simulator")
                        return std::string("the simulator has no speed to measure");
                    const bool known = text == "webgpu" || text == "simulator";
                    return fmt::format("{} is {}, which has: {}", text,
                                       known ? "not in this build" : "no API of this build",
                                       words_text(words));
                },
                "", ""));
    if (!kHasSimulator || measures) return;
    verb.add_option("--subgroup-size", options.subgroup_size,
                    "of the simulated machine: 4, 8 ... 128")
        ->capture_default_str()
        ->needs(api);
}

void add_device_option(CLI::App& verb, CommonOptions& options) {
    verb.add_option("--device", options.device,
                    "index in `lanewise info`, or part of a name (default: LANEWISE_DEVICE, else "
                    "the best one)");
}

void add_tier_option(CLI::App& verb, CommonOptions& options, bool with_all) {
    std::vector<std::string> words{"auto", "pinned", "portable", "barrier"};
    if (with_all) words.emplace_back("all");
    verb.add_option(
            "--tier", options.tier,
            fmt::format("{} (default: LANEWISE_TIER, else {})", words_text(words), options.tier))
        ->envname("LANEWISE_TIER")
        ->check(one_of(std::move(words)));
}

void add_json_option(CLI::App& verb, CommonOptions& options) {
    verb.add_flag("--json", options.json, "print JSON");
}

void add_quiet_option(CLI::App& verb, CommonOptions& options) {
    verb.add_flag("--quiet", options.quiet, "no notes and no progress on standard error");
}

CLI::Validator one_of(std::vector<std::string> words) {
    return CLI::Validator(
        [words = std::move(words)](std::string& text) {
            for (const std::string& word : words) {
                if (text == word) return std::string();
            }
            return fmt::format("'{}' is not one of {}", text, words_text(words));
        },
        "", "");
}

const std::vector<std::string>& scalar_words() {
    static const std::vector<std::string> words{"u8",  "i8",  "u16", "i16", "f16", "u32",
                                                "i32", "f32", "u64", "i64", "f64"};
    return words;
}

const std::vector<std::string>& operator_words() {
    static const std::vector<std::string> words{"sum", "product", "min",    "max",   "and",
                                                "or",  "xor",     "argmin", "argmax"};
    return words;
}

std::optional<std::uint64_t> parse_count(std::string_view text) {
    const bool power = text.starts_with("2^");
    if (power) text.remove_prefix(2);
    const auto value = number_from_text<std::uint64_t>(text);
    if (!value || !power) return value;
    if (*value > 63) return std::nullopt;
    return std::uint64_t{1} << *value;
}

CLI::Validator count_validator() {
    return CLI::Validator(
        [](std::string& text) {
            return parse_count(text) ? std::string()
                                     : "'" + text + "' is no number of items, nor a power as 2^20";
        },
        "", "");
}

std::string scalar_to_text(Scalar scalar, std::span<const std::byte> bytes) {
    static_assert(std::endian::native == std::endian::little);
    switch (scalar) {
        case Scalar::u8: return fmt::format("{}", load<std::uint8_t>(bytes));
        case Scalar::i8: return fmt::format("{}", load<std::int8_t>(bytes));
        case Scalar::u16: return fmt::format("{}", load<std::uint16_t>(bytes));
        case Scalar::i16: return fmt::format("{}", load<std::int16_t>(bytes));
        case Scalar::f16: return float_text(half_to_double(load<std::uint16_t>(bytes)));
        case Scalar::u32: return fmt::format("{}", load<std::uint32_t>(bytes));
        case Scalar::i32: return fmt::format("{}", load<std::int32_t>(bytes));
        case Scalar::f32: return float_text(load<float>(bytes));
        case Scalar::u64: return fmt::format("{}", load<std::uint64_t>(bytes));
        case Scalar::i64: return fmt::format("{}", load<std::int64_t>(bytes));
        case Scalar::f64: return float_text(load<double>(bytes));
    }
    return "";
}

Json scalar_to_json(Scalar scalar, std::span<const std::byte> bytes) {
    std::string text = scalar_to_text(scalar, bytes);
    if (is_float(scalar) && text.find_first_not_of("-0123456789") == std::string::npos) {
        text += ".0";  // a float stays one, -0 too
    }
    // The text, not the value: the shortest text of a 32-bit float is longer as a 64-bit one.
    Json value = Json::parse(text, nullptr, false);
    return value.is_discarded() ? Json(text) : value;
}

std::optional<std::uint64_t> bits_from_text(Scalar scalar, std::string_view text) {
    switch (scalar) {
        case Scalar::u8: return number_bits<std::uint8_t, std::uint8_t>(text);
        case Scalar::i8: return number_bits<std::int8_t, std::uint8_t>(text);
        case Scalar::u16: return number_bits<std::uint16_t, std::uint16_t>(text);
        case Scalar::i16: return number_bits<std::int16_t, std::uint16_t>(text);
        case Scalar::f16: break;
        case Scalar::u32: return number_bits<std::uint32_t, std::uint32_t>(text);
        case Scalar::i32: return number_bits<std::int32_t, std::uint32_t>(text);
        case Scalar::f32: return number_bits<float, std::uint32_t>(text);
        case Scalar::u64: return number_bits<std::uint64_t, std::uint64_t>(text);
        case Scalar::i64: return number_bits<std::int64_t, std::uint64_t>(text);
        case Scalar::f64: return number_bits<double, std::uint64_t>(text);
    }
    return std::nullopt;
}

}  // namespace lanewise::cli
