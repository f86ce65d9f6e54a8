// The one place, beside the policy tables, where vendors and drivers are named. An entry names the
// driver, the versions, the symptom, and what is done about it.
#pragma once

#include "lanewise/caps.hpp"

namespace lanewise::detail {

// Applies what is known of this driver to Caps that an API reported.
void apply_quirks(Caps& caps);

}  // namespace lanewise::detail
