// histogram for `lanewise bench`: 256 bins, samples that are spread evenly or all alike.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "bench/array_workload.hpp"
#include "bench/data.hpp"
#include "lanewise/histogram.hpp"
#include "primitives/histogram/histogram_reference.hpp"

namespace lanewise::bench {
namespace {

class HistogramWorkload final : public ArrayWorkload {
public:
    HistogramWorkload(Session& session, const Request& request) : ArrayWorkload(session, request) {
        desc_.sample = request.element;
        if (is_float(request.element)) desc_.range = HistogramRange{-1.0, 1.0};
    }

    Result<void> upload_data() {
        const std::uint64_t count = std::ranges::max(request().sizes);
        if (!request().one_bin) return upload();
        const std::size_t size = size_of(desc_.sample);
        const std::vector<std::byte> some = hashed_data(desc_.sample, 2);
        std::vector<std::byte> data(static_cast<std::size_t>(count) * size);
        for (std::size_t at = 0; at < data.size(); at += size)
            std::memcpy(data.data() + at, some.data() + size, size);
        return upload(std::move(data));
    }

    void describe(Section& section) const override {
        section.kind = request().one_bin ? "one_bin" : "uniform";
        section.op = "256 bins";
        section.accumulator = to_text(Scalar::u32);
        section.item_bytes = size_of(desc_.sample);
        section.limit = Limit::read;
    }

    Result<Case> prepare(std::uint64_t count, std::optional<Tier> tier,
                         const std::string& strategy) override {
        HistogramDesc desc = desc_;
        desc.max_count = count;
        desc.tier = tier;
        if (!strategy.empty()) {
            desc.policy = histogram_policy(caps(), desc);
            desc.policy->strategy = *histogram_strategy_from_text(strategy);
        }
        auto plan = plan_histogram(caps(), desc);
        if (!plan) return tl::unexpected(plan.error());
        const auto matches = [desc](std::span<const std::byte> data, const Outputs& outputs,
                                    std::string& why) {
            std::vector<std::uint32_t> counts(outputs.output.size() / 4);
            std::memcpy(counts.data(), outputs.output.data(), outputs.output.size());
            return histogram_matches(desc, data, counts, &why);
        };
        const std::uint64_t output_bytes = plan->argument(Role::output)->bytes;
        return make_case(*std::move(plan), count, output_bytes, matches);
    }

private:
    HistogramDesc desc_;
};

Result<std::unique_ptr<Workload>> open_histogram(Session& session, const Request& request) {
    auto workload = std::make_unique<HistogramWorkload>(session, request);
    if (const auto done = workload->upload_data(); !done) return tl::unexpected(done.error());
    return workload;
}

}  // namespace

const Primitive histogram_primitive{
    "histogram",
    open_histogram,
    {to_text(HistogramStrategy::one_workgroup), to_text(HistogramStrategy::last_workgroup),
     to_text(HistogramStrategy::two_pass), to_text(HistogramStrategy::global)}};

}  // namespace lanewise::bench
