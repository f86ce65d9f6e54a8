// The compiled kernels: that they are what their names say.
#include "src/core/kernel_catalogue.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "tests/support/spirv_scan.hpp"

namespace lanewise::test {
namespace {

bool holds(std::string_view name, std::string_view part) {
    return name.find(part) != std::string_view::npos;
}

TEST(KernelCatalogue, IsSortedByNameThenVersion) {
    const auto catalogue = detail::kernel_catalogue();
    ASSERT_FALSE(catalogue.empty());
    for (std::size_t i = 1; i < catalogue.size(); ++i) {
        const auto& before = catalogue[i - 1];
        const auto& after = catalogue[i];
        EXPECT_TRUE(before.name < after.name ||
                    (before.name == after.name && before.spirv_version < after.spirv_version))
            << before.name << ", " << after.name;
    }
}

TEST(KernelCatalogue, ModulesAreWhatTheirNamesSay) {
    int subgroup = 0, barrier = 0;
    for (const detail::KernelModule& module : detail::kernel_catalogue()) {
        SCOPED_TRACE(module.name);
        ASSERT_GE(module.words.size(), 5u);
        EXPECT_EQ(module.words[1], module.spirv_version);
        const SpirvFacts facts = scan_spirv(module.words);
        ASSERT_TRUE(facts.well_formed);
        bool group_capability = false;
        for (const std::uint32_t capability : facts.capabilities) {
            group_capability = group_capability || is_group_capability(capability);
        }
        if (holds(module.name, ".barrier.")) {
            ++barrier;
            EXPECT_TRUE(facts.group_operations.empty());
            EXPECT_FALSE(group_capability);
        } else if (holds(module.name, ".subgroup.")) {
            ++subgroup;
            EXPECT_FALSE(facts.group_operations.empty());
            EXPECT_TRUE(group_capability);
        }
        EXPECT_EQ(module.name.ends_with(".device_address"), facts.capabilities.contains(5347))
            << "PhysicalStorageBufferAddresses";
        if (holds(module.name, ".device_address") || holds(module.name, ".descriptor")) {
            const bool float64 = holds(module.name, "f64");
            EXPECT_EQ(facts.capabilities.contains(10), float64)
                << "Float64 only where the name has f64";
        }
    }
    EXPECT_GT(subgroup, 0);
    EXPECT_GT(barrier, 0);
}

// Both versions are there: 1.3 for Vulkan 1.1, 1.6 for 1.3.
TEST(KernelCatalogue, EveryKernelHasBothVersions) {
    for (const detail::KernelModule& module : detail::kernel_catalogue()) {
        const auto* old = detail::find_kernel(module.name, 0x00010300);
        ASSERT_NE(old, nullptr) << module.name;
        EXPECT_EQ(old->spirv_version, 0x00010300u);
        EXPECT_EQ(old->name, module.name);
        if (holds(module.name, ".subgroup.")) {
            const auto* current = detail::find_kernel(module.name, 0x00010600);
            ASSERT_NE(current, nullptr) << module.name;
            EXPECT_EQ(current->spirv_version, 0x00010600u) << module.name;
            // What lies in between takes the older one.
            EXPECT_EQ(detail::find_kernel(module.name, 0x00010500), old);
        }
    }
}

TEST(KernelCatalogue, UnknownNamesAreNotFound) {
    EXPECT_EQ(detail::find_kernel("", ~0u), nullptr);
    EXPECT_EQ(detail::find_kernel("reduce_tiles", ~0u), nullptr);
    const auto& first = detail::kernel_catalogue()[0];
    EXPECT_EQ(detail::find_kernel(first.name, 0), nullptr);
    EXPECT_EQ(detail::find_kernel(std::string(first.name) + "x", ~0u), nullptr);
}

// The scanner itself must be able to see what it looks for.
TEST(SpirvScan, SeesSubgroupOperationsAndCapabilities) {
    const std::uint32_t words[] = {0x07230203,
                                   0x00010300,
                                   0,
                                   10,
                                   0,
                                   (2u << 16) | 17,
                                   1,  // OpCapability Shader
                                   (2u << 16) | 17,
                                   63,  // OpCapability GroupNonUniformArithmetic
                                   (6u << 16) | 349,
                                   1,
                                   2,
                                   3,
                                   0,
                                   4,  // OpGroupNonUniformIAdd
                                   (4u << 16) | 224,
                                   5,
                                   6,
                                   7};  // OpControlBarrier
    const SpirvFacts facts = scan_spirv(words);
    EXPECT_TRUE(facts.well_formed);
    EXPECT_EQ(facts.capabilities, (std::set<std::uint32_t>{1, 63}));
    EXPECT_EQ(facts.group_operations, std::vector<std::uint32_t>{349});
    EXPECT_EQ(facts.control_barriers, 1u);
    EXPECT_FALSE(missing_for_capability(63, Caps{}).empty());
    EXPECT_FALSE(missing_for_capability(4466, Caps{}).empty());
    Caps caps;
    caps.subgroup.operations = SubgroupOperation::arithmetic;
    EXPECT_FALSE(missing_for_capability(63, caps).empty()) << "in no compute stage";
    caps.subgroup.stages = Stage::compute;
    EXPECT_TRUE(missing_for_capability(63, caps).empty());
    EXPECT_FALSE(scan_spirv(std::span(words).first(8)).well_formed);
}

}  // namespace
}  // namespace lanewise::test
