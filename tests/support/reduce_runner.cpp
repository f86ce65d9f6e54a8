#include "tests/support/reduce_runner.hpp"

#include <algorithm>
#include <cstring>

#include "primitives/reduce/reduce_reference.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

// Guard bytes differ from byte to byte and from the poison, so that a copy of neither passes.
std::byte guard_byte(std::size_t index) {
    return static_cast<std::byte>(hash(0x6a2d, index) & 0xff);
}

std::string text(const Error& error) {
    return std::string(to_text(error.code)) + ": " + error.message;
}

std::vector<std::byte> poison(std::size_t bytes) {
    std::vector<std::byte> all(bytes);
    for (std::size_t i = 0; i < bytes; ++i)
        all[i] = static_cast<std::byte>(kPoison >> (8 * (i % 4)));
    return all;
}

}  // namespace

GuardedBuffer::GuardedBuffer(const OwnedDevice& device, std::size_t bytes, std::size_t extra_offset)
    : device_(&device), offset_(kGuardBytes + extra_offset), capacity_(bytes) {
    const std::size_t total = offset_ + bytes + kGuardBytes;
    auto buffer = device.make_buffer(total, MemoryKind::device);
    if (!buffer) {
        ADD_FAILURE() << "no buffer of " << total << " bytes: " << text(buffer.error());
        return;
    }
    buffer_ = *std::move(buffer);
    pattern_.resize(total);
    for (std::size_t i = 0; i < total; ++i) pattern_[i] = guard_byte(i);
}

void GuardedBuffer::reset(std::span<const std::byte> contents) {
    ASSERT_LE(contents.size(), capacity_);
    std::vector<std::byte> all = pattern_;
    std::copy(contents.begin(), contents.end(), all.begin() + static_cast<std::ptrdiff_t>(offset_));
    const auto done = device_->upload(buffer_, 0, all);
    ASSERT_TRUE(done) << text(done.error());
}

void GuardedBuffer::reset_poisoned(std::size_t bytes) { reset(poison(bytes)); }

std::vector<std::byte> GuardedBuffer::read(std::size_t bytes) const {
    std::vector<std::byte> contents(bytes);
    const auto done = device_->download(buffer_, offset_, contents);
    EXPECT_TRUE(done) << text(done.error());
    return contents;
}

void GuardedBuffer::expect_guards(std::size_t bytes, const char* name) const {
    std::vector<std::byte> all(pattern_.size());
    const auto done = device_->download(buffer_, 0, all);
    ASSERT_TRUE(done) << text(done.error());
    const auto differs = [&](std::size_t begin, std::size_t end) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
        const auto last = all.begin() + static_cast<std::ptrdiff_t>(end);
        const auto found =
            std::mismatch(first, last, pattern_.begin() + static_cast<std::ptrdiff_t>(begin)).first;
        return found == last
                   ? std::optional<std::size_t>()
                   : std::optional<std::size_t>(static_cast<std::size_t>(found - all.begin()));
    };
    if (const auto at = differs(0, offset_)) {
        ADD_FAILURE() << name << ": written " << offset_ - *at << " bytes before its begin";
    }
    if (const auto at = differs(offset_ + bytes, all.size())) {
        ADD_FAILURE() << name << ": written " << *at - (offset_ + bytes) << " bytes past its end ("
                      << bytes << " bytes were bound)";
    }
}

ReduceRunner::ReduceRunner(Rig& rig, const ReduceDesc& desc)
    : ReduceRunner(rig, desc, rig.caps()) {}

ReduceRunner::ReduceRunner(Rig& rig, const ReduceDesc& desc, const Caps& caps)
    : rig_(&rig), desc_(desc) {
    auto plan = plan_reduce(caps, desc);
    if (!plan) {
        ADD_FAILURE() << "no plan: " << text(plan.error());
        return;
    }
    plan_ = *std::move(plan);
    EXPECT_EQ(plan_.tier, desc.tier.value_or(plan_.tier)) << "not the tier that was asked for";
    expect_kernels_of_tier(plan_);
    auto executable = rig.compile(plan_);
    if (!executable) {
        ADD_FAILURE() << "not compiled: " << text(executable.error()) << "\n" << to_text(plan_);
        return;
    }
    make_buffers();
    if (!::testing::Test::HasFatalFailure()) executable_ = *std::move(executable);
}

