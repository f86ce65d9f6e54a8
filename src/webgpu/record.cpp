// Binding::record: everything was prepared by bind.

#include <algorithm>

#include "lanewise/webgpu.hpp"
#include "src/core/passes.hpp"
#include "src/webgpu/device_state.hpp"

namespace lanewise::webgpu {

namespace {

// A compute pass that is begun when it is needed. Between the dispatches in one, WebGPU orders what
// they write and read (usage scopes).
class ComputePass {
public:
    ComputePass(const Functions& wgpu, WGPUCommandEncoder encoder)
        : wgpu_(wgpu), encoder_(encoder) {}

    WGPUComputePassEncoder begin(const std::string& label, const WGPUPassTimestampWrites* stamps) {
        if (pass_ != nullptr) return pass_;
        WGPUComputePassDescriptor descriptor = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
        descriptor.label = detail::view_of(label);
        descriptor.timestampWrites = stamps;
        pass_ = wgpu_.CommandEncoderBeginComputePass(encoder_, &descriptor);
        return pass_;
    }

    void end() {
        if (pass_ == nullptr) return;
        wgpu_.ComputePassEncoderEnd(pass_);
        wgpu_.ComputePassEncoderRelease(pass_);
        pass_ = nullptr;
    }

private:
    const Functions& wgpu_;
    WGPUCommandEncoder encoder_;
    WGPUComputePassEncoder pass_ = nullptr;
};

void dispatch(const Functions& wgpu, WGPUComputePassEncoder encoder, const Binding::State& binding,
              const BoundPass& bound) {
    const Plan& plan = binding.executable->plan;
    const bool shared = bound.pass->groups == Groups::share;
    wgpu.ComputePassEncoderSetPipeline(encoder, bound.pipeline->pipeline.get());
    wgpu.ComputePassEncoderSetBindGroup(encoder, 0, bound.group.get(), 0, nullptr);
    for (std::uint32_t i = 0; i < (shared ? binding.launch.dispatches : 1); ++i) {
        if (bound.pipeline->parameters) {
            const std::uint32_t offset = i * binding.stride;
            wgpu.ComputePassEncoderSetBindGroup(encoder, 1, binding.parameters_group.get(), 1,
                                                &offset);
        }
        if (!shared) {
            wgpu.ComputePassEncoderDispatchWorkgroups(encoder, 1, 1, 1);
        } else if (binding.count_in_buffer) {
            wgpu.ComputePassEncoderDispatchWorkgroupsIndirect(
                encoder, binding.arguments.get(),
                std::uint64_t{i} * lanewise::detail::kIndirectBytes);
        } else {
            const std::uint32_t first_group = i * plan.share.max_groups;
            wgpu.ComputePassEncoderDispatchWorkgroups(
                encoder, std::min(plan.share.max_groups, binding.launch.groups - first_group), 1,
                1);
        }
    }
}

// What count_to_groups wrote into scratch, to where the dispatches after it look.
void copy_share(const Functions& wgpu, WGPUCommandEncoder encoder, const Binding::State& binding) {
    for (std::uint32_t i = 0; i < binding.launch.dispatches; ++i) {
        wgpu.CommandEncoderCopyBufferToBuffer(
            encoder, binding.scratch.get(), binding.scratch_offset, binding.parameters.get(),
            std::uint64_t{i} * binding.stride, lanewise::detail::kShareBytes);
    }
    wgpu.CommandEncoderCopyBufferToBuffer(
        encoder, binding.scratch.get(),
        binding.scratch_offset + binding.executable->plan.indirect_offset, binding.arguments.get(),
        0, std::uint64_t{binding.launch.dispatches} * lanewise::detail::kIndirectBytes);
}

}  // namespace

const std::vector<std::string>& Binding::pass_names() const { return state_->pass_names; }

void Binding::record(WGPUCommandEncoder encoder, const RecordOptions& options) const {
    const Device::State& device = *state_->executable->device;
    const Functions& wgpu = device.context.wgpu;
    const bool stamps = options.query_set != nullptr && device.facts.caps.timestamps;
    ComputePass compute(wgpu, encoder);
    for (std::size_t i = 0; i < state_->passes.size(); ++i) {
        const BoundPass& bound = state_->passes[i];
        WGPUPassTimestampWrites writes = WGPU_PASS_TIMESTAMP_WRITES_INIT;
        writes.querySet = options.query_set;
        writes.beginningOfPassWriteIndex = options.first_query + 2 * static_cast<std::uint32_t>(i);
        writes.endOfPassWriteIndex = writes.beginningOfPassWriteIndex + 1;
        dispatch(wgpu, compute.begin(bound.pass->name, stamps ? &writes : nullptr), *state_, bound);
        const bool counts = bound.pass->when == When::count_in_buffer;
        if (stamps || counts) compute.end();
        if (counts) copy_share(wgpu, encoder, *state_);
    }
    compute.end();
}

}  // namespace lanewise::webgpu
