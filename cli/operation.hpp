// What to compute, as options, and what the verbs that compute it do alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.hpp"
#include "lanewise/histogram.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/scan.hpp"
#include "lanewise/sort.hpp"

namespace lanewise::cli {

// Of primitives that combine items by an operator.
struct OperationOptions {
    std::string op = "sum";
    std::string accumulator;
    std::string determinism = to_text(Determinism::run_to_run);

    // Into the fields of a ReduceDesc, or of what has fields of the same names.
    template <class Desc>
    void set(Desc& desc) const {
        desc.op = *operator_from_text(op);
        if (!accumulator.empty()) desc.accumulator = scalar_from_text(accumulator);
        if constexpr (requires { desc.determinism; }) {
            desc.determinism = determinism == to_text(Determinism::unordered)
                                   ? Determinism::unordered
                                   : Determinism::run_to_run;
        }
    }
};
void add_operation_options(CLI::App& verb, OperationOptions& options,
                           const std::string& op_help = "operator",
                           const std::string& accumulate_help = "type in which to add up");
// The same without --determinism, for what knows one order alone.
void add_ordered_operation_options(CLI::App& verb, OperationOptions& options,
                                   const std::string& op_help = "operator",
                                   const std::string& accumulate_help = "type in which to add up");

// What a file takes of several results: the values, or of argmin and argmax the indices that stand
// behind them.
struct CombinedOutput {
    Scalar type = Scalar::u32;
    std::vector<std::byte> indices;  // argmin and argmax
    std::span<const std::byte> data;
};
// `bytes` are not copied where there are no indices.
CombinedOutput combined_output(std::span<const std::byte> bytes, Scalar accumulator, Operator op,
                               std::size_t result_bytes);

// What a scan has beside these.
struct ScanOptions {
    bool exclusive = false;
    bool reverse = false;
    std::string initial;
    std::string strategy;

    // Needs the element, the operation and max_count of desc; the strategy, a device.
    Result<void> set(ScanDesc& desc, const Caps& caps) const;
};
void add_scan_options(CLI::App& verb, ScanOptions& options);

// "8:24": bits of a key. That they are there, and in order, planning says.
struct BitRange {
    std::uint32_t begin = 0, end = 0;
};
std::optional<BitRange> bit_range_from_text(std::string_view text);
void add_bits_option(CLI::App& verb, std::string& bits, const std::string& help);

// Into the fields of a SortDesc, or of what has fields of the same names. Empty: as they are.
template <class Desc>
void set_bits(Desc& desc, const std::string& bits) {
    if (const auto range = bit_range_from_text(bits)) {
        desc.begin_bit = range->begin;
        desc.end_bit = range->end;
    }
}

// "8 to 24", of the bits that a descriptor names; empty where that is all of the key.
template <class Desc>
std::string bits_to_text(const Desc& desc) {
    const std::uint32_t width = size_of(desc.key) * 8;
    const std::uint32_t end = desc.end_bit.value_or(width);
    if (desc.begin_bit == 0 && end == width) return {};
    return std::to_string(desc.begin_bit) + " to " + std::to_string(end);
}

// What a sort is by and which way, for the verb and for its plan.
struct SortOptions {
    bool argsort = false;
    bool descending = false;
    std::string bits;

    // Into the fields of a SortDesc, or of what has fields of the same names.
    template <class Desc>
    void set(Desc& desc) const {
        desc.argsort = argsort;
        desc.order = descending ? SortOrder::descending : SortOrder::ascending;
        set_bits(desc, bits);
    }
};
void add_sort_options(CLI::App& verb, SortOptions& options);

// What a histogram counts by, for the verb and for its plan.
struct HistogramOptions {
    std::uint32_t bins = 256;
    std::string range;
    std::uint32_t channels = 0;  // 0: as the array has them, or 1

    // The bins and the range.
    void set(HistogramDesc& desc) const;
};
void add_histogram_options(CLI::App& verb, HistogramOptions& options);

// The device, and what ran on it.
void add_run(Json& json, const Gpu& gpu, const RunReport& report);
// Fallbacks and faults, to standard error.
void note_run(const RunReport& report, bool quiet);

// Whether a result holds; `why` has what is wrong with a wrong one.
struct Verdict {
    bool verified = false;  // was compared with the reference
    bool wrong = false;
    std::string why;
};
// The status of a run, a failure with its one line: a wrong result, or faults of kernels.
Status judge(const Verdict& verdict, const Gpu& gpu, const RunReport& report);
void note_verified(const Verdict& verdict, const Gpu& gpu, const RunReport& report,
                   const std::string& what, bool quiet);

}  // namespace lanewise::cli
