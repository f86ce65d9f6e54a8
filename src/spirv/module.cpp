#include "src/spirv/module.hpp"

#include <fmt/format.h>

#include <spirv-tools/libspirv.h>
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace lanewise::spirv {
namespace {

struct ContextDeleter {
    void operator()(spv_context_t* context) const { spvContextDestroy(context); }
};
using Context = std::unique_ptr<spv_context_t, ContextDeleter>;

struct BinaryDeleter {
    void operator()(spv_binary_t* binary) const { spvBinaryDestroy(binary); }
};

struct OptionsDeleter {
    void operator()(spv_validator_options_t* options) const { spvValidatorOptionsDestroy(options); }
};

struct DiagnosticDeleter {
    void operator()(spv_diagnostic_t* diagnostic) const { spvDiagnosticDestroy(diagnostic); }
};
using Diagnostic = std::unique_ptr<spv_diagnostic_t, DiagnosticDeleter>;

tl::unexpected<Error> fail(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, "SPIR-V: " + std::move(message), {}});
}

spv_target_env environment(std::uint32_t version) {
    if (version <= 0x00010300) return SPV_ENV_VULKAN_1_1;
    if (version == 0x00010400) return SPV_ENV_VULKAN_1_1_SPIRV_1_4;
    if (version == 0x00010500) return SPV_ENV_VULKAN_1_2;
    return SPV_ENV_VULKAN_1_3;
}

std::uint32_t swap_bytes(std::uint32_t word) { return __builtin_bswap32(word); }

// Words of an operand that is a string, its terminator included.
std::size_t string_words(std::span<const std::uint32_t> words) {
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::uint32_t w = words[i];
        if ((w & 0xff) == 0 || (w & 0xff00) == 0 || (w & 0xff0000) == 0 || (w & 0xff000000) == 0)
            return i + 1;
    }
    return words.size();
}

// Names and file names come from outside and go into messages of one line.
std::string readable(std::string text) {
    constexpr std::size_t kMost = 256;
    if (text.size() > kMost) text = text.substr(0, kMost) + "...";
    for (char& c : text)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return text;
}

// The validator walks types as trees, so that a hundred structures, each of two of the one before,
// would keep it busy for ever. Real modules have some thousand parts.
constexpr std::uint64_t kMostTypeParts = 1u << 20;

// Parts of all types together, each type written out: no more than kMostTypeParts + 1. Needs words
// that are no valid module yet.
std::uint64_t type_parts(std::span<const std::uint32_t> words, bool swapped) {
    const auto word = [&](std::size_t i) { return swapped ? swap_bytes(words[i]) : words[i]; };
    std::unordered_map<std::uint32_t, std::uint64_t> parts;
    std::uint64_t sum = 0;
    for (std::size_t at = 5; at < words.size();) {
        const std::uint32_t count = word(at) >> 16;
        if (count == 0 || count > words.size() - at) break;  // the validator says so
        std::size_t first = count;  // operands that may be types: lengths and widths are none
        std::size_t end = count;
        switch (static_cast<spv::Op>(word(at) & 0xffff)) {
            case spv::Op::OpTypeVector:
            case spv::Op::OpTypeMatrix:
            case spv::Op::OpTypeArray:
            case spv::Op::OpTypeRuntimeArray:
                first = 2;
                end = 3;
                break;
            case spv::Op::OpTypeStruct:
            case spv::Op::OpTypeFunction: first = 2; break;
            case spv::Op::OpTypePointer: first = 3; break;
            default: break;
        }
        if (first < count) {
            std::uint64_t mine = 1;
            for (std::size_t i = first; i < std::min<std::size_t>(end, count); ++i) {
                const auto found = parts.find(word(at + i));
                mine += found == parts.end() ? 1 : found->second;
            }
            sum += mine;
            if (sum > kMostTypeParts) return kMostTypeParts + 1;
            parts[word(at + 1)] = mine;
        }
        at += count;
    }
    return sum;
}

