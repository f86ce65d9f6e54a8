#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <vector>

#include "bench/backend.hpp"
#include "lanewise/webgpu.hpp"
#include "src/core/device_choice.hpp"
#include "src/webgpu/gpu_owned_device.hpp"

namespace lanewise::bench {
namespace {

using webgpu::detail::OwnedBuffer;
using webgpu::detail::OwnedDevice;
using webgpu::detail::OwnedDeviceOptions;

// Memory is filled by uploads of this size.
constexpr std::uint64_t kFillBytes = 16 << 20;

struct WebgpuMemory final : Memory {
    explicit WebgpuMemory(OwnedBuffer made) : buffer(std::move(made)) {}
    std::uint64_t bytes() const override { return buffer.bytes(); }
    OwnedBuffer buffer;
};

const OwnedBuffer& buffer_of(const Memory& memory) {
    return static_cast<const WebgpuMemory&>(memory).buffer;
}

// All of the memory: the host binds what it needs of it, in whole vectors.
webgpu::Buffer range_of(const Range& range) {
    return range.memory == nullptr ? webgpu::Buffer{} : buffer_of(*range.memory).range();
}

struct WebgpuUse final : Use {
    explicit WebgpuUse(webgpu::Binding made) : binding(std::move(made)) {}
    webgpu::Binding binding;
};

const webgpu::Binding& binding_of(const Use& use) {
    return static_cast<const WebgpuUse&>(use).binding;
}

class WebgpuBackend final : public Backend {
public:
    WebgpuBackend(std::unique_ptr<OwnedDevice> owned, webgpu::Device device)
        : owned_(std::move(owned)), device_(std::move(device)) {}

    const Caps& caps() const override { return device_.caps(); }
    std::string name() const override { return owned_->listing().name; }
    std::string type() const override { return owned_->listing().type; }

    Result<std::unique_ptr<Memory>> make_memory(std::uint64_t bytes) override {
        auto made = owned_->make_buffer(bytes, WGPUBufferUsage_Storage);
        if (!made) return tl::unexpected(made.error());
        return std::make_unique<WebgpuMemory>(std::move(*made));
    }
    Result<void> upload(const Memory& memory, std::span<const std::byte> data) override {
        return owned_->upload(buffer_of(memory), 0, data);
    }
    Result<void> download(const Memory& memory, std::span<std::byte> data) override {
        return owned_->download(buffer_of(memory), 0, data);
    }
    Result<void> fill(const Memory& memory, std::uint32_t word) override {
        const std::vector<std::uint32_t> words(
            static_cast<std::size_t>(std::min(memory.bytes(), kFillBytes)) / sizeof word, word);
        const auto all = std::as_bytes(std::span(words));
        for (std::uint64_t at = 0; at < memory.bytes(); at += all.size()) {
            const auto part = all.first(
                static_cast<std::size_t>(std::min<std::uint64_t>(all.size(), memory.bytes() - at)));
            if (auto done = owned_->upload(buffer_of(memory), at, part); !done) return done;
        }
        return {};
    }

    Result<std::unique_ptr<Use>> prepare(const Plan& plan, const Ranges& ranges,
                                         std::uint64_t count) override {
        auto executable = device_.compile(plan);
        if (!executable) return tl::unexpected(executable.error());
        auto binding = executable->bind({.input = range_of(ranges.input),
                                         .output = range_of(ranges.output),
                                         .scratch = range_of(ranges.scratch),
                                         .values = range_of(ranges.values),
                                         .values_out = range_of(ranges.values_out),
                                         .count_out = range_of(ranges.count_out)},
                                        count);
        if (!binding) return tl::unexpected(binding.error());
        return std::make_unique<WebgpuUse>(std::move(*binding));
    }
    Result<void> run(const Use& use) override {
        return owned_->run([&](WGPUCommandEncoder encoder) { binding_of(use).record(encoder); });
    }

    // Commands of WebGPU are submitted once: time() records them.
    Result<void> load(const Use& use, std::uint32_t times) override {
        loaded_ = &use;
        times_ = times;
        return {};
    }

    Result<double> time() override {
        const webgpu::Binding& binding = binding_of(*loaded_);
        if (!has_clock()) {
            const auto start = std::chrono::steady_clock::now();
            const auto done = owned_->run([&](WGPUCommandEncoder encoder) {
                for (std::uint32_t i = 0; i < times_; ++i) binding.record(encoder);
            });
            if (!done) return tl::unexpected(done.error());
            const std::chrono::duration<double, std::nano> waited =
                std::chrono::steady_clock::now() - start;
            return waited.count();
        }
        // WebGPU's stamps are those of passes: the first and the last use have them.
        const auto stamps = static_cast<std::uint32_t>(2 * binding.pass_names().size());
        const std::uint32_t all = times_ > 1 ? 2 * stamps : stamps;
        const auto at =
            owned_->run_timed(all, [&](WGPUCommandEncoder encoder, WGPUQuerySet queries) {
                binding.record(encoder, {.query_set = queries});
                for (std::uint32_t i = 2; i < times_; ++i) binding.record(encoder);
                if (times_ > 1) {
                    binding.record(encoder, {.query_set = queries, .first_query = stamps});
                }
            });
        if (!at) return tl::unexpected(at.error());
        return at->back() - at->front();
    }

    bool has_clock() const override { return caps().timestamps; }

private:
    std::unique_ptr<OwnedDevice> owned_;
    webgpu::Device device_;
    const Use* loaded_ = nullptr;
    std::uint32_t times_ = 0;
};

}  // namespace

Result<std::unique_ptr<Backend>> make_webgpu_backend(const GpuOptions& options) {
    OwnedDeviceOptions wanted;
    wanted.library = options.webgpu_library;
    if (wanted.library.empty()) {
        if (const char* name = std::getenv("LANEWISE_WEBGPU_LIBRARY")) wanted.library = name;
    }
    auto owned = OwnedDevice::create(wanted);
    if (!owned) return tl::unexpected(owned.error());
    const std::string& name = (*owned)->listing().name;
    if (!detail::is_wanted(options.device, 0, name)) {
        return tl::unexpected(Error{
            ErrorCode::bad_argument,
            "no device '" + options.device + "': WebGPU gives one, 0 (" + name + ")", nullptr});
    }
    auto device = webgpu::Device::adopt((*owned)->adoption());
    if (!device) return tl::unexpected(device.error());
    return std::make_unique<WebgpuBackend>(std::move(*owned), std::move(*device));
}

}  // namespace lanewise::bench
