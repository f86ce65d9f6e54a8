// select, computed serially on the CPU: what every tier, strategy and API must answer. Used by the
// tests and by `--verify`, so it stands on the public headers alone.
//
//   flags_to_kept(flag_bits, flags, count)      which items the flags keep
//   select_reference(desc, items, values, kept)  what goes where
//   select_matches(desc, items, values, ...)     whether a device's answer is right: bit for bit,
//                                                and where any order will do, as sets
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "lanewise/select.hpp"

namespace lanewise {

// Whether each item is kept: 1 or 0. (Not std::vector<bool>, which cannot be a span.)
using Kept = std::vector<std::uint8_t>;

// Precondition: `flags` has flag_bits of each of `count` items.
inline Kept flags_to_kept(std::uint32_t flag_bits, std::span<const std::byte> flags,
                          std::size_t count) {
    Kept kept(count);
    for (std::size_t i = 0; i < count; ++i) {
        if (flag_bits == 1) {
            kept[i] = static_cast<std::uint8_t>(flags[i / 8] >> (i % 8)) & 1;
            continue;
        }
        const std::size_t bytes = flag_bits / 8;
        for (const std::byte byte : flags.subspan(i * bytes, bytes))
            if (byte != std::byte{0}) kept[i] = 1;
    }
    return kept;
}

// What a select gives, as many bytes as are written.
struct Selected {
    std::vector<std::byte> items;
    std::vector<std::byte> values;  // or the indices
    std::vector<std::byte> rejected;
    std::uint64_t count = 0;  // of what is kept, whatever the capacity
};

inline std::uint32_t select_element_bytes(const SelectDesc& desc) {
    return desc.predicate ? bytes_of(desc.predicate->element) : size_of(desc.element);
}
inline std::uint32_t select_value_bytes(const SelectDesc& desc) {
    return desc.indices ? 4 : desc.value_bytes;
}

namespace select_reference_detail {

// Items one after the other, in the order of their indices there.
inline std::vector<std::byte> gather(std::span<const std::byte> from, std::size_t size,
                                     std::span<const std::uint32_t> order) {
    std::vector<std::byte> to(order.size() * size);
    for (std::size_t i = 0; i < order.size() && size > 0; ++i)
        std::memcpy(to.data() + i * size, from.data() + order[i] * size, size);
    return to;
}

// One line where they differ; empty: they do not.
inline std::string first_difference(const char* name, std::size_t size,
                                    std::span<const std::byte> expected,
                                    std::span<const std::byte> is) {
    if (is.size() != expected.size())
        return fmt::format("{} bytes of {}s, not {}", is.size(), name, expected.size());
    const auto at = std::ranges::mismatch(is, expected).in1;
    if (at == is.end()) return {};
    const std::size_t i = static_cast<std::size_t>(at - is.begin()) / size;
    const auto digits = [&](std::span<const std::byte> from) {
        std::string text;
        for (std::size_t byte = size; byte-- > 0;)
            text += fmt::format("{:02x}", static_cast<unsigned>(from[i * size + byte]));
        return text;
    };
    return fmt::format("{} {} is 0x{}, not 0x{}", name, i, digits(is), digits(expected));
}

// Each item with its value, sorted: what is left of them when the order does not count.
inline std::vector<std::vector<std::byte>> as_set(std::span<const std::byte> items,
                                                  std::size_t item_bytes,
                                                  std::span<const std::byte> values,
                                                  std::size_t value_bytes, std::size_t count) {
    std::vector<std::vector<std::byte>> records(count);
    for (std::size_t i = 0; i < count; ++i) {
        const auto item = items.subspan(i * item_bytes, item_bytes);
        const auto value = values.subspan(i * value_bytes, value_bytes);
        records[i].assign(item.begin(), item.end());
        records[i].insert(records[i].end(), value.begin(), value.end());
    }
    std::ranges::sort(records);
    return records;
}

}  // namespace select_reference_detail

// Preconditions: plan_select accepts desc on some device; as many values as items.
inline Selected select_reference(const SelectDesc& desc, std::span<const std::byte> items,
                                 std::span<const std::byte> values,
                                 std::span<const std::uint8_t> kept) {
    namespace detail = select_reference_detail;
    std::vector<std::uint32_t> first, others;
    for (std::size_t i = 0; i < kept.size(); ++i)
        (kept[i] != 0 ? first : others).push_back(static_cast<std::uint32_t>(i));
    const std::size_t item_bytes = select_element_bytes(desc);
    Selected selected;
    selected.count = first.size();
    if (desc.rest == SelectRest::rejected)
        selected.rejected = detail::gather(items, item_bytes, others);
    if (desc.rest == SelectRest::after) first.insert(first.end(), others.begin(), others.end());
    if (desc.capacity && *desc.capacity < first.size())
        first.resize(static_cast<std::size_t>(*desc.capacity));
    if (desc.items) selected.items = detail::gather(items, item_bytes, first);
    if (desc.indices) {
        const auto bytes = std::as_bytes(std::span(first));
        selected.values.assign(bytes.begin(), bytes.end());
    } else {
        selected.values = detail::gather(values, desc.value_bytes, first);
    }
    return selected;
}

// Whether that is so; if not, `why` (may be null) gets one line that says where it first differs.
inline bool select_matches(const SelectDesc& desc, std::span<const std::byte> items,
                           std::span<const std::byte> values, std::span<const std::uint8_t> kept,
                           const Selected& is, std::string* why = nullptr) {
    namespace detail = select_reference_detail;
    const std::size_t item_bytes = select_element_bytes(desc);
    const std::size_t value_bytes = select_value_bytes(desc);
    const std::size_t written_bytes = desc.items ? item_bytes : 0;
    const auto differs = [&](std::string difference) {
        if (why != nullptr) *why = std::move(difference);
        return false;
    };
    const Selected expected = select_reference(desc, items, values, kept);
    if (is.count != expected.count)
        return differs(fmt::format("{} items are kept, not {}", is.count, expected.count));
    if (desc.order == SelectOrder::input) {
        for (const std::string& difference :
             {detail::first_difference("item", item_bytes, expected.items, is.items),
              detail::first_difference(desc.indices ? "index" : "value",
                                       std::max<std::size_t>(1, value_bytes), expected.values,
                                       is.values),
              detail::first_difference("rejected item", item_bytes, expected.rejected,
                                       is.rejected)}) {
            if (!difference.empty()) return differs(difference);
        }
        return true;
    }
    // Any order: as many as fit, each of them one that is kept, none twice.
    if (is.items.size() != expected.items.size() || is.values.size() != expected.values.size())
        return differs(fmt::format("{} bytes of items and {} of values, not {} and {}",
                                   is.items.size(), is.values.size(), expected.items.size(),
                                   expected.values.size()));
    SelectDesc all = desc;
    all.capacity.reset();
    const Selected every = select_reference(all, items, values, kept);
    const std::size_t count = std::min<std::size_t>(
        static_cast<std::size_t>(desc.capacity.value_or(every.count)), every.count);
    if (!std::ranges::includes(
            detail::as_set(every.items, written_bytes, every.values, value_bytes, every.count),
            detail::as_set(is.items, written_bytes, is.values, value_bytes, count)))
        return differs(
            "an item, or one with its value, is none of those that are kept, or is there "
            "too often");
    if (!std::ranges::equal(
            detail::as_set(expected.rejected, item_bytes, {}, 0,
                           expected.rejected.size() / item_bytes),
            detail::as_set(is.rejected, item_bytes, {}, 0, is.rejected.size() / item_bytes)))
        return differs("the rejected items are not those that are not kept");
    return true;
}

}  // namespace lanewise
