// Device::probe: runs small kernels and takes out of Caps what they show to be untrue. It goes
// through the same plan, compile, bind and record as everything else.

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "lanewise/vulkan.hpp"
#include "src/core/without_throwing.hpp"
#include "src/vulkan/device_state.hpp"
#include "src/vulkan/probe_check.hpp"

namespace lanewise::vulkan {

namespace {

using detail::ProbeKind;

// Three workgroups: odd ones among even ones, as some drivers fail when only some take a path.
constexpr std::uint32_t kGroups = 3;
// The invocations that every Vulkan device allows, and one subgroup of the largest size.
constexpr std::uint32_t kWorkgroupSize = 128;
constexpr std::uint32_t kSmallestWorkgroup = 4;
// Regions of the probe's buffer: the largest storage_offset_alignment that Vulkan allows.
constexpr VkDeviceSize kRegionAlignment = 256;

struct KindName {
    ProbeKind kind;
    std::uint32_t operation;  // SubgroupOperation bit
    const char* name;         // in the kernel's name
};
constexpr KindName kKinds[] = {
    {ProbeKind::basic, SubgroupOperation::basic, "basic"},
    {ProbeKind::ballot, SubgroupOperation::ballot, "ballot"},
    {ProbeKind::shuffle, SubgroupOperation::shuffle, "shuffle"},
    {ProbeKind::arithmetic, SubgroupOperation::arithmetic, "arithmetic"},
};

// One kernel in one pipeline.
struct Run {
    const KindName* kind = nullptr;  // null: the barrier kernel
    std::uint32_t workgroup_size = 0;
    std::uint32_t required_size = 0;
    std::string wrong;  // what was seen to be wrong; empty: nothing

