// NumPy .npy files of one dimension, or two where rows are meant: format version 1 to 3,
// little-endian, C order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "lanewise/error.hpp"
#include "lanewise/operators.hpp"

namespace lanewise::cli {

struct NpyHeader {
    Scalar element = Scalar::u32;
    std::uint64_t count = 0;        // elements, or rows of an array of two dimensions
    std::uint64_t data_offset = 0;  // bytes before the first element
    std::uint64_t columns = 0;      // of an array of two dimensions; 0: it has one
};

struct NpyArray {
    Scalar element = Scalar::u32;
    std::uint64_t count = 0;
    std::vector<std::byte> data;
    std::uint64_t columns = 0;  // as in the header

    std::uint64_t row_bytes() const {
        return size_of(element) * std::max<std::uint64_t>(columns, 1);
    }
};

enum class NpyShape : std::uint8_t {
    one_dimension,
    with_rows,
    flags,  // one dimension; its elements may be bools, too, which are read as u8
};

// The most bytes that the start of a file, data excluded, may have.
inline constexpr std::size_t kNpyMaxHeader = 12 + 65535;

// `start` is the first min(file_bytes, kNpyMaxHeader) bytes of a file of file_bytes bytes. Any
// input is safe. The elements end where the file does, or it is an error.
Result<NpyHeader> parse_npy_header(std::span<const std::byte> start, std::uint64_t file_bytes,
                                   NpyShape shape = NpyShape::one_dimension);

Result<NpyArray> read_npy(const std::filesystem::path& path,
                          NpyShape shape = NpyShape::one_dimension);

// Offsets of segments, of any type of integer, as NumPy makes them; where they descend or pass the
// items, Gpu says so.
Result<std::vector<std::uint32_t>> read_offsets(const std::filesystem::path& path);

// The header that stands before `count` elements, or rows of `columns` each: version 1, padded to a
// multiple of 64 bytes.
std::vector<std::byte> make_npy_header(Scalar element, std::uint64_t count,
                                       std::uint64_t columns = 0);

// The file appears whole or not at all. Precondition: data holds whole elements.
Result<void> write_npy(const std::filesystem::path& path, Scalar element,
                       std::span<const std::byte> data);

}  // namespace lanewise::cli
