// sort for `lanewise bench`.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "bench/array_workload.hpp"
#include "lanewise/sort.hpp"
#include "primitives/sort/sort_reference.hpp"

namespace lanewise::bench {
namespace {

template <class Word>
Word word_at(std::span<const std::byte> bytes, std::uint64_t i) {
    Word word;
    std::memcpy(&word, bytes.data() + i * sizeof word, sizeof word);
    return word;
}

// Without the reference's own sort, which takes longer than all else: the keys are in order, their
// bits have the sums that the input's have, and each value names the item whose key stands there,
// equal keys in the order of their items.
template <class Word>
bool check_sorted(const SortDesc& desc, std::span<const std::byte> data,
                  std::span<const std::byte> keys, std::span<const std::byte> values,
                  std::string& why) {
    const std::uint64_t count = data.size() / sizeof(Word);
    const std::uint64_t value_words = desc.value_bytes / 4;
    const auto image = [&](Word key) { return sort_image(desc.key, key); };
    std::uint64_t sum = 0, squares = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::uint64_t in = word_at<Word>(data, i), out = word_at<Word>(keys, i);
        sum += in - out;
        squares += in * in - out * out;
        const auto last = i == 0 ? Word{} : word_at<Word>(keys, i - 1);
        if (i != 0 && image(last) > image(word_at<Word>(keys, i))) {
            why = fmt::format("key {} of {} is below the one before it", i, count);
            return false;
        }
        for (std::uint64_t word = 0; word < value_words; ++word) {
            const auto item = word_at<std::uint32_t>(values, i * value_words + word);
            const bool behind = i == 0 || last != word_at<Word>(keys, i) ||
                                word_at<std::uint32_t>(values, (i - 1) * value_words) < item;
            if (item >= count || word_at<Word>(data, item) != out || !behind) {
                why = fmt::format("value {} of {} is {}", i, count, item);
                return false;
            }
        }
    }
    if (sum != 0 || squares != 0) why = fmt::format("{} keys are no longer the input's", count);
    return sum == 0 && squares == 0;
}

bool is_sorted(const SortDesc& desc, std::span<const std::byte> data,
               std::span<const std::byte> keys, std::span<const std::byte> values,
               std::string& why) {
    switch (size_of(desc.key)) {
        case 1: return check_sorted<std::uint8_t>(desc, data, keys, values, why);
        case 2: return check_sorted<std::uint16_t>(desc, data, keys, values, why);
        case 4: return check_sorted<std::uint32_t>(desc, data, keys, values, why);
        default: return check_sorted<std::uint64_t>(desc, data, keys, values, why);
    }
}

class SortWorkload final : public ArrayWorkload {
public:
    SortWorkload(Session& session, const Request& request) : ArrayWorkload(session, request) {
        desc_.key = request.element;
        desc_.value_bytes = request.value_bytes;
    }

    void describe(Section& section) const override {
        // One reading for the digits' counts; each pass of 8 bits reads and writes all.
        const std::uint32_t key_bytes = size_of(desc_.key);
        section.kind = to_text(desc_.order);
        section.op = desc_.value_bytes == 0 ? "keys" : "pairs";
        section.accumulator =
            desc_.value_bytes == 0
                ? section.element
                : fmt::format("{} and {} bytes", section.element, desc_.value_bytes);
        section.item_bytes = key_bytes + key_bytes * 2 * (key_bytes + desc_.value_bytes);
        section.limit = Limit::copy;
    }

    Result<Case> prepare(std::uint64_t count, std::optional<Tier> tier,
                         const std::string& strategy) override {
        SortDesc desc = desc_;
        desc.max_count = count;
        desc.tier = tier;
        auto plan = plan_sort(caps(), desc);
        if (plan && !strategy.empty()) {
            desc.policy = sort_policy(caps(), desc, plan->tier);
            desc.policy->strategy = *sort_strategy_from_text(strategy);
            // Which takes no other numbers of items than powers of two.
            if (desc.policy->strategy == SortStrategy::bitonic)
                desc.policy->items = std::bit_floor(std::max(2u, desc.policy->items));
            plan = plan_sort(caps(), desc);
        }
        if (!plan) return tl::unexpected(plan.error());
        const auto matches = [desc](std::span<const std::byte> data, const Outputs& outputs,
                                    std::string& why) {
            return is_sorted(desc, data, outputs.output, outputs.values, why);
        };
        return make_case(*std::move(plan), count, count * size_of(desc.key), matches);
    }

private:
    SortDesc desc_;
};

Result<std::unique_ptr<Workload>> open_sort(Session& session, const Request& request) {
    auto workload = std::make_unique<SortWorkload>(session, request);
    if (const auto done = workload->upload(); !done) return tl::unexpected(done.error());
    return workload;
}

}  // namespace

const Primitive sort_primitive{
    "sort",
    open_sort,
    {to_text(SortStrategy::one_workgroup), to_text(SortStrategy::count_then_scatter),
     to_text(SortStrategy::look_back), to_text(SortStrategy::bitonic)}};

}  // namespace lanewise::bench
