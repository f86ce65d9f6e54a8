// Caps: what a device can do, as plain data. A plan is made from Caps alone, so that planning needs
// no GPU: Caps come from Device::caps() (what the API says), from Device::probe() (what the device
// showed to be true), or from JSON (a described device).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "lanewise/error.hpp"

namespace lanewise {

enum class Api : std::uint8_t { none, vulkan, webgpu, simulator };

// Which kernel a plan uses and what the kernel may assume.
enum class Tier : std::uint8_t {
    pinned,    // subgroup kernel; the API fixes the subgroup size and promises full subgroups
               // (WebGPU: the size alone)
    portable,  // subgroup kernel; size read in the shader, subgroups may be partial
    barrier,   // workgroup memory and barriers only: no subgroup operation at all
};

// Bits of SubgroupCaps::operations (VkSubgroupFeatureFlagBits without the vendor bits).
struct SubgroupOperation {
    enum : std::uint32_t {
        basic = 1u << 0,
        vote = 1u << 1,
        arithmetic = 1u << 2,
        ballot = 1u << 3,
        shuffle = 1u << 4,
        shuffle_relative = 1u << 5,
        clustered = 1u << 6,
        quad = 1u << 7,
    };
};

// Bits of the stage masks in SubgroupCaps.
struct Stage {
    enum : std::uint32_t {
        vertex = 1u << 0,
        tessellation_control = 1u << 1,
        tessellation_evaluation = 1u << 2,
        geometry = 1u << 3,
        fragment = 1u << 4,
        compute = 1u << 5,
        task = 1u << 6,
        mesh = 1u << 7,
    };
};

struct SubgroupCaps {
    std::uint32_t operations = 0;  // SubgroupOperation bits; 0: no subgroups
    std::uint32_t stages = 0;      // Stage bits in which they may be used
    // Size that the API reports (not a promise before size control); 0: none, where it has several.
    std::uint32_t size = 0;
    std::uint32_t min_size = 0;  // smallest and largest size that a pipeline may get; powers of two
    std::uint32_t max_size = 0;
    // The shader's built-in subgroup size is the true one: SPIR-V 1.6, or the varying-size flag of
    // VK_EXT_subgroup_size_control. Without it the built-in repeats `size`, true or not (Vulkan
    // spec, SubgroupSize built-in).
    bool size_is_true = false;
    std::uint32_t required_size_stages = 0;  // Stage bits in which a size can be required
    bool full_subgroups = false;  // full subgroups can be required (computeFullSubgroups)
    std::uint32_t max_workgroup_subgroups = 0;  // subgroups per workgroup when a size is required
    bool extended_types = false;                // operations on 8, 16 and 64 bit types

    bool operator==(const SubgroupCaps&) const = default;
};

struct Limits {
    std::uint32_t max_workgroup_invocations = 0;  // in total
    std::uint32_t max_workgroup_size_x = 0;
    std::uint32_t max_workgroup_memory = 0;  // bytes of shared memory per workgroup
    std::uint32_t max_groups_x = 0;          // workgroups per dispatch, by dimension
    std::uint32_t max_groups_y = 0;
    std::uint32_t max_groups_z = 0;
    std::uint32_t max_storage_buffers = 0;       // per shader stage
    std::uint64_t max_storage_range = 0;         // bytes of one storage-buffer binding
    std::uint32_t storage_offset_alignment = 0;  // bytes
    std::uint32_t max_push_constants = 0;        // bytes

    bool operator==(const Limits&) const = default;
};

struct Types {
    bool int64 = false;
    bool float64 = false;
    bool float16 = false;
    bool int8 = false;
    bool int16 = false;
    bool storage8 = false;
    bool storage16 = false;

    bool operator==(const Types&) const = default;
};

enum class ForwardProgress : std::uint8_t {
    unknown,     // a waiting workgroup may keep the one it waits for from running
    guaranteed,  // by the quirk table: no API can be asked
};

enum class ProbeState : std::uint8_t { not_run, passed, failed };

// What a device can do, as *enabled*: a feature that the device has but the application did not
// enable is false here.
struct Caps {
    Api api = Api::none;
    std::string device_name;
    std::string driver;           // driver name and version, as the driver words it
    std::uint32_t vendor_id = 0;  // PCI vendor, or the Khronos vendor id of a software driver
    std::uint32_t device_id = 0;
    std::uint32_t driver_version = 0;
    std::uint32_t api_version_major =
        0;  // version usable: the lower of instance, device, application
    std::uint32_t api_version_minor = 0;
    bool cpu_device = false;  // a software driver

    SubgroupCaps subgroup;
    Limits limits;
    Types types;

    bool device_addresses = false;  // buffers by 64-bit address (bufferDeviceAddress)
    bool push_descriptors = false;
    // One workgroup can publish plain memory writes to another in the same dispatch: a memory
    // barrier of device scope exists (every Vulkan; not WGSL, whose barriers reach one workgroup).
    bool device_scope_barrier = false;
    bool memory_model = false;         // vulkanMemoryModel with device scope
    bool int64_atomics = false;        // in storage buffers (shaderBufferInt64Atomics)
    bool timestamps = false;           // on the queue family in use
    double timestamp_period_ns = 0.0;  // nanoseconds per timestamp tick
    ForwardProgress forward_progress = ForwardProgress::unknown;

    ProbeState probe = ProbeState::not_run;
    std::string probe_report;  // one line: what the self-test saw

    bool operator==(const Caps&) const = default;
};

const char* to_text(Api api);
const char* to_text(Tier tier);
const char* to_text(ForwardProgress progress);
const char* to_text(ProbeState state);
// "basic vote arithmetic ...", or "none".
std::string operations_to_text(std::uint32_t operations);
std::string stages_to_text(std::uint32_t stages);

// JSON, two-space indented, every field by its C++ name. caps_from_json(caps_to_json(c)) == c.
std::string caps_to_json(const Caps& caps);
// Missing fields keep their defaults; an unknown field, a wrong type or impossible value
// (a size that is no power of two, min above max) is an error that names it.
Result<Caps> caps_from_json(std::string_view text);

}  // namespace lanewise
