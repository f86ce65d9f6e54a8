// A shader made ready to run: every instruction decoded once into a Code, with its operands as
// places in the register file and its types as layouts.
//
// Registers: every value of the shader has its own place, since SPIR-V functions do not recurse; so
// have the variables of the storage classes Function, Private and Input. A place ("slot") holds one
// scalar of all lanes side by side, 64 bits each: integers zero-extended, floats as their bits,
// booleans 0 or 1. Constants lie in a table of their own, and have negative numbers.
//
// Pointers are 64 bits. To registers: the number of a slot. To buffers and workgroup memory: the
// number of an object and an offset. To physical storage: a plain address.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "src/spirv/constants.hpp"
#include "src/spirv/module.hpp"

namespace lanewise::simulator::detail {

class Context;
struct Code;
using Handler = void (*)(Context&, const Code&);

// A place: a slot of the register file, or ~index into the constants.
using Place = std::int32_t;
inline constexpr Place kNoPlace = INT32_MIN;

enum class CodeKind : std::uint8_t {
    plain,
    branch,              // extra: edge
    branch_conditional,  // operand 0: condition; extra, aux: edges
    branch_switch,       // operand 0: selector; extra: table
    call,                // extra: function; aux: list of parameter moves
    return_,             // operand 0, count: value, where there is one
    control_barrier,     // operand 0: execution scope, 1: memory scope, 2: semantics
    unreachable,
};

// How undefinedness travels from operands to result.
enum class Flow : std::uint8_t {
    clean,  // the result is defined
    each,   // component by component; operands of one component go to all
    all,    // any component of any operand spoils all of the result
    self,   // the handler sees to it
};

struct Code {
    Handler run = nullptr;
    spv::Op op = spv::Op::OpNop;
    CodeKind kind = CodeKind::plain;
    Flow flow = Flow::clean;
    std::uint8_t width = 32;  // bits of the operands' scalars
    std::uint32_t count = 0;  // slots of the result
    Place result = kNoPlace;
    std::array<Place, 4> operand{kNoPlace, kNoPlace, kNoPlace, kNoPlace};
    std::array<std::uint32_t, 4> size{};  // slots of each operand
    std::uint32_t extra = 0;              // by handler: an index into a table, or a number
    std::uint32_t aux = 0;
};

// Where a scalar of a type lies in memory.
struct Leaf {
    std::uint32_t offset = 0;
    std::uint8_t bytes = 4;
};

// A load or store through bytes.
struct Layout {
    std::vector<Leaf> leaves;
    std::uint32_t bytes = 0;  // from the first to past the last
    std::uint32_t alignment =
        1;                    // that the access promises: of its largest scalar, or as decorated
    bool contiguous = false;  // 32-bit leaves without gaps
};

struct ChainStep {
    Place index = kNoPlace;
    std::uint8_t width = 32;  // of the index
    bool is_signed = true;
    std::uint64_t stride = 0;  // bytes, or slots
    std::uint64_t length = 0;  // 0: not known here
};

struct Chain {
    std::uint64_t offset = 0;  // of the constant indices together
    std::vector<ChainStep> steps;
};

// Where a pointer points.
enum class Space : std::uint8_t { registers, objects, physical };

struct Move {
    Place from = kNoPlace;
    Place to = kNoPlace;
    std::uint32_t count = 0;
};

struct Edge {
    std::uint32_t block = 0;
    std::vector<Move> phis;  // all read before any is written
};

struct SwitchTable {
    std::uint32_t fallback = 0;  // edge
    std::map<std::uint64_t, std::uint32_t> cases;
};

struct CodeBlock {
    std::uint32_t first = 0;  // code
    std::uint32_t function = 0;
    bool has_merge = false;
    bool is_loop = false;
    std::uint32_t merge = 0;  // blocks
    std::uint32_t continue_target = 0;
};

struct CodeFunction {
    std::uint32_t entry = 0;  // block
    std::string name;
    std::vector<Place> parameters;
    std::vector<std::uint32_t> parameter_slots;
    // Variables: marked as never written, or set, whenever the function is entered.
    std::vector<Move> variables;  // from: initialiser or kNoPlace
};

struct CodeLine {
    std::uint32_t file = 0;  // index into Program::files
    std::uint32_t line = 0;
    std::uint32_t function = 0;
};

enum class BuiltIn : std::uint8_t {
    num_workgroups,
    workgroup_size,
    workgroup_id,
    local_invocation_id,
    global_invocation_id,
    local_invocation_index,
    subgroup_size,
    num_subgroups,
    subgroup_id,
    subgroup_lane,
    mask_eq,
    mask_ge,
    mask_gt,
    mask_le,
    mask_lt,
    zero,
};

struct BuiltInVariable {
    BuiltIn what = BuiltIn::zero;
    Place slot = 0;
    std::uint32_t count = 1;
};

struct BindingSlot {
    std::uint32_t set = 0;
    std::uint32_t binding = 0;
    std::string name;
    bool uniform = false;
    bool writable = true;
    std::uint64_t fixed_bytes = 0;
    std::uint64_t array_stride = 0;
};

// Objects by number; bindings follow from kFirstBinding on.
inline constexpr std::uint64_t kWorkgroupObject = 1;
inline constexpr std::uint64_t kPushConstantObject = 2;
inline constexpr std::uint64_t kFirstBinding = 3;
inline constexpr unsigned kObjectShift = 48;
inline constexpr std::uint64_t kOffsetMask = (std::uint64_t{1} << kObjectShift) - 1;
// A pointer that an access chain took out of its array: the rest is a number in the engine's table.
inline constexpr std::uint64_t kBadPointer = std::uint64_t{1} << 63;

struct Program {
    std::vector<Code> code;
    std::vector<CodeLine> lines;  // by code
    std::vector<std::string> files;
    std::vector<CodeBlock> blocks;
    std::vector<CodeFunction> functions;
    std::vector<Edge> edges;
    std::vector<SwitchTable> switches;
    std::vector<Layout> layouts;
    std::vector<Chain> chains;
    std::vector<std::vector<Place>> lists;
    std::vector<std::vector<Move>> move_lists;
    std::vector<std::uint64_t> constants;
    std::vector<BuiltInVariable> builtins;
    std::vector<Move> private_variables;
    std::vector<Move> undefined_slots;  // never written by anybody
    struct WorkgroupVariable {
        std::string name;
        std::uint64_t offset = 0;
        std::uint64_t bytes = 0;
    };
    std::vector<WorkgroupVariable> workgroup_variables;
    std::vector<BindingSlot> bindings;
    std::uint32_t slots = 0;
    std::uint32_t entry = 0;  // function
    std::uint32_t workgroup_bytes = 0;
    std::uint32_t push_constant_bytes = 0;
    std::array<std::uint32_t, 3> workgroup_size{1, 1, 1};
    bool uses_subgroup_operations = false;
};

// Errors: bad_argument (no such entry point, not a compute shader), unsupported (names the
// instruction or type that the simulator cannot run).
Result<Program> make_program(const spirv::Module& module, std::string_view entry_point,
                             std::span<const spirv::Specialization> specialization);

// Handlers by instruction; null: not supported. Widths are of the operands' scalars.
Handler arithmetic_handler(spv::Op op, std::uint32_t width);
// Conversions: from `in` bits to `out` bits.
Handler conversion_handler(spv::Op op, std::uint32_t in, std::uint32_t out);
Handler glsl_handler(std::uint32_t instruction, std::uint32_t width);

}  // namespace lanewise::simulator::detail
