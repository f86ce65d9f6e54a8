// Gpu::select and Gpu::partition.

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "src/gpu/gpu_run.hpp"

namespace lanewise {

namespace {

using detail::values_of;
using detail::without_throwing;

tl::unexpected<Error> bad(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, std::move(message), nullptr});
}

Result<SelectResult> select_bytes(Gpu::State& gpu, std::span<const std::byte> items,
                                  std::span<const std::byte> flags,
                                  std::span<const std::byte> values, SelectDesc desc) {
    const std::uint64_t item_bytes =
        desc.predicate ? bytes_of(desc.predicate->element) : size_of(desc.element);
    if (item_bytes == 0) return bad("the predicate's element has no fields");
    if (items.size() % item_bytes != 0)
        return bad(fmt::format("{} bytes are no whole number of items of {} bytes", items.size(),
                               item_bytes));
    desc.max_count = items.size() / item_bytes;
    const std::uint64_t flag_bytes = desc.predicate ? 0 : (desc.max_count * desc.flag_bits + 7) / 8;
    if (flags.size() != flag_bytes) {
        return bad(
            fmt::format("{} bytes of flags where {} items{} take {}", flags.size(), desc.max_count,
                        desc.predicate ? std::string(" with a predicate")
                                       : fmt::format(" with flags of {} bits", desc.flag_bits),
                        flag_bytes));
    }
    if (values.size() != desc.max_count * desc.value_bytes) {
        return bad(fmt::format("{} bytes of values where {} items with {} bytes each take {}{}",
                               values.size(), desc.max_count, desc.value_bytes,
                               desc.max_count * desc.value_bytes,
                               desc.indices ? ": indices are made here" : ""));
    }
    // How many are kept is not known yet: room for as many as there may be.
    const std::uint64_t room = std::min(desc.capacity.value_or(desc.max_count), desc.max_count);
    const std::uint64_t value_bytes = desc.indices ? sizeof(std::uint32_t) : desc.value_bytes;
    SelectResult result;
    if (desc.items) result.items.assign(room * item_bytes, std::byte{});
    result.values.assign(room * value_bytes, std::byte{});
    if (desc.rest == SelectRest::rejected) result.rejected.assign(items.size(), std::byte{});
    std::uint32_t kept = 0;
    const auto ran =
        detail::plan_and_run(gpu, desc, plan_select,
                             {.input = items,
                              .values = values,
                              .flags = flags,
                              .output = result.items,
                              .values_out = result.values,
                              .rejected = result.rejected,
                              .count_out = std::as_writable_bytes(std::span(&kept, 1))},
                             result.report);
    if (!ran) return tl::unexpected(ran.error());
    result.count = kept;
    const std::uint64_t written =
        desc.rest == SelectRest::after ? desc.max_count : std::min<std::uint64_t>(kept, room);
    if (desc.items) result.items.resize(written * item_bytes);
    result.values.resize(written * value_bytes);
    if (desc.rest == SelectRest::rejected)
        result.rejected.resize((desc.max_count - kept) * item_bytes);
    return result;
}

// By a predicate, or by flags where `keep` is empty.
template <class T>
Result<Partitioned<T>> select_typed(Gpu& gpu, std::span<const T> items,
                                    std::optional<std::string_view> keep,
                                    std::span<const std::uint8_t> flags, SelectRest rest) {
    return without_throwing("selecting", [&]() -> Result<Partitioned<T>> {
        SelectDesc desc{.element = detail::scalar_of<T>(), .rest = rest};
        if (keep)
            desc.predicate =
                CustomPredicate{.element = {{desc.element, 1, ""}}, .keep = std::string(*keep)};
        auto selected = gpu.select(std::as_bytes(items), std::as_bytes(flags), {}, desc);
        if (!selected) return tl::unexpected(selected.error());
        return Partitioned<T>{values_of<T>(selected->items), selected->count};
    });
}

template <class T>
Result<std::vector<T>> kept_of(Result<Partitioned<T>> selected) {
    if (!selected) return tl::unexpected(selected.error());
    return std::move(selected->items);
}

}  // namespace

Result<SelectResult> Gpu::select(std::span<const std::byte> items, std::span<const std::byte> flags,
                                 std::span<const std::byte> values, SelectDesc desc) {
    return without_throwing("selecting",
                            [&] { return select_bytes(*state_, items, flags, values, desc); });
}

