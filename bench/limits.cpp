// The limits of a machine: how fast a kernel can read, and copy, at each size.
#include <fmt/format.h>

#include <algorithm>

#include "bench/data.hpp"
#include "bench/harness.hpp"

namespace lanewise::bench {

namespace {

constexpr std::uint32_t kItemBytes = 4;
// Many workgroups of little work each, and few of much: which is faster depends on device and size,
// and the limit is the faster.
constexpr std::uint32_t kMaxGroups[] = {64, 1024, 1u << 20};

struct LimitKernel {
    const char* pass;
    bool copies;
};
constexpr LimitKernel kRead{"read", false};
constexpr LimitKernel kCopy{"copy", true};

class LimitBench {
public:
    LimitBench(Session& session, std::uint64_t most_bytes)
        : session_(session), most_bytes_(most_bytes) {}

    Result<void> prepare() {
        for (std::unique_ptr<Memory>* memory : {&input_, &output_}) {
            auto made = session_.backend().make_memory(most_bytes_);
            if (!made) return tl::unexpected(made.error());
            *memory = std::move(*made);
        }
        data_ = hashed_data(Scalar::u32, most_bytes_ / kItemBytes);
        return session_.backend().upload(*input_, data_);
    }

    Result<Timing> measure(const LimitKernel& kernel, std::uint64_t bytes) {
        const std::uint64_t count = bytes / kItemBytes;
        std::optional<Timing> best;
        std::uint32_t last_groups = 0;
        for (const std::uint32_t max_groups : kMaxGroups) {
            BenchKernel description{.pass = kernel.pass, .variant = "barrier.none"};
            description.max_groups = std::min(max_groups, session_.caps().limits.max_groups_x);
            const Plan plan = bench_plan(session_.caps(), description, count, bytes);
            const std::uint32_t groups = share_out(plan.share, count).groups;
            if (groups == last_groups) continue;  // a small input: the same launch again
            last_groups = groups;
            auto timing = measure(plan, count, kernel.copies);
            if (!timing) return timing;
            if (!best || timing->nanoseconds < best->nanoseconds) best = *timing;
        }
        return *best;
    }

private:
    Result<Timing> measure(const Plan& plan, std::uint64_t count, bool copies) {
        const std::uint64_t bytes = count * kItemBytes;
        auto use = session_.backend().prepare(
            plan, {.input = {input_.get(), bytes}, .output = {output_.get(), bytes}}, count);
        if (!use) return tl::unexpected(use.error());
        if (copies) {
            const auto zeroed = session_.backend().fill(*output_, 0);
            if (!zeroed) return tl::unexpected(zeroed.error());
        }
        auto timing = session_.time(**use, count);
        if (!timing || !copies) return timing;
        std::vector<std::byte> copied(static_cast<std::size_t>(bytes));
        if (const auto done = session_.backend().download(*output_, copied); !done) {
            return tl::unexpected(done.error());
        }
        if (!std::equal(copied.begin(), copied.end(), data_.begin())) {
            return tl::unexpected(
                Error{ErrorCode::bad_argument, "the copy differs from what was copied", nullptr});
        }
        return timing;
    }

    Session& session_;
    std::uint64_t most_bytes_;
    std::unique_ptr<Memory> input_, output_;
    std::vector<std::byte> data_;
};

}  // namespace

Plan bench_plan(const Caps& caps, const BenchKernel& kernel, std::uint64_t count,
                std::uint64_t output_bytes) {
    const std::uint64_t input_bytes = count * kItemBytes;
    const bool by_address = input_bytes > caps.limits.max_storage_range && caps.device_addresses;
    Plan plan;
    plan.primitive = "bench";
    plan.summary = fmt::format("{} {}", kernel.pass, kernel.variant);
    plan.tier = kernel.form == Form::barrier ? Tier::barrier : Tier::portable;
    plan.reason = "a kernel that measures";
    plan.policy =
        fmt::format("workgroups of {}, tiles of {}", kernel.workgroup_size, kernel.tile_items);
    plan.addressing = by_address ? Addressing::device_address : Addressing::descriptor;
    plan.max_count = count;
    plan.element_bytes = kItemBytes;
    plan.share.tile_items = kernel.tile_items;
    plan.share.max_groups = kernel.max_groups;
    if (kernel.one_tile_per_group) plan.share.max_tiles_per_dispatch = kernel.max_groups;

    const std::uint32_t usages = by_address ? +BufferUsage::device_address : +BufferUsage::storage;
    const std::uint32_t alignment =
        by_address ? 16 : std::max(16u, caps.limits.storage_offset_alignment);
    plan.arguments = {{Role::input, input_bytes, alignment, usages, Access::read},
                      {Role::output, output_bytes, alignment, usages, Access::write}};
    Pass pass;
    pass.name = kernel.pass;
    pass.kernel = fmt::format("{}.{}.{}", kernel.pass, kernel.variant, to_text(plan.addressing));
    pass.form = kernel.form;
    pass.workgroup_size = kernel.workgroup_size;
    pass.constants = {{0, "workgroup_size", kernel.workgroup_size}};
    pass.bindings = {Role::input, Role::output};
    pass.groups = Groups::share;
    pass.workgroup_memory = kernel.workgroup_memory;
    pass.barriers = kernel.barriers;
    plan.passes = {std::move(pass)};
    return plan;
}

Result<std::vector<LimitRow>> measure_limits(Session& session,
                                             const std::vector<std::uint64_t>& bytes,
                                             const Show& show) {
    std::vector<LimitRow> rows;
    std::uint64_t most = 0;
    for (const std::uint64_t size : bytes) {
        LimitRow row;
        row.bytes = whole_words(size);
        if (row.bytes == 0) row.note = fmt::format("no limits measured at {} bytes", size);
        most = std::max(most, row.bytes);
        rows.push_back(std::move(row));
    }
    if (most == 0) return rows;
    LimitBench bench(session, most);
    if (const auto done = bench.prepare(); !done) return tl::unexpected(done.error());
    for (LimitRow& row : rows) {
        if (!row.note.empty()) continue;
        for (const LimitKernel& kernel : {kRead, kCopy}) {
            show(fmt::format("the limits: {} {} bytes", kernel.pass, row.bytes));
            auto timing = bench.measure(kernel, row.bytes);
            if (timing) {
                (kernel.copies ? row.copy : row.read) = *timing;
            } else if (timing.error().code == ErrorCode::device_lost) {
                return tl::unexpected(timing.error());
            } else {
                row.note = fmt::format("{} of {} bytes: {}", kernel.pass, row.bytes,
                                       timing.error().message);
            }
        }
    }
    return rows;
}

}  // namespace lanewise::bench
