// libFuzzer target for the SPIR-V reader and the simulator: any words are either refused with one
// clear line, or run to an end within bounds of time and memory.
//
// An input is a module and nothing else, so that seeds are compiled shaders and a crash is a file
// for `lanewise check`. What the machine is like is taken from the header's generator word, which
// nobody reads. Most random bytes are no valid module: the mutator below works on whole
// instructions.
#include <spirv-tools/libspirv.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <spirv/unified1/spirv.hpp11>
#include <unordered_map>
#include <vector>

#include "lanewise/simulator.hpp"
#include "src/spirv/module.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using Words = std::vector<std::uint32_t>;
using Random = std::minstd_rand;
using spv::Op;

constexpr std::size_t kHeaderWords = 5;
constexpr std::size_t kGenerator = 2;
constexpr std::size_t kBound = 3;

void demand(bool condition) {
    if (!condition) std::abort();
}

std::uint32_t below(Random& random, std::size_t n) {
    return n == 0 ? 0 : static_cast<std::uint32_t>(random() % n);
}

template <class Range>
auto any_of(Random& random, const Range& range) {
    return range[below(random, std::size(range))];
}

void demand_clear(const std::string& message) {
    demand(!message.empty());
    demand(message.size() < 4000);
    demand(message.find('\n') == std::string::npos);
}

// --- running ---

lanewise::simulator::Machine machine_of(std::uint32_t bits) {
    using namespace lanewise::simulator;
    const auto take = [&](std::uint32_t n) {
        const std::uint32_t value = bits % n;
        bits /= n;
        return value;
    };
    Machine machine;
    machine.subgroup_size = 4u << take(6);
    machine.lane_order = static_cast<LaneOrder>(take(4));
    machine.subgroup_ids = static_cast<Order>(take(3));
    machine.workgroups = static_cast<Schedule>(take(4));
    machine.subgroups = static_cast<Schedule>(take(4));
    machine.out_of_bounds = static_cast<OutOfBounds>(take(3));
    machine.reconvergence = static_cast<Reconvergence>(take(3));
    machine.uniform_subgroup_operations = take(2) != 0;
    machine.scattered_lanes = take(2) != 0;
    switch (take(4)) {
        case 1: machine.random_populations = true; break;
        case 2: machine.populations = {machine.subgroup_size, 1, 3}; break;
        default: break;
    }
    machine.quantum = 1 + take(16);
    machine.max_instructions = 4000;
    machine.resident_workgroups = 2;
    machine.max_faults = 8;
    return machine;
}

void run(std::span<const std::uint32_t> words) {
    using namespace lanewise::simulator;
    const auto interface = inspect(words);
    if (!interface) return demand_clear(interface.error().message);

    constexpr std::uint64_t kMostBytes = 4096;
    ShaderRun shader;
    shader.module = words;
    shader.workgroups = {2, 1, 1};
    std::vector<std::vector<std::byte>> memory(interface->blocks.size());
    for (std::size_t i = 0; i < memory.size(); ++i) {
        const ShaderInterface::Block& block = interface->blocks[i];
        // Smaller than declared where that is much: that, too, must be survived.
        memory[i].resize(
            std::min(kMostBytes, block.bytes + std::min(block.array_stride, kMostBytes) * 64));
        for (std::size_t at = 0; at < memory[i].size(); ++at)
            memory[i][at] = static_cast<std::byte>(at % 7 == 0 ? at / 4 : 0);
        shader.buffers.push_back({block.set, block.binding, memory[i], i % 2 == 0, {}, 0});
    }
    shader.push_constants.resize(std::min(kMostBytes, interface->push_constant_bytes));
    const auto report = run_shader(machine_of(words[kGenerator]), shader);
    if (!report) return demand_clear(report.error().message);
    for (const Fault& fault : report->faults) demand_clear(to_text(fault));
}

// --- mutating ---

struct Operand {
    std::uint16_t word = 0;  // in the instruction
    std::uint16_t words = 1;
    spv_operand_type_t type = SPV_OPERAND_TYPE_NONE;
};

struct Piece {
    Op op = Op::OpNop;
    std::uint32_t type = 0;
    std::uint32_t result = 0;
    Words words;
    std::vector<Operand> operands;
};

struct Pieces {
    std::array<std::uint32_t, kHeaderWords> header{};
    std::vector<Piece> list;

    std::uint32_t fresh_id() { return header[kBound]++; }
    Words joined() const {
        Words words(header.begin(), header.end());
        for (const Piece& piece : list)
            words.insert(words.end(), piece.words.begin(), piece.words.end());
        return words;
    }
};

spv_context shared_context() {
    static const spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
    return context;
}

