// Device and Executable: adopting a device, compiling plans for it.

#include <fmt/format.h>

#include "lanewise/webgpu.hpp"
#include "src/core/passes.hpp"
#include "src/core/without_throwing.hpp"
#include "src/webgpu/device_state.hpp"

namespace lanewise::webgpu {

namespace {

Result<void> check_adoption(const Adoption& adoption) {
    const char* missing = nullptr;
    if (adoption.instance == nullptr) missing = "instance";
    if (adoption.adapter == nullptr) missing = "adapter";
    if (adoption.device == nullptr) missing = "device";
#define LANEWISE_CHECK_FUNCTION(name) \
    if (adoption.functions.name == nullptr) missing = "functions." #name;
    LANEWISE_WEBGPU_HOST_FUNCTIONS(LANEWISE_CHECK_FUNCTION)
#undef LANEWISE_CHECK_FUNCTION
    if (missing == nullptr) return {};
    return tl::unexpected(
        Error{ErrorCode::bad_argument, fmt::format("Adoption::{} is null: set it", missing), {}});
}

}  // namespace

Result<Device> Device::adopt(const Adoption& adoption) {
    return lanewise::detail::without_throwing("adopting a device", [&]() -> Result<Device> {
        if (auto checked = check_adoption(adoption); !checked)
            return tl::unexpected(checked.error());
        auto state = std::make_shared<State>(adoption);
        auto facts = detail::read_facts(state->context);
        if (!facts) return tl::unexpected(facts.error());
        state->facts = *std::move(facts);
        auto layout = detail::make_parameters_layout(state->context);
        if (!layout) return tl::unexpected(layout.error());
        state->parameters_layout = *std::move(layout);
        return Device(std::move(state));
    });
}

const Caps& Device::caps() const { return state_->facts.caps; }

Result<Executable> Device::compile(const Plan& plan) const {
    return lanewise::detail::without_throwing("compiling a plan", [&]() -> Result<Executable> {
        if (plan.passes.empty()) {
            return tl::unexpected(
                Error{ErrorCode::bad_argument, "the plan has no passes: was planning an error?"});
        }
        if (auto checked = lanewise::detail::check_ranges(plan); !checked)
            return tl::unexpected(checked.error());
        auto state = std::make_shared<Executable::State>();
        state->device = state_;
        state->plan = plan;
        for (const Pass& pass : plan.passes) {
            auto pipeline = detail::make_pass_pipeline(
                state_->context, state_->facts, state_->parameters_layout.get(), plan, pass, false);
            if (!pipeline) {
                Error error = std::move(pipeline.error());
                if (error.code == ErrorCode::compile_failed)
                    error.retry_caps = lanewise::detail::caps_below(state_->facts.caps, plan.tier);
                return tl::unexpected(std::move(error));
            }
            state->pipelines.push_back(*std::move(pipeline));
        }
        return Executable(std::move(state));
    });
}

const Plan& Executable::plan() const { return state_->plan; }

}  // namespace lanewise::webgpu
