#pragma once

#include "lanewise/simulator.hpp"

namespace lanewise::simulator::detail {

// bad_argument, with the field's name, for a machine that cannot be.
Result<void> check_machine(const Machine& machine);

}  // namespace lanewise::simulator::detail
