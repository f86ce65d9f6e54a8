#include "lanewise/plan.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/core/arithmetic.hpp"
#include "src/core/names.hpp"
#include "src/core/passes.hpp"

namespace lanewise {
namespace {

using Json = nlohmann::ordered_json;

constexpr detail::Names<Role, detail::kRoles> kRoleNames{{{Role::input, "input"},
                                                          {Role::output, "output"},
                                                          {Role::scratch, "scratch"},
                                                          {Role::state, "state"},
                                                          {Role::count, "count"},
                                                          {Role::values, "values"},
                                                          {Role::values_out, "values_out"},
                                                          {Role::offsets, "offsets"},
                                                          {Role::flags, "flags"},
                                                          {Role::keys, "keys"},
                                                          {Role::rejected, "rejected"},
                                                          {Role::count_out, "count_out"}}};
constexpr detail::Names<Addressing, 2> kAddressingNames{
    {{Addressing::descriptor, "descriptor"}, {Addressing::device_address, "device_address"}}};
constexpr detail::Names<Form, 2> kFormNames{
    {{Form::subgroup, "subgroup"}, {Form::barrier, "barrier"}}};
constexpr detail::Names<Groups, 2> kGroupsNames{{{Groups::one, "one"}, {Groups::share, "share"}}};
constexpr detail::Names<When, 2> kWhenNames{
    {{When::always, "always"}, {When::count_in_buffer, "count_in_buffer"}}};
constexpr detail::Names<Access, 3> kAccessNames{
    {{Access::read, "read"}, {Access::write, "write"}, {Access::read_write, "read_write"}}};

// Of the buffer `role` for each item; 0: its size does not follow from the count.
std::uint32_t bits_of_item(const Plan& plan, Role role) {
    switch (role) {
        case Role::input: return 8 * plan.element_bytes;
        case Role::output:
        case Role::rejected: return 8 * plan.result_bytes;
        case Role::values:
        case Role::values_out: return 8 * plan.value_bytes;
        case Role::flags:
        case Role::keys: return plan.flag_bits;
        default: return 0;
    }
}

std::string groups_of(const Plan& plan, const Pass& pass) {
    if (pass.groups == Groups::one) return "1 workgroup";
    const Launch launch = share_out(plan.share, plan.max_count);
    std::string text =
        fmt::format("up to {} workgroups", std::min(plan.share.max_groups, launch.groups));
    if (launch.dispatches > 1) text += fmt::format(" in each of {} dispatches", launch.dispatches);
    return text;
}

}  // namespace

Launch share_out(const Share& share, std::uint64_t count) {
    Launch launch;
    launch.count = count;
    const std::uint64_t tiles = detail::divide_up(count, share.tile_items);
    const std::uint64_t most = std::max(1u, share.max_tiles_per_dispatch / share.max_groups);
    const std::uint64_t tiles_per_group =
        std::clamp<std::uint64_t>(detail::divide_up(tiles, share.max_groups), 1, most);
    launch.tiles = static_cast<std::uint32_t>(tiles);
    launch.tiles_per_group = static_cast<std::uint32_t>(tiles_per_group);
    launch.groups = static_cast<std::uint32_t>(
        std::max<std::uint64_t>(1, detail::divide_up(tiles, tiles_per_group)));
    launch.dispatches =
        static_cast<std::uint32_t>(detail::divide_up(launch.groups, share.max_groups));
    return launch;
}

const Argument* Plan::argument(Role role) const {
    const auto found = std::ranges::find(arguments, role, &Argument::role);
    return found == arguments.end() ? nullptr : &*found;
}

std::uint64_t bytes_needed(const Plan& plan, Role role, std::uint64_t count) {
    const Argument* argument = plan.argument(role);
    if (argument == nullptr) return 0;
    const std::uint32_t each = bits_of_item(plan, role);
    if (each == 0) return argument->bytes;
    const bool is_result = role == Role::output || role == Role::values_out;
    if (is_result && plan.max_results) count = std::min(count, *plan.max_results);
    // Kernels access whole 32-bit words, never past the last that holds an element.
    return std::min(argument->bytes, 4 * detail::divide_up(count * each, 32));
}

const char* to_text(Role role) { return detail::name_of(kRoleNames, role); }
std::string to_text(const PassBuffer& buffer) {
    if (buffer.bytes == 0) return to_text(buffer.role);
    return fmt::format("{}[{}, +{}]", to_text(buffer.role), buffer.offset, buffer.bytes);
}
const char* to_text(Addressing addressing) { return detail::name_of(kAddressingNames, addressing); }
const char* to_text(Form form) { return detail::name_of(kFormNames, form); }
const char* to_text(Groups groups) { return detail::name_of(kGroupsNames, groups); }
const char* to_text(When when) { return detail::name_of(kWhenNames, when); }
const char* to_text(Access access) { return detail::name_of(kAccessNames, access); }

std::string usages_to_text(std::uint32_t usages) {
    std::string text;
    for (const auto& [bit, name] : {std::pair{+BufferUsage::storage, "storage"},
                                    std::pair{+BufferUsage::indirect, "indirect"},
                                    std::pair{+BufferUsage::device_address, "device_address"},
                                    std::pair{+BufferUsage::copy_source, "copy_source"}}) {
        if ((usages & bit) == 0) continue;
        if (!text.empty()) text += ' ';
        text += name;
    }
    return text;
}

std::string to_text(const Plan& plan) {
    std::string text;
    const auto line = [&text]<class... Args>(fmt::format_string<Args...> format, Args&&... args) {
        text += fmt::format(format, std::forward<Args>(args)...);
        text += '\n';
    };
    line("{}: {}, up to {} items", plan.primitive, plan.summary, plan.max_count);
    line("tier      {}: {}", to_text(plan.tier), plan.reason);
    line("policy    {}", plan.policy);
    line("buffers   by {}", to_text(plan.addressing));
    std::size_t width = 8;
    for (const Argument& argument : plan.arguments)
        width = std::max(width, std::string_view(to_text(argument.role)).size() + 1);
    for (const Argument& argument : plan.arguments) {
        line("  {:<{}}{} bytes, aligned to {}, {}, {}", to_text(argument.role), width,
             argument.bytes, argument.alignment, to_text(argument.access),
             usages_to_text(argument.usages));
    }
    if (plan.state_bytes > 0)
        line("  {:<{}}{} bytes, the binding's own", "state", width, plan.state_bytes);
    if (plan.in_place) line("  the output may be the input");
    if (plan.max_results) line("  up to {} results", *plan.max_results);
    if (plan.segment_result_bytes != 0)
        line("  a result of {} bytes for each segment", plan.segment_result_bytes);
    if (plan.result != Role::output) line("  the result is in the {}", to_text(plan.result));
    line("passes");
    for (const Pass& pass : plan.passes) {
        line("  {}{}", pass.name,
             pass.when == When::count_in_buffer ? " (only when the count is in a buffer)" : "");
        line("    kernel    {}", pass.kernel);
        std::string subgroup;
        if (pass.required_subgroup_size > 0) {
            subgroup = fmt::format(", subgroups of {}{}", pass.required_subgroup_size,
                                   pass.full_subgroups ? ", full" : "");
        }
        line("    runs      {} of {} invocations{}", groups_of(plan, pass), pass.workgroup_size,
             subgroup);
        line("    inside    {} bytes of workgroup memory, {} barriers at most",
             pass.workgroup_memory, pass.barriers);
        std::string constants;
        for (const Constant& constant : pass.constants) {
            constants += fmt::format("{}{} {}", constants.empty() ? "" : ", ", constant.name,
                                     constant.value);
        }
        line("    constants {}", constants);
        std::string bindings;
        for (const PassBuffer& buffer : pass.bindings) {
            bindings += fmt::format("{}{}", bindings.empty() ? "" : ", ", to_text(buffer));
        }
        line("    bindings  {}{}", bindings, pass.waits ? "; a memory barrier before it" : "");
    }
    return text;
}

std::string plan_to_json(const Plan& plan) {
    const Launch launch = share_out(plan.share, plan.max_count);
    Json json{{"primitive", plan.primitive},
              {"summary", plan.summary},
              {"max_count", plan.max_count},
              {"tier", to_text(plan.tier)},
              {"reason", plan.reason},
              {"policy", plan.policy},
              {"addressing", to_text(plan.addressing)},
              {"element_bytes", plan.element_bytes},
              {"result_bytes", plan.result_bytes},
              {"value_bytes", plan.value_bytes},
              {"flag_bits", plan.flag_bits},
              {"max_results", plan.max_results ? Json(*plan.max_results) : Json()},
              {"segment_result_bytes", plan.segment_result_bytes},
              {"in_place", plan.in_place},
              {"result", to_text(plan.result)},
              {"share",
               {{"tile_items", plan.share.tile_items},
                {"max_groups", plan.share.max_groups},
                {"max_tiles_per_dispatch", plan.share.max_tiles_per_dispatch}}},
              {"launch",
               {{"tiles", launch.tiles},
                {"tiles_per_group", launch.tiles_per_group},
                {"groups", launch.groups},
                {"dispatches", launch.dispatches}}},
              {"state_bytes", plan.state_bytes},
              {"indirect_offset", plan.indirect_offset}};
    json["arguments"] = Json::array();
    for (const Argument& argument : plan.arguments) {
        json["arguments"].push_back({{"role", to_text(argument.role)},
                                     {"bytes", argument.bytes},
                                     {"alignment", argument.alignment},
                                     {"access", to_text(argument.access)},
                                     {"usages", usages_to_text(argument.usages)}});
    }
    json["passes"] = Json::array();
    for (const Pass& pass : plan.passes) {
        Json constants = Json::array();
        for (const Constant& constant : pass.constants) {
            constants.push_back(
                {{"id", constant.id}, {"name", constant.name}, {"value", constant.value}});
        }
        Json bindings = Json::array();
        for (const PassBuffer& buffer : pass.bindings) bindings.push_back(to_text(buffer));
        json["passes"].push_back({{"name", pass.name},
                                  {"kernel", pass.kernel},
                                  {"form", to_text(pass.form)},
                                  {"workgroup_size", pass.workgroup_size},
                                  {"required_subgroup_size", pass.required_subgroup_size},
                                  {"full_subgroups", pass.full_subgroups},
                                  {"groups", to_text(pass.groups)},
                                  {"when", to_text(pass.when)},
                                  {"waits", pass.waits},
                                  {"workgroup_memory", pass.workgroup_memory},
                                  {"barriers", pass.barriers},
                                  {"constants", std::move(constants)},
                                  {"bindings", std::move(bindings)}});
    }
    return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lanewise
