// reduce, computed serially on the CPU: what every tier and API must answer. Used by the tests, by
// `--verify` and by the benchmark, so it stands on the public headers alone.
//
//   reduce_reference(data, desc)          the result, laid out as lanewise/reduce.hpp says
//   reduce_matches(desc, data, result)    whether a device's result is right
//
// What "right" means
// - Integers, min, max, argmin, argmax of every type: bit for bit.
// - Sums of floats: |result - exact| <= gamma(k) * sum|x|, where gamma(k) = k u / (1 - k u), u =
// 2^-24
//   (f32) or 2^-53 (f64), and k is the longest chain of additions that any element goes through.
//   reduce_depth(plan, count) gives k for a plan: the items that one invocation adds up, the
//   partials that one invocation adds up, and the two trees over the workgroup. Without a plan k is
//   ceil(n / W) + 32, W being the workgroup size of desc.policy, or 32: no policy has longer
//   chains.
// - Sums whose every partial sum is representable (all elements multiples of some 2^q, and
//   sum|x| <= 2^(q + 24) or 2^(q + 53)) have no rounding in any order: they must be exact.
// - Products of floats: |result - exact| <= gamma(n) * |exact|; exact where the odd parts of the
//   factors multiply to no more than 2^24 or 2^53.
// - A sum or product with NaN, or with infinities that cancel, is NaN; with infinities of one sign,
//   that infinity. Where finite elements may overflow or vanish on the way in one order and not in
//   another, only what holds in every order is demanded.
// - Results below the smallest normal number may be flushed to zero, as devices are free to.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lanewise/operators.hpp"
#include "lanewise/plan.hpp"
#include "lanewise/reduce.hpp"

