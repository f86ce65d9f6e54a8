#include "tests/support/gpu_test.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace lanewise::test {

namespace {

class RigMemory : public TestMemory {
public:
    RigMemory(const OwnedDevice& device, OwnedBuffer buffer)
        : device_(&device), buffer_(std::move(buffer)) {}

    Result<void> write(std::size_t offset, std::span<const std::byte> data) override {
        return device_->upload(buffer_, offset, data);
    }
    Result<void> read(std::size_t offset, std::span<std::byte> data) const override {
        return device_->download(buffer_, offset, data);
    }
    const OwnedBuffer& buffer() const { return buffer_; }

private:
    const OwnedDevice* device_;
    OwnedBuffer buffer_;
};

vulkan::Buffer buffer_of(const TestRange& range) {
    if (range.memory == nullptr) return {};
    return dynamic_cast<const RigMemory&>(*range.memory).buffer().range(range.offset, range.bytes);
}

class RigUse : public TestUse {
public:
    RigUse(Rig& rig, vulkan::Binding binding) : rig_(&rig), binding_(std::move(binding)) {}

    const std::vector<std::string>& pass_names() const override { return binding_.pass_names(); }

    Result<void> run(const UseOptions& options) override {
        if (options.replay) return replay();
        const OwnedDevice& device = rig_->owned();
        if (!options.timestamps || !rig_->has_timestamps()) return record_and_run(options, {}, 0);
        const auto queries = static_cast<std::uint32_t>(pass_names().size() * 2);
        // One query is left free in front, so that first_query is not always 0, and one behind.
        const auto pool = device.make_query_pool(queries + 2);
        if (!pool) return tl::unexpected(pool.error());
        auto done = record_and_run(options, {.query_pool = *pool, .first_query = 1}, queries + 2);
        if (done) expect_stamps(*pool, queries);
        device.destroy_query_pool(*pool);
        return done;
    }

private:
    Result<void> record_and_run(const UseOptions& options, const vulkan::RecordOptions& record,
                                std::uint32_t queries) {
        const OwnedDevice& device = rig_->owned();
        const auto reset_queries = [&](VkCommandBuffer cmd) {
            if (queries != 0) device.vk().CmdResetQueryPool(cmd, record.query_pool, 0, queries);
        };
        if (!options.secondary) {
            return device.run([&](VkCommandBuffer cmd) {
                reset_queries(cmd);
                binding_.record(cmd, record);
                record_readback_barrier(device, cmd);
            });
        }
        const auto cmd = device.make_command_buffer(VK_COMMAND_BUFFER_LEVEL_SECONDARY);
        if (!cmd) return tl::unexpected(cmd.error());
        const VkCommandBufferInheritanceInfo inheritance{
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
        const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                             .pInheritanceInfo = &inheritance};
        EXPECT_EQ(device.vk().BeginCommandBuffer(*cmd, &begin), VK_SUCCESS);
        binding_.record(*cmd, record);
        EXPECT_EQ(device.vk().EndCommandBuffer(*cmd), VK_SUCCESS);
        return device.run([&](VkCommandBuffer primary) {
            reset_queries(primary);
            device.vk().CmdExecuteCommands(primary, 1, &*cmd);
            record_readback_barrier(device, primary);
        });
    }

    Result<void> replay() {
        const OwnedDevice& device = rig_->owned();
        if (recorded_ == VK_NULL_HANDLE) {
            const auto cmd = device.make_command_buffer();
            if (!cmd) return tl::unexpected(cmd.error());
            const VkCommandBufferBeginInfo begin{.sType =
                                                     VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
            EXPECT_EQ(device.vk().BeginCommandBuffer(*cmd, &begin), VK_SUCCESS);
            binding_.record(*cmd);
            record_readback_barrier(device, *cmd);
            EXPECT_EQ(device.vk().EndCommandBuffer(*cmd), VK_SUCCESS);
            recorded_ = *cmd;
        }
        return device.submit(recorded_);
    }

    // Pairs of (stamp, available) for each query: written where a pass was, and only there.
    void expect_stamps(VkQueryPool pool, std::uint32_t queries) const {
        const OwnedDevice& device = rig_->owned();
        std::vector<std::uint64_t> stamps((queries + 2) * 2);
        const VkResult got = device.vk().GetQueryPoolResults(
            device.device(), pool, 0, queries + 2, stamps.size() * 8, stamps.data(), 16,
            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WITH_AVAILABILITY_BIT);
        EXPECT_TRUE(got == VK_SUCCESS || got == VK_NOT_READY) << got;
        for (std::uint32_t query = 0; query < queries + 2; ++query) {
            const bool wanted = query >= 1 && query <= queries;
            EXPECT_EQ(stamps[query * 2 + 1] != 0, wanted)
                << "timestamp " << query << (wanted ? " is missing" : " is none of the binding's");
        }
        for (std::uint32_t pass = 0; pass < queries / 2; ++pass) {
            EXPECT_LE(stamps[(1 + pass * 2) * 2], stamps[(2 + pass * 2) * 2])
                << pass_names()[pass] << " ends before it begins";
        }
    }

    Rig* rig_;
    vulkan::Binding binding_;
    VkCommandBuffer recorded_ = VK_NULL_HANDLE;
};

class RigExecutable : public TestExecutable {
public:
    RigExecutable(Rig& rig, vulkan::Executable executable)
        : rig_(&rig), executable_(std::move(executable)) {}

