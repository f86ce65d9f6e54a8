// Element types and reduction operators, by the names that the CLI, plans and JSON use.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace lanewise {

enum class Scalar : std::uint8_t { u8, i8, u16, i16, f16, u32, i32, f32, u64, i64, f64 };

enum class Operator : std::uint8_t {
    sum,
    product,
    min,
    max,
    bit_and,  // integers only; named "and"
    bit_or,   // integers only; named "or"
    bit_xor,  // integers only; named "xor"
    argmin,   // index of the smallest element; ties go to the lowest index
    argmax,   // index of the largest element; ties go to the lowest index
};

enum class Determinism : std::uint8_t {
    // The same input gives the same bits on every run on one device: trees of fixed shape.
    run_to_run,
    // Float sums and products may be combined in any order.
    unordered,
};

// Bytes of one element: 1, 2, 4 or 8.
std::uint32_t size_of(Scalar scalar);
bool is_float(Scalar scalar);
// Signed integers; floats answer false.
bool is_signed_integer(Scalar scalar);
// argmin and argmax, whose result is an index.
bool is_arg(Operator op);

// "u8" ... "f64".
const char* to_text(Scalar scalar);
// "sum", "product", "min", "max", "and", "or", "xor", "argmin", "argmax".
const char* to_text(Operator op);
const char* to_text(Determinism determinism);
std::optional<Scalar> scalar_from_text(std::string_view text);
std::optional<Operator> operator_from_text(std::string_view text);

}  // namespace lanewise
