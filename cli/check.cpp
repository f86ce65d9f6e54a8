// lanewise check: runs a compute shader on described machines and reports its faults.
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>

#include "cli/files.hpp"
#include "cli/output.hpp"
#include "lanewise/simulator.hpp"

extern char** environ;

namespace lanewise::cli {
namespace {

using namespace simulator;

struct CheckOptions : CommonOptions {
    std::string file;
    std::string entry_point = "main";
    std::vector<std::uint32_t> sizes{4, 8, 16, 32, 64, 128};
    std::vector<std::uint32_t> workgroups{3};
    std::string fill = "index";
    std::uint64_t elements = 4096;
    std::vector<std::uint32_t> outputs;
    std::vector<std::uint32_t> push;
    std::vector<std::string> constants;
    std::vector<std::string> defines;
    std::vector<std::string> includes;
    std::string lanes = to_text(LaneOrder::linear);
    std::string schedule = to_text(Schedule::in_order);
    std::string reconvergence = to_text(Reconvergence::subgroup_uniform);
    std::vector<std::uint32_t> populations;
    std::uint32_t quantum = 64;
    std::uint64_t seed = 1;
    std::uint64_t instructions = std::uint64_t{1} << 28;
    bool uniform_operations = false;
    bool compare = false;
};

tl::unexpected<Error> bad(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, std::move(message), nullptr});
}

// Runs a program of the PATH, which reads `input`; what it says goes into `said`.
Result<int> run_program(const std::vector<std::string>& arguments,
                        const std::filesystem::path& input, const std::filesystem::path& said) {
    std::vector<char*> words;
    for (const std::string& argument : arguments)
        words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input.c_str(), O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, said.c_str(),
                                     O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    pid_t child = 0;
    const int started = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    if (started != 0) {
        return tl::unexpected(Error{ErrorCode::unsupported,
                                    fmt::format("{} cannot be run ({}): install it, or give SPIR-V",
                                                arguments[0], std::strerror(started)),
                                    nullptr});
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

struct Folder {
    std::filesystem::path path;
    ~Folder() {
        std::error_code ignored;
        if (!path.empty()) std::filesystem::remove_all(path, ignored);
    }
};

// The first error that a compiler reports, with its place, in one line.
std::string first_error(const std::string& said) {
    auto at = said.find("ERROR");                            // glslang
    if (at == std::string::npos) at = said.find("error: ");  // naga
    const std::string text = at == std::string::npos ? said : said.substr(at);
    std::string line = text.substr(0, text.find('\n'));
    constexpr std::string_view kPlace = "\xe2\x94\x8c\xe2\x94\x80 ";  // naga draws an arrow to it
    if (const auto place = text.find(kPlace); place != std::string::npos) {
        const auto start = place + kPlace.size();
        line += fmt::format(" ({})", text.substr(start, text.find('\n', start) - start));
    }
    return line;
}

// naga knows subgroups but not the line that WGSL wants for them: blanks in its place, so that the
// other lines keep their numbers.
std::string without_enable(std::string text) {
    constexpr std::string_view kEnable = "enable subgroups;";
    if (const auto at = text.find(kEnable); at != std::string::npos)
        text.replace(at, kEnable.size(), kEnable.size(), ' ');
    return text;
}

Result<std::vector<std::uint32_t>> words_of(const std::string& file, const std::string& bytes) {
    if (bytes.size() % 4 != 0)
        return bad(fmt::format("{}: {} bytes are no whole number of words", file, bytes.size()));
    std::vector<std::uint32_t> words(bytes.size() / 4);
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), bytes.size());
    return words;
}

