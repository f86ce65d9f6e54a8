// What the assemblers of custom operators' shader text, in GLSL (src/jit/) and WGSL (src/wgsl/),
// have in common: what does not depend on the language.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanewise/custom.hpp"

namespace lanewise::detail {

// Not a plain scalar or vector.
bool is_struct(const Fields& fields);

// "a, b, c"
std::string list_of(const std::vector<std::string>& parts);

// How a scalar that begins at a byte is taken out of words, and what a field is called.
using UnpackScalar = std::string (*)(Scalar scalar, std::uint32_t byte);
using PackScalar = std::string (*)(Scalar scalar, const std::string& value);
using FieldType = std::string (*)(const Field& field);

// The value of a type from its words: an expression.
std::string unpacked_value(const char* type, const Fields& fields, FieldType field_type,
                           UnpackScalar unpacked);
// The words of `v`, a value of a type: a list of expressions.
std::string packed_words(const Fields& fields, PackScalar packed);
// The words of a type that the caller gave in bytes, which may be empty for zeros: a list of
// constants.
std::string constant_words(const Fields& fields, std::span<const std::byte> bytes);

// Whether the caller's text is statements: it has the word `return`.
bool is_statements(std::string_view text);

// A value of `type`, of the same fields as `fields`, from `from`: an expression.
std::string copied_value(const char* type, const char* from, const Fields& fields);

}  // namespace lanewise::detail
