// The host: Device, Executable, Binding. It knows no algorithm, as every host.

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>

#include "src/core/kernel_catalogue.hpp"
#include "src/core/passes.hpp"
#include "src/simulator/check_machine.hpp"
#include "src/simulator/engine.hpp"

namespace lanewise::simulator {

struct Device::State {
    Machine machine;
    Caps caps;
    std::map<std::string, std::shared_ptr<const detail::Program>>
        programs;  // by kernel and constants
};

struct Executable::State {
    std::shared_ptr<Device::State> device;
    Plan plan;
    std::vector<std::shared_ptr<const detail::Program>> programs;  // of the plan's passes
};

struct Binding::State {
    std::shared_ptr<Executable::State> executable;
    Buffers buffers;
    std::span<std::byte> count_memory;  // empty: the count is a number
    bool count_in_buffer = false;
    bool in_place = false;  // the output is the input
    std::uint64_t count = 0;
    Launch launch;
    std::vector<std::byte> state;
    std::vector<std::string> pass_names;

    std::uint32_t offset_words = 0;

    // By the count that a use finds: to the last byte, where bytes_needed() rounds up.
    std::uint64_t bytes_to_write(const Plan& plan, Role role) const {
        std::uint64_t found = count;
        if (count_in_buffer) {
            found = 0;
            std::memcpy(&found, count_memory.data(), count_memory.size());
            found = std::min(found, plan.max_count);
        }
        if (role == Role::offsets || role == Role::count_out) return ~std::uint64_t{0};
        std::uint64_t results = found;
        if (plan.argument(Role::count_out) != nullptr) {
            // The caller may have given less room than there are results.
            std::uint32_t told = 0;
            std::memcpy(&told, buffers.count_out.memory.data(), sizeof(told));
            results = std::min<std::uint64_t>(found, told);
        }
        if (role == Role::rejected) return (found - results) * plan.result_bytes;
        if (plan.max_results) results = std::min(results, *plan.max_results);
        if (role == Role::output && plan.segment_result_bytes != 0) {
            std::vector<std::uint32_t> offsets(offset_words);
            if (!offsets.empty())
                std::memcpy(offsets.data(), buffers.offsets.memory.data(), 4 * offsets.size());
            // Of segments that descend nothing is promised.
            if (offsets.empty() || !std::ranges::is_sorted(offsets)) return 0;
            return (offsets.size() - 1) * plan.segment_result_bytes;
        }
        const bool keys = role == plan.result;
        const std::uint32_t each = !keys                  ? plan.value_bytes
                                   : role == Role::output ? plan.result_bytes
                                                          : plan.element_bytes;
        return each == 0 ? ~std::uint64_t{0} : results * each;
    }
};

namespace {

template <class... Args>
tl::unexpected<Error> refuse(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
    return tl::unexpected(Error{code, fmt::format(format, std::forward<Args>(args)...), {}});
}

// The subgroup size that the machine admits to.
std::uint32_t told_size(const Machine& machine) {
    return machine.reported_subgroup_size != 0 ? machine.reported_subgroup_size
                                               : machine.subgroup_size;
}

// A device that lacks nothing; what can be partly populated cannot promise full subgroups.
Caps caps_of(const Machine& machine) {
    Caps caps;
    caps.api = Api::simulator;
    caps.device_name = fmt::format("simulator, subgroups of {}", machine.subgroup_size);
    caps.driver = "Lanewise simulator";
    caps.api_version_major = 1;
    caps.api_version_minor = 3;
    caps.subgroup.operations = 0xff;
    caps.subgroup.stages = Stage::compute;
    caps.subgroup.size = caps.subgroup.min_size = caps.subgroup.max_size = told_size(machine);
    caps.subgroup.size_is_true = machine.reported_subgroup_size == 0;
    const bool full = machine.populations.empty() && !machine.random_populations;
    caps.subgroup.required_size_stages = Stage::compute;
    caps.subgroup.full_subgroups = full;
    caps.subgroup.max_workgroup_subgroups = 256;
    caps.subgroup.extended_types = true;
    caps.limits.max_workgroup_invocations = 1024;
    caps.limits.max_workgroup_size_x = 1024;
    caps.limits.max_workgroup_memory = 65536;
    caps.limits.max_groups_x = caps.limits.max_groups_y = caps.limits.max_groups_z = 65535;
    caps.limits.max_storage_buffers = 64;
    caps.limits.max_storage_range = (std::uint64_t{1} << 32) - 1;
    caps.limits.storage_offset_alignment = 4;
    caps.limits.max_push_constants = 256;
    caps.types = {true, true, true, true, true, true, true};
    caps.device_addresses = true;
    caps.push_descriptors = true;
    caps.device_scope_barrier = true;
    caps.memory_model = true;
    caps.int64_atomics = true;
    return caps;
}

std::string program_key(const Pass& pass) {
    std::string key = pass.kernel;
    for (const Constant& constant : pass.constants)
        key += fmt::format(" {}={}", constant.id, constant.value);
    return key;
}

Result<void> check_pass(const Caps& caps, const Machine& machine, const Pass& pass) {
    const std::uint32_t size = pass.required_subgroup_size;
    if (size != 0 && (size < caps.subgroup.min_size || size > caps.subgroup.max_size)) {
        return refuse(ErrorCode::unsupported,
                      "pass {}: a subgroup size of {} is required, this device has {} to {}",
                      pass.name, size, caps.subgroup.min_size, caps.subgroup.max_size);
    }
    if (pass.full_subgroups && !caps.subgroup.full_subgroups) {
        return refuse(ErrorCode::unsupported,
                      "pass {}: full subgroups are required, this device does not promise them",
                      pass.name);
    }
    if (pass.full_subgroups &&
        pass.workgroup_size % (size != 0 ? size : machine.subgroup_size) != 0) {
        return refuse(ErrorCode::unsupported,
                      "pass {}: full subgroups of {} do not fill a workgroup of {}", pass.name,
                      size != 0 ? size : machine.subgroup_size, pass.workgroup_size);
    }
    if (pass.workgroup_size > caps.limits.max_workgroup_invocations ||
        pass.workgroup_size > caps.limits.max_workgroup_size_x) {
        return refuse(
            ErrorCode::limit_exceeded, "pass {}: max_workgroup_invocations is {}, {} are wanted",
            pass.name,
            std::min(caps.limits.max_workgroup_invocations, caps.limits.max_workgroup_size_x),
            pass.workgroup_size);
    }
    if (pass.workgroup_memory > caps.limits.max_workgroup_memory) {
        return refuse(ErrorCode::limit_exceeded,
                      "pass {}: max_workgroup_memory is {}, {} are wanted", pass.name,
                      caps.limits.max_workgroup_memory, pass.workgroup_memory);
    }
    return {};
}

// The module must not need more workgroup memory than the plan says.
Result<std::shared_ptr<const detail::Program>> make_pass_program(
    const Caps& caps, const Pass& pass, std::span<const std::uint32_t> words) {
    const auto module = spirv::Module::read(words);
    const auto failed = [&](const Error& error) {
        return refuse(ErrorCode::compile_failed, "pass {}: kernel {}: {}", pass.name, pass.kernel,
                      error.message);
    };
    if (!module) return failed(module.error());
    std::vector<spirv::Specialization> constants;
    for (const Constant& constant : pass.constants)
        constants.push_back({constant.id, constant.value});
    auto program = detail::make_program(*module, "main", constants);
    if (!program) return failed(program.error());
    if (program->workgroup_bytes > caps.limits.max_workgroup_memory) {
        return refuse(ErrorCode::limit_exceeded,
                      "pass {}: {} bytes of workgroup memory, max_workgroup_memory is {}",
                      pass.name, program->workgroup_bytes, caps.limits.max_workgroup_memory);
    }
    return std::make_shared<const detail::Program>(*std::move(program));
}

std::uint32_t newest_spirv(const Caps& caps) {
    if (caps.api_version_major > 1 || caps.api_version_minor >= 3) return 0x00010600;
    return caps.api_version_minor == 2 ? 0x00010500 : 0x00010300;
}

Result<std::shared_ptr<const detail::Program>> compile_pass(Device::State& device, const Plan& plan,
                                                            const Pass& pass,
                                                            const Bundle* bundle) {
    if (auto checked = check_pass(device.caps, device.machine, pass); !checked)
        return tl::unexpected(checked.error());
    // Kept are the built-in ones: a bundle may have others under the same names.
    const std::uint32_t version = newest_spirv(device.caps);
    const bool keep = bundle == nullptr || bundle->find(pass.kernel, version) == nullptr;
    const std::string key = program_key(pass);
    if (keep) {
        if (const auto found = device.programs.find(key); found != device.programs.end())
            return found->second;
    }
    const auto kernel = lanewise::detail::find_kernel(pass.kernel, version, bundle);
    if (!kernel) {
        return refuse(ErrorCode::unsupported, "pass {}: {}", pass.name,
                      lanewise::detail::no_kernel(plan, pass.kernel));
    }
    auto program = make_pass_program(device.caps, pass, kernel->words);
    if (program && keep) device.programs[key] = *program;
    return program;
}

}  // namespace

Result<Device> Device::create(const Machine& machine) { return create(machine, caps_of(machine)); }

Result<Device> Device::create(const Machine& machine, const Caps& caps) {
    if (auto checked = detail::check_machine(machine); !checked)
        return tl::unexpected(checked.error());
    const std::uint32_t told = told_size(machine);
    if (caps.subgroup.operations != 0 &&
        (told < caps.subgroup.min_size || told > caps.subgroup.max_size)) {
        return refuse(ErrorCode::bad_argument,
                      "machine: subgroup_size {} is not from {} to {}, as the caps say", told,
                      caps.subgroup.min_size, caps.subgroup.max_size);
    }
    auto state = std::make_shared<State>();
    state->machine = machine;
    state->caps = caps;
    state->caps.api = Api::simulator;
    return Device(std::move(state));
}

const Caps& Device::caps() const { return state_->caps; }
const Machine& Device::machine() const { return state_->machine; }

Result<Executable> Device::compile(const Plan& plan, const Bundle* bundle) const {
    auto state = std::make_shared<Executable::State>();
    state->device = state_;
    state->plan = plan;
    if (auto checked = lanewise::detail::check_ranges(plan); !checked)
        return tl::unexpected(checked.error());
    for (const Pass& pass : plan.passes) {
        auto program = compile_pass(*state_, plan, pass, bundle);
        if (!program) return tl::unexpected(program.error());
        state->programs.push_back(*std::move(program));
    }
    return Executable(std::move(state));
}

const Plan& Executable::plan() const { return state_->plan; }

Result<Binding> Executable::bind(const Buffers& buffers, Count count) const {
    const Plan& plan = state_->plan;
    auto state = std::make_shared<Binding::State>();
    state->executable = state_;
    state->buffers = buffers;
    if (const auto* in_buffer = std::get_if<CountBuffer>(&count)) {
        state->count_in_buffer = true;
        state->count = plan.max_count;
        state->count_memory = in_buffer->memory;
        const std::size_t wanted = plan.addressing == Addressing::device_address ? 8 : 4;
        if (in_buffer->memory.size() < wanted) {
            return refuse(ErrorCode::bad_argument, "count: {} bytes are given, {} needed",
                          in_buffer->memory.size(), wanted);
        }
        state->count_memory = in_buffer->memory.first(wanted);
        if (plan.argument(Role::scratch) == nullptr)
            return refuse(ErrorCode::unsupported,
                          "count: the plan does not take it from a buffer: give a number");
    } else {
        state->count = std::get<std::uint64_t>(count);
        if (state->count > plan.max_count) {
            return refuse(ErrorCode::limit_exceeded,
                          "count is {}, the plan's max_count {}: plan for more", state->count,
                          plan.max_count);
        }
    }
    struct Range {
        const char* name;
        std::span<std::byte> memory;
        bool written;
    };
    std::vector<Range> ranges;
    const std::pair<Role, Buffer*> given[] = {{Role::input, &state->buffers.input},
                                              {Role::output, &state->buffers.output},
                                              {Role::scratch, &state->buffers.scratch},
                                              {Role::values, &state->buffers.values},
                                              {Role::values_out, &state->buffers.values_out},
                                              {Role::offsets, &state->buffers.offsets},
                                              {Role::flags, &state->buffers.flags},
                                              {Role::keys, &state->buffers.keys},
                                              {Role::rejected, &state->buffers.rejected},
                                              {Role::count_out, &state->buffers.count_out}};
    for (const auto& [role, buffer] : given) {
        const Argument* argument = plan.argument(role);
        if (argument == nullptr) {
            if (!buffer->memory.empty())
                return refuse(ErrorCode::bad_argument,
                              "{}: the plan has no such buffer: leave it empty", to_text(role));
            continue;
        }
        std::uint64_t needed =
            state->count_in_buffer ? argument->bytes : bytes_needed(plan, role, state->count);
        if (buffer->memory.size() < needed) {
            return refuse(ErrorCode::bad_argument, "{}: {} bytes are given, {} needed for {} items",
                          to_text(role), buffer->memory.size(), needed, state->count);
        }
        needed = lanewise::detail::used_bytes(plan, role, needed, buffer->memory.size());
        // Not a byte more than is promised: kernels that reach further are found.
        buffer->memory = buffer->memory.first(needed);
        if (buffer->offset % argument->alignment != 0) {
            return refuse(ErrorCode::bad_argument, "{}: offset {} is no multiple of {}",
                          to_text(role), buffer->offset, argument->alignment);
        }
        ranges.push_back({to_text(role), buffer->memory, argument->access != Access::read});
    }
    state->in_place = plan.in_place && !state->buffers.input.memory.empty() &&
                      state->buffers.input.memory.data() == state->buffers.output.memory.data();
    if (state->count_in_buffer) ranges.push_back({"count", state->count_memory, false});
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        for (std::size_t j = 0; j < i; ++j) {
            const Range& a = ranges[i];
            const Range& b = ranges[j];
            if ((!a.written && !b.written) || a.memory.empty() || b.memory.empty()) continue;
            if (state->in_place && a.memory.data() == b.memory.data()) continue;
            const std::less<const std::byte*> before;
            if (before(a.memory.data(), b.memory.data() + b.memory.size()) &&
                before(b.memory.data(), a.memory.data() + a.memory.size()))
                return refuse(ErrorCode::bad_argument, "{} and {} overlap", b.name, a.name);
        }
    }
    state->launch = share_out(plan.share, state->count);
    state->offset_words = static_cast<std::uint32_t>(state->buffers.offsets.memory.size() / 4);
    state->state.assign(plan.state_bytes, std::byte{0});
    for (const Pass& pass : plan.passes) {
        if (pass.when == When::always || state->count_in_buffer)
            state->pass_names.push_back(pass.name);
    }
    return Binding(std::move(state));
}

