// scan for `lanewise bench`.
#include "bench/array_workload.hpp"
#include "lanewise/scan.hpp"
#include "primitives/scan/scan_forced.hpp"
#include "primitives/scan/scan_reference.hpp"

namespace lanewise::bench {
namespace {

class ScanWorkload final : public ArrayWorkload {
public:
    ScanWorkload(Session& session, const Request& request) : ArrayWorkload(session, request) {
        desc_.element = request.element;
        desc_.op = request.op;
        desc_.kind = request.kind;
        desc_.accumulator = request.accumulator;
        desc_.determinism = request.determinism;
    }

    void describe(Section& section) const override {
        section.kind = to_text(desc_.kind);
        section.accumulator = to_text(scan_accumulator(desc_));
        section.item_bytes = size_of(desc_.element) + scan_result_bytes(desc_);
        section.limit = Limit::copy;
    }

    Result<Case> prepare(std::uint64_t count, std::optional<Tier> tier,
                         const std::string& strategy) override {
        ScanDesc desc = desc_;
        desc.max_count = count;
        desc.tier = tier;
        if (!strategy.empty()) {
            auto policy = scan_policy_with(caps(), desc, *scan_strategy_from_text(strategy));
            if (!policy) return tl::unexpected(policy.error());
            desc.policy = *policy;
        }
        auto plan = plan_scan(caps(), desc);
        if (!plan) return tl::unexpected(plan.error());
        const auto matches = [desc, used = *plan](std::span<const std::byte> data,
                                                  const Outputs& outputs, std::string& why) {
            return scan_matches(desc, data, outputs.output, &why, &used);
        };
        return make_case(*std::move(plan), count, count * scan_result_bytes(desc), matches);
    }

private:
    ScanDesc desc_;
};

Result<std::unique_ptr<Workload>> open_scan(Session& session, const Request& request) {
    auto workload = std::make_unique<ScanWorkload>(session, request);
    if (const auto done = workload->upload(); !done) return tl::unexpected(done.error());
    return workload;
}

}  // namespace

const Primitive scan_primitive{
    "scan",
    open_scan,
    {to_text(ScanStrategy::one_workgroup), to_text(ScanStrategy::reduce_then_scan),
     to_text(ScanStrategy::look_back), to_text(ScanStrategy::reduce_ahead)}};

}  // namespace lanewise::bench
