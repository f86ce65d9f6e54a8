#include "src/core/custom.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "src/core/arithmetic.hpp"
#include "src/core/custom_text.hpp"

namespace lanewise {

namespace {

constexpr std::uint32_t kMostElementBytes = 256;
constexpr std::uint32_t kMostValueBytes = 128;
constexpr std::uint32_t kMostResultBytes = 256;

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_identifier(std::string_view name) {
    return !name.empty() && is_letter(name[0]) && std::ranges::all_of(name, [](char c) {
        return is_letter(c) || is_digit(c) || c == '_';
    }) && name.find("__") == std::string_view::npos;  // reserved in GLSL and WGSL
}

// Becomes a part of kernels' names, whose parts a dot divides.
bool is_name(std::string_view name) {
    return name.size() <= 64 && is_identifier(name) &&
           std::ranges::none_of(name, [](char c) { return c >= 'A' && c <= 'Z'; });
}

Scalar widened(Scalar scalar) {
    if (size_of(scalar) >= 4) return scalar;
    if (scalar == Scalar::f16) return Scalar::f32;
    return is_signed_integer(scalar) ? Scalar::i32 : Scalar::u32;
}

tl::unexpected<Error> wrong(std::string message) {
    return tl::unexpected(Error{ErrorCode::bad_argument, "custom operator: " + message, {}});
}

// What kernels and GLSL name so.
bool is_taken(std::string_view name) {
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{"gl_", "LW_", "lw_", "sh_", "operation_"},
        [&](std::string_view prefix) { return name.starts_with(prefix); });
}

// `what`: element, value or result.
Result<void> check_fields(const char* what, const Fields& fields, std::uint32_t most_bytes,
                          bool may_be_narrow) {
    if (fields.empty()) return wrong(fmt::format("the {} has no fields", what));
    std::uint32_t at = 0;
    std::uint32_t largest = 1;
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const Field& field = fields[i];
        const std::string label =
            field.name.empty() ? std::string(what) : fmt::format("{}.{}", what, field.name);
        if (field.components < 1 || field.components > 4)
            return wrong(fmt::format("{} has {} components, not 1 to 4", label, field.components));
        if (field.name.empty() ? fields.size() > 1 : !is_identifier(field.name))
            return wrong(
                fmt::format("field {} of the {} needs a name: letters, digits, single "
                            "underscores; not '{}'",
                            i, what, field.name));
        if (is_taken(field.name))
            return wrong(fmt::format(
                "{}: names that begin with gl_, LW_, lw_, sh_ or operation_ are taken", label));
        const auto same = std::ranges::count(fields, field.name, &Field::name);
        if (same > 1) return wrong(fmt::format("the {} has two fields {}", what, field.name));
        const std::uint32_t size = size_of(field.scalar);
        if (size < 4 && !may_be_narrow)
            return wrong(fmt::format("{} is {}: a {} has scalars of 32 or 64 bits", label,
                                     lanewise::to_text(field.scalar), what));
        if (at % size != 0)
            return wrong(
                fmt::format("{} begins at byte {}, no multiple of its scalars' {}: put "
                            "larger fields first, or padding between",
                            label, at, size));
        at += size * field.components;
        largest = std::max(largest, size);
        if (at > most_bytes)
            return wrong(fmt::format("the {} has more than {} bytes", what, most_bytes));
    }
    if (at % largest != 0)
        return wrong(
            fmt::format("the {} ends at byte {}, no multiple of its largest scalar's {}: add "
                        "a field of padding",
                        what, at, largest));
    if (at > 2 && at % 4 != 0)
        return wrong(fmt::format("the {} has {} bytes, not 1, 2 or a multiple of 4", what, at));
    return {};
}

Result<void> check_bytes(const char* what, const std::vector<std::byte>& bytes,
                         std::uint32_t wanted) {
    if (bytes.empty() || bytes.size() == wanted) return {};
    return wrong(fmt::format("`{}` has {} bytes, its type has {}", what, bytes.size(), wanted));
}

template <class Predicate>
bool any_scalar(const CustomOperator& custom, Predicate predicate) {
    for (const Fields& fields : {custom.element, value_of(custom), result_of(custom)}) {
        if (std::ranges::any_of(fields, predicate, &Field::scalar)) return true;
    }
    return false;
}

}  // namespace

std::uint32_t bytes_of(const Fields& fields) {
    std::uint32_t bytes = 0;
    for (const Field& field : fields) bytes += size_of(field.scalar) * field.components;
    return bytes;
}

Fields value_of(const CustomOperator& custom) {
    if (!custom.value.empty()) return custom.value;
    Fields fields = custom.element;
    for (Field& field : fields) field.scalar = widened(field.scalar);
    return fields;
}

