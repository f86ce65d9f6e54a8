// Executable::bind: every rule of the plan and of WebGPU is checked before the implementation sees
// anything, and each refusal says which.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "tests/support/webgpu_test.hpp"

namespace lanewise::test {
namespace {

using webgpu::detail::OwnedBuffer;

class WebgpuBind : public WebgpuTest {
protected:
    static constexpr std::uint64_t kCount = 5001;  // no multiple of 4: a last vector in part
    static constexpr std::uint64_t kInputBytes = 5001 * 4;
    static constexpr std::uint64_t kWholeBytes = 5004 * 4;

    void SetUp() override {
        WebgpuTest::SetUp();
        use(plan_scan(rig().caps(), {.max_count = kCount, .tier = Tier::barrier}));
    }

    void use(const Result<Plan>& plan) {
        ASSERT_TRUE(plan) << plan.error().message;
        plan_ = *plan;
        auto executable = rig().compile(plan_);
        ASSERT_TRUE(executable) << executable.error().message;
        executable_ = *executable;
        buffers_ = make_webgpu_buffers(rig().owned(), plan_);
        good_ = buffers_.buffers(plan_);
    }

    // The message of a refusal; empty where there was none.
    std::string refusal(const webgpu::Buffers& buffers, webgpu::Count count = kCount,
                        ErrorCode code = ErrorCode::bad_argument) const {
        const auto binding = executable_->bind(buffers, count);
        if (binding) return {};
        EXPECT_EQ(to_text(binding.error().code), std::string(to_text(code)))
            << binding.error().message;
        EXPECT_EQ(binding.error().message.find('\n'), std::string::npos) << binding.error().message;
        return binding.error().message;
    }

    static ::testing::AssertionResult has(const std::string& message,
                                          std::initializer_list<std::string> words) {
        if (message.empty()) return ::testing::AssertionFailure() << "not refused";
        for (const std::string& word : words) {
            if (message.find(word) == std::string::npos) {
                return ::testing::AssertionFailure()
                       << "'" << message << "' does not name '" << word << "'";
            }
        }
        return ::testing::AssertionSuccess();
    }

    static OwnedBuffer arena(std::uint64_t bytes) {
        auto buffer = rig().owned().make_buffer(bytes, WGPUBufferUsage_Storage);
        EXPECT_TRUE(buffer) << buffer.error().message;
        return buffer ? *std::move(buffer) : OwnedBuffer();
    }

    // Made by the application without a usage that OwnedDevice always gives.
    static WGPUBuffer raw_buffer(std::uint64_t bytes, WGPUBufferUsage usage) {
        WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
        descriptor.size = bytes;
        descriptor.usage = usage;
        return rig().owned().wgpu().DeviceCreateBuffer(rig().owned().device(), &descriptor);
    }

