// select for `lanewise bench`: half of the items, by a predicate.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "bench/array_workload.hpp"
#include "lanewise/select.hpp"

namespace lanewise::bench {
namespace {

// The upper half of all bit patterns.
bool is_kept(std::uint32_t item) { return item >= 0x80000000u; }
constexpr const char* kKeep = "x >= 0x80000000u";

bool matches(std::span<const std::byte> data, std::span<const std::byte> output,
             std::uint32_t count, std::string& why) {
    std::uint32_t kept = 0;
    for (std::size_t i = 0; i < data.size() / sizeof(std::uint32_t); ++i) {
        std::uint32_t item = 0;
        std::memcpy(&item, data.data() + i * sizeof item, sizeof item);
        if (!is_kept(item)) continue;
        if (std::memcmp(output.data() + kept * sizeof item, &item, sizeof item) != 0) {
            why = fmt::format("output {} is not item {}", kept, i);
            return false;
        }
        ++kept;
    }
    if (kept == count) return true;
    why = fmt::format("{} items are kept, {} are counted", kept, count);
    return false;
}

class SelectWorkload final : public ArrayWorkload {
public:
    SelectWorkload(Session& session, const Request& request) : ArrayWorkload(session, request) {}

    void describe(Section& section) const override {
        section.op = "half kept";
        section.accumulator = section.element;
        section.item_bytes = 6;  // read whole, half of it written
        section.limit = Limit::copy;
    }

    Result<Case> prepare(std::uint64_t count, std::optional<Tier> tier,
                         const std::string& strategy) override {
        if (request().element != Scalar::u32) {
            return tl::unexpected(Error{
                ErrorCode::unsupported,
                fmt::format("bench select has items of u32, not {}", to_text(request().element)),
                nullptr});
        }
        SelectDesc desc;
        desc.predicate = CustomPredicate{"upper_half", {{Scalar::u32, 1, ""}}, kKeep};
        desc.max_count = count;
        desc.tier = tier;
        desc.order =
            strategy == to_text(SelectStrategy::append) ? SelectOrder::any : SelectOrder::input;
        auto plan = plan_select(caps(), desc);
        if (plan && !strategy.empty()) {
            desc.policy = select_policy(caps(), desc, plan->tier);
            desc.policy->strategy = *select_strategy_from_text(strategy);
            if (desc.policy->strategy != SelectStrategy::count_ahead) desc.policy->ahead = 0;
            plan = plan_select(caps(), desc);
        }
        if (!plan) return tl::unexpected(plan.error());
        const auto check = [order = desc.order](std::span<const std::byte> data,
                                                const Outputs& outputs, std::string& why) {
            if (order == SelectOrder::input)
                return matches(data, outputs.output, *outputs.count, why);
            return matches_in_any_order(data, outputs, why);
        };
        return make_case(*std::move(plan), count, count * sizeof(std::uint32_t), check);
    }

private:
    // Items differ from one another, and their sum and number tell.
    static bool matches_in_any_order(std::span<const std::byte> data, const Outputs& outputs,
                                     std::string& why) {
        const auto add = [](std::span<const std::byte> bytes, std::uint64_t& sum) {
            std::uint32_t kept = 0;
            for (std::size_t i = 0; i < bytes.size() / sizeof(std::uint32_t); ++i) {
                std::uint32_t item = 0;
                std::memcpy(&item, bytes.data() + i * sizeof item, sizeof item);
                if (!is_kept(item)) continue;
                sum += std::uint64_t{item} * item;
                ++kept;
            }
            return kept;
        };
        std::uint64_t expected = 0;
        std::uint64_t found = 0;
        const std::uint32_t kept = add(data, expected);
        const bool counted = kept == *outputs.count;
        if (counted) {
            const auto bytes = std::span(outputs.output).first(kept * sizeof(std::uint32_t));
            if (add(bytes, found) == kept && found == expected) return true;
        }
        why = counted ? "the items kept are others"
                      : fmt::format("{} items are kept, {} are counted", kept, *outputs.count);
        return false;
    }
};

Result<std::unique_ptr<Workload>> open_select(Session& session, const Request& request) {
    auto workload = std::make_unique<SelectWorkload>(session, request);
    if (const auto done = workload->upload(); !done) return tl::unexpected(done.error());
    return workload;
}

}  // namespace

const Primitive select_primitive{
    "select",
    open_select,
    {to_text(SelectStrategy::one_workgroup), to_text(SelectStrategy::count_then_scatter),
     to_text(SelectStrategy::look_back), to_text(SelectStrategy::append)}};

}  // namespace lanewise::bench
