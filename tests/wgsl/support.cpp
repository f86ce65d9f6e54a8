#include "tests/wgsl/support.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <spirv/unified1/spirv.hpp11>

#include "tests/support/repository.hpp"

namespace lanewise::test {
namespace {

using simulator::Machine;

// A folder of this process, gone when it ends.
const std::filesystem::path& folder() {
    struct Folder {
        std::filesystem::path path;
        Folder() {
            std::string name =
                (std::filesystem::temp_directory_path() / "lanewise-wgsl-XXXXXX").string();
            if (mkdtemp(name.data()) != nullptr) path = name;
        }
        ~Folder() {
            std::error_code ignored;
            if (!path.empty()) std::filesystem::remove_all(path, ignored);
        }
    };
    static const Folder made;
    return made.path;
}

struct Said {
    int status = -1;
    std::string text;
};

Said run_command(const std::string& command) {
    Said said;
    FILE* pipe = popen((command + " 2>&1").c_str(), "r");
    if (pipe == nullptr) return said;
    std::array<char, 4096> part;
    while (const std::size_t size = std::fread(part.data(), 1, part.size(), pipe))
        said.text.append(part.data(), size);
    said.status = pclose(pipe);
    return said;
}

bool on_path(const char* tool) {
    return run_command(fmt::format("command -v {}", tool)).status == 0;
}

std::string file_of(const char* name) { return (folder() / name).string(); }

void write(const std::string& path, const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
}

// naga 30 knows subgroups but not the line that WGSL wants for them: blanks in its place.
std::string without_enable(std::string text) {
    constexpr std::string_view kEnable = "\nenable subgroups;";
    if (const auto at = text.find(kEnable); at != std::string::npos)
        text.replace(at + 1, kEnable.size() - 1, kEnable.size() - 1, ' ');
    return text;
}

std::string in_words(const Said& said) {
    if (said.status == 0 && said.text.empty()) return {};
    return fmt::format("status {}: {}", said.status, said.text);
}

// Takes away the zeros that naga has the first invocation write to workgroup memory, and the
// barrier behind them: wgpu-native asks naga for neither.
void leave_out_zeros(std::vector<std::uint32_t>& words) {
    std::set<std::uint32_t> nulls;
    std::set<std::uint32_t> workgroup;
    bool zeros = false;
    for (std::size_t at = 5; at < words.size() && words[at] >> 16 != 0; at += words[at] >> 16) {
        const std::span<std::uint32_t> instruction(
            words.data() + at, std::min<std::size_t>(words[at] >> 16, words.size() - at));
        const auto leave_out = [&] {
            std::ranges::fill(instruction, 1u << 16 | static_cast<std::uint32_t>(spv::Op::OpNop));
        };
        switch (static_cast<spv::Op>(instruction[0] & 0xffff)) {
            case spv::Op::OpConstantNull: nulls.insert(instruction[2]); break;
            case spv::Op::OpVariable:
                if (instruction[3] == static_cast<std::uint32_t>(spv::StorageClass::Workgroup))
                    workgroup.insert(instruction[2]);
                break;
            case spv::Op::OpStore:
                if (workgroup.contains(instruction[1]) && nulls.contains(instruction[2])) {
                    leave_out();
                    zeros = true;
                }
                break;
            case spv::Op::OpControlBarrier:
                if (zeros) leave_out();
                zeros = false;
                break;
            default: break;
        }
    }
}

}  // namespace

Caps webgpu_caps(std::uint32_t subgroup_size) {
    std::ifstream file(repository_root() / "tests/devices/webgpu-minimum.json", std::ios::binary);
    auto caps = caps_from_json(std::string{std::istreambuf_iterator<char>(file), {}});
    if (!caps) {
        ADD_FAILURE() << caps.error().message;
        return {};
    }
    caps->limits.max_workgroup_invocations = caps->limits.max_workgroup_size_x = 256;
    if (subgroup_size == 0) return *caps;
    SubgroupCaps& subgroup = caps->subgroup;
    subgroup.operations = 0xff & ~SubgroupOperation::clustered;
    subgroup.stages = Stage::compute;
    subgroup.size = subgroup.min_size = subgroup.max_size = subgroup_size;
    subgroup.size_is_true = true;
    return *caps;
}

bool has_naga() {
    static const bool there = on_path("naga");
    return there;
}

bool has_tint() {
    static const bool there = on_path("tint");
    return there;
}

std::string naga_says(const std::string& text) {
    const std::string path = file_of("naga.wgsl");
    write(path, without_enable(text));
    Said said = run_command(fmt::format("naga --capabilities all '{}'", path));
    // What it always says of a text that it takes.
    if (said.text == "Validation successful\n") said.text.clear();
    return in_words(said);
}

std::string tint_says(const std::string& text) {
    const std::string path = file_of("tint.wgsl");
    write(path, text);
    // As WGSL again: builds of Tint have that writer more often than others.
    return in_words(run_command(
        fmt::format("tint --format wgsl -o '{}' '{}'", file_of("tint-again.wgsl"), path)));
}

std::vector<std::uint32_t> compile(const std::string& text) {
    static std::map<std::string, std::vector<std::uint32_t>> compiled;
    if (const auto found = compiled.find(text); found != compiled.end()) return found->second;
    const std::string source = file_of("kernel.wgsl");
    const std::string module = file_of("kernel.spv");
    write(source, without_enable(text));
    const Said said = run_command(fmt::format(
        "naga -g --spirv-version 1.3 --capabilities all --entry-point main --compact '{}' '{}'",
        source, module));
    std::ifstream file(module, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (said.status != 0 || bytes.size() < 8) {
        ADD_FAILURE() << "naga: " << said.text << "\n" << text;
        return {};
    }
    std::filesystem::remove(module);
    std::vector<std::uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    if (text.find("var<workgroup> sh_subgroups") == std::string::npos) leave_out_zeros(words);
    return compiled[text] = words;
}

Bundle wgsl_kernels(Plan& plan, const wgsl::Options& options) {
    Bundle bundle;
    for (std::size_t i = 0; i < plan.passes.size(); ++i) {
        Pass& pass = plan.passes[i];
        const auto shader = wgsl::assemble(plan, pass, options);
        if (!shader) {
            ADD_FAILURE() << shader.error().message;
            continue;
        }
        pass.kernel = fmt::format("pass_{}.{}", i, pass.kernel);
        auto words = compile(shader->text);
        if (!words.empty()) bundle.add({pass.kernel, words[1], std::move(words)});
    }
    return bundle;
}

std::vector<Machine> wgsl_machines(std::uint32_t subgroup_size) {
    std::vector<Machine> machines;
    const auto add = [&](auto&& change) {
        Machine machine;
        machine.subgroup_size = subgroup_size;
        machine.seed = subgroup_size + machines.size();
        // WGSL wants them in uniform flow, and promises that flow is uniform again behind whatever
        // construct parted it (WGSL, uniformity analysis). What SPIR-V a compiler makes of that is
        // its own.
        machine.uniform_subgroup_operations = true;
        machine.reconvergence = simulator::Reconvergence::maximal;
        change(machine);
        machines.push_back(machine);
    };
    add([](Machine&) {});
    add([](Machine& m) {
        m.lane_order = simulator::LaneOrder::random;
        m.subgroup_ids = simulator::Order::random;
        m.workgroups = m.subgroups = simulator::Schedule::random;
    });
    add([](Machine& m) {
        m.lane_order = simulator::LaneOrder::reversed;
        m.subgroup_ids = simulator::Order::reversed;
        m.workgroups = m.subgroups = simulator::Schedule::reversed;
    });
    add([&](Machine& m) {
        m.populations = {subgroup_size, subgroup_size / 2 + 1, 1};
        m.subgroups = simulator::Schedule::round_robin;
    });
    add([](Machine& m) {
        m.random_populations = true;
        m.scattered_lanes = true;
        m.lane_order = simulator::LaneOrder::random;
        m.workgroups = m.subgroups = simulator::Schedule::random;
    });
    return machines;
}

std::optional<WgslResult> run_plan_with_values(const Machine& machine, const Caps& caps,
                                               const Plan& plan, std::span<const std::byte> input,
                                               const WgslRun& run) {
    const auto failed = [&](const std::string& what, const std::string& why) {
        ADD_FAILURE() << what << ": " << why << "\n" << to_text(machine) << "\n" << to_text(plan);
        return std::nullopt;
    };
    const auto device = simulator::Device::create(machine, caps);
    if (!device) return failed("device", device.error().message);
    Plan in_wgsl = plan;
    const Bundle bundle = run.built_in ? Bundle() : wgsl_kernels(in_wgsl, run.options);
    if (testing::Test::HasFailure()) return std::nullopt;
    const auto executable = device->compile(in_wgsl, run.built_in ? nullptr : &bundle);
    if (!executable) return failed("compile", executable.error().message);

    const std::uint64_t count = input.size() / plan.element_bytes;
    const bool in_place = run.options.in_place;
    // What a buffer begins with: the items given, then bytes that nobody may change.
    const auto buffer_of = [&](Role role, std::span<const std::byte> given, std::byte filler) {
        const Argument* argument = plan.argument(role);
        const std::size_t most = argument == nullptr ? 0 : argument->bytes;
        const bool whole = given.empty() || run.count_in_buffer;
        const std::size_t bytes = std::max<std::size_t>(whole ? most : given.size(), 1);
        std::vector<std::byte> buffer(argument == nullptr ? 0 : (bytes + 15) / 16 * 16, filler);
        std::ranges::copy(given, buffer.begin());
        return buffer;
    };
    constexpr std::byte kBehindInput{0x5a};
    constexpr std::byte kBehindOutput{0xab};
    constexpr std::uint32_t kBehindOffsets = 0xabababab;
    const std::vector<std::byte> first_in = buffer_of(Role::input, input, kBehindInput);
    const std::vector<std::byte> first_values = buffer_of(Role::values, run.values, kBehindInput);
    std::vector<std::byte> in = first_in;
    std::vector<std::byte> values = first_values;
    std::vector<std::byte> output = buffer_of(Role::output, {}, kBehindOutput);
    std::vector<std::byte> values_out = buffer_of(Role::values_out, {}, kBehindOutput);
    const Argument* offsets_argument = plan.argument(Role::offsets);
    const bool makes_offsets =
        offsets_argument != nullptr && offsets_argument->access != Access::read;
    std::vector<std::uint32_t> offsets(run.offsets.begin(), run.offsets.end());
    if (makes_offsets) offsets.assign(offsets_argument->bytes / 4, kBehindOffsets);
    std::vector<std::byte> flags = buffer_of(Role::flags, run.flags, kBehindInput);
    std::vector<std::byte> rejected = buffer_of(Role::rejected, {}, kBehindOutput);
    const bool tells_count = plan.argument(Role::count_out) != nullptr;
    std::vector<std::uint32_t> count_out(tells_count ? 1 : 0, kBehindOffsets);
    std::vector<std::byte> scratch(plan.argument(Role::scratch)->bytes, std::byte{0xcd});
    std::uint32_t stored_count = static_cast<std::uint32_t>(count);
    simulator::Count what = count;
    if (run.count_in_buffer)
        what = simulator::CountBuffer{std::as_writable_bytes(std::span(&stored_count, 1))};
    const auto binding =
        executable->bind({.input = {in},
                          .output = {in_place ? in : output},
                          .scratch = {scratch},
                          .values = {values},
                          .values_out = {values_out},
                          .offsets = {std::as_writable_bytes(std::span(offsets))},
                          .flags = {flags},
                          .rejected = {rejected},
                          .count_out = {std::as_writable_bytes(std::span(count_out))}},
                         what);
    if (!binding) return failed("bind", binding.error().message);
    const bool in_input = in_place || plan.result == Role::input;
    for (const std::uint32_t earlier : run.earlier_counts) {
        for (std::byte& byte : in) byte ^= std::byte{0x35};
        stored_count = earlier;
        if (const auto report = binding->run(); !report)
            return failed("run", report.error().message);
        std::ranges::fill(output, kBehindOutput);
        std::ranges::fill(values_out, kBehindOutput);
        std::ranges::fill(rejected, kBehindOutput);
        in = first_in;
        values = first_values;
        stored_count = static_cast<std::uint32_t>(count);
    }
    for (int use = 0; use < run.uses; ++use) {
        if (in_input || plan.argument(Role::input)->access != Access::read) {
            std::ranges::copy(first_in, in.begin());
            std::ranges::copy(first_values, values.begin());
        }
        const auto report = binding->run(machine.seed + static_cast<std::uint64_t>(use));
        if (!report) return failed("run", report.error().message);
        std::string faults;
        for (const simulator::Fault& fault : report->faults) faults += to_text(fault) + "\n";
        if (!faults.empty()) return failed(fmt::format("{} items, faults", count), faults);
    }
    WgslResult result{.output = in_input ? in : output,
                      .values_out = in_input && !in_place ? values : values_out,
                      .rejected = rejected};
    if (makes_offsets) {
        result.offsets = offsets;
    } else if (!std::ranges::equal(offsets, run.offsets)) {
        return failed(fmt::format("{} items", count), "offsets are changed");
    }
    const auto cut = [&](std::vector<std::byte>& bytes, std::uint64_t written, const char* name) {
        for (std::size_t i = written; i < bytes.size(); ++i) {
            if (bytes[i] == (in_input ? kBehindInput : kBehindOutput)) continue;
            failed(fmt::format("{} items", count),
                   fmt::format("byte {} behind the {} is changed", i - written, name));
            return false;
        }
        bytes.resize(written);
        return true;
    };
    // To the byte: kernels keep what is behind an item in its word.
    std::uint64_t results = std::min(count, plan.max_results.value_or(count));
    if (tells_count) {
        result.count_out = count_out[0];
        if (count_out[0] > count)
            return failed("run", fmt::format("{} of {} items", count_out[0], count));
        if (!run.all_results) results = std::min<std::uint64_t>(results, count_out[0]);
        if (!cut(result.rejected,
                 plan.argument(Role::rejected) != nullptr
                     ? (count - count_out[0]) * plan.element_bytes
                     : 0,
                 "rejected items"))
            return std::nullopt;
    }
    const std::uint64_t output_bytes = plan.result_bytes != 0
                                           ? results * plan.result_bytes
                                           : bytes_needed(plan, Role::output, count);
    if (!cut(result.output, plan.argument(Role::output) != nullptr ? output_bytes : 0, "output") ||
        !cut(result.values_out, results * plan.value_bytes, "values"))
        return std::nullopt;
    return result;
}

std::optional<std::vector<std::byte>> run_plan(const Machine& machine, const Caps& caps,
                                               const Plan& plan, std::span<const std::byte> input,
                                               const WgslRun& run) {
    auto result = run_plan_with_values(machine, caps, plan, input, run);
    if (!result) return std::nullopt;
    return std::move(result->output);
}

}  // namespace lanewise::test
