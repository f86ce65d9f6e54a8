// lanewise info: the devices here, their subgroups, and the tier that each primitive takes on them.
#include <fmt/format.h>

#include <array>
#include <memory>

#include "cli/output.hpp"
#include "lanewise/histogram.hpp"
#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "lanewise/segmented_reduce.hpp"
#include "lanewise/segmented_sort.hpp"
#include "lanewise/select.hpp"
#include "lanewise/sort.hpp"
#include "lanewise/split.hpp"
#include "lanewise/top_k.hpp"

namespace lanewise::cli {
namespace {

struct InfoOptions : CommonOptions {
    bool caps_json = false;
};

struct TierAnswer {
    Tier tier = Tier::barrier;
    bool possible = false;
    std::string reason;
};

struct PrimitiveAnswer {
    std::string primitive;
    std::optional<Plan> chosen;
    std::string failure;  // where no tier works
    std::vector<TierAnswer> tiers;
};

// A representative request, planned freely and with every tier forced.
template <class Desc>
PrimitiveAnswer ask_planner(const Caps& caps, const char* primitive,
                            Result<Plan> (*plan_primitive)(const Caps&, const Desc&),
                            Desc desc = {}) {
    PrimitiveAnswer answer;
    answer.primitive = primitive;
    desc.max_count = std::uint64_t{1} << 20;
    if (const auto plan = plan_primitive(caps, desc)) {
        answer.chosen = *plan;
    } else {
        answer.failure = plan.error().message;
    }
    for (const Tier tier : {Tier::pinned, Tier::portable, Tier::barrier}) {
        desc.tier = tier;
        const auto plan = plan_primitive(caps, desc);
        answer.tiers.push_back(
            {tier, plan.has_value(), plan ? plan->reason : plan.error().message});
    }
    return answer;
}

std::vector<PrimitiveAnswer> ask_planners(const Caps& caps) {
    return {ask_planner(caps, "reduce", plan_reduce),
            ask_planner(caps, "scan", plan_scan),
            ask_planner(caps, "segmented_reduce", plan_segmented_reduce, {.max_segments = 1000}),
            ask_planner(caps, "sort", plan_sort),
            ask_planner(caps, "segmented_sort", plan_segmented_sort),
            ask_planner(caps, "split", plan_split, {.end_bit = 8}),
            ask_planner(caps, "top_k", plan_top_k),
            ask_planner(caps, "select", plan_select),
            ask_planner(caps, "histogram", plan_histogram)};
}

const char* yes_no(bool value) { return value ? "yes" : "no"; }

std::string present(std::initializer_list<std::pair<bool, const char*>> facts) {
    std::string text;
    for (const auto& [is_present, name] : facts) {
        if (!is_present) continue;
        if (!text.empty()) text += ' ';
        text += name;
    }
    return text.empty() ? "none" : text;
}

std::string bytes_text(std::uint64_t bytes) {
    constexpr std::array kUnits{"bytes", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    while (unit + 1 < kUnits.size() && bytes >= 1024 && bytes % 1024 == 0) {
        bytes /= 1024;
        ++unit;
    }
    return fmt::format("{} {}", bytes, kUnits[unit]);
}

const char* api_text(Api api) {
    switch (api) {
        case Api::vulkan: return "Vulkan";
        case Api::webgpu: return "WebGPU";
        default: return to_text(api);
    }
}

// Of Vulkan's, after the driver; WebGPU has none.
std::string version_text(const Caps& caps) {
    if (caps.api == Api::webgpu) return {};
    return fmt::format("; {} {}.{}", caps.api == Api::simulator ? "as Vulkan" : "Vulkan",
                       caps.api_version_major, caps.api_version_minor);
}

void print_subgroups(const SubgroupCaps& subgroup) {
    if (subgroup.operations == 0 && subgroup.size == 0) {
        print("  subgroups      none\n");
        return;
    }
    print(fmt::format(
        "  subgroup size  {} reported, {} to {} possible; the shader's built-in {}\n",
        subgroup.size == 0 ? "none" : std::to_string(subgroup.size), subgroup.min_size,
        subgroup.max_size,
        subgroup.size_is_true ? "is the true one" : "repeats the reported one, true or not"));
    print(fmt::format("  required size  {}\n",
                      subgroup.required_size_stages == 0
                          ? "cannot be required"
                          : fmt::format("in {}; {} subgroups per workgroup at most",
                                        stages_to_text(subgroup.required_size_stages),
                                        subgroup.max_workgroup_subgroups)));
    print(fmt::format("  full subgroups {}\n",
                      subgroup.full_subgroups ? "can be required" : "cannot be required"));
    print(fmt::format("  operations     {}\n", operations_to_text(subgroup.operations)));
    print(fmt::format("  in stages      {}\n", stages_to_text(subgroup.stages)));
    print(fmt::format("  on 8, 16, 64 bit types: {}\n", yes_no(subgroup.extended_types)));
}

void print_device(const GpuInfo& info, const Caps& caps) {
    const Limits& limits = caps.limits;
    print(fmt::format("{}  {} ({}, {})\n", info.index, info.name, info.type, api_text(info.api)));
    print(fmt::format("  driver         {}{}\n", info.driver, version_text(caps)));
    print_subgroups(caps.subgroup);
    print(fmt::format("  self-test      {}{}{}\n", to_text(caps.probe),
                      caps.probe_report.empty() ? "" : ": ", caps.probe_report));
    print(fmt::format("  workgroups     {} invocations at most ({} in x), {} of workgroup memory\n",
                      limits.max_workgroup_invocations, limits.max_workgroup_size_x,
                      bytes_text(limits.max_workgroup_memory)));
    print(fmt::format("  dispatches     {} x {} x {} workgroups\n", limits.max_groups_x,
                      limits.max_groups_y, limits.max_groups_z));
    print(fmt::format("  buffers        {} per stage of {} each, offsets by {}{}{}\n",
                      limits.max_storage_buffers, bytes_text(limits.max_storage_range),
                      limits.storage_offset_alignment,
                      caps.device_addresses ? "; device addresses" : "",
                      caps.push_descriptors ? "; push descriptors" : ""));
    print(fmt::format("  types          {}\n", present({{caps.types.int64, "int64"},
                                                        {caps.types.float64, "float64"},
                                                        {caps.types.float16, "float16"},
                                                        {caps.types.int8, "int8"},
                                                        {caps.types.int16, "int16"},
                                                        {caps.types.storage8, "storage8"},
                                                        {caps.types.storage16, "storage16"}})));
    print(fmt::format("  memory model   {}; device-scope barrier: {}; 64-bit atomics: {}\n",
                      yes_no(caps.memory_model), yes_no(caps.device_scope_barrier),
                      yes_no(caps.int64_atomics)));
    print(fmt::format("  progress       {} (a waiting workgroup lets others run)\n",
                      to_text(caps.forward_progress)));
    print(fmt::format(
        "  timestamps     {}\n",
        caps.timestamps ? fmt::format("every {} ns", caps.timestamp_period_ns) : "none"));
    print("  tiers\n");
    for (const PrimitiveAnswer& answer : ask_planners(caps)) {
        print(fmt::format("    {:<14} {}\n", answer.primitive,
                          answer.chosen ? fmt::format("{}: {}", to_text(answer.chosen->tier),
                                                      answer.chosen->reason)
                                        : answer.failure));
        for (const TierAnswer& tier : answer.tiers) {
            const bool is_chosen = answer.chosen && answer.chosen->tier == tier.tier;
            if (is_chosen) continue;
            print(fmt::format("    {:<14}   {}: {}\n", "", to_text(tier.tier),
                              tier.possible ? "possible when forced" : tier.reason));
        }
    }
}

Json device_json(const GpuInfo& info, const Caps& caps) {
    Json json{{"api", to_text(info.api)}, {"index", info.index},
              {"name", info.name},        {"type", info.type},
              {"driver", info.driver},    {"caps", Json::parse(caps_to_json(caps))}};
    json["primitives"] = Json::object();
    for (const PrimitiveAnswer& answer : ask_planners(caps)) {
        Json primitive;
        if (answer.chosen) {
            primitive = Json{{"tier", to_text(answer.chosen->tier)},
                             {"reason", answer.chosen->reason},
                             {"policy", answer.chosen->policy}};
        } else {
            primitive = Json{{"tier", nullptr}, {"reason", answer.failure}};
        }
        primitive["tiers"] = Json::array();
        for (const TierAnswer& tier : answer.tiers) {
            primitive["tiers"].push_back({{"tier", to_text(tier.tier)},
                                          {"possible", tier.possible},
                                          {"reason", tier.reason}});
        }
        json["primitives"][answer.primitive] = std::move(primitive);
    }
    return json;
}

Status print_caps(const InfoOptions& options) {
    const auto gpu = Gpu::create(options.gpu());
    if (!gpu) return fail(gpu.error());
    print(caps_to_json(gpu->caps()));
    print("\n");
    return Status::good;
}

// What is shown, and what is not.
struct Shown {
    Json devices = Json::array();
    Json missing = Json::object();  // why an API has nothing to show, by its name
    Status status = Status::good;
};

// One device; a failure is told, but the other devices are still worth showing.
void show_device(const InfoOptions& options, const GpuOptions& wanted, Shown& shown) {
    const auto gpu = Gpu::create(wanted);
    if (!gpu) {
        shown.status = fail(options.device.empty() ? Status::failed : status_of(gpu.error().code),
                            fmt::format("device {}: {}", wanted.device, gpu.error().message));
    } else if (options.json) {
        shown.devices.push_back(device_json(gpu->info(), gpu->caps()));
    } else {
        print_device(gpu->info(), gpu->caps());
    }
}

Status show_vulkan(const InfoOptions& options, Shown& shown) {
    const auto infos = Gpu::list();
    if (!infos) return fail(infos.error());
    if (infos->empty()) {
        shown.missing["vulkan"] =
            "no Vulkan device here; install a driver, for instance Mesa's CPU driver "
            "(mesa-vulkan-drivers)";
    }
    for (const GpuInfo& info : *infos) {
        GpuOptions wanted;
        wanted.device = std::to_string(info.index);
        show_device(options, wanted, shown);
    }
    return Status::good;
}

void show_webgpu(const InfoOptions& options, Shown& shown) {
    GpuOptions wanted;
    wanted.api = Api::webgpu;
    const auto gpu = Gpu::create(wanted);
    if (!gpu) {
        shown.missing["webgpu"] = gpu.error().message;
    } else if (options.json) {
        shown.devices.push_back(device_json(gpu->info(), gpu->caps()));
    } else {
        print_device(gpu->info(), gpu->caps());
    }
}

Status run_info(const InfoOptions& options) {
    if (options.caps_json) return print_caps(options);
    Shown shown;
    const bool all = options.api == "all";
    if (!options.device.empty() || options.api == "simulator") {
        show_device(options, options.gpu(), shown);
    } else {
        if (all || options.api == "vulkan") {
            if (const Status status = show_vulkan(options, shown); status != Status::good)
                return status;
        }
        if (all || options.api == "webgpu") show_webgpu(options, shown);
        if (shown.missing.size() == (all ? 2u : 1u)) {
            std::vector<std::string> reasons;
            for (const Json& why : shown.missing) reasons.push_back(why.get<std::string>());
            return fail(Status::failed, fmt::format("{}", fmt::join(reasons, "; ")));
        }
    }
    if (options.json) {
        Json json{{"devices", std::move(shown.devices)}};
        if (!shown.missing.empty()) json["missing"] = std::move(shown.missing);
        print_json(json);
    } else {
        for (const auto& [api, why] : shown.missing.items())
            print(fmt::format("-  none of {}: {}\n", api, why.get<std::string>()));
    }
    return shown.status;
}

}  // namespace

void add_info(CLI::App& app, Action& action) {
    auto options = std::make_shared<InfoOptions>();
    CLI::App* verb = app.add_subcommand(
        "info", "the devices here, their subgroups, and the tier each primitive takes");
    CLI::Option* caps =
        verb->add_flag("--caps-json", options->caps_json,
                       "print one device's capabilities, for `lanewise plan --caps`");
    add_api_option(*verb, *options, ApiChoice::lists);
    add_device_option(*verb, *options);
    add_json_option(*verb, *options);
    verb->get_option("--json")->excludes(caps);
    verb->callback([options, &action] { action = [options] { return run_info(*options); }; });
}

}  // namespace lanewise::cli
