// An application with its own device of WebGPU (webgpu_application.hpp) adopts Lanewise: a scan
// goes into the application's own command encoder. The argument names the implementation's library.
#include "webgpu_application.hpp"

#include <cstring>
#include <lanewise/scan.hpp>
#include <lanewise/webgpu.hpp>
#include <numeric>

namespace {

// The value, or a message and the end of the program.
template <class T>
T must(lanewise::Result<T> result) {
    example::require(result.has_value(), result ? "" : result.error().message.c_str());
    return std::move(*result);
}

}  // namespace

int main(int argc, char** argv) {
    constexpr std::uint32_t kCount = 60'000;
    example::Application app(argc > 1 ? argv[1] : "libwgpu_native.so");
    std::vector<std::uint32_t> values(kCount);
    std::iota(values.begin(), values.end(), 1u);

    // Lanewise from here on.
    const auto lane = must(lanewise::webgpu::Device::adopt({.instance = app.instance,
                                                            .adapter = app.adapter,
                                                            .device = app.device,
                                                            .functions = app.wgpu}));
    const auto plan = must(lanewise::plan_scan(lane.caps(), {.max_count = kCount}));
    const auto make = [&](lanewise::Role role, WGPUBufferUsage usage) {
        const lanewise::Argument* argument = plan.argument(role);
        if (argument == nullptr) return lanewise::webgpu::Buffer{};
        const std::uint64_t bytes = (argument->bytes + 15) / 16 * 16;
        return lanewise::webgpu::Buffer{
            .buffer = app.make_buffer(bytes, WGPUBufferUsage_Storage | usage), .bytes = bytes};
    };
    const auto input = make(lanewise::Role::input, WGPUBufferUsage_CopyDst);
    const auto output = make(lanewise::Role::output, WGPUBufferUsage_CopySrc);
    const auto scratch = make(lanewise::Role::scratch, WGPUBufferUsage_CopySrc);
    const auto scan = must(lane.compile(plan));
    const auto use = must(scan.bind({input, output, scratch}, kCount));

    const std::size_t bytes = kCount * sizeof(std::uint32_t);
    const WGPUBuffer readable =
        app.make_buffer(bytes, WGPUBufferUsage_MapRead | WGPUBufferUsage_CopyDst);
    app.wgpu.QueueWriteBuffer(app.queue, input.buffer, 0, values.data(), bytes);
    const WGPUCommandEncoder commands = app.begin_commands();
    use.record(commands);
    app.wgpu.CommandEncoderCopyBufferToBuffer(commands, output.buffer, 0, readable, 0, bytes);
    app.submit(commands);
    // To here.

    std::vector<std::uint32_t> sums(kCount);
    std::memcpy(sums.data(), app.read(readable, bytes).data(), bytes);
    std::printf("%s, tier %s: 1 + 2 + ... + %u = %u\n", lane.caps().device_name.c_str(),
                to_text(plan.tier), kCount, sums.back());
    std::partial_sum(values.begin(), values.end(), values.begin());
    return sums == values ? 0 : 1;
}
