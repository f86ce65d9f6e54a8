#include "src/wgsl/expression.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace lanewise::wgsl::detail {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

bool take(std::string_view& text, std::string_view start) {
    if (!text.starts_with(start)) return false;
    text.remove_prefix(start.size());
    return true;
}

std::string_view take_name(std::string_view& text) {
    std::size_t length = 0;
    while (length < text.size() &&
           (is_letter(text[length]) || (length > 0 && is_digit(text[length]))))
        ++length;
    const std::string_view name = text.substr(0, length);
    text.remove_prefix(length);
    return name;
}

std::optional<std::uint32_t> take_number(std::string_view& text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{}) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('u')) text.remove_prefix(1);
    return value;
}

namespace {

class Expression {
public:
    Expression(std::string_view text, const Values& values) : rest_(text), values_(&values) {}

    // nullopt: error() says why.
    std::optional<std::uint64_t> value() {
        const std::uint64_t value = binary(0);
        if (error_.empty() && !trimmed(rest_).empty())
            error_ = fmt::format("'{}' is not understood", trimmed(rest_));
        return error_.empty() ? std::optional(value) : std::nullopt;
    }
    const std::string& error() const { return error_; }

private:
    struct Operator {
        std::string_view text;
        int level;  // binds the tighter the higher
    };
    // Longer ones before those that they begin with.
    static constexpr Operator kOperators[] = {{"||", 1}, {"&&", 2}, {"==", 3}, {"!=", 3}, {"<=", 4},
                                              {">=", 4}, {"<<", 5}, {">>", 5}, {"<", 4},  {">", 4},
                                              {"+", 6},  {"-", 6},  {"*", 7},  {"/", 7},  {"%", 7}};

    std::uint64_t binary(int level) {
        std::uint64_t left = unary();
        while (error_.empty()) {
            rest_ = trimmed(rest_);
            const auto* found = std::ranges::find_if(
                kOperators, [&](const Operator& op) { return rest_.starts_with(op.text); });
            if (found == std::end(kOperators) || found->level <= level) break;
            rest_.remove_prefix(found->text.size());
            const std::uint64_t right = binary(found->level);
            left = apply(found->text, left, right);
        }
        return left;
    }

    std::uint64_t apply(std::string_view op, std::uint64_t a, std::uint64_t b) {
        if (op == "||") return a != 0 || b != 0 ? 1 : 0;
        if (op == "&&") return a != 0 && b != 0 ? 1 : 0;
        if (op == "==") return a == b ? 1 : 0;
        if (op == "!=") return a != b ? 1 : 0;
        if (op == "<=") return a <= b ? 1 : 0;
        if (op == ">=") return a >= b ? 1 : 0;
        if (op == "<") return a < b ? 1 : 0;
        if (op == ">") return a > b ? 1 : 0;
        if (op == "<<" || op == ">>") {
            if (b > 31) return fail("a shift by more than 31");
            return op == "<<" ? a << b : a >> b;
        }
        if (op == "+") return a + b;
        if (op == "-") return a - b;
        if (op == "*") return a * b;
        if (b == 0) return fail("division by zero");
        return op == "/" ? a / b : a % b;
    }

    std::uint64_t unary() {
        rest_ = trimmed(rest_);
        if (rest_.empty()) return fail("an operand is missing");
        if (take(rest_, "!")) return unary() == 0 ? 1 : 0;
        if (take(rest_, "(")) {
            const std::uint64_t value = binary(0);
            rest_ = trimmed(rest_);
            if (error_.empty() && !take(rest_, ")")) return fail("a ) is missing");
            return value;
        }
        if (is_digit(rest_.front())) {
            const auto number = take_number(rest_);
            return number ? *number : fail("a number has more than 32 bits");
        }
        const std::string_view name = take_name(rest_);
        if (name.empty()) return fail(fmt::format("'{}' is not understood", rest_));
        const auto found = values_->find(name);
        return found != values_->end() ? found->second
                                       : fail(fmt::format("the prologue has no constant {}", name));
    }

    std::uint64_t fail(std::string why) {
        if (error_.empty()) error_ = std::move(why);
        return 0;
    }

    std::string_view rest_;
    const Values* values_;
    std::string error_;
};

}  // namespace

std::optional<std::uint64_t> evaluate(std::string_view expression, const Values& values,
                                      std::string* error) {
    Expression parsed(expression, values);
    const auto value = parsed.value();
    if (!value && error != nullptr) *error = parsed.error();
    return value;
}

}  // namespace lanewise::wgsl::detail
