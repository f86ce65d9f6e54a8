// What stands behind Gpu: a host with a device of its own, that runs plans on bytes of the
// caller's.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/gpu.hpp"
#include "src/vulkan/gpu_owned_device.hpp"
#ifdef LANEWISE_HAS_WEBGPU
#include "src/webgpu/gpu_owned_device.hpp"
#endif

namespace lanewise {
namespace detail {

// The caller's bytes: what goes up, and where the first bytes of what comes down go to. Empty where
// the plan has no such buffer.
struct RunData {
    std::span<const std::byte> input;
    std::span<const std::byte> values;
    std::span<const std::byte> offsets;  // that the plan reads
    std::span<const std::byte> flags;
    std::span<const std::byte> keys;
    std::span<std::byte> output;
    std::span<std::byte> values_out;
    std::span<std::byte> offsets_out;  // that it writes
    std::span<std::byte> rejected;
    std::span<std::byte> count_out;

    std::array<std::pair<Role, std::span<const std::byte>>, 5> uploads() const {
        return {{{Role::input, input},
                 {Role::values, values},
                 {Role::offsets, offsets},
                 {Role::flags, flags},
                 {Role::keys, keys}}};
    }
    std::array<std::pair<Role, std::span<std::byte>>, 5> downloads() const {
        return {{{Role::output, output},
                 {Role::values_out, values_out},
                 {Role::offsets, offsets_out},
                 {Role::rejected, rejected},
                 {Role::count_out, count_out}}};
    }

    std::uint64_t bytes_of(const Argument& argument) const {
        if (argument.role != Role::offsets) return argument.bytes;
        return std::max<std::uint64_t>(argument.bytes, offsets.size());
    }
};

class GpuHost {
public:
    virtual ~GpuHost() = default;
    virtual const GpuInfo& info() const = 0;
    // After the probe, where it ran.
    virtual const Caps& caps() const = 0;
    virtual const vulkan::Device* vulkan_device() const { return nullptr; }
    virtual const webgpu::Device* webgpu_device() const { return nullptr; }
    // Whether kernels of custom operators must be compiled for it.
    virtual bool runs_spirv() const { return true; }

    // Compiles the plan (with what the bundle has), uploads, runs `count` items and downloads. The
    // plan's result is not in its input. An error of compiling may carry Caps to plan again with.
    virtual Result<void> run(const Plan& plan, std::uint64_t count, const RunData& data,
                             const Bundle& bundle, RunReport& report) = 0;
};

Result<std::unique_ptr<GpuHost>> make_vulkan_host(const vulkan::detail::OwnedDeviceOptions& options,
                                                  bool probe);
#ifdef LANEWISE_HAS_SIMULATOR
Result<std::unique_ptr<GpuHost>> make_simulator_host(const simulator::Machine& machine);
#endif
Result<std::vector<GpuInfo>> list_vulkan_devices();
#ifdef LANEWISE_HAS_WEBGPU
// An error where the device is none of this name, which may be empty.
Result<std::unique_ptr<GpuHost>> make_webgpu_host(const webgpu::detail::OwnedDeviceOptions& options,
                                                  const std::string& name);
Result<std::vector<GpuInfo>> list_webgpu_devices(const std::string& library);
#endif

}  // namespace detail

struct Gpu::State {
    std::unique_ptr<detail::GpuHost> host;
    Bundle bundle;  // the caller's, and what was compiled since

    // Adds what the plan's custom operator needs and is not there yet.
    Result<void> add_kernels(const Plan& plan);
};

}  // namespace lanewise