// What can be parsed: all, or what comes before the first mistake.
Pieces take_apart(const Words& words) {
    Pieces made;
    std::copy_n(words.begin(), kHeaderWords, made.header.begin());
    const auto take = [](void* user, const spv_parsed_instruction_t* parsed) {
        Piece piece;
        piece.op = static_cast<Op>(parsed->opcode);
        piece.type = parsed->type_id;
        piece.result = parsed->result_id;
        piece.words.assign(parsed->words, parsed->words + parsed->num_words);
        for (std::uint16_t i = 0; i < parsed->num_operands; ++i) {
            const spv_parsed_operand_t& operand = parsed->operands[i];
            piece.operands.push_back({operand.offset, operand.num_words, operand.type});
        }
        static_cast<Pieces*>(user)->list.push_back(std::move(piece));
        return SPV_SUCCESS;
    };
    spvBinaryParse(shared_context(), &made, words.data(), words.size(), nullptr, take, nullptr);
    return made;
}

void set_op(Piece& piece, Op op) {
    piece.op = op;
    piece.words[0] = (piece.words[0] & 0xffff0000u) | static_cast<std::uint32_t>(op);
}

Piece make_piece(Op op, const Words& rest) {
    Piece piece;
    piece.op = op;
    piece.words = {static_cast<std::uint32_t>(rest.size() + 1) << 16 |
                   static_cast<std::uint32_t>(op)};
    piece.words.insert(piece.words.end(), rest.begin(), rest.end());
    return piece;
}

// Opcodes whose operands have the same shape.
const std::vector<std::vector<Op>>& siblings() {
    static const std::vector<std::vector<Op>> all{
        {Op::OpIAdd, Op::OpISub, Op::OpIMul, Op::OpUDiv, Op::OpSDiv, Op::OpUMod, Op::OpSRem,
         Op::OpSMod, Op::OpShiftLeftLogical, Op::OpShiftRightLogical, Op::OpShiftRightArithmetic,
         Op::OpBitwiseAnd, Op::OpBitwiseOr, Op::OpBitwiseXor},
        {Op::OpFAdd, Op::OpFSub, Op::OpFMul, Op::OpFDiv, Op::OpFMod, Op::OpFRem},
        {Op::OpIEqual, Op::OpINotEqual, Op::OpULessThan, Op::OpSLessThan, Op::OpULessThanEqual,
         Op::OpSLessThanEqual, Op::OpUGreaterThan, Op::OpSGreaterThan},
        {Op::OpFOrdEqual, Op::OpFUnordEqual, Op::OpFOrdLessThan, Op::OpFUnordLessThan,
         Op::OpFUnordNotEqual},
        {Op::OpSNegate, Op::OpNot, Op::OpBitReverse, Op::OpBitCount, Op::OpCopyObject,
         Op::OpBitcast, Op::OpUConvert, Op::OpSConvert},
        {Op::OpConvertFToU, Op::OpConvertFToS, Op::OpFConvert},
        {Op::OpConvertUToF, Op::OpConvertSToF},
        {Op::OpAtomicIAdd, Op::OpAtomicISub, Op::OpAtomicSMin, Op::OpAtomicUMin, Op::OpAtomicSMax,
         Op::OpAtomicUMax, Op::OpAtomicAnd, Op::OpAtomicOr, Op::OpAtomicXor, Op::OpAtomicExchange},
        {Op::OpAtomicLoad, Op::OpAtomicIIncrement, Op::OpAtomicIDecrement},
        {Op::OpGroupNonUniformIAdd, Op::OpGroupNonUniformIMul, Op::OpGroupNonUniformSMin,
         Op::OpGroupNonUniformUMin, Op::OpGroupNonUniformSMax, Op::OpGroupNonUniformUMax,
         Op::OpGroupNonUniformBitwiseAnd, Op::OpGroupNonUniformBitwiseOr,
         Op::OpGroupNonUniformBitwiseXor},
        {Op::OpGroupNonUniformShuffle, Op::OpGroupNonUniformShuffleXor,
         Op::OpGroupNonUniformShuffleUp, Op::OpGroupNonUniformShuffleDown,
         Op::OpGroupNonUniformBroadcast, Op::OpGroupNonUniformQuadBroadcast,
         Op::OpGroupNonUniformRotateKHR},
        {Op::OpGroupNonUniformAll, Op::OpGroupNonUniformAny, Op::OpGroupNonUniformAllEqual},
        {Op::OpGroupNonUniformBallotFindLSB, Op::OpGroupNonUniformBallotFindMSB},
        {Op::OpAccessChain, Op::OpInBoundsAccessChain},
        {Op::OpLogicalAnd, Op::OpLogicalOr, Op::OpLogicalEqual, Op::OpLogicalNotEqual},
        {Op::OpAny, Op::OpAll},
        {Op::OpReturn, Op::OpUnreachable},
        {Op::OpConstantTrue, Op::OpConstantFalse, Op::OpSpecConstantTrue, Op::OpConstantNull,
         Op::OpUndef},
    };
    return all;
}

