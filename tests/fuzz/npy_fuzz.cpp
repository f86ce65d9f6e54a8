// libFuzzer target for the .npy reader: any bytes are either refused, or describe exactly the file
// that they are.
// CONTRIBUTING.md says how it is built and run.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "cli/npy.hpp"

namespace {

void demand(bool condition) {
    if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace lanewise;
    const auto bytes = std::as_bytes(std::span(data, size));
    const auto start = bytes.first(std::min(size, cli::kNpyMaxHeader));
    const auto header = cli::parse_npy_header(start, size);
    if (!header) {
        demand(!header.error().message.empty());
        for (const char letter : header.error().message) demand(letter >= ' ' && letter <= '~');
        return 0;
    }
    demand(header->data_offset + header->count * size_of(header->element) == size);

    // What we would write for it reads back as the same.
    const auto written = cli::make_npy_header(header->element, header->count);
    demand(written.size() % 64 == 0);
    const auto again =
        cli::parse_npy_header(written, written.size() + header->count * size_of(header->element));
    demand(again && again->element == header->element && again->count == header->count);
    return 0;
}
