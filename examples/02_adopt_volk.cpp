// An application with its own instance and device, loaded with volk, adopts Lanewise: a reduction
// goes into the application's own command buffer. Error checks are a function, to keep the eye on
// the steps.
#include "volk_application.hpp"

#include <algorithm>
#include <lanewise/reduce.hpp>
#include <lanewise/vulkan.hpp>

namespace {

// The value, or a message and the end of the program.
template <class T>
T must(lanewise::Result<T> result) {
    example::require(result.has_value(), result ? "" : result.error().message.c_str());
    return std::move(*result);
}

example::HostBuffer make_buffer_for(example::Application& app, const lanewise::Plan& plan,
                                    lanewise::Role role) {
    const lanewise::Argument* argument = plan.argument(role);
    if (argument == nullptr || argument->bytes == 0) return {};
    return app.make_buffer(argument->bytes);
}

lanewise::vulkan::Buffer whole(const example::HostBuffer& buffer) {
    return {.buffer = buffer.buffer, .offset = 0, .bytes = buffer.bytes, .address = 0};
}

}  // namespace

int main() {
    constexpr std::uint32_t kCount = 1'000'000;
    example::Application app;

    // Lanewise from here on.
    const auto lane =
        must(lanewise::vulkan::Device::adopt({.instance = app.instance,
                                              .physical_device = app.physical_device,
                                              .device = app.device,
                                              .queue_family = app.queue_family,
                                              .api_version = app.api_version,
                                              .enabled_features = &app.features,
                                              .get_instance_proc_addr = vkGetInstanceProcAddr}));
    const auto plan = must(lanewise::plan_reduce(lane.caps(), {.max_count = kCount}));
    const auto input = make_buffer_for(app, plan, lanewise::Role::input);
    const auto output = make_buffer_for(app, plan, lanewise::Role::output);
    const auto scratch = make_buffer_for(app, plan, lanewise::Role::scratch);
    const auto sum = must(lane.compile(plan));
    const auto use = must(sum.bind({whole(input), whole(output), whole(scratch)}, kCount));
    std::fill_n(static_cast<std::uint32_t*>(input.data), kCount, 3u);

    const VkCommandBuffer commands = app.begin_commands();
    use.record(commands);
    app.submit_commands_and_wait();
    // To here.

    const std::uint32_t result = *static_cast<const std::uint32_t*>(output.data);
    std::printf("%s, tier %s: the sum of %u threes is %u\n", app.device_name, to_text(plan.tier),
                kCount, result);
    return result == 3 * kCount ? 0 : 1;
}