void ReduceRunner::make_buffers() {
    const auto make = [&](Role role) {
        const Argument* argument = plan_.argument(role);
        return GuardedBuffer(rig_->owned(),
                             argument != nullptr ? static_cast<std::size_t>(argument->bytes) : 0);
    };
    input_ = make(Role::input);
    output_ = make(Role::output);
    scratch_ = make(Role::scratch);
    count_ = GuardedBuffer(rig_->owned(), 8);
}

std::vector<std::string> ReduceRunner::expected_passes(bool count_in_buffer) const {
    std::vector<std::string> names;
    for (const Pass& pass : plan_.passes) {
        if (pass.when == When::always || count_in_buffer) names.push_back(pass.name);
    }
    return names;
}

std::vector<std::byte> ReduceRunner::run(std::span<const std::byte> data,
                                         const RunOptions& options) {
    if (!*this) return {};
    const OwnedDevice& device = rig_->owned();
    const std::uint64_t count = data.size() / plan_.element_bytes;
    // What is bound: no byte more than this use needs. A count in a buffer may be anything.
    const auto bound = [&](Role role) {
        const Argument* argument = plan_.argument(role);
        if (argument == nullptr) return std::size_t{0};
        return static_cast<std::size_t>(options.count_in_buffer ? argument->bytes
                                                                : bytes_needed(plan_, role, count));
    };
    const std::size_t input_bytes = std::max<std::size_t>(bound(Role::input), 16);
    const std::size_t output_bytes = bound(Role::output);
    const std::size_t scratch_bytes = bound(Role::scratch);
    EXPECT_EQ(output_bytes, reduce_result_bytes(desc_));
    EXPECT_GE(input_bytes, data.size());
    if (input_bytes > input_.capacity() + kGuardBytes || data.size() > input_bytes) {
        ADD_FAILURE() << "the input's buffer has " << input_.capacity() << " bytes, " << input_bytes
                      << " are bound";
        return {};
    }

    // Past the data: elements that spoil the answer.
    std::vector<std::byte> contents(
        std::max(data.size(), std::min(input_bytes, input_.capacity())));
    Elements tail(desc_.element, contents.size() / plan_.element_bytes);
    for (std::size_t i = count; i < tail.count(); ++i)
        tail.set(i, hostile_bits(desc_.element, desc_.op, i));
    std::copy(tail.bytes().begin(), tail.bytes().end(), contents.begin());
    std::copy(data.begin(), data.end(), contents.begin());
    input_.reset(contents);
    output_.reset_poisoned(output_bytes);
    scratch_.reset_poisoned(scratch_bytes);

    const bool by_address = plan_.addressing == Addressing::device_address;
    vulkan::Count what = count;
    std::size_t count_bytes = 0;
    if (options.count_in_buffer) {
        const std::uint64_t value = options.count_value.value_or(count);
        count_bytes = by_address ? 8 : 4;
        std::vector<std::byte> bytes(count_bytes);
        std::memcpy(bytes.data(), &value, count_bytes);
        count_.reset(bytes);
        const vulkan::Buffer range = count_.range(count_bytes);
        what = vulkan::CountBuffer{range.buffer, range.offset, range.address};
    }

    const auto binding = executable_->bind({.input = input_.range(input_bytes),
                                            .output = output_.range(output_bytes),
                                            .scratch = scratch_.range(scratch_bytes)},
                                           what);
    if (!binding) {
        ADD_FAILURE() << "not bound: " << text(binding.error());
        return {};
    }
    EXPECT_EQ(binding->pass_names(), expected_passes(options.count_in_buffer));

    const auto queries = static_cast<std::uint32_t>(binding->pass_names().size() * 2);
    VkQueryPool pool = VK_NULL_HANDLE;
    if (options.timestamps && rig_->has_timestamps()) {
        const auto made = device.make_query_pool(queries + 2);
        EXPECT_TRUE(made) << text(made.error());
        if (made) pool = *made;
    }
    // One query is left free in front, so that first_query is not always 0.
    const vulkan::RecordOptions record_options{.query_pool = pool, .first_query = 1};

    const auto run_and_count = [&](const std::function<void(VkCommandBuffer)>& record) {
        const auto done = device.run(record);
        if (done) count_dispatch(plan_.tier);
        return done;
    };
    Result<void> done;
    if (options.secondary) {
        const auto cmd = device.make_command_buffer(VK_COMMAND_BUFFER_LEVEL_SECONDARY);
        if (!cmd) {
            ADD_FAILURE() << text(cmd.error());
            return {};
        }
        const VkCommandBufferInheritanceInfo inheritance{
            .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_INHERITANCE_INFO};
        const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                             .pInheritanceInfo = &inheritance};
        EXPECT_EQ(device.vk().BeginCommandBuffer(*cmd, &begin), VK_SUCCESS);
        binding->record(*cmd, record_options);
        EXPECT_EQ(device.vk().EndCommandBuffer(*cmd), VK_SUCCESS);
        done = run_and_count([&](VkCommandBuffer primary) {
            if (pool != VK_NULL_HANDLE)
                device.vk().CmdResetQueryPool(primary, pool, 0, queries + 2);
            device.vk().CmdExecuteCommands(primary, 1, &*cmd);
            record_readback_barrier(device, primary);
        });
    } else {
        done = run_and_count([&](VkCommandBuffer cmd) {
            if (pool != VK_NULL_HANDLE) device.vk().CmdResetQueryPool(cmd, pool, 0, queries + 2);
            binding->record(cmd, record_options);
            record_readback_barrier(device, cmd);
        });
    }
    if (!done) ADD_FAILURE() << "not run: " << text(done.error());

    if (pool != VK_NULL_HANDLE && done) {
        // Pairs of (stamp, available) for each query: written where a pass was, and only there.
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
                << binding->pass_names()[pass] << " ends before it begins";
        }
    }
    if (pool != VK_NULL_HANDLE) device.destroy_query_pool(pool);
    if (!done) return {};

    input_.expect_guards(contents.size(), "input");
    output_.expect_guards(output_bytes, "output");
    scratch_.expect_guards(scratch_bytes, "scratch");
    EXPECT_EQ(input_.read(contents.size()), contents) << "the input was written to";
    if (options.count_in_buffer) count_.expect_guards(count_bytes, "count");
    return output_.read(output_bytes);
}

