// Caps as JSON and as text.
#include "lanewise/caps.hpp"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "tests/unit/described_devices.hpp"

namespace lanewise::test {
namespace {

TEST(CapsJson, DescribedDevicesLoad) {
    EXPECT_GE(described_devices().size(), 13u);
    for (const DescribedDevice& device : described_devices()) {
        EXPECT_NE(device.caps, Caps{}) << device.name;
    }
}

TEST(CapsJson, RoundTripOfDescribedDevices) {
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        const auto again = caps_from_json(caps_to_json(device.caps));
        ASSERT_TRUE(again) << again.error().message;
        EXPECT_EQ(*again, device.caps);
    }
}

TEST(CapsJson, DescribedDevicesSayEveryField) {
    // A file that leaves a field out would silently plan for the default.
    const auto all = nlohmann::json::parse(caps_to_json(Caps{})).flatten();
    for (const DescribedDevice& device : described_devices()) {
        SCOPED_TRACE(device.name);
        const auto path = repository_root() / "tests" / "devices" / (device.name + ".json");
        const auto file = nlohmann::json::parse(read_text(path));
        for (const auto& [pointer, value] : all.items()) {
            EXPECT_TRUE(file.contains(nlohmann::json::json_pointer(pointer))) << pointer;
        }
    }
}

std::uint32_t power_of_two(int low, int high) {
    return std::uint32_t{1} << *rc::gen::inRange(low, high + 1);
}

Caps arbitrary_caps() {
    Caps caps;
    caps.api = *rc::gen::element(Api::none, Api::vulkan, Api::webgpu, Api::simulator);
    caps.device_name =
        *rc::gen::element<std::string>("", "a \"quoted\" name", "back\\slash", "tab\tnew\nline",
                                       "Apple M2", "\xc3\xa9\xe2\x82\xac");
    caps.driver = *rc::gen::element<std::string>("", "Mesa 22.3.6 (LLVM 15.0.6)");
    caps.vendor_id = *rc::gen::arbitrary<std::uint32_t>();
    caps.device_id = *rc::gen::arbitrary<std::uint32_t>();
    caps.driver_version = *rc::gen::arbitrary<std::uint32_t>();
    caps.api_version_major = *rc::gen::inRange(0u, 3u);
    caps.api_version_minor = *rc::gen::inRange(0u, 5u);
    caps.cpu_device = *rc::gen::arbitrary<bool>();
    SubgroupCaps& subgroup = caps.subgroup;
    subgroup.operations = *rc::gen::inRange(0u, 256u);
    subgroup.stages = *rc::gen::inRange(0u, 256u);
    subgroup.min_size = power_of_two(2, 4);
    subgroup.size = *rc::gen::arbitrary<bool>() ? power_of_two(4, 5) : 0;
    subgroup.max_size = power_of_two(5, 7);
    subgroup.size_is_true = *rc::gen::arbitrary<bool>();
    subgroup.required_size_stages = *rc::gen::inRange(0u, 256u);
    subgroup.full_subgroups = *rc::gen::arbitrary<bool>();
    subgroup.max_workgroup_subgroups = *rc::gen::arbitrary<std::uint32_t>();
    subgroup.extended_types = *rc::gen::arbitrary<bool>();
    Limits& limits = caps.limits;
    for (auto field :
         {&Limits::max_workgroup_invocations, &Limits::max_workgroup_size_x,
          &Limits::max_workgroup_memory, &Limits::max_groups_x, &Limits::max_groups_y,
          &Limits::max_groups_z, &Limits::max_storage_buffers, &Limits::max_push_constants}) {
        limits.*field = *rc::gen::arbitrary<std::uint32_t>();
    }
    limits.storage_offset_alignment = power_of_two(0, 8);
    // Above 2^53, too: JSON numbers must not pass through a double.
    limits.max_storage_range = *rc::gen::arbitrary<std::uint64_t>();
    for (auto field : {&Types::int64, &Types::float64, &Types::float16, &Types::int8, &Types::int16,
                       &Types::storage8, &Types::storage16}) {
        caps.types.*field = *rc::gen::arbitrary<bool>();
    }
    for (auto field :
         {&Caps::device_addresses, &Caps::push_descriptors, &Caps::device_scope_barrier,
          &Caps::memory_model, &Caps::int64_atomics, &Caps::timestamps}) {
        caps.*field = *rc::gen::arbitrary<bool>();
    }
    caps.timestamp_period_ns = *rc::gen::element(0.0, 1.0, 52.083333333333336, 1.0 / 3.0);
    caps.forward_progress =
        *rc::gen::element(ForwardProgress::unknown, ForwardProgress::guaranteed);
    caps.probe = *rc::gen::element(ProbeState::not_run, ProbeState::passed, ProbeState::failed);
    caps.probe_report = *rc::gen::element<std::string>("", "32 claimed, 16 seen");
    return caps;
}

RC_GTEST_PROP(CapsJson, RoundTrip, ()) {
    const Caps caps = arbitrary_caps();
    const auto again = caps_from_json(caps_to_json(caps));
    if (!again) RC_FAIL(again.error().message);
    RC_ASSERT(*again == caps);
}

TEST(CapsJson, MissingFieldsKeepTheirDefaults) {
    const auto empty = caps_from_json("{}");
    ASSERT_TRUE(empty) << empty.error().message;
    EXPECT_EQ(*empty, Caps{});

    const auto some = caps_from_json(R"({"subgroup": {"size": 32}, "device_scope_barrier": true})");
    ASSERT_TRUE(some) << some.error().message;
    Caps expected;
    expected.subgroup.size = 32;
    expected.device_scope_barrier = true;
    EXPECT_EQ(*some, expected);
}

TEST(CapsJson, WebgpuMayGiveBoundsAlone) {
    Caps caps = described("webgpu-subgroups");
    ASSERT_NE(caps.subgroup.operations, 0u);
    EXPECT_EQ(caps.subgroup.size, 0u);
    const auto again = caps_from_json(caps_to_json(caps));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(*again, caps);
}

TEST(CapsJson, WhatIsWrongIsNamed) {
    const std::pair<const char*, const char*> rows[] = {
        {R"({"vendor": 1})", "vendor"},
        {R"({"subgroup": {"sizes": 32}})", "sizes"},
        {R"({"limits": {"max_groups": 1}})", "max_groups"},
        {R"({"types": {"int128": true}})", "int128"},
        {R"({"cpu_device": 1})", "cpu_device"},
        {R"({"vendor_id": "nvidia"})", "vendor_id"},
        {R"({"vendor_id": 1.5})", "vendor_id"},
        {R"({"vendor_id": -1})", "vendor_id"},
        {R"({"vendor_id": 4294967296})", "vendor_id"},
        {R"({"limits": {"max_storage_range": 18446744073709551616}})", "max_storage_range"},
        {R"({"device_name": 3})", "device_name"},
        {R"({"api": "metal"})", "api"},
        {R"({"api": null})", "api"},
        {R"({"probe": "maybe"})", "probe"},
        {R"({"forward_progress": true})", "forward_progress"},
        {R"({"timestamp_period_ns": "1"})", "timestamp_period_ns"},
        {R"({"subgroup": 32})", "subgroup"},
        {R"({"subgroup": {"operations": ["basic", "telepathy"]}})", "operations"},
        {R"({"subgroup": {"stages": ["kitchen"]}})", "stages"},
        // Impossible values.
        {R"({"subgroup": {"size": 24}})", "size"},
        {R"({"api": "webgpu", "subgroup": {"size": 24}})", "size"},
        // A size may be missing, its bounds may not.
        {R"({"api": "webgpu", "subgroup": {"operations": ["basic"], "max_size": 8}})", "min_size"},
        {R"({"subgroup": {"min_size": 12, "max_size": 16}})", "min_size"},
        {R"({"subgroup": {"min_size": 8, "max_size": 33}})", "max_size"},
        {R"({"subgroup": {"min_size": 64, "max_size": 32}})", "min_size"},
    };
    for (const auto& [text, field] : rows) {
        SCOPED_TRACE(text);
        const auto caps = caps_from_json(text);
        ASSERT_FALSE(caps);
        EXPECT_EQ(caps.error().code, ErrorCode::bad_argument);
        EXPECT_NE(caps.error().message.find(field), std::string::npos) << caps.error().message;
        EXPECT_EQ(caps.error().message.find('\n'), std::string::npos) << caps.error().message;
    }
}

TEST(CapsJson, WhatIsNoObjectIsRefused) {
    for (const char* text :
         {"", " ", "[]", "3", "null", "{", "{}}", "{\"vendor_id\": 1,}", "\xff\xfe"}) {
        SCOPED_TRACE(text);
        const auto caps = caps_from_json(text);
        ASSERT_FALSE(caps);
        EXPECT_EQ(caps.error().code, ErrorCode::bad_argument);
        EXPECT_FALSE(caps.error().message.empty());
    }
}

TEST(CapsJson, HasEveryFieldByItsName) {
    const std::string text = caps_to_json(Caps{});
    for (const char* field : {"api",
                              "device_name",
                              "driver",
                              "vendor_id",
                              "device_id",
                              "driver_version",
                              "api_version_major",
                              "api_version_minor",
                              "cpu_device",
                              "subgroup",
                              "operations",
                              "stages",
                              "size",
                              "min_size",
                              "max_size",
                              "size_is_true",
                              "required_size_stages",
                              "full_subgroups",
                              "max_workgroup_subgroups",
                              "extended_types",
                              "limits",
                              "max_workgroup_invocations",
                              "max_workgroup_size_x",
                              "max_workgroup_memory",
                              "max_groups_x",
                              "max_groups_y",
                              "max_groups_z",
                              "max_storage_buffers",
                              "max_storage_range",
                              "storage_offset_alignment",
                              "max_push_constants",
                              "types",
                              "int64",
                              "float64",
                              "float16",
                              "int8",
                              "int16",
                              "storage8",
                              "storage16",
                              "device_addresses",
                              "push_descriptors",
                              "device_scope_barrier",
                              "memory_model",
                              "int64_atomics",
                              "timestamps",
                              "timestamp_period_ns",
                              "forward_progress",
                              "probe",
                              "probe_report"}) {
        EXPECT_NE(text.find("\"" + std::string(field) + "\":"), std::string::npos) << field;
    }
    // Two-space indented.
    EXPECT_NE(text.find("\n  \"api\""), std::string::npos) << text;
}

TEST(CapsText, MasksPrintInOrderOfTheirBits) {
    EXPECT_EQ(operations_to_text(0), "none");
    EXPECT_EQ(operations_to_text(SubgroupOperation::basic), "basic");
    EXPECT_EQ(operations_to_text(0xff),
              "basic vote arithmetic ballot shuffle shuffle_relative clustered quad");
    EXPECT_EQ(operations_to_text(SubgroupOperation::quad | SubgroupOperation::basic), "basic quad");
    EXPECT_EQ(stages_to_text(Stage::compute | Stage::fragment), "fragment compute");
}

TEST(CapsText, EnumeratorsPrintByTheirCppNames) {
    EXPECT_STREQ(to_text(Api::none), "none");
    EXPECT_STREQ(to_text(Api::vulkan), "vulkan");
    EXPECT_STREQ(to_text(Api::webgpu), "webgpu");
    EXPECT_STREQ(to_text(Api::simulator), "simulator");
    EXPECT_STREQ(to_text(ForwardProgress::guaranteed), "guaranteed");
    EXPECT_STREQ(to_text(ProbeState::not_run), "not_run");
}

}  // namespace
}  // namespace lanewise::test
