#include "lanewise/bundle.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>

namespace lanewise {

namespace {

// The file: magic, interface; for each kernel the bytes of its name, its version and its words;
// then the names and words themselves, in that order. Numbers are little-endian, 32 bits each but
// the interface.
constexpr std::array<char, 8> kMagic{'L', 'W', 'B', 'U', 'N', 'D', 'L', 'E'};

// Changes with the sources of the kernels: what hosts and kernels agree on changes with them.
constexpr std::uint64_t kInterface =
#include "kernel_interface.inc"
    ;

constexpr std::uint32_t kSpirvMagic = 0x07230203;

class Writer {
public:
    void number(std::uint64_t value, int bytes) {
        for (int i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    }
    void text(std::string_view text) {
        for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    }
    std::vector<std::byte> take() { return std::move(bytes_); }

private:
    std::vector<std::byte> bytes_;
};

// Reads past the end give zeros, and good() says so.
class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

    std::uint64_t number(std::size_t bytes) {
        std::uint64_t value = 0;
        const auto part = take(bytes);
        for (std::size_t i = 0; i < part.size(); ++i)
            value |= std::to_integer<std::uint64_t>(part[i]) << (8 * i);
        return value;
    }
    std::uint32_t word() { return static_cast<std::uint32_t>(number(4)); }
    std::string text(std::size_t bytes) {
        const auto part = take(bytes);
        std::string text;
        for (const std::byte b : part) text.push_back(std::to_integer<char>(b));
        return text;
    }
    bool good() const { return good_; }
    std::size_t left() const { return bytes_.size(); }

private:
    std::span<const std::byte> take(std::size_t bytes) {
        if (bytes > bytes_.size()) {
            good_ = false;
            bytes_ = {};
            return {};
        }
        const auto part = bytes_.first(bytes);
        bytes_ = bytes_.subspan(bytes);
        return part;
    }

    std::span<const std::byte> bytes_;
    bool good_ = true;
};

auto key_of(const BundledKernel& kernel) {
    return std::tuple(std::string_view(kernel.name), kernel.spirv_version);
}

}  // namespace

void Bundle::add(BundledKernel kernel) {
    const auto at = std::ranges::lower_bound(kernels_, key_of(kernel), {}, key_of);
    if (at != kernels_.end() && key_of(*at) == key_of(kernel)) {
        *at = std::move(kernel);
    } else {
        kernels_.insert(at, std::move(kernel));
    }
}

void Bundle::add(const Bundle& other) {
    for (const BundledKernel& kernel : other.kernels_) add(kernel);
}

const BundledKernel* Bundle::find(std::string_view name, std::uint32_t max_spirv_version) const {
    const auto end =
        std::ranges::upper_bound(kernels_, std::tuple(name, max_spirv_version), {}, key_of);
    if (end == kernels_.begin() || std::prev(end)->name != name) return nullptr;
    return &*std::prev(end);
}

std::vector<std::byte> Bundle::to_bytes() const {
    Writer writer;
    writer.text({kMagic.data(), kMagic.size()});
    writer.number(kInterface, 8);
    writer.number(kernels_.size(), 4);
    for (const BundledKernel& kernel : kernels_) {
        writer.number(kernel.name.size(), 4);
        writer.number(kernel.spirv_version, 4);
        writer.number(kernel.words.size(), 4);
    }
    for (const BundledKernel& kernel : kernels_) {
        writer.text(kernel.name);
        for (const std::uint32_t word : kernel.words) writer.number(word, 4);
    }
    return writer.take();
}

Result<Bundle> Bundle::from_bytes(std::span<const std::byte> bytes) {
    const auto wrong = [](std::string_view message) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument, fmt::format("bundle: {}", message), {}});
    };
    Reader reader(bytes);
    if (reader.text(kMagic.size()) != std::string_view(kMagic.data(), kMagic.size()))
        return wrong("this is none: it does not begin like one");
    if (reader.number(8) != kInterface || !reader.good())
        return wrong("it was made by another version of the library: make it anew");
    struct Size {
        std::uint32_t name, version, words;
    };
    const std::uint32_t count = reader.word();
    if (!reader.good() || count > reader.left() / sizeof(Size)) return wrong("it is cut short");
    std::vector<Size> sizes(count);
    for (Size& size : sizes) size = {reader.word(), reader.word(), reader.word()};
    Bundle bundle;
    for (const Size& size : sizes) {
        BundledKernel kernel{reader.text(size.name), size.version, {}};
        if (!reader.good() || size.words > reader.left() / 4) return wrong("it is cut short");
        kernel.words.resize(size.words);
        for (std::uint32_t& word : kernel.words) word = reader.word();
        if (kernel.words.size() < 5 || kernel.words[0] != kSpirvMagic ||
            kernel.words[1] != kernel.spirv_version)
            return wrong(fmt::format("kernel {} is no SPIR-V module of version {:#x}", kernel.name,
                                     kernel.spirv_version));
        bundle.add(std::move(kernel));
    }
    if (reader.left() != 0) return wrong("something comes after its end");
    return bundle;
}

}  // namespace lanewise
