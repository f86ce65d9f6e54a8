// An application that uses WebGPU in C, as small as it goes: one device, its queue, buffers that
// are written and read. It opens the implementation by name; one that links it calls
// wgpuCreateInstance and so on directly. Nothing in it knows Lanewise, whose table of functions it
// borrows. It ends the program with a message when a call fails.
#pragma once

#include <dlfcn.h>
#include <webgpu/webgpu.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <lanewise/webgpu_functions.hpp>
#include <string>
#include <vector>

namespace example {

inline void require(bool condition, const char* what) {
    if (condition) return;
    std::fprintf(stderr, "%s\n", what);
    std::exit(1);
}

class Application {
public:
    lanewise::webgpu::Functions wgpu;
    WGPUInstance instance = nullptr;
    WGPUAdapter adapter = nullptr;
    WGPUDevice device = nullptr;
    WGPUQueue queue = nullptr;

    explicit Application(const char* library) {
        void* opened = dlopen(library, RTLD_NOW);
        require(opened != nullptr, "the library of WebGPU cannot be opened: give its path");
        wgpu =
            lanewise::webgpu::find_functions([&](const char* name) { return dlsym(opened, name); });
        const WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
        instance = wgpu.CreateInstance(&descriptor);
        require(instance != nullptr, "there is no instance of WebGPU");
        request_adapter();
        request_device();
        queue = wgpu.DeviceGetQueue(device);
    }

    ~Application() {
        for (const WGPUBuffer buffer : buffers_) wgpu.BufferRelease(buffer);
        wgpu.QueueRelease(queue);
        wgpu.DeviceRelease(device);
        wgpu.AdapterRelease(adapter);
        wgpu.InstanceRelease(instance);
    }

    Application(const Application&) = delete;
    Application& operator=(const Application&) = delete;

    WGPUBuffer make_buffer(std::uint64_t bytes, WGPUBufferUsage usage) {
        WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
        descriptor.size = (bytes + 15) / 16 * 16;  // Lanewise reads and writes whole vectors
        descriptor.usage = usage;
        const WGPUBuffer buffer = wgpu.DeviceCreateBuffer(device, &descriptor);
        require(buffer != nullptr, "a buffer cannot be made");
        buffers_.push_back(buffer);
        return buffer;
    }

    WGPUCommandEncoder begin_commands() const {
        return wgpu.DeviceCreateCommandEncoder(device, nullptr);
    }

    void submit(WGPUCommandEncoder encoder) const {
        const WGPUCommandBuffer commands = wgpu.CommandEncoderFinish(encoder, nullptr);
        wgpu.CommandEncoderRelease(encoder);
        wgpu.QueueSubmit(queue, 1, &commands);
        wgpu.CommandBufferRelease(commands);
    }

    // What a buffer of usage MapRead has when the work submitted before is done.
    std::vector<std::byte> read(WGPUBuffer buffer, std::size_t bytes) const {
        Answer answer;
        WGPUBufferMapCallbackInfo info = WGPU_BUFFER_MAP_CALLBACK_INFO_INIT;
        info.mode = WGPUCallbackMode_AllowProcessEvents;
        info.userdata1 = &answer;
        info.callback = [](WGPUMapAsyncStatus status, WGPUStringView, void* to, void*) {
            *static_cast<Answer*>(to) = {true, status == WGPUMapAsyncStatus_Success};
        };
        wgpu.BufferMapAsync(buffer, WGPUMapMode_Read, 0, (bytes + 3) / 4 * 4, info);
        wait_for(answer, "a buffer cannot be mapped");
        std::vector<std::byte> data(bytes);
        const void* mapped = wgpu.BufferGetConstMappedRange(buffer, 0, (bytes + 3) / 4 * 4);
        require(mapped != nullptr, "a buffer is not mapped");
        std::memcpy(data.data(), mapped, bytes);
        wgpu.BufferUnmap(buffer);
        return data;
    }

private:
    struct Answer {
        bool there = false;
        bool good = false;
        void* handle = nullptr;
    };

    void wait_for(const Answer& answer, const char* what) const {
        while (!answer.there) wgpu.InstanceProcessEvents(instance);
        require(answer.good, what);
    }

    void request_adapter() {
        Answer answer;
        WGPURequestAdapterCallbackInfo info = WGPU_REQUEST_ADAPTER_CALLBACK_INFO_INIT;
        info.mode = WGPUCallbackMode_AllowProcessEvents;
        info.userdata1 = &answer;
        info.callback = [](WGPURequestAdapterStatus status, WGPUAdapter found, WGPUStringView,
                           void* to, void*) {
            *static_cast<Answer*>(to) = {true, status == WGPURequestAdapterStatus_Success, found};
        };
        wgpu.InstanceRequestAdapter(instance, nullptr, info);
        wait_for(answer, "there is no adapter: install a graphics driver");
        adapter = static_cast<WGPUAdapter>(answer.handle);
    }

    // With subgroups, where they are, and the limits of the adapter: WebGPU's least make Lanewise
    // slower and smaller, no more.
    void request_device() {
        // wgpu-native has a number of its own for the feature, as its language has no other.
        constexpr auto kNativeSubgroup = static_cast<WGPUFeatureName>(0x00030021);
        std::vector<WGPUFeatureName> features;
        for (const WGPUFeatureName feature : {WGPUFeatureName_Subgroups, kNativeSubgroup}) {
            if (wgpu.AdapterHasFeature(adapter, feature)) features.push_back(feature);
        }
        WGPULimits limits = WGPU_LIMITS_INIT;
        require(wgpu.AdapterGetLimits(adapter, &limits) == WGPUStatus_Success,
                "the adapter does not say its limits");
        WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
        descriptor.requiredFeatureCount = features.size();
        descriptor.requiredFeatures = features.data();
        descriptor.requiredLimits = &limits;
        Answer answer;
        WGPURequestDeviceCallbackInfo info = WGPU_REQUEST_DEVICE_CALLBACK_INFO_INIT;
        info.mode = WGPUCallbackMode_AllowProcessEvents;
        info.userdata1 = &answer;
        info.callback = [](WGPURequestDeviceStatus status, WGPUDevice made, WGPUStringView,
                           void* to, void*) {
            *static_cast<Answer*>(to) = {true, status == WGPURequestDeviceStatus_Success, made};
        };
        wgpu.AdapterRequestDevice(adapter, &descriptor, info);
        wait_for(answer, "the adapter makes no device");
        device = static_cast<WGPUDevice>(answer.handle);
    }

    std::vector<WGPUBuffer> buffers_;
};

}  // namespace example