const std::vector<std::string>& Binding::pass_names() const { return state_->pass_names; }

Result<Report> Binding::run() const { return run(state_->executable->device->machine.seed); }

Result<Report> Binding::run(std::uint64_t seed) const {
    const Executable::State& executable = *state_->executable;
    const Plan& plan = executable.plan;
    Machine machine = executable.device->machine;
    machine.seed = seed;
    const Caps& caps = executable.device->caps;
    detail::Engine engine(machine);

    constexpr std::size_t kRoles = lanewise::detail::kRoles;
    std::array<detail::MemoryObject, kRoles> objects;
    const auto object = [&](Role role) -> detail::MemoryObject& {
        if (state_->in_place && role == Role::output) role = Role::input;
        return objects[static_cast<std::size_t>(role)];
    };
    object(Role::output).reset(state_->buffers.output.memory, false);
    object(Role::input).reset(state_->buffers.input.memory, true);
    object(Role::scratch).reset(state_->buffers.scratch.memory, false);
    object(Role::values).reset(state_->buffers.values.memory, true);
    object(Role::values_out).reset(state_->buffers.values_out.memory, false);
    object(Role::flags).reset(state_->buffers.flags.memory, true);
    object(Role::keys).reset(state_->buffers.keys.memory, true);
    object(Role::rejected).reset(state_->buffers.rejected.memory, false);
    object(Role::count_out).reset(state_->buffers.count_out.memory, false);
    const auto is_written = [&](Role role) {
        const Argument* argument = plan.argument(role);
        return argument != nullptr && argument->access != Access::read;
    };
    object(Role::offsets).reset(state_->buffers.offsets.memory, !is_written(Role::offsets));
    object(Role::state).reset(state_->state, true);
    object(Role::count).reset(state_->count_memory, true);
    // Narrow items share words: what stands behind the last of them in its word is the caller's,
    // and kernels write it back. Where only the plan says how many there are, any word may be that
    // one.
    if (plan.argument(Role::count_out) == nullptr) {
        const std::uint64_t result_bytes = state_->bytes_to_write(plan, plan.result);
        std::vector<std::uint8_t>& written = object(plan.result).known;
        if (result_bytes % 4 != 0 && result_bytes < written.size()) {
            const auto word = written.begin() + static_cast<std::ptrdiff_t>(result_bytes / 4 * 4);
            std::fill(word, std::min(word + 4, written.end()), std::uint8_t{1});
        }
    } else if (plan.result_bytes % 4 != 0) {
        for (const Role role : {plan.result, Role::rejected})
            std::ranges::fill(object(role).known, std::uint8_t{1});
    }
    object(Role::input).writable = state_->in_place || is_written(Role::input);
    object(Role::values).writable = is_written(Role::values);
    object(Role::offsets).writable = is_written(Role::offsets);
    object(Role::flags).writable = false;
    object(Role::keys).writable = false;
    object(Role::count).writable = false;
    // Lanes without a value may leave what they hold in scratch, as long as nobody uses it.
    object(Role::scratch).report_undefined = false;
    for (std::size_t i = 0; i < kRoles; ++i) objects[i].name = to_text(static_cast<Role>(i));
    // Ranges of scratch are as far apart as buffers, so that what goes past the end of one is
    // found.
    std::vector<std::pair<PassBuffer, detail::View>> views;
    const auto view_of = [&](const PassBuffer& buffer) -> const detail::View& {
        const auto found =
            std::ranges::find(views, buffer, &std::pair<PassBuffer, detail::View>::first);
        if (found != views.end()) return found->second;
        detail::View view(object(buffer.role));
        if (buffer.bytes != 0) {
            view.begin = buffer.offset;
            view.bytes = buffer.bytes;
        }
        // Far apart, and no address is that of another shifted by a few bits.
        view.address = (views.size() + 1) * 0x0000010300000000ull + 0x1000 + view.begin;
        engine.addressable.push_back(view);
        return views.emplace_back(buffer, view).second;
    };
    // All from the start: an address that a pass leaves for another leads somewhere.
    for (const Pass& pass : plan.passes) {
        for (const PassBuffer& buffer : pass.bindings) view_of(buffer);
    }

    // Kernels from WGSL have their parameters in a uniform buffer, group 1 binding 0.
    detail::MemoryObject uniform;
    uniform.name = "parameters";

    const auto start = std::chrono::steady_clock::now();
    Report report;
    for (std::size_t p = 0; p < plan.passes.size(); ++p) {
        const Pass& pass = plan.passes[p];
        if (pass.when == When::count_in_buffer && !state_->count_in_buffer) continue;
        report.passes.push_back(pass.name);
        const detail::Program& program = *executable.programs[p];
        if (pass.waits) engine.barrier_between_dispatches();
        const bool shared = pass.groups == Groups::share;
        const bool indirect = shared && state_->count_in_buffer;
        const Launch& launch = state_->launch;

        detail::Dispatch dispatch;
        dispatch.program = &program;
        dispatch.pass = pass.name;
        dispatch.subgroup_size =
            pass.required_subgroup_size != 0 && machine.reported_subgroup_size == 0
                ? pass.required_subgroup_size
                : machine.subgroup_size;
        dispatch.full_subgroups = pass.full_subgroups;
        std::optional<std::size_t> uniform_at;
        for (const detail::BindingSlot& slot : program.bindings) {
            if (slot.set == 1 && slot.binding == 0 && slot.uniform) {
                uniform_at = dispatch.bindings.size();
                dispatch.bindings.emplace_back();
                continue;
            }
            if (slot.set != 0 || slot.binding >= pass.bindings.size()) {
                return refuse(ErrorCode::compile_failed,
                              "pass {}: the kernel has binding {}.{}, the plan {} bindings",
                              pass.name, slot.set, slot.binding, pass.bindings.size());
            }
            dispatch.bindings.push_back(view_of(pass.bindings[slot.binding]));
        }
        std::vector<std::byte> constants(
            lanewise::detail::kParameterBytes +
            (plan.addressing == Addressing::device_address ? 8 * pass.bindings.size() : 0));
        if (constants.size() < program.push_constant_bytes) {
            return refuse(ErrorCode::compile_failed,
                          "pass {}: the kernel reads {} bytes of parameters, {} are given",
                          pass.name, program.push_constant_bytes, constants.size());
        }
        const std::uint32_t dispatches = shared ? launch.dispatches : 1;
        for (std::uint32_t d = 0; d < dispatches && !engine.stopped; ++d) {
            const std::uint32_t first = shared ? d * plan.share.max_groups : 0;
            lanewise::detail::Parameters parameters = lanewise::detail::parameters_of(launch);
            parameters.first_group = first;
            parameters.offset_words = state_->offset_words;
            if (state_->count_in_buffer) parameters.flags = lanewise::detail::kCountInBuffer;
            std::memcpy(constants.data(), &parameters, sizeof parameters);
            if (plan.addressing == Addressing::device_address) {
                for (std::size_t i = 0; i < pass.bindings.size(); ++i) {
                    const std::uint64_t address = view_of(pass.bindings[i]).address;
                    std::memcpy(constants.data() + sizeof parameters + 8 * i, &address, 8);
                }
            }
            if (uniform_at && state_->count_in_buffer) {
                // The host of such a kernel copies the share out of scratch.
                std::memcpy(constants.data(), object(Role::scratch).bytes.data(),
                            lanewise::detail::kShareBytes);
            }
            if (uniform_at) {
                uniform.reset(constants, true);
                uniform.writable = false;
                dispatch.bindings[*uniform_at] = detail::View(uniform);
            }
            dispatch.push_constants = constants;
            dispatch.groups = {shared ? std::min(plan.share.max_groups, launch.groups - first) : 1u,
                               1u, 1u};
            if (indirect) {
                detail::MemoryObject& scratch = object(Role::scratch);
                const std::uint64_t at = plan.indirect_offset + std::uint64_t{16} * d;
                if (at + 12 > scratch.bytes.size())
                    return refuse(ErrorCode::bad_argument,
                                  "pass {}: scratch has no room for indirect arguments", pass.name);
                std::memcpy(dispatch.groups.data(), scratch.bytes.data() + at, 12);
                Fault fault;
                fault.pass = pass.name;
                fault.buffer = "scratch";
                fault.offset = at;
                if (!std::all_of(scratch.known.begin() + static_cast<std::ptrdiff_t>(at),
                                 scratch.known.begin() + static_cast<std::ptrdiff_t>(at + 12),
                                 [](std::uint8_t known) { return known != 0; })) {
                    fault.kind = FaultKind::uninitialized_read;
                    fault.message =
                        fmt::format("arguments of indirect dispatch {} were never written", d);
                    engine.faults.push_back(fault);
                    continue;
                }
                if (dispatch.groups[0] > caps.limits.max_groups_x ||
                    dispatch.groups[1] > caps.limits.max_groups_y ||
                    dispatch.groups[2] > caps.limits.max_groups_z) {
                    fault.kind = FaultKind::out_of_bounds;
                    fault.message =
                        fmt::format("indirect dispatch of {} x {} x {} workgroups, above the limit",
                                    dispatch.groups[0], dispatch.groups[1], dispatch.groups[2]);
                    engine.faults.push_back(fault);
                    continue;
                }
            }
            if (auto checked = detail::check_size(machine, dispatch); !checked)
                return tl::unexpected(checked.error());
            if (std::uint64_t{dispatch.groups[0]} * dispatch.groups[1] * dispatch.groups[2] != 0)
                engine.run(dispatch);
        }
        if (engine.stopped) break;
    }
    const bool by_turns = plan.result == Role::input;
    for (const Role role : {plan.result, by_turns ? Role::values : Role::values_out, Role::offsets,
                            Role::rejected, Role::count_out}) {
        const detail::MemoryObject& result = object(role);
        const auto promised =
            result.known.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(
                                       state_->bytes_to_write(plan, role), result.known.size()));
        const auto unwritten = std::find(result.known.begin(), promised, 0);
        if (unwritten == promised || engine.stopped || machine.starved_for_ever) continue;
        Fault fault;
        fault.kind = FaultKind::uninitialized_read;
        fault.pass = report.passes.empty() ? "" : report.passes.back();
        fault.buffer = result.name;
        fault.offset = static_cast<std::uint64_t>(unwritten - result.known.begin());
        fault.message = fmt::format("byte {} of the {} was never written", fault.offset,
                                    role == Role::output ? "output" : to_text(role));
        engine.faults.push_back(std::move(fault));
    }
    report.seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    report.faults = std::move(engine.faults);
    report.instructions = engine.instructions;
    report.invocation_instructions = engine.invocation_instructions;
    return report;
}

}  // namespace lanewise::simulator
