// E3: a device that is gone: calls say so, none waits for an answer that never comes, and what was
// made of it can still be let go.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "tests/support/webgpu_test.hpp"

namespace lanewise::test {
namespace {

class WebgpuLost : public WebgpuTest {
protected:
    // Of the implementation, beside our table; null where it has none of that name.
    template <class F>
    static F find(const char* name) {
        void* library = dlopen(WebgpuRig::named().library.c_str(), RTLD_NOW | RTLD_NOLOAD);
        EXPECT_NE(library, nullptr) << dlerror();
        return library != nullptr ? reinterpret_cast<F>(dlsym(library, name)) : nullptr;
    }
};

// As an application does that ends its device too early. By the standard, calls on a lost device
// do nothing and complain of nothing, and Dawn keeps to that: who wants to know listens to the
// device.
TEST_F(WebgpuLost, ADestroyedDeviceCanBeLetGo) {
    const auto destroy = find<decltype(&::wgpuDeviceDestroy)>("wgpuDeviceDestroy");
    ASSERT_NE(destroy, nullptr);
    auto owned = webgpu::detail::OwnedDevice::create(WebgpuRig::named());
    ASSERT_TRUE(owned) << owned.error().message;
    {
        const auto device = webgpu::Device::adopt((*owned)->adoption());
        ASSERT_TRUE(device);
        const auto plan = plan_reduce(device->caps(), {.max_count = 1000});
        ASSERT_TRUE(plan);
        const auto executable = device->compile(*plan);
        ASSERT_TRUE(executable);
        const WebgpuBuffers memory = make_webgpu_buffers(**owned, *plan);
        const auto binding = executable->bind(memory.buffers(*plan), std::uint64_t{1000});
        ASSERT_TRUE(binding);
        destroy((*owned)->device());
        // None of these waits for ever, or ends the process.
        const auto compiled = device->compile(*plan);
        const auto bound = executable->bind(memory.buffers(*plan), std::uint64_t{1000});
        const auto ran =
            (*owned)->run([&](WGPUCommandEncoder encoder) { binding->record(encoder); });
        const auto adopted = webgpu::Device::adopt((*owned)->adoption());
        if (test_device_name().starts_with("wgpu_")) {
            ASSERT_FALSE(compiled || bound || ran || adopted);
            EXPECT_EQ(compiled.error().code, ErrorCode::device_lost) << compiled.error().message;
            EXPECT_EQ(compiled.error().retry_caps, nullptr);
            EXPECT_EQ(bound.error().code, ErrorCode::device_lost) << bound.error().message;
            EXPECT_EQ(ran.error().code, ErrorCode::device_lost) << ran.error().message;
            EXPECT_EQ(adopted.error().code, ErrorCode::device_lost) << adopted.error().message;
        }
    }
    owned->reset();
    EXPECT_TRUE(webgpu::detail::OwnedDevice::create(WebgpuRig::named()))
        << "another one is as good as ever";
}

// One that is lost by itself: from then on every call says so.
TEST_F(WebgpuLost, OwnersHearOfIt) {
    using ForceLoss = void (*)(WGPUDevice, WGPUDeviceLostReason, WGPUStringView);
    const auto force_loss = find<ForceLoss>("wgpuDeviceForceLoss");
    if (force_loss == nullptr) GTEST_SKIP() << "only Dawn can be told to lose a device";
    WebgpuScope rig(WebgpuRig::named());
    ASSERT_TRUE(rig);
    const auto buffer = rig->owned().make_buffer(64, WGPUBufferUsage_Storage);
    ASSERT_TRUE(buffer);
    force_loss(rig->owned().device(), WGPUDeviceLostReason_Unknown, {"by a test", WGPU_STRLEN});
    std::vector<std::byte> data(64);
    for (int round = 0; round < 2; ++round) {
        for (const auto& done :
             {rig->owned().run([](WGPUCommandEncoder) {}), rig->owned().upload(*buffer, 0, data),
              rig->owned().download(*buffer, 0, data)}) {
            ASSERT_FALSE(done);
            EXPECT_EQ(done.error().code, ErrorCode::device_lost) << done.error().message;
        }
    }
    const auto more = rig->owned().make_buffer(64, WGPUBufferUsage_Storage);
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::device_lost);
    const auto messages = rig->take_messages();
    ASSERT_EQ(messages.size(), 1u) << "one loss is one message";
    EXPECT_NE(messages.front().find("by a test"), std::string::npos) << messages.front();
}

}  // namespace
}  // namespace lanewise::test