constexpr std::array<std::uint32_t, 26> kHostile{
    0,  1,  2,   3,   4,   5,    7,    8,     16,       31,       32,       33,       63,
    64, 65, 127, 128, 255, 1024, 4096, 65536, 1u << 20, 1u << 24, 1u << 30, 1u << 31, 0xffffffffu};

bool is_id(spv_operand_type_t type) {
    return type == SPV_OPERAND_TYPE_ID || type == SPV_OPERAND_TYPE_MEMORY_SEMANTICS_ID ||
           type == SPV_OPERAND_TYPE_SCOPE_ID;
}
bool is_number(spv_operand_type_t type) {
    return type == SPV_OPERAND_TYPE_LITERAL_INTEGER ||
           type == SPV_OPERAND_TYPE_TYPED_LITERAL_NUMBER ||
           type == SPV_OPERAND_TYPE_EXTENSION_INSTRUCTION_NUMBER;
}

// Where functions begin: what comes before is types, constants and variables.
std::size_t first_function(const Pieces& pieces) {
    const auto found = std::ranges::find(pieces.list, Op::OpFunction, &Piece::op);
    return static_cast<std::size_t>(found - pieces.list.begin());
}

void change_id(Pieces& pieces, Random& random) {
    Piece& piece = any_of(random, std::span(pieces.list)).words.empty()
                       ? pieces.list[0]
                       : pieces.list[below(random, pieces.list.size())];
    std::vector<Operand> ids;
    for (const Operand& operand : piece.operands)
        if (is_id(operand.type) || (operand.type == SPV_OPERAND_TYPE_TYPE_ID && random() % 8 == 0))
            ids.push_back(operand);
    if (ids.empty()) return;
    std::uint32_t& word = piece.words[any_of(random, ids).word];
    std::unordered_map<std::uint32_t, std::uint32_t> types;
    for (const Piece& other : pieces.list)
        if (other.result != 0) types[other.result] = other.type;
    // Mostly one of the same type: what is of another is not valid.
    const bool same = random() % 8 != 0;
    const auto mine = types.find(word);
    std::vector<std::uint32_t> candidates;
    for (const auto& [id, type] : types)
        if (!same || (mine != types.end() && type == mine->second)) candidates.push_back(id);
    std::ranges::sort(candidates);  // so that a seed gives one answer
    if (!candidates.empty()) word = any_of(random, candidates);
}

void change_number(Pieces& pieces, Random& random) {
    std::vector<std::uint32_t*> words;
    for (Piece& piece : pieces.list) {
        for (const Operand& operand : piece.operands)
            for (std::uint16_t i = 0; is_number(operand.type) && i < operand.words; ++i)
                words.push_back(&piece.words[operand.word + i]);
    }
    if (words.empty()) return;
    std::uint32_t& word = *any_of(random, words);
    switch (random() % 4) {
        case 0: word += 1; break;
        case 1: word -= 1; break;
        case 2: word ^= 1u << (random() % 32); break;
        default: word = any_of(random, kHostile); break;
    }
}

// Group operations, storage classes, decorations, memory access, ...
void change_enumerant(Pieces& pieces, Random& random) {
    std::vector<std::uint32_t*> words;
    for (Piece& piece : pieces.list) {
        for (const Operand& operand : piece.operands)
            if (!is_id(operand.type) && !is_number(operand.type) && operand.words == 1 &&
                operand.type != SPV_OPERAND_TYPE_TYPE_ID &&
                operand.type != SPV_OPERAND_TYPE_RESULT_ID)
                words.push_back(&piece.words[operand.word]);
    }
    if (!words.empty()) *any_of(random, words) = static_cast<std::uint32_t>(random() % 13);
}

void change_opcode(Pieces& pieces, Random& random) {
    std::vector<std::pair<Piece*, const std::vector<Op>*>> candidates;
    for (Piece& piece : pieces.list) {
        for (const std::vector<Op>& family : siblings())
            if (std::ranges::find(family, piece.op) != family.end())
                candidates.emplace_back(&piece, &family);
    }
    if (candidates.empty()) return;
    const auto [piece, family] = any_of(random, candidates);
    set_op(*piece, any_of(random, *family));
}

