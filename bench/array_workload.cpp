#include "bench/array_workload.hpp"

#include <algorithm>
#include <memory>

#include "bench/data.hpp"

namespace lanewise::bench {

using vulkan::detail::MemoryKind;

Result<void> ArrayWorkload::upload() {
    data_ = hashed_data(request_.element, std::ranges::max(request_.sizes));
    // Kernels read whole words.
    auto input = session_.owned().make_buffer(
        std::max<std::uint64_t>((data_.size() + 3) / 4 * 4, 4), MemoryKind::device);
    if (!input) return tl::unexpected(input.error());
    input_ = std::move(*input);
    return session_.owned().upload(input_, 0, data_);
}

Result<Case> ArrayWorkload::make_case(Plan plan, std::uint64_t count, std::uint64_t output_bytes,
                                      Matches matches) {
    auto executable = session_.device().compile(plan);
    if (!executable) return tl::unexpected(executable.error());

    // These replace the last case's.
    for (const auto& [role, buffer] :
         {std::pair{Role::output, &output_}, std::pair{Role::scratch, &scratch_}}) {
        const Argument* argument = plan.argument(role);
        const std::uint64_t bytes =
            argument == nullptr ? 0 : std::max<std::uint64_t>(argument->bytes, 4);
        if (bytes <= buffer->bytes()) continue;
        auto made = session_.owned().make_buffer(bytes, MemoryKind::device);
        if (!made) return tl::unexpected(made.error());
        *buffer = std::move(*made);
    }
    const std::uint64_t input_bytes = bytes_needed(plan, Role::input, count);
    vulkan::Buffers buffers{.input = input_.range(0, std::max<std::uint64_t>(input_bytes, 4)),
                            .output = output_.range()};
    if (plan.argument(Role::scratch) != nullptr) buffers.scratch = scratch_.range();
    auto binding = executable->bind(buffers, count);
    if (!binding) return tl::unexpected(binding.error());

    Case made;
    made.plan = std::move(plan);
    made.record = [use = std::make_shared<vulkan::Binding>(std::move(*binding))](
                      VkCommandBuffer commands) { use->record(commands); };
    made.poison = [this] {
        return session_.owned().run([this](VkCommandBuffer commands) {
            session_.owned().vk().CmdFillBuffer(commands, output_.get(), 0, VK_WHOLE_SIZE,
                                                0xa5a5a5a5);
        });
    };
    made.check = [this, count, output_bytes, matches = std::move(matches)](std::string& why) {
        return check(count, output_bytes, matches, why);
    };
    return made;
}

Result<bool> ArrayWorkload::check(std::uint64_t count, std::uint64_t output_bytes,
                                  const Matches& matches, std::string& why) {
    std::vector<std::byte> output(static_cast<std::size_t>(output_bytes));
    const auto done = session_.owned().download(output_, 0, output);
    if (!done) return tl::unexpected(done.error());
    // The serial reference takes longer than all the rest.
    if (known_count_ == count && known_output_ == output) return true;
    const auto bytes = static_cast<std::size_t>(count * size_of(request_.element));
    const bool right = matches(std::span<const std::byte>(data_).first(bytes), output, why);
    if (right) {
        known_count_ = count;
        known_output_ = std::move(output);
    }
    return right;
}

}  // namespace lanewise::bench
