// The simulator against drivers: every generated shader (generate_shaders.py says what they are and
// what keeps their results defined) runs on the Vulkan device and in the simulator with the
// device's subgroup size, from the same memory; all bytes of all buffers must be the same
// afterwards.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <spirv/unified1/GLSL.std.450.h>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <spirv/unified1/spirv.hpp11>
#include <string>
#include <utility>
#include <vector>

#include "lanewise/simulator.hpp"
#include "lanewise/vulkan.hpp"
#include "src/spirv/module.hpp"
#include "src/vulkan/functions.hpp"
#include "src/vulkan/gpu_owned_device.hpp"
#include "tests/simulator/support.hpp"
#include "tests/support/spirv_scan.hpp"

namespace lanewise::test {
namespace {

using simulator::ShaderInterface;
using vulkan::detail::MemoryKind;
using vulkan::detail::OwnedBuffer;
using vulkan::detail::OwnedDevice;

// Fewer would be a generator that has become poor, or a driver that lacks nearly everything.
constexpr std::size_t kFewestShaders = 200;
constexpr std::array<std::uint32_t, 3> kWorkgroups{3, 2, 1};
constexpr std::uint32_t kMostInvocations = 6 * 64;

// What the generator's shaders declare: see head() there.
constexpr std::uint32_t kWords = 0;
constexpr std::uint32_t kResults = 1;
constexpr std::uint32_t kTable = 3;
constexpr std::uint32_t kResultWords = 128;  // of an invocation
constexpr std::array<std::uint32_t, 4> kPush{2, 0xffffff85u, 11, 7};
constexpr std::uint32_t kBiasId = 3;
constexpr std::uint32_t kBias = 0xfffffff6u;

struct Module {
    std::string name;  // "017_flow": 17 is the seed
    std::vector<std::uint32_t> words;

    friend void PrintTo(const Module& module, std::ostream* out) { *out << module.name; }
};

std::vector<Module> modules() {
    const std::filesystem::path folder = LANEWISE_TEST_MODULES;
    std::ifstream list(folder / "modules.txt");
    std::vector<Module> made;
    for (std::string name; std::getline(list, name);)
        made.push_back({name, read_words(folder / (name + ".spv"))});
    return made;
}

// A driver, and what to run one dispatch on it takes.
class Driver {
public:
    static std::unique_ptr<Driver> create() {
        std::unique_ptr<Driver> made(new Driver);
        auto owned = OwnedDevice::create();
        if (!owned) {
            ADD_FAILURE() << "no device: " << owned.error().message;
            return nullptr;
        }
        made->owned_ = *std::move(owned);
        const vulkan::Adoption adoption = made->owned_->adoption();
        auto device = vulkan::Device::adopt(adoption);
        auto functions = vulkan::detail::load_functions(adoption.get_instance_proc_addr,
                                                        adoption.instance, adoption.device);
        if (!device || !functions) {
            ADD_FAILURE() << "the device was not adopted";
            return nullptr;
        }
        made->caps_ = device->caps();
        made->vk_ = *functions;
        return made;
    }

    const Caps& caps() const { return caps_; }

