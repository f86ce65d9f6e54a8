#include "bench/harness.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <numeric>

#include "bench/data.hpp"

namespace lanewise::bench {

using vulkan::detail::MemoryKind;
using vulkan::detail::OwnedDevice;
using vulkan::detail::OwnedDeviceOptions;

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

const char* type_name(VkPhysicalDeviceType type) {
    switch (type) {
        case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return "discrete";
        case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return "integrated";
        case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return "virtual";
        case VK_PHYSICAL_DEVICE_TYPE_CPU: return "cpu";
        default: return "other";
    }
}

}  // namespace

struct Session::State {
    State(std::unique_ptr<OwnedDevice> device_owner, vulkan::Device adopted)
        : owned(std::move(device_owner)), device(std::move(adopted)) {}
    ~State() {
        owned->vk().DestroyCommandPool(owned->device(), pool, owned->allocator());
        owned->destroy_query_pool(stamps);
    }

    std::unique_ptr<OwnedDevice> owned;
    vulkan::Device device;
    Caps caps;
    // A pool apart from the owned device's, which that resets when it runs something.
    VkCommandPool pool = VK_NULL_HANDLE;
    VkCommandBuffer commands = VK_NULL_HANDLE;
    VkQueryPool stamps = VK_NULL_HANDLE;

    Result<void> make_commands();
    Result<void> record_uses(const Recorder& record, std::uint32_t uses);
    // Of the whole submit, by the device's clock, or the host's where it has none.
    Result<double> submit();
};

Result<void> Session::State::make_commands() {
    const auto& vk = owned->vk();
    const VkCommandPoolCreateInfo pool_info{
        .sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
        .queueFamilyIndex = owned->queue_family(),
    };
    auto out_of_memory = [](const char* what) {
        return tl::unexpected(Error{ErrorCode::out_of_memory,
                                    fmt::format("benchmark: no memory for a {}", what), nullptr});
    };
    if (vk.CreateCommandPool(owned->device(), &pool_info, owned->allocator(), &pool) !=
        VK_SUCCESS) {
        return out_of_memory("command pool");
    }
    const VkCommandBufferAllocateInfo info{
        .sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
        .commandPool = pool,
        .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        .commandBufferCount = 1,
    };
    if (vk.AllocateCommandBuffers(owned->device(), &info, &commands) != VK_SUCCESS) {
        return out_of_memory("command buffer");
    }
    if (!caps.timestamps) return {};
    auto made = owned->make_query_pool(2);
    if (!made) return tl::unexpected(made.error());
    stamps = *made;
    return {};
}

Result<void> Session::State::record_uses(const Recorder& record, std::uint32_t uses) {
    const auto& vk = owned->vk();
    vk.ResetCommandPool(owned->device(), pool, 0);
    const VkCommandBufferBeginInfo begin{.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    vk.BeginCommandBuffer(commands, &begin);
    if (stamps != VK_NULL_HANDLE) {
        vk.CmdResetQueryPool(commands, stamps, 0, 2);
        vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, stamps, 0);
    }
    // The next use reads and writes where this one wrote; indirect arguments among it.
    const VkMemoryBarrier after_use{
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
        .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
        .dstAccessMask = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT,
    };
    for (std::uint32_t use = 0; use < uses; ++use) {
        record(commands);
        vk.CmdPipelineBarrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                              VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &after_use, 0, nullptr, 0,
                              nullptr);
    }
    if (stamps != VK_NULL_HANDLE) {
        vk.CmdWriteTimestamp(commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, stamps, 1);
    }
    if (vk.EndCommandBuffer(commands) != VK_SUCCESS) {
        return tl::unexpected(
            Error{ErrorCode::out_of_memory, "benchmark: no memory for the commands", nullptr});
    }
    return {};
}

Result<double> Session::State::submit() {
    const auto start = std::chrono::steady_clock::now();
    if (const auto done = owned->submit(commands); !done) return tl::unexpected(done.error());
    const std::chrono::duration<double, std::nano> waited =
        std::chrono::steady_clock::now() - start;
    if (stamps == VK_NULL_HANDLE) return waited.count();
    const auto times = owned->read_timestamps(stamps, 2);
    if (!times) return tl::unexpected(times.error());
    return (*times)[1] - (*times)[0];
}

Session::Session(std::unique_ptr<State> state) : state_(std::move(state)) {}
Session::Session(Session&&) noexcept = default;
Session::~Session() = default;

Result<Session> Session::create(const GpuOptions& options) {
    OwnedDeviceOptions owned_options;
    owned_options.device = options.device;
    if (owned_options.device.empty()) {
        if (const char* chosen = std::getenv("LANEWISE_DEVICE")) owned_options.device = chosen;
    }
    auto owned = OwnedDevice::create(owned_options);
    if (!owned) return tl::unexpected(owned.error());
    auto device = vulkan::Device::adopt((*owned)->adoption());
    if (!device) return tl::unexpected(device.error());
    auto caps = device->probe((*owned)->queue());
    if (!caps) return tl::unexpected(caps.error());
    auto state = std::make_unique<State>(std::move(*owned), std::move(*device));
    state->caps = std::move(*caps);
    if (const auto made = state->make_commands(); !made) return tl::unexpected(made.error());
    return Session(std::move(state));
}

const OwnedDevice& Session::owned() const { return *state_->owned; }
const vulkan::Device& Session::device() const { return state_->device; }
const Caps& Session::caps() const { return state_->caps; }

Machine Session::machine() const {
    const auto now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return {state_->owned->listing().name, type_name(state_->owned->listing().type),
            fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(now)), state_->caps};
}

Result<Timing> Session::time(const Recorder& record, std::uint64_t count) {
    State& state = *state_;
    Timing timing;
    timing.uses = uses_of(count, state.caps.cpu_device);
    timing.submits = kSubmits;
    timing.host_clock = state.stamps == VK_NULL_HANDLE;
    if (const auto done = state.record_uses(record, timing.uses); !done) {
        return tl::unexpected(done.error());
    }
    const auto warm_up = state.caps.cpu_device ? kWarmUpOfCpu : kWarmUpOfGpu;
    const auto start = std::chrono::steady_clock::now();
    do {
        const auto submit_start = std::chrono::steady_clock::now();
        if (const auto spent = state.submit(); !spent) return tl::unexpected(spent.error());
        const auto spent = std::chrono::steady_clock::now() - submit_start;
        if (spent > kLongSubmit && timing.uses > 1) {
            // A slow device: what surrounds the uses is nothing beside them.
            timing.uses = 1;
            if (const auto done = state.record_uses(record, 1); !done) {
                return tl::unexpected(done.error());
            }
        }
    } while (std::chrono::steady_clock::now() - start < warm_up);

    std::vector<double> times;
    for (std::uint32_t i = 0; i < timing.submits; ++i) {
        const auto spent = state.submit();
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
    static constexpr const Primitive* kAll[] = {&reduce_primitive, &scan_primitive};
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
    if (const auto done = session.owned().run(prepared->record); !done) return done;
    std::string why;
    auto right = prepared->check(why);
    if (!right) return tl::unexpected(right.error());
    if (!*right) {
        row.wrong = true;
        row.note = fmt::format("wrong at {}: {}", row.count, why);
        return {};
    }
    auto timing = session.time(prepared->record, row.count);
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
