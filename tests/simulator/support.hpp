// Shaders of tests, compiled when building, and memory to run them on.
#pragma once

#include <gtest/gtest.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanewise/simulator.hpp"
#include "tests/support/repository.hpp"

namespace lanewise::test {

inline std::vector<std::uint32_t> read_words(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(file),
                                  std::istreambuf_iterator<char>()};
    std::vector<std::uint32_t> words(bytes.size() / 4);
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * 4);
    return words;
}

// Named like the source, without its ending.
inline std::vector<std::uint32_t> test_module(const std::string& name) {
    const auto path = std::filesystem::path(LANEWISE_TEST_MODULES) / (name + ".spv");
    auto words = read_words(path);
    EXPECT_FALSE(words.empty()) << "no module " << path;
    return words;
}

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// 1024 words: data[i] = i at binding 0, never written at binding 1.
struct TwoBuffers {
    std::vector<std::uint32_t> data;
    std::vector<std::uint32_t> result;

    TwoBuffers() : data(1024), result(1024, 0xdeadbeef) {
        for (std::uint32_t i = 0; i < data.size(); ++i) data[i] = i;
    }
    std::vector<simulator::ShaderBuffer> bindings() {
        return {{0, 0, std::as_writable_bytes(std::span(data)), true, "data"},
                {0, 1, std::as_writable_bytes(std::span(result)), false, "result"}};
    }
};

inline std::string all_faults(const simulator::Report& report) {
    std::string text;
    for (const simulator::Fault& fault : report.faults) text += to_text(fault) + "\n";
    return text;
}

}  // namespace lanewise::test
