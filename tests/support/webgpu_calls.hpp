// Functions put between a caller and an implementation of WebGPU: they count calls and keep what
// tests want to see. One set for the process, because WebGPU's functions carry no pointer of ours:
// one implementation in a process, and reset() begins a test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "lanewise/webgpu_functions.hpp"

namespace lanewise::test {

struct ComputePassSeen {
    std::string label;
    WGPUQuerySet query_set = nullptr;  // null: no timestamps
    std::uint32_t begin_query = WGPU_QUERY_SET_INDEX_UNDEFINED;
    std::uint32_t end_query = WGPU_QUERY_SET_INDEX_UNDEFINED;
};

struct CopySeen {
    WGPUBuffer from = nullptr;
    WGPUBuffer to = nullptr;
    std::uint64_t bytes = 0;
};

class WebgpuCalls {
public:
    // The same functions, looked at.
    static webgpu::Functions watched(const webgpu::Functions& real);

    // Forgets counts and what was seen.
    static void reset();

    // Calls since reset() by the function's name without its prefix: "DeviceCreateBuffer".
    static int calls(std::string_view function);
    // Of all whose names begin so.
    static int calls_that_begin(std::string_view start);
    // References taken and given back since reset(): of "Buffer" as many as DeviceCreateBuffer and
    // BufferAddRef gave, less BufferRelease.
    static int references(std::string_view object);

    // Texts given to DeviceCreateShaderModule.
    static std::vector<std::string> take_texts();
    static std::vector<ComputePassSeen> take_passes();
    static std::vector<CopySeen> take_copies();
    // Workgroups of dispatches that name them, x times y times z.
    static std::vector<std::uint64_t> take_dispatches();
};

}  // namespace lanewise::test
