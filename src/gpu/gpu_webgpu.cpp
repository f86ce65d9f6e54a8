// Gpu on a WebGPU device.

#include <fmt/format.h>

#include <array>
#include <utility>

#include "lanewise/webgpu.hpp"
#include "src/core/device_choice.hpp"
#include "src/core/passes.hpp"
#include "src/gpu/gpu_host.hpp"
#include "src/webgpu/gpu_owned_device.hpp"

namespace lanewise::detail {

namespace {

using webgpu::Binding;
using webgpu::detail::DeviceListing;
using webgpu::detail::OwnedBuffer;
using webgpu::detail::OwnedDevice;
using webgpu::detail::OwnedDeviceOptions;

// WebGPU gives one device.
GpuInfo info_of(const DeviceListing& listing) {
    std::string driver = listing.driver;
    driver += fmt::format("{}on {}", driver.empty() ? "" : ", ", listing.backend);
    return {0, listing.name, std::move(driver), listing.type, Api::webgpu};
}

class WebgpuHost final : public GpuHost {
public:
    WebgpuHost(std::unique_ptr<OwnedDevice> owned, webgpu::Device device)
        : owned_(std::move(owned)), device_(std::move(device)), info_(info_of(owned_->listing())) {}

    const GpuInfo& info() const override { return info_; }
    const Caps& caps() const override { return device_.caps(); }
    bool runs_spirv() const override { return false; }
    const webgpu::Device* webgpu_device() const override { return &device_; }

    Result<void> run(const Plan& plan, std::uint64_t count, const RunData& data, const Bundle&,
                     RunReport& report) override {
        const auto executable = device_.compile(plan);
        if (!executable) return tl::unexpected(executable.error());
        std::array<OwnedBuffer, kRoles> buffers;
        const auto of = [&](Role role) -> OwnedBuffer& {
            return buffers[static_cast<std::size_t>(role)];
        };
        for (const Argument& argument : plan.arguments) {
            auto made = owned_->make_buffer(data.bytes_of(argument), WGPUBufferUsage_Storage);
            if (!made) return tl::unexpected(made.error());
            of(argument.role) = *std::move(made);
        }
        for (const auto& [role, bytes] : data.uploads()) {
            if (bytes.empty()) continue;
            if (auto done = owned_->upload(of(role), 0, bytes); !done) return done;
        }

        // Buffers have more bytes than are asked for; of these all would count.
        webgpu::Buffer offsets = of(Role::offsets).range();
        if (const Argument* argument = plan.argument(Role::offsets))
            offsets.bytes = data.bytes_of(*argument);
        const auto binding = executable->bind({.input = of(Role::input).range(),
                                               .output = of(Role::output).range(),
                                               .scratch = of(Role::scratch).range(),
                                               .values = of(Role::values).range(),
                                               .values_out = of(Role::values_out).range(),
                                               .offsets = offsets,
                                               .flags = of(Role::flags).range(),
                                               .keys = of(Role::keys).range(),
                                               .rejected = of(Role::rejected).range(),
                                               .count_out = of(Role::count_out).range()},
                                              count);
        if (!binding) return tl::unexpected(binding.error());
        auto times = run_timed(*binding);
        if (!times) return tl::unexpected(times.error());
        for (const auto& [role, bytes] : data.downloads()) {
            if (bytes.empty()) continue;
            if (auto done = owned_->download(of(role), 0, bytes); !done) return done;
        }
        report.passes = std::move(*times);
        return {};
    }

private:
    // Records and runs a binding, and reads the time of each pass where the device has timestamps.
    Result<std::vector<PassTime>> run_timed(const Binding& binding) {
        std::vector<PassTime> times;
        for (const std::string& name : binding.pass_names()) times.push_back({name, 0.0});
        if (!caps().timestamps) {
            auto ran = owned_->run([&](WGPUCommandEncoder encoder) { binding.record(encoder); });
            if (!ran) return tl::unexpected(ran.error());
            return times;
        }
        const auto at = owned_->run_timed(static_cast<std::uint32_t>(2 * times.size()),
                                          [&](WGPUCommandEncoder encoder, WGPUQuerySet queries) {
                                              binding.record(encoder, {.query_set = queries});
                                          });
        if (!at) return tl::unexpected(at.error());
        for (std::size_t i = 0; i < times.size(); ++i)
            times[i].nanoseconds = (*at)[2 * i + 1] - (*at)[2 * i];
        return times;
    }

    std::unique_ptr<OwnedDevice> owned_;
    webgpu::Device device_;  // after owned_: goes before it
    GpuInfo info_;
};

}  // namespace

Result<std::unique_ptr<GpuHost>> make_webgpu_host(const OwnedDeviceOptions& options,
                                                  const std::string& name) {
    auto owned = OwnedDevice::create(options);
    if (!owned) return tl::unexpected(owned.error());
    const DeviceListing& listing = (*owned)->listing();
    if (!is_wanted(name, 0, listing.name)) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument,
                  fmt::format("no device '{}': WebGPU gives one, 0 ({})", name, listing.name)});
    }
    auto device = webgpu::Device::adopt((*owned)->adoption());
    if (!device) return tl::unexpected(device.error());
    return std::make_unique<WebgpuHost>(*std::move(owned), *std::move(device));
}

Result<std::vector<GpuInfo>> list_webgpu_devices(const std::string& library) {
    const auto listing = OwnedDevice::list(library);
    // Where there is nothing to list, that is the answer, not a failure.
    if (!listing) return std::vector<GpuInfo>{};
    return std::vector{info_of(*listing)};
}

}  // namespace lanewise::detail
