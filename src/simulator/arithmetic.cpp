// Integer, float, bit, conversion, relational and matrix instructions.

#include <fmt/format.h>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "src/simulator/lane_loops.hpp"

namespace lanewise::simulator::detail {

float half_to_float(std::uint16_t bits) {
    const std::uint32_t sign = (bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1f;
    std::uint32_t mantissa = bits & 0x3ff;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
    if (exponent == 0) {
        const float value = std::ldexp(static_cast<float>(mantissa), -24);
        return sign != 0 ? -value : value;
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_half(double value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
    const double size = std::fabs(value);
    if (std::isnan(value)) return sign | 0x7e00;
    if (size >= 65520.0) return sign | 0x7c00;  // 65504 and half a step
    int exponent = 0;
    std::frexp(size, &exponent);
    // Normal numbers have 11 digits, subnormal ones end at 2^-24.
    const int step = std::max(exponent - 11, -24);
    const double scaled = std::ldexp(size, -step);
    double whole = std::floor(scaled);
    const double rest = scaled - whole;
    if (rest > 0.5 || (rest == 0.5 && std::fmod(whole, 2.0) != 0.0)) whole += 1.0;
    const double rounded = std::ldexp(whole, step);
    if (rounded < 0x1p-14) return sign | static_cast<std::uint16_t>(std::ldexp(rounded, 24));
    std::frexp(rounded, &exponent);
    const auto mantissa = static_cast<std::uint32_t>(std::ldexp(rounded, 11 - exponent)) & 0x3ff;
    return static_cast<std::uint16_t>(sign | static_cast<unsigned>(exponent + 14) << 10 | mantissa);
}

namespace {

using U = std::uint64_t;
using S = std::int64_t;

// Division, by lane: a zero divisor is a fault and gives all bits set, as many devices do.
template <unsigned W, auto F>
void divide(Context& c, const Code& k) {
    const U* a = c.in(k.operand[0]);
    const U* b = c.in(k.operand[1]);
    U* r = c.out(k.result);
    for (std::size_t part = 0; part < k.count; ++part) {
        each_lane(c, [&](std::uint32_t lane) {
            const std::size_t i = part * c.lanes + lane;
            if (b[i] != 0) {
                r[i] = narrow<W>(F(a[i], b[i]));
                return;
            }
            r[i] = narrow<W>(~U{0});
            if (Fault* fault = c.fault(FaultKind::division_by_zero, k, lane))
                fault->message = fmt::format("{} of {} by 0", spirv::op_name(k.op).substr(2), a[i]);
        });
    }
}

template <unsigned W, auto F>
void shift(Context& c, const Code& k) {
    const U* a = c.in(k.operand[0]);
    const U* b = c.in(k.operand[1]);
    U* r = c.out(k.result);
    U largest = 0;
    each_slot(c, k, [&](std::size_t i) {
        largest |= b[i] >= W ? 1 : 0;
        r[i] = narrow<W>(F(a[i], b[i] & (W - 1)));
    });
    if (largest == 0) return;
    for (std::size_t part = 0; part < k.count; ++part) {
        each_lane(c, [&](std::uint32_t lane) {
            const U by = b[part * c.lanes + lane];
            if (by < W) return;
            if (c.subgroup->has_undefined && c.undefined(k.operand[1]).has(lane)) return;
            if (Fault* fault = c.fault(FaultKind::shift_out_of_range, k, lane))
                fault->message = fmt::format("shift of a {}-bit value by {}", W, by);
        });
    }
}

template <unsigned W>
Handler integer_handler(spv::Op op) {
    switch (op) {
        case spv::Op::OpIAdd: return &binary<[](U a, U b) { return narrow<W>(a + b); }>;
        case spv::Op::OpISub: return &binary<[](U a, U b) { return narrow<W>(a - b); }>;
        case spv::Op::OpIMul: return &binary<[](U a, U b) { return narrow<W>(a * b); }>;
        case spv::Op::OpSNegate: return &unary<[](U a) { return narrow<W>(0 - a); }>;
        case spv::Op::OpNot: return &unary<[](U a) { return narrow<W>(~a); }>;
        case spv::Op::OpUDiv: return &divide<W, [](U a, U b) { return a / b; }>;
        case spv::Op::OpUMod: return &divide<W, [](U a, U b) { return a % b; }>;
        case spv::Op::OpSDiv:
            return &divide<W, [](U a, U b) {
                const S d = widen<W>(b);
                return d == -1 ? 0 - a : static_cast<U>(widen<W>(a) / d);
            }>;
        case spv::Op::OpSRem:
            return &divide<W, [](U a, U b) {
                const S d = widen<W>(b);
                return d == -1 ? U{0} : static_cast<U>(widen<W>(a) % d);
            }>;
        case spv::Op::OpSMod:
            return &divide<W, [](U a, U b) {
                const S d = widen<W>(b);
                S rest = d == -1 ? 0 : widen<W>(a) % d;
                if (rest != 0 && (rest < 0) != (d < 0)) rest += d;
                return static_cast<U>(rest);
            }>;
        case spv::Op::OpShiftLeftLogical: return &shift<W, [](U a, U b) { return a << b; }>;
        case spv::Op::OpShiftRightLogical: return &shift<W, [](U a, U b) { return (a >> b); }>;
        case spv::Op::OpShiftRightArithmetic:
            return &shift<W, [](U a, U b) { return static_cast<U>((widen<W>(a) >> b)); }>;
        case spv::Op::OpBitwiseAnd: return &binary<[](U a, U b) { return a & b; }>;
        case spv::Op::OpBitwiseOr: return &binary<[](U a, U b) { return a | b; }>;
        case spv::Op::OpBitwiseXor: return &binary<[](U a, U b) { return a ^ b; }>;
        case spv::Op::OpBitCount:
            return &unary<[](U a) { return static_cast<U>(std::popcount(a)); }>;
        case spv::Op::OpBitReverse:
            return &unary<[](U a) {
                U r = 0;
                for (unsigned i = 0; i < W; ++i) r |= ((a >> i) & 1) << (W - 1 - i);
                return r;
            }>;
        case spv::Op::OpIEqual: return &binary<[](U a, U b) { return U{a == b}; }>;
        case spv::Op::OpINotEqual: return &binary<[](U a, U b) { return U{a != b}; }>;
        case spv::Op::OpULessThan: return &binary<[](U a, U b) { return U{a < b}; }>;
        case spv::Op::OpULessThanEqual: return &binary<[](U a, U b) { return U{a <= b}; }>;
        case spv::Op::OpUGreaterThan: return &binary<[](U a, U b) { return U{(a > b)}; }>;
        case spv::Op::OpUGreaterThanEqual: return &binary<[](U a, U b) { return U{(a >= b)}; }>;
        case spv::Op::OpSLessThan:
            return &binary<[](U a, U b) { return U{widen<W>(a) < widen<W>(b)}; }>;
        case spv::Op::OpSLessThanEqual:
            return &binary<[](U a, U b) { return U{widen<W>(a) <= widen<W>(b)}; }>;
        case spv::Op::OpSGreaterThan:
            return &binary<[](U a, U b) { return U{(widen<W>(a) > widen<W>(b))}; }>;
        case spv::Op::OpSGreaterThanEqual:
            return &binary<[](U a, U b) { return U{(widen<W>(a) >= widen<W>(b))}; }>;
        default: return nullptr;
    }
}

// Offset and count of bit fields are scalars, for all components.
template <unsigned W, bool Signed>
void bit_field_extract(Context& c, const Code& k) {
    const U* a = c.in(k.operand[0]);
    const U* offset = c.in(k.operand[1]);
    const U* count = c.in(k.operand[2]);
    U* r = c.out(k.result);
    each_slot(c, k, [&](std::size_t i) {
        const U from = offset[i % c.lanes] & 127;
        const U bits = count[i % c.lanes] & 127;
        U value = from >= W ? 0 : a[i] >> from;
        if (bits == 0) {
            value = 0;
        } else if (bits < W) {
            value &= (U{1} << bits) - 1;
            if (Signed && ((value >> (bits - 1)) & 1) != 0) value |= ~U{0} << bits;
        }
        r[i] = narrow<W>(value);
    });
}

template <unsigned W>
void bit_field_insert(Context& c, const Code& k) {
    const U* base = c.in(k.operand[0]);
    const U* insert = c.in(k.operand[1]);
    const U* offset = c.in(k.operand[2]);
    const U* count = c.in(k.operand[3]);
    U* r = c.out(k.result);
    each_slot(c, k, [&](std::size_t i) {
        const U from = offset[i % c.lanes] & 63;
        const U bits = count[i % c.lanes] & 127;
        const U field = (bits >= 64 ? ~U{0} : (U{1} << bits) - 1) << from;
        r[i] = narrow<W>((base[i] & ~field) | ((insert[i] << from) & field));
    });
}

template <unsigned W>
Handler float_handler(spv::Op op) {
    using F = FloatOf<W>;
    switch (op) {
        case spv::Op::OpFAdd:
            return &binary<[](U a, U b) { return F::store(F::load(a) + F::load(b)); }>;
        case spv::Op::OpFSub:
            return &binary<[](U a, U b) { return F::store(F::load(a) - F::load(b)); }>;
        case spv::Op::OpFMul:
            return &binary<[](U a, U b) { return F::store(F::load(a) * F::load(b)); }>;
        case spv::Op::OpFDiv:
            return &binary<[](U a, U b) { return F::store(F::load(a) / F::load(b)); }>;
        case spv::Op::OpFRem:
            return &binary<[](U a, U b) { return F::store(std::fmod(F::load(a), F::load(b))); }>;
        case spv::Op::OpFMod:
            return &binary<[](U a, U b) {
                const auto x = F::load(a);
                const auto y = F::load(b);
                return F::store(x - y * std::floor(x / y));
            }>;
        case spv::Op::OpFNegate: return &unary<[](U a) { return a ^ (U{1} << (W - 1)); }>;
        case spv::Op::OpIsNan: return &unary<[](U a) { return U{std::isnan(F::load(a))}; }>;
        case spv::Op::OpIsInf: return &unary<[](U a) { return U{std::isinf(F::load(a))}; }>;
        case spv::Op::OpQuantizeToF16:
            return &unary<[](U a) {
                std::uint16_t half = float_to_half(F::load(a));
                if ((half & 0x7c00) == 0) half &= 0x8000;  // subnormal numbers become 0
                return F::store(half_to_float(half));
            }>;
        case spv::Op::OpFOrdEqual:
            return &binary<[](U a, U b) { return U{F::load(a) == F::load(b)}; }>;
        case spv::Op::OpFUnordEqual:
            return &binary<[](U a, U b) {
                return U{std::isunordered(F::load(a), F::load(b)) || F::load(a) == F::load(b)};
            }>;
        case spv::Op::OpFOrdNotEqual:
            return &binary<[](U a, U b) {
                return U{!std::isunordered(F::load(a), F::load(b)) && F::load(a) != F::load(b)};
            }>;
        case spv::Op::OpFUnordNotEqual:
            return &binary<[](U a, U b) { return U{F::load(a) != F::load(b)}; }>;
        case spv::Op::OpFOrdLessThan:
            return &binary<[](U a, U b) { return U{F::load(a) < F::load(b)}; }>;
        case spv::Op::OpFUnordLessThan:
            return &binary<[](U a, U b) { return U{!(F::load(a) >= F::load(b))}; }>;
        case spv::Op::OpFOrdGreaterThan:
            return &binary<[](U a, U b) { return U{(F::load(a) > F::load(b))}; }>;
        case spv::Op::OpFUnordGreaterThan:
            return &binary<[](U a, U b) { return U{!(F::load(a) <= F::load(b))}; }>;
        case spv::Op::OpFOrdLessThanEqual:
            return &binary<[](U a, U b) { return U{F::load(a) <= F::load(b)}; }>;
        case spv::Op::OpFUnordLessThanEqual:
            return &binary<[](U a, U b) { return U{!(F::load(a) > F::load(b))}; }>;
        case spv::Op::OpFOrdGreaterThanEqual:
            return &binary<[](U a, U b) { return U{(F::load(a) >= F::load(b))}; }>;
        case spv::Op::OpFUnordGreaterThanEqual:
            return &binary<[](U a, U b) { return U{!(F::load(a) < F::load(b))}; }>;
        case spv::Op::OpOrdered:
            return &binary<[](U a, U b) { return U{!std::isunordered(F::load(a), F::load(b))}; }>;
        case spv::Op::OpUnordered:
            return &binary<[](U a, U b) { return U{std::isunordered(F::load(a), F::load(b))}; }>;
        // The scalar is operand 1.
        case spv::Op::OpVectorTimesScalar:
        case spv::Op::OpMatrixTimesScalar:
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                const U* b = c.in(k.operand[1]);
                U* r = c.out(k.result);
                each_slot(c, k, [&](std::size_t i) {
                    r[i] = F::store(F::load(a[i]) * F::load(b[i % c.lanes]));
                });
            };
        case spv::Op::OpDot:
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                const U* b = c.in(k.operand[1]);
                U* r = c.out(k.result);
                each_lane(c, [&](std::uint32_t lane) {
                    auto sum = F::load(F::store(F::load(a[lane]) * F::load(b[lane])));
                    for (std::size_t i = 1; i < k.size[0]; ++i) {
                        const std::size_t at = i * c.lanes + lane;
                        sum += F::load(a[at]) * F::load(b[at]);
                    }
                    r[lane] = F::store(sum);
                });
            };
        // aux: rows of the (first) matrix or columns of the vector's, as noted; column-major slots.
        case spv::Op::OpMatrixTimesVector:  // aux: rows
            return [](Context& c, const Code& k) {
                const U* m = c.in(k.operand[0]);
                const U* v = c.in(k.operand[1]);
                U* r = c.out(k.result);
                const std::size_t rows = k.aux;
                const std::size_t columns = k.size[1];
                each_lane(c, [&](std::uint32_t lane) {
                    for (std::size_t row = 0; row < rows; ++row) {
                        typename F::type sum = 0;
                        for (std::size_t i = 0; i < columns; ++i)
                            sum += F::load(m[(i * rows + row) * c.lanes + lane]) *
                                   F::load(v[i * c.lanes + lane]);
                        r[row * c.lanes + lane] = F::store(sum);
                    }
                });
            };
        case spv::Op::OpVectorTimesMatrix:  // aux: rows
            return [](Context& c, const Code& k) {
                const U* v = c.in(k.operand[0]);
                const U* m = c.in(k.operand[1]);
                U* r = c.out(k.result);
                const std::size_t rows = k.size[0];
                each_lane(c, [&](std::uint32_t lane) {
                    for (std::size_t column = 0; column < k.count; ++column) {
                        typename F::type sum = 0;
                        for (std::size_t i = 0; i < rows; ++i)
                            sum += F::load(v[i * c.lanes + lane]) *
                                   F::load(m[(column * rows + i) * c.lanes + lane]);
                        r[column * c.lanes + lane] = F::store(sum);
                    }
                });
            };
        case spv::Op::OpMatrixTimesMatrix:  // aux: rows of the first
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                const U* b = c.in(k.operand[1]);
                U* r = c.out(k.result);
                const std::size_t rows = k.aux;
                const std::size_t inner = k.size[0] / rows;
                const std::size_t columns = k.count / rows;
                each_lane(c, [&](std::uint32_t lane) {
                    for (std::size_t column = 0; column < columns; ++column) {
                        for (std::size_t row = 0; row < rows; ++row) {
                            typename F::type sum = 0;
                            for (std::size_t i = 0; i < inner; ++i)
                                sum += F::load(a[(i * rows + row) * c.lanes + lane]) *
                                       F::load(b[(column * inner + i) * c.lanes + lane]);
                            r[(column * rows + row) * c.lanes + lane] = F::store(sum);
                        }
                    }
                });
            };
        case spv::Op::OpOuterProduct:  // a column times a row
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                const U* b = c.in(k.operand[1]);
                U* r = c.out(k.result);
                const std::size_t rows = k.size[0];
                each_slot(c, k, [&](std::size_t i) {
                    const std::size_t lane = i % c.lanes;
                    const std::size_t at = i / c.lanes;
                    r[i] = F::store(F::load(a[at % rows * c.lanes + lane]) *
                                    F::load(b[at / rows * c.lanes + lane]));
                });
            };
        default: return nullptr;
    }
}

// Two results: first all low words or sums, then all high words, carries or borrows.
template <class F>
void two_results(Context& c, const Code& k, F&& f) {
    const U* a = c.in(k.operand[0]);
    const U* b = c.in(k.operand[1]);
    U* r = c.out(k.result);
    const std::size_t parts = k.count / 2;
    for (std::size_t part = 0; part < parts; ++part) {
        each_lane(c, [&](std::uint32_t lane) {
            const std::size_t i = part * c.lanes + lane;
            std::tie(r[i], r[i + parts * c.lanes]) = f(a[i], b[i]);
        });
    }
}

template <unsigned W>
Handler extended_handler(spv::Op op) {
    switch (op) {
        case spv::Op::OpIAddCarry:
            return [](Context& c, const Code& k) {
                two_results(c, k, [](U a, U b) {
                    const U sum = narrow<W>(a + b);
                    return std::tuple{sum, U{sum < a}};
                });
            };
        case spv::Op::OpISubBorrow:
            return [](Context& c, const Code& k) {
                two_results(c, k, [](U a, U b) { return std::tuple{narrow<W>(a - b), U{a < b}}; });
            };
        case spv::Op::OpUMulExtended:
            return [](Context& c, const Code& k) {
                two_results(c, k, [](U a, U b) {
                    __extension__ using Wide = unsigned __int128;
                    const Wide product = static_cast<Wide>(a) * b;
                    return std::tuple{narrow<W>(static_cast<U>(product)),
                                      narrow<W>(static_cast<U>(product >> W))};
                });
            };
        case spv::Op::OpSMulExtended:
            return [](Context& c, const Code& k) {
                two_results(c, k, [](U a, U b) {
                    __extension__ using Wide = __int128;
                    const Wide product = static_cast<Wide>(widen<W>(a)) * widen<W>(b);
                    return std::tuple{narrow<W>(static_cast<U>(product)),
                                      narrow<W>(static_cast<U>(product >> W))};
                });
            };
        case spv::Op::OpBitFieldInsert: return &bit_field_insert<W>;
        case spv::Op::OpBitFieldSExtract: return &bit_field_extract<W, true>;
        case spv::Op::OpBitFieldUExtract: return &bit_field_extract<W, false>;
        default: return nullptr;
    }
}

template <bool All>
void vote(Context& c, const Code& k) {
    const U* a = c.in(k.operand[0]);
    U* r = c.out(k.result);
    each_lane(c, [&](std::uint32_t lane) {
        bool result = All;
        for (std::size_t i = 0; i < k.size[0]; ++i) {
            const bool value = a[i * c.lanes + lane] != 0;
            result = All ? result && value : result || value;
        }
        r[lane] = result;
    });
}

Handler logical_handler(spv::Op op) {
    switch (op) {
        case spv::Op::OpLogicalAnd: return &binary<[](U a, U b) { return a & b; }>;
        case spv::Op::OpLogicalOr: return &binary<[](U a, U b) { return a | b; }>;
        case spv::Op::OpLogicalEqual: return &binary<[](U a, U b) { return U{a == b}; }>;
        case spv::Op::OpLogicalNotEqual: return &binary<[](U a, U b) { return U{a != b}; }>;
        case spv::Op::OpLogicalNot: return &unary<[](U a) { return a ^ 1; }>;
        case spv::Op::OpPtrEqual: return &binary<[](U a, U b) { return U{a == b}; }>;
        case spv::Op::OpPtrNotEqual: return &binary<[](U a, U b) { return U{a != b}; }>;
        case spv::Op::OpAny: return &vote<false>;
        case spv::Op::OpAll: return &vote<true>;
        default: return nullptr;
    }
}

// Float to integer: values outside are undefined; here they saturate, and NaN gives 0.
template <unsigned In, unsigned Out>
U float_to_unsigned(U a) {
    const double x = static_cast<double>(FloatOf<In>::load(a));
    if (!(x > 0.0)) return 0;
    const double most = std::ldexp(1.0, Out);
    return x >= most ? narrow<Out>(~U{0}) : static_cast<U>(x);
}

template <unsigned In, unsigned Out>
U float_to_signed(U a) {
    const double x = static_cast<double>(FloatOf<In>::load(a));
    if (std::isnan(x)) return 0;
    const double most = std::ldexp(1.0, Out - 1);
    if (x >= most) return (U{1} << (Out - 1)) - 1;
    if (x < -most) return U{1} << (Out - 1);
    return narrow<Out>(static_cast<U>(static_cast<S>(x)));
}

template <unsigned In, unsigned Out>
Handler convert(spv::Op op) {
    switch (op) {
        case spv::Op::OpUConvert: return &unary<[](U a) { return narrow<Out>(a); }>;
        case spv::Op::OpSConvert:
            return &unary<[](U a) { return narrow<Out>(static_cast<U>(widen<In>(a))); }>;
        default: break;
    }
    if constexpr (In >= 16) {
        if (op == spv::Op::OpConvertFToU)
            return &unary<[](U a) { return float_to_unsigned<In, Out>(a); }>;
        if (op == spv::Op::OpConvertFToS)
            return &unary<[](U a) { return float_to_signed<In, Out>(a); }>;
    }
    if constexpr (Out >= 16) {
        using T = FloatOf<Out>;
        // Through double first only for half: 64-bit integers round once.
        if (op == spv::Op::OpConvertSToF)
            return &unary<[](U a) {
                if constexpr (Out == 16)
                    return T::store(static_cast<double>(widen<In>(a)));
                else
                    return T::store(static_cast<typename T::type>(widen<In>(a)));
            }>;
        if (op == spv::Op::OpConvertUToF)
            return &unary<[](U a) {
                if constexpr (Out == 16)
                    return T::store(static_cast<double>(a));
                else
                    return T::store(static_cast<typename T::type>(a));
            }>;
    }
    if constexpr (In >= 16 && Out >= 16) {
        if (op == spv::Op::OpFConvert)
            return &unary<[](U a) {
                if constexpr (Out == 32)
                    return FloatOf<32>::store(static_cast<float>(FloatOf<In>::load(a)));
                else
                    return FloatOf<Out>::store(static_cast<double>(FloatOf<In>::load(a)));
            }>;
    }
    return nullptr;
}

template <unsigned In>
Handler convert_to(spv::Op op, std::uint32_t out) {
    switch (out) {
        case 8: return convert<In, 8>(op);
        case 16: return convert<In, 16>(op);
        case 32: return convert<In, 32>(op);
        case 64: return convert<In, 64>(op);
        default: return nullptr;
    }
}

template <unsigned W>
Handler of_width(spv::Op op) {
    if (Handler found = integer_handler<W>(op)) return found;
    if (Handler found = extended_handler<W>(op)) return found;
    if constexpr (W >= 16) {
        if (Handler found = float_handler<W>(op)) return found;
    }
    return nullptr;
}

}  // namespace

Handler arithmetic_handler(spv::Op op, std::uint32_t width) {
    if (Handler found = logical_handler(op)) return found;
    switch (width) {
        case 8: return of_width<8>(op);
        case 16: return of_width<16>(op);
        case 32: return of_width<32>(op);
        case 64: return of_width<64>(op);
        default: return nullptr;
    }
}

Handler conversion_handler(spv::Op op, std::uint32_t in, std::uint32_t out) {
    switch (in) {
        case 8: return convert_to<8>(op, out);
        case 16: return convert_to<16>(op, out);
        case 32: return convert_to<32>(op, out);
        case 64: return convert_to<64>(op, out);
        default: return nullptr;
    }
}

}  // namespace lanewise::simulator::detail
