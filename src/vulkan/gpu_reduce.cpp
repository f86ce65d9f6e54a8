// Gpu::reduce: plan, upload, run, download, and a lower tier where one fails.

#include <fmt/format.h>

#include <cstring>

#include "lanewise/vulkan.hpp"
#include "src/vulkan/context.hpp"
#include "src/vulkan/device_state.hpp"
#include "src/vulkan/gpu_state.hpp"

namespace lanewise {

namespace {

using vulkan::Binding;
using vulkan::Executable;
using vulkan::detail::MemoryKind;
using vulkan::detail::OwnedBuffer;
using vulkan::detail::OwnedDevice;
using vulkan::detail::without_throwing;

// A loss that shows in a submit of ours ends the adopted device, too.
template <class T>
tl::unexpected<Error> remember(const Gpu::State& gpu, const Result<T>& failure) {
    if (failure.error().code == ErrorCode::device_lost) gpu.device.state()->context.lost = true;
    return tl::unexpected(failure.error());
}

// Plans and compiles; on a lower tier where the driver refuses a pipeline of this one, unless the
// caller forced the tier.
Result<Executable> compile_reduce(const Gpu::State& gpu, const ReduceDesc& desc,
                                  std::vector<std::string>& fallbacks) {
    Caps caps = gpu.caps;
    for (;;) {
        auto plan = plan_reduce(caps, desc);
        if (!plan) return tl::unexpected(plan.error());
        auto executable = gpu.device.compile(*plan);
        if (executable || desc.tier || executable.error().retry_caps == nullptr) return executable;
        fallbacks.push_back(fmt::format("{}: {}", to_text(plan->tier), executable.error().message));
        caps = *executable.error().retry_caps;
    }
}

// Records and runs a binding, and reads the time of each pass where the queue has timestamps.
Result<std::vector<PassTime>> run_timed(const Gpu::State& gpu, const Binding& binding) {
    const OwnedDevice& device = *gpu.owned;
    std::vector<PassTime> times;
    for (const std::string& name : binding.pass_names()) times.push_back({name, 0.0});
    if (!gpu.caps.timestamps) {
        auto ran = device.run([&](VkCommandBuffer cmd) { binding.record(cmd); });
        if (!ran) return remember(gpu, ran);
        return times;
    }

    const auto stamps = static_cast<std::uint32_t>(2 * times.size());
    auto pool = device.make_query_pool(stamps);
    if (!pool) return remember(gpu, pool);
    auto ran = device.run([&](VkCommandBuffer cmd) {
        device.vk().CmdResetQueryPool(cmd, *pool, 0, stamps);
        binding.record(cmd, {.query_pool = *pool});
    });
    Result<std::vector<double>> at = std::vector<double>{};
    if (ran) at = device.read_timestamps(*pool, stamps);
    device.destroy_query_pool(*pool);
    if (!ran) return remember(gpu, ran);
    if (!at) return remember(gpu, at);
    for (std::size_t i = 0; i < times.size(); ++i)
        times[i].nanoseconds = (*at)[2 * i + 1] - (*at)[2 * i];
    return times;
}

Result<ReduceResult> reduce_bytes(const Gpu::State& gpu, std::span<const std::byte> data,
                                  ReduceDesc desc) {
    const std::size_t element_bytes = size_of(desc.element);
    if (data.size() % element_bytes != 0) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument,
                  fmt::format("{} bytes are no whole number of {}: {} bytes each", data.size(),
                              to_text(desc.element), element_bytes)});
    }
    desc.max_count = data.size() / element_bytes;

    ReduceResult result;
    auto executable = compile_reduce(gpu, desc, result.report.fallbacks);
    if (!executable) return remember(gpu, executable);
    const Plan& plan = executable->plan();

    const auto make = [&](Role role) -> Result<OwnedBuffer> {
        const Argument* argument = plan.argument(role);
        if (argument == nullptr) return OwnedBuffer();
        return gpu.owned->make_buffer(argument->bytes, MemoryKind::device);
    };
    auto input = make(Role::input);
    if (!input) return remember(gpu, input);
    auto output = make(Role::output);
    if (!output) return remember(gpu, output);
    auto scratch = make(Role::scratch);
    if (!scratch) return remember(gpu, scratch);
    if (auto done = gpu.owned->upload(*input, 0, data); !done) return remember(gpu, done);

    auto binding = executable->bind(
        {.input = input->range(), .output = output->range(), .scratch = scratch->range()},
        desc.max_count);
    if (!binding) return remember(gpu, binding);
    auto times = run_timed(gpu, *binding);
    if (!times) return tl::unexpected(times.error());

    result.accumulator = reduce_accumulator(desc);
    result.bytes.resize(reduce_result_bytes(desc));
    if (auto done = gpu.owned->download(*output, 0, result.bytes); !done)
        return remember(gpu, done);
    result.report.passes = std::move(*times);
    result.report.plan = plan;
    return result;
}

template <class T>
Result<T> reduce_typed(Gpu& gpu, std::span<const T> data, Scalar element, Operator op) {
    if (is_arg(op)) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument,
                  fmt::format("{} gives an index beside the value: call reduce with bytes and a "
                              "ReduceDesc",
                              to_text(op))});
    }
    auto reduced = gpu.reduce(std::as_bytes(data), {.element = element, .op = op});
    if (!reduced) return tl::unexpected(reduced.error());
    T value{};
    std::memcpy(&value, reduced->bytes.data(), sizeof value);
    return value;
}

}  // namespace

Result<ReduceResult> Gpu::reduce(std::span<const std::byte> data, ReduceDesc desc) {
    return without_throwing("reducing", [&] { return reduce_bytes(*state_, data, desc); });
}

Result<std::uint32_t> Gpu::reduce(std::span<const std::uint32_t> data, Operator op) {
    return reduce_typed(*this, data, Scalar::u32, op);
}
Result<std::int32_t> Gpu::reduce(std::span<const std::int32_t> data, Operator op) {
    return reduce_typed(*this, data, Scalar::i32, op);
}
Result<float> Gpu::reduce(std::span<const float> data, Operator op) {
    return reduce_typed(*this, data, Scalar::f32, op);
}
Result<std::uint64_t> Gpu::reduce(std::span<const std::uint64_t> data, Operator op) {
    return reduce_typed(*this, data, Scalar::u64, op);
}
Result<std::int64_t> Gpu::reduce(std::span<const std::int64_t> data, Operator op) {
    return reduce_typed(*this, data, Scalar::i64, op);
}
Result<double> Gpu::reduce(std::span<const double> data, Operator op) {
    return reduce_typed(*this, data, Scalar::f64, op);
}

}  // namespace lanewise
