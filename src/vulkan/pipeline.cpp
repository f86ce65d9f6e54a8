#include "src/vulkan/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "src/core/kernel_catalogue.hpp"
#include "src/vulkan/kernel_needs.hpp"

namespace lanewise::vulkan::detail {

namespace {

template <class... Args>
tl::unexpected<Error> refuse(ErrorCode code, const Pass& pass, fmt::format_string<Args...> format,
                             Args&&... args) {
    return tl::unexpected(Error{
        code,
        fmt::format("pass {}: {}", pass.name, fmt::format(format, std::forward<Args>(args)...))});
}

// Codes with which drivers turn a pipeline down, as opposed to memory or the device giving out.
bool is_refusal(VkResult result) {
    return result != VK_ERROR_OUT_OF_HOST_MEMORY && result != VK_ERROR_OUT_OF_DEVICE_MEMORY &&
           result != VK_ERROR_DEVICE_LOST;
}

Result<OwnedSetLayout> make_set_layout(const DeviceContext& context, const DeviceFacts& facts,
                                       const Pass& pass) {
    std::vector<VkDescriptorSetLayoutBinding> bindings;
    for (std::size_t i = 0; i < pass.bindings.size(); ++i) {
        bindings.push_back({
            .binding = static_cast<std::uint32_t>(i),
            .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
            .descriptorCount = 1,
            .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        });
    }
    const VkDescriptorSetLayoutCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
        .flags = facts.caps.push_descriptors
                     ? VkFlags{VK_DESCRIPTOR_SET_LAYOUT_CREATE_PUSH_DESCRIPTOR_BIT_KHR}
                     : VkFlags{0},
        .bindingCount = static_cast<std::uint32_t>(bindings.size()),
        .pBindings = bindings.data(),
    };
    return make_owned<OwnedSetLayout>(
        context, context.vk.CreateDescriptorSetLayout, info,
        fmt::format("making the descriptor set layout of pass {}", pass.name));
}

void set_name(const DeviceContext& context, VkObjectType type, std::uint64_t handle,
              const std::string& name) {
    if (context.vk.SetDebugUtilsObjectNameEXT == nullptr) return;
    const VkDebugUtilsObjectNameInfoEXT info{
        .sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_OBJECT_NAME_INFO_EXT,
        .objectType = type,
        .objectHandle = handle,
        .pObjectName = name.c_str(),
    };
    // A name that does not stick is no reason to fail.
    context.vk.SetDebugUtilsObjectNameEXT(context.device, &info);
}

template <class Handle>
std::uint64_t number_of(Handle handle) {
    return (std::uint64_t)handle;  // a pointer or an integer, by platform
}

}  // namespace

