// Kernels of a custom operator, compiled ahead. The first half is a tool of the application's
// build, with lanewise::jit; the second is the application, which reads what the tool wrote and has
// no compiler. (Here both are one program, through volk_application.hpp, so that the tests can run
// it.)
#include "volk_application.hpp"

#include <cstring>
#include <fstream>
#include <iterator>
#include <lanewise/jit.hpp>
#include <lanewise/reduce.hpp>
#include <lanewise/vulkan.hpp>
#include <span>
#include <string>

namespace {

template <class T>
T must(lanewise::Result<T> result) {
    example::require(result.has_value(), result ? "" : result.error().message.c_str());
    return std::move(*result);
}

// What both halves must say alike: a kernel is found by what it is made of.
lanewise::CustomOperator mean_colour() {
    using lanewise::Scalar;
    return {.name = "mean_colour",
            .element = {{Scalar::u8, 4}},
            .value = {{Scalar::u32, 4}},
            .load = "Value(x.xyz * x.w, x.w)",
            .combine = "a + b",
            .commutative = true,
            .result = {{Scalar::f32, 3}},
            .store = "vec3f(a.xyz) / f32(a.w)"};
}

constexpr std::uint32_t kPixels = 512 * 512;

// When the application is built.
void write_bundle(const std::string& path) {
    const auto bundle = must(lanewise::jit::compile_for_all_devices(mean_colour(), "reduce"));
    const auto bytes = bundle.to_bytes();
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
    std::printf("%s: %zu bytes\n", path.c_str(), bytes.size());
}

// In the application.
lanewise::Bundle read_bundle(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    return must(lanewise::Bundle::from_bytes(std::as_bytes(std::span(text))));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string path = argc > 1 ? argv[1] : "mean_colour.bundle";
    write_bundle(path);

    example::Application app;
    const auto lane =
        must(lanewise::vulkan::Device::adopt({.instance = app.instance,
                                              .physical_device = app.physical_device,
                                              .device = app.device,
                                              .queue_family = app.queue_family,
                                              .api_version = app.api_version,
                                              .enabled_features = &app.features,
                                              .get_instance_proc_addr = vkGetInstanceProcAddr}));
    const auto bundle = read_bundle(path);
    const auto plan =
        must(lanewise::plan_reduce(lane.caps(), {.custom = mean_colour(), .max_count = kPixels}));
    const auto reduce = must(lane.compile(plan, {.bundle = &bundle}));

    const auto make = [&](lanewise::Role role) {
        return app.make_buffer(plan.argument(role)->bytes);
    };
    const auto whole = [](const example::HostBuffer& buffer) {
        return lanewise::vulkan::Buffer{.buffer = buffer.buffer, .bytes = buffer.bytes};
    };
    const auto pixels = make(lanewise::Role::input);
    const auto colour = make(lanewise::Role::output);
    const auto scratch = make(lanewise::Role::scratch);
    const auto use = must(reduce.bind({whole(pixels), whole(colour), whole(scratch)}, kPixels));
    for (std::uint32_t i = 0; i < kPixels; ++i) {
        const std::uint8_t pixel[4] = {static_cast<std::uint8_t>(i % 2 * 100), 60, 10,
                                       static_cast<std::uint8_t>(i % 4 < 2 ? 8 : 0)};
        std::memcpy(static_cast<std::uint8_t*>(pixels.data) + 4 * i, pixel, sizeof pixel);
    }
    const VkCommandBuffer commands = app.begin_commands();
    use.record(commands);
    app.submit_commands_and_wait();

    float mean[3];
    std::memcpy(mean, colour.data, sizeof mean);
    std::printf("%s, tier %s: the mean colour of %u pixels, by their alpha, is %g %g %g\n",
                app.device_name, to_text(plan.tier), kPixels, static_cast<double>(mean[0]),
                static_cast<double>(mean[1]), static_cast<double>(mean[2]));
    return mean[0] == 50.0f && mean[1] == 60.0f && mean[2] == 10.0f ? 0 : 1;
}
