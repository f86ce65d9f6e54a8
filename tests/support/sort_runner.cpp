#include "tests/support/sort_runner.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace lanewise::test {
namespace {

std::string text(const Error& error) {
    return std::string(to_text(error.code)) + ": " + error.message;
}

std::uint64_t mask_of(Scalar key) { return ~std::uint64_t{0} >> (64 - 8 * size_of(key)); }

// The key whose image is `image`.
std::uint64_t from_image(Scalar key, std::uint64_t image) {
    const std::uint64_t mask = mask_of(key), top = mask ^ (mask >> 1);
    image &= mask;
    if (is_float(key)) return (image & top) != 0 ? image ^ top : ~image & mask;
    return is_signed_integer(key) ? image ^ top : image;
}

// Items as byte strings, in some order that only depends on which there are.
std::vector<std::string> bag_of(std::span<const std::byte> keys, std::size_t key_bytes,
                                std::span<const std::byte> values, std::size_t value_bytes,
                                std::size_t count) {
    std::vector<std::string> items(count);
    for (std::size_t i = 0; i < count; ++i) {
        items[i].resize(key_bytes + value_bytes);
        if (key_bytes != 0) std::memcpy(items[i].data(), keys.data() + i * key_bytes, key_bytes);
        if (value_bytes != 0) {
            std::memcpy(items[i].data() + key_bytes, values.data() + i * value_bytes, value_bytes);
        }
    }
    std::ranges::sort(items);
    return items;
}

std::string hex(const std::string& item) {
    return sort_reference_detail::hex(std::as_bytes(std::span(item)));
}

// No item is lost and none is made up, whatever their order.
void expect_permutation(const SortDesc& desc, std::span<const std::byte> keys,
                        std::span<const std::byte> values, const Sorted& sorted,
                        std::size_t count) {
    const std::size_t key_bytes = desc.argsort ? 0 : size_of(desc.key);
    const std::size_t value_bytes = sort_value_bytes(desc);
    std::vector<std::uint32_t> numbers(desc.argsort ? count : 0);
    for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
    if (desc.argsort) values = std::as_bytes(std::span(numbers));
    const auto before = bag_of(keys, key_bytes, values, value_bytes, count);
    const auto after = bag_of(sorted.keys, key_bytes, sorted.values, value_bytes, count);
    const auto [here, there] = std::ranges::mismatch(before, after);
    if (here == before.end()) return;
    const std::string what = *here < *there ? hex(*here) + " is lost" : hex(*there) + " is made up";
    ADD_FAILURE() << "no permutation of " << count << " items (key below value): " << what;
}

// Each part of a key at least, or at most, that of the one before; of equal keys the later one
// stood later, where the values are indices.
void expect_order(const SortDesc& desc, std::span<const std::byte> keys, const Sorted& sorted,
                  std::size_t count) {
    namespace detail = sort_reference_detail;
    const std::size_t size = size_of(desc.key);
    std::uint64_t before = 0;
    std::uint32_t index_before = 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t part = 0;
        std::uint32_t index = 0;
        if (desc.argsort) {
            index = static_cast<std::uint32_t>(detail::bits_at(sorted.values, 4, i));
            if (index >= count) return;  // which is no permutation
            part = sort_part(desc, detail::bits_at(keys, size, index));
        } else {
            part = sort_part(desc, detail::bits_at(sorted.keys, size, i));
        }
        const bool falls = part<before, rises = part> before;
        if (i != 0 && (desc.order == SortOrder::ascending ? falls : rises)) {
            ADD_FAILURE() << "out of order: item " << i << " of " << count << ", parts " << std::hex
                          << before << " and " << part;
            return;
        }
        if (i != 0 && desc.argsort && part == before && index < index_before) {
            ADD_FAILURE() << "not stable: item " << i << " of " << count << ", indices "
                          << index_before << " and " << index;
            return;
        }
        before = part;
        index_before = index;
    }
}

}  // namespace

SortRunner::SortRunner(TestDevice& device, const SortDesc& desc)
    : SortRunner(device, desc, device.caps()) {}

SortRunner::SortRunner(TestDevice& device, const SortDesc& desc, const Caps& caps) : desc_(desc) {
    auto plan = plan_sort(caps, desc);
    if (!plan) {
        ADD_FAILURE() << "no plan: " << text(plan.error());
        return;
    }
    EXPECT_EQ(plan->tier, desc.tier.value_or(plan->tier)) << "not the tier that was asked for";
    EXPECT_EQ(plan->value_bytes, sort_value_bytes(desc));
    EXPECT_EQ(plan->argument(Role::output) == nullptr, desc.argsort);
    EXPECT_TRUE(desc.ping_pong || plan->result == Role::output);
    runner_.emplace(device, *std::move(plan));
}

