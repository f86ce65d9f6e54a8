// One compute pipeline for one pass of a plan.
#pragma once

#include "lanewise/plan.hpp"
#include "src/core/passes.hpp"
#include "src/vulkan/caps.hpp"
#include "src/vulkan/context.hpp"

namespace lanewise::vulkan::detail {

inline std::uint32_t push_constant_bytes(const Pass& pass, Addressing addressing) {
    const std::size_t addresses =
        addressing == Addressing::device_address ? pass.bindings.size() : 0;
    return static_cast<std::uint32_t>(sizeof(lanewise::detail::Parameters) +
                                      addresses * sizeof(VkDeviceAddress));
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
