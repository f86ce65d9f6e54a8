// Keys, what travels with them, and what came of them, as files: what the verbs that move records
// do alike.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/files.hpp"
#include "cli/npy.hpp"
#include "cli/operation.hpp"

namespace lanewise::cli {

struct RecordOptions : CommonOptions {
    std::string keys;
    const char* item = "key";  // what messages call one of them
    std::string output;
    std::string values;
    std::string values_output;
    bool verify = false;
};
// KEYS.npy, -o, --values, --values-out, --verify, and what all verbs have that run something.
// Gives the option --values, for what excludes it.
CLI::Option* add_record_options(CLI::App& verb, RecordOptions& options,
                                const std::string& output_help);

// Whether two paths name one file, however they are spelled; false where one is empty.
bool name_one_file(const std::string& a, const std::string& b);
// An error where two of the paths name one file; empty ones name none.
Result<void> require_files_of_their_own(std::initializer_list<std::string> paths);

struct Records {
    NpyArray keys;
    NpyArray values;  // none where no file is named

    std::uint32_t value_bytes = 0;
};
// Errors: bad_argument where options or files do not go together.
Result<Records> read_records(const RecordOptions& options);

// Arrays to be written at the end, all or none.
class Outputs {
public:
    // `name` is for JSON. The data are not copied.
    void add(std::string name, std::string path, Scalar element, std::span<const std::byte> data,
             std::uint64_t columns = 0);
    Result<void> write() const;
    // Their paths by their names; null where they were not written.
    void add_to(Json& json, bool has_written) const;

private:
    struct Output {
        std::string name;
        std::string path;
        std::vector<std::byte> header;
        std::span<const std::byte> data;
    };
    std::vector<Output> outputs_;
};

// What follows a run: the verdict; then the outputs, but for a wrong result, which replaces no
// file; then JSON, or a note that says that `what` was verified.
Status finish(const CommonOptions& options, const Gpu& gpu, const RunReport& report,
              const Verdict& verdict, const Outputs& outputs, Json json, const std::string& what);

}  // namespace lanewise::cli