SortRunner::SortRunner(TestDevice& device, const SortDesc& desc, Plan plan) : desc_(desc) {
    EXPECT_EQ(plan.tier, desc.tier.value_or(plan.tier)) << "not the tier that was asked for";
    EXPECT_EQ(plan.value_bytes, sort_value_bytes(desc));
    runner_.emplace(device, std::move(plan));
}

std::optional<Sorted> SortRunner::run(std::span<const std::byte> keys,
                                      std::span<const std::byte> values,
                                      const RunOptions& options) {
    if (!*this) return std::nullopt;
    const std::size_t key_bytes = size_of(desc_.key);
    const std::size_t value_bytes =
        plan().argument(Role::values) != nullptr ? desc_.value_bytes : 0;
    const std::uint64_t count = keys.size() / key_bytes;
    EXPECT_EQ(values.size(), count * value_bytes);

    // Past the data: keys that go to the front, and values that are none of those given.
    const auto with_more = [&](std::span<const std::byte> given, Role role, std::size_t size,
                               auto&& hostile) {
        const std::size_t bound = runner_->bound_bytes(role, count, options.count_in_buffer);
        std::vector<std::byte> all(std::max(given.size(), bound));
        std::ranges::copy(given, all.begin());
        // A range of WebGPU may end within a value.
        for (std::size_t at = given.size(); at < all.size(); at += size) {
            const std::uint64_t bits = hostile(at / size);
            std::memcpy(all.data() + at, &bits, std::min({size, sizeof bits, all.size() - at}));
        }
        return all;
    };
    const std::uint64_t first = desc_.order == SortOrder::ascending ? 0 : ~std::uint64_t{0};
    const std::vector<std::byte> keys_before = with_more(
        keys, Role::input, key_bytes, [&](std::size_t) { return from_image(desc_.key, first); });
    std::vector<std::byte> values_before;
    if (value_bytes != 0) {
        values_before = with_more(values, Role::values, value_bytes,
                                  [](std::size_t i) { return hash(0xdead, i); });
    }
    RunResult result = runner_->run_with_values(keys_before, values_before, count, options);
    offsets_ = std::move(result.offsets);
    if (::testing::Test::HasFatalFailure()) return std::nullopt;

    const std::uint64_t items =
        options.count_in_buffer ? std::min(options.count_value.value_or(count), plan().max_count)
                                : count;
    // What the items' results are, once it is seen that nothing stands behind them.
    const auto taken =
        [&](const std::vector<std::byte>& after, Role role, std::size_t size,
            const std::vector<std::byte>& before) -> std::optional<std::vector<std::byte>> {
        const std::size_t expected = runner_->bound_bytes(role, count, options.count_in_buffer);
        const std::size_t used = static_cast<std::size_t>(items) * size;
        if (after.size() != expected || used > expected) {
            // What went wrong has been said, unless nothing did.
            EXPECT_TRUE(after.empty())
                << to_text(role) << " has " << after.size() << " bytes, not " << expected;
            return std::nullopt;
        }
        for (std::size_t i = used; i < after.size(); ++i) {
            if (i < before.size() && after[i] == before[i]) continue;
            ADD_FAILURE() << to_text(role) << ": item " << i / size << " is written, though only "
                          << items << " count";
            break;
        }
        return std::vector<std::byte>(after.begin(),
                                      after.begin() + static_cast<std::ptrdiff_t>(used));
    };
    // By ping-pong the result may be in the input; behind it is what was there.
    const bool in_input = plan().result == Role::input;
    Sorted sorted;
    if (plan().argument(Role::output) != nullptr) {
        auto made = taken(result.output, in_input ? Role::input : Role::output, key_bytes,
                          in_input ? keys_before : poison(result.output.size()));
        if (!made) return std::nullopt;
        sorted.keys = *std::move(made);
    }
    if (sort_value_bytes(desc_) != 0) {
        auto made = taken(result.values_out, in_input ? Role::values : Role::values_out,
                          sort_value_bytes(desc_),
                          in_input ? values_before : poison(result.values_out.size()));
        if (!made) return std::nullopt;
        sorted.values = *std::move(made);
    }
    return sorted;
}

