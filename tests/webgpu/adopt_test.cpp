// Device::adopt: what it refuses, the caps that it finds (as the device was made, not as the
// adapter could have it), and that references are given back.
#include <gtest/gtest.h>

#include <bit>
#include <memory>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "tests/support/webgpu_test.hpp"

namespace lanewise::test {
namespace {

using webgpu::Adoption;
using webgpu::Device;

class WebgpuAdopt : public WebgpuTest {
protected:
    static std::string refusal(const Adoption& adoption, ErrorCode code = ErrorCode::bad_argument) {
        const auto device = Device::adopt(adoption);
        if (device) return {};
        EXPECT_EQ(to_text(device.error().code), std::string(to_text(code)))
            << device.error().message;
        EXPECT_EQ(device.error().message.find('\n'), std::string::npos);
        return device.error().message;
    }

    // A device of the same kind with something left out.
    static webgpu::detail::OwnedDeviceOptions without(const std::string& feature) {
        auto options = WebgpuRig::named();
        options.leave_out.push_back(feature);
        return options;
    }
};

TEST_F(WebgpuAdopt, MissingHandlesAreNamed) {
    const Adoption good = rig().adoption();
    ASSERT_TRUE(Device::adopt(good));
    EXPECT_NE(refusal({}), "");
    Adoption bad = good;
    bad.instance = nullptr;
    EXPECT_NE(refusal(bad).find("instance"), std::string::npos) << refusal(bad);
    bad = good;
    bad.adapter = nullptr;
    EXPECT_NE(refusal(bad).find("adapter"), std::string::npos) << refusal(bad);
    bad = good;
    bad.device = nullptr;
    EXPECT_NE(refusal(bad).find("device"), std::string::npos) << refusal(bad);
}

TEST_F(WebgpuAdopt, MissingFunctionsAreNamed) {
    const Adoption good = rig().adoption();
    Adoption bad;
#define LANEWISE_LEAVE_OUT(name)  \
    bad = good;                   \
    bad.functions.name = nullptr; \
    EXPECT_NE(refusal(bad).find(#name), std::string::npos) << #name << ": " << refusal(bad);
    LANEWISE_WEBGPU_HOST_FUNCTIONS(LANEWISE_LEAVE_OUT)
#undef LANEWISE_LEAVE_OUT
}

// Those that only an owner of devices calls stay null in webgpu::linked_functions().
TEST_F(WebgpuAdopt, OwningFunctionsAreNotNeeded) {
    Adoption adoption = rig().adoption();
#define LANEWISE_LEAVE_OUT(name) adoption.functions.name = nullptr;
    LANEWISE_WEBGPU_OWNING_FUNCTIONS(LANEWISE_LEAVE_OUT)
#undef LANEWISE_LEAVE_OUT
    const auto device = Device::adopt(adoption);
    ASSERT_TRUE(device) << device.error().message;
    EXPECT_EQ(device->caps(), rig().caps());
    const auto plan = plan_reduce(device->caps(), {.max_count = 1000});
    ASSERT_TRUE(plan);
    const auto executable = device->compile(*plan);
    ASSERT_TRUE(executable) << executable.error().message;
    const WebgpuBuffers use = make_webgpu_buffers(rig().owned(), *plan);
    const auto binding = executable->bind(use.buffers(*plan), std::uint64_t{1000});
    ASSERT_TRUE(binding) << binding.error().message;
    ASSERT_TRUE(rig().owned().run([&](WGPUCommandEncoder encoder) { binding->record(encoder); }));
}

// Where no driver suits it Dawn gives an adapter that accepts everything and runs nothing.
TEST_F(WebgpuAdopt, TheNullBackendIsRefused) {
    Adoption adoption = rig().adoption();
    static decltype(adoption.functions.AdapterGetInfo) real;
    real = adoption.functions.AdapterGetInfo;
    adoption.functions.AdapterGetInfo = [](WGPUAdapter adapter, WGPUAdapterInfo* info) {
        const WGPUStatus status = real(adapter, info);
        info->backendType = WGPUBackendType_Null;
        return status;
    };
    const std::string message = refusal(adoption, ErrorCode::unsupported);
    EXPECT_NE(message.find("Null"), std::string::npos) << message;
}

TEST_F(WebgpuAdopt, CapsAreWhatWebgpuCanBe) {
    const Caps& caps = rig().caps();
    EXPECT_EQ(caps.api, Api::webgpu);
    EXPECT_NE(caps.device_name + caps.driver, "");
    EXPECT_TRUE(caps.cpu_device);  // of these tests
    // WebGPU's least limits (WebGPU, 3.6.2).
    EXPECT_GE(caps.limits.max_workgroup_invocations, 256u);
    EXPECT_GE(caps.limits.max_workgroup_size_x, 256u);
    EXPECT_GE(caps.limits.max_workgroup_memory, 16384u);
    EXPECT_GE(caps.limits.max_groups_x, 65535u);
    EXPECT_GE(caps.limits.max_storage_buffers, 8u);
    EXPECT_GE(caps.limits.max_storage_range, 128u << 20);
    EXPECT_EQ(caps.limits.max_storage_range % 16, 0u) << "whole vectors are bound";
    EXPECT_TRUE(std::has_single_bit(caps.limits.storage_offset_alignment));
    EXPECT_LE(caps.limits.storage_offset_alignment, 256u);
    // What WGSL has not.
    EXPECT_FALSE(caps.types.int64 || caps.types.float64 || caps.types.int8 || caps.types.int16);
    EXPECT_FALSE(caps.device_addresses || caps.push_descriptors || caps.device_scope_barrier ||
                 caps.memory_model || caps.int64_atomics);
    EXPECT_EQ(caps.forward_progress, ForwardProgress::unknown);
    EXPECT_EQ(caps.timestamps, caps.timestamp_period_ns > 0);
    const auto again = caps_from_json(caps_to_json(caps));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, caps);
}

// Sizes are the adapter's, never 32 by default: powers of two from 4 to 128, also where the
// implementation says nothing.
TEST_F(WebgpuAdopt, SubgroupSizesAreARange) {
    const SubgroupCaps& subgroup = rig().caps().subgroup;
    if (subgroup.operations == 0) {
        EXPECT_EQ(subgroup, SubgroupCaps{});
        return;
    }
    EXPECT_TRUE(std::has_single_bit(subgroup.min_size) && subgroup.min_size >= 4);
    EXPECT_TRUE(std::has_single_bit(subgroup.max_size) && subgroup.max_size <= 128);
    EXPECT_LE(subgroup.min_size, subgroup.max_size);
    if (subgroup.size != 0) {
        EXPECT_GE(subgroup.size, subgroup.min_size);
        EXPECT_LE(subgroup.size, subgroup.max_size);
    }
    EXPECT_NE(subgroup.stages & Stage::compute, 0u);
    EXPECT_FALSE(subgroup.full_subgroups) << "WebGPU promises no full subgroups";
    const std::uint32_t none = SubgroupOperation::clustered;
    EXPECT_EQ(subgroup.operations & none, 0u) << operations_to_text(subgroup.operations);
}

// An implementation may give sizes that are none, as wgpu-native gives zeros.
TEST_F(WebgpuAdopt, SizesThatMeanNothingAreTheWidestRange) {
    if (rig().caps().subgroup.operations == 0) GTEST_SKIP() << "no subgroups on this device";
    static decltype(Adoption{}.functions.AdapterGetInfo) real;
    static std::uint32_t least, most;
    Adoption adoption = rig().adoption();
    real = adoption.functions.AdapterGetInfo;
    adoption.functions.AdapterGetInfo = [](WGPUAdapter adapter, WGPUAdapterInfo* info) {
        const WGPUStatus status = real(adapter, info);
        info->subgroupMinSize = least;
        info->subgroupMaxSize = most;
        return status;
    };
    for (const auto& [low, high] : {std::pair{0u, 0u}, std::pair{32u, 16u}, std::pair{5u, 9u},
                                    std::pair{1u, 256u}, std::pair{8u, 32u}}) {
        least = low;
        most = high;
        const auto device = Device::adopt(adoption);
        ASSERT_TRUE(device) << device.error().message;
        const SubgroupCaps& subgroup = device->caps().subgroup;
        const bool sane = low == 8;
        EXPECT_EQ(subgroup.min_size, sane ? low : 4u) << low << " to " << high;
        EXPECT_EQ(subgroup.max_size, sane ? high : 128u) << low << " to " << high;
        const auto plan = plan_scan(device->caps(), {.max_count = 5000});
        ASSERT_TRUE(plan) << plan.error().message;
        EXPECT_TRUE(device->compile(*plan));
    }
}

// Available is not requested: without the feature on the device there are no subgroups, whatever
// the adapter has, and the barrier tier is taken and says why.
TEST_F(WebgpuAdopt, SubgroupsOnlyWhereTheyWereRequested) {
    WebgpuScope lesser(without("subgroups"));
    ASSERT_TRUE(lesser);
    EXPECT_EQ(lesser->caps().subgroup, SubgroupCaps{});
    const auto plan = plan_reduce(lesser->caps(), {.max_count = 1000});
    ASSERT_TRUE(plan);
    EXPECT_EQ(plan->tier, Tier::barrier);
    EXPECT_NE(plan->reason.find("no subgroup operations"), std::string::npos) << plan->reason;
    for (const Tier tier : {Tier::portable, Tier::pinned}) {
        const auto forced = plan_reduce(lesser->caps(), {.max_count = 1000, .tier = tier});
        ASSERT_FALSE(forced) << to_text(tier);
        EXPECT_EQ(forced.error().code, ErrorCode::unsupported);
    }
    EXPECT_TRUE(lesser->device().compile(*plan));
}

TEST_F(WebgpuAdopt, TimestampsOnlyWhereTheyWereRequested) {
    EXPECT_TRUE(rig().caps().timestamps) << "the drivers of these tests have them";
    WebgpuScope lesser(without("timestamp-query"));
    ASSERT_TRUE(lesser);
    EXPECT_FALSE(lesser->caps().timestamps);
    EXPECT_FALSE(lesser->owned().run_timed(2, [](WGPUCommandEncoder, WGPUQuerySet) {}));
}

TEST_F(WebgpuAdopt, LimitsAreTheDevicesNotTheAdapters) {
    auto options = WebgpuRig::named();
    options.least_limits = true;
    WebgpuScope lesser(options);
    ASSERT_TRUE(lesser);
    const Limits& limits = lesser->caps().limits;
    EXPECT_EQ(limits.max_workgroup_invocations, 256u);
    EXPECT_EQ(limits.max_workgroup_size_x, 256u);
    EXPECT_EQ(limits.max_workgroup_memory, 16384u);
    EXPECT_EQ(limits.max_groups_x, 65535u);
    EXPECT_EQ(limits.max_storage_buffers, 8u);
    EXPECT_EQ(limits.max_storage_range, 128u << 20);
    EXPECT_EQ(limits.storage_offset_alignment, 256u);
}

// Device, Executable and Binding hold what they need of each other, in any order of their ends, and
// leave nothing behind.
TEST_F(WebgpuAdopt, ReferencesAreGivenBack) {
    auto owned = webgpu::detail::OwnedDevice::create(WebgpuRig::named());
    ASSERT_TRUE(owned) << owned.error().message;
    WebgpuCalls::reset();
    Adoption adoption = (*owned)->adoption();
    adoption.functions = WebgpuCalls::watched(adoption.functions);
    auto device = std::make_unique<Device>(*Device::adopt(adoption));
    const auto plan = plan_scan(device->caps(), {.max_count = 5000});
    ASSERT_TRUE(plan);
    auto executable = std::make_unique<webgpu::Executable>(*device->compile(*plan));
    device.reset();
    auto use = std::make_unique<WebgpuBuffers>(make_webgpu_buffers(**owned, *plan));
    std::vector<webgpu::Binding> bindings;
    webgpu::Buffers in_place = use->buffers(*plan);
    in_place.output = in_place.input;
    for (const auto& buffers : {use->buffers(*plan), in_place}) {
        if (buffers.output.buffer == buffers.input.buffer && !plan->in_place) continue;
        for (const webgpu::Count& count :
             {webgpu::Count{std::uint64_t{5000}}, webgpu::Count{std::uint64_t{0}},
              webgpu::Count{use->count_buffer()}}) {
            auto binding = executable->bind(buffers, count);
            ASSERT_TRUE(binding) << binding.error().message;
            bindings.push_back(*binding);
        }
    }
    // Refused ones leave nothing either.
    EXPECT_FALSE(executable->bind({}, std::uint64_t{5000}));
    executable.reset();
    for (const webgpu::Binding& binding : bindings)
        ASSERT_TRUE((*owned)->run([&](WGPUCommandEncoder encoder) { binding.record(encoder); }));
    use.reset();
    owned->reset();
    bindings.clear();
    for (const char* object :
         {"Instance", "Adapter", "Device", "Queue", "Buffer", "BindGroup", "BindGroupLayout",
          "PipelineLayout", "ComputePipeline", "ShaderModule", "ComputePassEncoder"})
        EXPECT_EQ(WebgpuCalls::references(object), 0) << object;
    EXPECT_EQ(WebgpuCalls::calls("AdapterGetInfo"), WebgpuCalls::calls("AdapterInfoFreeMembers"));
    EXPECT_EQ(WebgpuCalls::calls("DevicePushErrorScope"),
              WebgpuCalls::calls("DevicePopErrorScope"));
}

TEST_F(WebgpuAdopt, ADeviceCanBeAdoptedTwice) {
    const auto first = Device::adopt(rig().adoption());
    const auto second = Device::adopt(rig().adoption());
    ASSERT_TRUE(first && second);
    EXPECT_EQ(first->caps(), second->caps());
    const auto plan = plan_reduce(first->caps(), {.max_count = 100});
    ASSERT_TRUE(plan);
    EXPECT_TRUE(first->compile(*plan));
    EXPECT_TRUE(second->compile(*plan));
}

}  // namespace
}  // namespace lanewise::test
