#include "src/core/passes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "src/core/arithmetic.hpp"

namespace lanewise::detail {
namespace {

constexpr std::uint32_t kVectorBytes = 16;

template <class... Args>
tl::unexpected<Error> refuse(ErrorCode code, const Pass& pass, fmt::format_string<Args...> format,
                             Args&&... args) {
    return tl::unexpected(Error{
        code,
        fmt::format("pass {}: {}", pass.name, fmt::format(format, std::forward<Args>(args)...)),
        {}});
}

}  // namespace

Result<void> check_pass(const Caps& caps, const Pass& pass, Addressing addressing) {
    const auto exceeds = [&](const char* limit, std::uint64_t wanted, std::uint64_t most) {
        return refuse(ErrorCode::limit_exceeded, pass, "{} is {}, {} are wanted", limit, most,
                      wanted);
    };
    const std::uint32_t most_invocations =
        std::min(caps.limits.max_workgroup_invocations, caps.limits.max_workgroup_size_x);
    if (pass.workgroup_size > most_invocations)
        return exceeds("max_workgroup_invocations", pass.workgroup_size, most_invocations);
    if (pass.workgroup_memory > caps.limits.max_workgroup_memory)
        return exceeds("max_workgroup_memory", pass.workgroup_memory,
                       caps.limits.max_workgroup_memory);
    if (addressing == Addressing::descriptor) {
        if (pass.bindings.size() > caps.limits.max_storage_buffers)
            return exceeds("max_storage_buffers", pass.bindings.size(),
                           caps.limits.max_storage_buffers);
    } else if (!caps.device_addresses) {
        return refuse(ErrorCode::unsupported, pass,
                      "device addresses are wanted: enable bufferDeviceAddress, or plan with "
                      "Addressing::descriptor");
    }

    const std::uint32_t size = pass.required_subgroup_size;
    if (size != 0) {
        if ((caps.subgroup.required_size_stages & Stage::compute) == 0)
            return refuse(ErrorCode::unsupported, pass,
                          "a subgroup size of {} is required: enable subgroupSizeControl, or plan "
                          "for another tier",
                          size);
        if (!std::has_single_bit(size) || size < caps.subgroup.min_size ||
            size > caps.subgroup.max_size)
            return refuse(ErrorCode::unsupported, pass,
                          "a subgroup size of {} is required, this device has {} to {}", size,
                          caps.subgroup.min_size, caps.subgroup.max_size);
        const std::uint64_t most = std::uint64_t{size} * caps.subgroup.max_workgroup_subgroups;
        if (pass.workgroup_size > most)
            return exceeds("size times max_workgroup_subgroups", pass.workgroup_size, most);
    }
    if (pass.full_subgroups) {
        if (!caps.subgroup.full_subgroups)
            return refuse(ErrorCode::unsupported, pass,
                          "full subgroups are required: enable computeFullSubgroups, or plan for "
                          "another tier");
        const std::uint32_t multiple = size != 0 ? size : caps.subgroup.max_size;
        if (pass.workgroup_size % multiple != 0)
            return refuse(ErrorCode::unsupported, pass,
                          "full subgroups of {} do not fill a workgroup of {}", multiple,
                          pass.workgroup_size);
    }
    return {};
}

Result<void> check_ranges(const Plan& plan) {
    const Argument* scratch = plan.argument(Role::scratch);
    const std::uint64_t most = scratch == nullptr ? 0 : scratch->bytes;
    for (const Pass& pass : plan.passes) {
        for (const PassBuffer& buffer : pass.bindings) {
            if (buffer.bytes == 0 && buffer.offset == 0) continue;
            if (buffer.role != Role::scratch || buffer.bytes == 0 || buffer.bytes % 4 != 0 ||
                buffer.offset % kScratchAlignment != 0 || buffer.offset > most ||
                buffer.bytes > most - buffer.offset) {
                return refuse(ErrorCode::bad_argument, pass,
                              "{} is no range of the {} bytes of scratch from a multiple of {} on",
                              to_text(buffer), most, kScratchAlignment);
            }
        }
    }
    return {};
}

std::uint64_t most_bound(const Plan& plan, Role role, std::uint64_t needed, bool count_in_buffer) {
    std::uint64_t most = 0;
    for (const Pass& pass : plan.passes) {
        if (pass.when == When::count_in_buffer && !count_in_buffer) continue;
        for (const PassBuffer& buffer : pass.bindings) {
            if (buffer.role == role)
                most = std::max(most, buffer.bytes == 0 ? needed : buffer.bytes);
        }
    }
    return most;
}

std::uint64_t used_bytes(const Plan& plan, Role role, std::uint64_t needed, std::uint64_t given) {
    const Argument* argument = plan.argument(role);
    if (role != Role::offsets || argument == nullptr || argument->access != Access::read)
        return needed;
    return std::max(needed, given / 4 * 4);
}

std::shared_ptr<const Caps> caps_below(Caps caps, Tier failed) {
    switch (failed) {
        case Tier::pinned:
            caps.subgroup.full_subgroups = false;
            caps.subgroup.required_size_stages = 0;
            break;
        case Tier::portable: caps.subgroup.operations = 0; break;
        case Tier::barrier: return nullptr;
    }
    return std::make_shared<const Caps>(std::move(caps));
}

Parameters parameters_of(const Launch& launch) {
    return {
        .count_low = static_cast<std::uint32_t>(launch.count),
        .count_high = static_cast<std::uint32_t>(launch.count >> 32),
        .tiles = launch.tiles,
        .tiles_per_group = launch.tiles_per_group,
        .groups = launch.groups,
    };
}

std::uint64_t scratch_header_bytes(std::uint32_t dispatches) {
    return round_up(kParameterBytes + std::uint64_t{kIndirectBytes} * dispatches,
                    kScratchAlignment);
}

std::uint32_t scratch_usages(const Caps& caps, Addressing addressing) {
    if (addressing == Addressing::device_address)
        return BufferUsage::device_address | BufferUsage::indirect;
    return BufferUsage::storage |
           (caps.api == Api::webgpu ? BufferUsage::copy_source : BufferUsage::indirect);
}

std::uint32_t buffer_usage(Addressing addressing) {
    return addressing == Addressing::device_address ? BufferUsage::device_address
                                                    : BufferUsage::storage;
}

std::uint32_t buffer_alignment(const Caps& caps, Addressing addressing, std::uint32_t least) {
    return addressing == Addressing::device_address
               ? least
               : std::max(least, caps.limits.storage_offset_alignment);
}

std::uint64_t provided_bytes(const Caps& caps, std::uint64_t bytes) {
    return caps.api == Api::webgpu ? round_up(bytes, kVectorBytes) : bytes;
}

Pass count_to_groups_pass(const Caps& caps, const Share& share, std::uint64_t max_count,
                          Addressing addressing) {
    const Launch most = share_out(share, max_count);
    Pass pass;
    pass.name = "count_to_groups";
    pass.kernel = fmt::format("count_to_groups.barrier.none.{}", to_text(addressing));
    pass.form = Form::barrier;
    pass.workgroup_size =
        std::min({32u, caps.limits.max_workgroup_invocations, caps.limits.max_workgroup_size_x});
    pass.constants = {{0, "workgroup_size", pass.workgroup_size},
                      {1, "tile_items", share.tile_items},
                      {2, "max_groups", share.max_groups},
                      {3, "max_tiles_per_dispatch", share.max_tiles_per_dispatch},
                      {4, "max_count_low", static_cast<std::uint32_t>(max_count)},
                      {5, "max_count_high", static_cast<std::uint32_t>(max_count >> 32)},
                      {6, "max_dispatches", most.dispatches},
                      {7, "indirect_offset", kParameterBytes}};
    pass.bindings = {Role::count, Role::scratch};
    pass.groups = Groups::one;
    pass.when = When::count_in_buffer;
    return pass;
}

}  // namespace lanewise::detail
