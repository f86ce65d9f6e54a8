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

// Either refused in one line, or what its header says it is.
void check(std::span<const std::byte> bytes, lanewise::cli::NpyShape shape) {
    using namespace lanewise;
    const auto start = bytes.first(std::min(bytes.size(), cli::kNpyMaxHeader));
    const auto header = cli::parse_npy_header(start, bytes.size(), shape);
    if (!header) {
        demand(!header.error().message.empty());
        for (const char letter : header.error().message) demand(letter >= ' ' && letter <= '~');
        return;
    }
    demand(header->columns == 0 || shape == cli::NpyShape::with_rows);
    const std::uint64_t data =
        header->count * std::max<std::uint64_t>(header->columns, 1) * size_of(header->element);
    demand(header->data_offset + data == bytes.size());

    // What we would write for it reads back as the same.
    const auto written = cli::make_npy_header(header->element, header->count, header->columns);
    demand(written.size() % 64 == 0);
    const auto again = cli::parse_npy_header(written, written.size() + data, shape);
    demand(again && again->element == header->element && again->count == header->count &&
           again->columns == header->columns);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto bytes = std::as_bytes(std::span(data, size));
    check(bytes, lanewise::cli::NpyShape::one_dimension);
    check(bytes, lanewise::cli::NpyShape::with_rows);
    return 0;
}
