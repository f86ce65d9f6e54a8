// sort, computed serially on the CPU: what every tier, strategy and API must answer. Used by the
// tests, by `--verify` and by the benchmark, so it stands on the public headers alone.
//
//   sort_reference(desc, keys, values)             keys and values in order
//   sort_matches(desc, keys, values, ...)          whether a device's answer is right: bit for bit
//
// A stable sort by the part of a key that counts: the key as an unsigned number in the keys' order,
// cut down to its bits [begin_bit, end_bit).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/operators.hpp"
#include "lanewise/sort.hpp"

namespace lanewise {

struct Sorted {
    std::vector<std::byte> keys;    // none with argsort
    std::vector<std::byte> values;  // with argsort the indices, as u32
};

inline std::uint32_t sort_value_bytes(const SortDesc& desc) {
    return desc.argsort ? 4 : desc.value_bytes;
}

// The bits of a key as an unsigned number: the lesser key has the lesser number. Negative floats
// have all bits flipped, so that the larger magnitude is the lesser; of all others the sign bit is.
inline std::uint64_t sort_image(Scalar key, std::uint64_t bits) {
    const std::uint64_t top = std::uint64_t{1} << (size_of(key) * 8 - 1);
    const std::uint64_t mask = top | (top - 1);
    if (is_float(key)) return ((bits & top) != 0 ? ~bits : bits | top) & mask;
    return is_signed_integer(key) ? bits ^ top : bits;
}

// Of that number the bits that count.
inline std::uint64_t sort_part(const SortDesc& desc, std::uint64_t bits) {
    const std::uint32_t end = desc.end_bit.value_or(size_of(desc.key) * 8);
    const std::uint32_t width = end - desc.begin_bit;
    if (width == 0) return 0;
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
    return sort_image(desc.key, bits) >> desc.begin_bit & mask;
}

namespace sort_reference_detail {

inline std::uint64_t bits_at(std::span<const std::byte> keys, std::size_t size, std::size_t index) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, keys.data() + index * size, size);  // little-endian: the low bytes
    return bits;
}

inline std::vector<std::byte> gather(std::span<const std::byte> from, std::size_t size,
                                     std::span<const std::uint32_t> order) {
    std::vector<std::byte> to(order.size() * size);
    for (std::size_t i = 0; i < order.size() && size != 0; ++i)
        std::memcpy(to.data() + i * size, from.data() + order[i] * size, size);
    return to;
}

inline std::string hex(std::span<const std::byte> bytes) {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text = "0x";
    for (std::size_t i = bytes.size(); i-- > 0;) {
        text += kDigits[std::to_integer<unsigned>(bytes[i]) >> 4];
        text += kDigits[std::to_integer<unsigned>(bytes[i]) & 15];
    }
    return text;
}

// Where `output` first differs from `expected`, in items of `size` bytes; empty: nowhere.
inline std::string first_difference(const char* what, std::size_t size,
                                    std::span<const std::byte> expected,
                                    std::span<const std::byte> output) {
    if (output.size() != expected.size()) {
        return std::string("the ") + what + "s have " + std::to_string(output.size()) +
               " bytes, not " + std::to_string(expected.size());
    }
    const auto found = std::ranges::mismatch(expected, output).in1;
    if (found == expected.end()) return {};
    const std::size_t item = static_cast<std::size_t>(found - expected.begin()) / size;
    return std::string(what) + ' ' + std::to_string(item) + " of " +
           std::to_string(expected.size() / size) + " is " +
           hex(output.subspan(item * size, size)) + ", not " +
           hex(expected.subspan(item * size, size));
}

}  // namespace sort_reference_detail

// The order of the whole keys in `keys`, as indices. Precondition: fewer than 2^32 of them.
inline std::vector<std::uint32_t> sort_order(const SortDesc& desc,
                                             std::span<const std::byte> keys) {
    const std::size_t size = size_of(desc.key);
    const std::size_t count = keys.size() / size;
    struct Item {
        std::uint64_t part;
        std::uint32_t index;
    };
    std::vector<Item> items(count);
    for (std::size_t i = 0; i < count; ++i) {
        items[i] = {sort_part(desc, sort_reference_detail::bits_at(keys, size, i)),
                    static_cast<std::uint32_t>(i)};
    }
    if (desc.order == SortOrder::ascending) {
        std::ranges::stable_sort(items, std::less(), &Item::part);
    } else {
        std::ranges::stable_sort(items, std::greater(), &Item::part);
    }
    std::vector<std::uint32_t> order(count);
    std::ranges::transform(items, order.begin(), &Item::index);
    return order;
}

// Precondition: plan_sort accepts desc on some device; as many values as keys.
inline Sorted sort_reference(const SortDesc& desc, std::span<const std::byte> keys,
                             std::span<const std::byte> values = {}) {
    namespace detail = sort_reference_detail;
    const std::vector<std::uint32_t> order = sort_order(desc, keys);
    if (desc.argsort) {
        const auto bytes = std::as_bytes(std::span(order));
        return {{}, {bytes.begin(), bytes.end()}};
    }
    return {detail::gather(keys, size_of(desc.key), order),
            detail::gather(values, desc.value_bytes, order)};
}

// Whether that is what `keys` and `values` are in order; if not, `why` (may be null) gets one line
// that says where it first differs.
inline bool sort_matches(const SortDesc& desc, std::span<const std::byte> keys,
                         std::span<const std::byte> values, std::span<const std::byte> keys_out,
                         std::span<const std::byte> values_out, std::string* why = nullptr) {
    namespace detail = sort_reference_detail;
    const Sorted expected = sort_reference(desc, keys, values);
    std::string difference =
        detail::first_difference("key", size_of(desc.key), expected.keys, keys_out);
    if (difference.empty()) {
        difference = detail::first_difference(desc.argsort ? "index" : "value",
                                              std::max(1u, sort_value_bytes(desc)), expected.values,
                                              values_out);
    }
    if (difference.empty()) return true;
    if (why != nullptr) *why = std::move(difference);
    return false;
}

}  // namespace lanewise
