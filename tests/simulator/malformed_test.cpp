// Modules that are broken, or made to hurt: each is refused with one clear line, or runs to an end.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <chrono>

#include "tests/simulator/support.hpp"

namespace lanewise::test {
namespace {

using namespace simulator;
using testing::HasSubstr;
using testing::Not;

// Parts of a module around what a test adds: a buffer of words at binding 0 in %data.
struct Text {
    std::string capabilities = "OpCapability Shader\n";
    std::string model = "OpMemoryModel Logical GLSL450\n";
    std::string entry = R"(OpEntryPoint GLCompute %main "main" %index)"
                        "\n";
    std::string mode = "OpExecutionMode %main LocalSize 8 1 1\n";
    std::string decorations;
    std::string globals;
    std::string body;
    std::string functions;

    std::string whole() const {
        return capabilities + model + entry + mode + decorations +
               R"(
            OpDecorate %index BuiltIn LocalInvocationIndex
            OpDecorate %words ArrayStride 4
            OpDecorate %Data Block
            OpMemberDecorate %Data 0 Offset 0
            OpDecorate %data DescriptorSet 0
            OpDecorate %data Binding 0
            %void = OpTypeVoid
            %signature = OpTypeFunction %void
            %bool = OpTypeBool
            %uint = OpTypeInt 32 0
            %float = OpTypeFloat 32
            %zero = OpConstant %uint 0
            %one = OpConstant %uint 1
            %two = OpConstant %uint 2
            %three = OpConstant %uint 3
            %subgroup_scope = OpConstant %uint 3
            %large = OpConstant %uint 4294967295
            %input_pointer = OpTypePointer Input %uint
            %index = OpVariable %input_pointer Input
            %words = OpTypeRuntimeArray %uint
            %Data = OpTypeStruct %words
            %Data_pointer = OpTypePointer StorageBuffer %Data
            %word_pointer = OpTypePointer StorageBuffer %uint
            %data = OpVariable %Data_pointer StorageBuffer
            )" +
               globals +
               R"(
            %main = OpFunction %void None %signature
            %entry = OpLabel
            )" +
               body +
               R"(
            OpReturn
            OpFunctionEnd
            )" +
               functions;
    }
};

std::vector<std::uint32_t> words_of(const Text& text) {
    auto words = assemble(text.whole());
    EXPECT_TRUE(words) << words.error().message;
    return words ? *words : std::vector<std::uint32_t>{};
}

Result<Report> run(const std::vector<std::uint32_t>& words, Machine machine = {}) {
    std::vector<std::uint32_t> data(64);
    ShaderRun shader;
    shader.module = words;
    shader.buffers = {{0, 0, std::as_writable_bytes(std::span(data)), true, "data", 0}};
    machine.max_instructions = std::min<std::uint64_t>(machine.max_instructions, 100000);
    return run_shader(machine, shader);
}

// The message, of one line; empty when there is none.
std::string refusal_of_words(const std::vector<std::uint32_t>& words) {
    const auto report = run(words);
    const auto interface = inspect(words);
    if (interface && report) return "";
    const std::string message = report ? interface.error().message : report.error().message;
    EXPECT_THAT(message, Not(HasSubstr("\n")));
    return message;
}
std::string refusal(const Text& text) { return refusal_of_words(words_of(text)); }

TEST(Malformed, TheFrameIsGood) {
    const auto words = words_of({});
    const auto report = run(words);
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->faults.empty()) << all_faults(*report);
}

// --- no module at all ---

TEST(Malformed, Empty) {
    EXPECT_THAT(refusal_of_words(std::vector<std::uint32_t>{}),
                HasSubstr("at least 5 words, this one has 0"));
    EXPECT_THAT(refusal_of_words({0x07230203, 0x00010300, 0, 1}), HasSubstr("this one has 4"));
    EXPECT_THAT(refusal_of_words({0x07230203, 0x00010300, 0, 1, 0}), HasSubstr("not valid"));
}

TEST(Malformed, WrongMagic) {
    auto words = words_of({});
    words[0] = 0x464c457f;  // an executable
    EXPECT_THAT(refusal_of_words(words), HasSubstr("0x464c457f, not the magic number 0x07230203"));
}

TEST(Malformed, Version) {
    auto words = words_of({});
    words[1] = 0x00020000;
    EXPECT_THAT(refusal_of_words(words), HasSubstr("version 2.0 is not supported (1.0 to 1.6)"));
    words[1] = 0xffffffff;
    EXPECT_THAT(refusal_of_words(words), HasSubstr("version 255.255"));
}

