#include "src/webgpu/pipeline.hpp"

#include <fmt/format.h>

#include "src/core/passes.hpp"

namespace lanewise::webgpu::detail {

Result<OwnedBindGroupLayout> make_parameters_layout(const DeviceContext& context) {
    WGPUBindGroupLayoutEntry entry = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
    entry.binding = 0;
    entry.visibility = WGPUShaderStage_Compute;
    entry.buffer.type = WGPUBufferBindingType_Uniform;
    entry.buffer.hasDynamicOffset = 1;
    entry.buffer.minBindingSize = lanewise::detail::kParameterBytes;
    WGPUBindGroupLayoutDescriptor descriptor = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
    descriptor.label = view_of("parameters");
    descriptor.entryCount = 1;
    descriptor.entries = &entry;
    OwnedBindGroupLayout layout;
    auto made = context.checked("making the layout of parameters", ErrorCode::unsupported, [&] {
        layout = {context.wgpu,
                  context.wgpu.DeviceCreateBindGroupLayout(context.device(), &descriptor)};
    });
    if (!made) return tl::unexpected(made.error());
    return layout;
}

Result<PassPipeline> make_pass_pipeline(const DeviceContext& context, const DeviceFacts& facts,
                                        WGPUBindGroupLayout parameters_layout, const Plan& plan,
                                        const Pass& pass, bool in_place) {
    if (auto checked = lanewise::detail::check_pass(facts.caps, pass, plan.addressing); !checked)
        return tl::unexpected(checked.error());
    if (pass.form == Form::subgroup && facts.caps.subgroup.operations == 0) {
        return tl::unexpected(Error{
            ErrorCode::unsupported,
            fmt::format("pass {}: {} needs the feature `subgroups`, which this device was not "
                        "made with: plan with the Caps of this device",
                        pass.name, pass.kernel),
            {}});
    }
    auto shader = wgsl::assemble(plan, pass,
                                 {.subgroup_id = facts.subgroup_id,
                                  .enable_subgroups = facts.enable_subgroups,
                                  .in_place = in_place});
    if (!shader) return tl::unexpected(shader.error());

    PassPipeline made;
    made.bindings = std::move(shader->bindings);
    made.parameters = shader->parameters;
    std::vector<WGPUBindGroupLayoutEntry> entries;
    for (const wgsl::ShaderBinding& binding : made.bindings) {
        WGPUBindGroupLayoutEntry entry = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
        entry.binding = binding.number;
        entry.visibility = WGPUShaderStage_Compute;
        entry.buffer.type = binding.access == Access::read ? WGPUBufferBindingType_ReadOnlyStorage
                                                           : WGPUBufferBindingType_Storage;
        entries.push_back(entry);
    }
    WGPUBindGroupLayoutDescriptor layout_descriptor = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
    layout_descriptor.label = view_of(pass.name);
    layout_descriptor.entryCount = entries.size();
    layout_descriptor.entries = entries.data();
    WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
    source.code = view_of(shader->text);
    WGPUShaderModuleDescriptor module_descriptor = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
    module_descriptor.nextInChain = &source.chain;
    module_descriptor.label = view_of(pass.kernel);

    // In steps: what follows from a refused module says less than its own message.
    const Functions& wgpu = context.wgpu;
    OwnedShaderModule module;
    auto done = context.checked(
        fmt::format("compiling kernel {}", pass.kernel), ErrorCode::compile_failed, [&] {
            module = {wgpu, wgpu.DeviceCreateShaderModule(context.device(), &module_descriptor)};
        });
    if (!done) return tl::unexpected(done.error());
    done = context.checked(
        fmt::format("making the pipeline of pass {} from {}", pass.name, pass.kernel),
        ErrorCode::compile_failed, [&] {
            made.layout = {wgpu,
                           wgpu.DeviceCreateBindGroupLayout(context.device(), &layout_descriptor)};
            const WGPUBindGroupLayout layouts[] = {made.layout.get(), parameters_layout};
            WGPUPipelineLayoutDescriptor groups = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
            groups.label = view_of(pass.name);
            groups.bindGroupLayoutCount = made.parameters ? 2 : 1;
            groups.bindGroupLayouts = layouts;
            const OwnedPipelineLayout layout(
                wgpu, wgpu.DeviceCreatePipelineLayout(context.device(), &groups));
            WGPUComputePipelineDescriptor pipeline = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
            pipeline.label = view_of(pass.kernel);
            pipeline.layout = layout.get();
            pipeline.compute.module = module.get();
            pipeline.compute.entryPoint = view_of("main");
            made.pipeline = {wgpu, wgpu.DeviceCreateComputePipeline(context.device(), &pipeline)};
        });
    if (!done) return tl::unexpected(done.error());
    return made;
}

}  // namespace lanewise::webgpu::detail
