// Several threads at once, where the implementation allows it for its objects: wgpu-native does,
// Dawn only for devices that ask for it.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "tests/support/webgpu_test.hpp"

namespace lanewise::test {
namespace {

class WebgpuThreads : public WebgpuTest {
protected:
    void SetUp() override {
        WebgpuTest::SetUp();
        if (!test_device_name().starts_with("wgpu_"))
            GTEST_SKIP() << "this implementation's objects are for one thread at a time";
    }
};

// Compile errors of one thread are not those of another: each takes error scopes of the device.
TEST_F(WebgpuThreads, CompileAndBindAtOnce) {
    constexpr std::size_t kThreads = 4;
    const std::uint32_t count = 3000;
    const auto good = plan_scan(rig().caps(), {.max_count = count, .tier = Tier::barrier});
    const auto bad = plan_reduce(
        rig().caps(),
        {.custom = CustomOperator{.element = {{Scalar::u32, 1, ""}}, .combine = "a + nothing"},
         .max_count = count,
         .tier = Tier::barrier});
    ASSERT_TRUE(good && bad);
    std::vector<WebgpuBuffers> memory;
    for (std::size_t i = 0; i < kThreads; ++i)
        memory.push_back(make_webgpu_buffers(rig().owned(), *good));
    std::vector<std::optional<webgpu::Binding>> bindings(kThreads);
    std::vector<std::string> errors(kThreads);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            for (int round = 0; round < 3; ++round) {
                if ((i + static_cast<std::size_t>(round)) % 2 == 0) {
                    const auto refused = rig().device().compile(*bad);
                    if (refused || refused.error().code != ErrorCode::compile_failed)
                        errors[i] = "a broken plan was compiled";
                }
                const auto executable = rig().device().compile(*good);
                if (!executable) {
                    errors[i] = executable.error().message;
                    continue;
                }
                const auto binding =
                    executable->bind(memory[i].buffers(*good), std::uint64_t{count});
                if (binding)
                    bindings[i] = *binding;
                else
                    errors[i] = binding.error().message;
            }
        });
    }
    for (std::thread& thread : threads) thread.join();
    const std::vector<std::uint32_t> ones(count, 1);
    for (std::size_t i = 0; i < kThreads; ++i) {
        EXPECT_EQ(errors[i], "");
        ASSERT_TRUE(bindings[i]);
        ASSERT_TRUE(rig().owned().upload(memory[i].input, 0, std::as_bytes(std::span(ones))));
        ASSERT_TRUE(
            rig().owned().run([&](WGPUCommandEncoder encoder) { bindings[i]->record(encoder); }));
        std::vector<std::uint32_t> sums(count);
        ASSERT_TRUE(
            rig().owned().download(memory[i].output, 0, std::as_writable_bytes(std::span(sums))));
        for (std::uint32_t at = 0; at < count; ++at) ASSERT_EQ(sums[at], at + 1);
    }
}

// Bindings of one executable, made in place by several threads at once: the pipelines for it are
// made once.
TEST_F(WebgpuThreads, BindInPlaceAtOnce) {
    constexpr std::size_t kThreads = 4;
    const std::uint32_t count = 3000;
    const auto plan = plan_scan(rig().caps(), {.max_count = count, .tier = Tier::barrier});
    ASSERT_TRUE(plan && plan->in_place);
    const auto executable = rig().device().compile(*plan);
    ASSERT_TRUE(executable);
    std::vector<WebgpuBuffers> memory;
    for (std::size_t i = 0; i < kThreads; ++i)
        memory.push_back(make_webgpu_buffers(rig().owned(), *plan));
    WebgpuCalls::take_texts();
    std::vector<int> bound(kThreads, 0);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < kThreads; ++i) {
        threads.emplace_back([&, i] {
            webgpu::Buffers buffers = memory[i].buffers(*plan);
            buffers.output = buffers.input;
            bound[i] = executable->bind(buffers, std::uint64_t{count}) ? 1 : 0;
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(bound, std::vector<int>(kThreads, 1));
    EXPECT_LE(WebgpuCalls::take_texts().size(), plan->passes.size());
}

}  // namespace
}  // namespace lanewise::test