TEST(Malformed, TruncatedAnywhere) {
    const auto whole = words_of({.body = "%at = OpAccessChain %word_pointer %data %zero %one\n"
                                         "OpStore %at %two"});
    for (std::size_t size = 0; size < whole.size(); ++size) {
        const std::vector<std::uint32_t> words(whole.begin(),
                                               whole.begin() + static_cast<std::ptrdiff_t>(size));
        EXPECT_THAT(refusal_of_words(words), HasSubstr("SPIR-V: ")) << size << " words";
    }
}

TEST(Malformed, BytesSwapped) {
    auto words = words_of({.body = "%at = OpAccessChain %word_pointer %data %zero %one\n"
                                   "OpStore %at %two"});
    for (std::uint32_t& word : words) word = __builtin_bswap32(word);
    // As good as the other: the magic number says which it is.
    const auto report = run(words, {.subgroup_size = 8});
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->faults.size(), 1u) << all_faults(*report);  // all write to one place
    EXPECT_EQ(report->faults[0].kind, FaultKind::race);
}

TEST(Malformed, InstructionOfNoWords) {
    auto words = words_of({});
    words.push_back(0);
    EXPECT_THAT(refusal_of_words(words), HasSubstr("not valid"));
}

TEST(Malformed, InstructionLongerThanTheFile) {
    auto words = words_of({});
    words.push_back(0xffff0001);
    EXPECT_THAT(refusal_of_words(words), HasSubstr("not valid"));
}

TEST(Malformed, UnknownOpcode) {
    auto words = words_of({});
    words.push_back(1u << 16 | 9999);
    EXPECT_THAT(refusal_of_words(words), HasSubstr("Invalid opcode: 9999"));
}

// --- nothing to run ---

TEST(Malformed, NoEntryPoint) {
    EXPECT_THAT(refusal({.entry = "", .mode = ""}), HasSubstr("No OpEntryPoint"));
}

TEST(Malformed, NoEntryPointOfThatName) {
    const auto words = words_of({});
    const auto interface = inspect(words, "other");
    ASSERT_FALSE(interface);
    EXPECT_THAT(interface.error().message, HasSubstr("no compute entry point named other"));
}

TEST(Malformed, NoComputeEntryPoint) {
    EXPECT_THAT(refusal({.entry = R"(OpEntryPoint Fragment %main "main")"
                                  "\n",
                         .mode = "OpExecutionMode %main OriginUpperLeft\n"}),
                HasSubstr("no compute entry point named main"));
}

TEST(Malformed, Recursion) {
    EXPECT_THAT(refusal({.body = "%called = OpFunctionCall %void %again", .functions = R"(
                             %again = OpFunction %void None %signature
                             %inside = OpLabel
                             %deeper = OpFunctionCall %void %again
                             OpReturn
                             OpFunctionEnd)"}),
                HasSubstr("cycle"));
}

TEST(Malformed, CapabilityOfAnotherWorld) {
    EXPECT_THAT(refusal({.capabilities = "OpCapability Shader\nOpCapability Kernel\n"}),
                HasSubstr("Kernel"));
}

TEST(Malformed, NotWhatTheSimulatorRuns) {
    EXPECT_THAT(refusal({.decorations = "OpDecorate %picture DescriptorSet 0\n"
                                        "OpDecorate %picture Binding 1\n",
                         .globals = R"(
                             %float4 = OpTypeVector %float 4
                             %uint2 = OpTypeVector %uint 2
                             %origin = OpConstantNull %uint2
                             %image = OpTypeImage %float 2D 0 0 0 1 Unknown
                             %image_pointer = OpTypePointer UniformConstant %image
                             %picture = OpVariable %image_pointer UniformConstant)",
                         .body = R"(
                             %loaded = OpLoad %image %picture
                             %texel = OpImageFetch %float4 %loaded %origin)"}),
                HasSubstr("OpLoad of what is no plain value is not supported"));
}

// --- made to hurt ---

TEST(Malformed, WorkgroupSizes) {
    const auto of = [](std::uint32_t x, std::uint32_t y, std::uint32_t z) {
        return refusal(
            {.mode = fmt::format("OpExecutionMode %main LocalSize {} {} {}\n", x, y, z)});
    };
    EXPECT_THAT(of(4097, 1, 1), HasSubstr("a workgroup of 4097 x 1 x 1"));
    EXPECT_THAT(of(0x80000000u, 0x80000000u, 4), HasSubstr("a workgroup of"));
    // The product is 1 in 64 bits.
    EXPECT_THAT(of(0xffffffffu, 0xffffffffu, 0xffffffffu), HasSubstr("a workgroup of"));
    EXPECT_THAT(of(65536, 65536, 65537), HasSubstr("a workgroup of"));
    EXPECT_EQ(of(4096, 1, 1), "");
}

std::string nested(std::uint32_t depth, const std::string& of) {
    std::string text;
    for (std::uint32_t i = 0; i < depth; ++i) {
        const std::string before = i == 0 ? "%uint" : fmt::format("%s{}", i - 1);
        text += fmt::format("%s{} = {}\n", i, fmt::format(fmt::runtime(of), before));
    }
    return text;
}

// Types that are walked as trees grow without bound: 2 to the power of 60 here.
TEST(Malformed, StructuresOfTwoOfTheOneBefore) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THAT(refusal({.globals = nested(60, "OpTypeStruct {0} {0}")}),
                HasSubstr("its types have more than"));
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

// Few enough to be walked, deep enough to be hard to measure without remembering.
TEST(Malformed, StructuresOneInTheOther) {
    for (const char* storage : {"Workgroup", "Private"}) {
        const auto start = std::chrono::steady_clock::now();
        EXPECT_EQ(refusal({.globals = nested(200, "OpTypeStruct {0}") +
                                      fmt::format("%deep = OpTypePointer {0} %s199\n"
                                                  "%variable = OpVariable %deep {0}",
                                                  storage)}),
                  "");
        EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5)) << storage;
    }
}

