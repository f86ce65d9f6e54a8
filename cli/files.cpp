#include "cli/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace lanewise::cli {
namespace fs = std::filesystem;
namespace {

tl::unexpected<Error> failure(const fs::path& path, std::string_view what) {
    return tl::unexpected(
        Error{ErrorCode::io, fmt::format("{}: {}", path.string(), what), nullptr});
}

std::string reason(int number) { return std::generic_category().message(number); }

// 0, or the errno of what failed.
int write_pieces(std::FILE* file, std::initializer_list<std::span<const std::byte>> pieces) {
    errno = 0;
    bool good = true;
    for (const auto piece : pieces) {
        if (piece.empty()) continue;
        good = good && std::fwrite(piece.data(), 1, piece.size(), file) == piece.size();
    }
    good = good && std::fflush(file) == 0;
    int number = good ? 0 : errno;
    if (std::fclose(file) != 0 && number == 0) number = errno;
    return !good && number == 0 ? EIO : number;
}

}  // namespace

Result<OpenedFile> open_regular_file(const fs::path& path) {
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (!fs::exists(status)) {
        return failure(path, code ? code.message() : "there is no such file");
    }
    if (!fs::is_regular_file(status)) return failure(path, "it is not a regular file");
    const std::uint64_t bytes = fs::file_size(path, code);
    if (code) return failure(path, code.message());
    errno = 0;
    std::ifstream stream(path, std::ios::binary);
    if (!stream) return failure(path, "it cannot be opened: " + reason(errno));
    return OpenedFile{std::move(stream), bytes};
}

Result<std::string> read_text_file(const fs::path& path) {
    constexpr std::uint64_t kMost = 16u << 20;
    auto opened = open_regular_file(path);
    if (!opened) return tl::unexpected(opened.error());
    if (opened->bytes > kMost) return failure(path, "it is too large to be such a file");
    std::string text(static_cast<std::size_t>(opened->bytes), '\0');
    opened->stream.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (!opened->stream) return failure(path, "it cannot be read");
    return text;
}

Result<void> write_whole_file(const fs::path& path,
                              std::initializer_list<std::span<const std::byte>> pieces) {
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (fs::is_directory(status)) return failure(path, "it is a folder; give a file's name");
    if (fs::exists(status) && !fs::is_regular_file(status)) {
        std::FILE* file = std::fopen(path.c_str(), "wb");
        const int number = file == nullptr ? errno : write_pieces(file, pieces);
        if (number != 0) return failure(path, "it cannot be written: " + reason(number));
        return {};
    }

    fs::path target = path;
    if (fs::exists(status)) {
        target = fs::canonical(path, code);
        if (code) return failure(path, code.message());
    }
    std::FILE* file = nullptr;
    fs::path beside;
    constexpr int kTries = 100;
    for (int attempt = 0; attempt < kTries && file == nullptr; ++attempt) {
        beside = target;
        beside += fmt::format(".{}-{}.partial", ::getpid(), attempt);
        file = std::fopen(beside.c_str(), "wbx");
        if (file == nullptr && errno != EEXIST) break;
    }
    if (file == nullptr) return failure(path, "it cannot be written: " + reason(errno));
    const int number = write_pieces(file, pieces);
    if (number == 0) {
        fs::rename(beside, target, code);
        if (!code) return {};
    }
    std::error_code ignored;
    fs::remove(beside, ignored);
    return failure(path,
                   "it cannot be written: " + (number != 0 ? reason(number) : code.message()));
}

Result<void> write_whole_file(const fs::path& path, std::string_view text) {
    return write_whole_file(path, {std::as_bytes(std::span(text.data(), text.size()))});
}

}  // namespace lanewise::cli
