// What tests of the WebGPU host stand on: one device for the whole process, of the implementation
// and the driver that ctest names, and further devices with something left out.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "lanewise/caps.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/webgpu.hpp"
#include "src/webgpu/gpu_owned_device.hpp"
#include "tests/support/plan_runner.hpp"
#include "tests/support/test_device.hpp"
#include "tests/support/webgpu_calls.hpp"

namespace lanewise::test {

// Whether a test device's name is one of WebGPU's: implementation, driver with its subgroup size,
// and what is lesser about it, e.g. "wgpu_lavapipe8", "dawn_swiftshader4_barrier".
bool is_webgpu_name(const std::string& name);

// A device, and what the library made of it. Its functions are watched (WebgpuCalls), and the texts
// that the host compiles for a plan are held against the plan's tier.
class WebgpuRig : public TestDevice {
public:
    // As the test device's name says; "_barrier": the feature `subgroups` is not requested,
    // "_least": nor are limits above WebGPU's least.
    static webgpu::detail::OwnedDeviceOptions named();
    // Null, with a failure added, where there is no device.
    static std::unique_ptr<WebgpuRig> create(webgpu::detail::OwnedDeviceOptions options = named());
    // TestDevice::shared() as what it is in a process that ctest gives a WebGPU device.
    static WebgpuRig& shared();

    ~WebgpuRig() override;

    const webgpu::detail::OwnedDevice& owned() const { return *owned_; }
    const webgpu::Device& device() const { return *device_; }
    webgpu::Adoption adoption() const;  // with functions that are watched
    const Caps& caps() const override { return device_->caps(); }

    // Compiled once for each plan.
    Result<webgpu::Executable> compile(const Plan& plan);

    Result<std::unique_ptr<TestMemory>> make_memory(std::size_t bytes) override;
    Result<std::shared_ptr<TestExecutable>> prepare(const Plan& plan) override;

private:
    WebgpuRig() = default;
    std::unique_ptr<webgpu::detail::OwnedDevice> owned_;
    std::unique_ptr<webgpu::Device> device_;
    std::map<std::string, webgpu::Executable> compiled_;
};

using WebgpuScope = DeviceScope<WebgpuRig>;

class WebgpuTest : public DeviceTest {
protected:
    static WebgpuRig& rig() { return WebgpuRig::shared(); }
    void SetUp() override;
};

// Plain buffers for one use: for tests of this host.
struct WebgpuBuffers {
    webgpu::detail::OwnedBuffer input, output, scratch, values, values_out, offsets, flags, keys,
        rejected, count_out, count;
    webgpu::Buffers buffers(const Plan& plan) const;
    webgpu::CountBuffer count_buffer() const { return {count.get(), 0}; }
};
WebgpuBuffers make_webgpu_buffers(const webgpu::detail::OwnedDevice& device, const Plan& plan);

}  // namespace lanewise::test