Result<std::vector<std::uint32_t>> module_of(const CheckOptions& options) {
    const std::filesystem::path source(options.file);
    const std::string extension = source.extension().string();
    if (extension == ".spv" || extension == ".spvasm") {
        const auto contents = read_text_file(source);
        if (!contents) return tl::unexpected(contents.error());
        if (extension == ".spv") return words_of(options.file, *contents);
        auto words = assemble(*contents);
        if (!words) return bad(fmt::format("{}: {}", options.file, words.error().message));
        return words;
    }
    if (auto there = open_regular_file(source); !there) return tl::unexpected(there.error());
    std::string name = (std::filesystem::temp_directory_path() / "lanewise-check-XXXXXX").string();
    Folder folder;
    if (mkdtemp(name.data()) == nullptr)
        return tl::unexpected(
            Error{ErrorCode::io, fmt::format("no folder {} can be made", name), nullptr});
    folder.path = name;
    const auto module = folder.path / "module.spv";
    const auto said = folder.path / "said.txt";
    std::filesystem::path input = "/dev/null";
    std::vector<std::string> command;
    if (extension == ".wgsl") {
        const auto text = read_text_file(source);
        if (!text) return tl::unexpected(text.error());
        input = folder.path / "source.wgsl";
        std::ofstream(input, std::ios::binary) << without_enable(*text);
        // Subgroup operations need SPIR-V 1.3; -g names the lines.
        command = {"naga",           "-g",  "--spirv-version",   "1.3",
                   "--capabilities", "all", "--stdin-file-path", source.string(),
                   module.string()};
    } else if (extension == ".comp" || extension == ".glsl") {
        command = {"glslangValidator", "--target-env", "vulkan1.3", "-S", "comp", "-g"};
        for (const std::string& include : options.includes) command.push_back("-I" + include);
        for (const std::string& define : options.defines) command.push_back("-D" + define);
        command.insert(command.end(), {"-o", module.string(), source.string()});
    } else {
        return bad(fmt::format("{}: neither .comp, .glsl, .spv, .spvasm nor .wgsl", options.file));
    }
    const auto status = run_program(command, input, said);
    if (!status) return tl::unexpected(status.error());
    if (*status != 0) {
        const auto text = read_text_file(said);
        return bad(fmt::format("{} does not compile: {}", options.file,
                               first_error(text ? *text : std::string())));
    }
    const auto contents = read_text_file(module);
    if (!contents) return tl::unexpected(contents.error());
    return words_of(options.file, *contents);
}

Result<std::vector<std::byte>> filled(const std::string& fill, std::uint64_t bytes) {
    std::vector<std::byte> memory(bytes);
    if (fill == "zero") return memory;
    std::uint64_t seed = 1;
    const bool random = fill.starts_with("random:");
    if (random) {
        const auto parsed = parse_count(fill.substr(7));
        if (!parsed) return bad(fmt::format("--fill {}: the seed is no number", fill));
        seed = *parsed;
    } else if (fill != "index") {
        return bad(fmt::format("--fill {}: zero, index or random:SEED", fill));
    }
    std::mt19937_64 generator(seed);
    for (std::uint64_t at = 0; at + 4 <= bytes; at += 4) {
        const auto word = static_cast<std::uint32_t>(random ? generator() : at / 4);
        std::memcpy(memory.data() + at, &word, 4);
    }
    return memory;
}

Json place_json(const SourceLine& line) {
    return {{"file", line.file},
            {"line", line.line},
            {"function", line.function},
            {"instruction", line.instruction}};
}

Json fault_json(const Fault& fault) {
    Json json{
        {"kind", to_text(fault.kind)}, {"message", fault.message}, {"at", place_json(fault.at)}};
    if (!fault.other.instruction.empty()) json["other"] = place_json(fault.other);
    json["workgroup"] = fault.workgroup;
    json["local_invocation"] = fault.local_invocation;
    json["subgroup"] = fault.subgroup;
    json["lane"] = fault.lane;
    if (!fault.buffer.empty()) {
        json["buffer"] = fault.buffer;
        json["offset"] = fault.offset;
    }
    json["times"] = fault.times;
    return json;
}

// A number as a shader sees it: 3, -3, 0x3, 2^3, or a float, as the bits of its 32.
std::optional<std::uint64_t> parse_bits(std::string_view text) {
    if (const auto count = parse_count(text)) return count;
    const bool negative = text.starts_with('-');
    const std::string_view digits = text.substr(negative ? 1 : 0);
    const char* end = text.data() + text.size();
    std::uint64_t value = 0;
    const bool hex = digits.starts_with("0x");
    const auto whole = std::from_chars(digits.data() + (hex ? 2 : 0), end, value, hex ? 16 : 10);
    if (whole.ec == std::errc() && whole.ptr == end) return negative ? 0 - value : value;
    float number = 0;
    const auto real = std::from_chars(text.data(), end, number);
    if (real.ec != std::errc() || real.ptr != end) return std::nullopt;
    return std::bit_cast<std::uint32_t>(number);
}

// Rewrites 2^20 as what the option's type is read from.
CLI::Validator count_text() {
    return CLI::Validator(
        [](std::string& text) {
            const auto count = parse_count(text);
            if (!count) return "'" + text + "' is no number, nor a power as 2^20";
            text = std::to_string(*count);
            return std::string();
        },
        "", "");
}

// And what parse_bits() takes as a 32-bit word.
CLI::Validator word_text() {
    return CLI::Validator(
        [](std::string& text) {
            const auto bits = parse_bits(text);
            const bool negative = text.starts_with('-') && bits && *bits > UINT32_MAX;
            const bool fits = bits && (negative ? 0 - *bits <= 0x80000000u : *bits <= UINT32_MAX);
            if (!fits) return "'" + text + "' is no 32-bit number";
            text = std::to_string(static_cast<std::uint32_t>(*bits));
            return std::string();
        },
        "", "");
}

