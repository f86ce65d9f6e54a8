#include "tests/support/gpu_test.hpp"

#include <cctype>
#include <cstdlib>
#include <sstream>

#include "src/core/kernel_catalogue.hpp"
#include "tests/support/spirv_scan.hpp"

namespace lanewise::test {

namespace {

std::map<Tier, std::uint64_t>& counters() {
    static std::map<Tier, std::uint64_t> runs;
    return runs;
}

std::mutex& counters_mutex() {
    static std::mutex mutex;
    return mutex;
}

}  // namespace

std::string test_device_name() {
    const char* name = std::getenv("LANEWISE_TEST_DEVICE");
    return name != nullptr ? name : "";
}

bool test_all() { return std::getenv("LANEWISE_TEST_ALL") != nullptr; }

bool is_lying_device() { return test_device_name().ends_with("lie"); }

bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__)
    return true;
#else
    return false;
#endif
}

OwnedDeviceOptions Rig::validated() {
    OwnedDeviceOptions options;
    options.validation = true;
    options.gpu_assisted_validation = test_all();
    return options;
}

OwnedDeviceOptions Rig::assisted() {
    OwnedDeviceOptions options = validated();
    options.gpu_assisted_validation = true;
    return options;
}

OwnedDeviceOptions Rig::plain() { return {}; }

std::unique_ptr<Rig> Rig::create(OwnedDeviceOptions options) {
    std::unique_ptr<Rig> rig(new Rig);
    rig->messages_ = std::make_shared<MessageBox>();
    options.on_validation_message = [box = rig->messages_](const std::string& message) {
        const std::lock_guard lock(box->mutex);
        box->messages.push_back(message);
    };
    auto owned = OwnedDevice::create(options);
    if (!owned) {
        ADD_FAILURE() << "no device: " << owned.error().message;
        return nullptr;
    }
    rig->owned_ = *std::move(owned);
    auto device = vulkan::Device::adopt(rig->owned_->adoption());
    if (!device) {
        ADD_FAILURE() << "the device was not adopted: " << device.error().message;
        return nullptr;
    }
    rig->device_ = std::make_unique<vulkan::Device>(*std::move(device));
    return rig;
}

std::unique_ptr<Rig>& Rig::shared_slot() {
    static std::unique_ptr<Rig> rig;
    return rig;
}

Rig& Rig::shared() {
    std::unique_ptr<Rig>& rig = shared_slot();
    if (rig == nullptr) rig = create();
    if (rig == nullptr) {
        // Nothing here can be tested without one, and no test may pass for the lack of it.
        std::fputs("tests: there is no device to test on\n", stderr);
        std::exit(1);
    }
    return *rig;
}

std::vector<std::string> Rig::end_shared() {
    std::unique_ptr<Rig>& rig = shared_slot();
    if (rig == nullptr) return {};
    const auto box = rig->message_box();
    rig.reset();
    return box->take();
}

Rig::~Rig() = default;

Result<vulkan::Executable> Rig::compile(const Plan& plan) {
    const std::string key = plan_to_json(plan);
    if (const auto found = compiled_.find(key); found != compiled_.end()) return found->second;
    auto executable = device_->compile(plan);
    if (executable) compiled_.emplace(key, *executable);
    return executable;
}

std::vector<std::string> Rig::take_messages() { return messages_->take(); }

void expect_kernels_of_tier(const Plan& plan) {
    static std::map<std::string, bool> has_group_operations;
    bool any = false;
    for (const Pass& pass : plan.passes) {
        if (!has_group_operations.contains(pass.kernel)) {
            bool found = false, has = false;
            for (const detail::KernelModule& module : detail::kernel_catalogue()) {
                if (module.name != pass.kernel) continue;
                const SpirvFacts facts = scan_spirv(module.words);
                bool capability = false;
                for (const std::uint32_t c : facts.capabilities)
                    capability = capability || is_group_capability(c);
                EXPECT_TRUE(facts.well_formed) << pass.kernel;
                EXPECT_EQ(capability, !facts.group_operations.empty()) << pass.kernel;
                found = true;
                has = has || capability || !facts.group_operations.empty();
            }
            ASSERT_TRUE(found) << "no kernel " << pass.kernel;
            has_group_operations[pass.kernel] = has;
        }
        const bool has = has_group_operations[pass.kernel];
        EXPECT_EQ(has, pass.form == Form::subgroup)
            << pass.kernel << " is not of form " << to_text(pass.form);
        if (plan.tier == Tier::barrier) {
            EXPECT_FALSE(has) << pass.kernel << " has subgroup operations in tier barrier";
            EXPECT_EQ(pass.required_subgroup_size, 0u);
        } else if (has) {
            EXPECT_EQ(pass.required_subgroup_size != 0, plan.tier == Tier::pinned) << pass.kernel;
            EXPECT_EQ(pass.full_subgroups, plan.tier == Tier::pinned) << pass.kernel;
        }
        any = any || has;
    }
    EXPECT_EQ(any, plan.tier != Tier::barrier)
        << "tier " << to_text(plan.tier) << " without a kernel of its own";
}

void count_dispatch(Tier tier) {
    const std::lock_guard lock(counters_mutex());
    ++counters()[tier];
}

std::uint64_t dispatches_of(Tier tier) {
    const std::lock_guard lock(counters_mutex());
    return counters()[tier];
}

std::string coverage_summary() {
    std::ostringstream text;
    const std::string name = test_device_name();
    text << "coverage on " << (name.empty() ? "this device" : name) << ':';
    for (const Tier tier : {Tier::pinned, Tier::portable, Tier::barrier}) {
        text << ' ' << to_text(tier) << ' ' << dispatches_of(tier) << " runs"
             << (tier == Tier::barrier ? "" : ",");
    }
    return text.str();
}

void fail_on_messages(const std::vector<std::string>& messages, const std::string& when) {
    // Messages of one kind differ in handles and other numbers.
    std::map<std::string, std::pair<std::string, int>> kinds;
    for (const std::string& message : messages) {
        std::string kind;
        bool number = false;
        for (const char c : message) {
            const bool digit = std::isxdigit(static_cast<unsigned char>(c)) != 0 || c == 'x';
            if (!digit) kind += c;
            if (digit && !number) kind += '#';
            number = digit;
        }
        auto& [first, count] = kinds[kind];
        if (count++ == 0) first = message;
    }
    for (const auto& [kind, found] : kinds) {
        ADD_FAILURE() << when << " (" << found.second << " of this kind): " << found.first;
    }
}

void GpuTest::SetUp() {
    claimed_.clear();
    rig().take_messages();
}

void GpuTest::TearDown() {
    fail_on_messages(rig().take_messages());
    if (IsSkipped()) return;
    for (const auto& [tier, before] : claimed_) {
        EXPECT_GT(dispatches_of(tier), before)
            << "the test claims tier " << to_text(tier) << ", which never ran";
    }
}

void GpuTest::claim(Tier tier) { claimed_.try_emplace(tier, dispatches_of(tier)); }

RigScope::~RigScope() {
    if (rig_ == nullptr) return;
    const auto box = rig_->message_box();
    rig_.reset();
    fail_on_messages(box->take());
}

}  // namespace lanewise::test