Fields result_of(const CustomOperator& custom) {
    return custom.result.empty() ? value_of(custom) : custom.result;
}

std::string to_text(const Fields& fields) {
    std::string text;
    for (const Field& field : fields) {
        if (!text.empty()) text += ", ";
        if (!field.name.empty()) text += field.name + ' ';
        text += to_text(field.scalar);
        if (field.components > 1) text += fmt::format(" x{}", field.components);
    }
    const bool is_struct = fields.size() != 1 || !fields[0].name.empty();
    return is_struct ? '{' + text + '}' : text;
}

Result<void> check(const CustomOperator& custom) {
    if (!is_name(custom.name))
        return wrong(
            fmt::format("its name is '{}': a letter, then letters, digits and single "
                        "underscores, all lower case, 64 at most",
                        custom.name));
    if (auto element = check_fields("element", custom.element, kMostElementBytes, true); !element)
        return element;
    const Fields value = value_of(custom);
    if (auto checked = check_fields("value", value, kMostValueBytes, false); !checked)
        return checked;
    const Fields result = result_of(custom);
    if (auto checked = check_fields("result", result, kMostResultBytes, false); !checked)
        return checked;
    if (custom.combine.empty()) return wrong("`combine` is missing");
    CustomOperator plain = custom;
    plain.value.clear();
    if (custom.load.empty() && value != value_of(plain))
        return wrong(fmt::format("`load` is missing: it makes the value {} of the element {}",
                                 to_text(value), to_text(custom.element)));
    if (custom.store.empty() && result != value)
        return wrong(fmt::format("`store` is missing: it makes the result {} of the value {}",
                                 to_text(result), to_text(value)));
    if (auto checked = check_bytes("nothing", custom.nothing, bytes_of(result)); !checked)
        return checked;
    return check_bytes("initial", custom.initial, bytes_of(value));
}

namespace detail {

CustomOperator operator_of(const CustomPredicate& predicate) {
    CustomOperator custom;
    custom.name = predicate.name;
    custom.element = predicate.element;
    custom.value = {{Scalar::u32}};
    custom.load =
        is_statements(predicate.keep) ? predicate.keep : fmt::format("u32({}\n)", predicate.keep);
    custom.combine = "a + b";
    custom.commutative = true;
    return custom;
}

std::string kernel_types(const CustomOperator& custom) {
    // FNV-1a in 64 bits (Fowler, Noll, Vo): the same on every machine, so that bundles can be
    // looked up by name. Each part goes with its length, so that no two operators run into one
    // text.
    std::uint64_t hash = 0xcbf29ce484222325;
    const auto add = [&](std::string_view part) {
        for (const char c : fmt::format("{}:{}", part.size(), part))
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    };
    const auto add_bytes = [&](const std::vector<std::byte>& bytes) {
        add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    };
    add(to_text(custom.element));
    add(to_text(value_of(custom)));
    add(to_text(result_of(custom)));
    add(custom.load);
    add(custom.combine);
    add(custom.commutative ? "commutative" : "ordered");
    add(custom.store);
    add_bytes(custom.nothing);
    add_bytes(custom.initial);
    return fmt::format("{}_{:016x}", custom.name, hash);
}

std::uint32_t words_of(const Fields& fields) {
    return static_cast<std::uint32_t>(divide_up(bytes_of(fields), 4));
}

std::uint32_t workgroup_bytes(const CustomOperator& custom, bool segmented) {
    std::uint32_t bytes = 0;
    std::uint32_t alignment = 4;
    const Fields value = value_of(custom);
    for (const Field& field : value) {
        const std::uint32_t vector =
            size_of(field.scalar) * (field.components == 3 ? 4 : field.components);
        alignment = std::max(alignment, vector);
        bytes = static_cast<std::uint32_t>(round_up(bytes, vector)) +
                size_of(field.scalar) * field.components;
    }
    // A struct inside the accumulator's ends at a multiple of its alignment, before the flag.
    const bool is_struct = !value[0].name.empty();
    bytes = static_cast<std::uint32_t>(round_up(bytes, is_struct ? alignment : 4));
    return static_cast<std::uint32_t>(round_up(bytes + (segmented ? 8 : 4), alignment));
}

bool uses_int64(const CustomOperator& custom) {
    return any_scalar(custom, [](Scalar s) { return s == Scalar::u64 || s == Scalar::i64; });
}

bool uses_float64(const CustomOperator& custom) {
    return any_scalar(custom, [](Scalar s) { return s == Scalar::f64; });
}

}  // namespace detail

}  // namespace lanewise
