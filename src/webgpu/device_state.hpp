// What stands behind Device, Executable and Binding. Each holds what it needs of the one before, so
// that an application may let go of them in any order.
#pragma once

#include <array>
#include <mutex>
#include <vector>

#include "src/core/passes.hpp"
#include "src/webgpu/pipeline.hpp"

namespace lanewise::webgpu {

struct Device::State {
    explicit State(const Adoption& adoption) : context(adoption) {}

    detail::DeviceContext context;  // first, so that it outlives the rest
    detail::DeviceFacts facts;
    detail::OwnedBindGroupLayout parameters_layout;
};

struct Executable::State {
    std::shared_ptr<Device::State> device;
    Plan plan;
    std::vector<detail::PassPipeline> pipelines;  // by pass of the plan

    // The same for uses in place, whose kernels are other texts: made when the first is bound.
    std::mutex in_place_mutex;
    std::vector<detail::PassPipeline> in_place;
};

// A pass as a binding records it.
struct BoundPass {
    const Pass* pass = nullptr;
    const detail::PassPipeline* pipeline = nullptr;
    detail::OwnedBindGroup group;
};

struct Binding::State {
    std::shared_ptr<const Executable::State> executable;
    Launch launch;  // of the count, or of the most where it is in a buffer
    bool count_in_buffer = false;

    // Parameters of dispatch d of every pass at d * stride. With the count in a buffer their share
    // is copied out of scratch, and the arguments of indirect dispatches to a buffer of their own.
    std::uint32_t stride = 0;
    detail::OwnedBufferHandle parameters;
    detail::OwnedBindGroup parameters_group;
    detail::OwnedBufferHandle arguments;
    detail::OwnedBufferHandle scratch;  // a reference to the caller's
    std::uint64_t scratch_offset = 0;

    detail::OwnedBufferHandle state;  // Plan::state_bytes
    // What is bound in the place of a buffer of which nothing is needed; by role.
    std::array<detail::OwnedBufferHandle, lanewise::detail::kRoles> nothing;
    std::vector<BoundPass> passes;
    std::vector<std::string> pass_names;
};

}  // namespace lanewise::webgpu
