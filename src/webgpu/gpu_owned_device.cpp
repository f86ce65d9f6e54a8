// OwnedDevice: instance, adapter and device, and how calls are waited for.

#include "src/webgpu/gpu_owned_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "src/webgpu/context.hpp"
#include "src/webgpu/gpu_library.hpp"

namespace lanewise::webgpu::detail {

namespace {

// Data goes to and from the device in parts of this size, so that big data does not take twice its
// memory.
constexpr std::uint64_t kUploadBytes = 64 << 20;
constexpr std::uint64_t kDownloadBytes = 16 << 20;
// Copies and writes go by this many bytes, as WebGPU has it.
constexpr std::uint64_t kCopyAlignment = 4;
// Kernels read and write whole vectors.
constexpr std::uint64_t kBufferAlignment = 16;

struct Feature {
    const char* name;
    WGPUFeatureName feature;
    const char* part_of;  // a feature without which this one is not requested
};
constexpr Feature kFeatures[] = {
    {"subgroups", WGPUFeatureName_Subgroups, nullptr},
    {"subgroups", kNativeSubgroup, nullptr},
    {"subgroup-size-control", kSubgroupSizeControl, "subgroups"},
    {"timestamp-query", WGPUFeatureName_TimestampQuery, nullptr},
};

bool names(const std::vector<std::string>& list, const char* name) {
    return name != nullptr && std::ranges::find(list, name) != list.end();
}

// What a callback brought. The call's answer may come after nobody waits for it any more (the
// device was lost): so it is shared with the callback.
struct Answer {
    bool is_there = false;
    bool is_good = false;
    std::string message;
    WGPUAdapter adapter = nullptr;
    WGPUDevice device = nullptr;
};
using Answers = std::shared_ptr<Answer>;

// Fills in a callback's answer; nothing may be thrown through the implementation, which is no C++.
void answer(void* user, bool is_good, WGPUStringView message, auto fill) noexcept {
    const std::unique_ptr<Answers> shared(static_cast<Answers*>(user));
    Answer& to = **shared;
    to.is_there = true;
    to.is_good = is_good;
    fill(to);
    try {
        to.message = one_line(message);
    } catch (...) {
    }
}

// Makes the descriptor of a callback; `callback` is a lambda without captures.
template <class Info, class Callback>
Info ask(const Answers& answers, Callback callback) {
    Info info{};
    info.mode = WGPUCallbackMode_AllowProcessEvents;
    info.callback = callback;
    info.userdata1 = new Answers(answers);
    return info;
}

// Who hears what a device says by itself. Callbacks may come from any thread, and after the device
// of ours is gone: the implementation keeps one as long as anything refers to it. So callbacks
// carry a number, not a pointer.
struct Listener {
    std::atomic<bool> lost = false;
    std::mutex mutex;  // held while on_error runs
    std::string loss;  // why
    std::function<void(const std::string&)> on_error;

    void hear(const std::string& message) noexcept {
        try {
            const std::scoped_lock lock(mutex);
            if (on_error) on_error(message);
        } catch (...) {
        }
    }
};

class Listeners {
public:
    // Never destroyed: a device that lives in a static variable may be the last to go.
    static Listeners& all() {
        static Listeners& listeners = *new Listeners;
        return listeners;
    }

