// What tests on a device stand on: one device for the whole process with validation on, further
// devices with something left out, and a fixture that fails a test on any validation message and on
// any claim about a tier that was never dispatched.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lanewise/caps.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/vulkan.hpp"
#include "src/vulkan/gpu_owned_device.hpp"

namespace lanewise::test {

using vulkan::detail::MemoryKind;
using vulkan::detail::OwnedBuffer;
using vulkan::detail::OwnedDevice;
using vulkan::detail::OwnedDeviceOptions;

// The name that ctest gives the device, e.g. "lavapipe8"; empty outside of ctest.
std::string test_device_name();
// LANEWISE_TEST_ALL: every combination instead of every pair.
bool test_all();
bool is_lying_device();
// This build checks the host code with sanitizers: what tests kernels alone can be shorter in it.
bool is_sanitized();

struct MessageBox {
    std::mutex mutex;
    std::vector<std::string> messages;

    std::vector<std::string> take() {
        const std::lock_guard lock(mutex);
        return std::exchange(messages, {});
    }
};

// A device and what the library made of it.
class Rig {
public:
    // api_version and leave_out in the options make lesser devices of a good one. Returns null,
    // with a failure added, where there is no device.
    static std::unique_ptr<Rig> create(OwnedDeviceOptions options = validated());
    // The one that most tests share: all that the device has.
    static Rig& shared();
    // Ends the shared one and gives the messages of its end: what was leaked.
    static std::vector<std::string> end_shared();
    // Core and synchronisation validation; with LANEWISE_TEST_ALL the GPU-assisted one, too, which
    // makes what a CPU driver compiles four times as large (the suite GpuAssisted has it always).
    static OwnedDeviceOptions validated();
    static OwnedDeviceOptions assisted();
    static OwnedDeviceOptions plain();  // without validation

    ~Rig();

    const OwnedDevice& owned() const { return *owned_; }
    const vulkan::Device& device() const { return *device_; }
    const Caps& caps() const { return device_->caps(); }
    // A timestamp of this queue can be read.
    bool has_timestamps() const { return caps().timestamps; }

    // Compiled once for each plan.
    Result<vulkan::Executable> compile(const Plan& plan);

    // Validation messages since the last call.
    std::vector<std::string> take_messages();

    // The same after the rig has gone.
    std::shared_ptr<MessageBox> message_box() const { return messages_; }

private:
    Rig() = default;
    static std::unique_ptr<Rig>& shared_slot();
    std::shared_ptr<MessageBox> messages_;
    std::unique_ptr<OwnedDevice> owned_;
    std::unique_ptr<vulkan::Device> device_;
    std::map<std::string, vulkan::Executable> compiled_;
};

// Proves that `plan` is what was asked for: its kernels are of the right form (their SPIR-V is
// searched for subgroup operations). Adds failures.
void expect_kernels_of_tier(const Plan& plan);

// Counts a run of a tier: only what was counted is covered.
void count_dispatch(Tier tier);
std::uint64_t dispatches_of(Tier tier);
// "coverage on lavapipe8: pinned 812 runs, ...".
std::string coverage_summary();

// Adds a failure for each kind of message, with the first of its kind and how many there were.
void fail_on_messages(const std::vector<std::string>& messages,
                      const std::string& when = "validation");

class GpuTest : public ::testing::Test {
protected:
    void SetUp() override;
    void TearDown() override;

    // The test says that it covers this tier; it fails when nothing of it ran.
    void claim(Tier tier);

    static Rig& rig() { return Rig::shared(); }

private:
    std::map<Tier, std::uint64_t> claimed_;
};

// A rig of a test's own. Its messages are checked when this goes, those of its end included.
class RigScope {
public:
    explicit RigScope(OwnedDeviceOptions options = Rig::validated())
        : rig_(Rig::create(std::move(options))) {}
    ~RigScope();
    explicit operator bool() const { return rig_ != nullptr; }
    Rig* operator->() const { return rig_.get(); }
    Rig& operator*() const { return *rig_; }

private:
    std::unique_ptr<Rig> rig_;
};

}  // namespace lanewise::test
