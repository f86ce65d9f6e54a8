// A selection as part of another primitive's plan.
#pragma once

#include "lanewise/select.hpp"

namespace lanewise::detail {

// A selection, and what no caller of plan_select asks for.
struct SelectTask : SelectDesc {
    // In the place of flags and a predicate: kept are the first item, and each that differs in bits
    // from the item before it.
    bool changes = false;
};

// plan_select of a task. Errors: those of plan_select.
Result<Plan> plan_select_task(const Caps& caps, const SelectTask& task);

}  // namespace lanewise::detail