namespace lanewise {
namespace reduce_reference_detail {

struct Half {
    std::uint16_t bits = 0;
};

// Every half is a double.
inline double to_double(Half half) {
    const int exponent = (half.bits >> 10) & 31;
    const int fraction = half.bits & 1023;
    double magnitude = 0.0;
    if (exponent == 31) {
        magnitude = fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                  : std::numeric_limits<double>::infinity();
    } else if (exponent == 0) {
        magnitude = std::ldexp(fraction, -24);
    } else {
        magnitude = std::ldexp(1024 + fraction, exponent - 25);
    }
    return std::copysign(magnitude, (half.bits & 0x8000) != 0 ? -1.0 : 1.0);
}
inline double to_double(float value) { return static_cast<double>(value); }
inline double to_double(double value) { return value; }

template <class T>
T load(std::span<const std::byte> data, std::size_t index) {
    T value;
    std::memcpy(&value, data.data() + index * sizeof(T), sizeof(T));
    return value;
}

template <class T>
void store(std::vector<std::byte>& bytes, std::size_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(T));
}

// Orders doubles as their integer images do: -0 below +0. Not for NaN.
inline std::int64_t image(double value) {
    const auto bits = std::bit_cast<std::int64_t>(value);
    return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits - 1;
}

// Calls f with a value of the C++ type of an integer element.
template <class F>
void with_integer(Scalar scalar, F&& f) {
    switch (scalar) {
        case Scalar::u8: f(std::uint8_t{}); break;
        case Scalar::i8: f(std::int8_t{}); break;
        case Scalar::u16: f(std::uint16_t{}); break;
        case Scalar::i16: f(std::int16_t{}); break;
        case Scalar::u32: f(std::uint32_t{}); break;
        case Scalar::i32: f(std::int32_t{}); break;
        case Scalar::u64: f(std::uint64_t{}); break;
        case Scalar::i64: f(std::int64_t{}); break;
        case Scalar::f16:
        case Scalar::f32:
        case Scalar::f64: break;
    }
}

template <class F>
void with_float(Scalar scalar, F&& f) {
    switch (scalar) {
        case Scalar::f16: f(Half{}); break;
        case Scalar::f32: f(float{}); break;
        case Scalar::f64: f(double{}); break;
        default: break;
    }
}

struct IntegerResult {
    std::uint64_t value = 0;  // sign-extended; the accumulator takes the low bytes
    std::uint64_t index = ~std::uint64_t{0};
};

template <class T>
IntegerResult reduce_integers(std::span<const std::byte> data, Operator op,
                              std::uint32_t accumulator_bytes) {
    // T extended to 64 bits keeps its order as a signed or as an unsigned number.
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    const std::size_t count = data.size() / sizeof(T);
    const bool wide = accumulator_bytes == 8;
    const Wide largest = wide ? std::numeric_limits<Wide>::max()
                         : std::is_signed_v<T>
                             ? static_cast<Wide>(std::numeric_limits<std::int32_t>::max())
                             : static_cast<Wide>(std::numeric_limits<std::uint32_t>::max());
    const Wide smallest =
        std::is_signed_v<T> ? static_cast<Wide>(-static_cast<std::int64_t>(largest) - 1) : Wide{0};
    IntegerResult result;
    const auto item = [&](std::size_t i) { return static_cast<Wide>(load<T>(data, i)); };
    const auto fold = [&](std::uint64_t identity, auto combine) {
        result.value = identity;
        for (std::size_t i = 0; i < count; ++i) {
            result.value = combine(result.value, static_cast<std::uint64_t>(item(i)));
        }
    };
    const auto pick = [&](Wide identity, auto better) {
        Wide best = identity;
        for (std::size_t i = 0; i < count; ++i) {
            const Wide candidate = item(i);
            if (i == 0 || better(candidate, best)) {
                best = candidate;
                result.index = i;
            }
        }
        result.value = static_cast<std::uint64_t>(best);
    };
    using U = std::uint64_t;
    switch (op) {
        case Operator::sum: fold(0, [](U a, U b) { return a + b; }); break;
        case Operator::product: fold(1, [](U a, U b) { return a * b; }); break;
        case Operator::bit_and: fold(~U{0}, [](U a, U b) { return a & b; }); break;
        case Operator::bit_or: fold(0, [](U a, U b) { return a | b; }); break;
        case Operator::bit_xor: fold(0, [](U a, U b) { return a ^ b; }); break;
        case Operator::min:
        case Operator::argmin: pick(largest, [](Wide a, Wide b) { return a < b; }); break;
        case Operator::max:
        case Operator::argmax: pick(smallest, [](Wide a, Wide b) { return a > b; }); break;
    }
    return result;
}

struct FloatResult {
    double value = 0.0;
    std::uint64_t index = ~std::uint64_t{0};
};

// min, max, argmin, argmax.
template <class T>
FloatResult pick_float(std::span<const std::byte> data, bool smallest) {
    const std::size_t count = data.size() / sizeof(T);
    const double infinity = std::numeric_limits<double>::infinity();
    FloatResult result{smallest ? infinity : -infinity, ~std::uint64_t{0}};
    bool found = false;
    for (std::size_t i = 0; i < count; ++i) {
        const double value = to_double(load<T>(data, i));
        if (std::isnan(value)) continue;
        if (!found ||
            (smallest ? image(value) < image(result.value) : image(value) > image(result.value))) {
            result = {value, i};
            found = true;
        }
    }
    if (!found && count > 0) result = {std::numeric_limits<double>::quiet_NaN(), 0};
    return result;
}

// What there is to know about a sum or product of floats before comparing with it.
struct FloatFacts {
    std::size_t count = 0;
    bool nan = false;
    bool positive_infinity = false;
    bool negative_infinity = false;
    bool zero = false;
    bool negative = false;  // an odd number of factors is negative
    bool any_negative = false;
    bool any_positive = false;
    long double sum = 0.0L;                      // of the finite elements, but for `lost`
    long double magnitude = 0.0L;                // sum of |x|
    int unit = std::numeric_limits<int>::max();  // all finite elements are multiples of 2^unit
    // The product of the finite elements that are not 0 is mantissa * 2^exponent.
    long double mantissa = 1.0L;
    std::int64_t exponent = 0;
    long double odd_parts = 1.0L;  // product of the factors without their powers of two
    // Every product of some of the factors lies between 2^lowest and 2^highest.
    std::int64_t highest = 0;
    std::int64_t lowest = 0;
    long double lost = 0.0L;  // Neumaier's correction, which `sum` lacks

