// Compiles kernels of custom operators as tools/kernels.py does the stock ones: glslang, then the
// same optimisations, then the validator.

#include "lanewise/jit.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <glslang/Public/ResourceLimits.h>
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

#include <algorithm>
#include <map>
#include <new>
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>
#include <string_view>
#include <vector>

#include "src/core/custom.hpp"
#include "src/jit/assemble.hpp"
#include "src/jit/sources.hpp"

namespace lanewise::jit {

namespace {

struct Source {
    std::string_view name;  // as kernels include it
    std::string_view text;
};

// The token `custom` of the name stands for the operator.
struct CustomKernel {
    std::string_view name;
    std::string_view source;
    std::string_view defines;  // with spaces between
};

constexpr Source kSources[] = {
#define LANEWISE_SOURCE(name, text) {name, text},
#define LANEWISE_CUSTOM_KERNEL(name, source, defines)
#define LANEWISE_OPTIMISATION(flag)
#include "kernel_sources.inc"
#undef LANEWISE_SOURCE
#undef LANEWISE_CUSTOM_KERNEL
#undef LANEWISE_OPTIMISATION
};

constexpr CustomKernel kCustomKernels[] = {
#define LANEWISE_SOURCE(name, text)
#define LANEWISE_CUSTOM_KERNEL(name, source, defines) {name, source, defines},
#define LANEWISE_OPTIMISATION(flag)
#include "kernel_sources.inc"
#undef LANEWISE_SOURCE
#undef LANEWISE_CUSTOM_KERNEL
#undef LANEWISE_OPTIMISATION
};

constexpr const char* kOptimisations[] = {
#define LANEWISE_SOURCE(name, text)
#define LANEWISE_CUSTOM_KERNEL(name, source, defines)
#define LANEWISE_OPTIMISATION(flag) flag,
#include "kernel_sources.inc"
#undef LANEWISE_SOURCE
#undef LANEWISE_CUSTOM_KERNEL
#undef LANEWISE_OPTIMISATION
};

// Kernels of custom operators include it; it is written for each.
constexpr std::string_view kOperationSource = "item/custom_operation.glsl";
constexpr std::string_view kCustomToken = ".custom.";

// Whether it asks a predicate, instead of combining by an operator.
bool is_for_predicates(const CustomKernel& kernel) {
    return kernel.defines.find("LW_PREDICATE") != kernel.defines.npos;
}

struct Target {
    std::uint32_t spirv_version;
    glslang::EShTargetClientVersion client;
    glslang::EShTargetLanguageVersion language;
    spv_target_env environment;
};

constexpr Target kVulkan11{0x00010300, glslang::EShTargetVulkan_1_1, glslang::EShTargetSpv_1_3,
                           SPV_ENV_VULKAN_1_1};
constexpr Target kVulkan13{0x00010600, glslang::EShTargetVulkan_1_3, glslang::EShTargetSpv_1_6,
                           SPV_ENV_VULKAN_1_3};

tl::unexpected<Error> fail(ErrorCode code, std::string message) {
    return tl::unexpected(Error{code, std::move(message), {}});
}

std::map<std::string, std::string>& replaced_sources() {
    static std::map<std::string, std::string> texts;
    return texts;
}

std::string_view source_text(std::string_view name) {
    if (const auto replaced = replaced_sources().find(std::string(name));
        replaced != replaced_sources().end())
        return replaced->second;
    const auto found = std::ranges::find(kSources, name, &Source::name);
    return found == std::end(kSources) ? std::string_view() : found->text;
}

class Includer final : public glslang::TShader::Includer {
public:
    explicit Includer(std::string_view operation) : operation_(operation) {}

