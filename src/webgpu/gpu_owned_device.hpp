// An implementation of WebGPU opened as a library, and an instance, adapter and device that
// Lanewise makes itself: what Gpu, the tests and the benchmark stand on.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/webgpu.hpp"

namespace lanewise::webgpu::detail {

struct OwnedDeviceOptions {
    // Path or name of the implementation's library, as the system's loader takes it. Empty: the
    // first of libwgpu_native.so and libwebgpu_dawn.so that is found.
    std::string library;
    // Features, of "subgroups", "subgroup-size-control" and "timestamp-query", that are not to be
    // requested although the adapter has them. Without the first the second is not requested
    // either.
    std::vector<std::string> leave_out;
    // WebGPU's least limits instead of the adapter's.
    bool least_limits = false;
    // Errors that no error scope of the host's caught, and the loss of the device: from any thread,
    // one at a time. Must leave the device alone.
    std::function<void(const std::string&)> on_error;
};

struct DeviceListing {
    std::string name;
    std::string driver;
    std::string type;     // "discrete", "integrated", "cpu", "other"
    std::string backend;  // what stands below: "Vulkan", "Metal"
};

class OwnedDevice;

// A buffer of an OwnedDevice, which must outlive it.
class OwnedBuffer {
public:
    OwnedBuffer() = default;
    OwnedBuffer(OwnedBuffer&& other) noexcept { swap(other); }
    OwnedBuffer& operator=(OwnedBuffer&& other) noexcept {
        swap(other);
        return *this;
    }
    ~OwnedBuffer();

    WGPUBuffer get() const { return buffer_; }
    std::uint64_t bytes() const { return bytes_; }
    Buffer range() const { return {buffer_, 0, bytes_}; }

private:
    friend class OwnedDevice;
    void swap(OwnedBuffer& other) noexcept;

    const OwnedDevice* device_ = nullptr;
    WGPUBuffer buffer_ = nullptr;
    std::uint64_t bytes_ = 0;
};

// Once the device is lost, every call on it that can fail answers device_lost. One thread at a
// time.
class OwnedDevice {
public:
    // By pointer: what it makes points back to it, and must go before it.
    // Errors: unsupported (no library, no adapter, the Null backend, which runs nothing),
    // bad_argument (a feature of leave_out that is none of those).
    static Result<std::unique_ptr<OwnedDevice>> create(const OwnedDeviceOptions& options = {});
    // The one that create would take, without a device made of it; the same errors.
    static Result<DeviceListing> list(const std::string& library = {});

    OwnedDevice(const OwnedDevice&) = delete;
    OwnedDevice& operator=(const OwnedDevice&) = delete;
    ~OwnedDevice();

    const Functions& wgpu() const;
    WGPUInstance instance() const;
    WGPUDevice device() const;
    WGPUQueue queue() const;
    const DeviceListing& listing() const;
    // As Device::adopt wants it.
    Adoption adoption() const;

    // Usages CopySrc and CopyDst come on top of `usage` (Storage ...), CopyDst alone on top of
    // MapRead. Bytes are rounded up to a multiple of 16, at least 16. Errors: limit_exceeded,
    // out_of_memory, bad_argument (usages that WebGPU refuses).
    Result<OwnedBuffer> make_buffer(std::uint64_t bytes, WGPUBufferUsage usage) const;
    // Any offset and size: words that are written in part keep the rest.
    Result<void> upload(const OwnedBuffer& buffer, std::uint64_t offset,
                        std::span<const std::byte> data) const;
    Result<void> download(const OwnedBuffer& buffer, std::uint64_t offset,
                          std::span<std::byte> data) const;

    // Records into an encoder, submits it and waits. A submission that WebGPU refuses is an error.
    Result<void> run(const std::function<void(WGPUCommandEncoder)>& record) const;

    // The same with `count` timestamps that `record` writes through the query set; their times in
    // nanoseconds, the first being zero. An error where the device has no timestamps.
    Result<std::vector<double>> run_timed(
        std::uint32_t count,
        const std::function<void(WGPUCommandEncoder, WGPUQuerySet)>& record) const;

private:
    friend class OwnedBuffer;
    struct State;
    explicit OwnedDevice(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace lanewise::webgpu::detail
