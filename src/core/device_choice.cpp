#include "src/core/device_choice.hpp"

#include <algorithm>
#include <charconv>

namespace lanewise::detail {

namespace {

char lower(char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

}  // namespace

bool is_wanted(std::string_view wanted, std::uint32_t index, std::string_view name) {
    std::uint32_t number = 0;
    const char* end = wanted.data() + wanted.size();
    const auto [stop, error] = std::from_chars(wanted.data(), end, number);
    if (!wanted.empty() && error == std::errc{} && stop == end) return number == index;
    const auto same = [](char a, char b) { return lower(a) == lower(b); };
    return wanted.empty() || !std::ranges::search(name, wanted, same).empty();
}

}  // namespace lanewise::detail
