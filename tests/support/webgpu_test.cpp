#include "tests/support/webgpu_test.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <span>
#include <utility>

#include "tests/support/wgsl_scan.hpp"

namespace lanewise::test {

namespace {

using webgpu::detail::OwnedBuffer;
using webgpu::detail::OwnedDevice;
using webgpu::detail::OwnedDeviceOptions;

constexpr std::size_t kVectorBytes = 16;

class WebgpuMemory : public TestMemory {
public:
    WebgpuMemory(const OwnedDevice& device, OwnedBuffer buffer)
        : device_(&device), buffer_(std::move(buffer)) {}

    Result<void> write(std::size_t offset, std::span<const std::byte> data) override {
        return device_->upload(buffer_, offset, data);
    }
    Result<void> read(std::size_t offset, std::span<std::byte> data) const override {
        return device_->download(buffer_, offset, data);
    }
    WGPUBuffer get() const { return buffer_.get(); }

private:
    const OwnedDevice* device_;
    OwnedBuffer buffer_;
};

WGPUBuffer buffer_of(const TestRange& range) {
    return dynamic_cast<const WebgpuMemory&>(*range.memory).get();
}

// Tests bind no byte more than is needed; WebGPU's kernels want whole vectors. What lies behind the
// range, guards mostly, has to stay as it was.
webgpu::Buffer range_of(const TestRange& range, bool whole_vectors) {
    if (range.memory == nullptr) return {};
    const std::size_t bytes = whole_vectors
                                  ? (range.bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes
                                  : range.bytes;
    return {buffer_of(range), range.offset, bytes};
}

// A driver could have compiled anything: these are the texts that it was given.
void expect_texts_of_tier(const Plan& plan, const std::vector<std::string>& texts, bool all) {
    const bool has = std::ranges::any_of(
        texts, [](const std::string& text) { return has_subgroup_operations(text); });
    if (!has_kernels_of_tier(plan)) {
        EXPECT_FALSE(has) << "the host compiled subgroup operations for a plan of tier "
                          << to_text(plan.tier);
    } else if (all) {
        EXPECT_TRUE(has) << "the host compiled no subgroup operation for a plan of tier "
                         << to_text(plan.tier);
    }
}

class WebgpuUse : public TestUse {
public:
    WebgpuUse(WebgpuRig& rig, webgpu::Binding binding) : rig_(&rig), binding_(std::move(binding)) {}

    const std::vector<std::string>& pass_names() const override { return binding_.pass_names(); }

    // A binding is recorded anew each time: WebGPU's command buffers are submitted once.
    Result<void> run(const UseOptions& options) override {
        if (!options.timestamps || !rig_->has_timestamps())
            return rig_->owned().run([&](WGPUCommandEncoder encoder) { binding_.record(encoder); });
        const auto queries = static_cast<std::uint32_t>(pass_names().size() * 2);
        WebgpuCalls::take_passes();
        const auto times =
            rig_->owned().run_timed(queries, [&](WGPUCommandEncoder encoder, WGPUQuerySet set) {
                binding_.record(encoder, {.query_set = set});
            });
        if (!times) return tl::unexpected(times.error());
        std::multiset<std::uint32_t> written;
        for (const ComputePassSeen& pass : WebgpuCalls::take_passes()) {
            for (const std::uint32_t query : {pass.begin_query, pass.end_query})
                if (query != WGPU_QUERY_SET_INDEX_UNDEFINED) written.insert(query);
        }
        EXPECT_EQ(times->size(), queries);
        for (std::uint32_t query = 0; query < queries; ++query)
            EXPECT_EQ(written.count(query), 1u) << "timestamp " << query;
        EXPECT_EQ(written.size(), queries) << "timestamps that are none of the binding's";
        for (std::uint32_t pass = 0; pass < queries / 2 && times->size() == queries; ++pass) {
            EXPECT_LE((*times)[2 * pass], (*times)[2 * pass + 1])
                << pass_names()[pass] << " ends before it begins";
        }
        return {};
    }

private:
    WebgpuRig* rig_;
    webgpu::Binding binding_;
};

class WebgpuExecutable : public TestExecutable {
public:
    WebgpuExecutable(WebgpuRig& rig, webgpu::Executable executable)
        : rig_(&rig), executable_(std::move(executable)) {}

    Result<std::unique_ptr<TestUse>> bind(const TestBuffers& buffers,
                                          const TestCount& count) override {
        webgpu::Count what;
        if (const auto* number = std::get_if<std::uint64_t>(&count)) {
            what = *number;
        } else {
            const auto& range = std::get<TestRange>(count);
            what = webgpu::CountBuffer{buffer_of(range), range.offset};
        }
        const Plan& plan = executable_.plan();
        WebgpuCalls::take_texts();
        auto binding = executable_.bind({.input = range_of(buffers.input, true),
                                         .output = range_of(buffers.output, plan.result_bytes != 0),
                                         .scratch = range_of(buffers.scratch, false),
                                         .values = range_of(buffers.values, true),
                                         .values_out = range_of(buffers.values_out, true),
                                         .offsets = range_of(buffers.offsets, false),
                                         .flags = range_of(buffers.flags, true),
                                         .keys = range_of(buffers.keys, true),
                                         .rejected = range_of(buffers.rejected, true),
                                         .count_out = range_of(buffers.count_out, false)},
                                        what);
        // In place is another text, which may be compiled when it is wanted.
        expect_texts_of_tier(plan, WebgpuCalls::take_texts(), false);
        if (!binding) return tl::unexpected(binding.error());
        return std::make_unique<WebgpuUse>(*rig_, *std::move(binding));
    }

private:
    WebgpuRig* rig_;
    webgpu::Executable executable_;
};

std::string text(const Error& error) {
    return std::string(to_text(error.code)) + ": " + error.message;
}

}  // namespace

bool is_webgpu_name(const std::string& name) {
    return name.starts_with("wgpu_") || name.starts_with("dawn_");
}

OwnedDeviceOptions WebgpuRig::named() {
    OwnedDeviceOptions options;
    if (const char* library = std::getenv("LANEWISE_TEST_WEBGPU_LIBRARY"); library != nullptr)
        options.library = library;
    const std::string name = test_device_name();
    if (name.find("_barrier") != std::string::npos) options.leave_out = {"subgroups"};
    options.least_limits = name.find("_least") != std::string::npos;
    return options;
}

std::unique_ptr<WebgpuRig> WebgpuRig::create(OwnedDeviceOptions options) {
    std::unique_ptr<WebgpuRig> rig(new WebgpuRig);
    options.on_error = [box = rig->message_box()](const std::string& message) {
        box->add(message);
    };
    auto owned = OwnedDevice::create(options);
    if (!owned) {
        ADD_FAILURE() << "no device: " << owned.error().message;
        return nullptr;
    }
    rig->owned_ = *std::move(owned);
    auto device = webgpu::Device::adopt(rig->adoption());
    if (!device) {
        ADD_FAILURE() << "the device was not adopted: " << device.error().message;
        return nullptr;
    }
    rig->device_ = std::make_unique<webgpu::Device>(*std::move(device));
    return rig;
}

WebgpuRig& WebgpuRig::shared() { return dynamic_cast<WebgpuRig&>(TestDevice::shared()); }

WebgpuRig::~WebgpuRig() = default;

webgpu::Adoption WebgpuRig::adoption() const {
    webgpu::Adoption adoption = owned_->adoption();
    adoption.functions = WebgpuCalls::watched(adoption.functions);
    return adoption;
}

Result<webgpu::Executable> WebgpuRig::compile(const Plan& plan) {
    const std::string key = plan_to_json(plan);
    if (const auto found = compiled_.find(key); found != compiled_.end()) return found->second;
    WebgpuCalls::take_texts();
    auto executable = device_->compile(plan);
    if (!executable) return executable;
    expect_texts_of_tier(plan, WebgpuCalls::take_texts(), true);
    compiled_.emplace(key, *executable);
    return executable;
}

Result<std::unique_ptr<TestMemory>> WebgpuRig::make_memory(std::size_t bytes) {
    auto buffer = owned_->make_buffer(bytes, WGPUBufferUsage_Storage);
    if (!buffer) return tl::unexpected(buffer.error());
    return std::make_unique<WebgpuMemory>(*owned_, *std::move(buffer));
}

Result<std::shared_ptr<TestExecutable>> WebgpuRig::prepare(const Plan& plan) {
    auto executable = compile(plan);
    if (!executable) return tl::unexpected(executable.error());
    return std::make_shared<WebgpuExecutable>(*this, *std::move(executable));
}

void WebgpuTest::SetUp() {
    DeviceTest::SetUp();
    WebgpuCalls::reset();
}

webgpu::Buffers WebgpuBuffers::buffers(const Plan& plan) const {
    const auto range = [&](const OwnedBuffer& buffer, Role role) {
        const Argument* argument = plan.argument(role);
        return argument != nullptr ? webgpu::Buffer{buffer.get(), 0, argument->bytes}
                                   : webgpu::Buffer{};
    };
    return {.input = range(input, Role::input),
            .output = range(output, Role::output),
            .scratch = range(scratch, Role::scratch),
            .values = range(values, Role::values),
            .values_out = range(values_out, Role::values_out),
            .offsets = range(offsets, Role::offsets),
            .flags = range(flags, Role::flags),
            .keys = range(keys, Role::keys),
            .rejected = range(rejected, Role::rejected),
            .count_out = range(count_out, Role::count_out)};
}

WebgpuBuffers make_webgpu_buffers(const OwnedDevice& device, const Plan& plan) {
    WebgpuBuffers made;
    const auto make = [&](std::uint64_t bytes) {
        auto buffer = device.make_buffer(std::max<std::uint64_t>(bytes, kVectorBytes),
                                         WGPUBufferUsage_Storage);
        if (!buffer) {
            ADD_FAILURE() << text(buffer.error());
            return OwnedBuffer();
        }
        return *std::move(buffer);
    };
    const auto bytes_of = [&](Role role) {
        const Argument* argument = plan.argument(role);
        return argument != nullptr ? argument->bytes : 0;
    };
    made.input = make(bytes_of(Role::input));
    made.output = make(bytes_of(Role::output));
    made.scratch = make(bytes_of(Role::scratch));
    made.values = make(bytes_of(Role::values));
    made.values_out = make(bytes_of(Role::values_out));
    made.offsets = make(bytes_of(Role::offsets));
    made.flags = make(bytes_of(Role::flags));
    made.keys = make(bytes_of(Role::keys));
    made.rejected = make(bytes_of(Role::rejected));
    made.count_out = make(bytes_of(Role::count_out));
    made.count = make(kVectorBytes);
    for (const OwnedBuffer* buffer : {&made.output, &made.scratch}) {
        const auto done =
            device.upload(*buffer, 0, poison(static_cast<std::size_t>(buffer->bytes())));
        EXPECT_TRUE(done) << text(done.error());
    }
    return made;
}

}  // namespace lanewise::test
