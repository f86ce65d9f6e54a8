// Binding::record: counts from the host and from buffers, several uses in one encoder and in
// flight, chains whose counts the device writes, timestamps; and that nothing is made while
// recording.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "lanewise/reduce.hpp"
#include "lanewise/scan.hpp"
#include "lanewise/select.hpp"
#include "lanewise/sort.hpp"
#include "primitives/reduce/reduce_reference.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/support/conformance.hpp"
#include "tests/support/select_runner.hpp"
#include "tests/support/test_data.hpp"
#include "tests/support/webgpu_test.hpp"

namespace lanewise::test {
namespace {

using U32 = std::vector<std::uint32_t>;

class WebgpuRecord : public WebgpuTest {
protected:
    static constexpr std::uint32_t kCount = 4001;

    // The tier that is chosen here, small tiles, several dispatches.
    static ReduceDesc sum(std::uint64_t max_count = kCount) {
        return {.max_count = max_count,
                .policy = ReducePolicy{.workgroup_size = 32,
                                       .vectors = 1,
                                       .max_groups = 5,
                                       .max_items_per_dispatch = 5 * 128}};
    }
    static ScanDesc scan(ScanStrategy strategy, std::uint64_t max_count = kCount) {
        return {.max_count = max_count,
                .policy = ScanPolicy{.strategy = strategy,
                                     .workgroup_size = 32,
                                     .vectors = 1,
                                     .max_groups = 5,
                                     .ahead = strategy == ScanStrategy::reduce_ahead ? 3u : 0u,
                                     .patience = 16}};
    }

    static U32 numbers(std::size_t count, std::uint64_t seed) {
        U32 values(count);
        for (std::size_t i = 0; i < count; ++i)
            values[i] = static_cast<std::uint32_t>(hash(seed, i));
        return values;
    }
    static std::uint32_t sum_of(const U32& values, std::size_t count) {
        std::uint32_t sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += values[i];
        return sum;
    }

    static void write(const webgpu::detail::OwnedBuffer& buffer, const U32& values) {
        const auto done = rig().owned().upload(buffer, 0, std::as_bytes(std::span(values)));
        ASSERT_TRUE(done) << done.error().message;
    }
    static U32 read(const webgpu::detail::OwnedBuffer& buffer, std::size_t count) {
        U32 values(count);
        const auto done =
            rig().owned().download(buffer, 0, std::as_writable_bytes(std::span(values)));
        EXPECT_TRUE(done) << done.error().message;
        return values;
    }
    static void run(const std::function<void(WGPUCommandEncoder)>& record) {
        const auto done = rig().owned().run(record);
        ASSERT_TRUE(done) << done.error().message;
    }
};

// A plan made ready with buffers of its own.
struct Ready {
    Plan plan;
    webgpu::Executable executable;
    WebgpuBuffers memory;

