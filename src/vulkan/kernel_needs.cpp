#include "src/vulkan/kernel_needs.hpp"

namespace lanewise::vulkan::detail {

namespace {

// From the SPIR-V specification.
constexpr std::size_t kHeaderWords = 5;
constexpr std::uint32_t kOpCapability = 17;
enum Capability : std::uint32_t {
    float16 = 9,
    float64 = 10,
    int64 = 11,
    int64_atomics = 12,
    int16 = 22,
    int8 = 39,
    group_non_uniform = 61,
    group_non_uniform_vote = 62,
    group_non_uniform_arithmetic = 63,
    group_non_uniform_ballot = 64,
    group_non_uniform_shuffle = 65,
    group_non_uniform_shuffle_relative = 66,
    group_non_uniform_clustered = 67,
    group_non_uniform_quad = 68,
    storage16 = 4433,
    storage8 = 4448,
    memory_model = 5345,
    memory_model_device_scope = 5346,
    physical_storage_buffer_addresses = 5347,
};

// Name of what is missing; null when the capability is met, or is none that a device may lack.
const char* missing_for_capability(std::uint32_t capability, const Caps& caps) {
    const auto unless = [](bool met, const char* name) { return met ? nullptr : name; };
    const auto operation = [&](std::uint32_t bit, const char* name) {
        return unless(
            (caps.subgroup.operations & bit) != 0 && (caps.subgroup.stages & Stage::compute) != 0,
            name);
    };
    switch (capability) {
        case float16: return unless(caps.types.float16, "shaderFloat16");
        case float64: return unless(caps.types.float64, "shaderFloat64");
        case int64: return unless(caps.types.int64, "shaderInt64");
        case int64_atomics: return unless(caps.int64_atomics, "shaderBufferInt64Atomics");
        case int16: return unless(caps.types.int16, "shaderInt16");
        case int8: return unless(caps.types.int8, "shaderInt8");
        case group_non_uniform:
            return operation(SubgroupOperation::basic, "subgroup operations in compute");
        case group_non_uniform_vote: return operation(SubgroupOperation::vote, "subgroup vote");
        case group_non_uniform_arithmetic:
            return operation(SubgroupOperation::arithmetic, "subgroup arithmetic");
        case group_non_uniform_ballot:
            return operation(SubgroupOperation::ballot, "subgroup ballot");
        case group_non_uniform_shuffle:
            return operation(SubgroupOperation::shuffle, "subgroup shuffle");
        case group_non_uniform_shuffle_relative:
            return operation(SubgroupOperation::shuffle_relative, "subgroup shuffle_relative");
        case group_non_uniform_clustered:
            return operation(SubgroupOperation::clustered, "subgroup clustered");
        case group_non_uniform_quad: return operation(SubgroupOperation::quad, "subgroup quad");
        case storage16: return unless(caps.types.storage16, "storageBuffer16BitAccess");
        case storage8: return unless(caps.types.storage8, "storageBuffer8BitAccess");
        case memory_model:
        case memory_model_device_scope:
            return unless(caps.memory_model, "vulkanMemoryModel with device scope");
        case physical_storage_buffer_addresses:
            return unless(caps.device_addresses, "bufferDeviceAddress");
        default: return nullptr;
    }
}

}  // namespace

std::string missing_for_kernel(std::span<const std::uint32_t> words, const Caps& caps) {
    // Capabilities stand first in a module.
    for (std::size_t at = kHeaderWords; at + 1 < words.size();) {
        const std::uint32_t opcode = words[at] & 0xffff;
        if (opcode != kOpCapability) break;
        if (const char* missing = missing_for_capability(words[at + 1], caps)) return missing;
        at += words[at] >> 16;
    }
    return {};
}

}  // namespace lanewise::vulkan::detail