// Source languages newer than the validator, WGSL say, are refused by it, though they mean nothing
// to what runs. The words with these called unknown; empty when there are none such.
std::vector<std::uint32_t> with_known_languages(std::span<const std::uint32_t> words,
                                                bool swapped) {
    constexpr std::uint32_t kNewestKnown = static_cast<std::uint32_t>(spv::SourceLanguage::HLSL);
    const auto word = [&](std::size_t i) { return swapped ? swap_bytes(words[i]) : words[i]; };
    std::vector<std::uint32_t> changed;
    for (std::size_t at = 5; at < words.size();) {
        const std::uint32_t count = word(at) >> 16;
        const auto op = static_cast<spv::Op>(word(at) & 0xffff);
        if (count == 0 || count > words.size() - at || op == spv::Op::OpFunction) break;
        if (op == spv::Op::OpSource && count > 1 && word(at + 1) > kNewestKnown) {
            if (changed.empty()) changed.assign(words.begin(), words.end());
            changed[at + 1] = 0;
        }
        at += count;
    }
    return changed;
}

// DebugLine and DebugSource of NonSemantic.Shader.DebugInfo.100.
constexpr std::uint32_t kDebugSource = 35;
constexpr std::uint32_t kDebugLine = 103;
constexpr std::uint32_t kDebugNoLine = 104;

}  // namespace

std::string literal_string(std::span<const std::uint32_t> words) {
    std::string text;
    for (const std::uint32_t word : words) {
        for (int shift = 0; shift < 32; shift += 8) {
            const char c = static_cast<char>((word >> shift) & 0xff);
            if (c == '\0') return text;
            text += c;
        }
    }
    return text;
}

std::string op_name(spv::Op op) {
    const char* name = spvOpcodeString(static_cast<std::uint32_t>(op));
    if (name == nullptr || std::strcmp(name, "unknown") == 0)
        return fmt::format("Op{}", static_cast<std::uint32_t>(op));
    return std::string("Op") + name;
}

struct Reader {
    Module module;
    std::string error;
    Line line;
    std::uint32_t position = 0;
    std::unordered_map<Id, std::uint32_t> small_constants;  // for debug lines
    std::unordered_map<Id, Id> debug_sources;               // DebugSource -> OpString of the file
    Function* function = nullptr;
    Block* block = nullptr;

    // SPIRV-Tools has checked grammar and ids; what is left are forms that we do not know.
    void instruction(const spv_parsed_instruction_t& parsed) {
        const std::uint32_t skip = 1u + (parsed.type_id != 0) + (parsed.result_id != 0);
        Instruction in;
        in.op = static_cast<spv::Op>(parsed.opcode);
        in.type = parsed.type_id;
        in.result = parsed.result_id;
        in.position = position++;
        const std::size_t start = module.words_.size();
        // Capacity was reserved for the whole module, so spans stay valid.
        module.words_.insert(module.words_.end(), parsed.words, parsed.words + parsed.num_words);
        in.operands = std::span<const std::uint32_t>(module.words_)
                          .subspan(start + skip, parsed.num_words - skip);
        in.line = line;
        if (function != nullptr) {
            inside(in);
        } else {
            outside(in);
        }
    }