TEST(Malformed, ArraysOfArraysOfArrays) {
    EXPECT_EQ(refusal({.globals = nested(1000, "OpTypeArray {0} %one") +
                                  "%deep = OpTypePointer Private %s999\n"
                                  "%variable = OpVariable %deep Private"}),
              "");
    EXPECT_THAT(refusal({.globals = nested(5000, "OpTypeArray {0} %one")}),
                HasSubstr("its types have more than"));
}

TEST(Malformed, HugeArrays) {
    const auto of = [](const char* storage) {
        return refusal({.globals = fmt::format("%huge = OpTypeArray %uint %large\n"
                                               "%pointer = OpTypePointer {0} %huge\n"
                                               "%variable = OpVariable %pointer {0}",
                                               storage)});
    };
    EXPECT_THAT(of("Workgroup"), HasSubstr("bytes of workgroup memory"));
    EXPECT_THAT(of("Private"), HasSubstr("too many scalars"));
    EXPECT_THAT(refusal({.globals = "%huge = OpTypeArray %uint %large\n"
                                    "%null = OpConstantNull %huge"}),
                HasSubstr("more than 65536 scalars"));
}

// Each alone would do; all together would not fit memory once there are 128 lanes of them.
TEST(Malformed, ManyLargeConstants) {
    std::string globals = "%length = OpConstant %uint 60000\n%long = OpTypeArray %uint %length\n";
    for (int i = 0; i < 100; ++i) globals += fmt::format("%null{} = OpConstantNull %long\n", i);
    EXPECT_THAT(refusal({.globals = globals}), HasSubstr("more than 65536 scalars"));
}

TEST(Malformed, ManyLargeVariables) {
    std::string globals =
        "%length = OpConstant %uint 60000\n%long = OpTypeArray %uint %length\n"
        "%pointer = OpTypePointer Private %long\n";
    for (int i = 0; i < 100; ++i)
        globals += fmt::format("%variable{} = OpVariable %pointer Private\n", i);
    EXPECT_THAT(refusal({.globals = globals}), HasSubstr("registers"));
}

TEST(Malformed, RegistersOfAllWorkgroupsTogether) {
    const auto words = words_of({.mode = "OpExecutionMode %main LocalSize 1024 1 1\n",
                                 .globals = "%length = OpConstant %uint 60000\n"
                                            "%long = OpTypeArray %uint %length\n"
                                            "%pointer = OpTypePointer Private %long\n"
                                            "%variable = OpVariable %pointer Private"});
    std::vector<std::uint32_t> data(64);
    ShaderRun shader;
    shader.module = words;
    shader.workgroups = {64, 1, 1};
    shader.buffers = {{0, 0, std::as_writable_bytes(std::span(data)), true, "data", 0}};
    const auto report =
        run_shader({.workgroups = Schedule::random, .resident_workgroups = 64}, shader);
    ASSERT_FALSE(report);
    EXPECT_EQ(report.error().code, ErrorCode::limit_exceeded);
    EXPECT_THAT(report.error().message, HasSubstr("64 that are under way at a time"));
}

// No scalars, but 2^32 - 1 of them.
TEST(Malformed, LongArrayOfNothing) {
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(refusal({.globals = "%nothing = OpTypeStruct\n"
                                  "%long = OpTypeArray %nothing %large\n"
                                  "%pointer = OpTypePointer Workgroup %long\n"
                                  "%variable = OpVariable %pointer Workgroup",
                       .body = "%value = OpLoad %long %variable\nOpStore %variable %value"}),
              "");
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
}

