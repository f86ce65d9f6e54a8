#include "cli/operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "primitives/scan/scan_forced.hpp"

namespace lanewise::cli {
namespace {

const std::vector<std::string>& strategy_words() {
    static const std::vector<std::string> words{
        to_text(ScanStrategy::one_workgroup), to_text(ScanStrategy::reduce_then_scan),
        to_text(ScanStrategy::look_back), to_text(ScanStrategy::reduce_ahead)};
    return words;
}

}  // namespace

void add_ordered_operation_options(CLI::App& verb, OperationOptions& options,
                                   const std::string& op_help, const std::string& accumulate_help) {
    verb.add_option("--op", options.op, op_help)
        ->check(one_of(operator_words()))
        ->capture_default_str();
    verb.add_option("--accumulate", options.accumulator, accumulate_help)
        ->check(one_of(scalar_words()));
}

void add_operation_options(CLI::App& verb, OperationOptions& options, const std::string& op_help,
                           const std::string& accumulate_help) {
    add_ordered_operation_options(verb, options, op_help, accumulate_help);
    verb.add_option("--determinism", options.determinism,
                    "run_to_run, or unordered: float sums in any order")
        ->check(one_of({to_text(Determinism::run_to_run), to_text(Determinism::unordered)}))
        ->capture_default_str();
}

CombinedOutput combined_output(std::span<const std::byte> bytes, Scalar accumulator, Operator op,
                               std::size_t result_bytes) {
    CombinedOutput output{accumulator, {}, bytes};
    if (!is_arg(op)) return output;
    const std::size_t half = result_bytes / 2;
    output.type = half == 8 ? Scalar::u64 : Scalar::u32;
    output.indices.resize(bytes.size() / 2);
    for (std::size_t at = 0; at < output.indices.size(); at += half) {
        std::ranges::copy(bytes.subspan(2 * at + half, half),
                          output.indices.begin() + static_cast<std::ptrdiff_t>(at));
    }
    output.data = output.indices;
    return output;
}

Result<void> ScanOptions::set(ScanDesc& desc, const Caps& caps) const {
    desc.kind = exclusive ? ScanKind::exclusive : ScanKind::inclusive;
    desc.direction = reverse ? Direction::reverse : Direction::forward;
    if (!initial.empty()) {
        const Scalar accumulator = scan_accumulator(desc);
        desc.initial = bits_from_text(accumulator, initial);
        if (!desc.initial) {
            return tl::unexpected(
                Error{ErrorCode::bad_argument,
                      fmt::format("--initial {}: no value of {}, the type of the output", initial,
                                  to_text(accumulator)),
                      nullptr});
        }
    }
    if (strategy.empty()) return {};
    const auto policy = scan_policy_with(caps, desc, *scan_strategy_from_text(strategy));
    if (!policy) return tl::unexpected(policy.error());
    desc.policy = *policy;
    return {};
}

void add_scan_options(CLI::App& verb, ScanOptions& options) {
    verb.add_flag("--exclusive", options.exclusive,
                  "each output without its own item; the first is --initial, or else what the "
                  "operator gives for no items");
    verb.add_flag("--reverse", options.reverse, "from the last item to the first");
    verb.add_option("--initial", options.initial,
                    "combined before the first item: a value of the output's type; not for argmin "
                    "and argmax")
        ->check(CLI::Validator(
            [](std::string& text) {
                return text.empty() ? std::string("an empty text is no value") : std::string();
            },
            "", ""));
    verb.add_option("--strategy", options.strategy,
                    fmt::format("{} (default: what suits the device and the size)",
                                fmt::join(strategy_words(), ", ")))
        ->check(one_of(strategy_words()));
}

std::optional<BitRange> bit_range_from_text(std::string_view text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto begin = bits_from_text(Scalar::u32, text.substr(0, colon));
    const auto end = bits_from_text(Scalar::u32, text.substr(colon + 1));
    if (!begin || !end) return std::nullopt;
    return BitRange{static_cast<std::uint32_t>(*begin), static_cast<std::uint32_t>(*end)};
}

void add_bits_option(CLI::App& verb, std::string& bits, const std::string& help) {
    verb.add_option("--bits", bits, help)
        ->check(CLI::Validator(
            [](std::string& text) {
                return bit_range_from_text(text)
                           ? std::string()
                           : fmt::format("'{}' is no range of bits, as 8:24", text);
            },
            "", ""));
}

void add_sort_options(CLI::App& verb, SortOptions& options) {
    verb.add_flag("--argsort", options.argsort,
                  "where each key in order stood, as u32, in the place of the keys");
    verb.add_flag("--descending", options.descending,
                  "the largest key first; equal keys keep their order all the same");
    add_bits_option(verb, options.bits,
                    "B:E: only bits B to E - 1 count, 0 being the lowest, of the key as an "
                    "unsigned number in the keys' order");
}

void add_run(Json& json, const Gpu& gpu, const RunReport& report) {
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
}

void note_run(const RunReport& report, bool quiet) {
    for (const std::string& fallback : report.fallbacks) {
        note(quiet, "lanewise: fell back: " + fallback);
    }
    for (const std::string& fault : report.faults) note(false, "lanewise: " + fault);
}

Status judge(const Verdict& verdict, const Gpu& gpu, const RunReport& report) {
    if (verdict.wrong) {
        return fail(Status::failed, fmt::format("wrong result on {}, tier {}: {}", gpu.info().name,
                                                to_text(report.plan.tier), verdict.why));
    }
    if (!report.faults.empty()) {
        return fail(Status::failed, fmt::format("{} faults in the kernels, on {}",
                                                report.faults.size(), gpu.info().name));
    }
    return Status::good;
}

void note_verified(const Verdict& verdict, const Gpu& gpu, const RunReport& report,
                   const std::string& what, bool quiet) {
    if (!verdict.verified) return;
    note(quiet, fmt::format("lanewise: verified: {} on {}, tier {}", what, gpu.info().name,
                            to_text(report.plan.tier)));
}

}  // namespace lanewise::cli