Result<PassPipeline> make_pass_pipeline(const DeviceContext& context, const DeviceFacts& facts,
                                        const Plan& plan, const Pass& pass,
                                        const CompileOptions& options) {
    const Addressing addressing = plan.addressing;
    if (auto checked = lanewise::detail::check_pass(facts.caps, pass, addressing); !checked)
        return tl::unexpected(checked.error());
    const std::uint32_t constants = push_constant_bytes(pass, addressing);
    if (constants > facts.caps.limits.max_push_constants)
        return refuse(ErrorCode::limit_exceeded, pass, "max_push_constants is {}, {} are wanted",
                      facts.caps.limits.max_push_constants, constants);
    const auto kernel =
        lanewise::detail::find_kernel(pass.kernel, facts.max_spirv_version, options.bundle);
    if (!kernel)
        return refuse(ErrorCode::unsupported, pass, "{}",
                      lanewise::detail::no_kernel(plan, pass.kernel));

    if (const std::string missing = missing_for_kernel(kernel->words, facts.caps); !missing.empty())
        return refuse(ErrorCode::unsupported, pass,
                      "{} needs {}, which is not there or not enabled: plan with the Caps of this "
                      "device",
                      pass.kernel, missing);

    PassPipeline made;
    VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
    if (addressing == Addressing::descriptor) {
        auto layout = make_set_layout(context, facts, pass);
        if (!layout) return tl::unexpected(layout.error());
        made.set_layout = std::move(*layout);
        set_layout = made.set_layout.get();
    }

    const VkPushConstantRange push_constants{
        .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
        .size = constants,
    };
    const VkPipelineLayoutCreateInfo layout_info{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
        .setLayoutCount = set_layout != VK_NULL_HANDLE ? 1u : 0u,
        .pSetLayouts = &set_layout,
        .pushConstantRangeCount = 1,
        .pPushConstantRanges = &push_constants,
    };
    auto layout = make_owned<OwnedPipelineLayout>(
        context, context.vk.CreatePipelineLayout, layout_info,
        fmt::format("making the pipeline layout of pass {}", pass.name));
    if (!layout) return tl::unexpected(layout.error());
    made.layout = std::move(*layout);

    const VkShaderModuleCreateInfo module_info{
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
        .codeSize = kernel->words.size_bytes(),
        .pCode = kernel->words.data(),
    };
    auto shader = make_owned<OwnedShaderModule>(
        context, context.vk.CreateShaderModule, module_info,
        fmt::format("making the shader module of kernel {}", pass.kernel),
        kernel->words.size_bytes());
    if (!shader) return tl::unexpected(shader.error());

    std::vector<VkSpecializationMapEntry> entries;
    std::vector<std::uint32_t> values;
    for (const Constant& constant : pass.constants) {
        entries.push_back({
            .constantID = constant.id,
            .offset = static_cast<std::uint32_t>(values.size() * sizeof(std::uint32_t)),
            .size = sizeof(std::uint32_t),
        });
        values.push_back(constant.value);
    }
    const VkSpecializationInfo specialization{
        .mapEntryCount = static_cast<std::uint32_t>(entries.size()),
        .pMapEntries = entries.data(),
        .dataSize = values.size() * sizeof(std::uint32_t),
        .pData = values.data(),
    };
    const VkPipelineShaderStageRequiredSubgroupSizeCreateInfo required_size{
        .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO,
        .requiredSubgroupSize = pass.required_subgroup_size,
    };
    VkPipelineShaderStageCreateFlags flags = 0;
    if (pass.full_subgroups) flags |= VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    // Before SPIR-V 1.6 the shader is told the size that the API reports, whatever the true one is,
    // unless this flag is set (specification of SubgroupSize).
    if (pass.form == Form::subgroup && pass.required_subgroup_size == 0 && facts.size_control &&
        kernel->spirv_version < 0x00010600)
        flags |= VK_PIPELINE_SHADER_STAGE_CREATE_ALLOW_VARYING_SUBGROUP_SIZE_BIT;

    const VkComputePipelineCreateInfo info{
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .stage =
            {
                .sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                .pNext = pass.required_subgroup_size != 0 ? &required_size : nullptr,
                .flags = flags,
                .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                .module = shader->get(),
                .pName = "main",
                .pSpecializationInfo = &specialization,
            },
        .layout = made.layout.get(),
    };
    VkPipeline pipeline = VK_NULL_HANDLE;
    const VkResult result = context.vk.CreateComputePipelines(
        context.device, options.pipeline_cache, 1, &info, context.allocator(), &pipeline);
    if (result != VK_SUCCESS || pipeline == VK_NULL_HANDLE) {
        auto error = context.failed(
            result, fmt::format("making the pipeline of pass {} from {}", pass.name, pass.kernel));
        if (is_refusal(result)) error.value().code = ErrorCode::compile_failed;
        return error;
    }
    made.pipeline = OwnedPipeline(context, pipeline);

    set_name(context, VK_OBJECT_TYPE_PIPELINE, number_of(pipeline), pass.kernel);
    set_name(context, VK_OBJECT_TYPE_PIPELINE_LAYOUT, number_of(made.layout.get()), pass.name);
    if (set_layout != VK_NULL_HANDLE)
        set_name(context, VK_OBJECT_TYPE_DESCRIPTOR_SET_LAYOUT, number_of(set_layout), pass.name);
    return made;
}

}  // namespace lanewise::vulkan::detail
