// What tests of the kernels in WGSL stand on: devices as WebGPU has them, the compilers, and plans
// whose kernels come from WGSL in the simulator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanewise/bundle.hpp"
#include "lanewise/caps.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/simulator.hpp"
#include "src/wgsl/assemble.hpp"

namespace lanewise::test {

// A device with WebGPU's least limits, but for workgroups of 256; with subgroups of one size, or
// none (0).
Caps webgpu_caps(std::uint32_t subgroup_size);

// Whether the tool is on the PATH.
bool has_naga();
bool has_tint();

// What a compiler has to say of a text: empty where it takes it without a word.
std::string naga_says(const std::string& text);
std::string tint_says(const std::string& text);

// The text as SPIR-V 1.3; empty, with a failure added, where naga does not take it. Workgroup
// memory does not begin as zeros, as with wgpu-native, but where the text counts on them
// (sh_subgroups of subgroup/lane_number.wgsl). Remembers what it has compiled.
std::vector<std::uint32_t> compile(const std::string& text);

// The plan's kernels from WGSL, of which each pass has its own: a text has its constants. Gives the
// passes' kernels new names, by which the bundle has them. With a failure added where one is not to
// be had.
Bundle wgsl_kernels(Plan& plan, const wgsl::Options& options);

// Machines of one subgroup size: full and partial subgroups, lanes and subgroups in any order.
std::vector<simulator::Machine> wgsl_machines(std::uint32_t subgroup_size);

struct WgslRun {
    wgsl::Options options;
    bool count_in_buffer = false;
    bool built_in = false;  // the kernels of GLSL instead
    int uses = 1;           // of one binding, one after the other
    // Uses before these, with other data and so many items each; for counts in a buffer.
    std::vector<std::uint32_t> earlier_counts;
    std::span<const std::byte> values;  // of plans that have some: as many as the input has items
    std::span<const std::uint32_t> offsets;  // of plans that read them
    std::span<const std::byte> flags;        // whole words
    bool all_results = false;  // the count that the plan writes is not that of its results
};

// Where Plan::result says, up to the last item that counts: by the count that the plan wrote, if
// any.
struct WgslResult {
    std::vector<std::byte> output;
    std::vector<std::byte> values_out;
    std::vector<std::uint32_t> offsets;  // that the plan wrote
    std::vector<std::byte> rejected;
    std::uint32_t count_out = 0;

    bool operator==(const WgslResult&) const = default;
};

// Runs the plan; the results' bytes, or nullopt with failures added: faults count as such. `input`
// has whole elements, and in place as many bytes as the output.
std::optional<WgslResult> run_plan_with_values(const simulator::Machine& machine, const Caps& caps,
                                               const Plan& plan, std::span<const std::byte> input,
                                               const WgslRun& run = {});
// The same of plans without values.
std::optional<std::vector<std::byte>> run_plan(const simulator::Machine& machine, const Caps& caps,
                                               const Plan& plan, std::span<const std::byte> input,
                                               const WgslRun& run = {});

}  // namespace lanewise::test