Result<std::vector<std::uint32_t>> Gpu::select(std::span<const std::uint32_t> items,
                                               std::string_view keep) {
    return kept_of(select_typed(*this, items, keep, {}, SelectRest::dropped));
}
Result<std::vector<std::int32_t>> Gpu::select(std::span<const std::int32_t> items,
                                              std::string_view keep) {
    return kept_of(select_typed(*this, items, keep, {}, SelectRest::dropped));
}
Result<std::vector<float>> Gpu::select(std::span<const float> items, std::string_view keep) {
    return kept_of(select_typed(*this, items, keep, {}, SelectRest::dropped));
}
Result<std::vector<std::uint64_t>> Gpu::select(std::span<const std::uint64_t> items,
                                               std::string_view keep) {
    return kept_of(select_typed(*this, items, keep, {}, SelectRest::dropped));
}
Result<std::vector<std::int64_t>> Gpu::select(std::span<const std::int64_t> items,
                                              std::string_view keep) {
    return kept_of(select_typed(*this, items, keep, {}, SelectRest::dropped));
}
Result<std::vector<double>> Gpu::select(std::span<const double> items, std::string_view keep) {
    return kept_of(select_typed(*this, items, keep, {}, SelectRest::dropped));
}

Result<std::vector<std::uint32_t>> Gpu::select(std::span<const std::uint32_t> items,
                                               std::span<const std::uint8_t> flags) {
    return kept_of(select_typed(*this, items, std::nullopt, flags, SelectRest::dropped));
}
Result<std::vector<std::int32_t>> Gpu::select(std::span<const std::int32_t> items,
                                              std::span<const std::uint8_t> flags) {
    return kept_of(select_typed(*this, items, std::nullopt, flags, SelectRest::dropped));
}
Result<std::vector<float>> Gpu::select(std::span<const float> items,
                                       std::span<const std::uint8_t> flags) {
    return kept_of(select_typed(*this, items, std::nullopt, flags, SelectRest::dropped));
}
Result<std::vector<std::uint64_t>> Gpu::select(std::span<const std::uint64_t> items,
                                               std::span<const std::uint8_t> flags) {
    return kept_of(select_typed(*this, items, std::nullopt, flags, SelectRest::dropped));
}
Result<std::vector<std::int64_t>> Gpu::select(std::span<const std::int64_t> items,
                                              std::span<const std::uint8_t> flags) {
    return kept_of(select_typed(*this, items, std::nullopt, flags, SelectRest::dropped));
}
Result<std::vector<double>> Gpu::select(std::span<const double> items,
                                        std::span<const std::uint8_t> flags) {
    return kept_of(select_typed(*this, items, std::nullopt, flags, SelectRest::dropped));
}

Result<Partitioned<std::uint32_t>> Gpu::partition(std::span<const std::uint32_t> items,
                                                  std::string_view keep) {
    return select_typed(*this, items, keep, {}, SelectRest::after);
}
Result<Partitioned<std::int32_t>> Gpu::partition(std::span<const std::int32_t> items,
                                                 std::string_view keep) {
    return select_typed(*this, items, keep, {}, SelectRest::after);
}
Result<Partitioned<float>> Gpu::partition(std::span<const float> items, std::string_view keep) {
    return select_typed(*this, items, keep, {}, SelectRest::after);
}
Result<Partitioned<std::uint64_t>> Gpu::partition(std::span<const std::uint64_t> items,
                                                  std::string_view keep) {
    return select_typed(*this, items, keep, {}, SelectRest::after);
}
Result<Partitioned<std::int64_t>> Gpu::partition(std::span<const std::int64_t> items,
                                                 std::string_view keep) {
    return select_typed(*this, items, keep, {}, SelectRest::after);
}
Result<Partitioned<double>> Gpu::partition(std::span<const double> items, std::string_view keep) {
    return select_typed(*this, items, keep, {}, SelectRest::after);
}

Result<Partitioned<std::uint32_t>> Gpu::partition(std::span<const std::uint32_t> items,
                                                  std::span<const std::uint8_t> flags) {
    return select_typed(*this, items, std::nullopt, flags, SelectRest::after);
}
Result<Partitioned<std::int32_t>> Gpu::partition(std::span<const std::int32_t> items,
                                                 std::span<const std::uint8_t> flags) {
    return select_typed(*this, items, std::nullopt, flags, SelectRest::after);
}
Result<Partitioned<float>> Gpu::partition(std::span<const float> items,
                                          std::span<const std::uint8_t> flags) {
    return select_typed(*this, items, std::nullopt, flags, SelectRest::after);
}
Result<Partitioned<std::uint64_t>> Gpu::partition(std::span<const std::uint64_t> items,
                                                  std::span<const std::uint8_t> flags) {
    return select_typed(*this, items, std::nullopt, flags, SelectRest::after);
}
Result<Partitioned<std::int64_t>> Gpu::partition(std::span<const std::int64_t> items,
                                                 std::span<const std::uint8_t> flags) {
    return select_typed(*this, items, std::nullopt, flags, SelectRest::after);
}
Result<Partitioned<double>> Gpu::partition(std::span<const double> items,
                                           std::span<const std::uint8_t> flags) {
    return select_typed(*this, items, std::nullopt, flags, SelectRest::after);
}

}  // namespace lanewise
