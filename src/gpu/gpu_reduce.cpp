// Gpu::reduce.

#include <cstring>

#include "src/gpu/gpu_run.hpp"

namespace lanewise {

namespace {

using detail::without_throwing;

constexpr detail::Primitive<ReduceDesc> kReduce{
    plan_reduce, [](const ReduceDesc& desc) -> std::uint64_t { return reduce_result_bytes(desc); }};

template <class T>
Result<T> reduce_typed(Gpu& gpu, std::span<const T> data, Operator op) {
    if (auto values = detail::require_values(op, "reduce", "ReduceDesc"); !values) {
        return tl::unexpected(values.error());
    }
    auto reduced = gpu.reduce(std::as_bytes(data), {.element = detail::scalar_of<T>(), .op = op});
    if (!reduced) return tl::unexpected(reduced.error());
    T value{};
    std::memcpy(&value, reduced->bytes.data(), sizeof value);
    return value;
}

}  // namespace

Result<ReduceResult> Gpu::reduce(std::span<const std::byte> data, ReduceDesc desc) {
    return without_throwing("reducing", [&] {
        auto result = detail::run_on_host<ReduceResult>(*state_, data, desc, kReduce);
        if (result) result->accumulator = reduce_accumulator(desc);
        return result;
    });
}

Result<std::uint32_t> Gpu::reduce(std::span<const std::uint32_t> data, Operator op) {
    return reduce_typed(*this, data, op);
}
Result<std::int32_t> Gpu::reduce(std::span<const std::int32_t> data, Operator op) {
    return reduce_typed(*this, data, op);
}
Result<float> Gpu::reduce(std::span<const float> data, Operator op) {
    return reduce_typed(*this, data, op);
}
Result<std::uint64_t> Gpu::reduce(std::span<const std::uint64_t> data, Operator op) {
    return reduce_typed(*this, data, op);
}
Result<std::int64_t> Gpu::reduce(std::span<const std::int64_t> data, Operator op) {
    return reduce_typed(*this, data, op);
}
Result<double> Gpu::reduce(std::span<const double> data, Operator op) {
    return reduce_typed(*this, data, op);
}

}  // namespace lanewise
