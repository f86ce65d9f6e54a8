#include "cli/records.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

namespace lanewise::cli {
namespace {

tl::unexpected<Error> bad(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, std::move(message), nullptr});
}

}  // namespace

CLI::Option* add_record_options(CLI::App& verb, RecordOptions& options,
                                const std::string& output_help) {
    verb.add_option("KEYS.npy", options.keys, "array of one dimension")->required();
    verb.add_option("-o,--output", options.output,
                    output_help + "; it appears whole or not at all, and may be KEYS.npy")
        ->required();
    CLI::Option* values =
        verb.add_option("--values", options.values,
                        "array of what travels with the keys: elements of 4 or 8 bytes, or rows "
                        "of 4, 8, 12 or 16 bytes");
    verb.add_option("--values-out", options.values_output,
                    "the file for the values, in the order of their keys; may be that of --values");
    verb.add_flag("--verify", options.verify,
                  "compare with a serial reference on the host; where it differs, nothing is "
                  "written and the status is 1");
    add_api_option(verb, options);
    add_device_option(verb, options);
    add_tier_option(verb, options);
    add_json_option(verb, options);
    add_quiet_option(verb, options);
    return values;
}

bool name_one_file(const std::string& a, const std::string& b) {
    if (a.empty() || b.empty()) return false;
    std::error_code none;
    const auto whole = [&](const std::string& path) {
        return std::filesystem::weakly_canonical(std::filesystem::absolute(path, none), none);
    };
    return a == b || whole(a) == whole(b);
}

Result<void> require_files_of_their_own(std::initializer_list<std::string> paths) {
    for (auto a = paths.begin(); a != paths.end(); ++a) {
        for (auto b = paths.begin(); b != a; ++b) {
            if (name_one_file(*a, *b)) return bad(fmt::format("{} is named for two outputs", *a));
        }
    }
    return {};
}

Result<Records> read_records(const RecordOptions& options) {
    if (options.values.empty() != options.values_output.empty())
        return bad("--values and --values-out go together: give both, or none");
    if (name_one_file(options.values_output, options.output))
        return bad("-o and --values-out name the same file");
    auto keys = read_npy(options.keys);
    if (!keys) return tl::unexpected(keys.error());
    Records records{*std::move(keys), {}, 0};
    if (options.values.empty()) return records;
    auto values = read_npy(options.values, NpyShape::with_rows);
    if (!values) return tl::unexpected(values.error());
    const char* items = values->columns == 0 ? "elements" : "rows";
    if (values->count != records.keys.count) {
        return bad(fmt::format("{} has {} {}, {} has {} {}s: one value for each {} is wanted",
                               options.values, values->count, items, options.keys,
                               records.keys.count, options.item, options.item));
    }
    const std::uint64_t bytes = values->row_bytes();
    if (bytes % 4 != 0 || bytes > 16) {
        return bad(
            fmt::format("{} has {} of {} bytes, where 4, 8, 12 or 16 are wanted; indices are there "
                        "to take any values by",
                        options.values, items, bytes));
    }
    records.values = *std::move(values);
    records.value_bytes = static_cast<std::uint32_t>(bytes);
    return records;
}

void Outputs::add(std::string name, std::string path, Scalar element,
                  std::span<const std::byte> data, std::uint64_t columns) {
    const std::uint64_t row = size_of(element) * std::max<std::uint64_t>(columns, 1);
    outputs_.push_back({std::move(name), std::move(path),
                        make_npy_header(element, data.size() / row, columns), data});
}

Result<void> Outputs::write() const {
    std::vector<FileToWrite> files;
    for (const Output& output : outputs_)
        files.push_back({output.path, {output.header, output.data}});
    return write_whole_files(files);
}

void Outputs::add_to(Json& json, bool has_written) const {
    for (const Output& output : outputs_)
        json[output.name] = has_written ? Json(output.path) : Json();
}

Status finish(const CommonOptions& options, const Gpu& gpu, const RunReport& report,
              const Verdict& verdict, const Outputs& outputs, Json json, const std::string& what) {
    note_run(report, options.quiet);
    add_run(json, gpu, report);
    const auto print_report = [&](bool has_written) {
        if (!options.json) return;
        outputs.add_to(json, has_written);
        if (verdict.verified) json["verified"] = !verdict.wrong;
        print_json(json);
    };
    const Status status = judge(verdict, gpu, report);
    if (status != Status::good) {
        print_report(false);
        return status;
    }
    if (const auto written = outputs.write(); !written)
        return fail(Status::failed, written.error().message);
    print_report(true);
    note_verified(verdict, gpu, report, what, options.quiet);
    return Status::good;
}

}  // namespace lanewise::cli
