#include "src/core/custom_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "src/core/custom.hpp"

namespace lanewise::detail {

namespace {

// Calls visit(field, component, byte) for each scalar of a type, in the order of memory.
template <class Visit>
void for_each_scalar(const Fields& fields, Visit visit) {
    std::uint32_t at = 0;
    for (const Field& field : fields) {
        for (std::uint32_t component = 0; component < field.components; ++component) {
            visit(field, component, at);
            at += size_of(field.scalar);
        }
    }
}

bool has_word(std::string_view text, std::string_view word) {
    const auto part_of_name = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
    };
    for (std::size_t at = text.find(word); at != std::string_view::npos;
         at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        if ((at == 0 || !part_of_name(text[at - 1])) &&
            (end == text.size() || !part_of_name(text[end])))
            return true;
    }
    return false;
}

}  // namespace

bool is_struct(const Fields& fields) { return !fields[0].name.empty(); }

std::string list_of(const std::vector<std::string>& parts) {
    return fmt::format("{}", fmt::join(parts, ", "));
}

std::string unpacked_value(const char* type, const Fields& fields, FieldType field_type,
                           UnpackScalar unpacked) {
    std::vector<std::string> members;
    std::vector<std::string> scalars;
    for_each_scalar(fields, [&](const Field& field, std::uint32_t component, std::uint32_t byte) {
        scalars.push_back(unpacked(field.scalar, byte));
        if (component + 1 < field.components) return;
        members.push_back(fmt::format("{}({})", field_type(field), list_of(scalars)));
        scalars.clear();
    });
    return is_struct(fields) ? fmt::format("{}({})", type, list_of(members)) : members[0];
}

std::string packed_words(const Fields& fields, PackScalar packed) {
    std::vector<std::string> parts;
    for_each_scalar(fields, [&](const Field& field, std::uint32_t component, std::uint32_t) {
        std::string value = is_struct(fields) ? "v." + field.name : "v";
        if (field.components > 1) value += std::string(".") + "xyzw"[component];
        parts.push_back(packed(field.scalar, value));
    });
    return list_of(parts);
}

std::string constant_words(const Fields& fields, std::span<const std::byte> bytes) {
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < words_of(fields); ++i) {
        std::uint32_t word = 0;
        for (std::size_t byte = 4 * i; byte < std::min(4 * i + 4, bytes.size()); ++byte)
            word |= std::to_integer<std::uint32_t>(bytes[byte]) << (8 * (byte % 4));
        parts.push_back(fmt::format("{}u", word));
    }
    return list_of(parts);
}

bool is_statements(std::string_view text) { return has_word(text, "return"); }

std::string copied_value(const char* type, const char* from, const Fields& fields) {
    if (!is_struct(fields)) return from;
    std::vector<std::string> members;
    for (const Field& field : fields) members.push_back(fmt::format("{}.{}", from, field.name));
    return fmt::format("{}({})", type, list_of(members));
}

}  // namespace lanewise::detail
