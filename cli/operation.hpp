// What to compute, as options, and what the verbs that compute it do alike.
#pragma once

#include <string>
#include <vector>

#include "cli/npy.hpp"
#include "cli/output.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/scan.hpp"
#include "lanewise/sort.hpp"

namespace lanewise::cli {

// Of primitives that combine items by an operator: reduce and scan.
struct OperationOptions {
    std::string op = "sum";
    std::string accumulator;
    std::string determinism = to_text(Determinism::run_to_run);

    // Into the fields of a ReduceDesc or a ScanDesc, or of what has fields of the same names.
    template <class Desc>
    void set(Desc& desc) const {
        desc.op = *operator_from_text(op);
        if (!accumulator.empty()) desc.accumulator = scalar_from_text(accumulator);
        desc.determinism = determinism == to_text(Determinism::unordered) ? Determinism::unordered
                                                                          : Determinism::run_to_run;
    }
};
void add_operation_options(CLI::App& verb, OperationOptions& options,
                           const std::string& op_help = "operator",
                           const std::string& accumulate_help = "type in which to add up");

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

// What a sort is by and which way, for the verb and for its plan.
struct SortOptions {
    bool argsort = false;
    bool descending = false;
    std::string bits;

    void set(SortDesc& desc) const;
};
void add_sort_options(CLI::App& verb, SortOptions& options);

// The values that travel with the keys, of that file; none where it is empty.
// `indices_option`: what gives indices instead.
Result<NpyArray> read_values(const std::string& values_file, const std::string& keys_file,
                             const NpyArray& keys, const char* indices_option);

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
