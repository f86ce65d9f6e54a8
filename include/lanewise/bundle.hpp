// Bundle: compiled kernels of custom operators. lanewise::jit makes them (lanewise/jit.hpp);
// written to a file ahead, they serve applications that carry no compiler.
//
//   auto bundle = lanewise::Bundle::from_bytes(bytes_of_the_file);
//   auto sum    = device->compile(plan, {.bundle = &*bundle});
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanewise/error.hpp"

namespace lanewise {

struct BundledKernel {
    std::string name;                 // Pass::kernel
    std::uint32_t spirv_version = 0;  // 0x00010300 or 0x00010600
    std::vector<std::uint32_t> words;

    bool operator==(const BundledKernel&) const = default;
};

class Bundle {
public:
    const std::vector<BundledKernel>& kernels() const { return kernels_; }

    // Takes the place of a kernel of the same name and version.
    void add(BundledKernel kernel);
    void add(const Bundle& other);

    // The newest module of that name with at most that version; null when there is none.
    const BundledKernel* find(std::string_view name, std::uint32_t max_spirv_version) const;

    // The whole bundle, to be kept in a file. A bundle is for the version of the library that made
    // it: kernels and hosts change together.
    std::vector<std::byte> to_bytes() const;
    // Errors: bad_argument (no bundle, cut short, or of another version of the library).
    static Result<Bundle> from_bytes(std::span<const std::byte> bytes);

private:
    std::vector<BundledKernel> kernels_;  // sorted by name, then version
};

}  // namespace lanewise
