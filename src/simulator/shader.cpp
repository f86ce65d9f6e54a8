// One dispatch of any shader: run_shader, compare, inspect.

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>

#include "src/simulator/check_machine.hpp"
#include "src/simulator/engine.hpp"

namespace lanewise::simulator {
namespace detail {

Result<void> check_machine(const Machine& machine) {
    const auto fail = [](std::string message) {
        return tl::unexpected(Error{ErrorCode::bad_argument, "machine: " + std::move(message), {}});
    };
    if (!std::has_single_bit(machine.subgroup_size) || machine.subgroup_size < 4 ||
        machine.subgroup_size > kMaxLanes)
        return fail(fmt::format("subgroup_size {} is no power of two from 4 to 128",
                                machine.subgroup_size));
    for (const std::uint32_t population : machine.populations) {
        if (population < 1 || population > machine.subgroup_size)
            return fail(fmt::format("population {} is not from 1 to the subgroup size {}",
                                    population, machine.subgroup_size));
    }
    if (machine.running_lanes > machine.subgroup_size)
        return fail(fmt::format("running_lanes {} is more than the subgroup size {}",
                                machine.running_lanes, machine.subgroup_size));
    if (machine.quantum == 0) return fail("quantum is 0");
    if (machine.resident_workgroups == 0) return fail("resident_workgroups is 0");
    return {};
}

}  // namespace detail

namespace {

tl::unexpected<Error> bad(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, std::move(message), {}});
}

Result<detail::Program> read_program(std::span<const std::uint32_t> words,
                                     std::string_view entry_point,
                                     std::span<const ShaderConstant> constants) {
    const auto module = spirv::Module::read(words);
    if (!module) return tl::unexpected(module.error());
    std::vector<spirv::Specialization> specialization;
    for (const ShaderConstant& constant : constants)
        specialization.push_back({constant.id, constant.bits});
    return detail::make_program(*module, entry_point, specialization);
}

}  // namespace

Result<std::vector<std::uint32_t>> assemble(std::string_view text) { return spirv::assemble(text); }

Result<ShaderInterface> inspect(std::span<const std::uint32_t> words, std::string_view entry_point,
                                std::span<const ShaderConstant> constants) {
    const auto program = read_program(words, entry_point, constants);
    if (!program) return tl::unexpected(program.error());
    ShaderInterface made;
    for (const detail::BindingSlot& slot : program->bindings) {
        made.blocks.push_back({slot.set, slot.binding, slot.name, slot.uniform, slot.writable,
                               slot.fixed_bytes, slot.array_stride});
    }
    made.push_constant_bytes = program->push_constant_bytes;
    made.workgroup_size = program->workgroup_size;
    return made;
}

Result<Report> run_shader(const Machine& machine, const ShaderRun& run) {
    if (auto checked = detail::check_machine(machine); !checked)
        return tl::unexpected(checked.error());
    const auto program = read_program(run.module, run.entry_point, run.constants);
    if (!program) return tl::unexpected(program.error());

    // Those that the shader declares, then those that it knows by address alone.
    std::vector<detail::MemoryObject> objects(program->bindings.size() + run.buffers.size());
    detail::Engine engine(machine);
    detail::Dispatch dispatch;
    dispatch.program = &*program;
    dispatch.pass = run.name;
    dispatch.groups = run.workgroups;
    dispatch.subgroup_size = machine.subgroup_size;
    dispatch.full_subgroups = run.full_subgroups;
    for (const std::uint32_t n : run.workgroups) {
        if (n > (1u << 24))
            return bad(
                fmt::format("{}: {} workgroups are more than can be simulated", run.name, n));
    }
    if (std::uint64_t{run.workgroups[0]} * run.workgroups[1] * run.workgroups[2] > (1u << 24))
        return bad(fmt::format("{}: more workgroups than can be simulated", run.name));
    for (std::size_t i = 0; i < program->bindings.size(); ++i) {
        const detail::BindingSlot& slot = program->bindings[i];
        const auto found = std::ranges::find_if(run.buffers, [&](const ShaderBuffer& buffer) {
            return buffer.set == slot.set && buffer.binding == slot.binding;
        });
        if (found == run.buffers.end())
            return bad(fmt::format("{}: no memory is given for binding {}.{} ({})", run.name,
                                   slot.set, slot.binding, slot.name));
        objects[i].name = found->name.empty()
                              ? fmt::format("binding {}.{} ({})", slot.set, slot.binding, slot.name)
                              : found->name;
        objects[i].writable = slot.writable;
        objects[i].reset(found->memory, found->initialized);
        const detail::View view(objects[i], found->address);
        dispatch.bindings.push_back(view);
        if (found->address != 0) engine.addressable.push_back(view);
    }
    for (std::size_t i = 0; i < run.buffers.size(); ++i) {
        const ShaderBuffer& buffer = run.buffers[i];
        const bool bound =
            std::ranges::any_of(program->bindings, [&](const detail::BindingSlot& slot) {
                return slot.set == buffer.set && slot.binding == buffer.binding;
            });
        if (bound || buffer.address == 0) continue;
        detail::MemoryObject& object = objects[program->bindings.size() + i];
        object.name =
            buffer.name.empty() ? fmt::format("buffer at {:#x}", buffer.address) : buffer.name;
        object.reset(buffer.memory, buffer.initialized);
        engine.addressable.emplace_back(object, buffer.address);
    }
    std::vector<std::byte> push_constants = run.push_constants;
    if (push_constants.size() < program->push_constant_bytes)
        return bad(fmt::format("{}: {} bytes of push constants are given, the shader has {}",
                               run.name, push_constants.size(), program->push_constant_bytes));
    dispatch.push_constants = push_constants;
    if (auto checked = detail::check_size(machine, dispatch); !checked)
        return tl::unexpected(checked.error());

    const auto start = std::chrono::steady_clock::now();
    engine.run(dispatch);
    Report report;
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report.faults = std::move(engine.faults);
    report.instructions = engine.instructions;
    report.invocation_instructions = engine.invocation_instructions;
    report.passes = {run.name};
    return report;
}