    void outside(const Instruction& in) {
        const auto operands = in.operands;
        switch (in.op) {
            case spv::Op::OpCapability:
                module.capabilities.push_back(static_cast<spv::Capability>(operands[0]));
                break;
            case spv::Op::OpExtension: module.extensions.push_back(literal_string(operands)); break;
            case spv::Op::OpExtInstImport:
                module.imports[in.result] = literal_string(operands);
                break;
            case spv::Op::OpMemoryModel:
                module.addressing = static_cast<spv::AddressingModel>(operands[0]);
                module.memory_model = static_cast<spv::MemoryModel>(operands[1]);
                break;
            case spv::Op::OpEntryPoint: {
                EntryPoint entry;
                entry.model = static_cast<spv::ExecutionModel>(operands[0]);
                entry.function = operands[1];
                entry.name = literal_string(operands.subspan(2));
                const auto rest = operands.subspan(2 + string_words(operands.subspan(2)));
                entry.interface.assign(rest.begin(), rest.end());
                module.entry_points.push_back(std::move(entry));
                break;
            }
            case spv::Op::OpExecutionMode:
            case spv::Op::OpExecutionModeId:
                module.execution_modes.push_back(
                    {operands[0], static_cast<spv::ExecutionMode>(operands[1]),
                     std::vector<std::uint32_t>(operands.begin() + 2, operands.end())});
                break;
            case spv::Op::OpString:
                module.strings[in.result] = readable(literal_string(operands));
                break;
            case spv::Op::OpName:
                module.names[operands[0]] = readable(literal_string(operands.subspan(1)));
                break;
            case spv::Op::OpMemberName:
                module.member_names[{operands[0], operands[1]}] =
                    readable(literal_string(operands.subspan(2)));
                break;
            case spv::Op::OpDecorate:
            case spv::Op::OpDecorateId:
                module.decorations[operands[0]].push_back(
                    {static_cast<spv::Decoration>(operands[1]),
                     {operands.begin() + 2, operands.end()}});
                break;
            case spv::Op::OpMemberDecorate:
                module.member_decorations[{operands[0], operands[1]}].push_back(
                    {static_cast<spv::Decoration>(operands[2]),
                     {operands.begin() + 3, operands.end()}});
                break;
            case spv::Op::OpGroupDecorate:
                for (const Id target : operands.subspan(1)) {
                    const auto group = module.decorations[operands[0]];
                    auto& mine = module.decorations[target];
                    mine.insert(mine.end(), group.begin(), group.end());
                }
                break;
            case spv::Op::OpGroupMemberDecorate:
                for (std::size_t i = 1; i + 1 < operands.size(); i += 2) {
                    const auto group = module.decorations[operands[0]];
                    auto& mine = module.member_decorations[{operands[i], operands[i + 1]}];
                    mine.insert(mine.end(), group.begin(), group.end());
                }
                break;
            case spv::Op::OpDecorationGroup:
            case spv::Op::OpSource:
            case spv::Op::OpSourceContinued:
            case spv::Op::OpSourceExtension:
            case spv::Op::OpModuleProcessed:
            case spv::Op::OpDecorateString:
            case spv::Op::OpMemberDecorateString:
            case spv::Op::OpNop: break;
            case spv::Op::OpLine: set_line(operands); break;
            case spv::Op::OpNoLine: line = {}; break;
            case spv::Op::OpExtInst: debug(in); break;
            case spv::Op::OpVariable: module.variables.push_back(in); break;
            case spv::Op::OpConstant:
                if (operands.size() == 1) small_constants[in.result] = operands[0];
                module.constants.push_back(in);
                break;
            case spv::Op::OpUndef:
            case spv::Op::OpConstantTrue:
            case spv::Op::OpConstantFalse:
            case spv::Op::OpConstantComposite:
            case spv::Op::OpConstantNull:
            case spv::Op::OpSpecConstantTrue:
            case spv::Op::OpSpecConstantFalse:
            case spv::Op::OpSpecConstant:
            case spv::Op::OpSpecConstantComposite:
            case spv::Op::OpSpecConstantOp: module.constants.push_back(in); break;
            case spv::Op::OpFunction: {
                Function made;
                made.id = in.result;
                made.result_type = in.type;
                module.function_index[in.result] = module.functions.size();
                module.functions.push_back(std::move(made));
                function = &module.functions.back();
                block = nullptr;
                break;
            }
            default: type(in); break;
        }
    }

    void type(const Instruction& in) {
        const auto operands = in.operands;
        Type made;
        made.id = in.result;
        switch (in.op) {
            case spv::Op::OpTypeVoid: made.kind = TypeKind::none; break;
            case spv::Op::OpTypeBool: made.kind = TypeKind::boolean; break;
            case spv::Op::OpTypeInt:
                made.kind = TypeKind::integer;
                made.width = operands[0];
                made.is_signed = operands[1] != 0;
                break;
            case spv::Op::OpTypeFloat:
                made.kind = TypeKind::floating;
                made.width = operands[0];
                break;
            case spv::Op::OpTypeVector:
                made.kind = TypeKind::vector;
                made.element = operands[0];
                made.count = operands[1];
                break;
            case spv::Op::OpTypeMatrix:
                made.kind = TypeKind::matrix;
                made.element = operands[0];
                made.count = operands[1];
                break;
            case spv::Op::OpTypeArray:
                made.kind = TypeKind::array;
                made.element = operands[0];
                made.length = operands[1];
                break;
            case spv::Op::OpTypeRuntimeArray:
                made.kind = TypeKind::runtime_array;
                made.element = operands[0];
                break;
            case spv::Op::OpTypeStruct:
                made.kind = TypeKind::structure;
                made.members.assign(operands.begin(), operands.end());
                break;
            case spv::Op::OpTypePointer:
                made.kind = TypeKind::pointer;
                made.storage = static_cast<spv::StorageClass>(operands[0]);
                made.element = operands[1];
                break;
            case spv::Op::OpTypeForwardPointer: return;
            case spv::Op::OpTypeFunction: made.kind = TypeKind::function; break;
            default:
                if (in.result == 0) {
                    error = fmt::format("{} is not supported at module scope", op_name(in.op));
                    return;
                }
                made.kind = TypeKind::opaque;
                break;
        }
        module.types[in.result] = std::move(made);
    }

