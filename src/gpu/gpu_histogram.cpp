// Gpu::histogram.

#include <fmt/format.h>

#include <utility>

#include "src/gpu/gpu_run.hpp"

namespace lanewise {

namespace {

using detail::without_throwing;

Result<HistogramResult> histogram_bytes(Gpu::State& gpu, std::span<const std::byte> samples,
                                        HistogramDesc desc) {
    const std::uint64_t item_bytes = std::uint64_t{desc.channels} * size_of(desc.sample);
    if (item_bytes == 0 || samples.size() % item_bytes != 0) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument,
                  fmt::format("{} bytes are no whole number of items of {} channels of {}: {} "
                              "bytes each",
                              samples.size(), desc.channels, to_text(desc.sample), item_bytes),
                  nullptr});
    }
    desc.max_count = samples.size() / item_bytes;
    // What cannot be planned is refused before there is memory for its result.
    if (const auto plan = plan_histogram(gpu.host->caps(), desc); !plan)
        return tl::unexpected(plan.error());
    HistogramResult result;
    result.counts.assign(std::size_t{desc.channels} * desc.bins, 0);
    const auto ran = detail::plan_and_run(
        gpu, desc, plan_histogram,
        {.input = samples, .output = std::as_writable_bytes(std::span(result.counts))},
        result.report);
    if (!ran) return tl::unexpected(ran.error());
    return result;
}

Result<std::vector<std::uint32_t>> counts_of(Gpu& gpu, std::span<const std::byte> samples,
                                             const HistogramDesc& desc) {
    auto made = gpu.histogram(samples, desc);
    if (!made) return tl::unexpected(made.error());
    return std::move(made->counts);
}

}  // namespace

Result<HistogramResult> Gpu::histogram(std::span<const std::byte> samples, HistogramDesc desc) {
    return without_throwing("counting", [&] { return histogram_bytes(*state_, samples, desc); });
}

Result<std::vector<std::uint32_t>> Gpu::histogram(std::span<const std::uint8_t> samples) {
    return counts_of(*this, std::as_bytes(samples), {});
}
Result<std::vector<std::uint32_t>> Gpu::histogram(std::span<const std::uint32_t> samples,
                                                  std::uint32_t bins, HistogramRange range) {
    return counts_of(*this, std::as_bytes(samples),
                     {.sample = Scalar::u32, .bins = bins, .range = range});
}
Result<std::vector<std::uint32_t>> Gpu::histogram(std::span<const std::int32_t> samples,
                                                  std::uint32_t bins, HistogramRange range) {
    return counts_of(*this, std::as_bytes(samples),
                     {.sample = Scalar::i32, .bins = bins, .range = range});
}
Result<std::vector<std::uint32_t>> Gpu::histogram(std::span<const float> samples,
                                                  std::uint32_t bins, HistogramRange range) {
    return counts_of(*this, std::as_bytes(samples),
                     {.sample = Scalar::f32, .bins = bins, .range = range});
}

}  // namespace lanewise
