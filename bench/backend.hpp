// A device that benchmarks run on, whatever its API: memory, plans made ready, and a stop-watch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "lanewise/gpu.hpp"
#include "lanewise/plan.hpp"

namespace lanewise::bench {

// Memory of a device.
class Memory {
public:
    virtual ~Memory() = default;
    virtual std::uint64_t bytes() const = 0;
};

// The first bytes of a memory.
struct Range {
    const Memory* memory = nullptr;
    std::uint64_t bytes = 0;
};

// By role; those that a plan does not name stay empty.
struct Ranges {
    Range input;
    Range output;
    Range scratch;
    Range values;
    Range values_out;
    Range count_out;
};

// A plan, compiled and bound to memory, which must outlive it.
class Use {
public:
    virtual ~Use() = default;
};

// Memories and uses are of the backend that made them, and go before it.
class Backend {
public:
    virtual ~Backend() = default;
    virtual const Caps& caps() const = 0;  // after the probe, where there is one
    virtual std::string name() const = 0;
    virtual std::string type() const = 0;  // as GpuInfo has it

    virtual Result<std::unique_ptr<Memory>> make_memory(std::uint64_t bytes) = 0;
    virtual Result<void> upload(const Memory& memory, std::span<const std::byte> data) = 0;
    virtual Result<void> download(const Memory& memory, std::span<std::byte> data) = 0;
    // All of it with the same word.
    virtual Result<void> fill(const Memory& memory, std::uint32_t word) = 0;

    virtual Result<std::unique_ptr<Use>> prepare(const Plan& plan, const Ranges& ranges,
                                                 std::uint64_t count) = 0;
    // Runs it once and waits.
    virtual Result<void> run(const Use& use) = 0;

    // Says what time() runs: a use, so many times, each after the one before it is done. The use
    // must outlive this.
    virtual Result<void> load(const Use& use, std::uint32_t times) = 0;
    // Nanoseconds that all of it took, by the device's clock, or by the host's where that has none.
    virtual Result<double> time() = 0;
    virtual bool has_clock() const = 0;
};

// Of GpuOptions, the device counts, and for WebGPU the library. LANEWISE_DEVICE and
// LANEWISE_WEBGPU_LIBRARY are read as by Gpu.
Result<std::unique_ptr<Backend>> make_vulkan_backend(const GpuOptions& options);
Result<std::unique_ptr<Backend>> make_webgpu_backend(const GpuOptions& options);

}  // namespace lanewise::bench