    // The buffers hold what the shader made of them afterwards.
    void run(const Module& module, const ShaderInterface& interface,
             std::vector<std::vector<std::uint32_t>>& memory) {
        std::vector<OwnedBuffer> buffers;
        for (std::size_t i = 0; i < memory.size(); ++i) {
            auto buffer = owned_->make_buffer(memory[i].size() * 4, MemoryKind::download,
                                              interface.blocks[i].uniform
                                                  ? VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT
                                                  : VK_BUFFER_USAGE_STORAGE_BUFFER_BIT);
            ASSERT_TRUE(buffer) << buffer.error().message;
            ASSERT_TRUE(owned_->upload(*buffer, 0, std::as_bytes(std::span(memory[i]))));
            buffers.push_back(*std::move(buffer));
        }

        std::vector<VkDescriptorSetLayoutBinding> bindings;
        std::vector<VkDescriptorBufferInfo> infos(buffers.size());
        std::vector<VkWriteDescriptorSet> writes;
        for (std::size_t i = 0; i < buffers.size(); ++i) {
            const ShaderInterface::Block& block = interface.blocks[i];
            const auto type = block.uniform ? VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER
                                            : VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
            bindings.push_back({.binding = block.binding,
                                .descriptorType = type,
                                .descriptorCount = 1,
                                .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT});
            infos[i] = {buffers[i].get(), 0, VK_WHOLE_SIZE};
            writes.push_back({.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                              .dstBinding = block.binding,
                              .descriptorCount = 1,
                              .descriptorType = type,
                              .pBufferInfo = &infos[i]});
        }
        const VkDevice device = owned_->device();
        const VkDescriptorSetLayoutCreateInfo set_layout_info{
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO,
            .bindingCount = static_cast<std::uint32_t>(bindings.size()),
            .pBindings = bindings.data()};
        VkDescriptorSetLayout set_layout = VK_NULL_HANDLE;
        ASSERT_EQ(vk_.CreateDescriptorSetLayout(device, &set_layout_info, nullptr, &set_layout),
                  VK_SUCCESS);
        const auto push_bytes = static_cast<std::uint32_t>(interface.push_constant_bytes);
        const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes};
        const VkPipelineLayoutCreateInfo layout_info{
            .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO,
            .setLayoutCount = 1,
            .pSetLayouts = &set_layout,
            .pushConstantRangeCount = push_bytes != 0 ? 1u : 0u,
            .pPushConstantRanges = &push};
        VkPipelineLayout layout = VK_NULL_HANDLE;
        ASSERT_EQ(vk_.CreatePipelineLayout(device, &layout_info, nullptr, &layout), VK_SUCCESS);
        const VkShaderModuleCreateInfo shader_info{
            .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO,
            .codeSize = module.words.size() * 4,
            .pCode = module.words.data()};
        VkShaderModule shader = VK_NULL_HANDLE;
        ASSERT_EQ(vk_.CreateShaderModule(device, &shader_info, nullptr, &shader), VK_SUCCESS);
        const VkSpecializationMapEntry entry{kBiasId, 0, sizeof kBias};
        const VkSpecializationInfo specialization{1, &entry, sizeof kBias, &kBias};
        const VkComputePipelineCreateInfo info{
            .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
            .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                      .stage = VK_SHADER_STAGE_COMPUTE_BIT,
                      .module = shader,
                      .pName = "main",
                      .pSpecializationInfo = &specialization},
            .layout = layout};
        VkPipeline pipeline = VK_NULL_HANDLE;
        ASSERT_EQ(vk_.CreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, nullptr, &pipeline),
                  VK_SUCCESS);

        const std::array<VkDescriptorPoolSize, 2> sizes{
            {{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 8}, {VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 8}}};
        const VkDescriptorPoolCreateInfo pool_info{
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO,
            .maxSets = 1,
            .poolSizeCount = sizes.size(),
            .pPoolSizes = sizes.data()};
        VkDescriptorPool pool = VK_NULL_HANDLE;
        ASSERT_EQ(vk_.CreateDescriptorPool(device, &pool_info, nullptr, &pool), VK_SUCCESS);
        const VkDescriptorSetAllocateInfo set_info{
            .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO,
            .descriptorPool = pool,
            .descriptorSetCount = 1,
            .pSetLayouts = &set_layout};
        VkDescriptorSet set = VK_NULL_HANDLE;
        ASSERT_EQ(vk_.AllocateDescriptorSets(device, &set_info, &set), VK_SUCCESS);
        for (VkWriteDescriptorSet& write : writes) write.dstSet = set;
        vk_.UpdateDescriptorSets(device, static_cast<std::uint32_t>(writes.size()), writes.data(),
                                 0, nullptr);

