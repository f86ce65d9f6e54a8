// Runs a plan on a device the way an application does, with all that can be checked around it:
// poisoned outputs and scratch, guard bytes on both sides of every buffer, an input and values that
// must stay as they were (but for what an output in place covers, and where the plan writes them),
// and timestamps of every pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanewise/plan.hpp"
#include "tests/support/test_device.hpp"

namespace lanewise::test {

inline constexpr std::size_t kGuardBytes = 256;
inline constexpr std::uint32_t kPoison = 0xdeadbeef;

// A range of memory with guards on both sides.
class GuardedBuffer {
public:
    GuardedBuffer() = default;
    // The range may be up to `bytes` long and begins `extra_offset` bytes after a multiple of 256.
    GuardedBuffer(TestDevice& device, std::size_t bytes, std::size_t extra_offset = 0);

    // Fills the whole memory: guards everywhere, then `contents` at the range's begin.
    void reset(std::span<const std::byte> contents);
    void reset_poisoned(std::size_t bytes);
    // What lies in the range now, `bytes` long.
    std::vector<std::byte> read(std::size_t bytes) const;
    // Adds a failure where a byte outside of the first `bytes` of the range has changed.
    void expect_guards(std::size_t bytes, const char* name) const;

    TestRange range(std::size_t bytes) const { return {memory_.get(), offset_, bytes}; }
    std::size_t capacity() const { return capacity_; }

private:
    std::unique_ptr<TestMemory> memory_;
    std::size_t offset_ = 0;
    std::size_t capacity_ = 0;
    std::vector<std::byte> pattern_;
};

struct RunOptions {
    // The count is read from a buffer; count_value (where set) is what stands there, whatever the
    // number of elements in the data.
    bool count_in_buffer = false;
    std::optional<std::uint64_t> count_value;
    bool secondary = false;  // recorded into a secondary command buffer
    bool timestamps = true;  // where the device has them
    // The output is the input, the same range: for plans that are in_place.
    bool in_place = false;
    // Of segments, for plans that read them; as long as they are.
    std::span<const std::uint32_t> offsets;
    // Beside the items, for plans that have them: what their memory begins with.
    std::span<const std::byte> flags;
    std::span<const std::byte> keys;
};

// As bound: for a count on the host what that count needs, else what the most items need. What no
// use may write is still poison there.
struct RunResult {
    std::vector<std::byte> output;
    std::vector<std::byte> values_out;
    std::vector<std::uint32_t> offsets;  // that the plan wrote
    std::vector<std::byte> rejected;
    std::optional<std::uint32_t> count_out;
};

class PlanRunner {
public:
    // Prepares the plan, which must be of the tier that it names; adds a failure where that does
    // not work, and is false then.
    PlanRunner(TestDevice& device, Plan plan);
    explicit operator bool() const { return executable_ != nullptr; }

    const Plan& plan() const { return plan_; }

    // Runs it with `count` items. The input's memory begins with `contents`, of which the items are
    // the first; the rest is whatever the caller finds hostile. Returns the output; in place what
    // no use may write is still what `contents` say, past whose end the output does not reach.
    // Empty, with a failure added, where something went wrong.
    std::vector<std::byte> run(std::span<const std::byte> contents, std::uint64_t count,
                               const RunOptions& options = {});
    // The same with values beside the keys: `values` is what their memory begins with. Where the
    // plan's result is in the input, that and the values are returned. What the plan has not is
    // empty.
    RunResult run_with_values(std::span<const std::byte> keys, std::span<const std::byte> values,
                              std::uint64_t count, const RunOptions& options = {});

    // Bytes of the role that a use binds: no byte more than it needs. A count in a buffer may be
    // anything.
    std::size_t bound_bytes(Role role, std::uint64_t count, bool count_in_buffer) const;
    // The passes that a use has, by the plan.
    std::vector<std::string> expected_passes(bool count_in_buffer) const;

private:
    bool writes_offsets() const;
    // Adds a failure where a use of `count` items changed what it may not.
    void expect_unchanged(Role role, std::span<const std::byte> contents,
                          std::uint64_t count) const;

    TestDevice* device_;
    Plan plan_;
    std::shared_ptr<TestExecutable> executable_;
    GuardedBuffer input_, output_, scratch_, values_, values_out_, offsets_, count_;
    GuardedBuffer flags_, keys_, rejected_, count_out_;
};

// Plain, unguarded memory for one use: for tests that need no more.
struct PlainUse {
    std::unique_ptr<TestMemory> input, output, scratch, values, values_out, offsets, flags, keys,
        rejected, count_out, count;
    TestBuffers buffers(const Plan& plan) const;
    TestRange count_range(const Plan& plan) const;
};
PlainUse make_plain_use(TestDevice& device, const Plan& plan);

std::vector<std::byte> poison(std::size_t bytes);

}  // namespace lanewise::test