Result<Report> compare(std::span<const Machine> machines, const ShaderRun& run) {
    if (machines.empty()) return bad("compare: no machine is given");
    std::vector<std::vector<std::byte>> initial;
    for (const ShaderBuffer& buffer : run.buffers)
        initial.emplace_back(buffer.memory.begin(), buffer.memory.end());
    std::vector<std::vector<std::byte>> first;
    Report all;
    for (std::size_t m = 0; m < machines.size(); ++m) {
        for (std::size_t i = 0; i < run.buffers.size(); ++i)
            std::ranges::copy(initial[i], run.buffers[i].memory.begin());
        auto report = run_shader(machines[m], run);
        if (!report) return tl::unexpected(report.error());
        all.instructions += report->instructions;
        all.invocation_instructions += report->invocation_instructions;
        all.seconds += report->seconds;
        for (Fault& fault : report->faults) {
            const bool known = std::ranges::any_of(all.faults, [&](const Fault& seen) {
                return seen.kind == fault.kind && seen.at.file == fault.at.file &&
                       seen.at.line == fault.at.line && seen.at.function == fault.at.function &&
                       seen.at.instruction == fault.at.instruction &&
                       seen.other.line == fault.other.line;
            });
            if (!known) all.faults.push_back(std::move(fault));
        }
        if (m == 0) {
            for (const ShaderBuffer& buffer : run.buffers)
                first.emplace_back(buffer.memory.begin(), buffer.memory.end());
            continue;
        }
        for (std::size_t i = 0; i < run.buffers.size(); ++i) {
            const auto memory = run.buffers[i].memory;
            const auto [a, b] = std::ranges::mismatch(first[i], memory);
            if (a == first[i].end()) continue;
            const auto offset = static_cast<std::uint64_t>(a - first[i].begin()) / 4 * 4;
            const auto word = [&](const std::byte* from, std::size_t bytes) {
                std::uint32_t value = 0;
                std::memcpy(&value, from + offset, std::min<std::size_t>(4, bytes - offset));
                return value;
            };
            Fault fault;
            fault.kind = FaultKind::different_results;
            fault.pass = run.name;
            fault.buffer =
                run.buffers[i].name.empty()
                    ? fmt::format("binding {}.{}", run.buffers[i].set, run.buffers[i].binding)
                    : run.buffers[i].name;
            fault.offset = offset;
            fault.message =
                fmt::format("{} at byte {}: {:#010x} with {}; {:#010x} with {}", fault.buffer,
                            offset, word(first[i].data(), first[i].size()), to_text(machines[0]),
                            word(memory.data(), memory.size()), to_text(machines[m]));
            all.faults.push_back(std::move(fault));
        }
    }
    for (std::size_t i = 0; i < run.buffers.size(); ++i)
        std::ranges::copy(first[i], run.buffers[i].memory.begin());
    all.passes = {run.name};
    return all;
}

}  // namespace lanewise::simulator