    std::uintptr_t add(std::shared_ptr<Listener> listener) {
        const std::scoped_lock lock(mutex_);
        listeners_.emplace(++last_, std::move(listener));
        return last_;
    }
    void remove(std::uintptr_t number) {
        const std::scoped_lock lock(mutex_);
        listeners_.erase(number);
    }
    std::shared_ptr<Listener> find(void* number) {
        const std::scoped_lock lock(mutex_);
        const auto found = listeners_.find(reinterpret_cast<std::uintptr_t>(number));
        return found == listeners_.end() ? nullptr : found->second;
    }

private:
    std::mutex mutex_;
    std::map<std::uintptr_t, std::shared_ptr<Listener>> listeners_;
    std::uintptr_t last_ = 0;
};

void on_lost(WGPUDevice const*, WGPUDeviceLostReason reason, WGPUStringView message, void* number,
             void*) {
    const auto listener = Listeners::all().find(number);
    const bool is_loss =
        reason == WGPUDeviceLostReason_Unknown || reason == WGPUDeviceLostReason_FailedCreation;
    if (listener == nullptr || !is_loss) return;
    try {
        const std::string why = one_line(message);
        {
            const std::scoped_lock lock(listener->mutex);
            listener->loss = why;
        }
        listener->lost = true;
        listener->hear(fmt::format("the device is lost: {}", why));
    } catch (...) {
        listener->lost = true;
    }
}

void on_uncaptured(WGPUDevice const*, WGPUErrorType, WGPUStringView message, void* number, void*) {
    const auto listener = Listeners::all().find(number);
    if (listener == nullptr) return;
    try {
        listener->hear(one_line(message));
    } catch (...) {
    }
}

// Processes events until all are answered, or the device is lost.
bool wait(const Functions& wgpu, WGPUInstance instance, std::span<const Answers> answers,
          const Listener* listener) {
    // Most answers are there at once, or after a kernel's microseconds; long ones should not burn a
    // core.
    constexpr int kEager = 200;
    constexpr std::chrono::microseconds kLongestSleep{500};
    std::chrono::microseconds sleep{10};
    for (int round = 0;; ++round) {
        wgpu.InstanceProcessEvents(instance);
        if (std::ranges::all_of(answers, [](const Answers& one) { return one->is_there; }))
            return true;
        if (listener != nullptr && listener->lost) return false;
        if (round < kEager) {
            std::this_thread::yield();
        } else {
            std::this_thread::sleep_for(sleep);
            sleep = std::min(2 * sleep, kLongestSleep);
        }
    }
}

const char* type_text(WGPUAdapterType type) {
    switch (type) {
        case WGPUAdapterType_DiscreteGPU: return "discrete";
        case WGPUAdapterType_IntegratedGPU: return "integrated";
        case WGPUAdapterType_CPU: return "cpu";
        default: return "other";
    }
}

const char* backend_text(WGPUBackendType backend) {
    switch (backend) {
        case WGPUBackendType_Null: return "Null";
        case WGPUBackendType_WebGPU: return "WebGPU";
        case WGPUBackendType_D3D11: return "D3D11";
        case WGPUBackendType_D3D12: return "D3D12";
        case WGPUBackendType_Metal: return "Metal";
        case WGPUBackendType_Vulkan: return "Vulkan";
        case WGPUBackendType_OpenGL: return "OpenGL";
        case WGPUBackendType_OpenGLES: return "OpenGL ES";
        default: return "unknown";
    }
}

// Dawn rounds timestamps to some ten microseconds unless told not to. The structure stands in its
// header only.
struct DawnToggles {
    WGPUChainedStruct chain{.next = nullptr, .sType = static_cast<WGPUSType>(0x0005000A)};
    std::size_t enabled_count = 0;
    const char* const* enabled = nullptr;
    std::size_t disabled_count = 0;
    const char* const* disabled = nullptr;
};

}  // namespace

struct OwnedDevice::State {
    Library library;
    WGPUInstance instance = nullptr;
    WGPUAdapter adapter = nullptr;
    WGPUDevice device = nullptr;
    std::optional<DeviceContext> context;  // once there is a device
    DeviceListing listing;
    std::shared_ptr<Listener> listener = std::make_shared<Listener>();
    std::uintptr_t number = 0;
    WGPULimits limits = WGPU_LIMITS_INIT;
    bool has_timestamps = false;

    State() = default;
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    const Functions& wgpu() const { return library.functions; }

