// reduce for `lanewise bench`.
#include <fmt/format.h>

#include <algorithm>

#include "bench/data.hpp"
#include "bench/harness.hpp"
#include "lanewise/reduce.hpp"
#include "primitives/reduce/reduce_reference.hpp"

namespace lanewise::bench {
namespace {

using vulkan::detail::MemoryKind;
using vulkan::detail::OwnedBuffer;

class ReduceWorkload final : public Workload {
public:
    ReduceWorkload(Session& session, const Request& request)
        : session_(session), request_(request) {
        desc_.element = request.element;
        desc_.op = request.op;
        desc_.accumulator = request.accumulator;
        desc_.determinism = request.determinism;
    }

    Result<void> upload() {
        const std::uint64_t most = std::ranges::max(request_.sizes);
        data_ = hashed_data(request_.element, most);
        // Kernels read whole words.
        auto input = session_.owned().make_buffer(
            std::max<std::uint64_t>((data_.size() + 3) / 4 * 4, 4), MemoryKind::device);
        if (!input) return tl::unexpected(input.error());
        input_ = std::move(*input);
        return session_.owned().upload(input_, 0, data_);
    }

    std::string accumulator() const override { return to_text(reduce_accumulator(desc_)); }

    Result<Case> prepare(std::uint64_t count, std::optional<Tier> tier) override {
        ReduceDesc desc = desc_;
        desc.max_count = count;
        desc.tier = tier;
        auto plan = plan_reduce(session_.caps(), desc);
        if (!plan) return tl::unexpected(plan.error());
        auto executable = session_.device().compile(*plan);
        if (!executable) return tl::unexpected(executable.error());

        // One case is alive at a time, so these replace the last one's.
        for (const auto& [role, buffer] :
             {std::pair{Role::output, &output_}, std::pair{Role::scratch, &scratch_}}) {
            const Argument* argument = plan->argument(role);
            const std::uint64_t bytes =
                argument == nullptr ? 0 : std::max<std::uint64_t>(argument->bytes, 4);
            if (bytes <= buffer->bytes()) continue;
            auto made = session_.owned().make_buffer(bytes, MemoryKind::device);
            if (!made) return tl::unexpected(made.error());
            *buffer = std::move(*made);
        }
        const std::uint64_t input_bytes = bytes_needed(*plan, Role::input, count);
        vulkan::Buffers buffers{.input = input_.range(0, std::max<std::uint64_t>(input_bytes, 4)),
                                .output = output_.range()};
        if (plan->argument(Role::scratch) != nullptr) buffers.scratch = scratch_.range();
        auto binding = executable->bind(buffers, count);
        if (!binding) return tl::unexpected(binding.error());

        Case made;
        made.plan = std::move(*plan);
        made.bytes = count * size_of(desc.element);
        made.record = [use = std::make_shared<vulkan::Binding>(std::move(*binding))](
                          VkCommandBuffer commands) { use->record(commands); };
        made.poison = [this, bytes = reduce_result_bytes(desc)] {
            const std::vector<std::byte> poison(bytes, std::byte{0xa5});
            return session_.owned().upload(output_, 0, poison);
        };
        made.check = [this, desc, depth = reduce_depth(made.plan, count)](std::string& why) {
            return check(desc, depth, why);
        };
        return made;
    }

private:
    Result<bool> check(const ReduceDesc& desc, std::uint64_t depth, std::string& why) {
        std::vector<std::byte> result(reduce_result_bytes(desc));
        const auto done = session_.owned().download(output_, 0, result);
        if (!done) return tl::unexpected(done.error());
        // The serial reference takes longer than all the rest.
        if (known_count_ == desc.max_count && known_result_ == result) return true;
        const std::span<const std::byte> data(data_);
        const auto bytes = static_cast<std::size_t>(desc.max_count * size_of(desc.element));
        const bool right = reduce_matches(desc, data.first(bytes), result, &why, depth);
        if (right) {
            known_count_ = desc.max_count;
            known_result_ = std::move(result);
        }
        return right;
    }

    Session& session_;
    Request request_;
    ReduceDesc desc_;
    std::vector<std::byte> data_;
    OwnedBuffer input_, output_, scratch_;
    // The last result that was found right, and for how many items.
    std::optional<std::uint64_t> known_count_;
    std::vector<std::byte> known_result_;
};

Result<std::unique_ptr<Workload>> open_reduce(Session& session, const Request& request) {
    auto workload = std::make_unique<ReduceWorkload>(session, request);
    if (const auto done = workload->upload(); !done) return tl::unexpected(done.error());
    return workload;
}

}  // namespace

const Primitive reduce_primitive{"reduce", open_reduce};

}  // namespace lanewise::bench
