// What a SPIR-V module holds, as far as tests ask: its capabilities and its subgroup operations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lanewise/caps.hpp"

namespace lanewise::test {

struct SpirvFacts {
    bool well_formed = false;
    std::set<std::uint32_t> capabilities;
    // Opcodes of subgroup instructions (OpGroupNonUniform*, and the older OpGroup* and ballot
    // forms), in the order in which they stand.
    std::vector<std::uint32_t> group_operations;
    std::uint32_t control_barriers = 0;
};

// OpGroupNonUniformElect (333) to OpGroupNonUniformQuadSwap (366); later ones: rotate (4431), the
// quad votes (5110, 5111), partition (5296); OpGroup* of OpenCL and of SPV_KHR_shader_ballot and
// SPV_KHR_subgroup_vote.
inline bool is_group_operation(std::uint32_t opcode) {
    return (opcode >= 333 && opcode <= 366) || (opcode >= 259 && opcode <= 271) ||
           (opcode >= 4421 && opcode <= 4432) || opcode == 5110 || opcode == 5111 || opcode == 5296;
}

// GroupNonUniform (61) to GroupNonUniformQuad (68), Groups (18), and the extensions' forms.
inline bool is_group_capability(std::uint32_t capability) {
    return (capability >= 61 && capability <= 68) || capability == 18 || capability == 4423 ||
           capability == 4431 || capability == 5297 || capability == 6026;
}

inline SpirvFacts scan_spirv(std::span<const std::uint32_t> words) {
    constexpr std::uint32_t kMagic = 0x07230203;
    constexpr std::uint32_t kOpCapability = 17;
    constexpr std::uint32_t kOpControlBarrier = 224;
    SpirvFacts facts;
    if (words.size() < 5 || words[0] != kMagic) return facts;
    std::size_t at = 5;
    while (at < words.size()) {
        const std::uint32_t length = words[at] >> 16;
        const std::uint32_t opcode = words[at] & 0xffff;
        if (length == 0 || at + length > words.size()) return facts;
        if (opcode == kOpCapability && length == 2) facts.capabilities.insert(words[at + 1]);
        if (opcode == kOpControlBarrier) ++facts.control_barriers;
        if (is_group_operation(opcode)) facts.group_operations.push_back(opcode);
        at += length;
    }
    facts.well_formed = true;
    return facts;
}

// What `caps` lack of a SPIR-V capability, in words; empty: nothing. A capability that Caps say
// nothing about is never allowed: no plan could have known that it is there.
inline std::string missing_for_capability(std::uint32_t capability, const Caps& caps) {
    const auto unless = [](bool there, const char* what) {
        return there ? std::string() : std::string(what);
    };
    const auto operation = [&](std::uint32_t bit, const char* what) {
        return unless(
            (caps.subgroup.operations & bit) != 0 && (caps.subgroup.stages & Stage::compute) != 0,
            what);
    };
    switch (capability) {
        case 0:  // Matrix
        case 1:  // Shader
            return {};
        case 9: return unless(caps.types.float16, "types.float16");
        case 10: return unless(caps.types.float64, "types.float64");
        case 11: return unless(caps.types.int64, "types.int64");
        case 12: return unless(caps.int64_atomics, "int64_atomics");
        case 22: return unless(caps.types.int16, "types.int16");
        case 39: return unless(caps.types.int8, "types.int8");
        case 61: return operation(SubgroupOperation::basic, "subgroup operation basic");
        case 62: return operation(SubgroupOperation::vote, "subgroup operation vote");
        case 63: return operation(SubgroupOperation::arithmetic, "subgroup operation arithmetic");
        case 64: return operation(SubgroupOperation::ballot, "subgroup operation ballot");
        case 65: return operation(SubgroupOperation::shuffle, "subgroup operation shuffle");
        case 66:
            return operation(SubgroupOperation::shuffle_relative,
                             "subgroup operation shuffle_relative");
        case 67: return operation(SubgroupOperation::clustered, "subgroup operation clustered");
        case 68: return operation(SubgroupOperation::quad, "subgroup operation quad");
        case 4433:
        case 4434: return unless(caps.types.storage16, "types.storage16");
        case 4448:
        case 4449: return unless(caps.types.storage8, "types.storage8");
        case 5345: return unless(caps.memory_model, "memory_model");
        case 5346: return unless(caps.memory_model, "memory_model");
        case 5347: return unless(caps.device_addresses, "device_addresses");
        default: return "capability " + std::to_string(capability) + ", which Caps do not describe";
    }
}

// The newest SPIR-V that a Vulkan version takes, as in a module's header.
inline std::uint32_t newest_spirv(std::uint32_t api_major, std::uint32_t api_minor) {
    if (api_major > 1 || api_minor >= 3) return 0x00010600;
    return api_minor == 2 ? 0x00010500 : 0x00010300;
}

}  // namespace lanewise::test
