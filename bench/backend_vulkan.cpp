#include <vulkan/vulkan_core.h>

#include <chrono>
#include <cstdlib>

#include "bench/backend.hpp"
#ifdef LANEWISE_HAS_JIT
#include "lanewise/jit.hpp"
#endif
#include "lanewise/vulkan.hpp"
#include "src/vulkan/gpu_owned_device.hpp"

namespace lanewise::bench {
namespace {

using vulkan::detail::MemoryKind;
using vulkan::detail::OwnedBuffer;
using vulkan::detail::OwnedDevice;
using vulkan::detail::OwnedDeviceOptions;

const char* type_name(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
        case VK_PHYSICAL_DEVICE_TYPE_CPU: return "cpu";
        default: return "other";
    }
}

struct VulkanMemory final : Memory {
    explicit VulkanMemory(OwnedBuffer made) : buffer(std::move(made)) {}
    std::uint64_t bytes() const override { return buffer.bytes(); }
    OwnedBuffer buffer;
};

const OwnedBuffer& buffer_of(const Memory& memory) {
    return static_cast<const VulkanMemory&>(memory).buffer;
}

vulkan::Buffer range_of(const Range& range) {
    return range.memory == nullptr ? vulkan::Buffer{}
                                   : buffer_of(*range.memory).range(0, range.bytes);
}

struct VulkanUse final : Use {
    explicit VulkanUse(vulkan::Binding made) : binding(std::move(made)) {}
    vulkan::Binding binding;
};

const vulkan::Binding& binding_of(const Use& use) {
    return static_cast<const VulkanUse&>(use).binding;
}

// Those that are not built in.
Result<Bundle> kernels_of([[maybe_unused]] const Plan& plan) {
#ifdef LANEWISE_HAS_JIT
    if (plan.custom) return jit::compile(plan);
#endif
    return Bundle();
}

class VulkanBackend final : public Backend {
public:
    VulkanBackend(std::unique_ptr<OwnedDevice> owned, vulkan::Device device, Caps caps)
        : owned_(std::move(owned)), device_(std::move(device)), caps_(std::move(caps)) {}
    ~VulkanBackend() override {
        owned_->vk().DestroyCommandPool(owned_->device(), pool_, owned_->allocator());
        owned_->destroy_query_pool(stamps_);
    }

    Result<void> make_commands();

    const Caps& caps() const override { return caps_; }
    std::string name() const override { return owned_->listing().name; }
    std::string type() const override { return type_name(owned_->listing().type); }

    Result<std::unique_ptr<Memory>> make_memory(std::uint64_t bytes) override {
        auto made = owned_->make_buffer(bytes, MemoryKind::device);
        if (!made) return tl::unexpected(made.error());
        return std::make_unique<VulkanMemory>(std::move(*made));
    }
    Result<void> upload(const Memory& memory, std::span<const std::byte> data) override {
        return owned_->upload(buffer_of(memory), 0, data);
    }
    Result<void> download(const Memory& memory, std::span<std::byte> data) override {
        return owned_->download(buffer_of(memory), 0, data);
    }
    Result<void> fill(const Memory& memory, std::uint32_t word) override {
        return owned_->run([&](VkCommandBuffer commands) {
            owned_->vk().CmdFillBuffer(commands, buffer_of(memory).get(), 0, VK_WHOLE_SIZE, word);
        });
    }

    Result<std::unique_ptr<Use>> prepare(const Plan& plan, const Ranges& ranges,
                                         std::uint64_t count) override {
        const auto kernels = kernels_of(plan);
        if (!kernels) return tl::unexpected(kernels.error());
        auto executable = device_.compile(plan, {.bundle = &*kernels});
        if (!executable) return tl::unexpected(executable.error());
        auto binding = executable->bind({.input = range_of(ranges.input),
                                         .output = range_of(ranges.output),
                                         .scratch = range_of(ranges.scratch),
                                         .values = range_of(ranges.values),
                                         .values_out = range_of(ranges.values_out),
                                         .count_out = range_of(ranges.count_out)},
                                        count);
        if (!binding) return tl::unexpected(binding.error());
        return std::make_unique<VulkanUse>(std::move(*binding));
    }
    Result<void> run(const Use& use) override {
        return owned_->run([&](VkCommandBuffer commands) { binding_of(use).record(commands); });
    }