template <class Enum>
Enum chosen(std::initializer_list<Enum> all, const std::string& word) {
    for (const Enum value : all)
        if (word == to_text(value)) return value;
    return *all.begin();
}

Machine machine_of(const CheckOptions& options, std::uint32_t size) {
    Machine machine;
    machine.subgroup_size = size;
    for (const std::uint32_t population : options.populations)
        machine.populations.push_back(std::min(population, size));
    machine.lane_order =
        chosen({LaneOrder::linear, LaneOrder::reversed, LaneOrder::column_wise, LaneOrder::random},
               options.lanes);
    machine.workgroups = machine.subgroups =
        chosen({Schedule::in_order, Schedule::reversed, Schedule::round_robin, Schedule::random},
               options.schedule);
    machine.reconvergence =
        chosen({Reconvergence::maximal, Reconvergence::subgroup_uniform, Reconvergence::weakest},
               options.reconvergence);
    machine.quantum = options.quantum;
    machine.seed = options.seed;
    machine.max_instructions = options.instructions;
    machine.uniform_subgroup_operations = options.uniform_operations;
    return machine;
}

Status run_check(const CheckOptions& options) {
    const auto module = module_of(options);
    if (!module) return fail(module.error());
    const std::vector<std::uint32_t>& words = *module;

    ShaderRun run;
    run.module = words;
    run.entry_point = options.entry_point;
    run.name = std::filesystem::path(options.file).stem().string();
    for (std::size_t i = 0; i < 3; ++i)
        run.workgroups[i] = i < options.workgroups.size() ? options.workgroups[i] : 1;
    for (const std::string& text : options.constants) {
        const auto equals = text.find('=');
        const auto id = parse_count(text.substr(0, equals));
        const auto value =
            equals == std::string::npos ? std::nullopt : parse_bits(text.substr(equals + 1));
        if (!id || !value)
            return fail(Status::usage, fmt::format("--constant {}: not ID=VALUE", text));
        run.constants.push_back({static_cast<std::uint32_t>(*id), *value});
    }
    const auto interface = inspect(words, options.entry_point, run.constants);
    if (!interface)
        return fail(Status::usage, fmt::format("{}: {}", options.file, interface.error().message));

    for (const std::uint32_t output : options.outputs) {
        if (std::ranges::find(interface->blocks, output, &ShaderInterface::Block::binding) ==
            interface->blocks.end())
            return fail(Status::usage, fmt::format("--output {}: {} has no buffer at that binding",
                                                   output, options.file));
    }

    std::vector<std::vector<std::byte>> initial;
    std::vector<std::vector<std::byte>> memory(interface->blocks.size());
    for (const ShaderInterface::Block& block : interface->blocks) {
        constexpr std::uint64_t kMost = std::uint64_t{1} << 30;
        const std::uint64_t most_elements =
            block.array_stride == 0 ? UINT64_MAX : kMost / block.array_stride;
        if (block.bytes > kMost || options.elements > most_elements)
            return fail(Status::usage,
                        fmt::format("binding {}.{} would take more than {} bytes{}", block.set,
                                    block.binding, kMost,
                                    block.array_stride == 0 ? "" : ": lower --elements"));
        const std::uint64_t size = block.bytes + block.array_stride * options.elements;
        auto contents = filled(options.fill, size);
        if (!contents) return fail(contents.error());
        initial.push_back(*std::move(contents));
    }
    run.push_constants.resize(
        std::max<std::size_t>(interface->push_constant_bytes, options.push.size() * 4));
    if (!options.push.empty())
        std::memcpy(run.push_constants.data(), options.push.data(), options.push.size() * 4);

    std::uint64_t found = 0;
    Json runs = Json::array();
    for (const std::uint32_t size : options.sizes) {
        const Machine machine = machine_of(options, size);
        run.buffers.clear();
        for (std::size_t i = 0; i < interface->blocks.size(); ++i) {
            const ShaderInterface::Block& block = interface->blocks[i];
            memory[i] = initial[i];
            const bool known =
                std::ranges::find(options.outputs, block.binding) == options.outputs.end();
            run.buffers.push_back(
                {block.set, block.binding, memory[i], known,
                 fmt::format("{} (binding {}.{})", block.name, block.set, block.binding), 0});
        }
        std::vector<Machine> machines{machine};
        if (options.compare) {
            Machine other = machine;
            other.lane_order = LaneOrder::reversed;
            other.subgroup_ids = simulator::Order::reversed;
            other.workgroups = other.subgroups = Schedule::reversed;
            machines.push_back(other);
            other.lane_order = LaneOrder::random;
            other.subgroup_ids = simulator::Order::random;
            other.workgroups = other.subgroups = Schedule::random;
            machines.push_back(other);
        }
        const auto report =
            options.compare ? simulator::compare(machines, run) : run_shader(machine, run);
        if (!report) return fail(report.error());
        found += report->faults.size();
        if (options.json) {
            Json faults = Json::array();
            for (const Fault& fault : report->faults) faults.push_back(fault_json(fault));
            runs.push_back({{"subgroup_size", size},
                            {"machine", to_text(machine)},
                            {"faults", std::move(faults)},
                            {"instructions", report->instructions},
                            {"invocation_instructions", report->invocation_instructions},
                            {"seconds", report->seconds}});
        } else {
            for (const Fault& fault : report->faults)
                print(fmt::format("{} [subgroups of {}]\n", to_text(fault), size));
            note(options.quiet,
                 fmt::format("lanewise: {}: {} instructions of invocations, {} fault{}",
                             to_text(machine), report->invocation_instructions,
                             report->faults.size(), report->faults.size() == 1 ? "" : "s"));
        }
    }
    if (options.json)
        print_json({{"file", options.file}, {"faults", found}, {"runs", std::move(runs)}});
    return found == 0 ? Status::good : Status::failed;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
    auto options = std::make_shared<CheckOptions>();
    CLI::App* verb =
        app.add_subcommand("check", "run a compute shader in the simulator and report its faults");
    verb->add_option(
            "FILE", options->file,
            "shader: .comp or .glsl, .spv, .spvasm (SPIR-V assembly, as spirv-dis, or Dawn "
            "with its toggle dump_shaders, print it), or .wgsl where naga is installed")
        ->required();
    verb->add_option("--subgroup-size", options->sizes,
                     "sizes to run it at, e.g. 4,32,128; without it all from 4 to 128")
        ->delimiter(',');
    verb->add_option("--workgroups", options->workgroups, "workgroups: X, or X,Y,Z; without it 3")
        ->delimiter(',')
        ->expected(1, 3);
    verb->add_option("--fill", options->fill,
                     "contents of buffers: zero, index (each 32-bit word holds its number) or "
                     "random:SEED")
        ->capture_default_str();
    verb->add_option("--elements", options->elements,
                     "length of arrays without a length, as in: buffer A { uint a[]; }")
        ->transform(count_text())
        ->capture_default_str();
    verb->add_option("--output", options->outputs, "bindings that begin as never written")
        ->delimiter(',');
    verb->add_option("--push", options->push,
                     "push constants, as 32-bit words: 7,-1,0x10,1.5; those left out are 0")
        ->transform(word_text())
        ->delimiter(',');
    verb->add_option("--constant", options->constants,
                     "specialisation constant: ID=VALUE, e.g. 0=64,3=-1,5=0.25 (true is 1)")
        ->delimiter(',');
    verb->add_option("-D,--define", options->defines, "define for GLSL: NAME or NAME=VALUE");
    verb->add_option("-I,--include", options->includes, "folder of files that GLSL includes");
    verb->add_option("--entry", options->entry_point, "entry point")->capture_default_str();
    verb->add_option("--lanes", options->lanes, "order of the lanes")
        ->check(one_of({"linear", "reversed", "column_wise", "random"}))
        ->capture_default_str();
    verb->add_option("--schedule", options->schedule, "order of workgroups and subgroups")
        ->check(one_of({"in_order", "reversed", "round_robin", "random"}))
        ->capture_default_str();
    verb->add_option("--reconvergence", options->reconvergence,
                     "where lanes that parted meet again")
        ->check(one_of({"maximal", "subgroup_uniform", "weakest"}))
        ->capture_default_str();
    verb->add_option("--populations", options->populations,
                     "lanes in the first, second ... subgroup")
        ->delimiter(',');
    verb->add_option("--quantum", options->quantum, "instructions of a turn")
        ->capture_default_str();
    verb->add_option("--seed", options->seed, "of all that is random")->capture_default_str();
    verb->add_option("--instructions", options->instructions,
                     "instructions after which no progress is assumed")
        ->transform(count_text())
        ->capture_default_str();
    verb->add_flag("--uniform-operations", options->uniform_operations,
                   "subgroup operations must be reached by all lanes, as in WGSL");
    verb->add_flag("--compare", options->compare,
                   "also run with other lane orders and schedules, and compare");
    add_json_option(*verb, *options);
    add_quiet_option(*verb, *options);
    verb->callback([options, &action] { action = [options] { return run_check(*options); }; });
}

}  // namespace lanewise::cli
