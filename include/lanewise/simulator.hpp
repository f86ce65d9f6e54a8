// The simulator host: executes plans, and any compute shader in SPIR-V, on a described device, and
// checks what they do. It needs no GPU. A Machine says what the device is like where the APIs leave
// it open (subgroup size, lane order, schedules, reconvergence); the same four verbs as on Vulkan:
//
//   auto device = lanewise::simulator::Device::create({.subgroup_size = 64});
//   auto plan   = lanewise::plan_reduce(device->caps(), {.max_count = n});
//   auto sum    = device->compile(*plan);
//   auto use    = sum->bind({.input = in, .output = out, .scratch = scratch}, n);
//   auto report = use->run();          // report->faults is empty when nothing was found
//
// Threads: objects made from different Devices are independent; those of one Device are used by one
// thread at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "lanewise/bundle.hpp"
#include "lanewise/caps.hpp"
#include "lanewise/error.hpp"
#include "lanewise/plan.hpp"

namespace lanewise::simulator {

enum class LaneOrder : std::uint8_t {
    linear,       // lane order follows the local invocation index
    reversed,     // within each subgroup
    column_wise,  // by column where the workgroup has two dimensions; else strided over subgroups
    random,       // any invocation may be any lane of any subgroup
};

enum class Order : std::uint8_t { in_order, reversed, random };

enum class Schedule : std::uint8_t {
    in_order,  // one runs until it ends or waits, then the next
    reversed,
    round_robin,  // `quantum` instructions each
    random,       // any that can run, for a random number of instructions up to `quantum`
};

enum class OutOfBounds : std::uint8_t {
    zero,   // reads give 0, writes are dropped
    clamp,  // the nearest place inside is used
    trap,   // the run ends
};

// Where lanes that took different branches run together again.
enum class Reconvergence : std::uint8_t {
    maximal,           // at every merge block (VK_KHR_shader_maximal_reconvergence)
    subgroup_uniform,  // where the whole subgroup reached the header together and left through the
                       // merge block (VK_KHR_shader_subgroup_uniform_control_flow)
    weakest,           // where the whole workgroup did (core SPIR-V)
};

struct Machine {
    // Lanes of a subgroup: a power of two, 4 to 128. A pass that requires a size gets that one.
    std::uint32_t subgroup_size = 32;
    // Lanes that are populated in the first, second ... subgroup, over and over; empty: all. A
    // pipeline that requires full subgroups gets them where the workgroup is a multiple.
    std::vector<std::uint32_t> populations;
    // Every subgroup has a random population from 1 to all (by `seed`).
    bool random_populations = false;
    // Absent lanes are any of the subgroup, not the last.
    bool scattered_lanes = false;
    LaneOrder lane_order = LaneOrder::linear;
    Order subgroup_ids = Order::in_order;  // which part of the workgroup is subgroup 0, 1, ...
    Schedule workgroups = Schedule::in_order;
    Schedule subgroups = Schedule::in_order;
    std::uint32_t quantum = 64;             // instructions
    std::uint32_t resident_workgroups = 8;  // that may be under way at a time
    // Workgroups (by linear number in a dispatch) that run only when no other can; with
    // `starved_for_ever` they do not run at all, and the run ends when only they are left.
    std::vector<std::uint32_t> starved;
    bool starved_for_ever = false;
    // A starved workgroup first runs this many instructions: long enough to promise what others
    // then wait for.
    std::uint64_t starve_after = 0;
    OutOfBounds out_of_bounds = OutOfBounds::zero;
    Reconvergence reconvergence = Reconvergence::subgroup_uniform;
    // Report subgroup operations that not all lanes of the subgroup reach together: WGSL forbids
    // them, SPIR-V gives them a meaning.
    bool uniform_subgroup_operations = false;
    // What the shader and the caps say instead of the true size, which no pass can then choose; 0:
    // the truth. For devices that lie.
    std::uint32_t reported_subgroup_size = 0;
    // Lanes from this one on never run, although invocations are theirs, and nobody waits for them;
    // 0: all run. For devices that lie.
    std::uint32_t running_lanes = 0;
    std::uint64_t seed = 1;
    // Instructions of one run, each counted once for all lanes that execute it together, and once
    // more for every 16 scalars of its value; more are a fault of kind no_progress.
    std::uint64_t max_instructions = std::uint64_t{1} << 30;
    // Different faults to keep; repetitions of one are counted only.
    std::uint32_t max_faults = 64;
    bool check_races = true;

