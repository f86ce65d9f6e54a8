#include "src/jit/assemble.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "src/core/custom.hpp"
#include "src/core/custom_text.hpp"

namespace lanewise::jit::detail {

namespace {

using lanewise::detail::constant_words;
using lanewise::detail::copied_value;
using lanewise::detail::is_statements;
using lanewise::detail::is_struct;
using lanewise::detail::packed_words;
using lanewise::detail::unpacked_value;

// The type of a scalar in registers, where 32 bits are the least.
const char* scalar_type(Scalar scalar) {
    switch (scalar) {
        case Scalar::f16:
        case Scalar::f32: return "float";
        case Scalar::f64: return "double";
        case Scalar::u64: return "uint64_t";
        case Scalar::i64: return "int64_t";
        default: return is_signed_integer(scalar) ? "int" : "uint";
    }
}

std::string field_type(const Field& field) {
    if (field.components == 1) return scalar_type(field.scalar);
    const char* prefix = "";
    switch (field.scalar) {
        case Scalar::f16:
        case Scalar::f32: break;
        case Scalar::f64: prefix = "d"; break;
        case Scalar::u64: prefix = "u64"; break;
        case Scalar::i64: prefix = "i64"; break;
        default: prefix = is_signed_integer(field.scalar) ? "i" : "u";
    }
    return fmt::format("{}vec{}", prefix, field.components);
}

std::string define_type(const char* name, const Fields& fields) {
    if (!is_struct(fields)) return fmt::format("#define {} {}\n", name, field_type(fields[0]));
    std::string text = fmt::format("struct {} {{\n", name);
    for (const Field& field : fields)
        text += fmt::format("    {} {};\n", field_type(field), field.name);
    return text + "};\n";
}

// A scalar out of the words w, of which it begins at a byte.
std::string unpacked(Scalar scalar, std::uint32_t byte) {
    const std::uint32_t word = byte / 4;
    const std::uint32_t bit = 8 * (byte % 4);
    const std::uint32_t bits = 8 * size_of(scalar);
    switch (scalar) {
        case Scalar::u8:
        case Scalar::u16: return fmt::format("bitfieldExtract(w[{}], {}, {})", word, bit, bits);
        case Scalar::i8:
        case Scalar::i16:
            return fmt::format("bitfieldExtract(int(w[{}]), {}, {})", word, bit, bits);
        case Scalar::f16:
            return fmt::format("unpackHalf2x16(w[{}]).{}", word, bit == 0 ? 'x' : 'y');
        case Scalar::u32: return fmt::format("w[{}]", word);
        case Scalar::i32: return fmt::format("int(w[{}])", word);
        case Scalar::f32: return fmt::format("uintBitsToFloat(w[{}])", word);
        case Scalar::u64: return fmt::format("packUint2x32(uvec2(w[{}], w[{}]))", word, word + 1);
        case Scalar::i64:
            return fmt::format("int64_t(packUint2x32(uvec2(w[{}], w[{}])))", word, word + 1);
        case Scalar::f64: return fmt::format("packDouble2x32(uvec2(w[{}], w[{}]))", word, word + 1);
    }
    return {};
}

// The words of a scalar of 32 or 64 bits.
std::string packed(Scalar scalar, const std::string& value) {
    const auto halves = [](const std::string& pair) { return fmt::format("{0}.x, {0}.y", pair); };
    switch (scalar) {
        case Scalar::i32: return fmt::format("uint({})", value);
        case Scalar::f32: return fmt::format("floatBitsToUint({})", value);
        case Scalar::u64: return halves(fmt::format("unpackUint2x32({})", value));
        case Scalar::i64: return halves(fmt::format("unpackUint2x32(uint64_t({}))", value));
        case Scalar::f64: return halves(fmt::format("unpackDouble2x32({})", value));
        default: return value;
    }
}

std::string define_unpack(const char* function, const char* type, const char* words,
                          const Fields& fields) {
    return fmt::format("{} {}(uint w[{}]) {{ return {}; }}\n", type, function, words,
                       unpacked_value(type, fields, field_type, unpacked));
}

std::string define_pack(const char* function, const char* type, const char* words,
                        const Fields& fields) {
    return fmt::format("uint[{0}] {1}({2} v) {{ return uint[{0}]({3}); }}\n", words, function, type,
                       packed_words(fields, packed));
}

std::string define_constant(const char* function, const char* words, const Fields& fields,
                            std::span<const std::byte> bytes) {
    return fmt::format("uint[{0}] {1}() {{ return uint[{0}]({2}); }}\n", words, function,
                       constant_words(fields, bytes));
}

// A function around the caller's text. The lines are the compiler's to report: `return`, which it
// names where a type is wrong, and what ends the text belong to it, and so does the next function,
// where a brace is left open.
std::string define_function(const char* head, const char* name, std::string_view text) {
    const bool statements = is_statements(text);
    return fmt::format("{} {{\n#line 1 \"{}\"\n{}{}\n{}}}\n", head, name,
                       statements ? "" : "return ", text, statements ? "" : ";");
}

// The names that WGSL has for types.
std::string type_names(const CustomOperator& custom) {
    std::string text = "#define f32 float\n#define u32 uint\n#define i32 int\n";
    if (lanewise::detail::uses_int64(custom)) text += "#define u64 uint64_t\n#define i64 int64_t\n";
    if (lanewise::detail::uses_float64(custom)) text += "#define f64 double\n";
    for (const int n : {2, 3, 4})
        text += fmt::format(
            "#define vec{0}f vec{0}\n#define vec{0}u uvec{0}\n#define vec{0}i ivec{0}\n", n);
    return text;
}

}  // namespace

std::string custom_operation_glsl(const CustomOperator& custom, const char* load) {
    using lanewise::detail::words_of;
    const Fields value = value_of(custom);
    const Fields result = result_of(custom);
    std::string text;
    text += fmt::format("#define LW_ELEMENT_WORDS {}\n", words_of(custom.element));
    text += fmt::format("#define LW_VALUE_WORDS {}\n", words_of(value));
    text += fmt::format("#define LW_RESULT_WORDS {}\n", words_of(result));
    text += fmt::format("#define LW_ORDERED {}\n", custom.commutative ? 0 : 1);
    text += type_names(custom);
    text += "#line 1 \"types\"\n";
    text += define_type("Element", custom.element);
    text += define_type("Value", value);
    text += define_type("Result", result);
    text += define_unpack("element_of_words", "Element", "LW_ELEMENT_WORDS", custom.element);
    text += define_unpack("value_of_words", "Value", "LW_VALUE_WORDS", value);
    text += define_pack("words_of_value", "Value", "LW_VALUE_WORDS", value);
    text += define_pack("words_of_result_value", "Result", "LW_RESULT_WORDS", result);
    text += define_constant("words_of_initial", "LW_VALUE_WORDS", value, custom.initial);
    text += define_constant("words_of_nothing", "LW_RESULT_WORDS", result, custom.nothing);
    text += define_function(
        "Value operation_load(Element x, uint index)", load,
        custom.load.empty() ? copied_value("Value", "x", custom.element) : custom.load);
    text += define_function("Value operation_combine(Value a, Value b)", "combine", custom.combine);
    text +=
        define_function("Result operation_store(Value a)", "store",
                        custom.store.empty() ? copied_value("Result", "a", value) : custom.store);
    return text;
}

}  // namespace lanewise::jit::detail
