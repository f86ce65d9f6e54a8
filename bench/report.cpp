#include "bench/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/json.hpp"

namespace lanewise::bench {
namespace {

// The rows of a line: one size with one strategy.
struct Line {
    const Section& section;
    std::uint64_t count;
    std::string strategy;

    bool has(const Row& row) const { return row.count == count && row.strategy == strategy; }
};

const Row* find_row(const Line& line, std::optional<Tier> tier) {
    for (const Row& row : line.section.rows) {
        if (line.has(row) && row.tier == tier) return &row;
    }
    return nullptr;
}

const LimitRow* find_limit(const Section& section, std::uint64_t count) {
    const std::uint64_t bytes = limit_bytes(section, count);
    for (const LimitRow& row : section.limits) {
        if (row.bytes == bytes) return &row;
    }
    return nullptr;
}

// How much of the section's limit a row reaches.
std::optional<double> share_of_limit(const Section& section, const Row& row,
                                     const LimitRow* limits) {
    if (limits == nullptr || !row.timing) return std::nullopt;
    const auto& limit = section.limit == Limit::copy ? limits->copy : limits->read;
    if (!limit) return std::nullopt;
    return limit->nanoseconds / row.timing->nanoseconds;
}

std::optional<double> find_peer(const Report& report, const Section& section, std::uint64_t count) {
    if (!report.peer) return std::nullopt;
    for (const PeerRow& row : report.peer->rows) {
        if (row.primitive == section.primitive && row.kind == section.kind &&
            row.op == section.op && row.element == section.element && row.count == count) {
            return row.nanoseconds;
        }
    }
    return std::nullopt;
}

// The fastest of the two, by time.
std::optional<double> best_subgroup(const Line& line) {
    std::optional<double> best;
    for (const Tier tier : {Tier::portable, Tier::pinned}) {
        const Row* row = find_row(line, tier);
        if (row == nullptr || !row->timing) continue;
        best = std::min(best.value_or(row->timing->nanoseconds), row->timing->nanoseconds);
    }
    return best;
}

std::optional<double> best_of_all(const Line& line) {
    std::optional<double> best;
    for (const Row& row : line.section.rows) {
        if (!line.has(row) || !row.timing) continue;
        best = std::min(best.value_or(row.timing->nanoseconds), row.timing->nanoseconds);
    }
    return best;
}

std::string microseconds(double nanoseconds) {
    const double us = nanoseconds / 1e3;
    return us < 1000.0 ? fmt::format("{:.2f}", us) : fmt::format("{:.0f}", us);
}

std::string rate(double value) {
    return value < 10.0 ? fmt::format("{:.2f}", value) : fmt::format("{:.0f}", value);
}

std::string limit_cell(std::uint64_t bytes, const std::optional<Timing>& timing) {
    return timing ? rate(gigabytes_per_second(bytes, *timing)) : "-";
}

std::string ratio_cell(const std::optional<double>& numerator,
                       const std::optional<double>& denominator) {
    if (!numerator || !denominator || *denominator <= 0.0) return "-";
    const double ratio = *numerator / *denominator;
    return fmt::format("{:.{}f}x", ratio, ratio < 0.1 ? 4 : 2);
}

// Time, rate, share of the limit.
std::string row_cells(const Section& section, const Row* row, const LimitRow* limit) {
    std::string time = "-", speed = "-", share = "-";
    if (row != nullptr && row->wrong) time = "WRONG";
    if (row != nullptr && row->timing) {
        time = microseconds(row->timing->nanoseconds);
        speed = rate(gigabytes_per_second(row->bytes, *row->timing));
        if (const auto part = share_of_limit(section, *row, limit)) {
            share = fmt::format("{:.0f}%", 100.0 * *part);
        }
    }
    return fmt::format("{:>11}{:>7}{:>6}", time, speed, share);
}

std::vector<std::optional<Tier>> tiers_of(const Section& section) {
    std::vector<std::optional<Tier>> tiers;
    for (const Row& row : section.rows) {
        if (std::ranges::find(tiers, row.tier) == tiers.end()) tiers.push_back(row.tier);
    }
    return tiers;
}

std::vector<Line> lines_of(const Section& section) {
    std::vector<Line> lines;
    for (const Row& row : section.rows) {
        if (lines.empty() || !lines.back().has(row)) {
            lines.push_back({section, row.count, row.strategy});
        }
    }
    return lines;
}

std::string label_of(const Line& line) {
    return line.strategy.empty() ? count_to_text(line.count) : line.strategy;
}

std::string section_table(const Report& report, const Section& section) {
    const auto tiers = tiers_of(section);
    const auto lines = lines_of(section);
    const bool with_ratio = tiers.size() > 1;
    std::size_t width = 10;
    for (const Line& line : lines) width = std::max(width, label_of(line).size() + 2);
    std::string text = fmt::format("{}: {}{}{} of {} into {}; times in us, rates in GB/s\n",
                                   section.primitive, section.kind, section.kind.empty() ? "" : " ",
                                   section.op, section.element, section.accumulator);
    std::string first = fmt::format("{:>{}}{:>16}", "", width, "limits");
    std::string second = fmt::format("{:>{}}{:>8}{:>8}", "n", width, "read", "copy");
    for (const auto& tier : tiers) {
        first += fmt::format("{:>24}", tier ? to_text(*tier) : "planner's choice");
        second += fmt::format("{:>11}{:>7}{:>6}", "time", "rate", to_text(section.limit));
    }
    if (with_ratio) {
        first += fmt::format("{:>10}", "subgroup");
        second += fmt::format("{:>10}", ":barrier");
    }
    if (report.peer) {
        first += fmt::format("{:>21}", report.peer->name);
        second += fmt::format("{:>11}{:>10}", "time", ":ours");
    }
    text += first + "\n" + second + "\n";

    std::vector<std::string> notes;
    auto add_note = [&notes](const std::string& note) {
        if (!note.empty() && std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
    };
    for (const Line& line : lines) {
        const bool is_main = line.strategy.empty();  // limits and peer stand there once
        const LimitRow* limit = find_limit(section, line.count);
        text += fmt::format("{:>{}}", label_of(line), width);
        if (!is_main) {
            text += fmt::format("{:>16}", "");
        } else if (limit != nullptr) {
            text += fmt::format("{:>8}{:>8}", limit_cell(limit->bytes, limit->read),
                                limit_cell(2 * limit->bytes, limit->copy));
            add_note(limit->note);
        } else {
            text += fmt::format("{:>8}{:>8}", "-", "-");
        }
        for (const auto& tier : tiers) {
            const Row* row = find_row(line, tier);
            text += row_cells(section, row, limit);
            if (row != nullptr && !row->note.empty()) {
                add_note(fmt::format("{}{}{}: {}", line.strategy, is_main ? "" : ", ",
                                     tier ? to_text(*tier) : "planner's choice", row->note));
            }
        }
        if (with_ratio) {
            const Row* barrier = find_row(line, Tier::barrier);
            std::optional<double> slow;
            if (barrier != nullptr && barrier->timing) slow = barrier->timing->nanoseconds;
            text += fmt::format("{:>10}", ratio_cell(slow, best_subgroup(line)));
        }
        if (report.peer) {
            const auto peer = find_peer(report, section, line.count);
            text += fmt::format("{:>11}{:>10}",
                                is_main ? (peer ? microseconds(*peer) : "-") : std::string(),
                                ratio_cell(peer, best_of_all(line)));
        }
        text += '\n';
    }
    text += fmt::format(
        "{0}: share of the {0} limit at that size; above 100% where launches cost more than the "
        "data does.\n",
        to_text(section.limit));
    if (with_ratio)
        text += "subgroup:barrier: how many times faster the better subgroup tier is.\n";
    if (report.peer) text += ":ours above 1: our best is faster.\n";
    for (const std::string& note : notes) text += "note: " + note + "\n";
    return text;
}

}  // namespace

double gigabytes_per_second(std::uint64_t bytes, const Timing& timing) {
    return timing.nanoseconds > 0.0 ? static_cast<double>(bytes) / timing.nanoseconds : 0.0;
}

std::uint64_t whole_words(std::uint64_t bytes) { return bytes / 4 * 4; }

const char* to_text(Limit limit) { return limit == Limit::copy ? "copy" : "read"; }

std::uint64_t limit_bytes(const Section& section, std::uint64_t count) {
    const std::uint64_t bytes = count * section.item_bytes;
    return whole_words(section.limit == Limit::copy ? bytes / 2 : bytes);
}

bool Report::any_timing() const {
    return std::ranges::any_of(sections, [](const Section& section) {
        return std::ranges::any_of(section.rows,
                                   [](const Row& row) { return row.timing.has_value(); });
    });
}

bool Report::all_right() const {
    return std::ranges::all_of(sections, [](const Section& section) {
        return std::ranges::none_of(section.rows, &Row::wrong);
    });
}

std::string count_to_text(std::uint64_t count) {
    if (std::has_single_bit(count) && count > 512) {
        return fmt::format("2^{}", std::countr_zero(count));
    }
    return fmt::format("{}", count);
}

std::string machine_to_text(const Machine& machine) {
    const SubgroupCaps& subgroup = machine.caps.subgroup;
    std::string sizes = fmt::format("subgroups of {}", subgroup.size);
    if (subgroup.size == 0) {
        sizes = fmt::format("subgroups of {} to {}", subgroup.min_size, subgroup.max_size);
    } else if (subgroup.min_size != subgroup.max_size) {
        sizes += fmt::format(" ({} to {})", subgroup.min_size, subgroup.max_size);
    }
    if (subgroup.operations == 0) sizes = "no usable subgroups";
    std::string api = "WebGPU";
    if (machine.caps.api != Api::webgpu) {
        api = fmt::format("Vulkan {}.{}", machine.caps.api_version_major,
                          machine.caps.api_version_minor);
    }
    return fmt::format("{} ({}), {}, {}, {}, {}\n", machine.device, machine.type,
                       machine.caps.driver, api, sizes, machine.date);
}

std::string to_table(const Report& report) {
    std::string text = machine_to_text(report.machine);
    for (const Section& section : report.sections) text += "\n" + section_table(report, section);
    return text;
}

Json to_json(const Timing& timing) {
    return {{"nanoseconds", timing.nanoseconds},
            {"best", timing.best},
            {"worst", timing.worst},
            {"uses", timing.uses},
            {"submits", timing.submits},
            {"clock", timing.host_clock ? "host" : "device"}};
}

Json to_json(const Machine& machine) {
    return {{"device", machine.device},
            {"type", machine.type},
            {"driver", machine.caps.driver},
            {"api", to_text(machine.caps.api)},
            {"api_version",
             fmt::format("{}.{}", machine.caps.api_version_major, machine.caps.api_version_minor)},
            {"date", machine.date},
            {"caps", Json::parse(caps_to_json(machine.caps))}};
}

std::string dump(const Json& json) {
    return json.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

std::string to_json(const Report& report) {
    Json json{{"machine", to_json(report.machine)}};
    if (report.peer) json["peer"] = report.peer->name;
    json["sections"] = Json::array();
    for (const Section& section : report.sections) {
        Json one{{"primitive", section.primitive}};
        if (!section.kind.empty()) one["kind"] = section.kind;
        one["op"] = section.op;
        one["element"] = section.element;
        one["accumulator"] = section.accumulator;
        one["limits"] = Json::array();
        for (const LimitRow& limit : section.limits) {
            Json row{{"bytes", limit.bytes}};
            if (limit.read) {
                row["read"] = to_json(*limit.read);
                row["read"]["gigabytes_per_second"] =
                    gigabytes_per_second(limit.bytes, *limit.read);
            }
            if (limit.copy) {
                row["copy"] = to_json(*limit.copy);
                row["copy"]["gigabytes_per_second"] =
                    gigabytes_per_second(2 * limit.bytes, *limit.copy);
            }
            if (!limit.note.empty()) row["note"] = limit.note;
            one["limits"].push_back(std::move(row));
        }
        one["rows"] = Json::array();
        for (const Row& row : section.rows) {
            Json item{{"count", row.count},
                      {"bytes", row.bytes},
                      {"asked_tier", row.tier ? to_text(*row.tier) : "auto"}};
            if (!row.strategy.empty()) item["asked_strategy"] = row.strategy;
            if (row.plan) {
                item["tier"] = to_text(row.plan->tier);
                item["reason"] = row.plan->reason;
                item["policy"] = row.plan->policy;
                item["addressing"] = to_text(row.plan->addressing);
                item["passes"] = Json::array();
                for (const Pass& pass : row.plan->passes) {
                    if (pass.when == When::count_in_buffer) continue;  // the count is a number
                    item["passes"].push_back({{"name", pass.name}, {"kernel", pass.kernel}});
                }
            }
            if (row.timing) {
                item.update(to_json(*row.timing));
                item["gigabytes_per_second"] = gigabytes_per_second(row.bytes, *row.timing);
                if (const auto share =
                        share_of_limit(section, row, find_limit(section, row.count))) {
                    item[fmt::format("share_of_{}_limit", to_text(section.limit))] = *share;
                }
            }
            item["verified"] = row.timing.has_value();
            if (row.wrong) item["wrong"] = true;
            if (!row.note.empty()) item["note"] = row.note;
            if (const auto peer = find_peer(report, section, row.count)) {
                item["peer_nanoseconds"] = *peer;
            }
            one["rows"].push_back(std::move(item));
        }
        json["sections"].push_back(std::move(one));
    }
    return dump(json);
}

Result<Peer> peer_from_json(std::string_view text) {
    auto bad = [](std::string_view what) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument, fmt::format("not a peer's results: {}", what), nullptr});
    };
    const Json json = Json::parse(text, nullptr, false);
    if (json.is_discarded() || !json.is_object()) return bad("it is no JSON object");
    if (!json.contains("peer") || !json["peer"].is_string()) return bad("'peer' is not a string");
    if (!json.contains("rows") || !json["rows"].is_array()) return bad("'rows' is not an array");
    Peer peer{json["peer"].get<std::string>(), {}};
    for (const Json& item : json["rows"]) {
        if (!item.is_object()) return bad("a row is not an object");
        PeerRow row;
        for (const auto& [key, target] :
             {std::pair{"primitive", &row.primitive}, std::pair{"op", &row.op},
              std::pair{"element", &row.element}}) {
            if (!item.contains(key) || !item[key].is_string()) {
                return bad(fmt::format("a row's '{}' is not a string", key));
            }
            *target = item[key].get<std::string>();
        }
        if (item.contains("kind")) {
            if (!item["kind"].is_string()) return bad("a row's 'kind' is not a string");
            row.kind = item["kind"].get<std::string>();
        }
        if (!item.contains("count") || !item["count"].is_number_unsigned()) {
            return bad("a row's 'count' is not a number of items");
        }
        row.count = item["count"].get<std::uint64_t>();
        if (!item.contains("nanoseconds") || !item["nanoseconds"].is_number()) {
            return bad("a row's 'nanoseconds' is not a number");
        }
        row.nanoseconds = item["nanoseconds"].get<double>();
        if (!(row.nanoseconds > 0.0)) return bad("a row's 'nanoseconds' is not above 0");
        peer.rows.push_back(std::move(row));
    }
    return peer;
}

}  // namespace lanewise::bench
