#include "src/wgsl/assemble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <utility>

#include "src/core/custom.hpp"
#include "src/wgsl/custom.hpp"
#include "src/wgsl/expression.hpp"
#include "src/wgsl/unroll.hpp"

namespace lanewise::wgsl {
namespace {

using detail::take;
using detail::take_name;
using detail::take_number;
using detail::trimmed;

struct Source {
    std::string_view name;
    std::string_view text;
};

struct Kernel {
    std::string_view name;
    std::string_view source;
    std::string_view defines;  // "LW_FORM_SUBGROUP LW_ELEMENT_BITS=32"
};

// Both sorted by name (tools/kernels.py).
#define LANEWISE_WGSL_SOURCE(name, text) {name, text},
#define LANEWISE_WGSL_KERNEL(name, source, defines)
constexpr Source kSources[] = {
#include "wgsl_sources.inc"
};
#undef LANEWISE_WGSL_SOURCE
#undef LANEWISE_WGSL_KERNEL
#define LANEWISE_WGSL_SOURCE(name, text)
#define LANEWISE_WGSL_KERNEL(name, source, defines) {name, source, defines},
constexpr Kernel kKernels[] = {
#include "wgsl_sources.inc"
};
#undef LANEWISE_WGSL_SOURCE
#undef LANEWISE_WGSL_KERNEL

// `const kVectors = 4u;  // id 1; of a lane and tile` in its parts.
struct PrologueLine {
    std::string_view name;
    std::uint32_t value = 0;
    std::optional<std::uint32_t> id;
    std::string_view comment;  // what follows the semicolon
};

std::optional<PrologueLine> parse_constant(std::string_view line) {
    PrologueLine parsed;
    if (!take(line, "const ")) return std::nullopt;
    parsed.name = take_name(line);
    line = trimmed(line);
    if (parsed.name.empty() || !take(line, "=")) return std::nullopt;
    line = trimmed(line);
    const auto value = take_number(line);
    if (!value || !take(line, ";")) return std::nullopt;
    parsed.value = *value;
    parsed.comment = line;
    line = trimmed(line);
    if (take(line, "//")) {
        line = trimmed(line);
        if (take(line, "id ")) parsed.id = take_number(line);
    }
    return parsed;
}

constexpr std::string_view kPrologue = "// Prologue:";
constexpr std::string_view kPrologueEnd = "// End of the prologue.";

class Assembler {
public:
    Assembler(const detail::Sources& sources, const detail::Constants& constants)
        : sources_(sources), constants_(constants) {}

    Result<std::string> run(const std::string& file) {
        const auto text = sources_(file);
        if (!text) return refuse(ErrorCode::unsupported, fmt::format("there is no {}", file));
        if (auto done = read_prologue(file, *text); !done) return tl::unexpected(done.error());
        if (auto done = add(file, *text); !done) return tl::unexpected(done.error());
        return std::move(out_);
    }

private:
    static tl::unexpected<Error> refuse(ErrorCode code, std::string message) {
        return tl::unexpected(Error{code, "WGSL: " + std::move(message), {}});
    }
    static tl::unexpected<Error> fault(std::string_view file, std::size_t line,
                                       std::string_view why) {
        return refuse(ErrorCode::bad_argument, fmt::format("{}:{}: {}", file, line, why));
    }

