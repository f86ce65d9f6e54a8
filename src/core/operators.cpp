#include "lanewise/operators.hpp"

#include "src/core/names.hpp"

namespace lanewise {
namespace {

constexpr detail::Names<Scalar, 11> kScalarNames{{{Scalar::u8, "u8"},
                                                  {Scalar::i8, "i8"},
                                                  {Scalar::u16, "u16"},
                                                  {Scalar::i16, "i16"},
                                                  {Scalar::f16, "f16"},
                                                  {Scalar::u32, "u32"},
                                                  {Scalar::i32, "i32"},
                                                  {Scalar::f32, "f32"},
                                                  {Scalar::u64, "u64"},
                                                  {Scalar::i64, "i64"},
                                                  {Scalar::f64, "f64"}}};

constexpr detail::Names<Operator, 9> kOperatorNames{{{Operator::sum, "sum"},
                                                     {Operator::product, "product"},
                                                     {Operator::min, "min"},
                                                     {Operator::max, "max"},
                                                     {Operator::bit_and, "and"},
                                                     {Operator::bit_or, "or"},
                                                     {Operator::bit_xor, "xor"},
                                                     {Operator::argmin, "argmin"},
                                                     {Operator::argmax, "argmax"}}};

constexpr detail::Names<Determinism, 2> kDeterminismNames{
    {{Determinism::run_to_run, "run_to_run"}, {Determinism::unordered, "unordered"}}};

}  // namespace

std::uint32_t size_of(Scalar scalar) {
    switch (scalar) {
        case Scalar::u8:
        case Scalar::i8: return 1;
        case Scalar::u16:
        case Scalar::i16:
        case Scalar::f16: return 2;
        case Scalar::u32:
        case Scalar::i32:
        case Scalar::f32: return 4;
        case Scalar::u64:
        case Scalar::i64:
        case Scalar::f64: return 8;
    }
    return 0;
}

bool is_float(Scalar scalar) {
    return scalar == Scalar::f16 || scalar == Scalar::f32 || scalar == Scalar::f64;
}

bool is_signed_integer(Scalar scalar) {
    return scalar == Scalar::i8 || scalar == Scalar::i16 || scalar == Scalar::i32 ||
           scalar == Scalar::i64;
}

bool is_arg(Operator op) { return op == Operator::argmin || op == Operator::argmax; }

const char* to_text(Scalar scalar) { return detail::name_of(kScalarNames, scalar); }
const char* to_text(Operator op) { return detail::name_of(kOperatorNames, op); }
const char* to_text(Determinism determinism) {
    return detail::name_of(kDeterminismNames, determinism);
}
std::optional<Scalar> scalar_from_text(std::string_view text) {
    return detail::value_of(kScalarNames, text);
}
std::optional<Operator> operator_from_text(std::string_view text) {
    return detail::value_of(kOperatorNames, text);
}

}  // namespace lanewise