    void inside(const Instruction& in) {
        switch (in.op) {
            case spv::Op::OpLine: set_line(in.operands); return;
            case spv::Op::OpNoLine: line = {}; return;
            case spv::Op::OpFunctionParameter: function->parameters.push_back(in); return;
            case spv::Op::OpFunctionEnd:
                function = nullptr;
                block = nullptr;
                return;
            case spv::Op::OpLabel:
                function->blocks.emplace_back();
                block = &function->blocks.back();
                block->label = in.result;
                return;
            case spv::Op::OpExtInst:
                if (module.imports[in.operands[0]].starts_with("NonSemantic.")) {
                    debug(in);
                    return;
                }
                break;
            case spv::Op::OpNop: return;
            default: break;
        }
        if (block == nullptr) {
            error = fmt::format("{} stands outside of a block", op_name(in.op));
            return;
        }
        if (in.op == spv::Op::OpSelectionMerge) {
            block->merge = in.operands[0];
        } else if (in.op == spv::Op::OpLoopMerge) {
            block->merge = in.operands[0];
            block->continue_target = in.operands[1];
        } else {
            block->body.push_back(in);
        }
    }

    void set_line(std::span<const std::uint32_t> operands) {
        line = {operands[0], operands[1], operands[2]};
    }

    void debug(const Instruction& in) {
        if (!module.imports[in.operands[0]].starts_with("NonSemantic.Shader.DebugInfo")) return;
        const std::uint32_t kind = in.operands[1];
        if (kind == kDebugSource && in.operands.size() >= 3) {
            debug_sources[in.result] = in.operands[2];
        } else if (kind == kDebugLine && in.operands.size() >= 6) {
            line = {debug_sources[in.operands[2]], small_constants[in.operands[3]],
                    small_constants[in.operands[5]]};
        } else if (kind == kDebugNoLine) {
            line = {};
        }
    }
};

Result<Module> Module::read(std::span<const std::uint32_t> words) {
    if (words.size() < 5) {
        return fail(fmt::format("a module has at least 5 words, this one has {}", words.size()));
    }
    const bool swapped = words[0] == swap_bytes(spv::MagicNumber);
    if (words[0] != spv::MagicNumber && !swapped) {
        return fail(fmt::format("the first word is {:#010x}, not the magic number {:#010x}",
                                words[0], static_cast<std::uint32_t>(spv::MagicNumber)));
    }
    const std::uint32_t version = swapped ? swap_bytes(words[1]) : words[1];
    if (version < 0x00010000 || version > 0x00010600) {
        return fail(fmt::format("version {}.{} is not supported (1.0 to 1.6)",
                                (version >> 16) & 0xff, (version >> 8) & 0xff));
    }
    if (const auto changed = with_known_languages(words, swapped); !changed.empty())
        return read(changed);
    if (type_parts(words, swapped) > kMostTypeParts)
        return fail(fmt::format("its types have more than {} parts", kMostTypeParts));
    const Context context(spvContextCreate(environment(version)));
    if (!context) return fail("SPIRV-Tools has no such environment");
    const std::unique_ptr<spv_validator_options_t, OptionsDeleter> options(
        spvValidatorOptionsCreate());
    // What devices may have enabled is legal here.
    spvValidatorOptionsSetScalarBlockLayout(options.get(), true);
    spvValidatorOptionsSetWorkgroupScalarBlockLayout(options.get(), true);
    spvValidatorOptionsSetAllowLocalSizeId(options.get(), true);
    spv_diagnostic raw = nullptr;
    spv_const_binary_t binary{words.data(), words.size()};
    spv_result_t result = spvValidateWithOptions(context.get(), options.get(), &binary, &raw);
    Diagnostic diagnostic(raw);
    if (result != SPV_SUCCESS) {
        const std::string text = diagnostic && diagnostic->error ? diagnostic->error : "unknown";
        return fail(fmt::format("not valid: {}", readable(text.substr(0, text.find('\n')))));
    }

    Reader reader;
    reader.module.version = version;
    reader.module.words_.reserve(words.size());
    const auto parse = [](void* user, const spv_parsed_instruction_t* parsed) -> spv_result_t {
        auto& self = *static_cast<Reader*>(user);
        self.instruction(*parsed);
        return self.error.empty() ? SPV_SUCCESS : SPV_REQUESTED_TERMINATION;
    };
    raw = nullptr;
    result =
        spvBinaryParse(context.get(), &reader, words.data(), words.size(), nullptr, parse, &raw);
    diagnostic.reset(raw);
    if (!reader.error.empty()) return fail(reader.error);
    if (result != SPV_SUCCESS) {
        return fail(fmt::format("cannot be read: {}", diagnostic && diagnostic->error
                                                          ? readable(diagnostic->error)
                                                          : std::string("unknown")));
    }
    return std::move(reader.module);
}

