// Enumerators and their names, in one table each: printing, parsing and JSON share it.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace lanewise::detail {

template <class Enum, std::size_t N>
using Names = std::array<std::pair<Enum, const char*>, N>;

template <class Enum, std::size_t N>
const char* name_of(const Names<Enum, N>& names, Enum value) {
    const auto* found = std::ranges::find(names, value, &std::pair<Enum, const char*>::first);
    return found == names.end() ? "unknown" : found->second;
}

template <class Enum, std::size_t N>
std::optional<Enum> value_of(const Names<Enum, N>& names, std::string_view text) {
    const auto* found =
        std::ranges::find_if(names, [&](const auto& entry) { return text == entry.second; });
    if (found == names.end()) return std::nullopt;
    return found->first;
}

}  // namespace lanewise::detail
