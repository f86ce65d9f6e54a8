// A SPIR-V module, read once into tables: types, constants, decorations, functions with their
// structured control flow, and where each instruction came from. The simulator and lint share it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lanewise/error.hpp"

namespace lanewise::spirv {

using Id = std::uint32_t;

// Where an instruction came from, by debug information; line 0: unknown.
struct Line {
    Id file = 0;  // of an OpString
    std::uint32_t line = 0;
    std::uint32_t column = 0;
};

struct Instruction {
    spv::Op op = spv::Op::OpNop;
    Id type = 0;
    Id result = 0;
    std::span<const std::uint32_t> operands;  // the words after type and result
    Line line;
    std::uint32_t position = 0;  // in the module, counted in instructions
};

enum class TypeKind : std::uint8_t {
    none,
    boolean,
    integer,
    floating,
    vector,
    matrix,
    array,
    runtime_array,
    structure,
    pointer,
    function,
    opaque,  // images, samplers and all else that holds no plain value
};

struct Type {
    TypeKind kind = TypeKind::none;
    Id id = 0;
    std::uint32_t width = 0;  // bits of integers and floats
    bool is_signed = false;
    Id element = 0;           // of vectors (component), matrices (column), arrays, pointers
    std::uint32_t count = 0;  // components of a vector, columns of a matrix
    Id length = 0;            // constant that holds the length of an array
    std::vector<Id> members;
    spv::StorageClass storage = spv::StorageClass::Function;  // of pointers
};

struct Decoration {
    spv::Decoration kind;
    std::vector<std::uint32_t> literals;
};

struct Block {
    Id label = 0;
    std::vector<Instruction> body;  // without label and merge; the terminator is last
    Id merge = 0;                   // declared by OpSelectionMerge or OpLoopMerge
    Id continue_target = 0;         // of loop headers
};

struct Function {
    Id id = 0;
    Id result_type = 0;
    std::vector<Instruction> parameters;
    std::vector<Block> blocks;
};

struct EntryPoint {
    spv::ExecutionModel model = spv::ExecutionModel::GLCompute;
    Id function = 0;
    std::string name;
    std::vector<Id> interface;
};

struct ExecutionMode {
    Id entry_point = 0;
    spv::ExecutionMode mode;
    std::vector<std::uint32_t> operands;
};

class Module {
public:
    // Checks the words with SPIRV-Tools' validator, then reads them. bad_argument with the
    // validator's words when they are no valid module for Vulkan.
    static Result<Module> read(std::span<const std::uint32_t> words);
    static Result<Module> read_bytes(std::span<const std::byte> bytes);

    Module(Module&&) = default;
    Module& operator=(Module&&) = default;

    std::uint32_t version = 0;  // 0x00010300 for 1.3
    std::vector<spv::Capability> capabilities;
    std::vector<std::string> extensions;
    std::unordered_map<Id, std::string> imports;  // sets of extended instructions
    spv::AddressingModel addressing = spv::AddressingModel::Logical;
    spv::MemoryModel memory_model = spv::MemoryModel::GLSL450;
    std::vector<EntryPoint> entry_points;
    std::vector<ExecutionMode> execution_modes;
    std::unordered_map<Id, std::string> strings;
    std::unordered_map<Id, std::string> names;
    std::map<std::pair<Id, std::uint32_t>, std::string> member_names;
    std::unordered_map<Id, std::vector<Decoration>> decorations;
    std::map<std::pair<Id, std::uint32_t>, std::vector<Decoration>> member_decorations;
    std::unordered_map<Id, Type> types;
    std::vector<Instruction> constants;  // and OpUndef, in module order
    std::vector<Instruction> variables;  // of module scope
    std::vector<Function> functions;
    std::unordered_map<Id, std::size_t> function_index;

    // One of kind `none` where no type has this id.
    const Type& type(Id id) const;
    const Decoration* decoration(Id id, spv::Decoration kind) const;
    const Decoration* member_decoration(Id id, std::uint32_t member, spv::Decoration kind) const;
    bool has(spv::Capability capability) const;
    // The name that debug information gives; "%17" where it gives none.
    std::string name(Id id) const;
    std::string file(const Line& line) const;

private:
    Module() = default;
    friend struct Reader;
    std::vector<std::uint32_t> words_;  // what the instructions' operands point into
};

// The words of a module given as SPIR-V assembly; its version is that of its comment
// "; Version: 1.5", else 1.3. What stands before a line "; SPIR-V" is left out. bad_argument with
// the line and the assembler's words.
Result<std::vector<std::uint32_t>> assemble(std::string_view text);

// "OpIAdd"; "Op9999" for what SPIRV-Tools does not know.
std::string op_name(spv::Op op);

// Reads a literal string from words.
std::string literal_string(std::span<const std::uint32_t> words);

}  // namespace lanewise::spirv