    // One element more.
    void take(double value) {
        ++count;
        if (std::isnan(value)) {
            nan = true;
            return;
        }
        if (std::signbit(value)) negative = !negative;
        if (std::isinf(value)) {
            (value > 0 ? positive_infinity : negative_infinity) = true;
            return;
        }
        if (value == 0.0) {
            zero = true;
            return;
        }
        (value > 0 ? any_positive : any_negative) = true;
        const long double term = value;
        const long double next = sum + term;
        lost += std::fabs(sum) >= std::fabs(term) ? (sum - next) + term : (term - next) + sum;
        sum = next;
        magnitude += std::fabs(term);

        int binary_exponent = 0;
        const double fraction = std::frexp(std::fabs(value), &binary_exponent);  // in [1/2, 1)
        const auto digits = static_cast<std::uint64_t>(std::ldexp(fraction, 53));
        const int zeros = std::countr_zero(digits);
        unit = std::min(unit, binary_exponent - 53 + zeros);
        odd_parts *= static_cast<long double>(digits >> zeros);
        // Powers of two are exactly 2^(exponent - 1); all else lies strictly between two of them.
        highest += std::max(0, fraction == 0.5 ? binary_exponent - 1 : binary_exponent);
        lowest += std::min(0, binary_exponent - 1);
        int carry = 0;
        mantissa = std::frexp(mantissa * fraction, &carry);
        exponent += binary_exponent + carry;
    }
};

template <class T>
FloatFacts gather(std::span<const std::byte> data) {
    FloatFacts facts;
    for (std::size_t i = 0; i < data.size() / sizeof(T); ++i)
        facts.take(to_double(load<T>(data, i)));
    return facts;
}

inline FloatFacts gather(std::span<const std::byte> data, Scalar element) {
    FloatFacts facts;
    with_float(element, [&]<class T>(T) { facts = gather<T>(data); });
    return facts;
}

// Facts of an accumulator type.
struct FloatType {
    int digits = 24;
    long double unit_roundoff = 0.0L;
    long double largest = 0.0L;
    long double smallest_normal = 0.0L;
    int highest = 127;  // 2^highest is finite
    int lowest = -126;  // 2^lowest is normal
};

inline FloatType float_type(Scalar accumulator) {
    const auto of = [](auto zero) {
        using L = std::numeric_limits<decltype(zero)>;
        return FloatType{L::digits, L::epsilon() / 2.0L, L::max(),
                         L::min(),  L::max_exponent - 1, L::min_exponent - 1};
    };
    return accumulator == Scalar::f64 ? of(0.0) : of(0.0f);
}

inline long double gamma(long double k, long double unit_roundoff) {
    const long double ku = k * unit_roundoff;
    return ku < 1.0L ? ku / (1.0L - ku) : std::numeric_limits<long double>::infinity();
}

inline long double product_of(const FloatFacts& facts) {
    if (facts.zero) return 0.0L;
    const auto exponent =
        static_cast<int>(std::clamp<std::int64_t>(facts.exponent, -100000, 100000));
    return std::copysign(std::ldexp(facts.mantissa, exponent), facts.negative ? -1.0L : 1.0L);
}

// The value in real arithmetic, or NaN or an infinity where the elements make it one.
inline long double exact_value(const FloatFacts& facts, Operator op) {
    const long double nan = std::numeric_limits<long double>::quiet_NaN();
    const long double infinity = std::numeric_limits<long double>::infinity();
    const bool infinite = facts.positive_infinity || facts.negative_infinity;
    if (facts.nan) return nan;
    if (op == Operator::sum) {
        if (facts.positive_infinity && facts.negative_infinity) return nan;
        if (infinite) return facts.positive_infinity ? infinity : -infinity;
        return facts.sum + facts.lost;
    }
    if (infinite) return facts.zero ? nan : (facts.negative ? -infinity : infinity);
    return product_of(facts);
}

// What a result is held against: within `bound` of `value`, or any of the ways out that are open.
struct Demand {
    long double value = 0.0L;
    long double bound = 0.0L;
    bool or_nan = false;
    bool or_infinite = false;  // an infinity of either sign
    bool or_anything = false;
};

inline Demand demand_sum(const FloatFacts& facts, const FloatType& type, long double depth) {
    Demand demand{exact_value(facts, Operator::sum), 0.0L};
    if (!std::isfinite(demand.value)) {
        // An infinity among the elements stays, unless the finite ones overflow to the other side.
        if (!facts.nan && facts.magnitude > type.largest / 2) demand.or_nan = true;
        return demand;
    }
    const long double relative = gamma(depth, type.unit_roundoff);
    const long double magnitude = facts.magnitude;
    const bool no_rounding = facts.unit == std::numeric_limits<int>::max() ||
                             (std::ldexp(magnitude, -facts.unit) <= std::ldexp(1.0L, type.digits) &&
                              facts.unit >= type.lowest);
    if (!no_rounding) {
        demand.bound = relative * magnitude +
                       static_cast<long double>(facts.count) * type.smallest_normal +
                       static_cast<long double>(facts.count) *
                           std::numeric_limits<long double>::epsilon() * magnitude;
    }
    if (magnitude * (1.0L + relative) > type.largest) {
        demand.or_infinite = true;
        // With elements of both signs two infinities may meet.
        demand.or_nan = facts.any_positive && facts.any_negative;
    }
    return demand;
}

inline Demand demand_product(const FloatFacts& facts, const FloatType& type) {
    Demand demand{exact_value(facts, Operator::product), 0.0L};
    if (facts.nan) return demand;
    const bool infinite = facts.positive_infinity || facts.negative_infinity;
    const bool may_overflow = facts.highest > type.highest;
    const bool may_vanish = facts.lowest < type.lowest;
    if (infinite) {
        demand.or_nan = may_vanish;
        return demand;
    }
    if (facts.zero) {
        demand.or_nan = may_overflow;
        return demand;
    }
    const long double factors = static_cast<long double>(facts.count);
    const bool no_rounding = facts.odd_parts <= std::ldexp(1.0L, type.digits);
    if (!no_rounding || may_vanish) {
        const long double relative = gamma(factors, type.unit_roundoff) +
                                     factors * std::numeric_limits<long double>::epsilon();
        demand.bound =
            relative * std::fabs(demand.value) + (may_vanish ? type.smallest_normal * 2 : 0.0L);
    }
    if (may_overflow && may_vanish) {
        demand.or_anything = true;
    } else if (may_overflow) {
        demand.or_infinite = true;
    }
    return demand;
}

inline bool meets(const Demand& demand, long double result, const FloatType& type) {
    if (demand.or_anything) return true;
    if (std::isnan(result)) return demand.or_nan || std::isnan(demand.value);
    if (std::isnan(demand.value)) return false;
    if (std::isinf(demand.value)) return result == demand.value;
    const bool inside = std::fabs(result - demand.value) <= demand.bound;
    const bool overflows = std::fabs(demand.value) - demand.bound > type.largest;
    if (std::isinf(result)) {
        return demand.or_infinite &&
               (!overflows || std::signbit(result) == std::signbit(demand.value));
    }
    // What surely overflows must not come back finite, nor what does not be off.
    return inside && !overflows;
}

inline std::string number(long double value, Scalar accumulator) {
    char text[64];
    std::snprintf(text, sizeof text, "%.*Lg", accumulator == Scalar::f64 ? 17 : 9, value);
    return text;
}

inline std::string integer(std::uint64_t bits, Scalar accumulator) {
    switch (accumulator) {
        case Scalar::i32: return std::to_string(static_cast<std::int32_t>(bits));
        case Scalar::i64: return std::to_string(static_cast<std::int64_t>(bits));
        case Scalar::u32: return std::to_string(static_cast<std::uint32_t>(bits));
        default: return std::to_string(bits);
    }
}

inline std::string hexadecimal(std::uint64_t bits, std::uint32_t bytes) {
    char text[32];
    std::snprintf(text, sizeof text, "0x%0*llx", static_cast<int>(bytes * 2),
                  static_cast<unsigned long long>(bits));
    return text;
}

inline std::uint64_t word(std::span<const std::byte> bytes, std::size_t offset,
                          std::uint32_t size) {
    return size == 8 ? load<std::uint64_t>(bytes.subspan(offset), 0)
                     : std::uint64_t{load<std::uint32_t>(bytes.subspan(offset), 0)};
}

inline long double as_float(std::uint64_t bits, Scalar accumulator) {
    return accumulator == Scalar::f64
               ? static_cast<long double>(std::bit_cast<double>(bits))
               : static_cast<long double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
}

inline std::string value_text(std::uint64_t bits, Scalar accumulator) {
    if (!is_float(accumulator)) return integer(bits, accumulator);
    return number(as_float(bits, accumulator), accumulator) + " (" +
           hexadecimal(bits, size_of(accumulator)) + ")";
}

// What is wrong with a sum or product of floats of which `facts` are known: nothing (empty), or one
// line. `depth` is the longest chain of additions.
inline std::string rounded_difference(const FloatFacts& facts, Operator op, Scalar accumulator,
                                      std::uint64_t depth, std::uint64_t result_bits) {
    const FloatType type = float_type(accumulator);
    const Demand demand = op == Operator::sum
                              ? demand_sum(facts, type, static_cast<long double>(depth))
                              : demand_product(facts, type);
    if (meets(demand, as_float(result_bits, accumulator), type)) return {};
    return "expected " + number(demand.value, accumulator) + " within " +
           number(demand.bound, accumulator) + ", got " + value_text(result_bits, accumulator);
}

// The same for a result that must be `expected` bit for bit; both are laid out as
// lanewise/reduce.hpp says.
inline std::string exact_difference(const ReduceDesc& desc, std::span<const std::byte> expected,
                                    std::span<const std::byte> result) {
    const Scalar accumulator = reduce_accumulator(desc);
    const std::uint32_t bytes = size_of(accumulator);
    const std::uint64_t expected_value = word(expected, 0, bytes);
    const std::uint64_t result_value = word(result, 0, bytes);
    if (result_value != expected_value) {
        return "expected " + value_text(expected_value, accumulator) + ", got " +
               value_text(result_value, accumulator);
    }
    if (!is_arg(desc.op)) return {};
    // A value of 4 bytes beside an index of 8 has zeros above it.
    const std::uint32_t index_bytes = reduce_index_bytes(desc);
    if (word(result, 0, index_bytes) != word(expected, 0, index_bytes)) {
        return "expected zeros above the value, got " +
               hexadecimal(word(result, 0, index_bytes), index_bytes);
    }
    const std::uint64_t expected_index = word(expected, index_bytes, index_bytes);
    const std::uint64_t result_index = word(result, index_bytes, index_bytes);
    if (expected_index == result_index) return {};
    return "expected index " + std::to_string(expected_index) + ", got " +
           std::to_string(result_index) + " (value " + value_text(result_value, accumulator) + ")";
}

}  // namespace reduce_reference_detail

