// How people say which device they want.
#pragma once

#include <cstdint>
#include <string_view>

namespace lanewise::detail {

// Whether `wanted` means the device of this index and name: a number is an index, other text part
// of the name, case ignored; an empty one means any device.
bool is_wanted(std::string_view wanted, std::uint32_t index, std::string_view name);

}  // namespace lanewise::detail
