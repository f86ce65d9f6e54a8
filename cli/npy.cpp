#include "cli/npy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <limits>
#include <new>
#include <optional>
#include <string>
#include <string_view>

#include "cli/files.hpp"

namespace lanewise::cli {
namespace {

constexpr std::string_view kMagic{"\x93NUMPY", 6};
constexpr std::uint64_t kMaxCount = std::numeric_limits<std::uint64_t>::max();

tl::unexpected<Error> bad(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, std::move(message), nullptr});
}

struct TypeName {
    std::string_view text;  // as in descr, without the byte order
    Scalar scalar;
};

constexpr std::array kTypes{
    TypeName{"u1", Scalar::u8},  TypeName{"i1", Scalar::i8},  TypeName{"u2", Scalar::u16},
    TypeName{"i2", Scalar::i16}, TypeName{"f2", Scalar::f16}, TypeName{"u4", Scalar::u32},
    TypeName{"i4", Scalar::i32}, TypeName{"f4", Scalar::f32}, TypeName{"u8", Scalar::u64},
    TypeName{"i8", Scalar::i64}, TypeName{"f8", Scalar::f64},
};

// What the file says may hold anything: what is shown of it is short and printable.
std::string shown(std::string_view text) {
    constexpr std::size_t kMost = 40;
    std::string result = "'";
    for (char letter : text.substr(0, kMost)) {
        result += letter >= ' ' && letter <= '~' ? letter : '?';
    }
    result += text.size() > kMost ? "...'" : "'";
    return result;
}

// The header's text is a Python literal:
// {'descr': '<f4', 'fortran_order': False, 'shape': (3,), }
class DictParser {
public:
    DictParser(std::string_view text, NpyShape shape) : text_(text), shape_(shape) {}

