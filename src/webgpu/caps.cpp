#include "src/webgpu/caps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "src/core/quirks.hpp"

namespace lanewise::webgpu::detail {

namespace {

// Sizes that WGSL allows.
constexpr std::uint32_t kSmallestSize = 4;
constexpr std::uint32_t kLargestSize = 128;

// The operations of WGSL's `subgroups` (WGSL, subgroup built-in functions). Of the relative
// shuffles it has those by a distance that is the same in the whole workgroup.
constexpr std::uint32_t kOperations = SubgroupOperation::basic | SubgroupOperation::vote |
                                      SubgroupOperation::arithmetic | SubgroupOperation::ballot |
                                      SubgroupOperation::shuffle |
                                      SubgroupOperation::shuffle_relative | SubgroupOperation::quad;

// Whether the implementation takes the text.
Result<bool> compiles(const DeviceContext& context, std::string_view text) {
    WGPUShaderSourceWGSL source = WGPU_SHADER_SOURCE_WGSL_INIT;
    source.code = view_of(text);
    WGPUShaderModuleDescriptor descriptor = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
    descriptor.nextInChain = &source.chain;
    descriptor.label = view_of("what the language has");
    const auto made = context.checked("compiling", ErrorCode::compile_failed, [&] {
        const OwnedShaderModule module(
            context.wgpu, context.wgpu.DeviceCreateShaderModule(context.device(), &descriptor));
    });
    if (made) return true;
    if (made.error().code == ErrorCode::compile_failed) return false;
    return tl::unexpected(made.error());
}

Limits limits_of(const WGPULimits& limits) {
    Limits result;
    result.max_workgroup_invocations = limits.maxComputeInvocationsPerWorkgroup;
    result.max_workgroup_size_x = limits.maxComputeWorkgroupSizeX;
    result.max_workgroup_memory = limits.maxComputeWorkgroupStorageSize;
    result.max_groups_x = limits.maxComputeWorkgroupsPerDimension;
    result.max_groups_y = limits.maxComputeWorkgroupsPerDimension;
    result.max_groups_z = limits.maxComputeWorkgroupsPerDimension;
    result.max_storage_buffers = limits.maxStorageBuffersPerShaderStage;
    // Whole vectors of 16 bytes are bound.
    result.max_storage_range =
        std::min(limits.maxStorageBufferBindingSize, limits.maxBufferSize) / 16 * 16;
    result.storage_offset_alignment = limits.minStorageBufferOffsetAlignment;
    return result;
}

// Subgroups as the device was made with them; none where the language cannot say them.
Result<void> read_subgroups(const DeviceContext& context, const WGPUAdapterInfo& info,
                            DeviceFacts& facts) {
    const auto has = [&](WGPUFeatureName feature) {
        return context.wgpu.DeviceHasFeature(context.device(), feature) != 0;
    };
    if (!has(WGPUFeatureName_Subgroups) && !has(kNativeSubgroup)) return {};
    const auto use = [](std::string_view directive, std::string_view built_ins) {
        return fmt::format(
            "{}\n"
            "@group(0) @binding(0) var<storage, read_write> found: array<u32>;\n"
            "@compute @workgroup_size(64)\n"
            "fn main(@builtin(subgroup_size) size: u32{}) {{ found[0] = subgroupAdd(size); }}\n",
            directive, built_ins);
    };
    constexpr std::string_view kNumbers =
        ", @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32";
    std::string_view directive = "enable subgroups;";
    auto takes = compiles(context, use(directive, ""));
    if (!takes) return tl::unexpected(takes.error());
    facts.enable_subgroups = *takes;
    if (!*takes) {
        directive = "";
        takes = compiles(context, use(directive, ""));
        if (!takes) return tl::unexpected(takes.error());
        if (!*takes) return {};
    }
    takes = compiles(context, use(directive, kNumbers));
    if (!takes) return tl::unexpected(takes.error());
    facts.subgroup_id = *takes;

    SubgroupCaps& subgroup = facts.caps.subgroup;
    subgroup.operations = kOperations;
    subgroup.stages = Stage::compute | Stage::fragment;
    const bool known =
        std::has_single_bit(info.subgroupMinSize) && std::has_single_bit(info.subgroupMaxSize) &&
        info.subgroupMinSize >= kSmallestSize && info.subgroupMaxSize <= kLargestSize &&
        info.subgroupMinSize <= info.subgroupMaxSize;
    subgroup.min_size = known ? info.subgroupMinSize : kSmallestSize;
    subgroup.max_size = known ? info.subgroupMaxSize : kLargestSize;
    // WebGPU names no size that a shader gets unless there is one alone.
    subgroup.size = subgroup.min_size == subgroup.max_size ? subgroup.min_size : 0;
    // The built-in subgroup_size is the true one (WGSL); subgroups may still hold fewer.
    subgroup.size_is_true = true;
    if (has(kSubgroupSizeControl) && known) {
        subgroup.required_size_stages = Stage::compute;
        // WebGPU states no other bound than the invocations.
        subgroup.max_workgroup_subgroups =
            facts.caps.limits.max_workgroup_invocations / subgroup.min_size;
    }
    return {};
}

}  // namespace

Result<DeviceFacts> read_facts(const DeviceContext& context) {
    const Functions& wgpu = context.wgpu;
    WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
    if (wgpu.AdapterGetInfo(context.adapter(), &info) != WGPUStatus_Success) {
        return tl::unexpected(
            Error{ErrorCode::unsupported, "the adapter does not say what it is", {}});
    }
    DeviceFacts facts;
    Caps& caps = facts.caps;
    caps.api = Api::webgpu;
    caps.device_name = to_string(info.device);
    caps.driver = to_string(info.description);
    caps.vendor_id = info.vendorID;
    caps.device_id = info.deviceID;
    caps.cpu_device = info.adapterType == WGPUAdapterType_CPU;
    const WGPUAdapterInfo sizes = info;  // numbers only are read of it
    wgpu.AdapterInfoFreeMembers(info);
    if (sizes.backendType == WGPUBackendType_Null) {
        return tl::unexpected(Error{
            ErrorCode::unsupported,
            "the adapter is of the Null backend, which runs nothing: there is no driver that the "
            "implementation takes",
            {}});
    }

    WGPULimits limits = WGPU_LIMITS_INIT;
    if (wgpu.DeviceGetLimits(context.device(), &limits) != WGPUStatus_Success) {
        return tl::unexpected(
            Error{ErrorCode::unsupported, "the device does not say its limits", {}});
    }
    caps.limits = limits_of(limits);
    facts.uniform_offset_alignment = std::max(limits.minUniformBufferOffsetAlignment, 32u);
    caps.types.float16 = wgpu.DeviceHasFeature(context.device(), WGPUFeatureName_ShaderF16) != 0;
    if (auto read = read_subgroups(context, sizes, facts); !read)
        return tl::unexpected(read.error());
    caps.timestamps = wgpu.DeviceHasFeature(context.device(), WGPUFeatureName_TimestampQuery) != 0;
    if (caps.timestamps) {
        caps.timestamp_period_ns = wgpu.QueueGetTimestampPeriod != nullptr
                                       ? double{wgpu.QueueGetTimestampPeriod(context.queue())}
                                       : 1.0;
    }
    lanewise::detail::apply_quirks(caps);
    return facts;
}

}  // namespace lanewise::webgpu::detail
