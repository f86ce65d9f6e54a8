// A stranger's first program: plans a reduction for a described device. No GPU is needed for that;
// the headers of the Vulkan host and of Gpu come along to show that the package carries them.
#include <cstdio>
#include <lanewise/gpu.hpp>
#include <lanewise/reduce.hpp>
#include <lanewise/vulkan.hpp>
#ifdef CONSUMER_HAS_WEBGPU
#include <lanewise/webgpu.hpp>
#endif

int main() {
    const auto caps = lanewise::caps_from_json(R"({
        "api": "vulkan",
        "device_name": "described",
        "limits": {
            "max_workgroup_invocations": 256,
            "max_workgroup_size_x": 256,
            "max_workgroup_memory": 16384,
            "max_groups_x": 65535,
            "max_groups_y": 65535,
            "max_groups_z": 65535,
            "max_storage_buffers": 8,
            "max_storage_range": 134217728,
            "storage_offset_alignment": 256,
            "max_push_constants": 128
        }
    })");
    if (!caps) {
        std::fprintf(stderr, "%s\n", caps.error().message.c_str());
        return 1;
    }
    const auto plan = lanewise::plan_reduce(*caps, {.max_count = 1u << 20});
    if (!plan) {
        std::fprintf(stderr, "%s\n", plan.error().message.c_str());
        return 1;
    }
    std::puts(lanewise::to_text(*plan).c_str());

    // Without handles there is no device to adopt; what matters here is that it links.
    const auto device = lanewise::vulkan::Device::adopt({});
    if (device || device.error().code != lanewise::ErrorCode::bad_argument) return 1;
#ifdef CONSUMER_HAS_WEBGPU
    const auto of_webgpu = lanewise::webgpu::Device::adopt({});
    if (of_webgpu || of_webgpu.error().code != lanewise::ErrorCode::bad_argument) return 1;
#endif
    return 0;
}
