// OwnedDevice: how it is made, data in and out at any offset, and what comes of mistakes.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "tests/support/test_data.hpp"
#include "tests/support/webgpu_test.hpp"

namespace lanewise::test {
namespace {

using webgpu::detail::OwnedDevice;
using webgpu::detail::OwnedDeviceOptions;

class WebgpuOwnedDevice : public WebgpuTest {};

TEST_F(WebgpuOwnedDevice, LibrariesThatAreNoneAreNamed) {
    for (const char* library : {"/no/such/library.so", "libc.so.6"}) {
        OwnedDeviceOptions options = WebgpuRig::named();
        options.library = library;
        const auto device = OwnedDevice::create(options);
        ASSERT_FALSE(device) << library;
        EXPECT_EQ(device.error().code, ErrorCode::unsupported);
        EXPECT_NE(device.error().message.find(library), std::string::npos)
            << device.error().message;
        EXPECT_EQ(device.error().message.find('\n'), std::string::npos);
    }
}

TEST_F(WebgpuOwnedDevice, OnlyFeaturesOfWebgpuCanBeLeftOut) {
    OwnedDeviceOptions options = WebgpuRig::named();
    options.leave_out = {"subgroups", "subgroup"};
    const auto device = OwnedDevice::create(options);
    ASSERT_FALSE(device);
    EXPECT_EQ(device.error().code, ErrorCode::bad_argument);
    EXPECT_NE(device.error().message.find("'subgroup'"), std::string::npos)
        << device.error().message;
}

TEST_F(WebgpuOwnedDevice, SaysWhatItIs) {
    const auto& listing = rig().owned().listing();
    EXPECT_NE(listing.name + listing.driver, "");
    EXPECT_EQ(listing.type, "cpu");
    EXPECT_EQ(listing.backend, "Vulkan");
    const std::string name = test_device_name();
    const std::string text = listing.name + " " + listing.driver;
    EXPECT_EQ(text.find("SwiftShader") != std::string::npos,
              name.find("swiftshader") != std::string::npos)
        << text;
}

// Words that are written in part keep the rest.
TEST_F(WebgpuOwnedDevice, DataGoInAndOutAtAnyOffset) {
    const OwnedDevice& device = rig().owned();
    const auto buffer = device.make_buffer(61, WGPUBufferUsage_Storage);
    ASSERT_TRUE(buffer);
    EXPECT_EQ(buffer->bytes(), 64u) << "whole vectors";
    std::vector<std::byte> expected(64);
    for (std::size_t i = 0; i < 64; ++i) expected[i] = static_cast<std::byte>(hash(1, i));
    ASSERT_TRUE(device.upload(*buffer, 0, expected));
    for (std::size_t offset = 0; offset < 9; ++offset) {
        for (const std::size_t bytes : {0u, 1u, 2u, 3u, 4u, 5u, 7u, 8u, 11u, 55u}) {
            std::vector<std::byte> data(bytes);
            for (std::size_t i = 0; i < bytes; ++i) {
                data[i] = static_cast<std::byte>(hash(offset + 2, bytes * 64 + i));
                expected[offset + i] = data[i];
            }
            const auto done = device.upload(*buffer, offset, data);
            ASSERT_TRUE(done) << done.error().message;
            std::vector<std::byte> all(64), part(bytes);
            ASSERT_TRUE(device.download(*buffer, 0, all));
            EXPECT_EQ(all, expected) << bytes << " bytes at " << offset;
            ASSERT_TRUE(device.download(*buffer, offset, part));
            EXPECT_EQ(part, data) << bytes << " bytes at " << offset;
        }
    }
}

TEST_F(WebgpuOwnedDevice, WhatIsBeyondABufferIsAnError) {
    const OwnedDevice& device = rig().owned();
    const auto buffer = device.make_buffer(64, WGPUBufferUsage_Storage);
    ASSERT_TRUE(buffer);
    std::vector<std::byte> data(64);
    EXPECT_FALSE(device.upload(*buffer, 4, data));
    EXPECT_FALSE(device.download(*buffer, 4, data));
    EXPECT_TRUE(device.upload(*buffer, 0, data));
    EXPECT_TRUE(device.download(*buffer, 0, data));
}

TEST_F(WebgpuOwnedDevice, BuffersAboveTheLimitAreRefusedWithBothNumbers) {
    const auto buffer = rig().owned().make_buffer(std::uint64_t{1} << 40, WGPUBufferUsage_Storage);
    ASSERT_FALSE(buffer);
    EXPECT_EQ(buffer.error().code, ErrorCode::limit_exceeded);
    EXPECT_NE(buffer.error().message.find("1099511627776"), std::string::npos)
        << buffer.error().message;
}

// An error beside the calls is heard: tests rely on it.
TEST_F(WebgpuOwnedDevice, ErrorsBesideTheCallsAreHeard) {
    WebgpuScope other(WebgpuRig::named());
    ASSERT_TRUE(other);
    const OwnedDevice& device = other->owned();
    WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
    descriptor.size = 64;
    descriptor.usage = WGPUBufferUsage_MapRead | WGPUBufferUsage_Storage;  // not both
    const WGPUBuffer buffer = device.wgpu().DeviceCreateBuffer(device.device(), &descriptor);
    device.wgpu().InstanceProcessEvents(device.instance());
    EXPECT_TRUE(device.run([](WGPUCommandEncoder) {}));
    EXPECT_FALSE(other->take_messages().empty());
    if (buffer != nullptr) device.wgpu().BufferRelease(buffer);
}

// Two devices of one process do not hear each other.
TEST_F(WebgpuOwnedDevice, SeveralAtOnce) {
    WebgpuScope first(WebgpuRig::named());
    WebgpuScope second(WebgpuRig::named());
    ASSERT_TRUE(first && second);
    const auto a = first->owned().make_buffer(16, WGPUBufferUsage_Storage);
    const auto b = second->owned().make_buffer(16, WGPUBufferUsage_Storage);
    ASSERT_TRUE(a && b);
    const std::vector<std::byte> ones(16, std::byte{1}), twos(16, std::byte{2});
    ASSERT_TRUE(first->owned().upload(*a, 0, ones));
    ASSERT_TRUE(second->owned().upload(*b, 0, twos));
    std::vector<std::byte> back(16);
    ASSERT_TRUE(first->owned().download(*a, 0, back));
    EXPECT_EQ(back, ones);
}

}  // namespace
}  // namespace lanewise::test
