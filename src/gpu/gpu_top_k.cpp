// Gpu::top_k.

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

Result<TopKResult> top_k_bytes(Gpu::State& gpu, std::span<const std::byte> keys,
                               std::span<const std::byte> values, TopKDesc desc) {
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
                               desc.indices ? ": indices are made here" : ""));
    }
    const std::uint64_t results = std::min(desc.k, desc.max_count);
    const std::uint64_t value_bytes = desc.indices ? sizeof(std::uint32_t) : desc.value_bytes;
    TopKResult result;
    result.keys.assign(results * key_bytes, std::byte{});
    result.values.assign(results * value_bytes, std::byte{});
    const auto ran = detail::plan_and_run(
        gpu, desc, plan_top_k,
        {.input = keys, .values = values, .output = result.keys, .values_out = result.values},
        result.report);
    if (!ran) return tl::unexpected(ran.error());
    return result;
}

template <class T>
Result<std::vector<T>> top_k_typed(Gpu& gpu, std::span<const T> keys, std::uint64_t k,
                                   SortOrder order) {
    return without_throwing("selecting", [&]() -> Result<std::vector<T>> {
        auto first = gpu.top_k(std::as_bytes(keys), {},
                               {.key = detail::scalar_of<T>(), .k = k, .order = order});
        if (!first) return tl::unexpected(first.error());
        return values_of<T>(first->keys);
    });
}

}  // namespace

Result<TopKResult> Gpu::top_k(std::span<const std::byte> keys, std::span<const std::byte> values,
                              TopKDesc desc) {
    return without_throwing("selecting", [&] { return top_k_bytes(*state_, keys, values, desc); });
}

Result<std::vector<std::uint32_t>> Gpu::top_k(std::span<const std::uint32_t> keys, std::uint64_t k,
                                              SortOrder order) {
    return top_k_typed(*this, keys, k, order);
}
Result<std::vector<std::int32_t>> Gpu::top_k(std::span<const std::int32_t> keys, std::uint64_t k,
                                             SortOrder order) {
    return top_k_typed(*this, keys, k, order);
}
Result<std::vector<float>> Gpu::top_k(std::span<const float> keys, std::uint64_t k,
                                      SortOrder order) {
    return top_k_typed(*this, keys, k, order);
}
Result<std::vector<std::uint64_t>> Gpu::top_k(std::span<const std::uint64_t> keys, std::uint64_t k,
                                              SortOrder order) {
    return top_k_typed(*this, keys, k, order);
}
Result<std::vector<std::int64_t>> Gpu::top_k(std::span<const std::int64_t> keys, std::uint64_t k,
                                             SortOrder order) {
    return top_k_typed(*this, keys, k, order);
}
Result<std::vector<double>> Gpu::top_k(std::span<const double> keys, std::uint64_t k,
                                       SortOrder order) {
    return top_k_typed(*this, keys, k, order);
}

}  // namespace lanewise
