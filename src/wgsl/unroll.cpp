#include "src/wgsl/unroll.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "src/wgsl/expression.hpp"

namespace lanewise::wgsl::detail {

namespace {

constexpr std::size_t kMostRounds = 32;
constexpr std::string_view kFor = "for (var ";

bool is_word(char c) { return is_letter(c) || is_digit(c); }

// Calls visit(begin, end) for the names in the text that are no members, and not in comments.
template <class Visit>
void for_each_name(std::string_view text, Visit visit) {
    for (std::size_t i = 0; i < text.size();) {
        if (text.substr(i).starts_with("//")) {
            i = std::min(text.find('\n', i), text.size());
        } else if (is_word(text[i])) {
            const std::size_t begin = i;
            while (i < text.size() && is_word(text[i])) ++i;
            const bool member = begin > 0 && text[begin - 1] == '.';
            if (is_letter(text[begin]) && !member) visit(begin, i);
        } else {
            ++i;
        }
    }
}

// Where the brace that is open at `begin` closes; nullopt: nowhere.
std::optional<std::size_t> closing_brace(std::string_view text, std::size_t begin) {
    int depth = 0;
    for (std::size_t i = begin; i < text.size(); ++i) {
        if (text.substr(i).starts_with("//")) i = std::min(text.find('\n', i), text.size() - 1);
        if (text[i] == '{') ++depth;
        if (text[i] == '}' && --depth == 0) return i;
    }
    return std::nullopt;
}

// Constants of the module: lines `const NAME = EXPRESSION;`.
Values constants_of(std::string_view text) {
    Values values;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        text.remove_prefix(std::min(end + 1, text.size()));
        if (!take(line, "const ")) continue;
        const std::string name(take_name(line));
        line = trimmed(line);
        if (name.empty() || !take(line, "=")) continue;
        const auto value = evaluate(line.substr(0, line.find(';')), values);
        if (value && *value <= ~std::uint32_t{0}) values[name] = *value;
    }
    return values;
}

struct Loop {
    std::string_view variable;
    std::vector<std::uint64_t> rounds;  // the variable's value in each
    std::size_t body_begin = 0;         // behind the opening brace
    std::size_t body_end = 0;           // at the closing one
};

// What gives a variable its next value, by what follows its name: "++", "+= 2u", "= (i + 7u) / 8u".
std::string next_value(std::string_view variable, std::string_view step) {
    if (step == "++") return fmt::format("{} + 1", variable);
    if (take(step, "= ")) return std::string(step);
    if (step.size() > 3 && step.substr(1, 2) == "= ")
        return fmt::format("{} {} ({})", variable, step[0], step.substr(3));
    return {};  // which has no value
}

// The loop whose `for` is at `begin`; nullopt: none that can be written out.
std::optional<Loop> loop_at(std::string_view text, std::size_t begin, const Values& values) {
    const std::string_view rest = text.substr(begin + kFor.size());
    const std::size_t header_end = rest.find(") {");
    if (header_end == std::string_view::npos) return std::nullopt;
    std::string_view header = rest.substr(0, header_end);  // NAME = FIRST; CONDITION; STEP
    if (header.find_first_of("{}") != std::string_view::npos) return std::nullopt;
    Loop loop;
    loop.variable = take_name(header);
    if (!take(header, " = ")) return std::nullopt;
    const std::size_t first_end = std::min(header.find(';'), header.size());
    const auto first = evaluate(header.substr(0, first_end), values);
    header.remove_prefix(std::min(first_end + 1, header.size()));
    const std::size_t condition_end = std::min(header.find(';'), header.size());
    const std::string_view condition = header.substr(0, condition_end);
    std::string_view step = trimmed(header.substr(std::min(condition_end + 1, header.size())));
    if (!first || take_name(step) != loop.variable) return std::nullopt;
    const std::string next = next_value(loop.variable, trimmed(step));
    Values known = values;
    std::uint64_t& value = known[std::string(loop.variable)];
    value = *first;
    for (;;) {
        const auto goes_on = evaluate(condition, known);
        if (!goes_on || (*goes_on != 0 && loop.rounds.size() == kMostRounds)) return std::nullopt;
        if (*goes_on == 0) break;
        loop.rounds.push_back(value);
        const auto then = evaluate(next, known);
        if (!then || *then > ~std::uint32_t{0}) return std::nullopt;
        value = *then;
    }
    loop.body_begin = begin + kFor.size() + header_end + 3;
    const auto end = closing_brace(text, loop.body_begin - 1);
    if (!end) return std::nullopt;
    loop.body_end = *end;

    const std::string_view body = text.substr(loop.body_begin, loop.body_end - loop.body_begin);
    bool stays = false;
    std::string_view before;
    for_each_name(body, [&](std::size_t name_begin, std::size_t name_end) {
        const std::string_view name = body.substr(name_begin, name_end - name_begin);
        if (name == "break" || name == "continue") stays = true;
        if (name == loop.variable) {
            std::string_view after = trimmed(body.substr(name_end));
            const bool changed = after.starts_with("++") || after.starts_with("--") ||
                                 (after.starts_with("=") && !after.starts_with("==")) ||
                                 (after.size() > 1 && after[1] == '=' &&
                                  std::string_view("+-*/%|&^").contains(after[0]));
            if (changed || before == "let" || before == "var" || before == "const") stays = true;
        }
        before = name;
    });
    if (stays) return std::nullopt;
    return loop;
}

std::string with_value(std::string_view body, std::string_view variable, std::uint64_t value) {
    std::string text;
    std::size_t done = 0;
    for_each_name(body, [&](std::size_t begin, std::size_t end) {
        if (body.substr(begin, end - begin) != variable) return;
        text += body.substr(done, begin - done);
        text += fmt::format("{}u", value);
        done = end;
    });
    text += body.substr(done);
    return text;
}

// Loops around others first: what those count by may depend on them.
std::string unroll(std::string_view text, const Values& values) {
    std::string out;
    std::size_t done = 0;
    for (std::size_t at = text.find(kFor); at != std::string_view::npos;
         at = text.find(kFor, std::max(at + 1, done))) {
        const auto loop = loop_at(text, at, values);
        if (!loop) continue;
        out += text.substr(done, at - done);
        const std::string_view body =
            text.substr(loop->body_begin, loop->body_end - loop->body_begin);
        for (const std::uint64_t value : loop->rounds)
            out += '{' + unroll(with_value(body, loop->variable, value), values) + "} ";
        done = loop->body_end + 1;
    }
    out += text.substr(done);
    return out;
}

}  // namespace

std::string unrolled(std::string_view text) { return unroll(text, constants_of(text)); }

}  // namespace lanewise::wgsl::detail
