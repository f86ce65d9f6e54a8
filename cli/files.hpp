// Files that are read whole, and files that appear whole or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanewise/error.hpp"

namespace lanewise::cli {

struct OpenedFile {
    std::ifstream stream;
    std::uint64_t bytes = 0;
};

// Errors name the path and what is wrong with it.
Result<OpenedFile> open_regular_file(const std::filesystem::path& path);

// For settings and descriptions: at most 16 MiB.
Result<std::string> read_text_file(const std::filesystem::path& path);

// Writes the pieces, one after the other, to a file beside `path`, then renames it: `path` holds
// the old contents or the new. What is no regular file (/dev/stdout) is written directly. Symbolic
// links are followed.
Result<void> write_whole_file(const std::filesystem::path& path,
                              std::initializer_list<std::span<const std::byte>> pieces);
Result<void> write_whole_file(const std::filesystem::path& path, std::string_view text);

// The same for several files: each is renamed once all are written, so that a disk that is full or
// a folder that cannot be written to leaves none of them.
struct FileToWrite {
    std::filesystem::path path;
    std::vector<std::span<const std::byte>> pieces;
};
Result<void> write_whole_files(std::span<const FileToWrite> files);

}  // namespace lanewise::cli
