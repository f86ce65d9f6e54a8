// Names, numbers and expressions of unsigned constants, as kernels in WGSL and their conditions
// have them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace lanewise::wgsl::detail {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::string_view trimmed(std::string_view text);

// These take what they name from the start of `text`.
bool take(std::string_view& text, std::string_view start);
std::string_view take_name(std::string_view& text);  // empty: there is none
// Decimal, with or without a u.
std::optional<std::uint32_t> take_number(std::string_view& text);

using Values = std::map<std::string, std::uint64_t, std::less<>>;

// The value of an expression of `values`, numbers, and the operators of C on unsigned numbers.
// nullopt: `error`, where it is not null, says why.
std::optional<std::uint64_t> evaluate(std::string_view expression, const Values& values,
                                      std::string* error = nullptr);

}  // namespace lanewise::wgsl::detail
