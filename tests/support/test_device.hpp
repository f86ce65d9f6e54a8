// A device of any host, as the tests of primitives see it: the Vulkan or WebGPU device or the
// simulated machine that ctest names, with memory, plans made ready to run, and uses that run and
// are waited for. The fixture fails a test on anything that the device complains of, and on any
// claim about a tier that was never dispatched.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "lanewise/bundle.hpp"
#include "lanewise/caps.hpp"
#include "lanewise/plan.hpp"

namespace lanewise::test {

// The name that ctest gives the device, e.g. "lavapipe8" or "simulator64_partial"; empty outside of
// ctest.
std::string test_device_name();
// LANEWISE_TEST_ALL: every combination instead of every pair.
bool test_all();
bool is_lying_device();
// This build checks the host code with sanitizers: what tests kernels alone can be shorter in it.
bool is_sanitized();

class TestMemory {
public:
    virtual ~TestMemory() = default;
    virtual Result<void> write(std::size_t offset, std::span<const std::byte> data) = 0;
    virtual Result<void> read(std::size_t offset, std::span<std::byte> data) const = 0;
};

struct TestRange {
    const TestMemory* memory = nullptr;  // null: none
    std::size_t offset = 0;
    std::size_t bytes = 0;
};

struct TestBuffers {
    TestRange input;
    TestRange output;
    TestRange scratch;
    TestRange values;
    TestRange values_out;
    TestRange offsets;
    TestRange flags;
    TestRange keys;
    TestRange rejected;
    TestRange count_out;
};

// A number, or where it lies.
using TestCount = std::variant<std::uint64_t, TestRange>;

struct UseOptions {
    bool secondary = false;   // recorded into a secondary command buffer, where there are such
    bool timestamps = false;  // taken and checked, where the device has them
    bool replay = false;      // what the first such run recorded is submitted again
};

// What a binding is on the device's host.
class TestUse {
public:
    virtual ~TestUse() = default;
    virtual const std::vector<std::string>& pass_names() const = 0;
    // Runs the passes and waits. What they wrote can be read from memory afterwards.
    virtual Result<void> run(const UseOptions& options = {}) = 0;
};

class TestExecutable {
public:
    virtual ~TestExecutable() = default;
    virtual Result<std::unique_ptr<TestUse>> bind(const TestBuffers& buffers,
                                                  const TestCount& count) = 0;
};

// What a device complains of: validation messages, errors beside the calls, faults.
struct MessageBox {
    std::mutex mutex;
    std::vector<std::string> messages;

    void add(const std::string& message) {
        const std::lock_guard lock(mutex);
        messages.push_back(message);
    }
    std::vector<std::string> take() {
        const std::lock_guard lock(mutex);
        return std::exchange(messages, {});
    }
};

class TestDevice {
public:
    virtual ~TestDevice() = default;

    // The one that most tests share.
    static TestDevice& shared();
    // Ends the shared one and gives what it complains of at its end: what was leaked.
    static std::vector<std::string> end_shared();

    virtual const Caps& caps() const = 0;
    bool has_timestamps() const { return caps().timestamps; }
    // A thousand instructions cost it what a million cost a driver: repetitions can be fewer.
    bool is_simulated() const { return caps().api == Api::simulator; }
    bool is_vulkan() const { return caps().api == Api::vulkan; }
    bool is_webgpu() const { return caps().api == Api::webgpu; }

    virtual Result<std::unique_ptr<TestMemory>> make_memory(std::size_t bytes) = 0;
    // Compiled once for each plan.
    virtual Result<std::shared_ptr<TestExecutable>> prepare(const Plan& plan) = 0;
    // Complaints since the last call.
    std::vector<std::string> take_messages() { return messages_->take(); }
    // The same after the device has gone.
    std::shared_ptr<MessageBox> message_box() const { return messages_; }

private:
    std::shared_ptr<MessageBox> messages_ = std::make_shared<MessageBox>();
};

// A device of a test's own. Its messages are checked when this goes, those of its end included.
template <class Device>
class DeviceScope {
public:
    // What Device::create takes.
    template <class... Options>
    explicit DeviceScope(Options&&... options)
        : device_(Device::create(std::forward<Options>(options)...)) {}
    ~DeviceScope() { end(); }
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

    explicit operator bool() const { return device_ != nullptr; }
    Device* operator->() const { return device_.get(); }
    Device& operator*() const { return *device_; }

private:
    void end();
    std::unique_ptr<Device> device_;
};

// The kernels of a plan's custom operator, compiled once; empty for a plan of stock ones.
Result<Bundle> bundle_for(const Plan& plan);

// Whether its tier has kernels with subgroup operations: where a primitive needs none, the kernels
// of the tier barrier serve all.
bool has_kernels_of_tier(const Plan& plan);

// Proves that `plan` is what was asked for: its kernels are of the right form (their SPIR-V, or on
// WebGPU their WGSL, is searched for subgroup operations). Adds failures.
void expect_kernels_of_tier(const Plan& plan);

// Counts a run of a tier: only what was counted is covered.
void count_dispatch(Tier tier);
std::uint64_t dispatches_of(Tier tier);
// "coverage on lavapipe8: pinned 812 runs, ...".
std::string coverage_summary();

// Adds a failure for each kind of message, with the first of its kind and how many there were.
void fail_on_messages(const std::vector<std::string>& messages,
                      const std::string& when = "validation");

template <class Device>
void DeviceScope<Device>::end() {
    if (device_ == nullptr) return;
    const auto box = device_->message_box();
    device_.reset();
    fail_on_messages(box->take());
}

class DeviceTest : public ::testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    // The test says that it covers this tier; it fails when nothing of it ran.
    void claim(Tier tier);

    static TestDevice& device() { return TestDevice::shared(); }

private:
    std::map<Tier, std::uint64_t> claimed_;
};

}  // namespace lanewise::test
