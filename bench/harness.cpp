#include "bench/harness.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>

#include "bench/data.hpp"

namespace lanewise::bench {

namespace {

// Uses in one submit, so many that what surrounds them (the first stamp, the queue waking up) does
// not count; CUB's side has the same (bench/peers). CPU drivers have less to wake up.
std::uint32_t uses_of(std::uint64_t count, bool cpu_device) {
    if (count <= std::uint64_t{1} << 22) return cpu_device ? 20 : 100;
    return count <= std::uint64_t{1} << 26 ? 20 : 3;
}
// Odd, for a median that was measured.
constexpr std::uint32_t kSubmits = 9;
// A GPU idles at a fraction of its clock and takes its time to leave that.
constexpr std::chrono::milliseconds kWarmUpOfGpu{500};
constexpr std::chrono::milliseconds kWarmUpOfCpu{20};
// One submit stays well below the watchdogs of desktops.
constexpr std::chrono::milliseconds kLongSubmit{500};

Result<std::unique_ptr<Backend>> make_backend(const GpuOptions& options) {
    if (options.api != Api::webgpu) return make_vulkan_backend(options);
#ifdef LANEWISE_HAS_WEBGPU
    return make_webgpu_backend(options);
#else
    return tl::unexpected(
        Error{ErrorCode::unsupported, "WebGPU is not in this build of the tool", nullptr});
#endif
}

}  // namespace

Session::Session(std::unique_ptr<Backend> backend) : backend_(std::move(backend)) {}

Result<Session> Session::create(const GpuOptions& options) {
    auto backend = make_backend(options);
    if (!backend) return tl::unexpected(backend.error());
    return Session(std::move(*backend));
}

Machine Session::machine() const {
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return {backend_->name(), backend_->type(),
            fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)), caps()};
}

Result<Timing> Session::time(const Use& use, std::uint64_t count) {
    Timing timing;
    timing.uses = uses_of(count, caps().cpu_device);
    timing.submits = kSubmits;
    timing.host_clock = !backend_->has_clock();
    if (const auto done = backend_->load(use, timing.uses); !done) {
        return tl::unexpected(done.error());
    }
    const auto warm_up = caps().cpu_device ? kWarmUpOfCpu : kWarmUpOfGpu;
    const auto start = std::chrono::steady_clock::now();
    do {
        const auto submit_start = std::chrono::steady_clock::now();
        if (const auto spent = backend_->time(); !spent) return tl::unexpected(spent.error());
        const auto spent = std::chrono::steady_clock::now() - submit_start;
        if (spent > kLongSubmit && timing.uses > 1) {
            // A slow device: what surrounds the uses is nothing beside them.
            timing.uses = 1;
            if (const auto done = backend_->load(use, 1); !done) {
                return tl::unexpected(done.error());
            }
        }
    } while (std::chrono::steady_clock::now() - start < warm_up);

    std::vector<double> times;
    for (std::uint32_t i = 0; i < timing.submits; ++i) {
        const auto spent = backend_->time();
        if (!spent) return tl::unexpected(spent.error());
        times.push_back(*spent / timing.uses);
    }
    std::ranges::sort(times);
    timing.nanoseconds = times[times.size() / 2];
    timing.best = times.front();
    timing.worst = times.back();
    return timing;
}

std::span<const Primitive* const> primitives() {
    static constexpr const Primitive* kAll[] = {&reduce_primitive, &scan_primitive,
                                                &sort_primitive,   &top_k_primitive,
                                                &select_primitive, &histogram_primitive};
    return kAll;
}

namespace {

// Fills in the row.
Result<void> measure_row(Session& session, Workload& workload, const Section& section, Row& row) {
    auto prepared = workload.prepare(row.count, row.tier, row.strategy);
    if (!prepared) {
        // This device, this size, this strategy: the others may still work.
        const ErrorCode code = prepared.error().code;
        const bool ends = code == ErrorCode::device_lost ||
                          (code == ErrorCode::bad_argument && row.strategy.empty());
        if (ends) return tl::unexpected(prepared.error());
        row.note = prepared.error().message;
        return {};
    }
    row.bytes = row.count * section.item_bytes;
    row.plan = prepared->plan;
    if (const auto done = prepared->poison(); !done) return done;
    if (const auto done = session.backend().run(*prepared->use); !done) return done;
    std::string why;
    auto right = prepared->check(why);
    if (!right) return tl::unexpected(right.error());
    if (!*right) {
        row.wrong = true;
        row.note = fmt::format("wrong at {}: {}", row.count, why);
        return {};
    }
    auto timing = session.time(*prepared->use, row.count);
    if (!timing) return tl::unexpected(timing.error());
    // Timed uses must have been right ones, too.
    right = prepared->check(why);
    if (!right) return tl::unexpected(right.error());
    if (*right) {
        row.timing = *timing;
    } else {
        row.wrong = true;
        row.note = fmt::format("wrong at {} after {} uses: {}", row.count,
                               timing->uses * timing->submits, why);
    }
    return {};
}

}  // namespace

Result<Section> measure(Session& session, const Primitive& primitive, const Request& request,
                        const Show& show) {
    auto workload = primitive.open(session, request);
    if (!workload) return tl::unexpected(workload.error());
    Section section;
    section.primitive = primitive.name;
    section.op = to_text(request.op);
    section.element = to_text(request.element);
    (*workload)->describe(section);

    std::vector<std::uint64_t> bytes;
    for (const std::uint64_t count : request.sizes) bytes.push_back(limit_bytes(section, count));
    auto limits = measure_limits(session, bytes, show);
    if (!limits) return tl::unexpected(limits.error());
    section.limits = std::move(*limits);

    std::vector<std::string> strategies{""};
    if (request.strategies) {
        strategies.insert(strategies.end(), primitive.strategies.begin(),
                          primitive.strategies.end());
    }
    for (const std::uint64_t count : request.sizes) {
        for (const std::string& strategy : strategies) {
            for (const auto& tier : request.tiers) {
                show(fmt::format("{} of {} {}, {}{}{}", primitive.name, count_to_text(count),
                                 section.element, strategy, strategy.empty() ? "" : ", ",
                                 tier ? to_text(*tier) : "planner's choice"));
                Row row;
                row.count = count;
                row.strategy = strategy;
                row.tier = tier;
                const auto done = measure_row(session, **workload, section, row);
                if (!done) return tl::unexpected(done.error());
                section.rows.push_back(std::move(row));
            }
        }
    }
    return section;
}

}  // namespace lanewise::bench