// The result of reducing all whole elements of `data`: reduce_result_bytes(desc) bytes. Sums and
// products of floats are those of real arithmetic, rounded once. Precondition: plan_reduce accepts
// desc on some device.
inline std::vector<std::byte> reduce_reference(std::span<const std::byte> data,
                                               const ReduceDesc& desc) {
    namespace detail = reduce_reference_detail;
    const Scalar accumulator = reduce_accumulator(desc);
    const std::uint32_t accumulator_bytes = size_of(accumulator);
    std::vector<std::byte> bytes(reduce_result_bytes(desc));
    std::uint64_t index = 0;
    if (!is_float(desc.element)) {
        detail::IntegerResult result;
        detail::with_integer(desc.element, [&]<class T>(T) {
            result = detail::reduce_integers<T>(data, desc.op, accumulator_bytes);
        });
        if (accumulator_bytes == 8) {
            detail::store(bytes, 0, result.value);
        } else {
            detail::store(bytes, 0, static_cast<std::uint32_t>(result.value));
        }
        index = result.index;
    } else {
        double value = 0.0;
        if (desc.op == Operator::sum || desc.op == Operator::product) {
            const long double exact =
                detail::exact_value(detail::gather(data, desc.element), desc.op);
            if (accumulator_bytes == 8) {
                value = static_cast<double>(exact);
            } else {
                value = static_cast<double>(static_cast<float>(exact));
            }
        } else {
            const bool smallest = desc.op == Operator::min || desc.op == Operator::argmin;
            detail::FloatResult result;
            detail::with_float(desc.element,
                               [&]<class T>(T) { result = detail::pick_float<T>(data, smallest); });
            value = result.value;
            index = result.index;
        }
        if (accumulator_bytes == 8) {
            detail::store(bytes, 0, value);
        } else {
            detail::store(bytes, 0, static_cast<float>(value));
        }
    }
    if (is_arg(desc.op)) {
        const std::uint32_t index_bytes = reduce_index_bytes(desc);
        if (index_bytes == 8) {
            detail::store(bytes, 8, index);
        } else {
            detail::store(bytes, 4, static_cast<std::uint32_t>(index));
        }
    }
    return bytes;
}

