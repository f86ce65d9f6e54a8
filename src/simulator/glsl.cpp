// The instructions of GLSL.std.450. Transcendental functions are computed in double and rounded.

#include <spirv/unified1/GLSL.std.450.h>
#include <algorithm>
#include <bit>
#include <cmath>

#include "src/simulator/lane_loops.hpp"

namespace lanewise::simulator::detail {
namespace {

using U = std::uint64_t;
using S = std::int64_t;

template <unsigned W, auto F>
U float_function(U a) {
    using T = FloatOf<W>;
    if constexpr (W == 32)
        return T::store(static_cast<float>(F(static_cast<double>(T::load(a)))));
    else
        return T::store(F(static_cast<double>(T::load(a))));
}

template <unsigned W, auto F>
U float_function(U a, U b) {
    using T = FloatOf<W>;
    const double r = F(static_cast<double>(T::load(a)), static_cast<double>(T::load(b)));
    if constexpr (W == 32)
        return T::store(static_cast<float>(r));
    else
        return T::store(r);
}

template <unsigned W, auto F>
U float_function(U a, U b, U c) {
    using T = FloatOf<W>;
    const double r = F(static_cast<double>(T::load(a)), static_cast<double>(T::load(b)),
                       static_cast<double>(T::load(c)));
    if constexpr (W == 32)
        return T::store(static_cast<float>(r));
    else
        return T::store(r);
}

template <unsigned W, auto F>
constexpr Handler one() {
    return &unary<[](U a) { return float_function<W, F>(a); }>;
}
template <unsigned W, auto F>
constexpr Handler two() {
    return &binary<[](U a, U b) { return float_function<W, F>(a, b); }>;
}
template <unsigned W, auto F>
constexpr Handler three() {
    return &ternary<[](U a, U b, U c) { return float_function<W, F>(a, b, c); }>;
}

// FMin and FMax may give either operand when one is NaN; N forms give the other one.
double smaller(double a, double b) { return b < a ? b : a; }
double larger(double a, double b) { return a < b ? b : a; }

double round_even(double x) {
    const double down = std::floor(x);
    const double rest = x - down;
    if (rest < 0.5 || (rest == 0.5 && std::fmod(down, 2.0) == 0.0)) return std::copysign(down, x);
    return std::copysign(down + 1.0, x);
}

template <unsigned W>
Handler float_handler(std::uint32_t instruction) {
    using T = FloatOf<W>;
    switch (instruction) {
        case GLSLstd450Round: return one<W, [](double x) { return std::round(x); }>();
        case GLSLstd450RoundEven: return one<W, [](double x) { return round_even(x); }>();
        case GLSLstd450Trunc: return one<W, [](double x) { return std::trunc(x); }>();
        case GLSLstd450FAbs: return &unary<[](U a) { return a & ~(U{1} << (W - 1)); }>;
        case GLSLstd450FSign:
            return one<W, [](double x) {
                return x == 0.0 || std::isnan(x) ? x : std::copysign(1.0, x);
            }>();
        case GLSLstd450Floor: return one<W, [](double x) { return std::floor(x); }>();
        case GLSLstd450Ceil: return one<W, [](double x) { return std::ceil(x); }>();
        case GLSLstd450Fract: return one<W, [](double x) { return x - std::floor(x); }>();
        case GLSLstd450Radians: return one<W, [](double x) { return x * 0.017453292519943295; }>();
        case GLSLstd450Degrees: return one<W, [](double x) { return x * 57.29577951308232; }>();
        case GLSLstd450Sin: return one<W, [](double x) { return std::sin(x); }>();
        case GLSLstd450Cos: return one<W, [](double x) { return std::cos(x); }>();
        case GLSLstd450Tan: return one<W, [](double x) { return std::tan(x); }>();
        case GLSLstd450Asin: return one<W, [](double x) { return std::asin(x); }>();
        case GLSLstd450Acos: return one<W, [](double x) { return std::acos(x); }>();
        case GLSLstd450Atan: return one<W, [](double x) { return std::atan(x); }>();
        case GLSLstd450Sinh: return one<W, [](double x) { return std::sinh(x); }>();
        case GLSLstd450Cosh: return one<W, [](double x) { return std::cosh(x); }>();
        case GLSLstd450Tanh: return one<W, [](double x) { return std::tanh(x); }>();
        case GLSLstd450Asinh: return one<W, [](double x) { return std::asinh(x); }>();
        case GLSLstd450Acosh: return one<W, [](double x) { return std::acosh(x); }>();
        case GLSLstd450Atanh: return one<W, [](double x) { return std::atanh(x); }>();
        case GLSLstd450Exp: return one<W, [](double x) { return std::exp(x); }>();
        case GLSLstd450Log: return one<W, [](double x) { return std::log(x); }>();
        case GLSLstd450Exp2: return one<W, [](double x) { return std::exp2(x); }>();
        case GLSLstd450Log2: return one<W, [](double x) { return std::log2(x); }>();
        case GLSLstd450Sqrt: return one<W, [](double x) { return std::sqrt(x); }>();
        case GLSLstd450InverseSqrt: return one<W, [](double x) { return 1.0 / std::sqrt(x); }>();
        case GLSLstd450Atan2: return two<W, [](double y, double x) { return std::atan2(y, x); }>();
        case GLSLstd450Pow: return two<W, [](double x, double y) { return std::pow(x, y); }>();
        case GLSLstd450FMin: return two<W, [](double x, double y) { return smaller(x, y); }>();
        case GLSLstd450FMax: return two<W, [](double x, double y) { return larger(x, y); }>();
        case GLSLstd450NMin:
            return two<W, [](double x, double y) { return std::isnan(x) ? y : smaller(x, y); }>();
        case GLSLstd450NMax:
            return two<W, [](double x, double y) { return std::isnan(x) ? y : larger(x, y); }>();
        case GLSLstd450Step:
            return two<W, [](double edge, double x) { return x < edge ? 0.0 : 1.0; }>();
        case GLSLstd450FClamp:
            return three<W, [](double x, double low, double high) {
                return smaller(larger(x, low), high);
            }>();
        case GLSLstd450NClamp:
            return three<W, [](double x, double low, double high) {
                return smaller(std::isnan(x) ? low : larger(x, low), high);
            }>();
        case GLSLstd450FMix:
            return &ternary<[](U a, U b, U c) {
                const auto t = T::load(c);
                return T::store(T::load(a) * (1 - t) + T::load(b) * t);
            }>;
        case GLSLstd450Fma:
            return &ternary<[](U a, U b, U c) {
                if constexpr (W == 16) {
                    return T::store(static_cast<double>(T::load(a)) *
                                        static_cast<double>(T::load(b)) +
                                    static_cast<double>(T::load(c)));
                } else {
                    return T::store(std::fma(T::load(a), T::load(b), T::load(c)));
                }
            }>;
        case GLSLstd450SmoothStep:
            return three<W, [](double low, double high, double x) {
                const double t = std::clamp((x - low) / (high - low), 0.0, 1.0);
                return t * t * (3.0 - 2.0 * t);
            }>();
        case GLSLstd450Length:
        case GLSLstd450Distance:
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                const U* b = k.operand[1] == kNoPlace ? nullptr : c.in(k.operand[1]);
                U* r = c.out(k.result);
                each_lane(c, [&](std::uint32_t lane) {
                    double sum = 0.0;
                    for (std::size_t i = 0; i < k.size[0]; ++i) {
                        double x = static_cast<double>(T::load(a[i * c.lanes + lane]));
                        if (b != nullptr) x -= static_cast<double>(T::load(b[i * c.lanes + lane]));
                        sum += x * x;
                    }
                    r[lane] = T::store(static_cast<typename T::type>(std::sqrt(sum)));
                });
            };
        case GLSLstd450Normalize:
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                U* r = c.out(k.result);
                each_lane(c, [&](std::uint32_t lane) {
                    double sum = 0.0;
                    for (std::size_t i = 0; i < k.count; ++i) {
                        const double x = static_cast<double>(T::load(a[i * c.lanes + lane]));
                        sum += x * x;
                    }
                    const double scale = 1.0 / std::sqrt(sum);
                    for (std::size_t i = 0; i < k.count; ++i) {
                        const double x = static_cast<double>(T::load(a[i * c.lanes + lane]));
                        r[i * c.lanes + lane] = T::store(static_cast<typename T::type>(x * scale));
                    }
                });
            };
        case GLSLstd450Cross:
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                const U* b = c.in(k.operand[1]);
                U* r = c.out(k.result);
                each_lane(c, [&](std::uint32_t lane) {
                    for (std::size_t i = 0; i < 3; ++i) {
                        const std::size_t j = (i + 1) % 3 * c.lanes + lane;
                        const std::size_t l = (i + 2) % 3 * c.lanes + lane;
                        r[i * c.lanes + lane] =
                            T::store(T::load(a[j]) * T::load(b[l]) - T::load(a[l]) * T::load(b[j]));
                    }
                });
            };
        case GLSLstd450FaceForward:  // N, I, Nref
        case GLSLstd450Reflect:      // I, N
        case GLSLstd450Refract:      // I, N, eta
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                const U* b = c.in(k.operand[1]);
                const U* d = k.operand[2] == kNoPlace ? nullptr : c.in(k.operand[2]);
                U* r = c.out(k.result);
                each_lane(c, [&](std::uint32_t lane) {
                    const auto at = [&](const U* v, std::size_t i) {
                        return static_cast<double>(T::load(v[i * c.lanes + lane]));
                    };
                    const auto put = [&](std::size_t i, double x) {
                        r[i * c.lanes + lane] = T::store(static_cast<typename T::type>(x));
                    };
                    double dot = 0.0;
                    if (k.extra == GLSLstd450FaceForward) {
                        for (std::size_t i = 0; i < k.count; ++i) dot += at(b, i) * at(d, i);
                        for (std::size_t i = 0; i < k.count; ++i)
                            put(i, dot < 0.0 ? at(a, i) : -at(a, i));
                        return;
                    }
                    for (std::size_t i = 0; i < k.count; ++i) dot += at(a, i) * at(b, i);
                    if (k.extra == GLSLstd450Reflect) {
                        for (std::size_t i = 0; i < k.count; ++i)
                            put(i, at(a, i) - 2.0 * dot * at(b, i));
                        return;
                    }
                    const double eta = at(d, 0);
                    const double rest = 1.0 - eta * eta * (1.0 - dot * dot);
                    for (std::size_t i = 0; i < k.count; ++i)
                        put(i, rest < 0.0
                                   ? 0.0
                                   : eta * at(a, i) - (eta * dot + std::sqrt(rest)) * at(b, i));
                });
            };
        case GLSLstd450Ldexp:  // the exponents are integers; aux: their width
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                const U* b = c.in(k.operand[1]);
                U* r = c.out(k.result);
                each_slot(c, k, [&](std::size_t i) {
                    const S by = std::clamp<S>(widen(b[i], k.aux), -5000, 5000);
                    r[i] = T::store(std::ldexp(T::load(a[i]), static_cast<int>(by)));
                });
            };
        case GLSLstd450FrexpStruct:
        case GLSLstd450ModfStruct:
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                U* r = c.out(k.result);
                const std::size_t parts = k.count / 2;
                for (std::size_t part = 0; part < parts; ++part) {
                    each_lane(c, [&](std::uint32_t lane) {
                        const std::size_t i = part * c.lanes + lane;
                        const std::size_t j = i + parts * c.lanes;
                        const auto x = T::load(a[i]);
                        if (k.extra == GLSLstd450FrexpStruct) {
                            int exponent = 0;
                            r[i] = T::store(std::frexp(x, &exponent));
                            r[j] = static_cast<U>(static_cast<S>(exponent)) &
                                   (k.aux >= 64 ? ~U{0} : (U{1} << k.aux) - 1);
                        } else {
                            const auto whole = std::trunc(x);
                            r[i] = T::store(std::isinf(x) ? std::copysign(decltype(x){0}, x)
                                                          : x - whole);
                            r[j] = T::store(whole);
                        }
                    });
                }
            };
        default: return nullptr;
    }
}

