// One compute pipeline for one pass of a plan.
#pragma once

#include "lanewise/plan.hpp"
#include "src/vulkan/caps.hpp"
#include "src/vulkan/context.hpp"

namespace lanewise::vulkan::detail {

// Push constants, common to all kernels (kernels/kernels.md).
struct Parameters {
    std::uint32_t count_low = 0;
    std::uint32_t count_high = 0;
    std::uint32_t tiles = 0;
    std::uint32_t tiles_per_group = 1;
    std::uint32_t groups = 1;
    std::uint32_t first_group = 0;
    std::uint32_t flags = 0;
    std::uint32_t unused = 0;
};
static_assert(sizeof(Parameters) == 32);

// Bit of Parameters::flags: the first five fields are read from scratch instead.
inline constexpr std::uint32_t kCountInBuffer = 1;

inline std::uint32_t push_constant_bytes(const Pass& pass, Addressing addressing) {
    const std::size_t addresses =
        addressing == Addressing::device_address ? pass.bindings.size() : 0;
    return static_cast<std::uint32_t>(sizeof(Parameters) + addresses * sizeof(VkDeviceAddress));
}

struct PassPipeline {
    OwnedSetLayout set_layout;  // none with Addressing::device_address
    OwnedPipelineLayout layout;
    OwnedPipeline pipeline;
};

// Errors: unsupported, limit_exceeded (the pass asks for what `facts` do not have); compile_failed,
// without retry_caps; those of the driver.
Result<PassPipeline> make_pass_pipeline(const DeviceContext& context, const DeviceFacts& facts,
                                        const Plan& plan, const Pass& pass,
                                        const CompileOptions& options);

}  // namespace lanewise::vulkan::detail
