// What planners and the assembler of kernels know of custom operators.
#pragma once

#include <cstdint>
#include <string>

#include "lanewise/custom.hpp"
#include "lanewise/select.hpp"

namespace lanewise::detail {

// What kernels and bundles know a predicate as: a sum of what is 1 for an item that is kept.
CustomOperator operator_of(const CustomPredicate& predicate);

// Names of kernels hold this in place of stock types: the operator's name, and a hash of everything
// that its kernels are made of.
std::string kernel_types(const CustomOperator& custom);

// Words of a type, narrow scalars packed: bytes rounded up.
std::uint32_t words_of(const Fields& fields);

// Bytes that an accumulator takes in workgroup memory, at most: drivers may align its fields like
// std430, and a flag says whether it holds anything; a segmented one has a head, too.
std::uint32_t workgroup_bytes(const CustomOperator& custom, bool segmented);

// Whether any type has scalars of that kind, for which devices need a feature.
bool uses_int64(const CustomOperator& custom);
bool uses_float64(const CustomOperator& custom);

}  // namespace lanewise::detail
