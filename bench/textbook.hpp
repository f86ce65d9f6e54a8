// The comparison that textbooks make: the sum of 32-bit floats in workgroups of 256, a tree of
// barriers against a subgroup sum, at one item per invocation and at sixteen.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness.hpp"
#include "bench/report.hpp"

namespace lanewise::bench {

struct TextbookRow {
    std::string kernel;  // catalogue name
    Form form = Form::barrier;
    std::uint32_t items = 1;             // per invocation
    std::uint32_t barriers = 0;          // control barriers that an invocation meets
    std::uint32_t workgroup_memory = 0;  // bytes
    std::optional<Timing> timing;        // only of verified results
    bool wrong = false;
    std::string note;  // why there is no timing
};

struct Textbook {
    Machine machine;
    std::uint64_t count = 0;
    std::vector<LimitRow> limits;  // one: at this size
    std::vector<TextbookRow> rows;

    bool all_right() const;
};

Result<Textbook> measure_textbook(Session& session, std::uint64_t count, const Show& show);

// A table, then in one sentence what the figures say.
std::string to_table(const Textbook& textbook);
std::string verdict(const Textbook& textbook);
std::string to_json(const Textbook& textbook);

}  // namespace lanewise::bench