    Result<std::unique_ptr<TestUse>> bind(const TestBuffers& buffers,
                                          const TestCount& count) override {
        vulkan::Count what;
        if (const auto* number = std::get_if<std::uint64_t>(&count)) {
            what = *number;
        } else {
            const vulkan::Buffer range = buffer_of(std::get<TestRange>(count));
            what = vulkan::CountBuffer{range.buffer, range.offset, range.address};
        }
        auto binding = executable_.bind({.input = buffer_of(buffers.input),
                                         .output = buffer_of(buffers.output),
                                         .scratch = buffer_of(buffers.scratch),
                                         .values = buffer_of(buffers.values),
                                         .values_out = buffer_of(buffers.values_out),
                                         .offsets = buffer_of(buffers.offsets),
                                         .flags = buffer_of(buffers.flags),
                                         .keys = buffer_of(buffers.keys),
                                         .rejected = buffer_of(buffers.rejected),
                                         .count_out = buffer_of(buffers.count_out)},
                                        what);
        if (!binding) return tl::unexpected(binding.error());
        return std::make_unique<RigUse>(*rig_, *std::move(binding));
    }

private:
    Rig* rig_;
    vulkan::Executable executable_;
};

}  // namespace

OwnedDeviceOptions Rig::validated() {
    OwnedDeviceOptions options;
    options.validation = true;
    options.gpu_assisted_validation = test_all();
    return options;
}

OwnedDeviceOptions Rig::assisted() {
    OwnedDeviceOptions options = validated();
    options.gpu_assisted_validation = true;
    return options;
}

OwnedDeviceOptions Rig::plain() { return {}; }

std::unique_ptr<Rig> Rig::create(OwnedDeviceOptions options) {
    std::unique_ptr<Rig> rig(new Rig);
    options.on_validation_message = [box = rig->message_box()](const std::string& message) {
        box->add(message);
    };
    auto owned = OwnedDevice::create(options);
    if (!owned) {
        ADD_FAILURE() << "no device: " << owned.error().message;
        return nullptr;
    }
    rig->owned_ = *std::move(owned);
    auto device = vulkan::Device::adopt(rig->owned_->adoption());
    if (!device) {
        ADD_FAILURE() << "the device was not adopted: " << device.error().message;
        return nullptr;
    }
    rig->device_ = std::make_unique<vulkan::Device>(*std::move(device));
    return rig;
}

Rig& Rig::shared() { return dynamic_cast<Rig&>(TestDevice::shared()); }

Rig::~Rig() {
    if (pipelines_ != VK_NULL_HANDLE)
        owned_->vk().DestroyPipelineCache(owned_->device(), pipelines_, owned_->allocator());
}

Result<vulkan::Executable> Rig::compile(const Plan& plan) {
    const std::string key = plan_to_json(plan);
    if (const auto found = compiled_.find(key); found != compiled_.end()) return found->second;
    const auto bundle = bundle_for(plan);
    if (!bundle) return tl::unexpected(bundle.error());
    if (pipelines_ == VK_NULL_HANDLE) {
        const VkPipelineCacheCreateInfo info{.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO};
        EXPECT_EQ(owned_->vk().CreatePipelineCache(owned_->device(), &info, owned_->allocator(),
                                                   &pipelines_),
                  VK_SUCCESS);
    }
    auto executable = device_->compile(plan, {.bundle = &*bundle, .pipeline_cache = pipelines_});
    if (executable) compiled_.emplace(key, *executable);
    return executable;
}

Result<std::unique_ptr<TestMemory>> Rig::make_memory(std::size_t bytes) {
    auto buffer = owned_->make_buffer(bytes, MemoryKind::device);
    if (!buffer) return tl::unexpected(buffer.error());
    return std::make_unique<RigMemory>(*owned_, *std::move(buffer));
}

Result<std::shared_ptr<TestExecutable>> Rig::prepare(const Plan& plan) {
    auto executable = compile(plan);
    if (!executable) return tl::unexpected(executable.error());
    return std::make_shared<RigExecutable>(*this, *std::move(executable));
}

void record_readback_barrier(const OwnedDevice& device, VkCommandBuffer cmd) {
    const VkMemoryBarrier barrier{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT};
    device.vk().CmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                                   1, &barrier, 0, nullptr, 0, nullptr);
}

void record_reuse_barrier(const OwnedDevice& device, VkCommandBuffer cmd) {
    const VkMemoryBarrier barrier{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT |
                         VK_ACCESS_INDIRECT_COMMAND_READ_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT};
    device.vk().CmdPipelineBarrier(
        cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_DRAW_INDIRECT_BIT,
        VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

}  // namespace lanewise::test
