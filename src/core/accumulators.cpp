#include "src/core/accumulators.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <bit>

#include "src/core/arithmetic.hpp"
#include "src/core/custom.hpp"
#include "src/core/tiers.hpp"

namespace lanewise::detail {

namespace {

constexpr std::uint32_t kVectorBytes = 16;

Scalar accumulator_of(const Combination& combination) {
    return combination.accumulator.value_or(default_accumulator(combination.element));
}

}  // namespace

Scalar default_accumulator(Scalar element) {
    switch (element) {
        case Scalar::u8:
        case Scalar::u16: return Scalar::u32;
        case Scalar::i8:
        case Scalar::i16: return Scalar::i32;
        case Scalar::f16: return Scalar::f32;
        default: return element;
    }
}

std::uint32_t index_bytes(const Combination& combination) {
    const bool wide_index = combination.max_count > (std::uint64_t{1} << 32);
    return size_of(accumulator_of(combination)) == 8 || wide_index ? 8 : 4;
}

std::uint32_t element_bytes(const Combination& combination) {
    return combination.custom != nullptr ? bytes_of(combination.custom->element)
                                         : size_of(combination.element);
}

std::uint32_t vector_bytes(const Combination& combination) {
    const std::uint32_t bytes = element_bytes(combination);
    return kVectorBytes % bytes == 0 ? kVectorBytes : bytes;
}

std::string element_text(const Combination& combination) {
    return combination.custom != nullptr ? to_text(combination.custom->element)
                                         : to_text(combination.element);
}

std::string output_text(const Combination& combination) {
    return combination.custom != nullptr ? to_text(result_of(*combination.custom))
                                         : to_text(accumulator_of(combination));
}

std::string operator_text(const Combination& combination) {
    return combination.custom != nullptr ? combination.custom->name : to_text(combination.op);
}

std::string kernel_types(const Combination& combination) {
    if (combination.custom != nullptr) return kernel_types(*combination.custom);
    return fmt::format("e{}_{}", 8 * size_of(combination.element), layout_of(combination).name());
}

std::uint32_t result_bytes(const Combination& combination) {
    if (combination.custom != nullptr) return bytes_of(result_of(*combination.custom));
    return is_arg(combination.op) ? 2 * index_bytes(combination)
                                  : size_of(accumulator_of(combination));
}

std::uint32_t AccumulatorLayout::workgroup_bytes() const {
    if (custom != nullptr) return detail::workgroup_bytes(*custom, segmented);
    return static_cast<std::uint32_t>(round_up(bytes(), value_bits / 8));
}

std::string AccumulatorLayout::name() const {
    if (custom != nullptr) return kernel_types(*custom);
    std::string text = float64 ? "f64" : fmt::format("a{}", value_bits);
    if (index_bits > 0) text += fmt::format("_i{}", index_bits);
    return text;
}

AccumulatorLayout layout_of(const Combination& combination) {
    AccumulatorLayout layout;
    if (combination.custom != nullptr) {
        layout.custom = combination.custom;
        layout.value_bits = 32 * words_of(value_of(*combination.custom));
        return layout;
    }
    const Scalar accumulator = accumulator_of(combination);
    layout.value_bits = 8 * size_of(accumulator);
    if (is_arg(combination.op)) {
        layout.value_bits = layout.index_bits = 8 * index_bytes(combination);
        return layout;
    }
    // f64 elements are compared by their integer image; all else that ends in f64 computes in it.
    const bool compares = combination.op == Operator::min || combination.op == Operator::max;
    layout.float64 =
        accumulator == Scalar::f64 && !(compares && combination.element == Scalar::f64);
    return layout;
}

std::string mismatch(const Combination& combination) {
    if (combination.custom != nullptr) {
        const auto checked = check(*combination.custom);
        return checked ? std::string() : checked.error().message;
    }
    const auto& [element, op, accumulator, max_count, custom] = combination;
    const bool bitwise =
        op == Operator::bit_and || op == Operator::bit_or || op == Operator::bit_xor;
    if (bitwise && is_float(element)) {
        return fmt::format("operator {} needs integers, not {}", to_text(op), to_text(element));
    }
    if (!accumulator) return {};
    const Scalar narrow = default_accumulator(element);
    const Scalar wide = is_float(element)            ? Scalar::f64
                        : is_signed_integer(element) ? Scalar::i64
                                                     : Scalar::u64;
    if (*accumulator == narrow) return {};
    if (is_arg(op)) {
        return fmt::format("{} of {} gives its value as {}, not {}", to_text(op), to_text(element),
                           to_text(narrow), to_text(*accumulator));
    }
    if (*accumulator == wide) return {};
    return fmt::format("{} accumulate in {} or {}, not {}", to_text(element), to_text(narrow),
                       to_text(wide), to_text(*accumulator));
}

bool rounds(const Combination& combination) {
    if (combination.custom != nullptr)
        return std::ranges::any_of(value_of(*combination.custom), is_float, &Field::scalar);
    return is_float(combination.element) &&
           (combination.op == Operator::sum || combination.op == Operator::product);
}

std::uint32_t element_kind(Scalar element) {
    if (is_float(element)) return 2;
    return is_signed_integer(element) ? 1 : 0;
}

std::uint32_t largest_workgroup(const Caps& caps) {
    return std::bit_floor(
        std::min({caps.limits.max_workgroup_invocations, caps.limits.max_workgroup_size_x, 1024u}));
}

Result<void> check_workgroups(const Caps& caps, const char* primitive) {
    if (caps.limits.max_workgroup_invocations < 4 || caps.limits.max_workgroup_size_x < 4 ||
        caps.limits.max_groups_x == 0) {
        return tl::unexpected(
            Error{ErrorCode::unsupported,
                  fmt::format("{}: this device runs no usable compute workgroups", primitive),
                  {}});
    }
    return {};
}

Result<void> check_workgroup_size(const Caps& caps, std::uint32_t w, const char* primitive) {
    if (w <= largest_workgroup(caps)) return {};
    return tl::unexpected(
        Error{ErrorCode::limit_exceeded,
              fmt::format("{}: policy: workgroup_size {} is above the device's {} (invocations {}, "
                          "size_x {})",
                          primitive, w, largest_workgroup(caps),
                          caps.limits.max_workgroup_invocations, caps.limits.max_workgroup_size_x),
              {}});
}

Result<std::uint32_t> required_subgroup_size(const Caps& caps, Tier tier, std::uint32_t w,
                                             const char* primitive) {
    if (tier != Tier::pinned) return 0;
    const std::uint32_t size = pinned_subgroup_size(caps.subgroup, w);
    if (size != 0) return size;
    return tl::unexpected(
        Error{ErrorCode::limit_exceeded,
              fmt::format("{}: policy: no subgroup size from {} to {} divides workgroup_size {} "
                          "into at most {} subgroups",
                          primitive, caps.subgroup.min_size, caps.subgroup.max_size, w,
                          caps.subgroup.max_workgroup_subgroups),
              {}});
}

std::uint32_t fitted_workgroup(const Caps& caps, Tier tier, std::uint32_t w) {
    w = std::min(w, largest_workgroup(caps));
    if (tier != Tier::pinned) return w;
    const std::uint64_t most =
        std::uint64_t{caps.subgroup.max_size} * std::max(1u, caps.subgroup.max_workgroup_subgroups);
    w = static_cast<std::uint32_t>(std::min<std::uint64_t>(w, std::bit_floor(most)));
    return std::max(w, caps.subgroup.min_size);
}

std::uint64_t partials_bound(const Share& share, std::uint64_t count) {
    const Launch launch = share_out(share, count);
    return std::max<std::uint64_t>(launch.groups, std::min(launch.tiles, share.max_groups));
}

Result<void> check_device(const Caps& caps, const Combination& combination, const char* primitive) {
    const auto fail = [&](ErrorCode code, std::string message) {
        return tl::unexpected(Error{code, fmt::format("{}: {}", primitive, message), {}});
    };
    if (combination.max_count > (std::uint64_t{1} << 48)) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("max_count {} is above 2^48", combination.max_count));
    }
    if (combination.custom != nullptr) {
        const char* missing = nullptr;
        if (uses_float64(*combination.custom) && !caps.types.float64) missing = "shaderFloat64";
        if (uses_int64(*combination.custom) && !caps.types.int64) missing = "shaderInt64";
        if (missing != nullptr) {
            return fail(ErrorCode::unsupported, fmt::format("{} needs {}, which this device lacks",
                                                            combination.custom->name, missing));
        }
    } else if (layout_of(combination).float64 && !caps.types.float64) {
        return fail(
            ErrorCode::unsupported,
            fmt::format(
                "{} of {} into f64 needs 64-bit floats (shaderFloat64), which this device lacks",
                to_text(combination.op), to_text(combination.element)));
    }
    return check_workgroups(caps, primitive);
}

