#include "tests/support/simulated_device.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <utility>

#include "src/core/kernel_catalogue.hpp"

namespace lanewise::test {
namespace {

using simulator::Machine;

class SimulatedMemory : public TestMemory {
public:
    explicit SimulatedMemory(std::size_t bytes) : bytes_(bytes) {}

    Result<void> write(std::size_t offset, std::span<const std::byte> data) override {
        std::ranges::copy(data, range(offset, data.size()).begin());
        return {};
    }
    Result<void> read(std::size_t offset, std::span<std::byte> data) const override {
        std::ranges::copy(range(offset, data.size()), data.begin());
        return {};
    }
    std::span<std::byte> range(std::size_t offset, std::size_t bytes) const {
        return std::span(bytes_).subspan(offset, bytes);
    }

private:
    mutable std::vector<std::byte> bytes_;  // memory of the device, not of this object
};

simulator::Buffer buffer_of(const TestRange& range) {
    if (range.memory == nullptr) return {};
    return {dynamic_cast<const SimulatedMemory&>(*range.memory).range(range.offset, range.bytes),
            range.offset};
}

// Modules in the folder LANEWISE_TEST_KERNELS take the place of built-in kernels.
void add_kernels_of_folder(const Plan& plan, Bundle& bundle) {
    const char* folder = std::getenv("LANEWISE_TEST_KERNELS");
    if (folder == nullptr) return;
    for (const Pass& pass : plan.passes) {
        std::ifstream file(std::filesystem::path(folder) / (pass.kernel + ".spv"),
                           std::ios::binary);
        const std::string bytes{std::istreambuf_iterator<char>(file), {}};
        std::vector<std::uint32_t> words(bytes.size() / 4);
        if (words.size() < 2) continue;
        std::memcpy(words.data(), bytes.data(), words.size() * 4);
        const std::uint32_t version = words[1];
        bundle.add({pass.kernel, version, std::move(words)});
    }
}

class SimulatedUse : public TestUse {
public:
    SimulatedUse(simulator::Binding binding, const Machine& machine,
                 std::shared_ptr<MessageBox> messages)
        : binding_(std::move(binding)), machine_(machine), messages_(std::move(messages)) {}

    const std::vector<std::string>& pass_names() const override { return binding_.pass_names(); }

    Result<void> run(const UseOptions&) override {
        Machine machine = machine_;
        machine.seed += runs_++;
        const auto report = binding_.run(machine.seed);
        if (!report) return tl::unexpected(report.error());
        for (const simulator::Fault& fault : report->faults)
            messages_->add(to_text(fault) + " on " + to_text(machine));
        return {};
    }

private:
    simulator::Binding binding_;
    Machine machine_;
    std::shared_ptr<MessageBox> messages_;
    std::uint64_t runs_ = 0;  // each is random in another way
};

class SimulatedExecutable : public TestExecutable {
public:
    SimulatedExecutable(simulator::Executable executable, const Machine& machine,
                        std::shared_ptr<MessageBox> messages)
        : executable_(std::move(executable)), machine_(machine), messages_(std::move(messages)) {}

    Result<std::unique_ptr<TestUse>> bind(const TestBuffers& buffers,
                                          const TestCount& count) override {
        simulator::Count what;
        if (const auto* number = std::get_if<std::uint64_t>(&count))
            what = *number;
        else
            what = simulator::CountBuffer{buffer_of(std::get<TestRange>(count)).memory};
        auto binding = executable_.bind({.input = buffer_of(buffers.input),
                                         .output = buffer_of(buffers.output),
                                         .scratch = buffer_of(buffers.scratch),
                                         .values = buffer_of(buffers.values),
                                         .values_out = buffer_of(buffers.values_out),
                                         .offsets = buffer_of(buffers.offsets),
                                         .flags = buffer_of(buffers.flags),
                                         .keys = buffer_of(buffers.keys),
                                         .rejected = buffer_of(buffers.rejected),
                                         .count_out = buffer_of(buffers.count_out)},
                                        what);
        if (!binding) return tl::unexpected(binding.error());
        return std::make_unique<SimulatedUse>(*std::move(binding), machine_, messages_);
    }

private:
    simulator::Executable executable_;
    Machine machine_;
    std::shared_ptr<MessageBox> messages_;
};

class SimulatedDevice : public TestDevice {
public:
    explicit SimulatedDevice(simulator::Device device) : device_(std::move(device)) {}

    const Caps& caps() const override { return device_.caps(); }
    Result<std::unique_ptr<TestMemory>> make_memory(std::size_t bytes) override {
        return std::make_unique<SimulatedMemory>(bytes);
    }
    Result<std::shared_ptr<TestExecutable>> prepare(const Plan& plan) override {
        const std::string key = plan_to_json(plan);
        if (const auto found = prepared_.find(key); found != prepared_.end()) return found->second;
        auto bundle = bundle_for(plan);
        if (!bundle) return tl::unexpected(bundle.error());
        add_kernels_of_folder(plan, *bundle);
        auto executable = device_.compile(plan, &*bundle);
        if (!executable) return tl::unexpected(executable.error());
        auto made = std::make_shared<SimulatedExecutable>(*std::move(executable), device_.machine(),
                                                          message_box());
        prepared_.emplace(key, made);
        return made;
    }

private:
    simulator::Device device_;
    std::map<std::string, std::shared_ptr<TestExecutable>> prepared_;
};

}  // namespace

Machine simulated_machine(const std::string& name) {
    Machine machine;
    const std::size_t digit = name.find_first_of("0123456789");
    machine.subgroup_size = static_cast<std::uint32_t>(std::atoi(name.c_str() + digit));
    machine.seed = machine.subgroup_size;
    const std::size_t underscore = name.find('_');
    const std::string kind = underscore == std::string::npos ? "" : name.substr(underscore);
    if (kind == "_permuted") {
        machine.lane_order = simulator::LaneOrder::random;
        machine.subgroup_ids = simulator::Order::reversed;
        machine.workgroups = machine.subgroups = simulator::Schedule::reversed;
    } else if (kind == "_hostile" || kind == "_partial") {
        machine.lane_order = simulator::LaneOrder::random;
        machine.subgroup_ids = simulator::Order::random;
        machine.workgroups = machine.subgroups = simulator::Schedule::random;
        machine.quantum = 11;
        machine.random_populations = machine.scattered_lanes = kind == "_partial";
    } else if (kind == "_striped") {
        machine.lane_order = simulator::LaneOrder::column_wise;
        machine.workgroups = machine.subgroups = simulator::Schedule::round_robin;
        machine.quantum = 7;
    } else if (!kind.empty()) {
        ADD_FAILURE() << name << ": no such machine";
    }
    return machine;
}

std::unique_ptr<TestDevice> make_simulated_device(const Machine& machine) {
    auto device = simulator::Device::create(machine);
    if (!device) {
        ADD_FAILURE() << "no simulated device: " << device.error().message;
        return nullptr;
    }
    return std::make_unique<SimulatedDevice>(*std::move(device));
}

}  // namespace lanewise::test
