// Runs the tests of one device and says what of it they covered.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/support/test_device.hpp"

namespace {

using namespace lanewise;
using namespace lanewise::test;

class Summary : public ::testing::Environment {
    void SetUp() override {
        const Caps& caps = TestDevice::shared().caps();
        std::printf("device: %s, %s, %s %u.%u, subgroup size %u (%u to %u), %s\n",
                    caps.device_name.c_str(), caps.driver.c_str(), to_text(caps.api),
                    caps.api_version_major, caps.api_version_minor, caps.subgroup.size,
                    caps.subgroup.min_size, caps.subgroup.max_size,
                    operations_to_text(caps.subgroup.operations).c_str());
        fail_on_messages(TestDevice::shared().take_messages(),
                         "validation, when the device was made");
    }
    void TearDown() override {
        fail_on_messages(TestDevice::end_shared(), "validation, when the device was destroyed");
        std::printf("%s\n", coverage_summary().c_str());
    }
};

}  // namespace

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    ::testing::AddGlobalTestEnvironment(new Summary);
    const int failed = RUN_ALL_TESTS();
    // Where no test was run the environment did not end it, and drivers do not outlive main().
    lanewise::test::TestDevice::end_shared();
    return failed;
}