// The longest chain of additions in a use of `plan` with `count` items.
inline std::uint64_t reduce_depth(const Plan& plan, std::uint64_t count) {
    const Launch launch = share_out(plan.share, count);
    std::uint64_t workgroup_size = 1024;
    for (const Pass& pass : plan.passes) {
        if (pass.when == When::always) {
            workgroup_size = std::min<std::uint64_t>(workgroup_size, pass.workgroup_size);
        }
    }
    const std::uint64_t items =
        std::uint64_t{launch.tiles_per_group} * plan.share.tile_items / workgroup_size;
    const std::uint64_t partials = launch.groups / workgroup_size + 1;
    return items + partials + 2 * static_cast<std::uint64_t>(std::bit_width(workgroup_size)) + 8;
}

// The same for any plan that desc may lead to.
inline std::uint64_t reduce_depth(const ReduceDesc& desc, std::uint64_t count) {
    const std::uint64_t workgroup_size =
        desc.policy ? std::max<std::uint64_t>(desc.policy->workgroup_size, 1) : 32;
    return (count + workgroup_size - 1) / workgroup_size + 32;
}

// Whether `result` is a right answer for `data`; if not, `why` (may be null) gets one line that
// says what was expected. `depth` tightens the bound of float sums: reduce_depth(plan, count); 0:
// the bound that holds for any plan.
inline bool reduce_matches(const ReduceDesc& desc, std::span<const std::byte> data,
                           std::span<const std::byte> result, std::string* why = nullptr,
                           std::uint64_t depth = 0) {
    namespace detail = reduce_reference_detail;
    const auto fail = [&](const std::string& text) {
        if (why != nullptr) *why = text;
        return false;
    };
    const std::vector<std::byte> expected = reduce_reference(data, desc);
    if (result.size() != expected.size()) {
        return fail("the result has " + std::to_string(result.size()) + " bytes, not " +
                    std::to_string(expected.size()));
    }
    std::string difference;
    if (is_float(desc.element) && (desc.op == Operator::sum || desc.op == Operator::product)) {
        const Scalar accumulator = reduce_accumulator(desc);
        const detail::FloatFacts facts = detail::gather(data, desc.element);
        difference = detail::rounded_difference(
            facts, desc.op, accumulator, depth != 0 ? depth : reduce_depth(desc, facts.count),
            detail::word(result, 0, size_of(accumulator)));
    } else {
        difference = detail::exact_difference(desc, expected, result);
    }
    return difference.empty() ? true : fail(difference);
}

}  // namespace lanewise