    std::uint32_t invocations() const { return workgroup_size * kGroups; }
    std::uint32_t words() const {
        return invocations() *
               (kind == nullptr ? detail::kBarrierProbeWords : detail::kSubgroupProbeWords);
    }
};

Plan plan_of(const Run& run, const Caps& caps) {
    const std::uint32_t alignment = std::max(caps.limits.storage_offset_alignment, 4u);
    Pass pass;
    pass.form = run.kind == nullptr ? Form::barrier : Form::subgroup;
    pass.name = run.kind == nullptr ? "probe_barrier" : "probe_subgroup";
    pass.kernel = run.kind == nullptr ? "probe_barrier.barrier"
                                      : fmt::format("probe_subgroup.subgroup.{}", run.kind->name);
    pass.workgroup_size = run.workgroup_size;
    pass.required_subgroup_size = run.required_size;
    pass.full_subgroups = run.required_size != 0;
    pass.constants = {{0, "workgroup_size", run.workgroup_size}};
    pass.bindings = {Role::input, Role::output};
    pass.groups = Groups::share;

    Plan plan;
    plan.primitive = "probe";
    plan.tier = run.kind == nullptr ? Tier::barrier
                                    : (run.required_size == 0 ? Tier::portable : Tier::pinned);
    plan.max_count = run.invocations();
    plan.element_bytes = sizeof(std::uint32_t);
    plan.share = {.tile_items = run.workgroup_size, .max_groups = kGroups};
    plan.arguments = {
        {Role::input, sizeof(std::uint32_t) * run.invocations(), alignment, BufferUsage::storage,
         Access::read},
        {Role::output, sizeof(std::uint32_t) * run.words(), alignment, BufferUsage::storage,
         Access::write},
    };
    plan.passes = {std::move(pass)};
    return plan;
}

Result<void> submit_and_wait(const Device::State& device, VkQueue queue,
                             const std::vector<Binding>& bindings) {
    const detail::DeviceContext& context = device.context;
    const detail::Functions& vk = context.vk;
    const auto doing = "running the self-test";

    const VkCommandPoolCreateInfo pool_info{
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT,
        .queueFamilyIndex = device.queue_family,
    };
    auto pool = detail::make_owned<detail::OwnedCommandPool>(context, vk.CreateCommandPool,
                                                             pool_info, doing);
    if (!pool) return tl::unexpected(pool.error());
    const VkFenceCreateInfo fence_info{.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    auto fence = detail::make_owned<detail::OwnedFence>(context, vk.CreateFence, fence_info, doing);
    if (!fence) return tl::unexpected(fence.error());

    const VkCommandBufferAllocateInfo cmd_info{
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool->get(),
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    VkCommandBuffer cmd = VK_NULL_HANDLE;
    VkResult result = vk.AllocateCommandBuffers(context.device, &cmd_info, &cmd);
    if (result != VK_SUCCESS) return context.failed(result, doing);
    const VkCommandBufferBeginInfo begin_info{
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
        .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT,
    };
    result = vk.BeginCommandBuffer(cmd, &begin_info);
    if (result != VK_SUCCESS) return context.failed(result, doing);
    for (const Binding& binding : bindings) binding.record(cmd);
    const VkMemoryBarrier to_host{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_HOST_READ_BIT,
    };
    vk.CmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_PIPELINE_STAGE_HOST_BIT, 0,
                          1, &to_host, 0, nullptr, 0, nullptr);
    result = vk.EndCommandBuffer(cmd);
    if (result != VK_SUCCESS) return context.failed(result, doing);

    const VkSubmitInfo submit_info{
        .sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
        .commandBufferCount = 1,
        .pCommandBuffers = &cmd,
    };
    result = vk.QueueSubmit(queue, 1, &submit_info, fence->get());
    if (result != VK_SUCCESS) return context.failed(result, doing);
    const VkFence handle = fence->get();
    result = vk.WaitForFences(context.device, 1, &handle, VK_TRUE, UINT64_MAX);
    if (result != VK_SUCCESS) return context.failed(result, doing);
    return {};
}

// Runs all of them in one submit and fills in Run::wrong.
Result<void> execute(const Device& device, VkQueue queue, std::vector<Run>& runs) {
    const Device::State& state = *device.state();
    const Caps& caps = state.facts.caps;

    std::uint32_t most_invocations = 0;
    for (const Run& run : runs) most_invocations = std::max(most_invocations, run.invocations());
    const auto region = [](std::uint64_t words) {
        const VkDeviceSize bytes = words * sizeof(std::uint32_t);
        return (bytes + kRegionAlignment - 1) / kRegionAlignment * kRegionAlignment;
    };
    const VkDeviceSize input_bytes = region(most_invocations);
    VkDeviceSize bytes = input_bytes;
    std::vector<VkDeviceSize> offsets;
    for (const Run& run : runs) {
        offsets.push_back(bytes);
        bytes += region(run.words());
    }
    auto memory = detail::make_mapped_buffer(state.context, state.facts.memory, bytes,
                                             VK_BUFFER_USAGE_STORAGE_BUFFER_BIT,
                                             "allocating the buffer of the self-test");
    if (!memory) return tl::unexpected(memory.error());
    std::vector<std::uint32_t> words(bytes / sizeof(std::uint32_t), detail::kProbePoison);
    for (std::uint32_t at = 0; at < most_invocations; ++at) words[at] = detail::probe_value(at);
    std::memcpy(memory->bytes, words.data(), bytes);

    std::vector<Binding> bindings;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const Plan plan = plan_of(runs[i], caps);
        auto executable = device.compile(plan);
        if (!executable) {
            if (executable.error().code != ErrorCode::compile_failed)
                return tl::unexpected(executable.error());
            runs[i].wrong = "the driver refuses the pipeline";
            continue;
        }
        const VkBuffer buffer = memory->buffer.get();
        auto binding = executable->bind({.input = {buffer, 0, plan.arguments[0].bytes},
                                         .output = {buffer, offsets[i], plan.arguments[1].bytes}},
                                        std::uint64_t{runs[i].invocations()});
        if (!binding) return tl::unexpected(binding.error());
        bindings.push_back(std::move(*binding));
    }
    if (auto done = submit_and_wait(state, queue, bindings); !done) return done;

    // Out of memory that may be slow to read, at once.
    std::memcpy(words.data(), memory->bytes, bytes);
    for (std::size_t i = 0; i < runs.size(); ++i) {
        Run& run = runs[i];
        if (!run.wrong.empty()) continue;
        const detail::ProbeWords seen{
            .workgroup_size = run.workgroup_size,
            .groups = kGroups,
            .words = std::span(words).subspan(offsets[i] / sizeof(std::uint32_t), run.words()),
        };
        run.wrong = run.kind == nullptr
                        ? detail::wrong_in_barrier_probe(seen)
                        : detail::wrong_in_subgroup_probe(seen, run.kind->kind, run.required_size,
                                                          caps.subgroup);
    }
    return {};
}

std::uint32_t largest_workgroup(const Caps& caps) {
    return std::bit_floor(std::min(
        {caps.limits.max_workgroup_invocations, caps.limits.max_workgroup_size_x, kWorkgroupSize}));
}

// The barrier kernel, and every kernel whose operation is there in every pipeline that plans make.
std::vector<Run> runs_of(const Caps& caps) {
    const std::uint32_t workgroup_size = largest_workgroup(caps);
    std::vector<Run> runs{{.workgroup_size = workgroup_size}};
    const SubgroupCaps& subgroup = caps.subgroup;
    if ((subgroup.stages & Stage::compute) == 0) return runs;

    const auto add_kinds = [&](std::uint32_t w, std::uint32_t required_size) {
        for (const KindName& kind : kKinds) {
            if ((subgroup.operations & kind.operation) != 0)
                runs.push_back(
                    {.kind = &kind, .workgroup_size = w, .required_size = required_size});
        }
    };
    add_kinds(workgroup_size, 0);
    if (subgroup.full_subgroups && (subgroup.required_size_stages & Stage::compute) != 0) {
        for (std::uint32_t size = subgroup.min_size; size <= subgroup.max_size; size *= 2) {
            const std::uint64_t most = std::uint64_t{size} * subgroup.max_workgroup_subgroups;
            const auto w = static_cast<std::uint32_t>(
                std::bit_floor(std::min<std::uint64_t>(workgroup_size, most)));
            if (w >= size) add_kinds(w, size);
        }
    }
    return runs;
}

// Takes out of caps what the runs show to be untrue; answers what was wrong.
std::vector<std::string> settle_subgroups(const std::vector<Run>& runs, Caps& caps) {
    std::vector<std::string> wrongs;
    std::uint32_t portable_wrong = 0;  // SubgroupOperation bits
    std::string last_wrong;
    for (const Run& run : runs) {
        if (run.kind == nullptr || run.wrong.empty()) continue;
        if (run.required_size == 0) {
            portable_wrong |= run.kind->operation;
        } else {
            caps.subgroup.full_subgroups = false;
            caps.subgroup.required_size_stages = 0;
        }
        // What is wrong with the built-ins shows in the runs of every operation: say it once.
        if (run.wrong == last_wrong) continue;
        last_wrong = run.wrong;
        const std::string pipeline =
            run.required_size == 0 ? "portable" : fmt::format("pinned to {}", run.required_size);
        wrongs.push_back(fmt::format("{}, {}: {}", pipeline, run.kind->name, run.wrong));
    }
    // Without true built-ins no operation can be used; one operation that is wrong goes alone.
    if ((portable_wrong & SubgroupOperation::basic) != 0)
        caps.subgroup.operations = 0;
    else
        caps.subgroup.operations &= ~portable_wrong;
    return wrongs;
}

// Finds the workgroups that a device runs whole although it loses invocations of larger ones.
Result<std::uint32_t> largest_whole_workgroup(const Device& device, VkQueue queue,
                                              std::uint32_t below, const std::string& wrong) {
    std::vector<Run> smaller;
    for (std::uint32_t w = below / 2; w >= kSmallestWorkgroup; w /= 2)
        smaller.push_back({.workgroup_size = w});
    if (auto done = execute(device, queue, smaller); !done) return tl::unexpected(done.error());
    // The largest from which on all that are smaller are right, too.
    std::uint32_t whole = 0;
    for (auto run = smaller.rbegin(); run != smaller.rend() && run->wrong.empty(); ++run)
        whole = run->workgroup_size;
    if (whole > 0) return whole;
    return tl::unexpected(
        Error{ErrorCode::unsupported, fmt::format("{} does not run compute shaders right ({}): use "
                                                  "another device or driver",
                                                  device.caps().device_name, wrong)});
}

std::string joined(const std::vector<std::string>& parts) {
    // One line, and a short one: the first says it all, as a rule.
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(parts.size(), 3); ++i) {
        if (!text.empty()) text += "; ";
        text += parts[i];
    }
    if (parts.size() > 3) text += fmt::format("; and {} more", parts.size() - 3);
    return text;
}

std::string passed_text(const std::vector<Run>& runs) {
    std::string portable;
    std::string pinned;
    for (const Run& run : runs) {
        if (run.kind == nullptr) continue;
        if (run.required_size == 0) {
            portable += fmt::format("{}{}", portable.empty() ? "" : " ", run.kind->name);
        } else if (run.kind->kind == ProbeKind::basic) {
            pinned += fmt::format("{}{}", pinned.empty() ? "" : " ", run.required_size);
        }
    }
    return fmt::format("all as the API says: workgroups of {}; subgroups: {}; sizes required: {}",
                       runs.front().workgroup_size, portable.empty() ? "none" : portable,
                       pinned.empty() ? "none" : pinned);
}

Result<Caps> probe_device(const Device& device, VkQueue queue) {
    Caps caps = device.caps();
    std::vector<Run> runs = runs_of(caps);
    if (auto done = execute(device, queue, runs); !done) return tl::unexpected(done.error());

    std::vector<std::string> wrongs;
    if (const Run& barrier = runs.front(); !barrier.wrong.empty()) {
        const auto whole =
            largest_whole_workgroup(device, queue, barrier.workgroup_size, barrier.wrong);
        if (!whole) return tl::unexpected(whole.error());
        caps.limits.max_workgroup_invocations = *whole;
        caps.limits.max_workgroup_size_x = *whole;
        // Who loses invocations is not to be trusted with subgroups, whatever they answered.
        caps.subgroup.operations = 0;
        wrongs.push_back(fmt::format("{}; workgroups of {} run whole", barrier.wrong, *whole));
    } else {
        wrongs = settle_subgroups(runs, caps);
    }
    caps.probe = wrongs.empty() ? ProbeState::passed : ProbeState::failed;
    caps.probe_report = wrongs.empty() ? passed_text(runs) : joined(wrongs);
    return caps;
}

}  // namespace

Result<Caps> Device::probe(VkQueue queue) const {
    return lanewise::detail::without_throwing("running the self-test", [&]() -> Result<Caps> {
        if (auto alive = state_->context.alive(); !alive) return tl::unexpected(alive.error());
        if (queue == VK_NULL_HANDLE) {
            return tl::unexpected(
                Error{ErrorCode::bad_argument, "probe: queue is null: give one of the family"});
        }
        auto caps = probe_device(*this, queue);
        if (caps) {
            const std::lock_guard lock(state_->probed_mutex);
            state_->probed = *caps;
        }
        return caps;
    });
}

}  // namespace lanewise::vulkan
