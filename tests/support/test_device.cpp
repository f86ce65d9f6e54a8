#include "tests/support/test_device.hpp"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <sstream>
#include <utility>

#include "lanewise/jit.hpp"
#include "src/core/kernel_catalogue.hpp"
#include "src/jit/sources.hpp"
#include "src/wgsl/assemble.hpp"
#include "tests/support/gpu_test.hpp"
#include "tests/support/simulated_device.hpp"
#include "tests/support/spirv_scan.hpp"
#include "tests/support/wgsl_scan.hpp"
#ifdef LANEWISE_HAS_WEBGPU
#include "tests/support/webgpu_test.hpp"
#endif

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

std::unique_ptr<TestDevice>& shared_slot() {
    static std::unique_ptr<TestDevice> device;
    return device;
}

std::unique_ptr<TestDevice> make_shared_device() {
    const std::string name = test_device_name();
    if (name.starts_with("simulator")) return make_simulated_device(simulated_machine(name));
#ifdef LANEWISE_HAS_WEBGPU
    if (is_webgpu_name(name)) return WebgpuRig::create();
#endif
    return Rig::create();
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

TestDevice& TestDevice::shared() {
    std::unique_ptr<TestDevice>& device = shared_slot();
    if (device == nullptr) device = make_shared_device();
    if (device == nullptr) {
        // Nothing here can be tested without one, and no test may pass for the lack of it.
        std::fputs("tests: there is no device to test on\n", stderr);
        std::exit(1);
    }
    return *device;
}

std::vector<std::string> TestDevice::end_shared() {
    std::unique_ptr<TestDevice>& device = shared_slot();
    if (device == nullptr) return {};
    const auto box = device->message_box();
    device.reset();
    return box->take();
}

namespace {

// Kernels of custom operators are made of the sources in the folder LANEWISE_TEST_SOURCES, laid out
// as in the repository.
void use_sources_of_folder() {
    const char* root = std::getenv("LANEWISE_TEST_SOURCES");
    if (root == nullptr) return;
    std::map<std::string, std::string> texts;
    for (const char* part : {"kernels", "primitives"}) {
        const std::filesystem::path folder = std::filesystem::path(root) / part;
        for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
            const std::filesystem::path& path = entry.path();
            if (path.extension() != ".glsl" && path.extension() != ".comp") continue;
            std::ifstream file(path);
            // A kernel is known by its file's name, a module by its path.
            const auto name =
                path.extension() == ".comp" ? path.filename() : path.lexically_relative(folder);
            texts[name.generic_string()] = {std::istreambuf_iterator<char>(file), {}};
        }
    }
    jit::detail::replace_sources(std::move(texts));
}

}  // namespace

Result<Bundle> bundle_for(const Plan& plan) {
    static std::once_flag once;
    std::call_once(once, use_sources_of_folder);
    static Bundle compiled;
    Bundle bundle;
    if (!plan.custom) return bundle;
    for (const Pass& pass : plan.passes) {
        if (detail::find_kernel(pass.kernel, ~0u) != nullptr) continue;
        if (compiled.find(pass.kernel, ~0u) == nullptr) {
            const auto made = jit::compile(plan);
            if (!made) return tl::unexpected(made.error());
            compiled.add(*made);
        }
        for (const BundledKernel& kernel : compiled.kernels()) {
            if (kernel.name == pass.kernel) bundle.add(kernel);
        }
    }
    return bundle;
}

namespace {

// Whether the kernel that an API takes has subgroup operations; nullopt, with failures added, where
// there is none or it does not say.
std::optional<bool> spirv_has_subgroup_operations(const Plan& plan, const Pass& pass) {
    const auto bundle = bundle_for(plan);
    if (!bundle) {
        ADD_FAILURE() << bundle.error().message;
        return std::nullopt;
    }
    std::optional<bool> has;
    for (const std::uint32_t version : {0x00010300u, 0x00010600u}) {
        const auto module = detail::find_kernel(pass.kernel, version, &*bundle);
        if (!module) continue;
        const SpirvFacts facts = scan_spirv(module->words);
        bool capability = false;
        for (const std::uint32_t c : facts.capabilities)
            capability = capability || is_group_capability(c);
        EXPECT_TRUE(facts.well_formed) << pass.kernel;
        EXPECT_EQ(capability, !facts.group_operations.empty()) << pass.kernel;
        has = has.value_or(false) || capability || !facts.group_operations.empty();
    }
    EXPECT_TRUE(has) << "no kernel " << pass.kernel;
    return has;
}

std::optional<bool> wgsl_has_subgroup_operations(const Plan& plan, const Pass& pass) {
    const auto shader = wgsl::assemble(plan, pass);
    if (!shader) {
        ADD_FAILURE() << shader.error().message;
        return std::nullopt;
    }
    return has_subgroup_operations(shader->text);
}

}  // namespace

bool has_kernels_of_tier(const Plan& plan) {
    return plan.tier != Tier::barrier && plan.primitive != "histogram";
}

void expect_kernels_of_tier(const Plan& plan) {
    const bool webgpu = TestDevice::shared().is_webgpu();
    static std::map<std::string, bool> known;
    bool any = false;
    for (const Pass& pass : plan.passes) {
        if (!known.contains(pass.kernel)) {
            const auto has = webgpu ? wgsl_has_subgroup_operations(plan, pass)
                                    : spirv_has_subgroup_operations(plan, pass);
            if (!has) return;
            known[pass.kernel] = *has;
        }
        const bool has = known[pass.kernel];
        EXPECT_EQ(has, pass.form == Form::subgroup)
            << pass.kernel << " is not of form " << to_text(pass.form);
        if (plan.tier == Tier::barrier) {
            EXPECT_FALSE(has) << pass.kernel << " has subgroup operations in tier barrier";
            EXPECT_EQ(pass.required_subgroup_size, 0u);
        } else if (has) {
            const bool pinned = plan.tier == Tier::pinned;
            EXPECT_EQ(pass.required_subgroup_size != 0, pinned) << pass.kernel;
            // WebGPU fixes the size alone.
            EXPECT_EQ(pass.full_subgroups, pinned && !webgpu) << pass.kernel;
        }
        any = any || has;
    }
    EXPECT_EQ(any, has_kernels_of_tier(plan))
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

void DeviceTest::SetUp() {
    claimed_.clear();
    device().take_messages();
}

void DeviceTest::TearDown() {
    fail_on_messages(device().take_messages());
    if (IsSkipped()) return;
    for (const auto& [tier, before] : claimed_) {
        EXPECT_GT(dispatches_of(tier), before)
            << "the test claims tier " << to_text(tier) << ", which never ran";
    }
}

void DeviceTest::claim(Tier tier) { claimed_.try_emplace(tier, dispatches_of(tier)); }

}  // namespace lanewise::test
