// reduce for `lanewise bench`.
#include "bench/array_workload.hpp"
#include "lanewise/reduce.hpp"
#include "primitives/reduce/reduce_reference.hpp"

namespace lanewise::bench {
namespace {

class ReduceWorkload final : public ArrayWorkload {
public:
    ReduceWorkload(Session& session, const Request& request) : ArrayWorkload(session, request) {
        desc_.element = request.element;
        desc_.op = request.op;
        desc_.accumulator = request.accumulator;
        desc_.determinism = request.determinism;
    }

    void describe(Section& section) const override {
        section.accumulator = to_text(reduce_accumulator(desc_));
        section.item_bytes = size_of(desc_.element);
        section.limit = Limit::read;
    }

    Result<Case> prepare(std::uint64_t count, std::optional<Tier> tier,
                         const std::string& strategy) override {
        ReduceDesc desc = desc_;
        desc.max_count = count;
        desc.tier = tier;
        auto plan = plan_reduce(caps(), desc);
        if (plan && !strategy.empty()) {
            desc.policy = reduce_policy(caps(), desc, plan->tier);
            desc.policy->strategy = *reduce_strategy_from_text(strategy);
            plan = plan_reduce(caps(), desc);
        }
        if (!plan) return tl::unexpected(plan.error());
        const std::uint64_t depth = reduce_depth(*plan, count);
        return make_case(*std::move(plan), count, reduce_result_bytes(desc),
                         [desc, depth](std::span<const std::byte> data, const Outputs& outputs,
                                       std::string& why) {
                             return reduce_matches(desc, data, outputs.output, &why, depth);
                         });
    }

private:
    ReduceDesc desc_;
};

Result<std::unique_ptr<Workload>> open_reduce(Session& session, const Request& request) {
    auto workload = std::make_unique<ReduceWorkload>(session, request);
    if (const auto done = workload->upload(); !done) return tl::unexpected(done.error());
    return workload;
}

}  // namespace

const Primitive reduce_primitive{
    "reduce",
    open_reduce,
    {to_text(ReduceStrategy::one_workgroup), to_text(ReduceStrategy::last_workgroup),
     to_text(ReduceStrategy::two_pass), to_text(ReduceStrategy::arrival_sum)}};

}  // namespace lanewise::bench