void ReduceRunner::expect_matches(std::span<const std::byte> data,
                                  std::span<const std::byte> result) const {
    std::string why;
    const std::uint64_t count = data.size() / plan_.element_bytes;
    EXPECT_TRUE(reduce_matches(desc_, data, result, &why, reduce_depth(plan_, count)))
        << count << " items: " << why;
}

void ReduceRunner::expect_right(std::span<const std::byte> data, const RunOptions& options) {
    const std::vector<std::byte> result = run(data, options);
    if (!result.empty()) expect_matches(data, result);
}

std::vector<ReduceStrategy> sum_strategies(const Caps& caps) {
    std::vector<ReduceStrategy> all{ReduceStrategy::one_workgroup, ReduceStrategy::last_workgroup,
                                    ReduceStrategy::two_pass};
    if (caps.int64_atomics) all.push_back(ReduceStrategy::arrival_sum);
    return all;
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

vulkan::Buffers UseBuffers::buffers(const Plan& plan) const {
    const auto range = [&](const OwnedBuffer& buffer, Role role) {
        const Argument* argument = plan.argument(role);
        return argument != nullptr ? buffer.range(0, argument->bytes) : vulkan::Buffer{};
    };
    return {.input = range(input, Role::input),
            .output = range(output, Role::output),
            .scratch = range(scratch, Role::scratch)};
}

UseBuffers make_use_buffers(const OwnedDevice& device, const Plan& plan) {
    UseBuffers made;
    const auto make = [&](std::uint64_t bytes) {
        auto buffer = device.make_buffer(std::max<std::uint64_t>(bytes, 16), MemoryKind::device);
        if (!buffer) {
            ADD_FAILURE() << text(buffer.error());
            return OwnedBuffer();
        }
        return *std::move(buffer);
    };
    const auto bytes_of = [&](Role role) {
        const Argument* argument = plan.argument(role);
        return argument != nullptr ? argument->bytes : 0;
    };
    made.input = make(bytes_of(Role::input));
    made.output = make(bytes_of(Role::output));
    made.scratch = make(bytes_of(Role::scratch));
    made.count = make(16);
    for (const OwnedBuffer* buffer : {&made.output, &made.scratch}) {
        const auto done = device.upload(*buffer, 0, poison(buffer->bytes()));
        EXPECT_TRUE(done) << text(done.error());
    }
    return made;
}

}  // namespace lanewise::test
