#include "src/core/quirks.hpp"

namespace lanewise::detail {
namespace {

constexpr std::uint32_t kVendorNvidia = 0x10DE;

}  // namespace

void apply_quirks(Caps& caps) {
    // Forward progress between workgroups cannot be queried. NVIDIA documents independent forward
    // progress for Volta and later in CUDA, and look-back scans rely on it there; the same hardware
    // runs the Vulkan driver. Nobody else states it for Vulkan.
    if (caps.vendor_id == kVendorNvidia && !caps.cpu_device) {
        caps.forward_progress = ForwardProgress::guaranteed;
    }
}

}  // namespace lanewise::detail
