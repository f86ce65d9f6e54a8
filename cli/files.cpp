#include "cli/files.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace lanewise::cli {
namespace fs = std::filesystem;
namespace {

tl::unexpected<Error> failure(const fs::path& path, std::string_view what) {
    return tl::unexpected(
        Error{ErrorCode::io, fmt::format("{}: {}", path.string(), what), nullptr});
}

std::string reason(int number) { return std::generic_category().message(number); }

// 0, or the errno of what failed.
int write_pieces(std::FILE* file, std::span<const std::span<const std::byte>> pieces) {
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

tl::unexpected<Error> cannot_be_written(const fs::path& path, const std::string& why) {
    return failure(path, "it cannot be written: " + why);
}

// A file that is written beside its place, and goes when it is not committed.
class Staged {
public:
    explicit Staged(const FileToWrite& file) : file_(&file) {}
    Staged(const FileToWrite& file, fs::path beside, fs::path target)
        : file_(&file), beside_(std::move(beside)), target_(std::move(target)) {}
    Staged(Staged&& other) noexcept
        : file_(other.file_),
          beside_(std::exchange(other.beside_, {})),
          target_(std::move(other.target_)) {}
    Staged& operator=(Staged&&) = delete;
    ~Staged() {
        std::error_code ignored;
        if (!beside_.empty()) fs::remove(beside_, ignored);
    }

    Result<void> commit() {
        if (beside_.empty()) {  // no regular file: there is no beside
            std::FILE* file = std::fopen(file_->path.c_str(), "wb");
            const int number = file == nullptr ? errno : write_pieces(file, file_->pieces);
            if (number != 0) return cannot_be_written(file_->path, reason(number));
            return {};
        }
        std::error_code code;
        fs::rename(beside_, target_, code);
        if (code) return cannot_be_written(file_->path, code.message());
        beside_.clear();
        return {};
    }

private:
    const FileToWrite* file_;
    fs::path beside_, target_;
};

Result<Staged> stage(const FileToWrite& wanted) {
    const fs::path& path = wanted.path;
    std::error_code code;
    const fs::file_status status = fs::status(path, code);
    if (fs::is_directory(status)) return failure(path, "it is a folder; give a file's name");
    if (fs::exists(status) && !fs::is_regular_file(status)) return Staged(wanted);

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
    if (file == nullptr) return cannot_be_written(path, reason(errno));
    Staged staged(wanted, beside, target);
    if (const int number = write_pieces(file, wanted.pieces); number != 0)
        return cannot_be_written(path, reason(number));
    return staged;
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

Result<void> write_whole_files(std::span<const FileToWrite> files) {
    std::vector<Staged> staged;
    staged.reserve(files.size());
    for (const FileToWrite& file : files) {
        auto written = stage(file);
        if (!written) return tl::unexpected(written.error());
        staged.push_back(*std::move(written));
    }
    for (Staged& file : staged) {
        if (auto done = file.commit(); !done) return done;
    }
    return {};
}

Result<void> write_whole_file(const fs::path& path,
                              std::initializer_list<std::span<const std::byte>> pieces) {
    const FileToWrite file{path, pieces};
    return write_whole_files({&file, 1});
}

Result<void> write_whole_file(const fs::path& path, std::string_view text) {
    return write_whole_file(path, {std::as_bytes(std::span(text.data(), text.size()))});
}

}  // namespace lanewise::cli