    // Calls visit(line, number) for each line until it gives an error.
    template <class Visit>
    static Result<void> for_each_line(std::string_view text, Visit visit) {
        for (std::size_t number = 1; !text.empty(); ++number) {
            const std::size_t end = std::min(text.find('\n'), text.size());
            if (auto done = visit(text.substr(0, end), number); !done) return done;
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        return {};
    }

    // Conditions may stand before the prologue and know its constants.
    Result<void> read_prologue(std::string_view file, std::string_view text) {
        bool inside = false;
        bool ended = false;
        auto done =
            for_each_line(text, [&](std::string_view line, std::size_t number) -> Result<void> {
                if (line.starts_with(kPrologue)) inside = true;
                if (line == kPrologueEnd) {
                    ended = inside;
                    inside = false;
                }
                if (!inside || line.starts_with("//") || trimmed(line).empty()) return {};
                const auto constant = parse_constant(line);
                if (!constant)
                    return fault(file, number, "a prologue has lines `const NAME = NUMBERu;` only");
                values_[std::string(constant->name)] = value_of(*constant);
                return {};
            });
        if (!done) return done;
        if (!ended)
            return refuse(ErrorCode::bad_argument,
                          fmt::format("{}: has no prologue (from '{}' to '{}')", file, kPrologue,
                                      kPrologueEnd));
        for (const auto& [name, value] : constants_.by_name) {
            if (!values_.contains(name))
                return refuse(ErrorCode::unsupported,
                              fmt::format("{} has no {} (to be {})", file, name, value));
        }
        return {};
    }

    std::uint32_t value_of(const PrologueLine& constant) const {
        for (const auto* names : {&constants_.by_name, &constants_.if_there}) {
            if (const auto found = names->find(std::string(constant.name)); found != names->end())
                return found->second;
        }
        if (constant.id) {
            const auto found = constants_.by_id.find(*constant.id);
            if (found != constants_.by_id.end()) return found->second;
        }
        return constant.value;
    }

    struct Branch {
        bool outside;       // the lines around it are taken
        bool taken;         // a branch of it was
        bool now;           // this one is
        bool otherwise;     // #else has come
        std::size_t begin;  // line of the #if
    };

    Result<void> add(const std::string& file, std::string_view text) {
        std::vector<Branch> branches;
        bool prologue = false;
        auto done =
            for_each_line(text, [&](std::string_view line, std::size_t number) -> Result<void> {
                if (line.starts_with(kPrologue)) prologue = true;
                if (line == kPrologueEnd) prologue = false;
                std::string_view rest = trimmed(line);
                const bool active = branches.empty() || branches.back().now;
                if (take(rest, "//#")) return directive(file, number, rest, active, branches);
                if (!active) return {};
                const auto constant = prologue ? parse_constant(line) : std::nullopt;
                if (constant) {
                    out_ += fmt::format("const {} = {}u;{}\n", constant->name, value_of(*constant),
                                        constant->comment);
                } else {
                    out_ += line;
                    out_ += '\n';
                }
                return {};
            });
        if (!done) return done;
        if (!branches.empty()) return fault(file, branches.back().begin, "#if without #endif");
        return {};
    }

    Result<void> directive(const std::string& file, std::size_t number, std::string_view rest,
                           bool active, std::vector<Branch>& branches) {
        const std::string_view word = take_name(rest);
        rest = trimmed(rest.substr(0, rest.find("//")));  // without a comment
        const auto condition = [&]() -> Result<bool> {
            std::string error;
            const auto value = detail::evaluate(rest, values_, &error);
            if (!value) return fault(file, number, fmt::format("#{} {}: {}", word, rest, error));
            return *value != 0;
        };
        if (word == "if") {
            // Not looked at where the lines around it are left out.
            const auto value = active ? condition() : Result<bool>(false);
            if (!value) return tl::unexpected(value.error());
            branches.push_back({active, *value, *value, false, number});
            return {};
        }
        if (word == "elif" || word == "else" || word == "endif") {
            if (branches.empty()) return fault(file, number, fmt::format("#{} without #if", word));
            Branch& branch = branches.back();
            if (word == "endif") {
                branches.pop_back();
                return {};
            }
            if (branch.otherwise) return fault(file, number, fmt::format("#{} after #else", word));
            branch.otherwise = word == "else";
            branch.now = branch.outside && !branch.taken;
            if (branch.now && word == "elif") {
                const auto value = condition();
                if (!value) return tl::unexpected(value.error());
                branch.now = *value;
            }
            branch.taken = branch.taken || branch.now;
            return {};
        }
        if (!active) return {};
        if (word == "error")
            return refuse(ErrorCode::unsupported, fmt::format("{}: {}", file, rest));
        if (word == "include") {
            if (rest.size() < 3 || rest.front() != '"' || rest.back() != '"')
                return fault(file, number, "#include wants a name in double quotes");
            const std::string name(rest.substr(1, rest.size() - 2));
            if (!included_.insert(name).second) return {};  // each file once
            const auto text = sources_(name);
            if (!text) return fault(file, number, fmt::format("there is no {}", name));
            out_ += fmt::format("// ---- {}\n", name);
            return add(name, *text);
        }
        return fault(file, number, fmt::format("there is no directive #{}", word));
    }

    const detail::Sources& sources_;
    const detail::Constants& constants_;
    detail::Values values_;  // of the prologue
    std::set<std::string> included_;
    std::string out_;
};

std::optional<std::string_view> built_in(std::string_view name) {
    const auto* found = std::ranges::lower_bound(kSources, name, {}, &Source::name);
    if (found == std::end(kSources) || found->name != name) return std::nullopt;
    return found->text;
}

const Kernel* find_kernel(std::string_view name) {
    const auto* found = std::ranges::lower_bound(kKernels, name, {}, &Kernel::name);
    return found != std::end(kKernels) && found->name == name ? found : nullptr;
}

// The name in the table: those of custom operators have `custom` in the place of the operator.
std::string listed_name(const Plan& plan, const Pass& pass) {
    std::string name = pass.kernel;
    if (plan.custom) {
        const std::string types = lanewise::detail::kernel_types(*plan.custom);
        if (const auto at = name.find(types); at != std::string::npos)
            name.replace(at, types.size(), "custom");
    }
    return name;
}

// "LW_FORM_SUBGROUP LW_ELEMENT_BITS=32"
std::map<std::string, std::uint32_t> parse_defines(std::string_view text) {
    std::map<std::string, std::uint32_t> defines;
    for (text = trimmed(text); !text.empty(); text = trimmed(text)) {
        const std::string name(take_name(text));
        defines[name] = take(text, "=") ? take_number(text).value_or(0) : 1;
    }
    return defines;
}

constexpr std::string_view kBindingBegin = "@group(0) @binding(";
constexpr std::string_view kBindingStorage = ") var<storage, ";

// @group(0) @binding(1) var<storage, read_write> result: array<u32>;
std::optional<ShaderBinding> parse_binding(std::string_view line) {
    ShaderBinding binding;
    if (!take(line, kBindingBegin)) return std::nullopt;
    const auto number = take_number(line);
    if (!number || !take(line, kBindingStorage)) return std::nullopt;
    binding.number = *number;
    binding.access = take(line, "read_write>") ? Access::read_write : Access::read;
    if (binding.access == Access::read) take(line, "read>");
    line = trimmed(line);
    binding.name = take_name(line);
    binding.vectors = line.starts_with(": array<vec4<");
    return binding;
}

bool has_output(const Pass& pass) {
    return std::ranges::find(pass.bindings, Role::output, &PassBuffer::role) != pass.bindings.end();
}

// In one dispatch WebGPU lets a buffer be read or written, whatever the ranges are: where a pass
// writes one of its ranges, all are declared like that.
void agree_on_access(const Pass& pass, Shader& shader) {
    const auto role_of = [&](const ShaderBinding& binding) {
        return pass.bindings[binding.number].role;
    };
    for (ShaderBinding& binding : shader.bindings) {
        if (binding.access != Access::read || binding.number >= pass.bindings.size()) continue;
        const bool written = std::ranges::any_of(shader.bindings, [&](const ShaderBinding& other) {
            return other.access == Access::read_write && other.number < pass.bindings.size() &&
                   role_of(other) == role_of(binding);
        });
        if (!written) continue;
        const std::string declared =
            fmt::format("{}{}{}read>", kBindingBegin, binding.number, kBindingStorage);
        const std::size_t at = shader.text.find(declared);
        shader.text.replace(at + declared.size() - 5, 5, "read_write>");
        binding.access = Access::read_write;
    }
}

tl::unexpected<Error> unsupported(const Pass& pass, std::string_view why) {
    return tl::unexpected(
        Error{ErrorCode::unsupported, fmt::format("WGSL: pass {}: {}", pass.name, why), {}});
}

}  // namespace

namespace detail {

Result<std::string> assemble(const Sources& sources, const std::string& file,
                             const Constants& constants) {
    return Assembler(sources, constants).run(file);
}

std::vector<std::string_view> kernel_names() {
    std::vector<std::string_view> names;
    for (const Kernel& kernel : kKernels) names.push_back(kernel.name);
    return names;
}

}  // namespace detail

Result<Shader> assemble(const Plan& plan, const Pass& pass, const Options& options) {
    if (plan.addressing == Addressing::device_address)
        return unsupported(pass, "WGSL has no device addresses");
    if (pass.full_subgroups)
        return unsupported(
            pass,
            "WGSL cannot require full subgroups; plan for a device of WebGPU, or for "
            "the tier portable");
    const Kernel* kernel = find_kernel(listed_name(plan, pass));
    if (kernel == nullptr)
        return unsupported(pass, fmt::format("there is no kernel {} in WGSL", pass.kernel));
    detail::Constants constants;
    constants.by_name = parse_defines(kernel->defines);
    if (pass.form == Form::subgroup) {
        constants.by_name["LW_SUBGROUP_ID"] = options.subgroup_id ? 1 : 0;
        constants.by_name["LW_SUBGROUP_SIZE"] = pass.required_subgroup_size;
        constants.by_name["LW_ENABLE"] = options.enable_subgroups ? 1 : 0;
    }
    // Passes that do not write the output are the same in place.
    if (options.in_place && has_output(pass)) constants.by_name["LW_IN_PLACE"] = 1;
    for (const Constant& constant : pass.constants) constants.by_id[constant.id] = constant.value;
    std::string operation;
    if (plan.custom) {
        auto text = detail::custom_operation(*plan.custom);
        if (!text) return tl::unexpected(text.error());
        operation = *std::move(text);
        constants.if_there = detail::custom_values(*plan.custom);
    }
    const auto sources = [&](std::string_view name) -> std::optional<std::string_view> {
        if (plan.custom && name == "item/custom_operation.wgsl") return operation;
        return built_in(name);
    };
    auto text = detail::assemble(sources, std::string(kernel->source), constants);
    if (!text) return tl::unexpected(text.error());

    Shader shader;
    shader.text = detail::unrolled(*text);
    std::string_view rest = shader.text;
    while (!rest.empty()) {
        const std::size_t end = std::min(rest.find('\n'), rest.size());
        const std::string_view line = rest.substr(0, end);
        if (auto binding = parse_binding(line)) shader.bindings.push_back(*std::move(binding));
        if (line.starts_with("@group(1) @binding(0) var<uniform>")) shader.parameters = true;
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    std::ranges::sort(shader.bindings, {}, &ShaderBinding::number);
    agree_on_access(pass, shader);
    return shader;
}

}  // namespace lanewise::wgsl
