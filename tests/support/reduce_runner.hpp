// Runs a reduction on a device the way an application does, with all that can be checked around it:
// poisoned output and scratch, guard bytes on both sides of every buffer, elements past the end
// that spoil the answer, an input that must stay as it was, and timestamps of every pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/vulkan.hpp"
#include "tests/support/gpu_test.hpp"

namespace lanewise::test {

inline constexpr std::size_t kGuardBytes = 256;
inline constexpr std::uint32_t kPoison = 0xdeadbeef;

// A range of a buffer with guards on both sides.
class GuardedBuffer {
public:
    GuardedBuffer() = default;
    // The range may be up to `bytes` long and begins `extra_offset` bytes after a multiple of 256.
    GuardedBuffer(const OwnedDevice& device, std::size_t bytes, std::size_t extra_offset = 0);

    // Fills the whole buffer: guards everywhere, then `contents` at the range's begin.
    void reset(std::span<const std::byte> contents);
    void reset_poisoned(std::size_t bytes);
    // What lies in the range now, `bytes` long.
    std::vector<std::byte> read(std::size_t bytes) const;
    // Adds a failure where a byte outside of the first `bytes` of the range has changed.
    void expect_guards(std::size_t bytes, const char* name) const;

    vulkan::Buffer range(std::size_t bytes) const { return buffer_.range(offset_, bytes); }
    std::size_t capacity() const { return capacity_; }
    std::size_t offset() const { return offset_; }
    const OwnedBuffer& owned() const { return buffer_; }

private:
    const OwnedDevice* device_ = nullptr;
    OwnedBuffer buffer_;
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
};

class ReduceRunner {
public:
    // Plans and compiles; adds a failure where that does not work, and is false then.
    ReduceRunner(Rig& rig, const ReduceDesc& desc);
    ReduceRunner(Rig& rig, const ReduceDesc& desc, const Caps& caps);
    explicit operator bool() const { return executable_.has_value(); }

    const Plan& plan() const { return plan_; }
    const ReduceDesc& desc() const { return desc_; }
    const vulkan::Executable& executable() const { return *executable_; }
    Rig& rig() const { return *rig_; }

    // The result's bytes; empty, with a failure added, where something went wrong.
    std::vector<std::byte> run(std::span<const std::byte> data, const RunOptions& options = {});
    // The same, held against the reference.
    void expect_right(std::span<const std::byte> data, const RunOptions& options = {});
    // Holds `result` against the reference for `data`.
    void expect_matches(std::span<const std::byte> data, std::span<const std::byte> result) const;

    // The passes that a use has, by the plan.
    std::vector<std::string> expected_passes(bool count_in_buffer) const;

private:
    void make_buffers();

    Rig* rig_;
    ReduceDesc desc_;
    Plan plan_;
    std::optional<vulkan::Executable> executable_;
    GuardedBuffer input_, output_, scratch_, count_;
};

// The strategies that a sum of u32 can have on a device with these caps.
std::vector<ReduceStrategy> sum_strategies(const Caps& caps);

// Makes what a reduction wrote visible to the host, and to a copy that reads it back.
void record_readback_barrier(const OwnedDevice& device, VkCommandBuffer cmd);
// Between two uses that share buffers, as Binding::record demands it.
void record_reuse_barrier(const OwnedDevice& device, VkCommandBuffer cmd);

// Plain, unguarded buffers for one use: for tests of the host that need no more.
struct UseBuffers {
    OwnedBuffer input, output, scratch, count;
    vulkan::Buffers buffers(const Plan& plan) const;
    vulkan::CountBuffer count_buffer() const { return {count.get(), 0, count.address()}; }
};
UseBuffers make_use_buffers(const OwnedDevice& device, const Plan& plan);

}  // namespace lanewise::test
