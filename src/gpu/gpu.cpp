// Gpu: choosing a host and a device.

#include <algorithm>
#include <cstdlib>

#ifdef LANEWISE_HAS_JIT
#include "lanewise/jit.hpp"
#endif
#include "src/core/kernel_catalogue.hpp"
#include "src/core/without_throwing.hpp"
#include "src/gpu/gpu_host.hpp"

namespace lanewise {

namespace {

using detail::without_throwing;

constexpr std::uint32_t kAnySpirv = ~0u;

std::string from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? "" : value;
}

constexpr const char* kWebgpuLibrary = "LANEWISE_WEBGPU_LIBRARY";
#ifndef LANEWISE_HAS_WEBGPU
constexpr const char* kNoWebgpu = "WebGPU is not in this build of the library";
#endif

Result<std::unique_ptr<detail::GpuHost>> make_webgpu_host(
    [[maybe_unused]] const GpuOptions& options) {
#ifdef LANEWISE_HAS_WEBGPU
    webgpu::detail::OwnedDeviceOptions wanted;
    wanted.library = options.webgpu_library;
    if (wanted.library.empty()) wanted.library = from_environment(kWebgpuLibrary);
    wanted.leave_out = options.leave_out;
    wanted.on_error = options.on_validation_message;
    return detail::make_webgpu_host(wanted, options.device);
#else
    return tl::unexpected(Error{ErrorCode::unsupported, kNoWebgpu});
#endif
}

Result<std::unique_ptr<detail::GpuHost>> make_host(const GpuOptions& options) {
    if (options.machine) {
#ifdef LANEWISE_HAS_SIMULATOR
        return detail::make_simulator_host(*options.machine);
#else
        return tl::unexpected(
            Error{ErrorCode::unsupported, "the simulator is not in this build of the library"});
#endif
    }
    if (options.api == Api::webgpu) return make_webgpu_host(options);
    if (options.api != Api::vulkan) {
        return tl::unexpected(Error{ErrorCode::bad_argument,
                                    "GpuOptions::api is vulkan or webgpu; GpuOptions::machine "
                                    "chooses the simulator"});
    }
    vulkan::detail::OwnedDeviceOptions wanted;
    wanted.device = options.device;
    if (wanted.device.empty()) wanted.device = from_environment("LANEWISE_DEVICE");
    wanted.leave_out = options.leave_out;
    wanted.validation = options.validation;
    wanted.on_validation_message = options.on_validation_message;
    return detail::make_vulkan_host(wanted, options.probe);
}

}  // namespace

Result<Gpu> Gpu::create(const GpuOptions& options) {
    return without_throwing("making a device", [&]() -> Result<Gpu> {
        auto host = make_host(options);
        if (!host) return tl::unexpected(host.error());
        return Gpu(std::make_unique<State>(State{*std::move(host), options.bundle}));
    });
}

Result<void> Gpu::State::add_kernels(const Plan& plan) {
    if (!host->runs_spirv()) return {};
    const bool complete = std::ranges::all_of(plan.passes, [&](const Pass& pass) {
        return detail::find_kernel(pass.kernel, kAnySpirv, &bundle).has_value();
    });
    if (complete || !plan.custom) return {};
#ifdef LANEWISE_HAS_JIT
    const auto compiled = jit::compile(plan);
    if (!compiled) return tl::unexpected(compiled.error());
    bundle.add(*compiled);
    return {};
#else
    return tl::unexpected(
        Error{ErrorCode::unsupported,
              "GpuOptions::bundle has not all kernels of custom operator " + plan.custom->name +
                  ", and this build of the library has no compiler (lanewise::jit)"});
#endif
}

Result<std::vector<GpuInfo>> Gpu::list(Api api) {
    return without_throwing("listing devices", [&]() -> Result<std::vector<GpuInfo>> {
        if (api == Api::vulkan) return detail::list_vulkan_devices();
#ifdef LANEWISE_HAS_WEBGPU
        if (api == Api::webgpu)
            return detail::list_webgpu_devices(from_environment(kWebgpuLibrary));
#endif
        return std::vector<GpuInfo>{};
    });
}

Gpu::Gpu(std::unique_ptr<State> state) : state_(std::move(state)) {}
Gpu::Gpu(Gpu&&) noexcept = default;
Gpu& Gpu::operator=(Gpu&&) noexcept = default;
Gpu::~Gpu() = default;

const GpuInfo& Gpu::info() const { return state_->host->info(); }
const Caps& Gpu::caps() const { return state_->host->caps(); }
const vulkan::Device* Gpu::vulkan_device() const { return state_->host->vulkan_device(); }
const webgpu::Device* Gpu::webgpu_device() const { return state_->host->webgpu_device(); }

}  // namespace lanewise
