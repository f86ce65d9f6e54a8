// Gpu: choosing a device and making it ready.

#include <cstdlib>

#include "lanewise/vulkan.hpp"
#include "src/vulkan/context.hpp"
#include "src/vulkan/gpu_state.hpp"

namespace lanewise {

namespace {

using vulkan::detail::DeviceListing;
using vulkan::detail::OwnedDevice;
using vulkan::detail::OwnedDeviceOptions;
using vulkan::detail::without_throwing;

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
    return {listing.index, listing.name, listing.driver, type_text(listing.type)};
}

}  // namespace

Result<Gpu> detail::make_gpu(const OwnedDeviceOptions& options, bool probe) {
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
    GpuInfo info = info_of((*owned)->listing());
    if (info.driver.empty()) info.driver = caps.driver;
    return GpuAccess::make(std::make_unique<Gpu::State>(
        Gpu::State{std::move(*owned), std::move(*device), std::move(caps), std::move(info)}));
}

Result<Gpu> Gpu::create(const GpuOptions& options) {
    return without_throwing("making a device", [&]() -> Result<Gpu> {
        OwnedDeviceOptions wanted;
        wanted.device = options.device;
        if (wanted.device.empty()) {
            if (const char* name = std::getenv("LANEWISE_DEVICE")) wanted.device = name;
        }
        wanted.validation = options.validation;
        wanted.on_validation_message = options.on_validation_message;
        return detail::make_gpu(wanted, options.probe);
    });
}

Result<std::vector<GpuInfo>> Gpu::list() {
    return without_throwing("listing devices", []() -> Result<std::vector<GpuInfo>> {
        auto listings = OwnedDevice::list();
        if (!listings) return tl::unexpected(listings.error());
        std::vector<GpuInfo> infos;
        for (const DeviceListing& listing : *listings) infos.push_back(info_of(listing));
        return infos;
    });
}

Gpu::Gpu(std::unique_ptr<State> state) : state_(std::move(state)) {}
Gpu::Gpu(Gpu&&) noexcept = default;
Gpu& Gpu::operator=(Gpu&&) noexcept = default;
Gpu::~Gpu() = default;

const GpuInfo& Gpu::info() const { return state_->info; }
const Caps& Gpu::caps() const { return state_->caps; }
const vulkan::Device& Gpu::device() const { return state_->device; }

}  // namespace lanewise
