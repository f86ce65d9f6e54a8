// Plan: how a primitive will run on a device, as plain data: buffers, passes, kernel constants.
// Made by plan_<algorithm>(Caps, Desc) with no GPU; executed by a host, which knows no algorithm.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lanewise/caps.hpp"
#include "lanewise/custom.hpp"

namespace lanewise {

// What a buffer is to a primitive. `state` and `count` are not named by the caller in Buffers:
// state belongs to the binding, count is given as a CountBuffer.
enum class Role : std::uint8_t {
    input,
    output,
    scratch,  // working memory; contents need not be set and are undefined afterwards
    state,    // zeroed when bound, left zeroed by each use; belongs to the binding
    count,    // one u32 (u64 where the plan uses device addresses): the number of items
    values,   // what travels with the items of the input
    values_out,
    // Where segments or buckets begin: a u32 for each, and one for the end of the last. One that
    // the plan reads is as long as the caller's range is, which says how many there are.
    offsets,
    flags,      // beside each item: whether it is kept, or whether a segment begins with it
    keys,       // beside each item: a segment ends where the key changes
    rejected,   // what a select leaves out, in order
    count_out,  // written: one u32, the number of results
};

struct BufferUsage {
    enum : std::uint32_t {
        storage = 1u << 0,
        indirect = 1u << 1,        // read as dispatch arguments
        device_address = 1u << 2,  // bound by address
        copy_source = 1u << 3,     // read by copies (WebGPU, in the place of indirect)
    };
};

enum class Access : std::uint8_t { read, write, read_write };

struct Argument {
    Role role = Role::input;
    std::uint64_t bytes = 0;      // at least this many, for the plan's max_count
    std::uint32_t alignment = 1;  // of offset or address, in bytes
    std::uint32_t usages = 0;     // BufferUsage bits
    Access access = Access::read;

    bool operator==(const Argument&) const = default;
};

// How buffers reach the kernels.
enum class Addressing : std::uint8_t { descriptor, device_address };

// Which text of a kernel runs: with subgroup operations, or with barriers alone.
enum class Form : std::uint8_t { subgroup, barrier };

// How `count` items are shared out over workgroups. A tile is what a workgroup handles at a time;
// workgroup g takes tiles [g * tiles_per_group, (g + 1) * tiles_per_group): contiguous, so that
// order is kept. No dispatch has more than max_groups workgroups nor more than
// max_tiles_per_dispatch tiles.
struct Share {
    std::uint32_t tile_items = 1;
    std::uint32_t max_groups = 1;
    std::uint32_t max_tiles_per_dispatch = ~0u;

    bool operator==(const Share&) const = default;
};

// A Share applied to a count. The kernels repeat this arithmetic (kernels/tile/share.glsl).
struct Launch {
    std::uint64_t count = 0;
    std::uint32_t tiles = 0;            // ceil(count / tile_items)
    std::uint32_t tiles_per_group = 1;  // at least 1
    std::uint32_t groups = 1;           // at least 1: the empty input has a workgroup, too
    std::uint32_t dispatches = 1;       // ceil(groups / max_groups)

    bool operator==(const Launch&) const = default;
};

// Precondition: count is at most the max_count of the plan that holds `share`.
Launch share_out(const Share& share, std::uint64_t count);

// How many workgroups a pass has.
enum class Groups : std::uint8_t {
    one,    // a single workgroup
    share,  // Launch::groups, in Launch::dispatches dispatches
};

enum class When : std::uint8_t {
    always,
    count_in_buffer,  // only in uses whose count is in a buffer
};

// A specialisation constant (Vulkan) or plain constant (WGSL) of a kernel.
struct Constant {
    std::uint32_t id = 0;
    std::string name;
    std::uint32_t value = 0;

    bool operator==(const Constant&) const = default;
};

// What a pass has under a binding number: a buffer, or a range of it.
struct PassBuffer {
    Role role = Role::input;
    std::uint64_t offset = 0;  // of scratch alone; a multiple of 256
    std::uint64_t bytes = 0;   // 0: all of the buffer

