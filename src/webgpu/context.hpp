// What every call on a device needs: the functions, the handles, and how to wait for what WebGPU
// says later.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "lanewise/webgpu.hpp"

namespace lanewise::webgpu::detail {

// Features that webgpu.h of an implementation names and that of others does not yet: Dawn's, and
// wgpu-native's own (its wgpu.h), whose language does not know the standard one.
inline constexpr auto kSubgroupSizeControl = static_cast<WGPUFeatureName>(0x00000017);
inline constexpr auto kNativeSubgroup = static_cast<WGPUFeatureName>(0x00030021);

// Text of WebGPU's; null and WGPU_STRLEN mean what they mean there.
std::string to_string(WGPUStringView text);
// The same with blanks and ends of lines as one blank each: implementations write whole paragraphs.
std::string one_line(WGPUStringView text);
WGPUStringView view_of(std::string_view text);

// A reference to an object. `release` is a member of Functions; the functions must outlive it.
template <class Handle, auto release>
class Owned {
public:
    Owned() = default;
    // Takes the reference over.
    Owned(const Functions& functions, Handle handle) : functions_(&functions), handle_(handle) {}
    Owned(Owned&& other) noexcept
        : functions_(other.functions_), handle_(std::exchange(other.handle_, nullptr)) {}
    Owned& operator=(Owned&& other) noexcept {
        std::swap(functions_, other.functions_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Owned() {
        if (handle_ != nullptr) (functions_->*release)(handle_);
    }

    Handle get() const { return handle_; }
    explicit operator bool() const { return handle_ != nullptr; }

private:
    const Functions* functions_ = nullptr;
    Handle handle_ = nullptr;
};

using OwnedBindGroup = Owned<WGPUBindGroup, &Functions::BindGroupRelease>;
using OwnedBindGroupLayout = Owned<WGPUBindGroupLayout, &Functions::BindGroupLayoutRelease>;
using OwnedBufferHandle = Owned<WGPUBuffer, &Functions::BufferRelease>;
using OwnedPipeline = Owned<WGPUComputePipeline, &Functions::ComputePipelineRelease>;
using OwnedPipelineLayout = Owned<WGPUPipelineLayout, &Functions::PipelineLayoutRelease>;
using OwnedQueue = Owned<WGPUQueue, &Functions::QueueRelease>;
using OwnedShaderModule = Owned<WGPUShaderModule, &Functions::ShaderModuleRelease>;

// Processes events of the instance until `done`. Whoever calls has started what will end it.
void wait_until(const Functions& functions, WGPUInstance instance, const std::atomic<bool>& done);

class DeviceContext {
public:
    explicit DeviceContext(const Adoption& adoption);
    DeviceContext(const DeviceContext&) = delete;
    DeviceContext& operator=(const DeviceContext&) = delete;
    ~DeviceContext();

    const Functions wgpu;
    WGPUInstance instance() const { return instance_; }
    WGPUAdapter adapter() const { return adapter_; }
    WGPUDevice device() const { return device_; }
    WGPUQueue queue() const { return queue_.get(); }

    // Runs `calls` inside of error scopes and waits for what they caught: what WebGPU's validation
    // refused is an error of code `refused`, beside out_of_memory and device_lost. The message is
    // "DOING: " and the implementation's.
    Result<void> checked(std::string_view doing, ErrorCode refused,
                         const std::function<void()>& calls) const;

private:
    WGPUInstance instance_;
    WGPUAdapter adapter_;
    WGPUDevice device_;
    OwnedQueue queue_;
    // Error scopes are a stack of the device: one thread of ours at a time.
    mutable std::mutex scopes_;
};

}  // namespace lanewise::webgpu::detail
