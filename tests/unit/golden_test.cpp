// Plans as text, compared with tests/golden: a change of a plan is a change of these files, for a
// reviewer to see. LANEWISE_UPDATE_GOLDEN=1 rewrites them.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "lanewise/reduce.hpp"
#include "tests/unit/described_devices.hpp"

namespace lanewise::test {
namespace {

struct Case {
    const char* name;
    ReduceDesc desc;
};

const Case kCases[] = {
    {"sum_u32", {.max_count = 1u << 24}},
    {"sum_u32_small", {.max_count = 1000}},
    {"argmin_f32", {.element = Scalar::f32, .op = Operator::argmin, .max_count = 1000000}},
    {"sum_u8_into_u64", {.element = Scalar::u8, .accumulator = Scalar::u64, .max_count = 1u << 20}},
    {"portable_max_i64",
     {.element = Scalar::i64, .op = Operator::max, .max_count = 1u << 20, .tier = Tier::portable}},
    {"two_pass_by_address",
     {.max_count = 100000,
      .addressing = Addressing::device_address,
      .policy = ReducePolicy{.workgroup_size = 64,
                             .vectors = 1,
                             .max_groups = 7,
                             .max_items_per_dispatch = 5000}}},
};

bool updating() {
    const char* update = std::getenv("LANEWISE_UPDATE_GOLDEN");
    return update != nullptr && std::string_view(update) == "1";
}

std::string printed(const Caps& caps, const ReduceDesc& desc) {
    const auto plan = plan_reduce(caps, desc);
    if (plan) return to_text(*plan);
    return std::string(to_text(plan.error().code)) + ": " + plan.error().message + "\n";
}

TEST(Golden, PlansPrintAsBefore) {
    const std::filesystem::path folder = repository_root() / "tests" / "golden";
    std::set<std::string> names;
    for (const DescribedDevice& device : described_devices()) {
        for (const Case& item : kCases) {
            const std::string name = device.name + "." + item.name + ".txt";
            names.insert(name);
            const std::string text = printed(device.caps, item.desc);
            EXPECT_TRUE(text.ends_with('\n')) << name;
            if (updating()) {
                std::ofstream(folder / name, std::ios::binary) << text;
                continue;
            }
            EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
            EXPECT_EQ(text, read_text(folder / name)) << name;
        }
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (names.contains(name)) continue;
        if (updating()) {
            std::filesystem::remove(entry.path());
        } else {
            ADD_FAILURE() << name << " belongs to no case";
        }
    }
    EXPECT_FALSE(updating()) << "golden files were rewritten, not compared";
}

}  // namespace
}  // namespace lanewise::test