    IncludeResult* includeLocal(const char* name, const char*, std::size_t) override {
        const std::string_view text = name == kOperationSource ? operation_ : source_text(name);
        if (text.empty()) return nullptr;
        return new IncludeResult(name, text.data(), text.size(), nullptr);
    }
    void releaseInclude(IncludeResult* result) override { delete result; }

private:
    std::string_view operation_;
};

std::string preamble_of(const CustomOperator& custom, std::string_view defines) {
    std::string text = "#extension GL_GOOGLE_include_directive : require\n";
    if (lanewise::detail::uses_int64(custom))
        text += "#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n";
    text += fmt::format("#define LW_ELEMENT_BITS {}\n", 8 * bytes_of(custom.element));
    while (!defines.empty()) {
        const auto space = std::min(defines.find(' '), defines.size());
        text += fmt::format("#define {}\n", defines.substr(0, space));
        defines.remove_prefix(std::min(space + 1, defines.size()));
    }
    return text;
}

// Whether a line of the compiler's is about the caller's text.
bool is_about_operator(std::string_view line) {
    return std::ranges::any_of(std::array{"load:", "combine:", "store:", "keep:", "types:"},
                               [&](const char* source) { return line.starts_with(source); });
}

// What the compiler says, without its headings, in one line. Of errors in kernels, which follow
// from those in the caller's text, only where there are no others.
std::string errors_in(std::string_view log) {
    std::vector<std::string_view> lines;
    while (!log.empty()) {
        const auto end = std::min(log.find('\n'), log.size());
        std::string_view line = log.substr(0, end);
        log.remove_prefix(std::min(end + 1, log.size()));
        constexpr std::string_view heading = "ERROR: ";
        if (!line.starts_with(heading) || line.find("compilation errors") != line.npos) continue;
        line.remove_prefix(heading.size());
        lines.push_back(line);
    }
    if (std::ranges::any_of(lines, is_about_operator))
        std::erase_if(lines, [](std::string_view line) { return !is_about_operator(line); });
    return fmt::format("{}", fmt::join(lines, "; "));
}

void initialize_glslang() {
    struct Process {
        Process() { glslang::InitializeProcess(); }
        ~Process() { glslang::FinalizeProcess(); }
    };
    static const Process process;
}

// `operation`: the operator's text, in the place of kOperationSource.
Result<std::vector<std::uint32_t>> to_spirv(const CustomOperator& custom,
                                            std::string_view operation, const CustomKernel& kernel,
                                            const Target& target) {
    initialize_glslang();
    const std::string preamble = preamble_of(custom, kernel.defines);
    const std::string text(source_text(kernel.source));
    const char* const string = text.c_str();
    const std::string label(kernel.source);
    const char* const name = label.c_str();
    glslang::TShader shader(EShLangCompute);
    shader.setStringsWithLengthsAndNames(&string, nullptr, &name, 1);
    shader.setPreamble(preamble.c_str());
    shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
    shader.setEnvClient(glslang::EShClientVulkan, target.client);
    shader.setEnvTarget(glslang::EShTargetSpv, target.language);
    constexpr auto messages = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
    Includer includer(operation);
    if (!shader.parse(GetDefaultResources(), 450, false, messages, includer))
        return fail(ErrorCode::bad_argument, errors_in(shader.getInfoLog()));
    glslang::TProgram program;
    program.addShader(&shader);
    if (!program.link(messages))
        return fail(ErrorCode::bad_argument, errors_in(program.getInfoLog()));
    std::vector<std::uint32_t> words;
    glslang::SpvOptions options;
    options.disableOptimizer = true;
    glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words, &options);
    return words;
}

Result<std::vector<std::uint32_t>> compile_kernel(const CustomOperator& custom,
                                                  std::string_view operation,
                                                  const CustomKernel& kernel,
                                                  const Target& target) {
    auto words = to_spirv(custom, operation, kernel, target);
    if (!words) return words;
    std::string said;
    const auto listen = [&](spv_message_level_t level, const char*, const spv_position_t&,
                            const char* message) {
        if (level <= SPV_MSG_ERROR && said.empty()) said = message;
    };
    spvtools::Optimizer optimizer(target.environment);
    optimizer.SetMessageConsumer(listen);
    spvtools::OptimizerOptions options;
    options.set_run_validator(false);
    std::vector<std::uint32_t> optimised;
    spvtools::SpirvTools tools(target.environment);
    tools.SetMessageConsumer(listen);
    if (!optimizer.RegisterPassesFromFlags(
            {std::begin(kOptimisations), std::end(kOptimisations)}) ||
        !optimizer.Run(words->data(), words->size(), &optimised, options) ||
        !tools.Validate(optimised))
        return fail(ErrorCode::compile_failed, said);
    return optimised;
}

std::string bundled_name(const CustomKernel& kernel, const CustomOperator& custom) {
    std::string name(kernel.name);
    return name.replace(name.find(kCustomToken) + 1, kCustomToken.size() - 2,
                        lanewise::detail::kernel_types(custom));
}

// Compiles those of the kernels that `wanted` takes.
template <class Wanted>
Result<Bundle> compile_kernels(const CustomOperator& custom, Wanted wanted) {
    Bundle bundle;
    try {
        for (const CustomKernel& kernel : kCustomKernels) {
            const std::string name = bundled_name(kernel, custom);
            if (!wanted(kernel, name)) continue;
            const bool judges = is_for_predicates(kernel);
            const std::string operation =
                detail::custom_operation_glsl(custom, judges ? "keep" : "load");
            std::vector<Target> targets{kVulkan11};
            if (kernel.name.find(".subgroup.") != kernel.name.npos) targets.push_back(kVulkan13);
            for (const Target& target : targets) {
                auto words = compile_kernel(custom, operation, kernel, target);
                if (!words) {
                    return fail(words.error().code,
                                fmt::format("{} {}: {}", judges ? "predicate" : "custom operator",
                                            custom.name, words.error().message));
                }
                bundle.add({name, target.spirv_version, *std::move(words)});
            }
        }
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::out_of_memory, "compiling kernels: out of memory");
    }
    return bundle;
}

}  // namespace

void detail::replace_sources(std::map<std::string, std::string> texts) {
    replaced_sources() = std::move(texts);
}

Result<Bundle> compile(const Plan& plan) {
    if (!plan.custom) return Bundle();
    return compile_kernels(*plan.custom, [&](const CustomKernel&, std::string_view name) {
        return std::ranges::find(plan.passes, name, &Pass::kernel) != plan.passes.end();
    });
}

Result<Bundle> compile_for_all_devices(const CustomOperator& custom, std::string_view primitive) {
    if (auto checked = check(custom); !checked) return tl::unexpected(checked.error());
    // The passes of a primitive begin with its name.
    const std::string prefix = std::string(primitive) + '_';
    const auto takes = [&](const CustomKernel& kernel) {
        return kernel.name.starts_with(prefix) && !is_for_predicates(kernel);
    };
    if (std::ranges::none_of(kCustomKernels, takes)) {
        return fail(ErrorCode::bad_argument,
                    fmt::format("no primitive '{}' takes custom operators", primitive));
    }
    return compile_kernels(
        custom, [&](const CustomKernel& kernel, std::string_view) { return takes(kernel); });
}

Result<Bundle> compile_for_all_devices(const CustomPredicate& predicate) {
    if (predicate.keep.empty()) return fail(ErrorCode::bad_argument, "`keep` is missing");
    const CustomOperator custom = lanewise::detail::operator_of(predicate);
    if (auto checked = check(custom); !checked) return tl::unexpected(checked.error());
    return compile_kernels(custom, [](const CustomKernel& kernel, std::string_view) {
        return is_for_predicates(kernel);
    });
}

}  // namespace lanewise::jit
