// Device and Executable: adopting a device, compiling plans for it.

#include <fmt/format.h>

#include <system_error>

#include "lanewise/vulkan.hpp"
#include "src/core/without_throwing.hpp"
#include "src/vulkan/device_state.hpp"

namespace lanewise::vulkan {

namespace {

Result<void> check_adoption(const Adoption& adoption) {
    const char* missing = nullptr;
    if (adoption.instance == VK_NULL_HANDLE) missing = "instance";
    if (adoption.physical_device == VK_NULL_HANDLE) missing = "physical_device";
    if (adoption.device == VK_NULL_HANDLE) missing = "device";
    if (adoption.get_instance_proc_addr == nullptr) missing = "get_instance_proc_addr";
    if (missing == nullptr) return {};
    return tl::unexpected(
        Error{ErrorCode::bad_argument, fmt::format("Adoption::{} is null: set it", missing)});
}

// What planning again starts from.
Caps known_caps(Device::State& device) {
    const std::lock_guard lock(device.probed_mutex);
    return device.probed.value_or(device.facts.caps);
}

}  // namespace

Result<Device> Device::adopt(const Adoption& adoption) {
    return lanewise::detail::without_throwing("adopting a device", [&]() -> Result<Device> {
        if (auto checked = check_adoption(adoption); !checked)
            return tl::unexpected(checked.error());
        auto vk = detail::load_functions(adoption.get_instance_proc_addr, adoption.instance,
                                         adoption.device);
        if (!vk) return tl::unexpected(vk.error());
        auto facts = detail::read_facts(*vk, adoption);
        if (!facts) return tl::unexpected(facts.error());
        return Device(std::make_shared<State>(*vk, adoption, std::move(*facts)));
    });
}

const Caps& Device::caps() const { return state_->facts.caps; }

Result<Executable> Device::compile(const Plan& plan, const CompileOptions& options) const {
    return lanewise::detail::without_throwing("compiling a plan", [&]() -> Result<Executable> {
        if (auto alive = state_->context.alive(); !alive) return tl::unexpected(alive.error());
        if (plan.passes.empty()) {
            return tl::unexpected(
                Error{ErrorCode::bad_argument, "the plan has no passes: was planning an error?"});
        }
        if (auto checked = lanewise::detail::check_ranges(plan); !checked)
            return tl::unexpected(checked.error());
        CompileOptions chosen = options;
        if (chosen.pipeline_cache == VK_NULL_HANDLE) chosen.pipeline_cache = state_->pipeline_cache;
        auto state = std::make_shared<Executable::State>();
        state->device = state_;
        state->plan = plan;
        for (const Pass& pass : plan.passes) {
            auto pipeline =
                detail::make_pass_pipeline(state_->context, state_->facts, plan, pass, chosen);
            if (!pipeline) {
                Error error = std::move(pipeline.error());
                if (error.code == ErrorCode::compile_failed)
                    error.retry_caps = lanewise::detail::caps_below(known_caps(*state_), plan.tier);
                return tl::unexpected(std::move(error));
            }
            state->pipelines.push_back(std::move(*pipeline));
        }
        return Executable(std::move(state));
    });
}

std::future<Result<Executable>> Device::compile_async(Plan plan, CompileOptions options) const {
    const auto compile_here = [](const std::shared_ptr<State>& state, const Plan& wanted,
                                 const CompileOptions& how) {
        return Device(state).compile(wanted, how);
    };
    try {
        // The copy of the state keeps the device's side alive; the destructor of the future waits,
        // so that no thread outlives the application's VkDevice unseen.
        return std::async(std::launch::async, compile_here, state_, plan, options);
    } catch (const std::system_error&) {
        // No thread to be had: the caller's own, then.
        std::promise<Result<Executable>> done;
        done.set_value(compile(plan, options));
        return done.get_future();
    }
}

const Plan& Executable::plan() const { return state_->plan; }

}  // namespace lanewise::vulkan
