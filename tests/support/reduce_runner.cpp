#include "tests/support/reduce_runner.hpp"

#include <algorithm>

#include "primitives/reduce/reduce_reference.hpp"
#include "tests/support/test_data.hpp"

namespace lanewise::test {
namespace {

std::string text(const Error& error) {
    return std::string(to_text(error.code)) + ": " + error.message;
}

}  // namespace

ReduceRunner::ReduceRunner(TestDevice& device, const ReduceDesc& desc)
    : ReduceRunner(device, desc, device.caps()) {}

ReduceRunner::ReduceRunner(TestDevice& device, const ReduceDesc& desc, const Caps& caps)
    : desc_(desc) {
    auto plan = plan_reduce(caps, desc);
    if (!plan) {
        ADD_FAILURE() << "no plan: " << text(plan.error());
        return;
    }
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier)) << "not the tier that was asked for";
    runner_.emplace(device, *std::move(plan));
}

std::vector<std::byte> ReduceRunner::run(std::span<const std::byte> data,
                                         const RunOptions& options) {
    if (!*this) return {};
    const std::uint64_t count = data.size() / plan().element_bytes;
    const std::size_t bound = runner_->bound_bytes(Role::input, count, options.count_in_buffer);
    // Past the data: elements that spoil the answer.
    Elements contents(desc_.element, std::max(data.size(), bound) / plan().element_bytes);
    for (std::size_t i = count; i < contents.count(); ++i)
        contents.set(i, hostile_bits(desc_.element, desc_.op, i));
    std::vector<std::byte> bytes(contents.bytes().begin(), contents.bytes().end());
    std::copy(data.begin(), data.end(), bytes.begin());
    std::vector<std::byte> result = runner_->run(bytes, count, options);
    EXPECT_TRUE(result.empty() || result.size() == reduce_result_bytes(desc_)) << result.size();
    return result;
}

void ReduceRunner::expect_matches(std::span<const std::byte> data,
                                  std::span<const std::byte> result) const {
    std::string why;
    const std::uint64_t count = data.size() / plan().element_bytes;
    EXPECT_TRUE(reduce_matches(desc_, data, result, &why, reduce_depth(plan(), count)))
        << count << " items: " << why;
}

void ReduceRunner::expect_right(std::span<const std::byte> data, const RunOptions& options) {
    const std::vector<std::byte> result = run(data, options);
    if (!result.empty()) expect_matches(data, result);
}

std::vector<ReduceStrategy> reduce_strategies(const Caps& caps) {
    if (!caps.device_scope_barrier)
        return {ReduceStrategy::one_workgroup, ReduceStrategy::two_pass};
    return {ReduceStrategy::one_workgroup, ReduceStrategy::last_workgroup,
            ReduceStrategy::two_pass};
}

std::vector<ReduceStrategy> sum_strategies(const Caps& caps) {
    std::vector<ReduceStrategy> all = reduce_strategies(caps);
    if (caps.int64_atomics) all.push_back(ReduceStrategy::arrival_sum);
    return all;
}

vulkan::Buffers UseBuffers::buffers(const Plan& plan) const {
    const auto range = [&](const OwnedBuffer& buffer, Role role) {
        const Argument* argument = plan.argument(role);
        return argument != nullptr ? buffer.range(0, argument->bytes) : vulkan::Buffer{};
    };
    return {.input = range(input, Role::input),
            .output = range(output, Role::output),
            .scratch = range(scratch, Role::scratch),
            .values = range(values, Role::values),
            .values_out = range(values_out, Role::values_out),
            .offsets = range(offsets, Role::offsets),
            .flags = range(flags, Role::flags),
            .keys = range(keys, Role::keys),
            .rejected = range(rejected, Role::rejected),
            .count_out = range(count_out, Role::count_out)};
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
    made.values = make(bytes_of(Role::values));
    made.values_out = make(bytes_of(Role::values_out));
    made.offsets = make(bytes_of(Role::offsets));
    made.flags = make(bytes_of(Role::flags));
    made.keys = make(bytes_of(Role::keys));
    made.rejected = make(bytes_of(Role::rejected));
    made.count_out = make(bytes_of(Role::count_out));
    made.count = make(16);
    for (const OwnedBuffer* buffer : {&made.output, &made.scratch}) {
        const auto done = device.upload(*buffer, 0, poison(buffer->bytes()));
        EXPECT_TRUE(done) << text(done.error());
    }
    return made;
}

}  // namespace lanewise::test
