// The shader text of a custom operator, in the place of kernels/item/custom_operation.glsl.
#pragma once

#include <string>

#include "lanewise/custom.hpp"

namespace lanewise::jit::detail {

// Lines of the caller's text count from 1 in files named load, combine and store; the first of
// these is what a predicate calls `keep`.
std::string custom_operation_glsl(const CustomOperator& custom, const char* load = "load");

}  // namespace lanewise::jit::detail