template <unsigned W>
Handler integer_handler(std::uint32_t instruction) {
    switch (instruction) {
        case GLSLstd450SAbs:
            return &unary<[](U a) { return widen<W>(a) < 0 ? narrow<W>(0 - a) : a; }>;
        case GLSLstd450SSign:
            return &unary<[](U a) {
                return a == 0 ? U{0} : narrow<W>(widen<W>(a) < 0 ? ~U{0} : U{1});
            }>;
        case GLSLstd450UMin: return &binary<[](U a, U b) { return std::min(a, b); }>;
        case GLSLstd450UMax: return &binary<[](U a, U b) { return std::max(a, b); }>;
        case GLSLstd450SMin:
            return &binary<[](U a, U b) { return widen<W>(b) < widen<W>(a) ? b : a; }>;
        case GLSLstd450SMax:
            return &binary<[](U a, U b) { return widen<W>(a) < widen<W>(b) ? b : a; }>;
        case GLSLstd450UClamp:
            return &ternary<[](U a, U low, U high) { return std::min(std::max(a, low), high); }>;
        case GLSLstd450SClamp:
            return &ternary<[](U a, U low, U high) {
                const U x = widen<W>(a) < widen<W>(low) ? low : a;
                return widen<W>(high) < widen<W>(x) ? high : x;
            }>;
        case GLSLstd450FindILsb:
            return &unary<[](U a) {
                return a == 0 ? narrow<32>(~U{0}) : static_cast<U>(std::countr_zero(a));
            }>;
        case GLSLstd450FindUMsb:
            return &unary<[](U a) { return narrow<32>(static_cast<U>(std::bit_width(a)) - 1); }>;
        case GLSLstd450FindSMsb:
            return &unary<[](U a) {
                const U x = widen<W>(a) < 0 ? narrow<W>(~a) : a;
                return narrow<32>(static_cast<U>(std::bit_width(x)) - 1);
            }>;
        default: return nullptr;
    }
}

