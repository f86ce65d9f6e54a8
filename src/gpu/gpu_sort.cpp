// Gpu::sort and Gpu::argsort, Gpu::segmented_sort, Gpu::split.

#include <fmt/format.h>

#include <algorithm>

#include "src/gpu/gpu_run.hpp"

namespace lanewise {

namespace {

using detail::values_of;
using detail::without_throwing;

tl::unexpected<Error> bad(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, std::move(message), nullptr});
}

template <class T>
Result<std::vector<T>> sort_typed(Gpu& gpu, std::span<const T> keys, SortOrder order) {
    return without_throwing("sorting", [&]() -> Result<std::vector<T>> {
        auto sorted =
            gpu.sort(std::as_bytes(keys), {}, {.key = detail::scalar_of<T>(), .order = order});
        if (!sorted) return tl::unexpected(sorted.error());
        return values_of<T>(sorted->keys);
    });
}

template <class T>
Result<std::vector<std::uint32_t>> argsort_typed(Gpu& gpu, std::span<const T> keys,
                                                 SortOrder order) {
    return without_throwing("sorting", [&]() -> Result<std::vector<std::uint32_t>> {
        auto sorted = gpu.sort(std::as_bytes(keys), {},
                               {.key = detail::scalar_of<T>(), .argsort = true, .order = order});
        if (!sorted) return tl::unexpected(sorted.error());
        return values_of<std::uint32_t>(sorted->values);
    });
}

// Sets desc.max_count from the keys. `own`: the descriptor's word for values of its own making.
template <class Desc>
Result<void> take_count(std::span<const std::byte> keys, std::span<const std::byte> values,
                        Desc& desc, const char* own) {
    const std::uint64_t key_bytes = size_of(desc.key);
    if (keys.size() % key_bytes != 0) {
        return bad(fmt::format("{} bytes are no whole number of {}: {} bytes each", keys.size(),
                               to_text(desc.key), key_bytes));
    }
    desc.max_count = keys.size() / key_bytes;
    if (values.size() != desc.max_count * desc.value_bytes) {
        return bad(fmt::format("{} bytes of values where {} keys with {} bytes each take {}{}",
                               values.size(), desc.max_count, desc.value_bytes,
                               desc.max_count * desc.value_bytes, own));
    }
    return {};
}

constexpr const char* kArgsortMakesValues = ": argsort makes its own";

Result<SortResult> sort_bytes(Gpu::State& gpu, std::span<const std::byte> keys,
                              std::span<const std::byte> values, SortDesc desc) {
    const auto counted = take_count(keys, values, desc, desc.argsort ? kArgsortMakesValues : "");
    if (!counted) return tl::unexpected(counted.error());
    if (desc.ping_pong) {
        return bad(
            "ping_pong sorts in buffers of the caller's, which Gpu has none of: leave it "
            "out, or plan_sort for a device of your own");
    }
    const std::uint64_t value_bytes = desc.argsort ? sizeof(std::uint32_t) : desc.value_bytes;
    SortResult result;
    result.keys.assign(desc.argsort ? 0 : keys.size(), std::byte{});
    result.values.assign(desc.max_count * value_bytes, std::byte{});
    const auto ran = detail::plan_and_run(
        gpu, desc, plan_sort,
        {.input = keys, .values = values, .output = result.keys, .values_out = result.values},
        result.report);
    if (!ran) return tl::unexpected(ran.error());
    return result;
}

Result<SortResult> segmented_sort_bytes(Gpu::State& gpu, std::span<const std::byte> keys,
                                        std::span<const std::byte> values,
                                        std::span<const std::uint32_t> offsets,
                                        SegmentedSortDesc desc) {
    const auto counted = take_count(keys, values, desc, desc.argsort ? kArgsortMakesValues : "");
    if (!counted) return tl::unexpected(counted.error());
    if (const auto right = detail::check_offsets(offsets, desc.max_count, "keys"); !right)
        return tl::unexpected(right.error());
    const std::uint64_t value_bytes = desc.argsort ? sizeof(std::uint32_t) : desc.value_bytes;
    SortResult result;
    result.keys.assign(desc.argsort ? 0 : keys.size(), std::byte{});
    result.values.assign(desc.max_count * value_bytes, std::byte{});
    const auto ran = detail::plan_and_run(gpu, desc, plan_segmented_sort,
                                          {.input = keys,
                                           .values = values,
                                           .offsets = std::as_bytes(offsets),
                                           .output = result.keys,
                                           .values_out = result.values},
                                          result.report);
    if (!ran) return tl::unexpected(ran.error());
    return result;
}

template <class T>
Result<std::vector<T>> segmented_sort_typed(Gpu& gpu, std::span<const T> keys,
                                            std::span<const std::uint32_t> offsets,
                                            SortOrder order) {
    return without_throwing("sorting", [&]() -> Result<std::vector<T>> {
        auto sorted = gpu.segmented_sort(std::as_bytes(keys), {}, offsets,
                                         {.key = detail::scalar_of<T>(), .order = order});
        if (!sorted) return tl::unexpected(sorted.error());
        return values_of<T>(sorted->keys);
    });
}