        const auto done = owned_->run([&](VkCommandBuffer cmd) {
            const VkMemoryBarrier before{.sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                                         .srcAccessMask = VK_ACCESS_TRANSFER_WRITE_BIT,
                                         .dstAccessMask = VK_ACCESS_SHADER_READ_BIT |
                                                          VK_ACCESS_SHADER_WRITE_BIT |
                                                          VK_ACCESS_UNIFORM_READ_BIT};
            vk_.CmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_TRANSFER_BIT,
                                   VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, 0, 1, &before, 0, nullptr,
                                   0, nullptr);
            vk_.CmdBindPipeline(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline);
            vk_.CmdBindDescriptorSets(cmd, VK_PIPELINE_BIND_POINT_COMPUTE, layout, 0, 1, &set, 0,
                                      nullptr);
            if (push_bytes != 0) {
                vk_.CmdPushConstants(cmd, layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, push_bytes,
                                     kPush.data());
            }
            vk_.CmdDispatch(cmd, kWorkgroups[0], kWorkgroups[1], kWorkgroups[2]);
            const VkMemoryBarrier after{
                .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER,
                .srcAccessMask = VK_ACCESS_SHADER_WRITE_BIT,
                .dstAccessMask = VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT};
            vk_.CmdPipelineBarrier(cmd, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                                   VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT, 0,
                                   1, &after, 0, nullptr, 0, nullptr);
        });
        EXPECT_TRUE(done) << done.error().message;
        for (std::size_t i = 0; i < memory.size(); ++i) {
            EXPECT_TRUE(
                owned_->download(buffers[i], 0, std::as_writable_bytes(std::span(memory[i]))));
        }
        vk_.DestroyDescriptorPool(device, pool, nullptr);
        vk_.DestroyPipeline(device, pipeline, nullptr);
        vk_.DestroyShaderModule(device, shader, nullptr);
        vk_.DestroyPipelineLayout(device, layout, nullptr);
        vk_.DestroyDescriptorSetLayout(device, set_layout, nullptr);
    }

private:
    Driver() = default;
    std::unique_ptr<OwnedDevice> owned_;
    vulkan::detail::Functions vk_;
    Caps caps_;
};

// What the device lacks of what the module declares; empty: nothing.
std::string missing_for(const Module& module, const Caps& caps) {
    for (const std::uint32_t capability : scan_spirv(module.words).capabilities) {
        // Caps say it with the types: extended subgroup types and such are not generated.
        const std::string missing = missing_for_capability(capability, caps);
        if (!missing.empty()) return missing;
    }
    if (module.words[1] > newest_spirv(caps.api_version_major, caps.api_version_minor))
        return "this version of SPIR-V";
    return {};
}

// Shaders that differ on lavapipe (Mesa 22.3) at every subgroup size, for a reason that is not
// known yet: open work, printed by every run.
bool is_unexplained(const Module& module, const Caps& caps) {
    return caps.device_name.starts_with("llvmpipe") &&
           (module.name == "063_flow" || module.name == "125_float");
}

std::uint32_t hash(std::uint32_t x) {
    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    return x ^ (x >> 16);
}

// Initial memory of the blocks, large enough for every invocation.
std::vector<std::vector<std::uint32_t>> initial_memory(const ShaderInterface& interface) {
    std::vector<std::vector<std::uint32_t>> memory;
    for (const ShaderInterface::Block& block : interface.blocks) {
        std::uint64_t bytes = block.bytes;
        if (block.binding == kWords)
            bytes = 4096;
        else if (block.binding == kResults)
            bytes = std::uint64_t{kMostInvocations} * kResultWords * 4;
        else
            bytes += block.array_stride * kMostInvocations;
        std::vector<std::uint32_t> words((bytes + 3) / 4);
        for (std::uint32_t i = 0; i < words.size(); ++i) {
            if (block.binding == kResults) {
                words[i] = 0xdeadbeefu;
            } else if (block.binding == kTable) {
                // Floats as the generator has them, which are words as good as others.
                const float value = static_cast<float>(static_cast<int>(hash(i) & 255) - 128) / 8;
                words[i] = std::bit_cast<std::uint32_t>(value);
            } else {
                words[i] = hash(i + 1000 * block.binding);
            }
        }
        memory.push_back(std::move(words));
    }
    return memory;
}