    Result<NpyHeader> parse() {
        if (!take('{')) return bad("the header is not a Python dictionary");
        while (!take('}')) {
            auto done = parse_entry();
            if (!done) return tl::unexpected(done.error());
            if (take(',')) continue;
            if (!take('}')) return bad("the header's dictionary is not closed");
            break;
        }
        skip_blanks();
        if (at_ < text_.size()) return bad("text follows the header's dictionary");
        if (!element_) return bad("the header has no 'descr'");
        if (!seen_order_) return bad("the header has no 'fortran_order'");
        if (!count_) return bad("the header has no 'shape'");
        return NpyHeader{*element_, *count_, 0, columns_};
    }

private:
    void skip_blanks() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    }

    bool take(char wanted) {
        skip_blanks();
        if (at_ == text_.size() || text_[at_] != wanted) return false;
        ++at_;
        return true;
    }

    bool take_word(std::string_view word) {
        skip_blanks();
        if (!text_.substr(at_).starts_with(word)) return false;
        at_ += word.size();
        return true;
    }

    std::optional<std::string_view> take_string() {
        skip_blanks();
        if (at_ == text_.size()) return std::nullopt;
        const char quote = text_[at_];
        if (quote != '\'' && quote != '"') return std::nullopt;
        const std::size_t end = text_.find(quote, at_ + 1);
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
        if (content.find('\\') != std::string_view::npos) return std::nullopt;
        at_ = end + 1;
        return content;
    }

    Result<void> parse_entry() {
        const auto key = take_string();
        if (!key) return bad("a key of the header's dictionary is not a string");
        if (!take(':')) return bad(fmt::format("no ':' after the header's key {}", shown(*key)));
        if (*key == "descr" && !element_) return parse_descr();
        if (*key == "fortran_order" && !seen_order_) return parse_order();
        if (*key == "shape" && !count_) return parse_shape();
        return bad(fmt::format("the header's key {} is unknown or given twice", shown(*key)));
    }

    Result<void> parse_descr() {
        skip_blanks();
        if (at_ < text_.size() && text_[at_] == '[') {
            return bad("its elements are structures; save one field of them, as array['field']");
        }
        const auto descr = take_string();
        if (!descr) return bad("the header's 'descr' is not a string");
        const char order = descr->empty() ? ' ' : descr->front();
        if (order == '>') {
            return bad(fmt::format(
                "its elements {} are big-endian; save array.astype(array.dtype.newbyteorder('<'))",
                shown(*descr)));
        }
        if (shape_ == NpyShape::flags && *descr == "|b1") {
            element_ = Scalar::u8;
            return {};
        }
        for (const TypeName& type : kTypes) {
            const bool one_byte = size_of(type.scalar) == 1;
            if (descr->substr(descr->empty() ? 0 : 1) != type.text) continue;
            if (order == '<' || order == '=' || (order == '|' && one_byte)) {
                element_ = type.scalar;
                return {};
            }
        }
        return bad(
            fmt::format("elements {} are not supported; those that are: |u1 |i1 <u2 <i2 <f2 <u4 "
                        "<i4 <f4 <u8 <i8 <f8",
                        shown(*descr)));
    }

    Result<void> parse_order() {
        if (take_word("True")) {
            return bad("it is in Fortran order; save numpy.ascontiguousarray(array)");
        }
        if (!take_word("False")) return bad("the header's 'fortran_order' is not True or False");
        seen_order_ = true;
        return {};
    }

    Result<void> parse_shape() {
        if (!take('(')) return bad("the header's 'shape' is not a tuple");
        std::uint64_t dimensions = 0;
        std::uint64_t first = 0, second = 0;
        bool comma = true;
        while (!take(')')) {
            if (!comma) return bad("the header's 'shape' is not a tuple");
            const auto length = take_number();
            if (!length) {
                return bad("a length in the header's 'shape' is no number, or above 2^64 - 1");
            }
            if (dimensions == 0) first = *length;
            if (dimensions == 1) second = *length;
            ++dimensions;
            comma = take(',');
        }
        if (dimensions == 1 && !comma) return bad("the header's 'shape' is not a tuple");
        const bool rows = shape_ == NpyShape::with_rows;
        if (dimensions != 1 && !(rows && dimensions == 2)) {
            return bad(
                fmt::format("it has {} dimensions where one{} is wanted; save {}", dimensions,
                            rows ? " or two" : "",
                            rows ? "rows, as array.reshape(len(array), -1)" : "array.reshape(-1)"));
        }
        if (dimensions == 2 && second == 0) return bad("its rows have no elements");
        count_ = first;
        columns_ = second;
        return {};
    }

    std::optional<std::uint64_t> take_number() {
        skip_blanks();
        const std::size_t start = at_;
        std::uint64_t value = 0;
        for (; at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
            const auto digit = static_cast<std::uint64_t>(text_[at_] - '0');
            if (value > (kMaxCount - digit) / 10) return std::nullopt;
            value = value * 10 + digit;
        }
        if (at_ == start) return std::nullopt;
        if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote long numbers so
        return value;
    }

    std::string_view text_;
    NpyShape shape_;
    std::size_t at_ = 0;
    std::optional<Scalar> element_;
    std::optional<std::uint64_t> count_;
    std::uint64_t columns_ = 0;
    bool seen_order_ = false;
};

}  // namespace

Result<NpyHeader> parse_npy_header(std::span<const std::byte> start, std::uint64_t file_bytes,
                                   NpyShape shape) {
    const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
    auto byte_at = [&](std::size_t index) {
        return static_cast<std::uint64_t>(static_cast<unsigned char>(text[index]));
    };
    if (text.size() < 10 || !text.starts_with(kMagic)) {
        return bad("it is not an .npy file; write one with numpy.save");
    }
    const std::uint64_t major = byte_at(6);
    const std::uint64_t minor = byte_at(7);
    if (major < 1 || major > 3 || minor != 0) {
        return bad(fmt::format("version {}.{} of the .npy format is not supported; 1.0 to 3.0 are",
                               major, minor));
    }
    const std::size_t prefix = major == 1 ? 10 : 12;
    if (text.size() < prefix) return bad("it is truncated inside its header");
    std::uint64_t length = byte_at(8) | byte_at(9) << 8;
    if (major > 1) length |= byte_at(10) << 16 | byte_at(11) << 24;
    if (length > kNpyMaxHeader - prefix) {
        return bad(fmt::format("its header has {} bytes, more than any such array needs", length));
    }
    if (length > text.size() - prefix || prefix + length > file_bytes)
        return bad("it is truncated inside its header");

    auto header = DictParser(text.substr(prefix, static_cast<std::size_t>(length)), shape).parse();
    if (!header) return header;
    header->data_offset = prefix + length;
    const std::uint64_t element_bytes = size_of(header->element);
    const std::uint64_t columns = std::max<std::uint64_t>(header->columns, 1);
    const std::uint64_t available = file_bytes - header->data_offset;
    if (columns > kMaxCount / element_bytes) return bad("its rows have more than 2^64 bytes");
    const std::uint64_t row_bytes = columns * element_bytes;
    if (header->count > kMaxCount / row_bytes || header->count * row_bytes > available) {
        return bad(fmt::format(
            "it is truncated: its header promises {} {} of {} bytes, but only {} bytes "
            "follow",
            header->count, header->columns == 0 ? "elements" : "rows", row_bytes, available));
    }
    if (header->count * row_bytes < available) {
        return bad(
            fmt::format("{} bytes follow its last element; it is damaged, or several arrays "
                        "in one file",
                        available - header->count * row_bytes));
    }
    return header;
}

