#include "src/wgsl/custom.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "src/core/custom.hpp"
#include "src/core/custom_text.hpp"

namespace lanewise::wgsl::detail {
namespace {

using lanewise::detail::constant_words;
using lanewise::detail::copied_value;
using lanewise::detail::is_statements;
using lanewise::detail::is_struct;
using lanewise::detail::packed_words;
using lanewise::detail::unpacked_value;

// The type of a scalar in registers, where 32 bits are the least.
const char* scalar_type(Scalar scalar) {
    if (is_float(scalar)) return "f32";
    return is_signed_integer(scalar) ? "i32" : "u32";
}

std::string field_type(const Field& field) {
    const char* scalar = scalar_type(field.scalar);
    return field.components == 1 ? scalar : fmt::format("vec{}<{}>", field.components, scalar);
}

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

// The word of a scalar of 32 bits.
std::string packed(Scalar, const std::string& value) {
    return fmt::format("bitcast<u32>({})", value);
}

// fn element_of_words(w: ElementWords) -> Element
std::string define_unpack(const char* function, const char* type, const Fields& fields) {
    return fmt::format("fn {0}(w: {1}Words) -> {1} {{ return {2}; }}\n", function, type,
                       unpacked_value(type, fields, field_type, unpacked));
}

std::string define_pack(const char* function, const char* type, const Fields& fields) {
    return fmt::format("fn {0}(v: {1}) -> {1}Words {{ return {1}Words({2}); }}\n", function, type,
                       packed_words(fields, packed));
}

std::string define_constant(const char* function, const char* type, const Fields& fields,
                            std::span<const std::byte> bytes) {
    return fmt::format("fn {0}() -> {1}Words {{ return {1}Words({2}); }}\n", function, type,
                       constant_words(fields, bytes));
}

// A function around the caller's text.
std::string define_function(std::string_view head, std::string_view text) {
    const bool statements = is_statements(text);
    return fmt::format("{} {{\n{}{}{}\n}}\n", head, statements ? "" : "return\n", text,
                       statements ? "" : ";");
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
    text += define_function(
        "fn operation_load(x: Element, index: u32) -> Value",
        custom.load.empty() ? copied_value("Value", "x", custom.element) : custom.load);
    text += define_function("fn operation_combine(a: Value, b: Value) -> Value", custom.combine);
    text +=
        define_function("fn operation_store(a: Value) -> Result",
                        custom.store.empty() ? copied_value("Result", "a", value) : custom.store);
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