    PassBuffer() = default;
    PassBuffer(Role whole) : role(whole) {}  // NOLINT(google-explicit-constructor)
    PassBuffer(Role part, std::uint64_t part_offset, std::uint64_t part_bytes)
        : role(part), offset(part_offset), bytes(part_bytes) {}
    bool operator==(const PassBuffer&) const = default;
};

struct Pass {
    std::string name;    // e.g. "reduce_tiles": the kernel's file, the debug label, the timestamp
    std::string kernel;  // catalogue name, e.g. "reduce_tiles.subgroup.e32_a32.descriptor"
    Form form = Form::barrier;
    std::uint32_t workgroup_size = 1;
    std::uint32_t required_subgroup_size = 0;  // 0: none required
    bool full_subgroups = false;               // required of the pipeline
    std::vector<Constant> constants;
    std::vector<PassBuffer> bindings;  // by binding number
    Groups groups = Groups::one;
    When when = When::always;
    bool waits = false;  // reads what the pass before it wrote: a memory barrier stands between
    std::uint32_t workgroup_memory = 0;  // bytes
    std::uint32_t barriers = 0;          // control barriers that an invocation meets, at most

    bool operator==(const Pass&) const = default;
};

struct Plan {
    std::string primitive;  // "reduce"
    std::string summary;    // what is computed, e.g. "sum of u32 into u32"
    Tier tier = Tier::barrier;
    std::string reason;  // why this tier, and what the tiers above it lack
    std::string policy;  // the policy as text
    Addressing addressing = Addressing::descriptor;
    std::uint64_t max_count = 0;
    std::uint32_t element_bytes = 0;  // bytes of one input element
    std::uint32_t result_bytes = 0;   // bytes of one output for each item; 0: the output is one
    std::uint32_t value_bytes = 0;    // bytes of one of the values; 0: there are none
    std::uint32_t flag_bits = 0;      // bits of one of the flags or keys; 0: there are none
    // Most outputs (and values_out), where they may be fewer than items.
    std::optional<std::uint64_t> max_results;
    // Bytes of one output for each segment, of which there is one fewer than the range of offsets
    // has numbers; the output has room for those of the most segments. 0: outputs go by items.
    std::uint32_t segment_result_bytes = 0;
    Share share;
    // input, output, values, values_out, offsets and scratch, as there are, for the caller to
    // provide; requirements() by another name.
    std::vector<Argument> arguments;
    std::uint32_t state_bytes = 0;  // of the binding's own state; 0: none
    bool in_place = false;          // the output may be the input, as the same range
    // Where the result is: output (and values_out), or input (and values) where a sort says so.
    Role result = Role::output;
    // Where in scratch the arguments of indirect dispatches stand: 16 bytes for each dispatch
    // (x, y, z, unused), written by the pass count_to_groups.
    std::uint64_t indirect_offset = 0;
    std::vector<Pass> passes;
    // Whose kernels are not built in but compiled (lanewise/jit.hpp) or in a bundle.
    std::optional<CustomOperator> custom;

    const std::vector<Argument>& requirements() const { return arguments; }
    // Null when the plan has no such argument.
    const Argument* argument(Role role) const;

    bool operator==(const Plan&) const = default;
};

// Bytes of `role` that a use with `count` items touches; at most argument(role)->bytes.
std::uint64_t bytes_needed(const Plan& plan, Role role, std::uint64_t count);

const char* to_text(Role role);
// "scratch", or "scratch[256, +1024]" of a range: its offset and bytes.
std::string to_text(const PassBuffer& buffer);
const char* to_text(Addressing addressing);
const char* to_text(Form form);
const char* to_text(Groups groups);
const char* to_text(When when);
const char* to_text(Access access);
std::string usages_to_text(std::uint32_t usages);

// Several lines, for people and golden files.
std::string to_text(const Plan& plan);
// The same facts as a JSON object.
std::string plan_to_json(const Plan& plan);

}  // namespace lanewise
