// Runs a reduction on a device with all that PlanRunner checks, elements past the end that spoil
// the answer, and the reference beside it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/plan_runner.hpp"

namespace lanewise::test {

class ReduceRunner {
public:
    // Plans and compiles; adds a failure where that does not work, and is false then.
    ReduceRunner(TestDevice& device, const ReduceDesc& desc);
    ReduceRunner(TestDevice& device, const ReduceDesc& desc, const Caps& caps);
    explicit operator bool() const { return runner_ && *runner_; }

    const Plan& plan() const { return runner_->plan(); }

    // The result's bytes; empty, with a failure added, where something went wrong.
    std::vector<std::byte> run(std::span<const std::byte> data, const RunOptions& options = {});
    // The same, held against the reference.
    void expect_right(std::span<const std::byte> data, const RunOptions& options = {});
    // Holds `result` against the reference for `data`.
    void expect_matches(std::span<const std::byte> data, std::span<const std::byte> result) const;

private:
    ReduceDesc desc_;
    std::optional<PlanRunner> runner_;
};

// The strategies that every type and operator can have on a device with these caps.
std::vector<ReduceStrategy> reduce_strategies(const Caps& caps);
// Those that a sum of u32 can have.
std::vector<ReduceStrategy> sum_strategies(const Caps& caps);

// Plain Vulkan buffers for one use: for tests of that host.
struct UseBuffers {
    OwnedBuffer input, output, scratch, values, values_out, offsets, flags, keys, rejected,
        count_out, count;
    vulkan::Buffers buffers(const Plan& plan) const;
    vulkan::CountBuffer count_buffer() const { return {count.get(), 0, count.address()}; }
};
UseBuffers make_use_buffers(const OwnedDevice& device, const Plan& plan);

}  // namespace lanewise::test
