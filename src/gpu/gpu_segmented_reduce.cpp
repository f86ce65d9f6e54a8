// Gpu::segmented_reduce.

#include "src/gpu/gpu_run.hpp"

namespace lanewise {

namespace {

using detail::values_of;
using detail::without_throwing;

Result<SegmentedReduceResult> segmented_reduce_bytes(Gpu::State& gpu,
                                                     std::span<const std::byte> data,
                                                     std::span<const std::uint32_t> offsets,
                                                     SegmentedReduceDesc desc) {
    if (auto taken = detail::take_items(data, desc); !taken) return tl::unexpected(taken.error());
    const auto right = detail::check_offsets(offsets, desc.max_count, "items");
    if (!right) return tl::unexpected(right.error());
    desc.max_segments = offsets.empty() ? 0 : offsets.size() - 1;
    SegmentedReduceResult result;
    result.accumulator = segmented_reduce_accumulator(desc);
    result.bytes.assign(desc.max_segments * segmented_reduce_result_bytes(desc), std::byte{});
    const auto ran = detail::plan_and_run(
        gpu, desc, plan_segmented_reduce,
        {.input = data, .offsets = std::as_bytes(offsets), .output = result.bytes}, result.report);
    if (!ran) return tl::unexpected(ran.error());
    return result;
}

template <class T>
Result<std::vector<T>> segmented_reduce_typed(Gpu& gpu, std::span<const T> data,
                                              std::span<const std::uint32_t> offsets, Operator op) {
    return without_throwing("reducing segments", [&]() -> Result<std::vector<T>> {
        if (auto values = detail::require_values(op, "segmented_reduce", "SegmentedReduceDesc");
            !values)
            return tl::unexpected(values.error());
        auto reduced = gpu.segmented_reduce(std::as_bytes(data), offsets,
                                            {.element = detail::scalar_of<T>(), .op = op});
        if (!reduced) return tl::unexpected(reduced.error());
        return values_of<T>(reduced->bytes);
    });
}

}  // namespace

Result<SegmentedReduceResult> Gpu::segmented_reduce(std::span<const std::byte> data,
                                                    std::span<const std::uint32_t> offsets,
                                                    SegmentedReduceDesc desc) {
    return without_throwing("reducing segments",
                            [&] { return segmented_reduce_bytes(*state_, data, offsets, desc); });
}

Result<std::vector<std::uint32_t>> Gpu::segmented_reduce(std::span<const std::uint32_t> data,
                                                         std::span<const std::uint32_t> offsets,
                                                         Operator op) {
    return segmented_reduce_typed(*this, data, offsets, op);
}
Result<std::vector<std::int32_t>> Gpu::segmented_reduce(std::span<const std::int32_t> data,
                                                        std::span<const std::uint32_t> offsets,
                                                        Operator op) {
    return segmented_reduce_typed(*this, data, offsets, op);
}
Result<std::vector<float>> Gpu::segmented_reduce(std::span<const float> data,
                                                 std::span<const std::uint32_t> offsets,
                                                 Operator op) {
    return segmented_reduce_typed(*this, data, offsets, op);
}
Result<std::vector<std::uint64_t>> Gpu::segmented_reduce(std::span<const std::uint64_t> data,
                                                         std::span<const std::uint32_t> offsets,
                                                         Operator op) {
    return segmented_reduce_typed(*this, data, offsets, op);
}
Result<std::vector<std::int64_t>> Gpu::segmented_reduce(std::span<const std::int64_t> data,
                                                        std::span<const std::uint32_t> offsets,
                                                        Operator op) {
    return segmented_reduce_typed(*this, data, offsets, op);
}
Result<std::vector<double>> Gpu::segmented_reduce(std::span<const double> data,
                                                  std::span<const std::uint32_t> offsets,
                                                  Operator op) {
    return segmented_reduce_typed(*this, data, offsets, op);
}

}  // namespace lanewise
