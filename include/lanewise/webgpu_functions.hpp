// The functions of webgpu.h that the WebGPU host calls, as a table: an implementation is linked by
// the application, or opened as a library when the program runs. Lanewise itself links none.
#pragma once

#include <webgpu/webgpu.h>

// Those that the host calls to execute plans.
#define LANEWISE_WEBGPU_HOST_FUNCTIONS(function)                                                  \
    function(AdapterAddRef) function(AdapterGetInfo) function(AdapterInfoFreeMembers) function(   \
        AdapterRelease) function(BindGroupLayoutRelease) function(BindGroupRelease)               \
        function(BufferAddRef) function(BufferGetSize) function(BufferGetUsage)                   \
            function(BufferRelease) function(CommandEncoderBeginComputePass) function(            \
                CommandEncoderCopyBufferToBuffer) function(ComputePassEncoderDispatchWorkgroups)  \
                function(ComputePassEncoderDispatchWorkgroupsIndirect)                            \
                    function(ComputePassEncoderEnd) function(ComputePassEncoderRelease) function( \
                        ComputePassEncoderSetBindGroup) function(ComputePassEncoderSetPipeline)   \
                        function(ComputePipelineRelease) function(DeviceAddRef) function(         \
                            DeviceCreateBindGroup) function(DeviceCreateBindGroupLayout)          \
                            function(DeviceCreateBuffer) function(DeviceCreateComputePipeline)    \
                                function(DeviceCreatePipelineLayout) function(                    \
                                    DeviceCreateShaderModule) function(DeviceGetLimits)           \
                                    function(DeviceGetQueue) function(DeviceHasFeature) function( \
                                        DevicePopErrorScope) function(DevicePushErrorScope)       \
                                        function(DeviceRelease) function(InstanceAddRef)          \
                                            function(InstanceProcessEvents)                       \
                                                function(InstanceRelease)                         \
                                                    function(PipelineLayoutRelease)               \
                                                        function(QueueRelease)                    \
                                                            function(QueueWriteBuffer)            \
                                                                function(ShaderModuleRelease)

// Those that own a device, and move data to it and back (`Gpu`).
#define LANEWISE_WEBGPU_OWNING_FUNCTIONS(function)                                         \
    function(AdapterGetLimits) function(AdapterHasFeature) function(AdapterRequestDevice)  \
        function(BufferGetConstMappedRange) function(BufferMapAsync) function(BufferUnmap) \
            function(CommandBufferRelease) function(CommandEncoderFinish)                  \
                function(CommandEncoderRelease) function(CommandEncoderResolveQuerySet)    \
                    function(CreateInstance) function(DeviceCreateCommandEncoder)          \
                        function(DeviceCreateQuerySet) function(InstanceRequestAdapter)    \
                            function(QuerySetRelease) function(QueueOnSubmittedWorkDone)   \
                                function(QueueSubmit)

namespace lanewise::webgpu {

struct Functions {
#define LANEWISE_WEBGPU_MEMBER(name) decltype(&::wgpu##name) name = nullptr;
    LANEWISE_WEBGPU_HOST_FUNCTIONS(LANEWISE_WEBGPU_MEMBER)
    LANEWISE_WEBGPU_OWNING_FUNCTIONS(LANEWISE_WEBGPU_MEMBER)
#undef LANEWISE_WEBGPU_MEMBER
    // Set it where wgpu-native is what runs: its timestamps are ticks of this many nanoseconds, and
    // it has no error scopes for internal errors. Null elsewhere.
    float (*QueueGetTimestampPeriod)(WGPUQueue queue) = nullptr;
};

// The implementation that the application links; those that own a device stay null. (They are
// named in the application's code, which is what makes the linker find them.)
inline Functions linked_functions() {
    Functions functions;
#define LANEWISE_WEBGPU_TAKE(name) functions.name = &::wgpu##name;
    LANEWISE_WEBGPU_HOST_FUNCTIONS(LANEWISE_WEBGPU_TAKE)
#undef LANEWISE_WEBGPU_TAKE
    return functions;
}

// Every function by its name, "wgpuDeviceCreateBuffer", from `find` (dlsym of an opened library,
// for instance), which gives null for those it has not.
template <class Find>
Functions find_functions(Find find) {
    Functions functions;
#define LANEWISE_WEBGPU_FIND(name) \
    functions.name = reinterpret_cast<decltype(functions.name)>(find("wgpu" #name));
    LANEWISE_WEBGPU_HOST_FUNCTIONS(LANEWISE_WEBGPU_FIND)
    LANEWISE_WEBGPU_OWNING_FUNCTIONS(LANEWISE_WEBGPU_FIND)
    LANEWISE_WEBGPU_FIND(QueueGetTimestampPeriod)
#undef LANEWISE_WEBGPU_FIND
    return functions;
}

}  // namespace lanewise::webgpu
