// Custom operators in WGSL.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "lanewise/custom.hpp"

namespace lanewise::wgsl::detail {

// item/custom_operation.wgsl for an operator. unsupported: its types have 64-bit scalars.
Result<std::string> custom_operation(const CustomOperator& custom);

// What the prologues of kernels say of it: LW_ELEMENT_BITS, LW_ORDERED, LW_INPUT_QUADS,
// LW_OUTPUT_QUADS.
std::map<std::string, std::uint32_t> custom_values(const CustomOperator& custom);

}  // namespace lanewise::wgsl::detail
