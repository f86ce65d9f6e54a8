// Gpu::sort and Gpu::argsort.

#include <fmt/format.h>

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

Result<SortResult> sort_bytes(Gpu::State& gpu, std::span<const std::byte> keys,
                              std::span<const std::byte> values, SortDesc desc) {
    const std::uint64_t key_bytes = size_of(desc.key);
    if (keys.size() % key_bytes != 0) {
        return bad(fmt::format("{} bytes are no whole number of {}: {} bytes each", keys.size(),
                               to_text(desc.key), key_bytes));
    }
    desc.max_count = keys.size() / key_bytes;
    if (values.size() != desc.max_count * desc.value_bytes) {
        return bad(fmt::format("{} bytes of values where {} keys with {} bytes each take {}{}",
                               values.size(), desc.max_count, desc.value_bytes,
                               desc.max_count * desc.value_bytes,
                               desc.argsort ? ": argsort makes its own" : ""));
    }
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

}  // namespace lanewise
