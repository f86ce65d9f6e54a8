// Binding::record: everything was prepared by bind, so that this neither allocates nor fails.

#include <algorithm>
#include <cstddef>

#include "lanewise/vulkan.hpp"
#include "src/core/passes.hpp"
#include "src/vulkan/device_state.hpp"

namespace lanewise::vulkan {

namespace {

// What the pass before wrote is read or written again by the next, and, where the next is
// dispatched indirectly, by the dispatch itself.
void wait_for_writes(const detail::Functions& vk, VkCommandBuffer cmd, bool indirect) {
    VkMemoryBarrier barrier{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
    };
    VkPipelineStageFlags readers = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
    if (indirect) {
        barrier.dstAccessMask |= VK_ACCESS_INDIRECT_COMMAND_READ_BIT;
        readers |= VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT;
    }
    vk.CmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, readers, 0, 1, &barrier, 0,
                          nullptr, 0, nullptr);
}

// Between the indirect dispatches of one pass. None overwrites the arguments of the next, but all
// of scratch is one descriptor, so that synchronisation validation takes every write in it for one
// to them. Only uses of more than max_items_per_dispatch items meet it, where its cost is lost in
// milliseconds.
void wait_for_arguments(const detail::Functions& vk, VkCommandBuffer cmd) {
    const VkMemoryBarrier barrier{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
    };
    vk.CmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                          VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT, 0, 1, &barrier, 0, nullptr, 0,
                          nullptr);
}

void bind_pass(const detail::Functions& vk, VkCommandBuffer cmd, const BoundPass& pass) {
    const VkPipelineLayout layout = pass.pipeline->layout.get();
    vk.CmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pass.pipeline->pipeline.get());
    if (pass.set != VK_NULL_HANDLE) {
        vk.CmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &pass.set, 0,
                                 nullptr);
    } else if (!pass.writes.empty()) {
        vk.CmdPushDescriptorSetKHR(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0,
                                   static_cast<std::uint32_t>(pass.writes.size()),
                                   pass.writes.data());
    }
    vk.CmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0,
                        static_cast<std::uint32_t>(pass.push_constants.size()),
                        pass.push_constants.data());
}

void dispatch(const detail::Functions& vk, VkCommandBuffer cmd, const Binding::State& binding,
              const BoundPass& pass) {
    const std::uint32_t max_groups = binding.executable->plan.share.max_groups;
    for (std::uint32_t i = 0; i < pass.dispatches; ++i) {
        const std::uint32_t first_group = i * max_groups;
        if (i > 0) {
            vk.CmdPushConstants(cmd, pass.pipeline->layout.get(), VK_SHADER_STAGE_COMPUTE_BIT,
                                offsetof(lanewise::detail::Parameters, first_group),
                                sizeof first_group, &first_group);
        }
        if (pass.indirect) {
            if (i > 0) wait_for_arguments(vk, cmd);
            vk.CmdDispatchIndirect(
                cmd, binding.indirect_buffer,
                binding.indirect_offset + VkDeviceSize{i} * lanewise::detail::kIndirectBytes);
        } else if (pass.pass->groups == Groups::share) {
            vk.CmdDispatch(cmd, std::min(max_groups, binding.launch.groups - first_group), 1, 1);
        } else {
            vk.CmdDispatch(cmd, 1, 1, 1);
        }
    }
}

}  // namespace

const std::vector<std::string>& Binding::pass_names() const { return state_->pass_names; }

void Binding::record(VkCommandBuffer cmd, const RecordOptions& options) const {
    const Device::State& device = *state_->executable->device;
    const detail::Functions& vk = device.context.vk;
    const bool labels =
        vk.CmdBeginDebugUtilsLabelEXT != nullptr && vk.CmdEndDebugUtilsLabelEXT != nullptr;
    const bool stamps = options.query_pool != VK_NULL_HANDLE && device.facts.caps.timestamps;
    std::uint32_t query = options.first_query;

    // The stage is COMPUTE_SHADER on both sides: the first stamp waits for the work before, so that
    // the time is the pass's own.
    const auto stamp = [&] {
        if (stamps)
            vk.CmdWriteTimestamp(cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, options.query_pool,
                                 query++);
    };

    for (std::size_t i = 0; i < state_->passes.size(); ++i) {
        const BoundPass& pass = state_->passes[i];
        if (labels) {
            const VkDebugUtilsLabelEXT label{
                .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_LABEL_EXT,
                .pLabelName = pass.pass->name.c_str(),
            };
            vk.CmdBeginDebugUtilsLabelEXT(cmd, &label);
        }
        if (i > 0 && pass.pass->waits) wait_for_writes(vk, cmd, pass.indirect);
        stamp();
        bind_pass(vk, cmd, pass);
        dispatch(vk, cmd, *state_, pass);
        stamp();
        if (labels) vk.CmdEndDebugUtilsLabelEXT(cmd);
    }
}

}  // namespace lanewise::vulkan
