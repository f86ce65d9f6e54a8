// Gpu on a Vulkan device.

#include <array>
#include <utility>

#include "lanewise/vulkan.hpp"
#include "src/core/passes.hpp"
#include "src/gpu/gpu_host.hpp"
#include "src/vulkan/context.hpp"
#include "src/vulkan/device_state.hpp"

namespace lanewise::detail {

namespace {

using vulkan::Binding;
using vulkan::detail::DeviceListing;
using vulkan::detail::MemoryKind;
using vulkan::detail::OwnedBuffer;
using vulkan::detail::OwnedDevice;
using vulkan::detail::OwnedDeviceOptions;

GpuInfo info_of(const DeviceListing& listing) {
    const auto type_text = [](VkPhysicalDeviceType type) {
        switch (type) {
            case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
            case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
            case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
            case VK_PHYSICAL_DEVICE_TYPE_CPU: return "cpu";
            default: return "other";
        }
    };
    return {listing.index, listing.name, listing.driver, type_text(listing.type), Api::vulkan};
}

class VulkanHost final : public GpuHost {
public:
    VulkanHost(std::unique_ptr<OwnedDevice> owned, vulkan::Device device, Caps caps)
        : owned_(std::move(owned)), device_(std::move(device)), caps_(std::move(caps)) {
        info_ = info_of(owned_->listing());
        if (info_.driver.empty()) info_.driver = caps_.driver;
    }

    const GpuInfo& info() const override { return info_; }
    const Caps& caps() const override { return caps_; }
    const vulkan::Device* vulkan_device() const override { return &device_; }

    Result<void> run(const Plan& plan, std::uint64_t count, const RunData& data,
                     const Bundle& bundle, RunReport& report) override {
        const auto executable = device_.compile(plan, {.bundle = &bundle});
        if (!executable) return remember(executable);
        std::array<OwnedBuffer, kRoles> buffers;
        const auto of = [&](Role role) -> OwnedBuffer& {
            return buffers[static_cast<std::size_t>(role)];
        };
        for (const Argument& argument : plan.arguments) {
            auto made = owned_->make_buffer(data.bytes_of(argument), MemoryKind::device);
            if (!made) return remember(made);
            of(argument.role) = *std::move(made);
        }
        for (const auto& [role, bytes] : data.uploads()) {
            if (bytes.empty()) continue;
            if (auto done = owned_->upload(of(role), 0, bytes); !done) return remember(done);
        }

        auto binding = executable->bind({.input = of(Role::input).range(),
                                         .output = of(Role::output).range(),
                                         .scratch = of(Role::scratch).range(),
                                         .values = of(Role::values).range(),
                                         .values_out = of(Role::values_out).range(),
                                         .offsets = of(Role::offsets).range(),
                                         .flags = of(Role::flags).range(),
                                         .keys = of(Role::keys).range(),
                                         .rejected = of(Role::rejected).range(),
                                         .count_out = of(Role::count_out).range()},
                                        count);
        if (!binding) return remember(binding);
        auto times = run_timed(*binding);
        if (!times) return tl::unexpected(times.error());
        for (const auto& [role, bytes] : data.downloads()) {
            if (bytes.empty()) continue;
            if (auto done = owned_->download(of(role), 0, bytes); !done) return remember(done);
        }
        report.passes = std::move(*times);
        return {};
    }

private:
    // A loss that shows in a submit of ours ends the adopted device, too.
    template <class T>
    tl::unexpected<Error> remember(const Result<T>& failure) const {
        if (failure.error().code == ErrorCode::device_lost) device_.state()->context.lost = true;
        return tl::unexpected(failure.error());
    }

    // Records and runs a binding, and reads the time of each pass where the queue has timestamps.
    Result<std::vector<PassTime>> run_timed(const Binding& binding) {
        const OwnedDevice& device = *owned_;
        std::vector<PassTime> times;
        for (const std::string& name : binding.pass_names()) times.push_back({name, 0.0});
        if (!caps_.timestamps) {
            auto ran = device.run([&](VkCommandBuffer cmd) { binding.record(cmd); });
            if (!ran) return remember(ran);
            return times;
        }

        const auto stamps = static_cast<std::uint32_t>(2 * times.size());
        auto pool = device.make_query_pool(stamps);
        if (!pool) return remember(pool);
        auto ran = device.run([&](VkCommandBuffer cmd) {
            device.vk().CmdResetQueryPool(cmd, *pool, 0, stamps);
            binding.record(cmd, {.query_pool = *pool});
        });
        Result<std::vector<double>> at = std::vector<double>{};
        if (ran) at = device.read_timestamps(*pool, stamps);
        device.destroy_query_pool(*pool);
        if (!ran) return remember(ran);
        if (!at) return remember(at);
        for (std::size_t i = 0; i < times.size(); ++i)
            times[i].nanoseconds = (*at)[2 * i + 1] - (*at)[2 * i];
        return times;
    }

    std::unique_ptr<OwnedDevice> owned_;
    vulkan::Device device_;  // after owned_: goes before it
    Caps caps_;
    GpuInfo info_;
};

}  // namespace

Result<std::unique_ptr<GpuHost>> make_vulkan_host(const OwnedDeviceOptions& options, bool probe) {
    auto owned = OwnedDevice::create(options);
    if (!owned) return tl::unexpected(owned.error());
    auto device = vulkan::Device::adopt((*owned)->adoption());
    if (!device) return tl::unexpected(device.error());
    Caps caps = device->caps();
    if (probe) {
        auto probed = device->probe((*owned)->queue());
        if (!probed) return tl::unexpected(probed.error());
        caps = std::move(*probed);
    }
    return std::make_unique<VulkanHost>(*std::move(owned), *std::move(device), std::move(caps));
}

Result<std::vector<GpuInfo>> list_vulkan_devices() {
    auto listings = OwnedDevice::list();
    if (!listings) return tl::unexpected(listings.error());
    std::vector<GpuInfo> infos;
    for (const DeviceListing& listing : *listings) infos.push_back(info_of(listing));
    return infos;
}

}  // namespace lanewise::detail
