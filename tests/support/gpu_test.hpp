// What tests of the Vulkan host stand on: one device for the whole process with validation on, and
// further devices with something left out.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanewise/caps.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/vulkan.hpp"
#include "src/vulkan/gpu_owned_device.hpp"
#include "tests/support/test_device.hpp"

namespace lanewise::test {

using vulkan::detail::MemoryKind;
using vulkan::detail::OwnedBuffer;
using vulkan::detail::OwnedDevice;
using vulkan::detail::OwnedDeviceOptions;

// A device and what the library made of it.
class Rig : public TestDevice {
public:
    // api_version and leave_out in the options make lesser devices of a good one. Returns null,
    // with a failure added, where there is no device.
    static std::unique_ptr<Rig> create(OwnedDeviceOptions options = validated());
    // TestDevice::shared() as what it is in a process that ctest gives a Vulkan device.
    static Rig& shared();
    // Core and synchronisation validation; with LANEWISE_TEST_ALL the GPU-assisted one, too, which
    // makes what a CPU driver compiles four times as large (the suite GpuAssisted has it always).
    static OwnedDeviceOptions validated();
    static OwnedDeviceOptions assisted();
    static OwnedDeviceOptions plain();  // without validation

    ~Rig() override;

    const OwnedDevice& owned() const { return *owned_; }
    const vulkan::Device& device() const { return *device_; }
    const Caps& caps() const override { return device_->caps(); }

    // Compiled once for each plan.
    Result<vulkan::Executable> compile(const Plan& plan);

    Result<std::unique_ptr<TestMemory>> make_memory(std::size_t bytes) override;
    Result<std::shared_ptr<TestExecutable>> prepare(const Plan& plan) override;

private:
    Rig() = default;
    std::unique_ptr<OwnedDevice> owned_;
    std::unique_ptr<vulkan::Device> device_;
    // Plans that differ in sizes alone have pipelines in common, which are most of a test's time.
    VkPipelineCache pipelines_ = VK_NULL_HANDLE;
    std::map<std::string, vulkan::Executable> compiled_;
};

class GpuTest : public DeviceTest {
protected:
    static Rig& rig() { return Rig::shared(); }
};

// Makes what a use wrote visible to the host, and to a copy that reads it back.
void record_readback_barrier(const OwnedDevice& device, VkCommandBuffer cmd);
// Between two uses that share buffers, as Binding::record demands it.
void record_reuse_barrier(const OwnedDevice& device, VkCommandBuffer cmd);

using RigScope = DeviceScope<Rig>;

}  // namespace lanewise::test