double clamped(double x, double low, double high) {
    return std::isnan(x) ? low : std::clamp(x, low, high);
}

// Packs `parts` floats into one word of `bits` each.
template <unsigned Bits, bool Signed>
void pack_norm(Context& c, const Code& k) {
    const U* a = c.in(k.operand[0]);
    U* r = c.out(k.result);
    const double scale = std::ldexp(1.0, Signed ? Bits - 1 : Bits) - 1.0;
    each_lane(c, [&](std::uint32_t lane) {
        U word = 0;
        for (std::size_t i = 0; i < k.size[0]; ++i) {
            const double x = static_cast<double>(FloatOf<32>::load(a[i * c.lanes + lane]));
            const auto whole =
                static_cast<S>(round_even(clamped(x, Signed ? -1.0 : 0.0, 1.0) * scale));
            word |= (static_cast<U>(whole) & ((U{1} << Bits) - 1)) << (i * Bits);
        }
        r[lane] = word;
    });
}

template <unsigned Bits, bool Signed>
void unpack_norm(Context& c, const Code& k) {
    const U* a = c.in(k.operand[0]);
    U* r = c.out(k.result);
    const double scale = std::ldexp(1.0, Signed ? Bits - 1 : Bits) - 1.0;
    each_lane(c, [&](std::uint32_t lane) {
        for (std::size_t i = 0; i < k.count; ++i) {
            const U part = (a[lane] >> (i * Bits)) & ((U{1} << Bits) - 1);
            double x = Signed ? static_cast<double>(widen<Bits>(part)) : static_cast<double>(part);
            x = std::max(x / scale, -1.0);
            r[i * c.lanes + lane] = FloatOf<32>::store(static_cast<float>(x));
        }
    });
}