    static Ready of(WebgpuRig& rig, const Result<Plan>& plan) {
        EXPECT_TRUE(plan) << plan.error().message;
        auto executable = rig.compile(*plan);
        EXPECT_TRUE(executable) << executable.error().message;
        count_dispatch(plan->tier);
        return {*plan, *executable, make_webgpu_buffers(rig.owned(), *plan)};
    }
    webgpu::Buffers buffers() const { return memory.buffers(plan); }
};

TEST_F(WebgpuRecord, CountsOnTheHostAndInABuffer) {
    const Ready reduce = Ready::of(rig(), plan_reduce(rig().caps(), sum()));
    EXPECT_GT(share_out(reduce.plan.share, kCount).dispatches, 1u);
    const U32 values = numbers(kCount, 1);
    write(reduce.memory.input, values);
    // 128 items are a tile, 640 a dispatch.
    for (const std::uint32_t count : {0u, 1u, 127u, 128u, 129u, 640u, 641u, 1280u, 4000u, kCount,
                                      kCount + 1, 0x80000000u, 0xffffffffu}) {
        SCOPED_TRACE(count);
        const std::uint32_t expected = sum_of(values, std::min(count, kCount));
        write(reduce.memory.count, {count});
        write(reduce.memory.output, {0xdeadbeef});
        const auto in_buffer =
            reduce.executable.bind(reduce.buffers(), reduce.memory.count_buffer());
        ASSERT_TRUE(in_buffer) << in_buffer.error().message;
        run([&](WGPUCommandEncoder encoder) { in_buffer->record(encoder); });
        EXPECT_EQ(read(reduce.memory.output, 1)[0], expected) << "in a buffer";
        if (count > kCount) continue;
        write(reduce.memory.output, {0xdeadbeef});
        const auto on_host = reduce.executable.bind(reduce.buffers(), std::uint64_t{count});
        ASSERT_TRUE(on_host) << on_host.error().message;
        run([&](WGPUCommandEncoder encoder) { on_host->record(encoder); });
        EXPECT_EQ(read(reduce.memory.output, 1)[0], expected) << "on the host";
    }
}

// The count is read when the commands run, each time that they do.
TEST_F(WebgpuRecord, OneBindingIsSubmittedAgain) {
    for (const ScanStrategy strategy : {ScanStrategy::reduce_then_scan, ScanStrategy::look_back}) {
        SCOPED_TRACE(to_text(strategy));
        const Ready scanned = Ready::of(rig(), plan_scan(rig().caps(), scan(strategy)));
        const auto binding =
            scanned.executable.bind(scanned.buffers(), scanned.memory.count_buffer());
        ASSERT_TRUE(binding) << binding.error().message;
        for (const std::uint32_t count : {kCount, 0u, 1u, 640u, kCount, 4000u, 99999u, 129u}) {
            SCOPED_TRACE(count);
            const U32 values = numbers(kCount, count);
            write(scanned.memory.input, values);
            write(scanned.memory.count, {count});
            write(scanned.memory.output, U32(kCount, 0xdeadbeef));
            run([&](WGPUCommandEncoder encoder) { binding->record(encoder); });
            const U32 sums = read(scanned.memory.output, kCount);
            std::uint32_t expected = 0;
            for (std::uint32_t i = 0; i < kCount; ++i) {
                expected += values[i];
                ASSERT_EQ(sums[i], i < count ? expected : 0xdeadbeef) << i;
            }
        }
    }
}

// One binding twice, others between, in one encoder: WebGPU orders what they read and write.
TEST_F(WebgpuRecord, SeveralUsesInOneEncoder) {
    const Ready reduce = Ready::of(rig(), plan_reduce(rig().caps(), sum()));
    const U32 values = numbers(kCount, 3);
    write(reduce.memory.input, values);
    write(reduce.memory.count, {1234});
    // One scratch for all of them.
    std::vector<WebgpuBuffers> outputs;
    std::vector<webgpu::Binding> bindings;
    for (const std::uint64_t count : {std::uint64_t{kCount}, std::uint64_t{77}, std::uint64_t{0}}) {
        outputs.push_back(make_webgpu_buffers(rig().owned(), reduce.plan));
        webgpu::Buffers buffers = reduce.buffers();
        buffers.output = outputs.back().buffers(reduce.plan).output;
        const auto binding = count == 77
                                 ? reduce.executable.bind(buffers, reduce.memory.count_buffer())
                                 : reduce.executable.bind(buffers, count);
        ASSERT_TRUE(binding) << binding.error().message;
        bindings.push_back(*binding);
    }
    run([&](WGPUCommandEncoder encoder) {
        for (const int i : {0, 1, 2, 1, 0}) bindings[static_cast<std::size_t>(i)].record(encoder);
    });
    EXPECT_EQ(read(outputs[0].output, 1)[0], sum_of(values, kCount));
    EXPECT_EQ(read(outputs[1].output, 1)[0], sum_of(values, 1234));
    EXPECT_EQ(read(outputs[2].output, 1)[0], 0u);
}

// D12, traps 15 and 17: uses in flight at once, submitted without a wait between them. Each has its
// own parameters, arguments and state.
TEST_F(WebgpuRecord, FourUsesInFlight) {
    const webgpu::Functions& wgpu = rig().owned().wgpu();
    for (const ScanStrategy strategy :
         {ScanStrategy::reduce_then_scan, ScanStrategy::look_back, ScanStrategy::reduce_ahead}) {
        SCOPED_TRACE(to_text(strategy));
        const auto plan = plan_scan(rig().caps(), scan(strategy));
        std::vector<Ready> uses;
        std::vector<webgpu::Binding> bindings;
        std::vector<U32> data;
        const std::vector<std::uint32_t> counts{kCount, 2777, 640, 3};
        for (std::size_t i = 0; i < counts.size(); ++i) {
            uses.push_back(Ready::of(rig(), plan));
            data.push_back(numbers(kCount, i + 10));
            write(uses[i].memory.input, data[i]);
            write(uses[i].memory.count, {counts[i]});
            const auto binding =
                i % 2 == 0
                    ? uses[i].executable.bind(uses[i].buffers(), std::uint64_t{counts[i]})
                    : uses[i].executable.bind(uses[i].buffers(), uses[i].memory.count_buffer());
            ASSERT_TRUE(binding) << binding.error().message;
            bindings.push_back(*binding);
        }
        // Three encoders are handed over before anything is waited for, the fourth with run().
        for (std::size_t i = 0; i + 1 < counts.size(); ++i) {
            const WGPUCommandEncoder encoder =
                wgpu.DeviceCreateCommandEncoder(rig().owned().device(), nullptr);
            bindings[i].record(encoder);
            const WGPUCommandBuffer commands = wgpu.CommandEncoderFinish(encoder, nullptr);
            wgpu.QueueSubmit(rig().owned().queue(), 1, &commands);
            wgpu.CommandBufferRelease(commands);
            wgpu.CommandEncoderRelease(encoder);
        }
        run([&](WGPUCommandEncoder encoder) { bindings.back().record(encoder); });
        for (std::size_t i = 0; i < counts.size(); ++i) {
            const U32 sums = read(uses[i].memory.output, counts[i]);
            std::uint32_t expected = 0;
            for (std::uint32_t at = 0; at < counts[i]; ++at) {
                expected += data[i][at];
                ASSERT_EQ(sums[at], expected) << "use " << i << ", output " << at;
            }
        }
    }
}

// The count of the scan is the result of the reduction: never on the host.
TEST_F(WebgpuRecord, ACountThatTheDeviceWrote) {
    ReduceDesc largest = sum();
    largest.op = Operator::max;
    const Ready reduce = Ready::of(rig(), plan_reduce(rig().caps(), largest));
    const Ready scanned =
        Ready::of(rig(), plan_scan(rig().caps(), scan(ScanStrategy::reduce_then_scan)));
    const Ready total = Ready::of(rig(), plan_reduce(rig().caps(), sum()));
    U32 values(kCount);
    for (std::uint32_t i = 0; i < kCount; ++i) values[i] = i % 2346;
    write(reduce.memory.input, values);
    write(scanned.memory.input, values);
    write(scanned.memory.output, U32(kCount, 0));
    webgpu::Buffers of_scan = total.buffers();
    of_scan.input = scanned.buffers().output;
    const webgpu::CountBuffer count{reduce.memory.output.get(), 0};
    const auto first = reduce.executable.bind(reduce.buffers(), std::uint64_t{kCount});
    const auto second = scanned.executable.bind(scanned.buffers(), count);
    const auto third = total.executable.bind(of_scan, count);
    ASSERT_TRUE(first && second && third);
    for (const std::uint32_t most : {2345u, 1u, 3999u}) {
        SCOPED_TRACE(most);
        std::ranges::replace_if(
            values, [&](std::uint32_t value) { return value > most; }, 0u);
        values[7] = most;
        write(reduce.memory.input, values);
        run([&](WGPUCommandEncoder encoder) {
            first->record(encoder);
            second->record(encoder);
            third->record(encoder);
        });
        const U32 read_values = read(scanned.memory.input, kCount);
        const U32 sums = read(scanned.memory.output, most);
        std::uint32_t expected = 0, all = 0;
        for (std::uint32_t i = 0; i < most; ++i) {
            expected += read_values[i];
            all += expected;
            ASSERT_EQ(sums[i], expected) << i;
        }
        EXPECT_EQ(read(total.memory.output, 1)[0], all);
    }
}

// Scan's output in place of its input, with counts of both kinds.
TEST_F(WebgpuRecord, InPlace) {
    const Ready scanned =
        Ready::of(rig(), plan_scan(rig().caps(), scan(ScanStrategy::reduce_then_scan)));
    webgpu::Buffers buffers = scanned.buffers();
    buffers.output = buffers.input;
    for (const std::uint32_t count : {kCount, 1235u}) {
        const U32 values = numbers(kCount, count);
        write(scanned.memory.input, values);
        write(scanned.memory.count, {count});
        const auto binding = count == kCount
                                 ? scanned.executable.bind(buffers, std::uint64_t{count})
                                 : scanned.executable.bind(buffers, scanned.memory.count_buffer());
        ASSERT_TRUE(binding) << binding.error().message;
        run([&](WGPUCommandEncoder encoder) { binding->record(encoder); });
        const U32 sums = read(scanned.memory.input, kCount);
        std::uint32_t expected = 0;
        for (std::uint32_t i = 0; i < kCount; ++i) {
            expected += values[i];
            ASSERT_EQ(sums[i], i < count ? expected : values[i]) << i;
        }
    }
}

TEST_F(WebgpuRecord, PassesHaveTheirNamesAndNumbers) {
    const Ready reduce = Ready::of(rig(), plan_reduce(rig().caps(), sum()));
    const auto on_host = reduce.executable.bind(reduce.buffers(), std::uint64_t{kCount});
    const auto in_buffer = reduce.executable.bind(reduce.buffers(), reduce.memory.count_buffer());
    ASSERT_TRUE(on_host && in_buffer);
    using Names = std::vector<std::string>;
    EXPECT_EQ(on_host->pass_names(), (Names{"reduce_tiles", "reduce_partials"}));
    EXPECT_EQ(in_buffer->pass_names(),
              (Names{"count_to_groups", "reduce_tiles", "reduce_partials"}));
    // Direct dispatches have no more workgroups than the share says, and all of them.
    WebgpuCalls::reset();
    run([&](WGPUCommandEncoder encoder) { on_host->record(encoder); });
    const Launch launch = share_out(reduce.plan.share, kCount);
    std::vector<std::uint64_t> dispatches = WebgpuCalls::take_dispatches();
    ASSERT_EQ(dispatches.size(), launch.dispatches + std::size_t{1});
    dispatches.pop_back();  // reduce_partials
    std::uint64_t groups = 0;
    for (const std::uint64_t one : dispatches) {
        groups += one;
        EXPECT_LE(one, reduce.plan.share.max_groups);
    }
    EXPECT_EQ(groups, launch.groups);
    EXPECT_TRUE(WebgpuCalls::take_copies().empty()) << "only counts in buffers are copied";
    EXPECT_EQ(WebgpuCalls::calls("ComputePassEncoderDispatchWorkgroupsIndirect"), 0);
    // Indirect arguments are in a buffer that no shader writes (trap 17).
    WebgpuCalls::reset();
    run([&](WGPUCommandEncoder encoder) { in_buffer->record(encoder); });
    EXPECT_EQ(WebgpuCalls::calls("ComputePassEncoderDispatchWorkgroupsIndirect"),
              static_cast<int>(launch.dispatches));
    const auto copies = WebgpuCalls::take_copies();
    EXPECT_FALSE(copies.empty());
    for (const CopySeen& copy : copies) {
        EXPECT_EQ(copy.from, reduce.memory.scratch.get());
        EXPECT_NE(copy.to, copy.from);
    }
}

TEST_F(WebgpuRecord, TimestampsOfEachPass) {
    ASSERT_TRUE(rig().caps().timestamps);
    const Ready reduce = Ready::of(rig(), plan_reduce(rig().caps(), sum()));
    write(reduce.memory.count, {kCount});
    for (const bool counted : {false, true}) {
        const auto binding =
            counted ? reduce.executable.bind(reduce.buffers(), reduce.memory.count_buffer())
                    : reduce.executable.bind(reduce.buffers(), std::uint64_t{kCount});
        ASSERT_TRUE(binding);
        const auto queries = static_cast<std::uint32_t>(2 * binding->pass_names().size());
        // Twice into one set: the second use has its own.
        WebgpuCalls::reset();
        const auto times =
            rig().owned().run_timed(2 * queries, [&](WGPUCommandEncoder encoder, WGPUQuerySet set) {
                binding->record(encoder, {.query_set = set});
                binding->record(encoder, {.query_set = set, .first_query = queries});
            });
        ASSERT_TRUE(times) << times.error().message;
        ASSERT_EQ(times->size(), 2 * queries);
        EXPECT_EQ(times->front(), 0.0);
        for (std::size_t i = 1; i < times->size(); ++i)
            EXPECT_GE((*times)[i], (*times)[i - 1]) << "passes follow each other: " << i;
        EXPECT_GT(times->back(), 0.0);
        std::multiset<std::uint32_t> written;
        std::vector<std::string> labels;
        for (const ComputePassSeen& pass : WebgpuCalls::take_passes()) {
            labels.push_back(pass.label);
            written.insert({pass.begin_query, pass.end_query});
        }
        std::vector<std::string> twice = binding->pass_names();
        twice.insert(twice.end(), binding->pass_names().begin(), binding->pass_names().end());
        EXPECT_EQ(labels, twice);
        for (std::uint32_t query = 0; query < 2 * queries; ++query)
            EXPECT_EQ(written.count(query), 1u) << query;
    }
    // None where the device was made without them, whatever the caller asks for.
    auto options = WebgpuRig::named();
    options.leave_out.push_back("timestamp-query");
    WebgpuScope lesser(options);
    ASSERT_TRUE(lesser);
    const Ready untimed = Ready::of(*lesser, plan_reduce(lesser->caps(), sum()));
    const auto binding = untimed.executable.bind(untimed.buffers(), std::uint64_t{kCount});
    ASSERT_TRUE(binding);
    WebgpuCalls::reset();
    const auto done = lesser->owned().run([&](WGPUCommandEncoder encoder) {
        binding->record(encoder, {.query_set = reinterpret_cast<WGPUQuerySet>(1)});
    });
    EXPECT_TRUE(done) << done.error().message;
    for (const ComputePassSeen& pass : WebgpuCalls::take_passes())
        EXPECT_EQ(pass.query_set, nullptr);
}

TEST_F(WebgpuRecord, MakesNothingAndAllocatesNothing) {
    const Ready reduce = Ready::of(rig(), plan_reduce(rig().caps(), sum()));
    for (const webgpu::Count& count :
         {webgpu::Count{std::uint64_t{kCount}}, webgpu::Count{reduce.memory.count_buffer()}}) {
        // Functions of nobody's: what the implementation allocates is not ours to count.
        webgpu::Adoption adoption = rig().adoption();
        static int recorded;
        recorded = 0;
        adoption.functions.CommandEncoderBeginComputePass = [](WGPUCommandEncoder,
                                                               const WGPUComputePassDescriptor*) {
            ++recorded;
            return reinterpret_cast<WGPUComputePassEncoder>(&recorded);
        };
        adoption.functions.CommandEncoderCopyBufferToBuffer =
            [](WGPUCommandEncoder, WGPUBuffer, std::uint64_t, WGPUBuffer, std::uint64_t,
               std::uint64_t) { ++recorded; };
        adoption.functions.ComputePassEncoderSetPipeline = [](WGPUComputePassEncoder,
                                                              WGPUComputePipeline) { ++recorded; };
        adoption.functions.ComputePassEncoderSetBindGroup =
            [](WGPUComputePassEncoder, std::uint32_t, WGPUBindGroup, std::size_t,
               const std::uint32_t*) { ++recorded; };
        adoption.functions.ComputePassEncoderDispatchWorkgroups =
            [](WGPUComputePassEncoder, std::uint32_t, std::uint32_t, std::uint32_t) { ++recorded; };
        adoption.functions.ComputePassEncoderDispatchWorkgroupsIndirect =
            [](WGPUComputePassEncoder, WGPUBuffer, std::uint64_t) { ++recorded; };
        adoption.functions.ComputePassEncoderEnd = [](WGPUComputePassEncoder) { ++recorded; };
        adoption.functions.ComputePassEncoderRelease = [](WGPUComputePassEncoder) { ++recorded; };
        const auto device = webgpu::Device::adopt(adoption);
        ASSERT_TRUE(device);
        const auto executable = device->compile(reduce.plan);
        ASSERT_TRUE(executable);
        const auto binding = executable->bind(reduce.buffers(), count);
        ASSERT_TRUE(binding);
        WebgpuCalls::reset();
        const std::uint64_t before = allocations_of_this_thread();
        binding->record(nullptr);
        const std::uint64_t after = allocations_of_this_thread();
        EXPECT_GT(recorded, 10);
        if (counts_allocations()) {
            EXPECT_EQ(after - before, 0u);
        }
        for (const char* start : {"Device", "Queue", "Buffer", "Instance"})
            EXPECT_EQ(WebgpuCalls::calls_that_begin(start), 0) << start;
    }
}

// Trap 24: what WebGPU rejects is an error, not silence; and the device is as good as before.
TEST_F(WebgpuRecord, ARejectedSubmissionIsAnError) {
    const Ready reduce = Ready::of(rig(), plan_reduce(rig().caps(), sum()));
    const auto binding = reduce.executable.bind(reduce.buffers(), std::uint64_t{kCount});
    ASSERT_TRUE(binding);
    const webgpu::Functions& wgpu = rig().owned().wgpu();
    // A copy past the end, beside good commands.
    const auto bad = rig().owned().run([&](WGPUCommandEncoder encoder) {
        binding->record(encoder);
        wgpu.CommandEncoderCopyBufferToBuffer(encoder, reduce.memory.input.get(), 0,
                                              reduce.memory.output.get(), 0, 1 << 16);
    });
    ASSERT_FALSE(bad);
    EXPECT_EQ(bad.error().message.find('\n'), std::string::npos) << bad.error().message;
    const U32 values = numbers(kCount, 8);
    write(reduce.memory.input, values);
    run([&](WGPUCommandEncoder encoder) { binding->record(encoder); });
    EXPECT_EQ(read(reduce.memory.output, 1)[0], sum_of(values, kCount));
}

// A thousand uses of one binding, whose look-back state goes on from use to use.
TEST_F(WebgpuRecord, ManyUsesOfOneBinding) {
    const Ready scanned = Ready::of(rig(), plan_scan(rig().caps(), scan(ScanStrategy::look_back)));
    const auto binding = scanned.executable.bind(scanned.buffers(), std::uint64_t{kCount});
    ASSERT_TRUE(binding);
    write(scanned.memory.input, U32(kCount, 1));
    const int rounds = test_all() ? 100 : 10;
    for (int round = 0; round < rounds; ++round) {
        write(scanned.memory.output, U32(kCount, 0xdeadbeef));
        run([&](WGPUCommandEncoder encoder) {
            for (int use = 0; use < 10; ++use) binding->record(encoder);
        });
        const U32 sums = read(scanned.memory.output, kCount);
        for (std::uint32_t i = 0; i < kCount; ++i) ASSERT_EQ(sums[i], i + 1) << "round " << round;
    }
}

// Select, then a scan of what was kept, then a sort of that, in one encoder: how many items the
// later ones have is what the select wrote.
TEST_F(WebgpuRecord, SelectScanSortWithTheCountOnTheDevice) {
    for (const SelectStrategy strategy :
         {SelectStrategy::count_then_scatter, SelectStrategy::look_back}) {
        SCOPED_TRACE(to_text(strategy));
        const SelectDesc desc{.max_count = kCount,
                              .policy = SelectPolicy{.strategy = strategy,
                                                     .workgroup_size = 32,
                                                     .vectors = 1,
                                                     .max_groups = 5,
                                                     .patience = 16}};
        const Ready kept = Ready::of(rig(), plan_select(rig().caps(), desc));
        const Ready sums =
            Ready::of(rig(), plan_scan(rig().caps(), scan(ScanStrategy::reduce_then_scan)));
        const SortDesc in_order{
            .max_count = kCount,
            .policy = SortPolicy{SortStrategy::count_then_scatter, 32, 4, 4, 5}};
        const Ready order = Ready::of(rig(), plan_sort(rig().caps(), in_order));
        const webgpu::CountBuffer how_many{kept.memory.count_out.get(), 0};
        webgpu::Buffers of_sums = sums.buffers();
        of_sums.input = kept.buffers().output;
        webgpu::Buffers of_order = order.buffers();
        of_order.input = of_sums.output;
        const auto first = kept.executable.bind(kept.buffers(), std::uint64_t{kCount});
        const auto second = sums.executable.bind(of_sums, how_many);
        const auto third = order.executable.bind(of_order, how_many);
        ASSERT_TRUE(first) << first.error().message;
        ASSERT_TRUE(second) << second.error().message;
        ASSERT_TRUE(third) << third.error().message;
        for (const Keep keep : {Keep::half, Keep::none, Keep::all}) {
            SCOPED_TRACE(to_text(keep));
            const U32 values = numbers(kCount, 12);
            write(kept.memory.input, values);
            SelectInput input = make_select_input(desc, kCount, 5, keep);
            // Copies of WebGPU are of whole words.
            input.flags.resize((input.flags.size() + 3) / 4 * 4);
            const auto done = rig().owned().upload(kept.memory.flags, 0, input.flags);
            ASSERT_TRUE(done) << done.error().message;
            write(order.memory.output, U32(kCount, 0xdeadbeef));
            run([&](WGPUCommandEncoder encoder) {
                for (const auto* use : {&*first, &*second, &*third}) use->record(encoder);
            });
            U32 expected;
            std::uint32_t sum = 0;
            for (std::size_t i = 0; i < kCount; ++i)
                if (input.kept[i] != 0) expected.push_back(sum += values[i]);
            std::ranges::sort(expected);
            EXPECT_EQ(read(kept.memory.count_out, 1)[0], expected.size());
            expected.resize(kCount, 0xdeadbeef);
            EXPECT_EQ(read(order.memory.output, kCount), expected);
        }
    }
}

}  // namespace
}  // namespace lanewise::test
