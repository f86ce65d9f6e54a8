// Gpu on a machine of the simulator.

#include <fmt/format.h>

#include <chrono>

#include "lanewise/simulator.hpp"
#include "src/gpu/gpu_host.hpp"

namespace lanewise::detail {

namespace {

std::vector<std::byte> memory_for(const Plan& plan, Role role) {
    const Argument* argument = plan.argument(role);
    return std::vector<std::byte>(argument == nullptr ? 0 : argument->bytes);
}

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
        auto in = memory_for(plan, Role::input);
        auto out = memory_for(plan, Role::output);
        auto scratch = memory_for(plan, Role::scratch);
        auto values = memory_for(plan, Role::values);
        auto values_out = memory_for(plan, Role::values_out);
        std::ranges::copy(data.input, in.begin());
        auto offsets = memory_for(plan, Role::offsets);
        offsets.resize(std::max(offsets.size(), data.offsets.size()));
        std::ranges::copy(data.values, values.begin());
        std::ranges::copy(data.offsets, offsets.begin());
        const auto binding =
            executable->bind({{in}, {out}, {scratch}, {values}, {values_out}, {offsets}}, count);
        if (!binding) return tl::unexpected(binding.error());
        const auto ran = binding->run();
        if (!ran) return tl::unexpected(ran.error());
        std::ranges::copy(std::span(out).first(data.output.size()), data.output.begin());
        std::ranges::copy(std::span(values_out).first(data.values_out.size()),
                          data.values_out.begin());
        std::ranges::copy(std::span(offsets).first(data.offsets_out.size()),
                          data.offsets_out.begin());
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
