// What every plan must keep to, whatever it computes: checked against the caps it was made from.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "lanewise/caps.hpp"
#include "lanewise/plan.hpp"
#include "src/core/kernel_catalogue.hpp"
#include "src/core/passes.hpp"
#include "tests/support/spirv_scan.hpp"

namespace lanewise::test {

// What is wrong with the ranges of scratch that a pass binds: they lie in it, begin where any
// device can bind, and share no byte.
inline std::vector<std::string> broken_ranges(const Plan& plan, const Pass& pass) {
    std::vector<std::string> broken;
    const Argument* scratch = plan.argument(Role::scratch);
    const std::uint64_t whole = scratch != nullptr ? scratch->bytes : 0;
    struct Range {
        std::uint64_t begin, end;
        bool is_all;
    };
    std::vector<Range> ranges;
    for (const PassBuffer& buffer : pass.bindings) {
        if (buffer.role != Role::scratch) continue;
        const Range range{buffer.offset, buffer.bytes == 0 ? whole : buffer.offset + buffer.bytes,
                          buffer.bytes == 0};
        const std::string text =
            fmt::format("{}: bytes {} to {} of scratch", pass.name, range.begin, range.end);
        if (range.begin % 256 != 0) broken.push_back(text + ": begin at no multiple of 256");
        if (buffer.bytes % 4 != 0) broken.push_back(text + ": no whole words");
        if (range.end > whole || range.end < range.begin)
            broken.push_back(text + fmt::format(", which has {}", whole));
        for (const Range& other : ranges) {
            // All of it is bound twice where a kernel sees it as two things.
            if (range.is_all && other.is_all) continue;
            if (range.begin < other.end && other.begin < range.end) {
                broken.push_back(text + fmt::format(" overlap {} to {}", other.begin, other.end));
            }
        }
        ranges.push_back(range);
    }
    return broken;
}

// The rules that the plan breaks, one line each; empty: none. The kernels of a custom operator are
// looked at where their bundle is given.
inline std::vector<std::string> broken_rules(const Plan& plan, const Caps& caps,
                                             const Bundle* bundle = nullptr) {
    std::vector<std::string> broken;
    const auto rule = [&](bool kept, std::string what) {
        if (!kept) broken.push_back(std::move(what));
    };
    const Limits& limits = caps.limits;
    const bool webgpu = caps.api == Api::webgpu;

    rule(!plan.reason.empty(), "the plan does not say why it has its tier");
    rule(!plan.policy.empty(), "the plan does not print its policy");
    rule(!plan.passes.empty(), "the plan has no pass");

    // How items are shared out.
    const Share& share = plan.share;
    rule(share.tile_items >= 1, "a tile has no item");
    rule(share.max_groups >= 1 && share.max_groups <= limits.max_groups_x,
         fmt::format("max_groups {} is above the device's {}", share.max_groups,
                     limits.max_groups_x));
    rule(share.max_tiles_per_dispatch >= share.max_groups,
         fmt::format("max_tiles_per_dispatch {} is below max_groups {}",
                     share.max_tiles_per_dispatch, share.max_groups));
    const std::uint64_t tiles =
        plan.max_count / share.tile_items + (plan.max_count % share.tile_items != 0 ? 1 : 0);
    rule(tiles <= 0xffffffffu, fmt::format("{} tiles do not fit 32 bits", tiles));
    const Launch launch = share_out(share, plan.max_count);
    rule(std::uint64_t{launch.groups} * launch.tiles_per_group >= tiles, "items are left out");

    // Buffers.
    const std::uint64_t results =
        std::min(plan.max_results.value_or(plan.max_count), plan.max_count);
    rule(plan.argument(Role::output) != nullptr || plan.argument(Role::values_out) != nullptr,
         "no argument takes a result");
    for (const Role role : {Role::input, plan.result}) {
        if (role == Role::output && plan.argument(Role::values_out) != nullptr) continue;
        rule(plan.argument(role) != nullptr, fmt::format("no argument {}", to_text(role)));
    }
    rule(plan.result == Role::output || plan.result == Role::input,
         "the result is in no such buffer");
    rule((plan.value_bytes != 0) == (plan.argument(Role::values_out) != nullptr),
         "values have bytes and no buffer, or a buffer and no bytes");
    const auto ranges = detail::check_ranges(plan);
    rule(ranges.has_value(), ranges ? "" : ranges.error().message);
    for (const Argument& argument : plan.arguments) {
        const std::string name = to_text(argument.role);
        rule(std::has_single_bit(argument.alignment), name + ": alignment is no power of two");
        rule((argument.usages & BufferUsage::storage) != 0 ||
                 plan.addressing == Addressing::device_address,
             name + " is not used as storage");
        rule(((argument.usages & BufferUsage::device_address) != 0) ==
                 (plan.addressing == Addressing::device_address),
             name + ": usages do not fit the addressing");
        if (plan.addressing == Addressing::descriptor) {
            rule(argument.alignment % limits.storage_offset_alignment == 0,
                 fmt::format("{}: alignment {} is no multiple of the device's {}", name,
                             argument.alignment, limits.storage_offset_alignment));
            const std::uint64_t most =
                detail::most_bound(plan, argument.role, argument.bytes, true);
            rule(most <= limits.max_storage_range,
                 fmt::format("{}: {} bytes are above the device's {}", name, most,
                             limits.max_storage_range));
        }
        std::uint64_t before = 0;
        const std::set<std::uint64_t> counts = {0, std::min<std::uint64_t>(1, plan.max_count),
                                                plan.max_count / 3, plan.max_count / 2,
                                                plan.max_count};
        for (const std::uint64_t count : counts) {
            const std::uint64_t needed = bytes_needed(plan, argument.role, count);
            rule(needed <= argument.bytes,
                 fmt::format("{}: {} items need {} bytes, the argument has {}", name, count, needed,
                             argument.bytes));
            rule(needed >= before,
                 fmt::format("{}: {} items need fewer bytes than fewer items", name, count));
            before = needed;
        }
    }
    if (const Argument* input = plan.argument(Role::input); input != nullptr) {
        rule(input->bytes / plan.element_bytes >= plan.max_count,
             "input is too small for max_count");
        rule(bytes_needed(plan, Role::input, plan.max_count) >= plan.max_count * plan.element_bytes,
             "bytes_needed is too small for max_count items");
        rule(input->access == Access::read || plan.primitive == "sort", "input is not only read");
        rule(input->access != Access::read || plan.result != Role::input,
             "the result is in the input, which is only read");
    }
    if (const Argument* output = plan.argument(Role::output); output != nullptr) {
        rule(output->access != Access::read, "output is only read");
        rule(plan.result_bytes == 0 || output->bytes / plan.result_bytes >= results,
             "output is too small for the results");
        rule(plan.segment_result_bytes == 0 || plan.result_bytes == 0,
             "outputs go by items, and by segments");
        rule(plan.result_bytes == 0 || bytes_needed(plan, Role::output, plan.max_count) ==
                                           (results * plan.result_bytes + 3) / 4 * 4,
             "bytes_needed of the output is not that of the results");
    }
    for (const Role role : {Role::values, Role::values_out}) {
        const Argument* values = plan.argument(role);
        if (values == nullptr || plan.value_bytes == 0) continue;
        const std::uint64_t count = role == Role::values ? plan.max_count : results;
        rule(bytes_needed(plan, role, plan.max_count) == count * plan.value_bytes,
             fmt::format("bytes_needed of {} is not that of its values", to_text(role)));
        rule(role == Role::values || values->access != Access::read, "values_out is only read");
    }
    rule(!plan.in_place || plan.result_bytes == plan.element_bytes,
         "in place, with outputs that are no elements");
    const Argument* offsets = plan.argument(Role::offsets);
    rule(plan.segment_result_bytes == 0 || (offsets != nullptr && offsets->access == Access::read),
         "outputs go by segments, which are not given");
    rule(plan.addressing == Addressing::descriptor || caps.device_addresses,
         "buffers go by address on a device without");

    // Passes.
    std::uint64_t most_dispatches = 0;
    for (const Pass& pass : plan.passes) {
        const std::string& name = pass.name;
        rule(pass.kernel.starts_with(name + '.'),
             name + ": kernel " + pass.kernel + " has another name");
        rule(pass.kernel.ends_with(std::string(".") + to_text(plan.addressing)),
             name + ": kernel " + pass.kernel + " has another addressing than the plan");
        rule(pass.kernel.find(std::string(".") + to_text(pass.form) + '.') != std::string::npos,
             name + ": kernel " + pass.kernel + " has another form than the pass");
        rule(pass.workgroup_size <= limits.max_workgroup_invocations &&
                 pass.workgroup_size <= limits.max_workgroup_size_x && pass.workgroup_size >= 1,
             fmt::format("{}: workgroup size {} is above the device's {}, {}", name,
                         pass.workgroup_size, limits.max_workgroup_invocations,
                         limits.max_workgroup_size_x));
        rule(pass.workgroup_memory <= limits.max_workgroup_memory,
             fmt::format("{}: workgroup memory {} is above the device's {}", name,
                         pass.workgroup_memory, limits.max_workgroup_memory));
        rule(plan.addressing == Addressing::device_address ||
                 pass.bindings.size() <= limits.max_storage_buffers,
             fmt::format("{}: {} bindings are above the device's {}", name, pass.bindings.size(),
                         limits.max_storage_buffers));
        rule(!pass.constants.empty() && pass.constants[0].id == 0 &&
                 pass.constants[0].value == pass.workgroup_size,
             name + ": constant 0 is not the workgroup size");
        for (std::size_t i = 1; i < pass.constants.size(); ++i) {
            rule(pass.constants[i - 1].id < pass.constants[i].id,
                 name + ": constants out of order");
        }
        for (const PassBuffer& buffer : pass.bindings) {
            const Role role = buffer.role;
            rule(role == Role::count ||
                     (role == Role::state ? plan.state_bytes != 0 : plan.argument(role) != nullptr),
                 fmt::format("{}: binding {} is no buffer of the plan", name, to_text(role)));
            rule(role != Role::count || pass.when == When::count_in_buffer,
                 name + ": reads the count's buffer in uses that have none");
        }
        for (std::string& what : broken_ranges(plan, pass)) broken.push_back(std::move(what));
        if (pass.groups == Groups::share) most_dispatches = launch.dispatches;

        const SubgroupCaps& subgroup = caps.subgroup;
        if (plan.tier == Tier::barrier)
            rule(pass.form == Form::barrier, name + ": a subgroup kernel in tier barrier");
        if (pass.form == Form::barrier) {
            rule(pass.required_subgroup_size == 0 && !pass.full_subgroups,
                 name + ": a barrier kernel asks for subgroups");
        } else {
            rule((subgroup.stages & Stage::compute) != 0,
                 name + ": no subgroups in the compute stage");
            rule((subgroup.operations & SubgroupOperation::basic) != 0, name + ": no subgroups");
            const bool pinned = plan.tier == Tier::pinned;
            rule((pass.required_subgroup_size != 0) == pinned,
                 fmt::format("{}: required size {} in tier {}", name, pass.required_subgroup_size,
                             to_text(plan.tier)));
            if (pinned) {
                const std::uint32_t size = pass.required_subgroup_size;
                rule(std::has_single_bit(size) && size >= subgroup.min_size &&
                         size <= subgroup.max_size,
                     fmt::format("{}: required size {} is not in [{}, {}]", name, size,
                                 subgroup.min_size, subgroup.max_size));
                rule((subgroup.required_size_stages & Stage::compute) != 0,
                     name + ": no size can be required");
                rule(webgpu || (pass.full_subgroups && subgroup.full_subgroups),
                     name + ": full subgroups are not required");
                rule(size != 0 && pass.workgroup_size % size == 0,
                     fmt::format("{}: {} invocations are no multiple of {}", name,
                                 pass.workgroup_size, size));
                rule(size != 0 && pass.workgroup_size / size <= subgroup.max_workgroup_subgroups,
                     fmt::format("{}: {} subgroups are above the device's {}", name,
                                 pass.workgroup_size / size, subgroup.max_workgroup_subgroups));
            }
        }

        const auto module = detail::find_kernel(
            pass.kernel, newest_spirv(std::max(caps.api_version_major, 1u), caps.api_version_minor),
            bundle);
        const bool is_compiled = plan.custom && bundle == nullptr;
        rule(module.has_value() || is_compiled, name + ": no kernel " + pass.kernel);
        if (!module) continue;
        const SpirvFacts facts = scan_spirv(module->words);
        rule(facts.well_formed, pass.kernel + " is no SPIR-V");
        for (const std::uint32_t capability : facts.capabilities) {
            const std::string missing = missing_for_capability(capability, caps);
            rule(missing.empty(), pass.kernel + " needs " + missing);
        }
        rule(pass.form == Form::subgroup || facts.group_operations.empty(),
             pass.kernel + " is a barrier kernel with subgroup operations");
        rule(pass.form == Form::barrier || !facts.group_operations.empty(),
             pass.kernel + " is a subgroup kernel without subgroup operations");
    }
    if (const Argument* scratch = plan.argument(Role::scratch);
        scratch != nullptr && most_dispatches != 0) {
        rule(plan.indirect_offset % 4 == 0, "indirect arguments are not aligned");
        rule(plan.indirect_offset + 16 * most_dispatches <= scratch->bytes,
             "scratch does not hold the arguments of all dispatches");
        rule((scratch->usages & BufferUsage::indirect) != 0 || webgpu,
             "scratch is not marked as read indirectly");
        rule(((scratch->usages & BufferUsage::copy_source) != 0) == webgpu,
             "scratch is a copy's source on WebGPU, and nowhere else");
    }
    if (webgpu) {
        for (const Argument& argument : plan.arguments) {
            rule((argument.usages & BufferUsage::indirect) == 0,
                 fmt::format("{}: what a shader writes is no indirect argument on WebGPU",
                             to_text(argument.role)));
            const bool vectors = argument.role != Role::scratch && argument.role != Role::offsets &&
                                 argument.role != Role::count_out &&
                                 (argument.role != Role::output || plan.result_bytes != 0);
            rule(!vectors || argument.bytes % 16 == 0,
                 fmt::format("{}: {} bytes are no whole vectors", to_text(argument.role),
                             argument.bytes));
        }
        for (const Pass& pass : plan.passes)
            rule(!pass.full_subgroups, pass.name + ": WebGPU promises no full subgroups");
    }
    return broken;
}

}  // namespace lanewise::test
