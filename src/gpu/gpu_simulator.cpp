// Gpu on a machine of the simulator.

#include <fmt/format.h>

#include <chrono>

#include "lanewise/simulator.hpp"
#include "src/core/passes.hpp"
#include "src/gpu/gpu_host.hpp"

namespace lanewise::detail {

namespace {

class SimulatorHost final : public GpuHost {
public:
    explicit SimulatorHost(simulator::Device device) : device_(std::move(device)) {
        info_ = {0, device_.caps().device_name, device_.caps().driver, "simulated", Api::simulator};
    }

    const GpuInfo& info() const override { return info_; }
    const Caps& caps() const override { return device_.caps(); }

    Result<void> run(const Plan& plan, std::uint64_t count, const RunData& data,
                     const Bundle& bundle, RunReport& report) override {
        const auto executable = device_.compile(plan, &bundle);
        if (!executable) return tl::unexpected(executable.error());
        std::array<std::vector<std::byte>, kRoles> memory;
        const auto of = [&](Role role) -> std::vector<std::byte>& {
            return memory[static_cast<std::size_t>(role)];
        };
        for (const Argument& argument : plan.arguments)
            of(argument.role).resize(static_cast<std::size_t>(data.bytes_of(argument)));
        for (const auto& [role, bytes] : data.uploads()) std::ranges::copy(bytes, of(role).begin());
        const auto binding = executable->bind({.input = {of(Role::input)},
                                               .output = {of(Role::output)},
                                               .scratch = {of(Role::scratch)},
                                               .values = {of(Role::values)},
                                               .values_out = {of(Role::values_out)},
                                               .offsets = {of(Role::offsets)},
                                               .flags = {of(Role::flags)},
                                               .keys = {of(Role::keys)},
                                               .rejected = {of(Role::rejected)},
                                               .count_out = {of(Role::count_out)}},
                                              count);
        if (!binding) return tl::unexpected(binding.error());
        const auto ran = binding->run();
        if (!ran) return tl::unexpected(ran.error());
        for (const auto& [role, bytes] : data.downloads())
            std::ranges::copy(std::span(of(role)).first(bytes.size()), bytes.begin());
        for (const std::string& name : ran->passes) report.passes.push_back({name, 0.0});
        for (const simulator::Fault& fault : ran->faults) report.faults.push_back(to_text(fault));
        return {};
    }

private:
    simulator::Device device_;
    GpuInfo info_;
};

}  // namespace

Result<std::unique_ptr<GpuHost>> make_simulator_host(const simulator::Machine& machine) {
    auto device = simulator::Device::create(machine);
    if (!device) return tl::unexpected(device.error());
    return std::make_unique<SimulatorHost>(*std::move(device));
}

}  // namespace lanewise::detail
