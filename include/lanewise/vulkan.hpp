// The Vulkan host: executes plans on a device that the application made, in command buffers that
// the application records. Vulkan 1.1 is enough; what later versions and extensions add is used
// when the application says that it enabled them. The loader is not linked: every function comes
// through the application's vkGetInstanceProcAddr.
//
//   auto device = lanewise::vulkan::Device::adopt({...});
//   auto plan   = lanewise::plan_reduce(device->caps(), {.max_count = n});
//   auto sum    = device->compile(*plan);
//   auto use    = sum->bind({.input = in, .output = out, .scratch = scratch}, n);
//   use->record(cmd);
//
// Threads: Device, Executable are safe to use from several threads at once. A Binding is recorded
// by one thread at a time.
#pragma once

#include <vulkan/vulkan_core.h>

#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "lanewise/bundle.hpp"
#include "lanewise/caps.hpp"
#include "lanewise/error.hpp"
#include "lanewise/plan.hpp"

namespace lanewise::vulkan {

// A device that the application made. Handles must outlive the Device and all made from it.
struct Adoption {
    VkInstance instance = VK_NULL_HANDLE;
    VkPhysicalDevice physical_device = VK_NULL_HANDLE;
    VkDevice device = VK_NULL_HANDLE;
    std::uint32_t queue_family = 0;  // where the command buffers will run; must have compute
    // The version that the application asked for (VkApplicationInfo::apiVersion). What is used is
    // the lower of this and the device's.
    std::uint32_t api_version = VK_API_VERSION_1_1;
    // As given to vkCreateDevice: VkPhysicalDeviceFeatures2 with its chain (null: none enabled),
    // and the extension names. Unknown structures in the chain are skipped. Worth enabling:
    // subgroupSizeControl and computeFullSubgroups (the pinned tier), maintenance4 (SPIR-V 1.6
    // modules, whose subgroup size is the true one), bufferDeviceAddress, VK_KHR_push_descriptor.
    const VkPhysicalDeviceFeatures2* enabled_features = nullptr;
    std::span<const char* const> enabled_extensions;
    // Debug labels are written when VK_EXT_debug_utils is enabled on the instance.
    PFN_vkGetInstanceProcAddr get_instance_proc_addr = nullptr;
    // Pipelines are created through it where set.
    VkPipelineCache pipeline_cache = VK_NULL_HANDLE;
    const VkAllocationCallbacks* allocator = nullptr;
};

// A range of a buffer. Plans with Addressing::descriptor use `buffer` and `offset`; plans with
// Addressing::device_address use `address` (of the range itself, so buffer may be null).
struct Buffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
    VkDeviceSize bytes = 0;
    VkDeviceAddress address = 0;
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

// The number of items, in a buffer: u32, or u64 in plans with Addressing::device_address. Read when
// the commands run; a value above the plan's max_count counts as max_count.
struct CountBuffer {
    VkBuffer buffer = VK_NULL_HANDLE;
    VkDeviceSize offset = 0;
    VkDeviceAddress address = 0;
};

using Count = std::variant<std::uint64_t, CountBuffer>;

struct CompileOptions {
    // Has the kernels of custom operators (lanewise/jit.hpp makes them); a kernel named like a
    // built-in one takes its place. Must outlive the call, or the future of compile_async.
    const Bundle* bundle = nullptr;
    // Overrides Adoption::pipeline_cache.
    VkPipelineCache pipeline_cache = VK_NULL_HANDLE;
};

struct BindOptions {
    // Where descriptor sets come from on a device without push descriptors: a pool with room for
    // one set per pass and its storage buffers, that outlives the binding. The sets are the
    // pool's: they are not freed one by one. Null: a pool of the binding's own.
    VkDescriptorPool descriptor_pool = VK_NULL_HANDLE;
};

struct RecordOptions {
    // Two timestamps per recorded pass, from first_query on: passes in the order of
    // Binding::pass_names(). Reset them before. None is written where caps().timestamps is false.
    VkQueryPool query_pool = VK_NULL_HANDLE;
    std::uint32_t first_query = 0;
};

class Executable;
class Binding;

class Device {
public:
    // Errors: bad_argument (a handle missing, a queue family without compute), unsupported
    // (Vulkan 1.0).
    static Result<Device> adopt(const Adoption& adoption);

    // What the API says, as enabled.
    const Caps& caps() const;

    // Runs the self-test: compiles small shaders, submits them to `queue` (of the adopted family,
    // and used by nobody else meanwhile) and waits. Returns caps() with everything untrue taken
    // out: a device whose subgroups are not what it says comes back with no subgroup operations,
    // one that loses invocations of large workgroups with a lower max_workgroup_invocations, and
    // probe_report says why. An error only where the test itself could not run (device lost, out of
    // memory), or where not even the smallest workgroups run right (unsupported).
    Result<Caps> probe(VkQueue queue) const;

    // Makes the pipelines of a plan. Errors: compile_failed with retry_caps, out_of_memory,
    // device_lost, unsupported (the plan asks for what this device does not have).
    Result<Executable> compile(const Plan& plan, const CompileOptions& options = {}) const;
    // The same on a thread of its own. The destructor of the future waits for it.
    std::future<Result<Executable>> compile_async(Plan plan, CompileOptions options = {}) const;

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

    // Ties buffers and a count to the pipelines. Checks every rule that the plan states: sizes,
    // alignment, overlap, limits. A binding is for one use in flight at a time: recorded once, its
    // command buffer may be submitted again when the use before has finished; for two uses in
    // flight make two bindings. A binding must outlive the execution of what it recorded. Plans
    // with state_bytes take them from pages of the device. Buffers for no items may be left out.
    // With device addresses and the count in a buffer, scratch also needs buffer and offset.
    Result<Binding> bind(const Buffers& buffers, Count count,
                         const BindOptions& options = {}) const;

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

    // Writes the passes into a primary or secondary command buffer that is recording outside of a
    // render pass; leaves other pipeline bind points alone and disturbs the compute one (pipeline,
    // set 0, push constants). Allocates nothing and cannot fail.
    //
    // Before: input and count must be visible to COMPUTE_SHADER / SHADER_READ; output, scratch and
    // the uses before must be done: COMPUTE_SHADER / SHADER_READ | SHADER_WRITE (scratch is also
    // read as DRAW_INDIRECT / INDIRECT_COMMAND_READ when the count is in a buffer).
    // After: output was written by COMPUTE_SHADER / SHADER_WRITE; make it visible to its reader.
    void record(VkCommandBuffer cmd, const RecordOptions& options = {}) const;

    struct State;

private:
    friend class Executable;
    explicit Binding(std::shared_ptr<State> state) : state_(std::move(state)) {}
    std::shared_ptr<State> state_;
};

}  // namespace lanewise::vulkan
