// top_k for `lanewise bench`: keys and indices.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/array_workload.hpp"
#include "lanewise/top_k.hpp"
#include "primitives/sort/sort_reference.hpp"
#include "src/core/arithmetic.hpp"

namespace lanewise::bench {
namespace {

// What comes before is the lesser: images turned over for descending orders, then indices.
using Item = std::pair<std::uint64_t, std::uint32_t>;

// The first k of all, without a sort of all: the k best so far in a heap, the worst on top.
std::vector<Item> first_items(const TopKDesc& desc, std::span<const std::byte> data) {
    const std::size_t size = size_of(desc.key);
    const std::size_t count = data.size() / size;
    const std::size_t k = static_cast<std::size_t>(std::min<std::uint64_t>(desc.k, count));
    std::vector<Item> best;
    for (std::size_t i = 0; i < count && k != 0; ++i) {
        const std::uint64_t image =
            sort_image(desc.key, sort_reference_detail::bits_at(data, size, i));
        const Item item{desc.order == SortOrder::descending ? ~image : image,
                        static_cast<std::uint32_t>(i)};
        if (best.size() == k) {
            if (item > best.front()) continue;
            std::ranges::pop_heap(best);
            best.pop_back();
        }
        best.push_back(item);
        std::ranges::push_heap(best);
    }
    std::ranges::sort(best);
    return best;
}

bool are_first(const TopKDesc& desc, std::span<const std::byte> data,
               std::span<const std::byte> keys, std::span<const std::byte> indices,
               std::string& why) {
    const std::size_t size = size_of(desc.key);
    const std::vector<Item> expected = first_items(desc, data);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        std::uint32_t index = 0;
        std::memcpy(&index, indices.data() + i * sizeof index, sizeof index);
        const bool right =
            index == expected[i].second &&
            std::memcmp(keys.data() + i * size, data.data() + index * size, size) == 0;
        if (right) continue;
        why = fmt::format("index {} of {} is {}, not {}, or its key is another", i, expected.size(),
                          index, expected[i].second);
        return false;
    }
    return true;
}

class TopKWorkload final : public ArrayWorkload {
public:
    TopKWorkload(Session& session, const Request& request) : ArrayWorkload(session, request) {
        desc_.key = request.element;
        desc_.k = request.k;
        desc_.indices = true;
    }

    void describe(Section& section) const override {
        // Of select: a reading for each digit, one for the sums, one to gather.
        TopKDesc desc = desc_;
        desc.max_count = std::uint64_t{1} << 20;
        const std::uint32_t bits = top_k_policy(caps(), desc, Tier::barrier).digit_bits;
        const std::uint32_t key_bytes = size_of(desc_.key);
        const auto digits = static_cast<std::uint32_t>(detail::divide_up(8 * key_bytes, bits));
        section.kind = to_text(desc_.order);
        section.op = fmt::format("{} keys", desc_.k);
        section.accumulator = fmt::format("{} and indices", section.element);
        section.item_bytes = key_bytes * (digits + 2);
        section.limit = Limit::read;
    }

    Result<Case> prepare(std::uint64_t count, std::optional<Tier> tier,
                         const std::string& strategy) override {
        TopKDesc desc = desc_;
        desc.max_count = count;
        desc.tier = tier;
        auto plan = plan_top_k(caps(), desc);
        if (plan && !strategy.empty()) {
            desc.policy = top_k_policy(caps(), desc, plan->tier);
            desc.policy->strategy = *top_k_strategy_from_text(strategy);
            plan = plan_top_k(caps(), desc);
        }
        if (!plan) return tl::unexpected(plan.error());
        const auto matches = [desc](std::span<const std::byte> data, const Outputs& outputs,
                                    std::string& why) {
            return are_first(desc, data, outputs.output, outputs.values, why);
        };
        const std::uint64_t results = std::min(desc.k, count);
        return make_case(*std::move(plan), count, results * size_of(desc.key), matches);
    }

private:
    TopKDesc desc_;
};

Result<std::unique_ptr<Workload>> open_top_k(Session& session, const Request& request) {
    auto workload = std::make_unique<TopKWorkload>(session, request);
    if (const auto done = workload->upload(); !done) return tl::unexpected(done.error());
    return workload;
}

}  // namespace

const Primitive top_k_primitive{
    "top_k", open_top_k, {to_text(TopKStrategy::one_workgroup), to_text(TopKStrategy::select)}};

}  // namespace lanewise::bench