// Types that are nested, long or wide, and something that is of them.
void add_hostile_type(Pieces& pieces, Random& random) {
    std::vector<std::uint32_t> types;
    std::vector<std::uint32_t> lengths;
    for (std::size_t i = 0; i < first_function(pieces); ++i) {
        const Piece& piece = pieces.list[i];
        if (piece.result != 0 && piece.type == 0 && piece.op >= Op::OpTypeBool &&
            piece.op <= Op::OpTypeStruct)
            types.push_back(piece.result);
        if (piece.op == Op::OpConstant && piece.words.size() == 4) lengths.push_back(piece.result);
    }
    if (types.empty()) return;
    std::uint32_t type = any_of(random, types);
    std::vector<Piece> made;
    const std::uint32_t depth = 1 + below(random, random() % 4 == 0 ? 300 : 8);
    const auto add = [&](Op op, Words rest) { made.push_back(make_piece(op, rest)); };
    for (std::uint32_t i = 0; i < depth; ++i) {
        const std::uint32_t id = pieces.fresh_id();
        switch (random() % 3) {
            case 0: add(Op::OpTypeStruct, {id, type, type}); break;
            case 1: add(Op::OpTypeStruct, {id, type}); break;
            default:
                if (lengths.empty()) return;
                add(Op::OpTypeArray, {id, type, any_of(random, lengths)});
                break;
        }
        type = id;
    }
    const std::uint32_t pointer = pieces.fresh_id();
    const std::uint32_t value = pieces.fresh_id();
    switch (random() % 4) {
        case 0: add(Op::OpConstantNull, {type, value}); break;
        case 1: add(Op::OpUndef, {type, value}); break;
        default: {
            const auto storage = static_cast<std::uint32_t>(
                random() % 2 == 0 ? spv::StorageClass::Workgroup : spv::StorageClass::Private);
            add(Op::OpTypePointer, {pointer, storage, type});
            add(Op::OpVariable, {pointer, value, storage});
            break;
        }
    }
    pieces.list.insert(pieces.list.begin() + static_cast<std::ptrdiff_t>(first_function(pieces)),
                       made.begin(), made.end());
}

void duplicate(Pieces& pieces, Random& random) {
    const std::size_t from = below(random, pieces.list.size());
    Piece copy = pieces.list[from];
    if (copy.result != 0) {
        const std::uint32_t id = pieces.fresh_id();
        for (const Operand& operand : copy.operands)
            if (operand.type == SPV_OPERAND_TYPE_RESULT_ID) copy.words[operand.word] = id;
        copy.result = id;
    }
    // Near: uses must stay after definitions.
    const std::size_t to = std::min(pieces.list.size(), from + 1 + below(random, 12));
    pieces.list.insert(pieces.list.begin() + static_cast<std::ptrdiff_t>(to), std::move(copy));
}

void mutate(Pieces& pieces, Random& random) {
    const std::size_t at = below(random, pieces.list.size());
    const auto here = pieces.list.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 16) {
        case 0: pieces.list.erase(here); break;
        case 1:
            if (at + 1 < pieces.list.size()) std::swap(here[0], here[1]);
            break;
        case 2:
        case 3: duplicate(pieces, random); break;
        case 4:
        case 5:
        case 6: change_number(pieces, random); break;
        case 7:
        case 8:
        case 9: change_opcode(pieces, random); break;
        case 10: change_enumerant(pieces, random); break;
        case 11: pieces.header[kGenerator] = static_cast<std::uint32_t>(random()); break;
        case 12: add_hostile_type(pieces, random); break;
        default: change_id(pieces, random); break;
    }
}

Words words_of(const std::uint8_t* data, std::size_t size) {
    Words words(size / 4);
    if (!words.empty()) std::memcpy(words.data(), data, words.size() * 4);
    return words;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t max_size, unsigned int seed) {
    Random random(seed + 1);
    const Words words = words_of(data, size);
    if (words.size() <= kHeaderWords || random() % 32 == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    const Pieces original = take_apart(words);
    if (original.list.empty()) return LLVMFuzzerMutate(data, size, max_size);
    Words made;
    // What is not valid goes no further than the reader: mostly try again.
    constexpr std::uint32_t kTries = 6;
    for (std::uint32_t i = 0; i < kTries; ++i) {
        Pieces pieces = original;
        const std::uint32_t times = 1 + below(random, 3);
        for (std::uint32_t j = 0; j < times && !pieces.list.empty(); ++j) mutate(pieces, random);
        made = pieces.joined();
        if (random() % 16 == 0 || lanewise::spirv::Module::read(made)) break;
    }
    if (made.size() * 4 > max_size) return LLVMFuzzerMutate(data, size, max_size);
    std::memcpy(data, made.data(), made.size() * 4);
    return made.size() * 4;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    run(words_of(data, size));
    return 0;
}