Handler packing_handler(std::uint32_t instruction) {
    switch (instruction) {
        case GLSLstd450PackSnorm4x8: return &pack_norm<8, true>;
        case GLSLstd450PackUnorm4x8: return &pack_norm<8, false>;
        case GLSLstd450PackSnorm2x16: return &pack_norm<16, true>;
        case GLSLstd450PackUnorm2x16: return &pack_norm<16, false>;
        case GLSLstd450UnpackSnorm4x8: return &unpack_norm<8, true>;
        case GLSLstd450UnpackUnorm4x8: return &unpack_norm<8, false>;
        case GLSLstd450UnpackSnorm2x16: return &unpack_norm<16, true>;
        case GLSLstd450UnpackUnorm2x16: return &unpack_norm<16, false>;
        case GLSLstd450PackHalf2x16:
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                U* r = c.out(k.result);
                each_lane(c, [&](std::uint32_t lane) {
                    const U low = float_to_half(FloatOf<32>::load(a[lane]));
                    const U high = float_to_half(FloatOf<32>::load(a[c.lanes + lane]));
                    r[lane] = low | high << 16;
                });
            };
        case GLSLstd450UnpackHalf2x16:
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                U* r = c.out(k.result);
                each_lane(c, [&](std::uint32_t lane) {
                    const U word = a[lane];
                    r[lane] = FloatOf<32>::store(half_to_float(static_cast<std::uint16_t>(word)));
                    r[c.lanes + lane] =
                        FloatOf<32>::store(half_to_float(static_cast<std::uint16_t>(word >> 16)));
                });
            };
        case GLSLstd450PackDouble2x32:
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                U* r = c.out(k.result);
                each_lane(c,
                          [&](std::uint32_t lane) { r[lane] = a[lane] | a[c.lanes + lane] << 32; });
            };
        case GLSLstd450UnpackDouble2x32:
            return [](Context& c, const Code& k) {
                const U* a = c.in(k.operand[0]);
                U* r = c.out(k.result);
                each_lane(c, [&](std::uint32_t lane) {
                    const U word = a[lane];
                    r[lane] = narrow<32>(word);
                    r[c.lanes + lane] = word >> 32;
                });
            };
        default: return nullptr;
    }
}

