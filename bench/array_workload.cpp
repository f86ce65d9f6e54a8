#include "bench/array_workload.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "bench/data.hpp"

namespace lanewise::bench {

Result<void> ArrayWorkload::upload() {
    return upload(hashed_data(request_.element, std::ranges::max(request_.sizes)));
}

Result<void> ArrayWorkload::upload(std::vector<std::byte> data) {
    data_ = std::move(data);
    // Kernels read whole words.
    auto input =
        session_.backend().make_memory(std::max<std::uint64_t>((data_.size() + 3) / 4 * 4, 4));
    if (!input) return tl::unexpected(input.error());
    input_ = std::move(*input);
    if (auto done = session_.backend().upload(*input_, data_); !done) return done;
    const std::uint32_t words = request_.value_bytes / 4;
    if (words == 0) return {};
    std::vector<std::uint32_t> values(std::ranges::max(request_.sizes) * words);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::uint32_t>(i / words);
    auto made = session_.backend().make_memory(std::max<std::uint64_t>(4 * values.size(), 4));
    if (!made) return tl::unexpected(made.error());
    values_ = std::move(*made);
    return session_.backend().upload(*values_, std::as_bytes(std::span(values)));
}

Result<Case> ArrayWorkload::make_case(Plan plan, std::uint64_t count, std::uint64_t output_bytes,
                                      Matches matches) {
    // These replace the last case's.
    for (const auto& [role, memory] :
         {std::pair{Role::output, &output_}, std::pair{Role::scratch, &scratch_},
          std::pair{Role::values_out, &values_out_}, std::pair{Role::count_out, &count_out_}}) {
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
    const bool has_values = plan.argument(Role::values_out) != nullptr;
    if (has_values) {
        if (plan.argument(Role::values) != nullptr)
            ranges.values = {values_.get(), values_->bytes()};
        ranges.values_out = {values_out_.get(), values_out_->bytes()};
    }
    if (plan.argument(Role::count_out) != nullptr)
        ranges.count_out = {count_out_.get(), count_out_->bytes()};
    auto use = session_.backend().prepare(plan, ranges, count);
    if (!use) return tl::unexpected(use.error());

    Case made;
    made.plan = std::move(plan);
    made.use = std::move(*use);
    made.poison = [this, ranges]() -> Result<void> {
        constexpr std::uint32_t kPoison = 0xa5a5a5a5;
        for (const Range& range : {ranges.values_out, ranges.count_out}) {
            if (range.memory == nullptr) continue;
            if (auto done = session_.backend().fill(*range.memory, kPoison); !done) return done;
        }
        return session_.backend().fill(*output_, kPoison);
    };
    made.check = [this, plan = made.plan, count, output_bytes, matches = std::move(matches)](
                     std::string& why) { return check(plan, count, output_bytes, matches, why); };
    return made;
}

Result<bool> ArrayWorkload::check(const Plan& plan, std::uint64_t count, std::uint64_t output_bytes,
                                  const Matches& matches, std::string& why) {
    const std::uint64_t values_bytes = bytes_needed(plan, Role::values_out, count);
    Outputs outputs;
    if (plan.argument(Role::count_out) != nullptr) {
        std::uint32_t told = 0;
        const auto bytes = std::as_writable_bytes(std::span(&told, 1));
        if (const auto done = session_.backend().download(*count_out_, bytes); !done)
            return tl::unexpected(done.error());
        outputs.count = told;
    }
    outputs.output.resize(static_cast<std::size_t>(output_bytes));
    outputs.values.resize(static_cast<std::size_t>(values_bytes));
    if (const auto done = session_.backend().download(*output_, outputs.output); !done)
        return tl::unexpected(done.error());
    if (values_bytes != 0) {
        if (const auto done = session_.backend().download(*values_out_, outputs.values); !done)
            return tl::unexpected(done.error());
    }
    // The serial reference takes longer than all the rest.
    if (known_count_ == count && known_outputs_ == outputs) return true;
    const auto bytes = static_cast<std::size_t>(count * size_of(request_.element));
    const bool right = matches(std::span<const std::byte>(data_).first(bytes), outputs, why);
    if (right) {
        known_count_ = count;
        known_outputs_ = std::move(outputs);
    }
    return right;
}

}  // namespace lanewise::bench
