#include "bench/array_workload.hpp"

#include <algorithm>
#include <memory>

#include "bench/data.hpp"

namespace lanewise::bench {

Result<void> ArrayWorkload::upload() {
    data_ = hashed_data(request_.element, std::ranges::max(request_.sizes));
    // Kernels read whole words.
    auto input =
        session_.backend().make_memory(std::max<std::uint64_t>((data_.size() + 3) / 4 * 4, 4));
    if (!input) return tl::unexpected(input.error());
    input_ = std::move(*input);
    return session_.backend().upload(*input_, data_);
}

Result<Case> ArrayWorkload::make_case(Plan plan, std::uint64_t count, std::uint64_t output_bytes,
                                      Matches matches) {
    // These replace the last case's.
    for (const auto& [role, memory] :
         {std::pair{Role::output, &output_}, std::pair{Role::scratch, &scratch_}}) {
        const Argument* argument = plan.argument(role);
        const std::uint64_t bytes =
            argument == nullptr ? 0 : std::max<std::uint64_t>(argument->bytes, 4);
        if (bytes <= (*memory == nullptr ? 0 : (*memory)->bytes())) continue;
        auto made = session_.backend().make_memory(bytes);
        if (!made) return tl::unexpected(made.error());
        *memory = std::move(*made);
    }
    const std::uint64_t input_bytes = bytes_needed(plan, Role::input, count);
    Ranges ranges{.input = {input_.get(), std::max<std::uint64_t>(input_bytes, 4)},
                  .output = {output_.get(), output_->bytes()}};
    if (plan.argument(Role::scratch) != nullptr)
        ranges.scratch = {scratch_.get(), scratch_->bytes()};
    auto use = session_.backend().prepare(plan, ranges, count);
    if (!use) return tl::unexpected(use.error());

    Case made;
    made.plan = std::move(plan);
    made.use = std::move(*use);
    made.poison = [this] { return session_.backend().fill(*output_, 0xa5a5a5a5); };
    made.check = [this, count, output_bytes, matches = std::move(matches)](std::string& why) {
        return check(count, output_bytes, matches, why);
    };
    return made;
}

Result<bool> ArrayWorkload::check(std::uint64_t count, std::uint64_t output_bytes,
                                  const Matches& matches, std::string& why) {
    std::vector<std::byte> output(static_cast<std::size_t>(output_bytes));
    const auto done = session_.backend().download(*output_, output);
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
