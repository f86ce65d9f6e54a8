// Short loops of constant bounds, written out.
#pragma once

#include <string>
#include <string_view>

namespace lanewise::wgsl::detail {

// The text with a copy of the body for each round in the place of loops
//
//     for (var i = 0u; i < kVectors; i++) { ... }
//
// whose header has constants of the module only and that have up to 32 rounds. Implementations put
// a counter of rounds into loops so that none is without end, and drivers then leave them as loops:
// arrays of registers would be indexed in memory (seen on wgpu-native: four times the time of a
// kernel bound by bandwidth). Loops with a break or continue, and those that shadow or change their
// variable, stay.
std::string unrolled(std::string_view text);

}  // namespace lanewise::wgsl::detail
