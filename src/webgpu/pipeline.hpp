// One compute pipeline for one pass of a plan.
#pragma once

#include <vector>

#include "lanewise/plan.hpp"
#include "src/webgpu/caps.hpp"
#include "src/wgsl/assemble.hpp"

namespace lanewise::webgpu::detail {

struct PassPipeline {
    std::vector<wgsl::ShaderBinding> bindings;  // of group 0
    bool parameters = false;                    // has group 1
    OwnedBindGroupLayout layout;                // of group 0
    OwnedPipeline pipeline;
};

// The layout of group 1, the same for all passes: the parameters of a dispatch, at an offset that
// is given when it is recorded.
Result<OwnedBindGroupLayout> make_parameters_layout(const DeviceContext& context);

// Errors: unsupported, limit_exceeded (the pass asks for what the device or WGSL does not have);
// compile_failed, without retry_caps.
Result<PassPipeline> make_pass_pipeline(const DeviceContext& context, const DeviceFacts& facts,
                                        WGPUBindGroupLayout parameters_layout, const Plan& plan,
                                        const Pass& pass, bool in_place);

}  // namespace lanewise::webgpu::detail