Result<Addressing> choose_addressing(const Caps& caps, std::optional<Addressing> wanted,
                                     std::uint64_t max_count, std::uint64_t most_bytes,
                                     std::uint32_t bindings, const char* primitive,
                                     const std::string& what) {
    const auto fail = [&](ErrorCode code, std::string message) {
        return tl::unexpected(Error{code, fmt::format("{}: {}", primitive, message), {}});
    };
    const bool fits =
        most_bytes <= caps.limits.max_storage_range && max_count <= std::uint64_t{~0u};
    const Addressing chosen =
        wanted.value_or(fits ? Addressing::descriptor : Addressing::device_address);
    if (chosen == Addressing::device_address && !caps.device_addresses) {
        if (wanted) {
            return fail(ErrorCode::unsupported,
                        caps.api == Api::webgpu ? "WebGPU has no device addresses"
                                                : "device addresses are not enabled on this device "
                                                  "(bufferDeviceAddress)");
        }
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("{} {} are {} bytes, above max_storage_range {}; {}{} in parts",
                                max_count, what, most_bytes, caps.limits.max_storage_range,
                                caps.api == Api::webgpu ? "" : "enable bufferDeviceAddress or ",
                                primitive));
    }
    if (chosen == Addressing::descriptor && !fits) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("{} {} are {} bytes, above what one descriptor reaches "
                                "(max_storage_range {}); use device addresses",
                                max_count, what, most_bytes, caps.limits.max_storage_range));
    }
    if (chosen == Addressing::descriptor && caps.limits.max_storage_buffers < bindings) {
        return fail(ErrorCode::limit_exceeded,
                    fmt::format("{} storage buffers are bound at a time, max_storage_buffers is {}",
                                bindings, caps.limits.max_storage_buffers));
    }
    return chosen;
}

}  // namespace lanewise::detail
