// What stands behind Gpu.
#pragma once

#include "lanewise/gpu.hpp"
#include "src/vulkan/gpu_owned_device.hpp"

namespace lanewise {

struct Gpu::State {
    std::unique_ptr<vulkan::detail::OwnedDevice> owned;
    vulkan::Device device;  // after owned: goes before it
    Caps caps;
    GpuInfo info;
};

namespace detail {

// Gpu from the options of the device itself: for tests, which leave features out, or put functions
// that fail between.
Result<Gpu> make_gpu(const vulkan::detail::OwnedDeviceOptions& options, bool probe);

struct GpuAccess {
    static Gpu make(std::unique_ptr<Gpu::State> state) { return Gpu(std::move(state)); }
    static Gpu::State& state(Gpu& gpu) { return *gpu.state_; }
};

}  // namespace detail

}  // namespace lanewise