// Every kind of instruction that the generator is for: one that is no longer in any module is a
// test lost.
const std::set<spv::Op>& expected_instructions() {
    using enum spv::Op;
    static const std::set<spv::Op> all{
        // integers and bits
        OpIAdd, OpISub, OpIMul, OpUDiv, OpSDiv, OpUMod, OpSMod, OpSNegate, OpNot, OpBitwiseAnd,
        OpBitwiseOr, OpBitwiseXor, OpShiftLeftLogical, OpShiftRightLogical, OpShiftRightArithmetic,
        OpBitCount, OpBitReverse, OpBitFieldInsert, OpBitFieldSExtract, OpBitFieldUExtract,
        OpIAddCarry, OpISubBorrow, OpUMulExtended, OpSMulExtended,
        // floats and matrices
        OpFAdd, OpFSub, OpFMul, OpFDiv, OpFMod, OpFNegate, OpIsNan, OpIsInf, OpDot,
        OpVectorTimesScalar, OpMatrixTimesScalar, OpMatrixTimesVector, OpVectorTimesMatrix,
        OpMatrixTimesMatrix, OpOuterProduct, OpTranspose,
        // comparisons and logic
        OpIEqual, OpINotEqual, OpULessThan, OpULessThanEqual, OpUGreaterThan, OpUGreaterThanEqual,
        OpSLessThan, OpSLessThanEqual, OpSGreaterThan, OpSGreaterThanEqual, OpFOrdEqual,
        OpFUnordNotEqual, OpFOrdLessThan, OpFOrdLessThanEqual, OpFOrdGreaterThan,
        OpFOrdGreaterThanEqual, OpLogicalAnd, OpLogicalOr, OpLogicalNot, OpLogicalEqual,
        OpLogicalNotEqual, OpAny, OpAll, OpSelect,
        // conversions
        OpConvertFToS, OpConvertFToU, OpConvertSToF, OpConvertUToF, OpBitcast,
        // composites and memory
        OpCompositeConstruct, OpCompositeExtract, OpCompositeInsert, OpVectorShuffle,
        OpVectorExtractDynamic, OpAccessChain, OpLoad, OpStore, OpCopyLogical, OpArrayLength,
        OpSpecConstant, OpSpecConstantOp,
        // flow
        OpBranch, OpBranchConditional, OpSwitch, OpSelectionMerge, OpLoopMerge, OpPhi,
        OpFunctionCall, OpReturn, OpReturnValue,
        // barriers and atomics
        OpControlBarrier, OpMemoryBarrier, OpAtomicIAdd, OpAtomicSMin, OpAtomicUMin, OpAtomicSMax,
        OpAtomicUMax, OpAtomicAnd, OpAtomicOr, OpAtomicXor, OpAtomicExchange,
        OpAtomicCompareExchange, OpAtomicLoad, OpAtomicStore,
        // subgroups
        OpGroupNonUniformElect, OpGroupNonUniformAll, OpGroupNonUniformAny,
        OpGroupNonUniformAllEqual, OpGroupNonUniformBroadcast, OpGroupNonUniformBroadcastFirst,
        OpGroupNonUniformBallot, OpGroupNonUniformInverseBallot, OpGroupNonUniformBallotBitExtract,
        OpGroupNonUniformBallotBitCount, OpGroupNonUniformBallotFindLSB,
        OpGroupNonUniformBallotFindMSB, OpGroupNonUniformShuffle, OpGroupNonUniformShuffleXor,
        OpGroupNonUniformShuffleUp, OpGroupNonUniformShuffleDown, OpGroupNonUniformIAdd,
        OpGroupNonUniformFAdd, OpGroupNonUniformIMul, OpGroupNonUniformFMul, OpGroupNonUniformSMin,
        OpGroupNonUniformUMin, OpGroupNonUniformFMin, OpGroupNonUniformSMax, OpGroupNonUniformUMax,
        OpGroupNonUniformFMax, OpGroupNonUniformBitwiseAnd, OpGroupNonUniformBitwiseOr,
        OpGroupNonUniformBitwiseXor, OpGroupNonUniformLogicalAnd, OpGroupNonUniformLogicalOr,
        OpGroupNonUniformLogicalXor};
    return all;
}