    Result<void> make_adapter(const std::string& name);
    Result<void> make_device(const OwnedDeviceOptions& options);

    Result<void> alive() const;
    tl::unexpected<Error> lost() const;
    Result<void> wait_for(std::span<const Answers> answers) const;
    // Makes calls inside of error scopes. bytes: what was asked for, where that matters.
    Result<void> checked(std::string_view doing, const std::function<void()>& calls,
                         std::uint64_t bytes = 0) const;
    // Records, submits and waits; without a recorder submits what is pending.
    Result<void> run(std::string_view doing,
                     const std::function<void(WGPUCommandEncoder)>& record) const;
    Result<void> read(WGPUBuffer mappable, std::span<std::byte> data,
                      std::uint64_t skipped_bytes) const;
};

OwnedDevice::State::~State() {
    const Functions& call = wgpu();
    context.reset();
    if (device != nullptr) call.DeviceRelease(device);
    if (adapter != nullptr) call.AdapterRelease(adapter);
    if (number != 0) Listeners::all().remove(number);
    if (instance != nullptr) call.InstanceRelease(instance);
}

tl::unexpected<Error> OwnedDevice::State::lost() const {
    const std::scoped_lock lock(listener->mutex);
    return tl::unexpected(
        Error{ErrorCode::device_lost, fmt::format("the device is lost: {}", listener->loss)});
}

Result<void> OwnedDevice::State::alive() const {
    if (listener->lost) return lost();
    return {};
}

Result<void> OwnedDevice::State::wait_for(std::span<const Answers> answers) const {
    if (!wait(wgpu(), instance, answers, listener.get())) return lost();
    return {};
}

Result<void> OwnedDevice::State::make_adapter(const std::string& name) {
    auto opened = open_library(name);
    if (!opened) return tl::unexpected(opened.error());
    library = *std::move(opened);
    const Functions& call = wgpu();
    const WGPUInstanceDescriptor descriptor = WGPU_INSTANCE_DESCRIPTOR_INIT;
    instance = call.CreateInstance(&descriptor);
    if (instance == nullptr) {
        return tl::unexpected(Error{ErrorCode::unsupported,
                                    fmt::format("{} gives no instance of WebGPU", library.name)});
    }

    const auto found = std::make_shared<Answer>();
    const WGPURequestAdapterOptions wanted = WGPU_REQUEST_ADAPTER_OPTIONS_INIT;
    call.InstanceRequestAdapter(instance, &wanted,
                                ask<WGPURequestAdapterCallbackInfo>(
                                    found, [](WGPURequestAdapterStatus status, WGPUAdapter handle,
                                              WGPUStringView message, void* user, void*) {
                                        answer(user, status == WGPURequestAdapterStatus_Success,
                                               message, [&](Answer& to) { to.adapter = handle; });
                                    }));
    wait(call, instance, std::array{found}, nullptr);
    adapter = found->adapter;
    if (adapter == nullptr) {
        return tl::unexpected(
            Error{ErrorCode::unsupported,
                  fmt::format("{} finds no device{}{}", library.name,
                              found->message.empty() ? "" : ": ", found->message)});
    }

    WGPUAdapterInfo info = WGPU_ADAPTER_INFO_INIT;
    if (call.AdapterGetInfo(adapter, &info) != WGPUStatus_Success) {
        return tl::unexpected(
            Error{ErrorCode::unsupported,
                  fmt::format("{} does not say what its device is", library.name)});
    }
    listing = {.name = one_line(info.device),
               .driver = one_line(info.description),
               .type = type_text(info.adapterType),
               .backend = backend_text(info.backendType)};
    const bool is_null = info.backendType == WGPUBackendType_Null;
    call.AdapterInfoFreeMembers(info);
    if (is_null) {
        return tl::unexpected(
            Error{ErrorCode::unsupported,
                  fmt::format("{} takes none of the devices here: it gives its Null backend, which "
                              "runs nothing",
                              library.name)});
    }
    return {};
}

Result<void> OwnedDevice::State::make_device(const OwnedDeviceOptions& options) {
    const Functions& call = wgpu();
    for (const std::string& name : options.leave_out) {
        const bool known = std::ranges::any_of(
            kFeatures, [&](const Feature& feature) { return name == feature.name; });
        if (!known) {
            return tl::unexpected(Error{ErrorCode::bad_argument,
                                        fmt::format("no feature '{}' to leave out: there are "
                                                    "subgroups, subgroup-size-control and "
                                                    "timestamp-query",
                                                    name)});
        }
    }
    std::vector<WGPUFeatureName> features;
    for (const Feature& feature : kFeatures) {
        if (names(options.leave_out, feature.name) || names(options.leave_out, feature.part_of))
            continue;
        if (!call.AdapterHasFeature(adapter, feature.feature)) continue;
        features.push_back(library.number_of(feature.feature));
        if (feature.feature == WGPUFeatureName_TimestampQuery) has_timestamps = true;
    }
    WGPULimits most = WGPU_LIMITS_INIT;
    if (call.AdapterGetLimits(adapter, &most) != WGPUStatus_Success) {
        return tl::unexpected(
            Error{ErrorCode::unsupported,
                  fmt::format("{} does not say the limits of {}", library.name, listing.name)});
    }

    listener->on_error = options.on_error;
    number = Listeners::all().add(listener);
    constexpr std::array kExactTimestamps{"timestamp_quantization"};
    DawnToggles toggles;
    toggles.disabled_count = kExactTimestamps.size();
    toggles.disabled = kExactTimestamps.data();
    WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
    if (library.is_dawn) descriptor.nextInChain = &toggles.chain;
    descriptor.requiredFeatureCount = features.size();
    descriptor.requiredFeatures = features.data();
    descriptor.requiredLimits = options.least_limits ? nullptr : &most;
    descriptor.deviceLostCallbackInfo.mode = WGPUCallbackMode_AllowSpontaneous;
    descriptor.deviceLostCallbackInfo.callback = on_lost;
    descriptor.deviceLostCallbackInfo.userdata1 = reinterpret_cast<void*>(number);
    descriptor.uncapturedErrorCallbackInfo.callback = on_uncaptured;
    descriptor.uncapturedErrorCallbackInfo.userdata1 = reinterpret_cast<void*>(number);
    const auto made = std::make_shared<Answer>();
    call.AdapterRequestDevice(adapter, &descriptor,
                              ask<WGPURequestDeviceCallbackInfo>(
                                  made, [](WGPURequestDeviceStatus status, WGPUDevice handle,
                                           WGPUStringView message, void* user, void*) {
                                      answer(user, status == WGPURequestDeviceStatus_Success,
                                             message, [&](Answer& to) { to.device = handle; });
                                  }));
    wait(call, instance, std::array{made}, nullptr);
    device = made->device;
    if (device == nullptr) {
        return tl::unexpected(
            Error{ErrorCode::unsupported, fmt::format("{} makes no device of {}: {}", library.name,
                                                      listing.name, made->message)});
    }
    context.emplace(Adoption{instance, adapter, device, library.functions});
    call.DeviceGetLimits(device, &limits);
    return {};
}

Result<void> OwnedDevice::State::checked(std::string_view doing, const std::function<void()>& calls,
                                         std::uint64_t bytes) const {
    if (auto living = alive(); !living) return living;
    auto done = context->checked(doing, ErrorCode::bad_argument, calls);
    if (done) return done;
    if (auto living = alive(); !living) return living;
    if (done.error().code == ErrorCode::out_of_memory && bytes != 0)
        done.error().message += fmt::format(" ({} bytes)", bytes);
    return done;
}

Result<void> OwnedDevice::State::run(std::string_view doing,
                                     const std::function<void(WGPUCommandEncoder)>& record) const {
    const Functions& call = wgpu();
    WGPUCommandBuffer commands = nullptr;
    if (record) {
        // By itself: wgpu-native ends the process when it is given commands that are not valid.
        auto recorded = checked("recording commands", [&] {
            const WGPUCommandEncoder encoder = call.DeviceCreateCommandEncoder(device, nullptr);
            record(encoder);
            commands = call.CommandEncoderFinish(encoder, nullptr);
            call.CommandEncoderRelease(encoder);
        });
        if (!recorded) {
            if (commands != nullptr) call.CommandBufferRelease(commands);
            return recorded;
        }
    }
    const auto done = std::make_shared<Answer>();
    auto submitted = checked(doing, [&] {
        call.QueueSubmit(context->queue(), commands == nullptr ? 0 : 1, &commands);
        call.QueueOnSubmittedWorkDone(
            context->queue(),
            ask<WGPUQueueWorkDoneCallbackInfo>(done, [](WGPUQueueWorkDoneStatus status,
                                                        WGPUStringView message, void* user, void*) {
                answer(user, status == WGPUQueueWorkDoneStatus_Success, message, [](Answer&) {});
            }));
    });
    if (commands != nullptr) call.CommandBufferRelease(commands);
    auto waited = wait_for(std::array{done});
    if (!submitted) return submitted;
    if (!waited) return waited;
    if (!done->is_good) {
        if (auto living = alive(); !living) return living;
        return tl::unexpected(
            Error{ErrorCode::unsupported, fmt::format("{} failed: {}", doing, done->message)});
    }
    return {};
}

Result<void> OwnedDevice::State::read(WGPUBuffer mappable, std::span<std::byte> data,
                                      std::uint64_t skipped_bytes) const {
    const Functions& call = wgpu();
    const std::uint64_t bytes =
        (skipped_bytes + data.size() + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment;
    const auto mapped = std::make_shared<Answer>();
    auto asked = checked("mapping a buffer", [&] {
        call.BufferMapAsync(
            mappable, WGPUMapMode_Read, 0, static_cast<std::size_t>(bytes),
            ask<WGPUBufferMapCallbackInfo>(
                mapped, [](WGPUMapAsyncStatus status, WGPUStringView message, void* user, void*) {
                    answer(user, status == WGPUMapAsyncStatus_Success, message, [](Answer&) {});
                }));
    });
    if (auto waited = wait_for(std::array{mapped}); !waited) return waited;
    if (!asked) return asked;
    const void* from = mapped->is_good ? call.BufferGetConstMappedRange(
                                             mappable, 0, static_cast<std::size_t>(bytes))
                                       : nullptr;
    if (from == nullptr) {
        if (auto living = alive(); !living) return living;
        return tl::unexpected(Error{ErrorCode::unsupported,
                                    fmt::format("mapping a buffer failed: {}", mapped->message)});
    }
    std::memcpy(data.data(), static_cast<const std::byte*>(from) + skipped_bytes, data.size());
    call.BufferUnmap(mappable);
    return {};
}

OwnedBuffer::~OwnedBuffer() {
    if (buffer_ != nullptr) device_->wgpu().BufferRelease(buffer_);
}

void OwnedBuffer::swap(OwnedBuffer& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(buffer_, other.buffer_);
    std::swap(bytes_, other.bytes_);
}

OwnedDevice::OwnedDevice(std::unique_ptr<State> state) : state_(std::move(state)) {}
OwnedDevice::~OwnedDevice() = default;

Result<std::unique_ptr<OwnedDevice>> OwnedDevice::create(const OwnedDeviceOptions& options) {
    auto state = std::make_unique<State>();
    auto made = state->make_adapter(options.library);
    if (made) made = state->make_device(options);
    if (!made) return tl::unexpected(made.error());
    return std::unique_ptr<OwnedDevice>(new OwnedDevice(std::move(state)));
}

Result<DeviceListing> OwnedDevice::list(const std::string& library) {
    State state;
    if (auto made = state.make_adapter(library); !made) return tl::unexpected(made.error());
    return std::move(state.listing);
}

const Functions& OwnedDevice::wgpu() const { return state_->wgpu(); }
WGPUInstance OwnedDevice::instance() const { return state_->instance; }
WGPUDevice OwnedDevice::device() const { return state_->device; }
WGPUQueue OwnedDevice::queue() const { return state_->context->queue(); }
const DeviceListing& OwnedDevice::listing() const { return state_->listing; }

Adoption OwnedDevice::adoption() const {
    return {.instance = state_->instance,
            .adapter = state_->adapter,
            .device = state_->device,
            .functions = state_->wgpu()};
}

Result<OwnedBuffer> OwnedDevice::make_buffer(std::uint64_t bytes, WGPUBufferUsage usage) const {
    const std::uint64_t most = state_->limits.maxBufferSize;
    if (bytes > most) {
        return tl::unexpected(
            Error{ErrorCode::limit_exceeded,
                  fmt::format("a buffer of {} bytes is larger than the device's maxBufferSize, {}",
                              bytes, most)});
    }
    OwnedBuffer made;
    made.device_ = this;
    made.bytes_ = std::max((bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment,
                           kBufferAlignment);
    WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
    // Mappable buffers may be copied to or from, and nothing else.
    descriptor.usage = usage | WGPUBufferUsage_CopyDst;
    if ((usage & WGPUBufferUsage_MapRead) == 0) descriptor.usage |= WGPUBufferUsage_CopySrc;
    descriptor.size = made.bytes_;
    auto checked = state_->checked(
        "making a buffer",
        [&] { made.buffer_ = wgpu().DeviceCreateBuffer(state_->device, &descriptor); },
        made.bytes_);
    if (!checked) return tl::unexpected(checked.error());
    if (made.buffer_ == nullptr) {
        return tl::unexpected(Error{ErrorCode::out_of_memory,
                                    fmt::format("making a buffer ({} bytes) failed", made.bytes_)});
    }
    return made;
}

Result<void> OwnedDevice::upload(const OwnedBuffer& buffer, std::uint64_t offset,
                                 std::span<const std::byte> data) const {
    if (data.empty()) return state_->alive();
    // What is written goes by whole words: at both ends with what the buffer has beside the data.
    const auto patch = [&](std::uint64_t word, std::uint64_t from,
                           std::span<const std::byte> bytes) -> Result<void> {
        std::array<std::byte, kCopyAlignment> whole;
        if (auto read = download(buffer, word, whole); !read) return read;
        std::ranges::copy(bytes, whole.begin() + static_cast<std::ptrdiff_t>(from - word));
        return state_->checked("writing to a buffer", [&] {
            wgpu().QueueWriteBuffer(state_->context->queue(), buffer.get(), word, whole.data(),
                                    whole.size());
        });
    };
    const std::uint64_t into_word = offset % kCopyAlignment;
    if (into_word != 0) {
        const auto head = data.first(std::min<std::size_t>(
            data.size(), static_cast<std::size_t>(kCopyAlignment - into_word)));
        if (auto done = patch(offset - into_word, offset, head); !done) return done;
        offset += head.size();
        data = data.subspan(head.size());
    }
    const std::size_t tail = data.size() % kCopyAlignment;
    if (tail != 0) {
        const std::uint64_t word = offset + data.size() - tail;
        if (auto done = patch(word, word, data.last(tail)); !done) return done;
        data = data.first(data.size() - tail);
    }
    while (!data.empty()) {
        const auto part = data.first(std::min<std::size_t>(data.size(), kUploadBytes));
        auto written = state_->checked("writing to a buffer", [&] {
            wgpu().QueueWriteBuffer(state_->context->queue(), buffer.get(), offset, part.data(),
                                    part.size());
        });
        if (!written) return written;
        offset += part.size();
        data = data.subspan(part.size());
        if (data.empty()) break;
        // Frees what the implementation copied of this part.
        if (auto done = state_->run("writing to a buffer", nullptr); !done) return done;
    }
    return state_->run("writing to a buffer", nullptr);
}

Result<void> OwnedDevice::download(const OwnedBuffer& buffer, std::uint64_t offset,
                                   std::span<std::byte> data) const {
    if (data.empty()) return state_->alive();
    const std::uint64_t skipped = offset % kCopyAlignment;
    auto staging =
        make_buffer(std::min(skipped + data.size(), kDownloadBytes), WGPUBufferUsage_MapRead);
    if (!staging) return tl::unexpected(staging.error());
    // Words from `at` on; the first part starts in the middle of one.
    std::uint64_t at = offset - skipped;
    std::uint64_t skip = skipped;
    while (!data.empty()) {
        const auto part = data.first(
            std::min<std::size_t>(data.size(), static_cast<std::size_t>(kDownloadBytes - skip)));
        const std::uint64_t bytes =
            (skip + part.size() + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment;
        auto copied = state_->run("copying from a buffer", [&](WGPUCommandEncoder encoder) {
            wgpu().CommandEncoderCopyBufferToBuffer(encoder, buffer.get(), at, staging->get(), 0,
                                                    bytes);
        });
        if (!copied) return copied;
        if (auto done = state_->read(staging->get(), part, skip); !done) return done;
        at += bytes;
        skip = 0;
        data = data.subspan(part.size());
    }
    return {};
}

Result<void> OwnedDevice::run(const std::function<void(WGPUCommandEncoder)>& record) const {
    return state_->run("submitting commands", record);
}

Result<std::vector<double>> OwnedDevice::run_timed(
    std::uint32_t count,
    const std::function<void(WGPUCommandEncoder, WGPUQuerySet)>& record) const {
    if (!state_->has_timestamps) {
        return tl::unexpected(Error{ErrorCode::unsupported,
                                    "the device has no timestamps (the feature timestamp-query)"});
    }
    WGPUQuerySet queries = nullptr;
    WGPUQuerySetDescriptor descriptor = WGPU_QUERY_SET_DESCRIPTOR_INIT;
    descriptor.type = WGPUQueryType_Timestamp;
    descriptor.count = count;
    auto checked = state_->checked("making a query set", [&] {
        queries = wgpu().DeviceCreateQuerySet(state_->device, &descriptor);
    });
    if (!checked) return tl::unexpected(checked.error());
    std::vector<std::uint64_t> ticks(count);
    const auto bytes = std::as_writable_bytes(std::span(ticks));
    auto resolved = make_buffer(bytes.size(), WGPUBufferUsage_QueryResolve);
    Result<void> done = {};
    if (resolved) {
        done = run([&](WGPUCommandEncoder encoder) {
            record(encoder, queries);
            wgpu().CommandEncoderResolveQuerySet(encoder, queries, 0, count, resolved->get(), 0);
        });
    }
    wgpu().QuerySetRelease(queries);
    if (!resolved) return tl::unexpected(resolved.error());
    if (done) done = download(*resolved, 0, bytes);
    if (!done) return tl::unexpected(done.error());
    // From the first stamp on: nanoseconds since boot would lose digits in a double.
    const auto period_of = wgpu().QueueGetTimestampPeriod;
    const double period =
        period_of != nullptr ? static_cast<double>(period_of(state_->context->queue())) : 1.0;
    std::vector<double> nanoseconds;
    for (const std::uint64_t tick : ticks) {
        nanoseconds.push_back(static_cast<double>(static_cast<std::int64_t>(tick - ticks.front())) *
                              period);
    }
    return nanoseconds;
}

}  // namespace lanewise::webgpu::detail
