// lanewise::jit, an optional component: compiles the kernels of custom operators and predicates
// (lanewise/custom.hpp, lanewise/select.hpp), when the application runs or ahead, with glslang.
// Link lanewise::jit.
//
//   auto plan   = lanewise::plan_reduce(device->caps(), {.custom = box, .max_count = n});
//   auto bundle = lanewise::jit::compile(*plan);
//   auto reduce = device->compile(*plan, {.bundle = &*bundle});
#pragma once

#include <string_view>

#include "lanewise/bundle.hpp"
#include "lanewise/custom.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/select.hpp"

namespace lanewise::jit {

// The kernels that the plan needs and the library does not have built in; none for a plan without a
// custom operator or predicate. Takes some tenths of a second. Errors: bad_argument (an expression
// that does not compile: the message has the compiler's words, with `load`, `combine`, `store` or
// `keep` and the line).
Result<Bundle> compile(const Plan& plan);

// The kernels that plans of a primitive ("reduce", "scan") with this operator may need on any
// device, with any strategy: for a bundle written ahead. Errors: bad_argument also for an operator
// that planning would refuse, and for a primitive that takes none.
Result<Bundle> compile_for_all_devices(const CustomOperator& custom, std::string_view primitive);
// The same of a predicate, for plans of select.
Result<Bundle> compile_for_all_devices(const CustomPredicate& predicate);

}  // namespace lanewise::jit
