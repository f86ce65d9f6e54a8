// WGSL of a plan's passes: a kernel's .wgsl file with its modules, conditions and constants in
// place, as one text (kernels/kernels.md describes the directives). Pure functions; no GPU.
//
//   auto plan   = lanewise::plan_reduce(caps, desc);
//   auto shader = lanewise::wgsl::assemble(*plan, plan->passes[1]);
//   // shader->text is for createShaderModule, shader->bindings for the layout of group 0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanewise/error.hpp"
#include "lanewise/plan.hpp"

namespace lanewise::wgsl {

struct Options {
    // The language has subgroup_id and num_subgroups (WGSL language feature subgroup_id). Without
    // them kernels number their subgroups themselves.
    bool subgroup_id = false;
    // The implementation knows the directive `enable subgroups`. wgpu-native's compiler takes the
    // operations without it, and nothing else.
    bool enable_subgroups = true;
    // The output is the input, which one binding then serves: number 0; the output's is not there.
    bool in_place = false;
};

// A storage buffer that the text declares, in group 0. Some numbers of Pass::bindings may be
// missing: what the kernel does not have in WGSL.
struct ShaderBinding {
    std::uint32_t number = 0;
    std::string name;
    Access access = Access::read;  // read or read_write
    bool vectors = false;          // an array of vec4: whole multiples of 16 bytes are bound

    bool operator==(const ShaderBinding&) const = default;
};

struct Shader {
    std::string text;
    std::vector<ShaderBinding> bindings;  // by number
    bool parameters = false;              // it has the uniform buffer, group 1 binding 0
};

// Errors: unsupported: the pass needs what WGSL has not (device addresses, 64-bit types, 64-bit
// atomics, full subgroups, memory barriers of device scope). Expressions of a custom
// operator are judged by the compiler.
Result<Shader> assemble(const Plan& plan, const Pass& pass, const Options& options = {});

namespace detail {

// The text of a file by the name under which files include it; nullopt where there is none.
using Sources = std::function<std::optional<std::string_view>(std::string_view name)>;

// Values for the constants of a prologue: by name, and by the ids that stand behind them.
struct Constants {
    std::map<std::string, std::uint32_t> by_name;   // that the prologue lacks one is an error
    std::map<std::string, std::uint32_t> if_there;  // by name; that it lacks one is none
    std::map<std::uint32_t, std::uint32_t> by_id;   // nor is it here
};

// The kernel `file`.
Result<std::string> assemble(const Sources& sources, const std::string& file,
                             const Constants& constants);

// Names of the kernels that there are in WGSL, sorted.
std::vector<std::string_view> kernel_names();

}  // namespace detail
}  // namespace lanewise::wgsl
