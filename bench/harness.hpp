// Runs benchmarks: verifies first, then times many uses between two timestamps on the device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/backend.hpp"
#include "bench/report.hpp"
#include "lanewise/gpu.hpp"
#include "lanewise/scan.hpp"

namespace lanewise::bench {

// A device of our own, probed, and a stop-watch on it.
class Session {
public:
    static Result<Session> create(const GpuOptions& options);

    Backend& backend() const { return *backend_; }
    const Caps& caps() const { return backend_->caps(); }
    Machine machine() const;

    // Times a use, repeated, after a warm-up by time: many times with up to 2^22 items, few with
    // more. Precondition: a use leaves its memory as the next expects it.
    Result<Timing> time(const Use& use, std::uint64_t count);

private:
    explicit Session(std::unique_ptr<Backend> backend);
    std::unique_ptr<Backend> backend_;
};

struct Request {
    std::vector<std::uint64_t> sizes;        // items, ascending
    std::vector<std::optional<Tier>> tiers;  // none: the planner's choice
    Scalar element = Scalar::u32;
    Operator op = Operator::sum;
    std::optional<Scalar> accumulator;
    Determinism determinism = Determinism::run_to_run;
    ScanKind kind = ScanKind::exclusive;
    std::uint32_t value_bytes = 0;  // of a sort
    std::uint64_t k = 100;          // of a top_k
    bool one_bin = false;           // of a histogram: all samples alike, instead of hashed
    bool strategies = false;        // also each strategy of a primitive, with all else as planned
};

// A primitive at one size and tier, ready to run.
struct Case {
    Plan plan;
    std::unique_ptr<Use> use;
    // Whether the output, as the last run left it, is right; if not, `why` says what was expected.
    std::function<Result<bool>(std::string& why)> check;
    // Makes sure that the next check sees what the next run writes.
    std::function<Result<void>()> poison;
};

// A primitive with its input on the device, for all sizes of a request.
class Workload {
public:
    virtual ~Workload() = default;
    // Fills in what the request left open: kind, accumulator, item_bytes, limit.
    virtual void describe(Section& section) const = 0;
    // An empty strategy: the planner's choice.
    virtual Result<Case> prepare(std::uint64_t count, std::optional<Tier> tier,
                                 const std::string& strategy) = 0;
};

struct Primitive {
    const char* name;
    Result<std::unique_ptr<Workload>> (*open)(Session& session, const Request& request);
    std::vector<std::string> strategies;
};

// Each is defined in its primitive's folder, <name>_bench.cpp.
extern const Primitive reduce_primitive;
extern const Primitive scan_primitive;
extern const Primitive sort_primitive;
extern const Primitive top_k_primitive;
extern const Primitive histogram_primitive;
extern const Primitive select_primitive;
std::span<const Primitive* const> primitives();

// A plan, which no planner makes, for a kernel of bench_kernels.txt: one pass from input to output.
struct BenchKernel {
    std::string pass;     // "copy"
    std::string variant;  // "barrier.none"
    Form form = Form::barrier;
    std::uint32_t workgroup_size = 256;
    std::uint32_t tile_items = 4096;
    std::uint32_t max_groups = 65535;
    bool one_tile_per_group = false;
    std::uint32_t workgroup_memory = 0;
    std::uint32_t barriers = 0;
};
// By device address where the input is too large for a descriptor. count: u32 or f32 items.
Plan bench_plan(const Caps& caps, const BenchKernel& kernel, std::uint64_t count,
                std::uint64_t output_bytes);

using Show = std::function<void(const std::string&)>;  // what is being done, for a progress line

// The limits of the machine at these sizes, in bytes of input. A limit that cannot be measured is
// left out, with a note.
Result<std::vector<LimitRow>> measure_limits(Session& session,
                                             const std::vector<std::uint64_t>& bytes,
                                             const Show& show);

// Errors end the benchmark; a tier that a device does not have, and a wrong result, are rows.
Result<Section> measure(Session& session, const Primitive& primitive, const Request& request,
                        const Show& show);

}  // namespace lanewise::bench