Result<Module> Module::read_bytes(std::span<const std::byte> bytes) {
    if (bytes.size() % 4 != 0) {
        return fail(fmt::format("{} bytes are no whole number of words", bytes.size()));
    }
    std::vector<std::uint32_t> words(bytes.size() / 4);
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
    return read(words);
}

Result<std::vector<std::uint32_t>> assemble(std::string_view text) {
    // Dawn prints a line of its own before what the disassembler made.
    if (const auto start = text.find("; SPIR-V"); start != std::string_view::npos)
        text = text.substr(start);
    spv_target_env target = SPV_ENV_UNIVERSAL_1_3;
    constexpr std::string_view kVersion = "; Version: 1.";
    if (const auto at = text.find(kVersion);
        at != std::string_view::npos && at + kVersion.size() < text.size()) {
        constexpr std::array kTargets{SPV_ENV_UNIVERSAL_1_0, SPV_ENV_UNIVERSAL_1_1,
                                      SPV_ENV_UNIVERSAL_1_2, SPV_ENV_UNIVERSAL_1_3,
                                      SPV_ENV_UNIVERSAL_1_4, SPV_ENV_UNIVERSAL_1_5,
                                      SPV_ENV_UNIVERSAL_1_6};
        const auto minor = static_cast<std::size_t>(text[at + kVersion.size()] - '0');
        if (minor < kTargets.size()) target = kTargets[minor];
    }
    const Context context(spvContextCreate(target));
    if (!context) return fail("SPIRV-Tools has no such environment");
    spv_binary raw_binary = nullptr;
    spv_diagnostic raw = nullptr;
    const spv_result_t result = spvTextToBinaryWithOptions(
        context.get(), text.data(), text.size(), SPV_TEXT_TO_BINARY_OPTION_PRESERVE_NUMERIC_IDS,
        &raw_binary, &raw);
    const std::unique_ptr<spv_binary_t, BinaryDeleter> binary(raw_binary);
    const Diagnostic diagnostic(raw);
    if (result != SPV_SUCCESS || !binary) {
        if (!diagnostic || !diagnostic->error) return fail("cannot be assembled");
        return fail(
            fmt::format("line {}: {}", diagnostic->position.line + 1, readable(diagnostic->error)));
    }
    return std::vector<std::uint32_t>(binary->code, binary->code + binary->wordCount);
}

const Type& Module::type(Id id) const {
    static const Type kNone;
    const auto found = types.find(id);
    return found == types.end() ? kNone : found->second;
}

const Decoration* Module::decoration(Id id, spv::Decoration kind) const {
    const auto found = decorations.find(id);
    if (found == decorations.end()) return nullptr;
    const auto at = std::ranges::find(found->second, kind, &Decoration::kind);
    return at == found->second.end() ? nullptr : &*at;
}

const Decoration* Module::member_decoration(Id id, std::uint32_t member,
                                            spv::Decoration kind) const {
    const auto found = member_decorations.find({id, member});
    if (found == member_decorations.end()) return nullptr;
    const auto at = std::ranges::find(found->second, kind, &Decoration::kind);
    return at == found->second.end() ? nullptr : &*at;
}

bool Module::has(spv::Capability capability) const {
    return std::ranges::find(capabilities, capability) != capabilities.end();
}

std::string Module::name(Id id) const {
    const auto found = names.find(id);
    if (found == names.end() || found->second.empty()) return fmt::format("%{}", id);
    return found->second;
}

std::string Module::file(const Line& line) const {
    const auto found = strings.find(line.file);
    return found == strings.end() ? std::string() : found->second;
}

}  // namespace lanewise::spirv