// Offsets that leave the 48 bits of a pointer would name another object.
TEST(Malformed, StridesThatWrap) {
    const Text text{.decorations =
                        "OpDecorate %rows ArrayStride 2147483644\n"
                        "OpDecorate %Rows Block\n"
                        "OpMemberDecorate %Rows 0 Offset 0\n"
                        "OpDecorate %far DescriptorSet 0\nOpDecorate %far Binding 0\n",
                    .globals =
                        "%rows = OpTypeRuntimeArray %uint\n"
                        "%Rows = OpTypeStruct %rows\n"
                        "%Rows_pointer = OpTypePointer StorageBuffer %Rows\n"
                        "%far = OpVariable %Rows_pointer StorageBuffer\n"
                        "%million = OpConstant %uint 1000000\n",
                    .body =
                        "%lane = OpLoad %uint %index\n"
                        "%scaled = OpIMul %uint %lane %million\n"
                        "%at = OpAccessChain %word_pointer %far %zero %scaled\n"
                        "OpStore %at %lane\n"
                        "%fixed = OpAccessChain %word_pointer %far %zero %million\n"
                        "OpStore %fixed %lane"};
    for (const OutOfBounds behaviour : {OutOfBounds::zero, OutOfBounds::clamp}) {
        const auto report = run(words_of(text), {.out_of_bounds = behaviour, .check_races = false});
        ASSERT_TRUE(report) << report.error().message;
        ASSERT_FALSE(report->faults.empty());
        for (const Fault& fault : report->faults)
            EXPECT_EQ(fault.kind, FaultKind::out_of_bounds) << to_text(fault);
    }
}

// What ClusteredReduce needs is missing: its operand would be read from nowhere.
TEST(Malformed, ClustersWithoutSize) {
    const std::string message = refusal(
        {.capabilities = "OpCapability Shader\nOpCapability GroupNonUniformArithmetic\n"
                         "OpCapability GroupNonUniformClustered\n",
         .body = "%sum = OpGroupNonUniformIAdd %uint %subgroup_scope ClusteredReduce %one"});
    EXPECT_THAT(message, HasSubstr("luster"));
}

TEST(Malformed, EndlessLoop) {
    const auto report = run(words_of({.body = R"(
                                OpBranch %head
                                %head = OpLabel
                                OpLoopMerge %end %next None
                                OpBranch %next
                                %next = OpLabel
                                OpBranch %head
                                %end = OpLabel)"}));
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_EQ(report->faults.size(), 1u) << all_faults(*report);
    EXPECT_EQ(report->faults[0].kind, FaultKind::no_progress);
}

// Large values count as many instructions, so that a bound on these is one on time.
TEST(Malformed, EndlessLoopOverLargeValues) {
    const auto start = std::chrono::steady_clock::now();
    const auto report = run(words_of({.globals = "%length = OpConstant %uint 30000\n"
                                                 "%long = OpTypeArray %uint %length\n"
                                                 "%pointer = OpTypePointer Workgroup %long\n"
                                                 "%sh_long = OpVariable %pointer Workgroup",
                                      .body = R"(
                                          OpBranch %head
                                          %head = OpLabel
                                          OpLoopMerge %end %next None
                                          OpBranch %next
                                          %next = OpLabel
                                          %value = OpLoad %long %sh_long
                                          OpStore %sh_long %value
                                          OpBranch %head
                                          %end = OpLabel)"}),
                            {.max_instructions = 10000});
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_FALSE(report->faults.empty());
    EXPECT_EQ(report->faults.back().kind, FaultKind::no_progress) << all_faults(*report);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

// Names go into messages, which have one line.
TEST(Malformed, NamesOfManyLines) {
    const std::string name = "a\nb" + std::string(5000, 'x');
    const auto report = run(words_of({.decorations = "OpName %data \"" + name + "\"\n"}));
    ASSERT_TRUE(report) << report.error().message;
    const auto words = words_of({.decorations = "OpName %data \"" + name + "\"\n"});
    ShaderRun shader;
    shader.module = words;
    const auto refused = run_shader({}, shader);
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, HasSubstr("(a?bxxx"));
    EXPECT_LT(refused.error().message.size(), 400u);
}

TEST(Malformed, AssemblyThatIsNone) {
    const auto words = assemble("OpCapability Shader\nOpNonsense\n");
    ASSERT_FALSE(words);
    EXPECT_THAT(words.error().message, HasSubstr("line 2: "));
    EXPECT_THAT(words.error().message, HasSubstr("OpNonsense"));
    EXPECT_TRUE(assemble(""));
}

}  // namespace
}  // namespace lanewise::test
