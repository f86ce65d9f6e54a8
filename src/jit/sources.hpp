// The sources of the kernels that custom operators are compiled with.
#pragma once

#include <map>
#include <string>

namespace lanewise::jit::detail {

// For tests of tests: texts that take the place of built-in sources, by the names under which
// kernels include them ("item/custom.glsl", "reduce_tiles.comp"). Call it before anything is
// compiled.
void replace_sources(std::map<std::string, std::string> texts);

}  // namespace lanewise::jit::detail