void expect_sorted(const SortDesc& desc, std::span<const std::byte> keys,
                   std::span<const std::byte> values, const Sorted& sorted) {
    const std::size_t key_bytes = size_of(desc.key);
    const std::size_t count =
        desc.argsort ? sorted.values.size() / 4 : sorted.keys.size() / key_bytes;
    ASSERT_GE(keys.size(), count * key_bytes);
    keys = keys.first(count * key_bytes);
    if (!desc.argsort) {
        ASSERT_GE(values.size(), count * desc.value_bytes);
        values = values.first(count * desc.value_bytes);
        ASSERT_EQ(sorted.values.size(), values.size());
    }
    expect_permutation(desc, keys, values, sorted, count);
    expect_order(desc, keys, sorted, count);
    std::string why;
    EXPECT_TRUE(sort_matches(desc, keys, values, sorted.keys, sorted.values, &why)) << why;
}

void SortRunner::expect_right(std::span<const std::byte> keys, std::span<const std::byte> values,
                              const RunOptions& options) {
    const auto sorted = run(keys, values, options);
    if (!sorted) return;
    // A count in the buffer that is below the number of keys: fewer of them are sorted.
    expect_sorted(desc_, keys, values, *sorted);
}

void SortRunner::expect_right_with_values(std::span<const std::byte> keys, std::uint64_t seed,
                                          const RunOptions& options) {
    expect_right(keys, make_sort_values(desc_, keys.size() / size_of(desc_.key), seed), options);
}

const char* to_text(SortData data) {
    switch (data) {
        case SortData::hashed: return "hashed";
        case SortData::few: return "few";
        case SortData::equal: return "equal";
        case SortData::sorted: return "sorted";
        case SortData::reversed: return "reversed";
        case SortData::special: return "special";
    }
    return "";
}

Elements make_sort_keys(const SortDesc& desc, std::size_t count, std::uint64_t seed,
                        SortData data) {
    const Scalar key = desc.key;
    const std::uint64_t mask = mask_of(key), top = mask ^ (mask >> 1);
    const std::uint64_t payload =
        is_float(key) ? infinity_bits(key, false) : mask >> 4;  // NaN from here on
    Elements keys(key, count);
    // Images that rise as i does; each comes up a few times.
    const auto rising = [&](std::size_t i) {
        const std::uint64_t levels = std::min<std::uint64_t>(mask, count / 3 + 1);
        const std::uint64_t level = i * levels / count;
        return from_image(key, mask / levels * level + (mask / levels > 1 ? seed % 2 : 0));
    };
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t h = hash(seed, i);
        std::uint64_t bits = h;
        switch (data) {
            case SortData::hashed: break;
            case SortData::few: bits = hash(seed ^ 0xfe3, h % 12); break;
            case SortData::equal: bits = seed % 3 == 0 ? mask : hash(seed); break;
            case SortData::sorted: bits = rising(i); break;
            case SortData::reversed: bits = rising(count - 1 - i); break;
            case SortData::special:
                switch (h % 10) {
                    case 0:
                    case 1: bits = mask; break;
                    case 2: bits = 0; break;
                    case 3: bits = top; break;
                    case 4: bits = top - 1; break;
                    case 5: bits = payload | (h >> 32) % 4; break;
                    case 6: bits = top | payload | (h >> 32) % 4; break;
                    case 7: bits = (h >> 32) % 4; break;
                    case 8: bits = top | (h >> 32) % 4; break;
                    default: break;
                }
                break;
        }
        keys.set(i, bits & mask);
    }
    return keys;
}

std::vector<std::byte> make_sort_values(const SortDesc& desc, std::size_t count,
                                        std::uint64_t seed) {
    std::vector<std::uint32_t> words(count * desc.value_bytes / 4);
    const std::size_t per_value = desc.value_bytes / 4;
    for (std::size_t i = 0; i < words.size(); ++i) {
        const std::size_t value = i / per_value;
        // An odd factor: the first words are all distinct. The others tell which one they are.
        words[i] = i % per_value == 0
                       ? static_cast<std::uint32_t>(value * 0x9e3779b1u + seed)
                       : static_cast<std::uint32_t>(hash(seed + i % per_value, value));
    }
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

bool is_possible(const Caps& caps, const SortDesc& desc) {
    const auto plan = plan_sort(caps, desc);
    if (plan) return true;
    EXPECT_EQ(plan.error().code, ErrorCode::unsupported) << plan.error().message;
    return false;
}

}  // namespace lanewise::test