Result<SplitResult> split_bytes(Gpu::State& gpu, std::span<const std::byte> keys,
                                std::span<const std::byte> values, SplitDesc desc) {
    const auto counted =
        take_count(keys, values, desc, desc.indices ? ": indices are values already" : "");
    if (!counted) return tl::unexpected(counted.error());
    // Says what is wrong with bits before they say how many offsets there are.
    if (const auto plan = plan_split(gpu.host->caps(), desc); !plan)
        return tl::unexpected(plan.error());
    const std::uint32_t end_bit = desc.end_bit.value_or(size_of(desc.key) * 8);
    const std::uint64_t value_bytes = desc.indices ? sizeof(std::uint32_t) : desc.value_bytes;
    SplitResult result;
    result.keys.assign(keys.size(), std::byte{});
    result.values.assign(desc.max_count * value_bytes, std::byte{});
    result.offsets.assign((std::size_t{1} << (end_bit - desc.begin_bit)) + 1, 0);
    const auto ran =
        detail::plan_and_run(gpu, desc, plan_split,
                             {.input = keys,
                              .values = values,
                              .output = result.keys,
                              .values_out = result.values,
                              .offsets_out = std::as_writable_bytes(std::span(result.offsets))},
                             result.report);
    if (!ran) return tl::unexpected(ran.error());
    return result;
}

}  // namespace

Result<SortResult> Gpu::sort(std::span<const std::byte> keys, std::span<const std::byte> values,
                             SortDesc desc) {
    return without_throwing("sorting", [&] { return sort_bytes(*state_, keys, values, desc); });
}

Result<std::vector<std::uint32_t>> Gpu::sort(std::span<const std::uint32_t> keys, SortOrder order) {
    return sort_typed(*this, keys, order);
}
Result<std::vector<std::int32_t>> Gpu::sort(std::span<const std::int32_t> keys, SortOrder order) {
    return sort_typed(*this, keys, order);
}
Result<std::vector<float>> Gpu::sort(std::span<const float> keys, SortOrder order) {
    return sort_typed(*this, keys, order);
}
Result<std::vector<std::uint64_t>> Gpu::sort(std::span<const std::uint64_t> keys, SortOrder order) {
    return sort_typed(*this, keys, order);
}
Result<std::vector<std::int64_t>> Gpu::sort(std::span<const std::int64_t> keys, SortOrder order) {
    return sort_typed(*this, keys, order);
}
Result<std::vector<double>> Gpu::sort(std::span<const double> keys, SortOrder order) {
    return sort_typed(*this, keys, order);
}

Result<std::vector<std::uint32_t>> Gpu::argsort(std::span<const std::uint32_t> keys,
                                                SortOrder order) {
    return argsort_typed(*this, keys, order);
}
Result<std::vector<std::uint32_t>> Gpu::argsort(std::span<const std::int32_t> keys,
                                                SortOrder order) {
    return argsort_typed(*this, keys, order);
}
Result<std::vector<std::uint32_t>> Gpu::argsort(std::span<const float> keys, SortOrder order) {
    return argsort_typed(*this, keys, order);
}
Result<std::vector<std::uint32_t>> Gpu::argsort(std::span<const std::uint64_t> keys,
                                                SortOrder order) {
    return argsort_typed(*this, keys, order);
}
Result<std::vector<std::uint32_t>> Gpu::argsort(std::span<const std::int64_t> keys,
                                                SortOrder order) {
    return argsort_typed(*this, keys, order);
}
Result<std::vector<std::uint32_t>> Gpu::argsort(std::span<const double> keys, SortOrder order) {
    return argsort_typed(*this, keys, order);
}

Result<SortResult> Gpu::segmented_sort(std::span<const std::byte> keys,
                                       std::span<const std::byte> values,
                                       std::span<const std::uint32_t> offsets,
                                       SegmentedSortDesc desc) {
    return without_throwing(
        "sorting", [&] { return segmented_sort_bytes(*state_, keys, values, offsets, desc); });
}

Result<std::vector<std::uint32_t>> Gpu::segmented_sort(std::span<const std::uint32_t> keys,
                                                       std::span<const std::uint32_t> offsets,
                                                       SortOrder order) {
    return segmented_sort_typed(*this, keys, offsets, order);
}
Result<std::vector<std::int32_t>> Gpu::segmented_sort(std::span<const std::int32_t> keys,
                                                      std::span<const std::uint32_t> offsets,
                                                      SortOrder order) {
    return segmented_sort_typed(*this, keys, offsets, order);
}
Result<std::vector<float>> Gpu::segmented_sort(std::span<const float> keys,
                                               std::span<const std::uint32_t> offsets,
                                               SortOrder order) {
    return segmented_sort_typed(*this, keys, offsets, order);
}
Result<std::vector<std::uint64_t>> Gpu::segmented_sort(std::span<const std::uint64_t> keys,
                                                       std::span<const std::uint32_t> offsets,
                                                       SortOrder order) {
    return segmented_sort_typed(*this, keys, offsets, order);
}
Result<std::vector<std::int64_t>> Gpu::segmented_sort(std::span<const std::int64_t> keys,
                                                      std::span<const std::uint32_t> offsets,
                                                      SortOrder order) {
    return segmented_sort_typed(*this, keys, offsets, order);
}
Result<std::vector<double>> Gpu::segmented_sort(std::span<const double> keys,
                                                std::span<const std::uint32_t> offsets,
                                                SortOrder order) {
    return segmented_sort_typed(*this, keys, offsets, order);
}

Result<SplitResult> Gpu::split(std::span<const std::byte> keys, std::span<const std::byte> values,
                               SplitDesc desc) {
    return without_throwing("splitting", [&] { return split_bytes(*state_, keys, values, desc); });
}

}  // namespace lanewise
