// What a benchmark found, as data, as a table and as JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanewise/caps.hpp"
#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"

namespace lanewise::bench {

// Of one use, out of many between two timestamps.
struct Timing {
    double nanoseconds = 0.0;  // median of the submits
    double best = 0.0;
    double worst = 0.0;
    std::uint32_t uses = 0;  // in one submit
    std::uint32_t submits = 0;
    bool host_clock = false;  // the device has no timestamps: submits and waits count, too
};

// Limits are measured in 32-bit words: of the bytes of an input, those in whole words.
std::uint64_t whole_words(std::uint64_t bytes);

double gigabytes_per_second(std::uint64_t bytes, const Timing& timing);

struct Machine {
    std::string device;
    std::string type;
    std::string date;  // UTC, ISO 8601
    Caps caps;         // after the probe
};

// The machine's limits at one size, measured in the same run.
struct LimitRow {
    std::uint64_t bytes = 0;  // of the input, in whole words
    std::optional<Timing> read;
    std::optional<Timing> copy;  // moves 2 x bytes
    std::string note;            // why one of them is missing
};

struct Row {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;   // that the algorithm has to move, at least
    std::string strategy;      // asked for; empty: the planner's choice
    std::optional<Tier> tier;  // asked for; none: the planner's choice
    std::optional<Plan> plan;
    std::optional<Timing> timing;  // only of verified results
    bool wrong = false;
    std::string note;  // why there is no timing
};

// What bounds an algorithm at best: copying where it writes as well as it reads.
enum class Limit : std::uint8_t { read, copy };
const char* to_text(Limit limit);

// One primitive with one set of types.
struct Section {
    std::string primitive;
    std::string kind;  // "exclusive", of a scan
    std::string op;
    std::string element;
    std::string accumulator;
    std::uint32_t item_bytes = 4;  // that the algorithm has to move for an item, at least
    Limit limit = Limit::read;
    std::vector<LimitRow> limits;  // one for each size
    std::vector<Row> rows;         // sizes in order, strategies within a size, tiers within these
};

// Bytes of the input at which the limit moves as much as the algorithm does for `count` items.
std::uint64_t limit_bytes(const Section& section, std::uint64_t count);

struct PeerRow {
    std::string primitive;
    std::string kind;
    std::string op;
    std::string element;
    std::uint64_t count = 0;
    double nanoseconds = 0.0;
};

struct Peer {
    std::string name;
    std::vector<PeerRow> rows;
};

// Reads what bench/peers/README.md describes.
Result<Peer> peer_from_json(std::string_view text);

struct Report {
    Machine machine;
    std::vector<Section> sections;
    std::optional<Peer> peer;

    bool all_right() const;   // no row is wrong
    bool any_timing() const;  // something ran
};

// "2^20", or the number where it is no power of two.
std::string count_to_text(std::uint64_t count);
std::string machine_to_text(const Machine& machine);
std::string to_table(const Report& report);
std::string to_json(const Report& report);

}  // namespace lanewise::bench