    Result<void> load(const Use& use, std::uint32_t times) override;
    Result<double> time() override;
    bool has_clock() const override { return stamps_ != VK_NULL_HANDLE; }

private:
    std::unique_ptr<OwnedDevice> owned_;
    vulkan::Device device_;
    Caps caps_;
    // A pool apart from the owned device's, which that resets when it runs something.
    VkCommandPool pool_ = VK_NULL_HANDLE;
    VkCommandBuffer commands_ = VK_NULL_HANDLE;
    VkQueryPool stamps_ = VK_NULL_HANDLE;
};

tl::unexpected<Error> out_of_memory(const std::string& what) {
    return tl::unexpected(
        Error{ErrorCode::out_of_memory, "benchmark: no memory for " + what, nullptr});
}

Result<void> VulkanBackend::make_commands() {
    const auto& vk = owned_->vk();
    const VkCommandPoolCreateInfo pool_info{
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = owned_->queue_family(),
    };
    if (vk.CreateCommandPool(owned_->device(), &pool_info, owned_->allocator(), &pool_) !=
        VK_SUCCESS) {
        return out_of_memory("a command pool");
    }
    const VkCommandBufferAllocateInfo info{
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool_,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    if (vk.AllocateCommandBuffers(owned_->device(), &info, &commands_) != VK_SUCCESS) {
        return out_of_memory("a command buffer");
    }
    if (!caps_.timestamps) return {};
    auto made = owned_->make_query_pool(2);
    if (!made) return tl::unexpected(made.error());
    stamps_ = *made;
    return {};
}

Result<void> VulkanBackend::load(const Use& use, std::uint32_t times) {
    const auto& vk = owned_->vk();
    vk.ResetCommandPool(owned_->device(), pool_, 0);
    const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    vk.BeginCommandBuffer(commands_, &begin);
    if (stamps_ != VK_NULL_HANDLE) {
        vk.CmdResetQueryPool(commands_, stamps_, 0, 2);
        vk.CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, stamps_, 0);
    }
    // The next use reads and writes where this one wrote; indirect arguments among it.
    const VkMemoryBarrier after_use{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
    };
    for (std::uint32_t time = 0; time < times; ++time) {
        binding_of(use).record(commands_);
        vk.CmdPipelineBarrier(commands_, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                              VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &after_use, 0, nullptr, 0,
                              nullptr);
    }
    if (stamps_ != VK_NULL_HANDLE) {
        vk.CmdWriteTimestamp(commands_, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, stamps_, 1);
    }
    if (vk.EndCommandBuffer(commands_) != VK_SUCCESS) return out_of_memory("the commands");
    return {};
}

Result<double> VulkanBackend::time() {
    const auto start = std::chrono::steady_clock::now();
    if (const auto done = owned_->submit(commands_); !done) return tl::unexpected(done.error());
    const std::chrono::duration<double, std::nano> waited =
        std::chrono::steady_clock::now() - start;
    if (stamps_ == VK_NULL_HANDLE) return waited.count();
    const auto times = owned_->read_timestamps(stamps_, 2);
    if (!times) return tl::unexpected(times.error());
    return (*times)[1] - (*times)[0];
}

}  // namespace

Result<std::unique_ptr<Backend>> make_vulkan_backend(const GpuOptions& options) {
    OwnedDeviceOptions owned_options;
    owned_options.device = options.device;
    if (owned_options.device.empty()) {
        if (const char* chosen = std::getenv("LANEWISE_DEVICE")) owned_options.device = chosen;
    }
    auto owned = OwnedDevice::create(owned_options);
    if (!owned) return tl::unexpected(owned.error());
    auto device = vulkan::Device::adopt((*owned)->adoption());
    if (!device) return tl::unexpected(device.error());
    auto caps = device->probe((*owned)->queue());
    if (!caps) return tl::unexpected(caps.error());
    auto backend =
        std::make_unique<VulkanBackend>(std::move(*owned), std::move(*device), std::move(*caps));
    if (const auto made = backend->make_commands(); !made) return tl::unexpected(made.error());
    return backend;
}

}  // namespace lanewise::bench