// The same for the functions of GLSL.std.450.
const std::set<std::uint32_t>& expected_functions() {
    static const std::set<std::uint32_t> all{GLSLstd450Round,
                                             GLSLstd450RoundEven,
                                             GLSLstd450Trunc,
                                             GLSLstd450FAbs,
                                             GLSLstd450SAbs,
                                             GLSLstd450FSign,
                                             GLSLstd450SSign,
                                             GLSLstd450Floor,
                                             GLSLstd450Ceil,
                                             GLSLstd450Fract,
                                             GLSLstd450Pow,
                                             GLSLstd450Exp2,
                                             GLSLstd450Log2,
                                             GLSLstd450Sqrt,
                                             GLSLstd450InverseSqrt,
                                             GLSLstd450Determinant,
                                             GLSLstd450MatrixInverse,
                                             GLSLstd450Modf,
                                             GLSLstd450FMin,
                                             GLSLstd450UMin,
                                             GLSLstd450SMin,
                                             GLSLstd450FMax,
                                             GLSLstd450UMax,
                                             GLSLstd450SMax,
                                             GLSLstd450FClamp,
                                             GLSLstd450UClamp,
                                             GLSLstd450SClamp,
                                             GLSLstd450FMix,
                                             GLSLstd450Step,
                                             GLSLstd450SmoothStep,
                                             GLSLstd450Fma,
                                             GLSLstd450FrexpStruct,
                                             GLSLstd450Ldexp,
                                             GLSLstd450PackSnorm4x8,
                                             GLSLstd450PackUnorm4x8,
                                             GLSLstd450PackSnorm2x16,
                                             GLSLstd450PackUnorm2x16,
                                             GLSLstd450PackHalf2x16,
                                             GLSLstd450UnpackSnorm4x8,
                                             GLSLstd450UnpackUnorm4x8,
                                             GLSLstd450UnpackUnorm2x16,
                                             GLSLstd450UnpackHalf2x16,
                                             GLSLstd450Length,
                                             GLSLstd450Distance,
                                             GLSLstd450Cross,
                                             GLSLstd450Normalize,
                                             GLSLstd450FaceForward,
                                             GLSLstd450Reflect,
                                             GLSLstd450Refract,
                                             GLSLstd450FindILsb,
                                             GLSLstd450FindSMsb,
                                             GLSLstd450FindUMsb};
    return all;
}

struct Coverage {
    std::map<std::uint32_t, std::uint64_t> instructions;  // by opcode: how often
    std::map<std::uint32_t, std::uint64_t> functions;     // of GLSL.std.450

    void add(const Module& module) {
        constexpr std::uint32_t kExtInst = static_cast<std::uint32_t>(spv::Op::OpExtInst);
        for (std::size_t at = 5; at < module.words.size();) {
            const std::uint32_t opcode = module.words[at] & 0xffff;
            const std::uint32_t length = module.words[at] >> 16;
            ASSERT_TRUE(length != 0 && at + length <= module.words.size()) << module.name;
            ++instructions[opcode];
            if (opcode == kExtInst) ++functions[module.words[at + 4]];
            at += length;
        }
    }
};

// "017_flow.spv, binding 0.1 (results), word 130 of 49152 (key 1, word 2): ...".
std::string difference(const Module& module, const ShaderInterface::Block& block,
                       const std::vector<std::uint32_t>& device,
                       const std::vector<std::uint32_t>& simulated) {
    const auto at =
        static_cast<std::size_t>(std::ranges::mismatch(device, simulated).in1 - device.begin());
    std::size_t count = 0;
    for (std::size_t i = at; i < device.size(); ++i) count += device[i] != simulated[i] ? 1 : 0;
    return fmt::format(
        "{} (shader {}), binding 0.{} ({}), word {} of {}{}: {:#010x} on the device, {:#010x} in "
        "the "
        "simulator; {} words differ",
        module.name, module.name.substr(0, 3), block.binding, block.name, at, device.size(),
        block.binding == kResults
            ? fmt::format(" (key {}, result {})", at / kResultWords, at % kResultWords)
            : std::string(),
        device[at], simulated[at], count);
}

// The device of this process, and what ran on it.
class Session : public ::testing::Environment {
public:
    static Driver* driver() { return driver_.get(); }
    static void count(const Module& module, std::uint64_t instructions) {
        coverage_.add(module);
        instructions_ += instructions;
        ++ran_;
    }
    static void leave_out(const std::string& missing) { ++left_out_[missing]; }

private:
    void SetUp() override {
        driver_ = Driver::create();
        if (driver_ == nullptr) return;
        const Caps& caps = driver_->caps();
        std::printf("device: %s, %s, subgroup size %u\n", caps.device_name.c_str(),
                    caps.driver.c_str(), caps.subgroup.size);
    }

