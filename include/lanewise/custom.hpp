// Element types and operators of the caller's own, as shader expressions, with what to do to each
// element on the way in and to each result on the way out. docs/custom.md explains, with examples.
//
//   bounding box of points     element {f32 x3}, value {low: f32 x3, high: f32 x3}
//                              load     Value(x, x)
//                              combine  Value(min(a.low, b.low), max(a.high, b.high))
//
// reduce, scan and segmented_reduce take it in their descriptors (ReduceDesc::custom ...). The
// kernels are then compiled by lanewise::jit (lanewise/jit.hpp), or come from a bundle that it
// wrote ahead (lanewise/bundle.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "lanewise/error.hpp"
#include "lanewise/operators.hpp"

namespace lanewise {

// A member of a type: a scalar, or a vector of 2 to 4.
struct Field {
    Scalar scalar = Scalar::u32;
    std::uint32_t components = 1;  // 1 to 4
    // How expressions name it. Empty where it is the only one: then the type is the scalar or
    // vector itself, not a struct.
    std::string name;

    bool operator==(const Field&) const = default;
};

// Fields in memory follow each other without gaps, as those of a C++ struct do that needs no
// padding: each must begin at a multiple of its scalar's bytes, and all of them end at a multiple
// of the largest.
using Fields = std::vector<Field>;

// Shader text is an expression ("a + b"), or, where it has the word `return`, statements ("if (a.x
// < b.x) { return a; } return b;"). It may use the functions of GLSL, the type names f32, u32, i32
// (u64, i64, f64 on devices that have them), vec2f ... vec4i, the types Element, Value and Result,
// which construct from their fields in order, and the names that are said below. In registers
// integers of 8 and 16 bits are u32 or i32 and f16 is f32. Names that begin with gl_, LW_, lw_, sh_
// or operation_ are taken.
struct CustomOperator {
    // Names kernels and plans: a letter, then letters, digits and underscores, all lower case.
    std::string name = "custom";
    // An item of the input: 1, 2, or a multiple of 4 bytes, up to 256.
    Fields element;
    // What is combined: of scalars with 32 or 64 bits, up to 128 bytes. Empty: the element, its
    // narrow scalars widened.
    Fields value;
    // A Value from `x`, an Element, and `index`, the u32 number of the item in the input. Empty:
    // the element as it is.
    std::string load;
    // A Value from the Values `a` and `b`. Must be associative; all of a's items come before b's,
    // in the order of the scan. Never called with what is not of the input.
    std::string combine;
    // combine(a, b) and combine(b, a) are the same: saves some work.
    bool commutative = false;
    // An output: scalars of 32 or 64 bits, up to 256 bytes. Empty: the value.
    Fields result;
    // A Result from `a`, a Value. Empty: the value as it is.
    std::string store;
    // A Result in bytes, given for no items: the reduction of an empty input, the first output of
    // an exclusive scan. Empty: zeros.
    std::vector<std::byte> nothing;
    // Of a scan: a Value in bytes that is combined before the first item. Empty: none.
    std::vector<std::byte> initial;

    bool operator==(const CustomOperator&) const = default;
};

// Bytes of a type in memory.
std::uint32_t bytes_of(const Fields& fields);
// The types that an operator has, where they are said and where they follow from the others.
Fields value_of(const CustomOperator& custom);
Fields result_of(const CustomOperator& custom);
// "f32", "f32 x3", "{low f32 x3, high f32 x3}".
std::string to_text(const Fields& fields);

// bad_argument with the first thing that is wrong with the types; expressions are judged by the
// compiler.
Result<void> check(const CustomOperator& custom);

}  // namespace lanewise