    Plan plan_;
    std::optional<webgpu::Executable> executable_;
    WebgpuBuffers buffers_;
    webgpu::Buffers good_;
};

TEST_F(WebgpuBind, WhatThePlanAsksForIsEnough) {
    EXPECT_EQ(plan_.argument(Role::input)->bytes, kWholeBytes) << "whole vectors";
    EXPECT_EQ(plan_.argument(Role::output)->bytes, kWholeBytes);
    EXPECT_EQ(refusal(good_), "");
    EXPECT_EQ(refusal(good_, buffers_.count_buffer()), "");
}

TEST_F(WebgpuBind, MissingBuffersAreNamed) {
    for (const webgpu::Count& count :
         {webgpu::Count{kCount}, webgpu::Count{buffers_.count_buffer()}}) {
        webgpu::Buffers bad = good_;
        bad.input = {};
        EXPECT_TRUE(has(refusal(bad, count), {"input"}));
        bad = good_;
        bad.output.buffer = nullptr;
        EXPECT_TRUE(has(refusal(bad, count), {"output"}));
        bad = good_;
        bad.scratch = {};
        EXPECT_TRUE(has(refusal(bad, count), {"scratch"}));
    }
    EXPECT_TRUE(has(refusal(good_, webgpu::CountBuffer{}), {"count"}));
}

// Ranges go by whole vectors: the bytes of the items alone are too few, and the error says so.
TEST_F(WebgpuBind, RangesAreWholeVectors) {
    webgpu::Buffers bad = good_;
    bad.input.bytes = kInputBytes;
    EXPECT_TRUE(has(refusal(bad),
                    {"input", std::to_string(kInputBytes), std::to_string(kWholeBytes), "16"}));
    bad = good_;
    bad.output.bytes = kWholeBytes - 4;
    EXPECT_TRUE(has(refusal(bad), {"output", std::to_string(kWholeBytes)}));
    // A result that is not one for each item is bound as it is.
    use(plan_reduce(rig().caps(), {.max_count = kCount, .tier = Tier::barrier}));
    webgpu::Buffers exact = good_;
    exact.output.bytes = 4;
    EXPECT_EQ(refusal(exact), "");
    exact.output.bytes = 3;
    EXPECT_TRUE(has(refusal(exact), {"output", "3", "4"}));
}

TEST_F(WebgpuBind, SmallBuffersAreNamedWithBothSizes) {
    webgpu::Buffers bad = good_;
    const std::uint64_t scratch_bytes = plan_.argument(Role::scratch)->bytes;
    bad.scratch.bytes = scratch_bytes - 1;
    EXPECT_TRUE(has(refusal(bad),
                    {"scratch", std::to_string(scratch_bytes - 1), std::to_string(scratch_bytes)}));
    // With the count in a buffer all of max_count must fit, whatever the count will be.
    bad = good_;
    bad.output.bytes = kWholeBytes - 16;
    EXPECT_TRUE(has(refusal(bad, buffers_.count_buffer()), {"output"}));
    EXPECT_EQ(refusal(bad, std::uint64_t{5000}), "");
    // What is said of a range is held against the buffer.
    const OwnedBuffer small = arena(kWholeBytes - 16);
    bad = good_;
    bad.input = {small.get(), 0, kWholeBytes};
    EXPECT_TRUE(has(refusal(bad), {"input", std::to_string(kWholeBytes - 16)}));
    bad.input = {good_.input.buffer, ~std::uint64_t{0} / 256 * 256, kWholeBytes};
    EXPECT_TRUE(has(refusal(bad), {"input"})) << "offsets do not wrap";
    bad = good_;
    EXPECT_TRUE(has(refusal(bad, webgpu::CountBuffer{buffers_.count.get(), 256}), {"count"}));
}

TEST_F(WebgpuBind, FewerItemsNeedLess) {
    webgpu::Buffers small = good_;
    small.input.bytes = small.output.bytes = 112;  // 25 items, 7 vectors
    EXPECT_EQ(refusal(small, std::uint64_t{25}), "");
    EXPECT_EQ(refusal(small, std::uint64_t{28}), "");
    EXPECT_NE(refusal(small, std::uint64_t{29}), "");
}

TEST_F(WebgpuBind, AnEmptyInputMayBeLeftOut) {
    webgpu::Buffers none = good_;
    none.input = none.output = {};
    EXPECT_EQ(refusal(none, std::uint64_t{0}), "") << "a scan of nothing has no output";
    EXPECT_NE(refusal(none, std::uint64_t{1}), "");
    use(plan_reduce(rig().caps(), {.max_count = kCount, .tier = Tier::barrier}));
    none = good_;
    none.input = {};
    EXPECT_EQ(refusal(none, std::uint64_t{0}), "");
    none.output = {};
    EXPECT_TRUE(has(refusal(none, std::uint64_t{0}), {"output"})) << "it has a result";
}

// E9: an error with limit and value.
TEST_F(WebgpuBind, CountsAboveTheMaximumAreRefused) {
    EXPECT_TRUE(has(refusal(good_, kCount + 1, ErrorCode::limit_exceeded), {"5002", "5001"}));
    EXPECT_NE(refusal(good_, std::uint64_t{1} << 32, ErrorCode::limit_exceeded), "");
    EXPECT_NE(refusal(good_, ~std::uint64_t{0}, ErrorCode::limit_exceeded), "");
}

// D6: WebGPU's offsets are multiples of the device's alignment, up to 256.
TEST_F(WebgpuBind, OffsetsAreAligned) {
    const std::uint32_t alignment = rig().caps().limits.storage_offset_alignment;
    const OwnedBuffer room = arena(1 << 17);
    for (const Role role : {Role::input, Role::output, Role::scratch, Role::count}) {
        for (const std::uint64_t offset : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 252u, 256u, 512u}) {
            webgpu::Buffers moved = good_;
            webgpu::Count count = kCount;
            const auto move = [&](webgpu::Buffer& buffer) {
                buffer.buffer = room.get();
                buffer.offset = offset;
            };
            if (role == Role::input) move(moved.input);
            if (role == Role::output) move(moved.output);
            if (role == Role::scratch) move(moved.scratch);
            if (role == Role::count) count = webgpu::CountBuffer{room.get(), offset};
            const std::string message = refusal(moved, count);
            if (offset % alignment == 0) {
                EXPECT_EQ(message, "") << to_text(role) << " at " << offset;
            } else {
                EXPECT_TRUE(has(message, {to_text(role), std::to_string(offset)}));
            }
        }
    }
}

TEST_F(WebgpuBind, ValuesAreCheckedLikeTheRest) {
    webgpu::Buffers bad = good_;
    bad.values = good_.input;
    EXPECT_TRUE(has(refusal(bad), {"values", "leave it empty"}));
    bad = good_;
    bad.values_out = good_.input;
    EXPECT_TRUE(has(refusal(bad), {"values_out", "leave it empty"}));

    // A scan of values: its input and output are read and written, too, by the same passes.
    Plan plan = plan_;
    plan.value_bytes = 4;
    plan.in_place = false;
    for (const auto& [role, like] :
         {std::pair{Role::values, Role::input}, {Role::values_out, Role::output}}) {
        Argument argument = *plan.argument(like);
        argument.role = role;
        plan.arguments.push_back(argument);
    }
    for (const Pass& pass : plan_.passes) {
        if (pass.when == When::count_in_buffer) continue;
        plan.passes.push_back(pass);
        for (PassBuffer& buffer : plan.passes.back().bindings) {
            if (buffer.role == Role::input) buffer = Role::values;
            if (buffer.role == Role::output) buffer = Role::values_out;
        }
    }
    use(plan);
    EXPECT_EQ(refusal(good_), "");
    EXPECT_EQ(refusal(good_, buffers_.count_buffer()), "");
    bad = good_;
    bad.values = {};
    EXPECT_TRUE(has(refusal(bad), {"values", std::to_string(kWholeBytes)}));
    bad = good_;
    bad.values_out.bytes = kInputBytes;
    EXPECT_TRUE(has(refusal(bad), {"values_out", std::to_string(kWholeBytes), "16"}));
    bad = good_;
    bad.values_out.buffer = bad.output.buffer;
    EXPECT_TRUE(has(refusal(bad), {"output", "values_out", "overlap"}));
    // Ranges of one buffer, of which a pass reads one and writes the other.
    const OwnedBuffer room = arena(1 << 17);
    bad = good_;
    bad.values = {room.get(), 0, kWholeBytes};
    bad.values_out = {room.get(), 1 << 16, kWholeBytes};
    EXPECT_TRUE(has(refusal(bad), {"values", "values_out", "both"}));
    // One that the passes of the input read and those of the values write is none.
    bad = good_;
    bad.input = {room.get(), 0, kWholeBytes};
    bad.values_out = {room.get(), 1 << 16, kWholeBytes};
    EXPECT_EQ(refusal(bad), "");
    // Of no items nothing is needed.
    bad = {.scratch = good_.scratch};
    EXPECT_EQ(refusal(bad, std::uint64_t{0}), "");
}

TEST_F(WebgpuBind, MissingUsagesAreNamed) {
    const webgpu::Functions& wgpu = rig().owned().wgpu();
    const WGPUBuffer copied =
        raw_buffer(1 << 17, WGPUBufferUsage_CopyDst | WGPUBufferUsage_CopySrc);
    const WGPUBuffer storage = raw_buffer(1 << 17, WGPUBufferUsage_Storage);
    ASSERT_TRUE(copied != nullptr && storage != nullptr);
    webgpu::Buffers bad = good_;
    bad.input.buffer = copied;
    EXPECT_TRUE(has(refusal(bad), {"input", "Storage"}));
    bad = good_;
    bad.output.buffer = copied;
    EXPECT_TRUE(has(refusal(bad), {"output", "Storage"}));
    bad = good_;
    bad.scratch.buffer = copied;
    EXPECT_TRUE(has(refusal(bad), {"scratch", "Storage"}));
    EXPECT_TRUE(has(refusal(good_, webgpu::CountBuffer{copied, 0}), {"count", "Storage"}));
    // What count_to_groups writes is copied out of scratch; a count on the host needs no such
    // thing.
    bad = good_;
    bad.scratch.buffer = storage;
    EXPECT_TRUE(has(refusal(bad, buffers_.count_buffer()), {"scratch", "CopySrc"}));
    EXPECT_NE(plan_.argument(Role::scratch)->usages & BufferUsage::copy_source, 0u);
    bad = good_;
    bad.input.buffer = storage;
    EXPECT_EQ(refusal(bad), "") << "Storage is all that an input needs";
    wgpu.BufferRelease(copied);
    wgpu.BufferRelease(storage);
}

// D3: two ranges of one buffer may not be read and written in one pass, whatever their distance:
// an error of ours, not a submission that is dropped.
TEST_F(WebgpuBind, ABufferIsReadOrWritten) {
    const OwnedBuffer room = arena(1 << 18);
    const auto at = [&](std::uint64_t offset, std::uint64_t bytes) {
        return webgpu::Buffer{room.get(), offset, bytes};
    };
    const std::uint64_t scratch_bytes = plan_.argument(Role::scratch)->bytes;
    webgpu::Buffers bad = good_;
    bad.input = at(0, kWholeBytes);
    bad.output = at(1 << 16, kWholeBytes);
    EXPECT_TRUE(has(refusal(bad), {"input", "output", "buffer"}));
    bad = good_;
    bad.input = at(0, kWholeBytes);
    bad.scratch = at(1 << 16, scratch_bytes);
    EXPECT_TRUE(has(refusal(bad), {"input", "scratch", "buffer"}));
    bad = good_;
    bad.scratch = at(0, scratch_bytes);
    EXPECT_TRUE(has(refusal(bad, webgpu::CountBuffer{room.get(), 1 << 16}), {"count", "scratch"}));
    // Overlaps are called so.
    bad = good_;
    bad.input = at(0, kWholeBytes);
    bad.output = at(256, kWholeBytes);
    EXPECT_TRUE(has(refusal(bad), {"input", "output", "overlap"}));
    bad = good_;
    bad.output = at(0, kWholeBytes);
    bad.scratch = at(4096, scratch_bytes);
    EXPECT_TRUE(has(refusal(bad), {"output", "scratch", "overlap"}));
    // Also where no pass binds both.
    use(plan_scan(rig().caps(), {.max_count = kCount,
                                 .tier = Tier::barrier,
                                 .policy = ScanPolicy{.strategy = ScanStrategy::one_workgroup}}));
    bad = good_;
    bad.input = at(0, kWholeBytes);
    bad.scratch = at(4096, plan_.argument(Role::scratch)->bytes);
    EXPECT_TRUE(has(refusal(bad, buffers_.count_buffer()), {"input", "scratch", "overlap"}));
    bad = good_;
    bad.scratch = at(0, plan_.argument(Role::scratch)->bytes);
    EXPECT_TRUE(has(refusal(bad, webgpu::CountBuffer{room.get(), 0}), {"count", "overlap"}));
}

// What is fine with WebGPU is let through, and runs.
TEST_F(WebgpuBind, BuffersThatAreOnlyReadOrOnlyWrittenAreShared) {
    const OwnedBuffer room = arena(1 << 18);
    const auto run = [&](const webgpu::Buffers& buffers, const webgpu::Count& count) {
        const auto binding = executable_->bind(buffers, count);
        ASSERT_TRUE(binding) << binding.error().message;
        const auto done =
            rig().owned().run([&](WGPUCommandEncoder encoder) { binding->record(encoder); });
        EXPECT_TRUE(done) << done.error().message;
    };
    webgpu::Buffers both = good_;
    both.output = {room.get(), 0, kWholeBytes};
    both.scratch = {room.get(), 1 << 16, plan_.argument(Role::scratch)->bytes};
    run(both, kCount);
    // A count that lies behind the input: both are read.
    webgpu::Buffers reads = good_;
    reads.input = {room.get(), 0, kWholeBytes};
    run(reads, webgpu::CountBuffer{room.get(), 1 << 16});
}

// Whatever ranges share a buffer, in whichever strategy: what is let through is what WebGPU takes.
// (A kernel may only read what another pass of the plan writes.)
TEST_F(WebgpuBind, WhatIsLetThroughRuns) {
    const OwnedBuffer room = arena(1 << 18);
    int refused = 0, ran = 0;
    const auto check = [&](const Result<Plan>& plan) {
        use(plan);
        SCOPED_TRACE(to_text(plan_));
        const auto part = [&](std::uint64_t place, const webgpu::Buffer& buffer) {
            return webgpu::Buffer{room.get(), place << 15, buffer.bytes};
        };
        // Bits: input, output, scratch, count in the shared buffer; the last: in place.
        for (unsigned shared = 0; shared < 32; ++shared) {
            webgpu::Buffers buffers = good_;
            webgpu::Count count = kCount;
            const bool in_place = (shared & 16) != 0;
            if ((shared & 1) != 0) buffers.input = part(0, good_.input);
            if ((shared & 2) != 0) buffers.output = part(1, good_.output);
            if ((shared & 4) != 0) buffers.scratch = part(2, good_.scratch);
            if ((shared & 8) != 0) count = webgpu::CountBuffer{room.get(), 7 << 15};
            if (in_place && (!plan_.in_place || (shared & 2) != 0)) continue;
            if (in_place) buffers.output = buffers.input;
            const auto binding = executable_->bind(buffers, count);
            if (!binding) {
                EXPECT_EQ(binding.error().code, ErrorCode::bad_argument);
                EXPECT_TRUE(has(binding.error().message, {"one buffer"}));
                ++refused;
                continue;
            }
            const auto done =
                rig().owned().run([&](WGPUCommandEncoder encoder) { binding->record(encoder); });
            EXPECT_TRUE(done) << shared << ": " << done.error().message;
            ++ran;
        }
    };
    for (const ScanStrategy strategy :
         {ScanStrategy::one_workgroup, ScanStrategy::reduce_then_scan, ScanStrategy::look_back}) {
        check(plan_scan(
            rig().caps(),
            {.max_count = kCount,
             .policy = ScanPolicy{.strategy = strategy, .workgroup_size = 64, .vectors = 1}}));
    }
    for (const ReduceStrategy strategy :
         {ReduceStrategy::one_workgroup, ReduceStrategy::two_pass}) {
        check(plan_reduce(
            rig().caps(),
            {.max_count = kCount,
             .policy = ReducePolicy{.strategy = strategy, .workgroup_size = 64, .vectors = 1}}));
    }
    EXPECT_GT(refused, 10);
    EXPECT_GT(ran, 10);
}

TEST_F(WebgpuBind, InPlaceWhereThePlanAllowsIt) {
    ASSERT_TRUE(plan_.in_place);
    webgpu::Buffers in_place = good_;
    in_place.output = in_place.input;
    EXPECT_EQ(refusal(in_place), "");
    EXPECT_EQ(refusal(in_place, buffers_.count_buffer()), "");
    use(plan_scan(rig().caps(), {.max_count = kCount,
                                 .tier = Tier::barrier,
                                 .policy = ScanPolicy{.strategy = ScanStrategy::look_back}}));
    ASSERT_FALSE(plan_.in_place);
    in_place = good_;
    in_place.output = in_place.input;
    EXPECT_TRUE(has(refusal(in_place), {"input", "output"}));
}

// Refusals are ours: the implementation was not asked.
TEST_F(WebgpuBind, RefusalsCallNothingThatMakesObjects) {
    WebgpuCalls::reset();
    webgpu::Buffers bad = good_;
    bad.input.bytes = 4;
    EXPECT_NE(refusal(bad), "");
    bad = good_;
    bad.output = good_.input;
    bad.output.offset = 256;
    EXPECT_NE(refusal(bad), "");
    EXPECT_EQ(WebgpuCalls::calls_that_begin("DeviceCreate"), 0);
    EXPECT_EQ(WebgpuCalls::calls_that_begin("Queue"), 0);
}

}  // namespace
}  // namespace lanewise::test