    void TearDown() override {
        driver_.reset();
        std::printf(
            "%zu shaders ran, %llu simulated instructions; %zu opcodes, %zu functions of "
            "GLSL.std.450:",
            ran_, static_cast<unsigned long long>(instructions_), coverage_.instructions.size(),
            coverage_.functions.size());
        for (const auto& [opcode, count] : coverage_.instructions)
            std::printf(" %s", spirv::op_name(static_cast<spv::Op>(opcode)).c_str());
        std::printf("\n");
        for (const auto& [why, count] : left_out_)
            std::printf("%d shaders left out for want of: %s\n", count, why.c_str());
        if (::testing::GTEST_FLAG(filter) != "*") return;  // a part only
        EXPECT_GE(ran_, kFewestShaders);
        for (const spv::Op op : expected_instructions()) {
            EXPECT_TRUE(coverage_.instructions.contains(static_cast<std::uint32_t>(op)))
                << "no shader that ran holds " << spirv::op_name(op);
        }
        for (const std::uint32_t function : expected_functions()) {
            EXPECT_TRUE(coverage_.functions.contains(function))
                << "no shader that ran calls function " << function << " of GLSL.std.450";
        }
    }

    static inline std::unique_ptr<Driver> driver_;
    static inline Coverage coverage_;
    static inline std::size_t ran_ = 0;
    static inline std::uint64_t instructions_ = 0;
    static inline std::map<std::string, int> left_out_;
};

const auto* const session = ::testing::AddGlobalTestEnvironment(new Session);

class Differential : public ::testing::TestWithParam<Module> {};

TEST_P(Differential, SameBytes) {
    const Module& module = GetParam();
    ASSERT_TRUE(scan_spirv(module.words).well_formed);
    ASSERT_NE(Session::driver(), nullptr);
    const Caps& caps = Session::driver()->caps();
    if (const std::string missing = missing_for(module, caps); !missing.empty()) {
        Session::leave_out(missing);
        GTEST_SKIP() << "the device lacks " << missing;
    }
    if (is_unexplained(module, caps)) {
        Session::leave_out("an explanation of the difference");
        GTEST_SKIP() << "an unexplained difference";
    }
    const std::vector<simulator::ShaderConstant> constants{{kBiasId, kBias}};
    const auto interface = simulator::inspect(module.words, "main", constants);
    ASSERT_TRUE(interface) << interface.error().message;
    ASSERT_LE(interface->push_constant_bytes, sizeof kPush);

    const auto initial = initial_memory(*interface);
    auto on_device = initial;
    Session::driver()->run(module, *interface, on_device);
    if (HasFatalFailure()) return;

    simulator::ShaderRun run;
    run.module = module.words;
    run.name = module.name;
    run.workgroups = kWorkgroups;
    run.constants = constants;
    const auto push = std::as_bytes(std::span(kPush));
    run.push_constants.assign(push.begin(), push.end());

    simulator::Machine plain;
    plain.subgroup_size = caps.subgroup.size;
    // CPU drivers keep masks of lanes, which brings lanes together at every merge block. Only the
    // kind "nested" asks for that; all others must get by with less.
    plain.reconvergence = module.name.find("nested") != std::string::npos
                              ? simulator::Reconvergence::maximal
                              : simulator::Reconvergence::subgroup_uniform;
    // Another order of workgroups and subgroups gives the same.
    simulator::Machine mixed = plain;
    mixed.reconvergence = simulator::Reconvergence::maximal;
    mixed.workgroups = simulator::Schedule::random;
    mixed.subgroups = simulator::Schedule::random;
    mixed.quantum = 16;
    std::uint64_t instructions = 0;
    for (const simulator::Machine& machine : {plain, mixed}) {
        auto simulated = initial;
        run.buffers.clear();
        for (std::size_t i = 0; i < simulated.size(); ++i) {
            const ShaderInterface::Block& block = interface->blocks[i];
            run.buffers.push_back({block.set, block.binding,
                                   std::as_writable_bytes(std::span(simulated[i])),
                                   block.binding != kResults, block.name});
        }
        const auto report = simulator::run_shader(machine, run);
        ASSERT_TRUE(report) << report.error().message;
        instructions += report->instructions;
        EXPECT_TRUE(report->faults.empty()) << to_text(machine) << "\n" << all_faults(*report);
        for (std::size_t i = 0; i < simulated.size(); ++i) {
            if (simulated[i] == on_device[i]) continue;
            ADD_FAILURE() << difference(module, interface->blocks[i], on_device[i], simulated[i])
                          << "\n"
                          << to_text(machine);
        }
        if (HasFailure()) return;
    }
    Session::count(module, instructions);
}

INSTANTIATE_TEST_SUITE_P(Shaders, Differential, ::testing::ValuesIn(modules()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace lanewise::test
