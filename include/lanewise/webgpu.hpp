// The WebGPU host: executes plans on a device that the application made, in command encoders of the
// application's, through the standard webgpu.h. No implementation is linked: the application gives
// the functions (lanewise/webgpu_functions.hpp). Seen to run on wgpu-native and on Dawn.
//
//   auto device = lanewise::webgpu::Device::adopt({.instance = instance, .adapter = adapter,
//       .device = wgpu_device, .functions = lanewise::webgpu::linked_functions()});
//   auto plan   = lanewise::plan_reduce(device->caps(), {.max_count = n});
//   auto sum    = device->compile(*plan);
//   auto use    = sum->bind({.input = in, .output = out, .scratch = scratch}, n);
//   use->record(encoder);
//
// adopt, compile and bind wait for what the implementation says of their calls: they take an error
// scope of the device each, and process the instance's events until it is answered. Other threads
// should leave the device's error scopes alone meanwhile.
//
// A device that is lost answers as WebGPU has it: calls seem to succeed, and their commands do
// nothing. device_lost is an error where the implementation says so; else the application hears of
// the loss through the callback that it made the device with.
//
// Threads: Device and Executable may be used from several threads at once where the implementation
// allows it for its objects. A Binding is recorded by one thread at a time.
#pragma once

#include <webgpu/webgpu.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "lanewise/caps.hpp"
#include "lanewise/error.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/webgpu_functions.hpp"

namespace lanewise::webgpu {

// A device that the application made. References are added: the application may release its own.
// Worth asking for when the device is made: the features `subgroups` (without it everything runs in
// the barrier tier), `subgroup-size-control` (the pinned tier), `timestamp-query`, and the limits
// of the adapter instead of WebGPU's least.
struct Adoption {
    WGPUInstance instance = nullptr;
    WGPUAdapter adapter = nullptr;  // that `device` came from
    WGPUDevice device = nullptr;
    Functions functions;
};

// A range of a buffer. The buffer's usages are those that the plan's argument names: Storage, and
// CopySrc for scratch. Kernels read and write whole vectors: the range of an input, of values, and
// of an output with a result for each item has its bytes rounded up to a multiple of 16; what is
// behind the last item stays as it was.
struct Buffer {
    WGPUBuffer buffer = nullptr;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
};

// By role; those that the plan does not name stay empty, those for no items may.
struct Buffers {
    Buffer input;
    Buffer output;
    Buffer scratch;
    Buffer values;
    Buffer values_out;
    Buffer offsets;
    Buffer flags;
    Buffer keys;
    Buffer rejected;
    Buffer count_out;
};

// The number of items, a u32 in a buffer (Storage). Read when the commands run; a value above the
// plan's max_count counts as max_count.
struct CountBuffer {
    WGPUBuffer buffer = nullptr;
    std::uint64_t offset = 0;
};

using Count = std::variant<std::uint64_t, CountBuffer>;

struct RecordOptions {
    // Two timestamps per recorded pass, from first_query on: passes in the order of
    // Binding::pass_names(). None is written where caps().timestamps is false.
    WGPUQuerySet query_set = nullptr;
    std::uint32_t first_query = 0;
};

class Executable;
class Binding;

class Device {
public:
    // Errors: bad_argument (a handle or a function is missing), unsupported (the implementation's
    // Null backend, which runs nothing), device_lost.
    static Result<Device> adopt(const Adoption& adoption);

    // What adapter, device and the language say: subgroups where the device was made with them.
    const Caps& caps() const;

    // Makes the pipelines of a plan. Errors: compile_failed with retry_caps, out_of_memory,
    // unsupported (the plan asks for what this device or WGSL does not have).
    Result<Executable> compile(const Plan& plan) const;

    struct State;
    std::shared_ptr<State> state() const { return state_; }

private:
    explicit Device(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

// The pipelines of a plan on one device; any number of bindings may use it.
class Executable {
public:
    const Plan& plan() const;

    // Ties buffers and a count to the pipelines. Checks every rule that the plan and WebGPU state:
    // sizes, alignment, usages, overlap, limits. A buffer that a pass reads is none that it writes,
    // not even in another range (WebGPU's usage scopes), but for an output that is the input where
    // the plan allows it. A binding may be recorded and submitted any number of times; for two uses
    // with different counts or buffers make two bindings. Buffers for no items may be left out.
    Result<Binding> bind(const Buffers& buffers, Count count) const;

    struct State;

private:
    friend class Device;
    explicit Executable(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

class Binding {
public:
    // The passes that record() will write, in order; one entry for each pair of timestamps.
    const std::vector<std::string>& pass_names() const;

    // Writes compute passes, and copies where the count is in a buffer, into an encoder that is
    // open and in no pass. What is wrong with the encoder is the implementation's to say, as for
    // any call on it.
    void record(WGPUCommandEncoder encoder, const RecordOptions& options = {}) const;

    struct State;

private:
    friend class Executable;
    explicit Binding(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace lanewise::webgpu
