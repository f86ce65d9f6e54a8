#include "src/wgsl/custom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "src/core/custom.hpp"

namespace lanewise::wgsl::detail {
namespace {

// The type of a scalar in registers, where 32 bits are the least.
const char* scalar_type(Scalar scalar) {
    if (is_float(scalar)) return "f32";
    return is_signed_integer(scalar) ? "i32" : "u32";
}

std::string field_type(const Field& field) {
    const char* scalar = scalar_type(field.scalar);
    return field.components == 1 ? scalar : fmt::format("vec{}<{}>", field.components, scalar);
}

bool is_struct(const Fields& fields) { return !fields[0].name.empty(); }

std::string define_type(const char* name, const Fields& fields) {
    if (!is_struct(fields)) return fmt::format("alias {} = {};\n", name, field_type(fields[0]));
    std::string text = fmt::format("struct {} {{\n", name);
    for (const Field& field : fields)
        text += fmt::format("    {}: {},\n", field.name, field_type(field));
    return text + "}\n";
}

std::string define_words(const char* name, const Fields& fields) {
    return fmt::format("const k{0}Words = {1}u;\nalias {0}Words = array<u32, k{0}Words>;\n", name,
                       lanewise::detail::words_of(fields));
}

// A scalar out of the words w, of which it begins at a byte.
std::string unpacked(Scalar scalar, std::uint32_t byte) {
    const std::uint32_t word = byte / 4;
    const std::uint32_t bit = 8 * (byte % 4);
    const std::uint32_t bits = 8 * size_of(scalar);
    switch (scalar) {
        case Scalar::u8:
        case Scalar::u16: return fmt::format("extractBits(w[{}], {}u, {}u)", word, bit, bits);
        case Scalar::i8:
        case Scalar::i16:
            return fmt::format("extractBits(bitcast<i32>(w[{}]), {}u, {}u)", word, bit, bits);
        case Scalar::f16:
            return fmt::format("unpack2x16float(w[{}]).{}", word, bit == 0 ? 'x' : 'y');
        default: return fmt::format("bitcast<{}>(w[{}])", scalar_type(scalar), word);
    }
}

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

std::string list_of(const std::vector<std::string>& parts) {
    return fmt::format("{}", fmt::join(parts, ", "));
}

// fn element_of_words(w: ElementWords) -> Element
std::string define_unpack(const char* function, const char* type, const Fields& fields) {
    std::vector<std::string> members;
    std::vector<std::string> scalars;
    for_each_scalar(fields, [&](const Field& field, std::uint32_t component, std::uint32_t byte) {
        scalars.push_back(unpacked(field.scalar, byte));
        if (component + 1 < field.components) return;
        members.push_back(fmt::format("{}({})", field_type(field), list_of(scalars)));
        scalars.clear();
    });
    const std::string value =
        is_struct(fields) ? fmt::format("{}({})", type, list_of(members)) : members[0];
    return fmt::format("fn {0}(w: {1}Words) -> {1} {{ return {2}; }}\n", function, type, value);
}

std::string define_pack(const char* function, const char* type, const Fields& fields) {
    std::vector<std::string> parts;
    for_each_scalar(fields, [&](const Field& field, std::uint32_t component, std::uint32_t) {
        std::string value = is_struct(fields) ? "v." + field.name : "v";
        if (field.components > 1) value += std::string(".") + "xyzw"[component];
        parts.push_back(fmt::format("bitcast<u32>({})", value));
    });
    return fmt::format("fn {0}(v: {1}) -> {1}Words {{ return {1}Words({2}); }}\n", function, type,
                       list_of(parts));
}

// `bytes` may be empty for zeros.
std::string define_constant(const char* function, const char* type, const Fields& fields,
                            std::span<const std::byte> bytes) {
    std::vector<std::string> parts;
    for (std::uint32_t i = 0; i < lanewise::detail::words_of(fields); ++i) {
        std::uint32_t word = 0;
        for (std::size_t byte = 4 * i; byte < std::min<std::size_t>(4 * i + 4, bytes.size());
             ++byte)
            word |= std::to_integer<std::uint32_t>(bytes[byte]) << (8 * (byte % 4));
        parts.push_back(fmt::format("{}u", word));
    }
    return fmt::format("fn {0}() -> {1}Words {{ return {1}Words({2}); }}\n", function, type,
                       list_of(parts));
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

// A function around the caller's text.
std::string define_function(std::string_view head, std::string_view text) {
    const bool statements = has_word(text, "return");
    return fmt::format("{} {{\n{}{}{}\n}}\n", head, statements ? "" : "return\n", text,
                       statements ? "" : ";");
}

// A struct or vector of the same fields as `fields`, from `from`.
std::string copied(const char* type, const char* from, const Fields& fields) {
    if (!is_struct(fields)) return from;
    std::vector<std::string> members;
    for (const Field& field : fields) members.push_back(fmt::format("{}.{}", from, field.name));
    return fmt::format("{}({})", type, list_of(members));
}

}  // namespace

Result<std::string> custom_operation(const CustomOperator& custom) {
    if (lanewise::detail::uses_int64(custom) || lanewise::detail::uses_float64(custom))
        return tl::unexpected(
            Error{ErrorCode::unsupported,
                  fmt::format("WGSL: {}: WGSL has no u64, i64 and f64", custom.name),
                  {}});
    const Fields value = value_of(custom);
    const Fields result = result_of(custom);
    std::string text;
    text += define_words("Element", custom.element);
    text += define_words("Value", value);
    text += define_words("Result", result);
    text += define_type("Element", custom.element);
    text += define_type("Value", value);
    text += define_type("Result", result);
    text += define_unpack("element_of_words", "Element", custom.element);
    text += define_unpack("value_of_words", "Value", value);
    text += define_pack("words_of_value", "Value", value);
    text += define_pack("words_of_result_value", "Result", result);
    text += define_constant("words_of_initial", "Value", value, custom.initial);
    text += define_constant("words_of_nothing", "Result", result, custom.nothing);
    text +=
        define_function("fn operation_load(x: Element, index: u32) -> Value",
                        custom.load.empty() ? copied("Value", "x", custom.element) : custom.load);
    text += define_function("fn operation_combine(a: Value, b: Value) -> Value", custom.combine);
    text += define_function("fn operation_store(a: Value) -> Result",
                            custom.store.empty() ? copied("Result", "a", value) : custom.store);
    return text;
}

std::map<std::string, std::uint32_t> custom_values(const CustomOperator& custom) {
    const std::uint32_t bytes = bytes_of(custom.element);
    const bool shares = 16 % bytes == 0;  // elements share a vector
    const std::uint32_t result_bytes = (shares ? 16 / bytes : 1) * bytes_of(result_of(custom));
    return {{"LW_ELEMENT_BITS", 8 * bytes},
            {"LW_ORDERED", custom.commutative ? 0u : 1u},
            {"LW_INPUT_QUADS", shares || bytes % 16 == 0 ? 1u : 0u},
            {"LW_OUTPUT_QUADS", result_bytes % 16 == 0 ? 1u : 0u}};
}

}  // namespace lanewise::wgsl::detail