    bool operator==(const Machine&) const = default;
};

enum class FaultKind : std::uint8_t {
    out_of_bounds,
    misaligned,
    uninitialized_read,  // memory that nobody wrote, or a value that comes from it
    race,                // two accesses that nothing orders, one of them a write
    divergent_barrier,   // a control barrier that only a part of those who must have reached
    divergent_subgroup_operation,
    inactive_lane,  // use of a value shuffled or broadcast from a lane that is not active
    no_progress,    // deadlock, or more instructions than Machine::max_instructions
    division_by_zero,
    shift_out_of_range,
    unreachable,         // OpUnreachable was executed
    write_to_read_only,  // storage that the shader or plan declares as not written
    different_results,   // runs on several machines that do not agree; from compare()
};

struct SourceLine {
    std::string file;  // empty without debug information
    std::uint32_t line = 0;
    std::string function;
    std::string instruction;  // "OpLoad"
};

struct Fault {
    FaultKind kind = FaultKind::out_of_bounds;
    std::string message;  // what happened, with the values; one line, without the place
    std::string pass;
    SourceLine at;
    SourceLine other;  // the second access of a race, the use of an undefined value
    std::array<std::uint32_t, 3> workgroup{};
    std::array<std::uint32_t, 3> local_invocation{};
    std::uint32_t subgroup = 0;
    std::uint32_t lane = 0;
    std::string buffer;        // "input", "binding 0.1", "workgroup memory"; empty: no memory
    std::uint64_t offset = 0;  // bytes in it
    std::uint64_t times = 1;   // how often this fault happened at this place
};

const char* to_text(FaultKind kind);
const char* to_text(LaneOrder order);
const char* to_text(Order order);
const char* to_text(Schedule schedule);
const char* to_text(OutOfBounds behaviour);
const char* to_text(Reconvergence level);
// One line: place, kind, message, invocation.
std::string to_text(const Fault& fault);
// One line: "subgroups of 32, ... seed 7".
std::string to_text(const Machine& machine);

struct Report {
    std::vector<Fault> faults;
    std::uint64_t instructions = 0;             // as Machine::max_instructions counts them
    std::uint64_t invocation_instructions = 0;  // each counted for every lane that executed it
    double seconds = 0.0;
    std::vector<std::string> passes;  // in the order in which they ran
};

// Host memory that a shader sees. Bytes of the input and of values count as written.
struct Buffer {
    std::span<std::byte> memory;
    // In bytes, where it begins in the buffer that it stands for: what alignments are held against.
    std::uint64_t offset = 0;
};

// By role; those that the plan does not name stay empty.
struct Buffers {
    Buffer input;
    Buffer output;
    Buffer scratch;
    Buffer values;
    Buffer values_out;
    Buffer offsets;
    Buffer flags;
    Buffer keys;
    Buffer rejected;
    Buffer count_out;
};

// The number of items in memory: u32, or u64 in plans with Addressing::device_address.
struct CountBuffer {
    std::span<std::byte> memory;
};

using Count = std::variant<std::uint64_t, CountBuffer>;

class Executable;
class Binding;

class Device {
public:
    // A device that has everything, with the machine's subgroups. bad_argument for an impossible
    // machine.
    static Result<Device> create(const Machine& machine = {});
    // The same with limits and features from `caps`, whose subgroup sizes must allow the machine's,
    // or the one that it reports.
    static Result<Device> create(const Machine& machine, const Caps& caps);

    const Caps& caps() const;
    const Machine& machine() const;

    // Errors: unsupported (the plan asks for what the caps lack, or for a kernel that this build
    // has not), limit_exceeded, compile_failed (a kernel that the simulator cannot run). `bundle`
    // has the kernels of custom operators (lanewise/jit.hpp makes them); a kernel named like a
    // built-in one takes its place.
    Result<Executable> compile(const Plan& plan, const Bundle* bundle = nullptr) const;

    struct State;

private:
    explicit Device(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

class Executable {
public:
    const Plan& plan() const;
    // Checks as the Vulkan host does. The memory must outlive the binding.
    Result<Binding> bind(const Buffers& buffers, Count count) const;

    struct State;

private:
    friend class Device;
    explicit Executable(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

class Binding {
public:
    const std::vector<std::string>& pass_names() const;
    // Runs the passes. Output and scratch count as never written when it begins. Faults are data;
    // an error is a run that could not be made. A seed of its own makes other random choices than
    // the machine's.
    Result<Report> run() const;
    Result<Report> run(std::uint64_t seed) const;

    struct State;

private:
    friend class Executable;
    explicit Binding(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

// One dispatch of any compute shader.
struct ShaderBuffer {
    std::uint32_t set = 0;
    std::uint32_t binding = 0;
    std::span<std::byte> memory;
    bool initialized = true;
    std::string name;  // for faults; empty: "binding SET.BINDING"
    // Where it lies for shaders that use device addresses; 0: nowhere.
    std::uint64_t address = 0;
};

struct ShaderConstant {
    std::uint32_t id = 0;
    std::uint64_t bits = 0;
};

struct ShaderRun {
    std::span<const std::uint32_t> module;
    std::string entry_point = "main";
    std::string name = "shader";  // Fault::pass
    std::array<std::uint32_t, 3> workgroups{1, 1, 1};
    std::vector<ShaderBuffer> buffers;
    std::vector<std::byte> push_constants;
    std::vector<ShaderConstant> constants;
    bool full_subgroups = false;  // required of the pipeline
};

// A buffer or constant block that a shader declares, for tools that provide them.
struct ShaderInterface {
    struct Block {
        std::uint32_t set = 0;
        std::uint32_t binding = 0;
        std::string name;
        bool uniform = false;
        bool written = true;             // not decorated NonWritable
        std::uint64_t bytes = 0;         // of the part with a fixed size
        std::uint64_t array_stride = 0;  // of the runtime array at its end; 0: none
    };
    std::vector<Block> blocks;
    std::uint64_t push_constant_bytes = 0;
    std::array<std::uint32_t, 3> workgroup_size{1, 1, 1};
};

// The words of a module given as SPIR-V assembly, as spirv-dis, Tint and Dawn print it; its version
// is that of its comment "; Version: 1.5", else 1.3. bad_argument with the line.
Result<std::vector<std::uint32_t>> assemble(std::string_view text);

Result<ShaderInterface> inspect(std::span<const std::uint32_t> module,
                                std::string_view entry_point = "main",
                                std::span<const ShaderConstant> constants = {});

Result<Report> run_shader(const Machine& machine, const ShaderRun& run);

// Runs the shader on every machine from the same initial memory and adds a fault of kind
// different_results for each buffer whose bytes differ from the first machine's. The buffers end
// with what the first machine wrote.
Result<Report> compare(std::span<const Machine> machines, const ShaderRun& run);

}  // namespace lanewise::simulator