// Of the rows and columns whose bits are set, as many of each; by the first of the rows. Products
// and sums only: what is whole stays whole.
double determinant(const double (&m)[4][4], unsigned rows, unsigned columns) {
    if (rows == 0) return 1.0;
    const auto row = static_cast<std::size_t>(std::countr_zero(rows));
    double sum = 0.0;
    double sign = 1.0;
    for (std::size_t column = 0; column < 4; ++column) {
        if ((columns >> column & 1) == 0) continue;
        sum += sign * m[row][column] * determinant(m, rows & (rows - 1), columns & ~(1u << column));
        sign = -sign;
    }
    return sum;
}

template <unsigned W>
void matrix(Context& c, const Code& k) {
    using T = FloatOf<W>;
    const U* a = c.in(k.operand[0]);
    U* r = c.out(k.result);
    std::size_t n = 2;
    while (n * n < k.size[0]) ++n;
    const unsigned all = (1u << n) - 1;
    each_lane(c, [&](std::uint32_t lane) {
        double m[4][4] = {};
        for (std::size_t column = 0; column < n; ++column) {
            for (std::size_t row = 0; row < n; ++row)
                m[row][column] =
                    static_cast<double>(T::load(a[(column * n + row) * c.lanes + lane]));
        }
        const double whole = determinant(m, all, all);
        if (k.extra == GLSLstd450Determinant) {
            r[lane] = T::store(static_cast<typename T::type>(whole));
            return;
        }
        // Transposed: the part for row i, column j leaves out row j and column i.
        for (std::size_t column = 0; column < n; ++column) {
            for (std::size_t row = 0; row < n; ++row) {
                const double part = determinant(m, all & ~(1u << column), all & ~(1u << row));
                const double value = ((row + column) % 2 == 0 ? part : -part) / whole;
                r[(column * n + row) * c.lanes + lane] =
                    T::store(static_cast<typename T::type>(value));
            }
        }
    });
}

template <unsigned W>
Handler of_width(std::uint32_t instruction) {
    if (Handler found = integer_handler<W>(instruction)) return found;
    if constexpr (W >= 16) {
        if (instruction == GLSLstd450Determinant || instruction == GLSLstd450MatrixInverse)
            return &matrix<W>;
        if (Handler found = float_handler<W>(instruction)) return found;
    }
    return nullptr;
}

}  // namespace

Handler glsl_handler(std::uint32_t instruction, std::uint32_t width) {
    if (Handler found = packing_handler(instruction)) return found;
    switch (width) {
        case 8: return of_width<8>(instruction);
        case 16: return of_width<16>(instruction);
        case 32: return of_width<32>(instruction);
        case 64: return of_width<64>(instruction);
        default: return nullptr;
    }
}

}  // namespace lanewise::simulator::detail
