// Gpu::reduce: plan, run, and a lower tier where one fails.

#include <fmt/format.h>

#include <cstring>

#include "src/gpu/gpu_host.hpp"
#include "src/vulkan/context.hpp"

namespace lanewise {

namespace {

using vulkan::detail::without_throwing;

// On a lower tier where the driver refuses a pipeline of this one, unless the caller forced it.
Result<ReduceResult> reduce_bytes(detail::GpuHost& host, std::span<const std::byte> data,
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
    Caps caps = host.caps();
    for (;;) {
        auto plan = plan_reduce(caps, desc);
        if (!plan) return tl::unexpected(plan.error());
        result.accumulator = reduce_accumulator(desc);
        result.bytes.assign(reduce_result_bytes(desc), std::byte{});
        auto ran = host.run(*plan, desc.max_count, data, result.bytes, result.report);
        if (ran) {
            result.report.plan = *std::move(plan);
            return result;
        }
        if (desc.tier || ran.error().retry_caps == nullptr) return tl::unexpected(ran.error());
        result.report.fallbacks.push_back(
            fmt::format("{}: {}", to_text(plan->tier), ran.error().message));
        caps = *ran.error().retry_caps;
    }
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
    return without_throwing("reducing", [&] { return reduce_bytes(*state_->host, data, desc); });
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