Result<NpyArray> read_npy(const std::filesystem::path& path, NpyShape shape) {
    auto failure = [&](std::string_view what) {
        return tl::unexpected(
            Error{ErrorCode::io, fmt::format("{}: {}", path.string(), what), nullptr});
    };
    auto opened = open_regular_file(path);
    if (!opened) return tl::unexpected(opened.error());
    auto& [file, file_bytes] = *opened;

    std::vector<std::byte> start(
        static_cast<std::size_t>(std::min<std::uint64_t>(file_bytes, kNpyMaxHeader)));
    file.read(reinterpret_cast<char*>(start.data()), static_cast<std::streamsize>(start.size()));
    if (!file) return failure("it cannot be read");
    const auto header = parse_npy_header(start, file_bytes, shape);
    if (!header) return failure(header.error().message);

    NpyArray array{header->element, header->count, {}, header->columns};
    try {
        array.data.resize(static_cast<std::size_t>(file_bytes - header->data_offset));
    } catch (const std::exception&) {
        return tl::unexpected(Error{
            ErrorCode::out_of_memory,
            fmt::format("{}: no memory for its {} bytes", path.string(), file_bytes), nullptr});
    }
    file.seekg(static_cast<std::streamoff>(header->data_offset));
    file.read(reinterpret_cast<char*>(array.data.data()),
              static_cast<std::streamsize>(array.data.size()));
    if (!file) return failure("it became shorter while it was read");
    return array;
}

std::vector<std::byte> make_npy_header(Scalar element, std::uint64_t count, std::uint64_t columns) {
    std::string_view type;
    for (const TypeName& candidate : kTypes) {
        if (candidate.scalar == element) type = candidate.text;
    }
    std::string text =
        fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': ({},{}), }}",
                    size_of(element) == 1 ? '|' : '<', type, count,
                    columns == 0 ? "" : fmt::format(" {}", columns));
    constexpr std::size_t kPrefix = 10;
    constexpr std::size_t kMultiple = 64;
    while ((kPrefix + text.size() + 1) % kMultiple != 0) text += ' ';
    text += '\n';

    std::string whole(kMagic);
    whole += '\x01';
    whole += '\x00';
    whole += static_cast<char>(text.size() & 0xff);
    whole += static_cast<char>(text.size() >> 8);
    whole += text;
    const auto bytes = std::as_bytes(std::span(whole));
    return {bytes.begin(), bytes.end()};
}

Result<std::vector<std::uint32_t>> read_offsets(const std::filesystem::path& path) {
    const auto array = read_npy(path);
    if (!array) return tl::unexpected(array.error());
    const auto bad = [&](std::string message) {
        return tl::unexpected(
            Error{ErrorCode::bad_argument, fmt::format("{}: {}", path.string(), message), nullptr});
    };
    if (is_float(array->element)) {
        return bad(fmt::format("has {}, where offsets are integers", to_text(array->element)));
    }
    const std::size_t size = size_of(array->element);
    const std::uint64_t sign = std::uint64_t{1} << (8 * size - 1);
    std::vector<std::uint32_t> offsets(array->count);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, array->data.data() + i * size, size);  // little-endian: the low bytes
        const bool negative = is_signed_integer(array->element) && (bits & sign) != 0;
        if (negative || bits > std::numeric_limits<std::uint32_t>::max()) {
            return bad(fmt::format("offset {} is {}", i,
                                   negative ? "negative" : "2^32 or more, past any item"));
        }
        offsets[i] = static_cast<std::uint32_t>(bits);
    }
    return offsets;
}

Result<void> write_npy(const std::filesystem::path& path, Scalar element,
                       std::span<const std::byte> data) {
    const auto header = make_npy_header(element, data.size() / size_of(element));
    return write_whole_file(path, {header, data});
}

}  // namespace lanewise::cli
