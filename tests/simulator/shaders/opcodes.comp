// Many instructions, each with its right answer beside it: `result[0]` counts those that are wrong,
// result[1] names the last of them.
#version 450
#extension GL_EXT_shader_explicit_arithmetic_types : require
#extension GL_KHR_shader_subgroup_basic : require
layout(local_size_x = 4) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) buffer Result { uint result[]; };

uint wrong = 0u;
uint last = 0u;
void check(uint number, bool right) {
    if (!right) {
        ++wrong;
        last = number;
    }
}
bool near(float a, float b) { return abs(a - b) <= 1e-5 * max(1.0, abs(b)); }
// Values that the compiler cannot fold.
uint u(uint x) { return data[x]; }
int i(int x) { return x < 0 ? -int(data[-x]) : int(data[x]); }
float f(float x) { return float(int(data[0])) + x; }

void main() {
    check(1u, u(7u) + 0xfffffffeu == 5u);
    check(2u, u(3u) - u(5u) == 0xfffffffeu);
    check(3u, u(7u) * 0x80000001u == 0x80000007u);
    check(4u, i(-7) / i(2) == -3 && u(7u) / u(2u) == 3u);
    check(5u, u(7u) % u(4u) == 3u);
    check(6u, (i(-8) >> i(1)) == -4 && (0xfffffff8u >> u(1u)) == 0x7ffffffcu && (u(3u) << u(4u)) == 48u);
    check(7u, (u(12u) & u(10u)) == 8u && (u(12u) | u(3u)) == 15u && (u(12u) ^ u(10u)) == 6u && ~u(0u) == 0xffffffffu);
    check(8u, bitCount(u(255u)) == 8 && bitfieldReverse(u(1u)) == 0x80000000u);
    check(9u, findLSB(u(8u)) == 3 && findMSB(u(9u)) == 3 && findMSB(i(-1)) == -1 && findLSB(u(0u)) == -1);
    check(10u, bitfieldExtract(u(0xf5u), 4, 4) == 15u && bitfieldExtract(i(0xf5), 4, 4) == -1);
    check(11u, bitfieldInsert(u(0u), u(5u), 8, 4) == 0x500u);
    check(12u, min(u(3u), u(4u)) == 3u && max(i(-3), i(4)) == 4 && clamp(i(-9), -2, 2) == -2);
    check(13u, abs(i(-5)) == 5 && sign(i(-5)) == -1 && sign(f(0.0)) == 0.0);
    uint carry, borrow, high, low;
    check(14u, uaddCarry(u(2u) + 0xfffffffdu, u(5u), carry) == 4u && carry == 1u);
    check(15u, usubBorrow(u(2u), u(5u), borrow) == 0xfffffffdu && borrow == 1u);
    umulExtended(u(2u) + 0xfffffffdu, u(16u), high, low);
    check(16u, high == 15u && low == 0xfffffff0u);
    int shigh, slow;
    imulExtended(i(-3), i(7), shigh, slow);
    check(17u, shigh == -1 && slow == -21);
    check(18u, f(1.5) + f(2.25) == 3.75 && f(1.5) * f(-2.0) == -3.0 && f(1.0) / f(4.0) == 0.25);
    check(19u, floor(f(-1.5)) == -2.0 && ceil(f(-1.5)) == -1.0 && trunc(f(-1.5)) == -1.0 && fract(f(1.75)) == 0.75);
    check(20u, roundEven(f(2.5)) == 2.0 && roundEven(f(3.5)) == 4.0 && mod(f(-1.0), f(4.0)) == 3.0);
    check(21u, sqrt(f(9.0)) == 3.0 && near(inversesqrt(f(4.0)), 0.5) && near(pow(f(2.0), f(10.0)), 1024.0));
    check(22u, near(exp(f(1.0)), 2.718281828) && near(log(f(10.0)), 2.302585093) && exp2(f(5.0)) == 32.0 && log2(f(8.0)) == 3.0);
    check(23u, near(sin(f(1.0)), 0.8414709848) && near(cos(f(1.0)), 0.5403023059) && near(tan(f(1.0)), 1.5574077247));
    check(24u, near(asin(f(0.5)), 0.5235987756) && near(acos(f(0.5)), 1.0471975512) && near(atan(f(1.0), f(-1.0)), 2.3561944902));
    check(25u, mix(f(2.0), f(4.0), f(0.25)) == 2.5 && step(f(1.0), f(0.5)) == 0.0 && smoothstep(f(0.0), f(2.0), f(1.0)) == 0.5);
    check(26u, fma(f(2.0), f(3.0), f(4.0)) == 10.0 && ldexp(f(1.5), i(3)) == 12.0);
    int exponent;
    check(27u, frexp(f(12.0), exponent) == 0.75 && exponent == 4);
    float whole;
    check(28u, modf(f(-2.75), whole) == -0.75 && whole == -2.0);
    check(29u, packHalf2x16(vec2(f(1.0), f(-2.0))) == 0xc0003c00u && unpackHalf2x16(u(0u) + 0xc0003c00u) == vec2(1.0, -2.0));
    check(30u, packUnorm4x8(vec4(f(0.0), f(1.0), f(0.5), f(2.0))) == 0xff80ff00u);
    check(31u, packSnorm2x16(vec2(f(-1.0), f(1.0))) == 0x7fff8001u);
    check(32u, dot(vec3(f(1.0), f(2.0), f(3.0)), vec3(4.0, 5.0, 6.0)) == 32.0);
    check(33u, cross(vec3(f(1.0), 0.0, 0.0), vec3(0.0, f(1.0), 0.0)) == vec3(0.0, 0.0, 1.0));
    check(34u, length(vec2(f(3.0), f(4.0))) == 5.0 && distance(vec2(f(3.0), 0.0), vec2(0.0, f(4.0))) == 5.0);
    check(35u, near(normalize(vec2(f(3.0), f(4.0))).y, 0.8));
    mat2 m = mat2(f(1.0), f(2.0), f(3.0), f(4.0));
    check(36u, m * vec2(f(1.0), f(1.0)) == vec2(4.0, 6.0) && vec2(f(1.0), f(1.0)) * m == vec2(3.0, 7.0));
    check(37u, m * m == mat2(7.0, 10.0, 15.0, 22.0) && transpose(m) == mat2(1.0, 3.0, 2.0, 4.0));
    check(38u, determinant(m) == -2.0 && near(inverse(m)[0][0], -2.0));
    check(39u, outerProduct(vec2(f(1.0), f(2.0)), vec2(f(3.0), f(4.0))) == mat2(3.0, 6.0, 4.0, 8.0));
    check(40u, isnan(f(0.0) / f(0.0)) && isinf(f(1.0) / f(0.0)));
    check(41u, uint(f(3.9)) == 3u && int(f(-3.9)) == -3 && float(i(-3)) == -3.0 && float(u(3u)) == 3.0);
    check(42u, floatBitsToUint(f(1.0)) == 0x3f800000u && uintBitsToFloat(u(0u) + 0x40000000u) == 2.0);
    uint64_t wide = (uint64_t(u(1u)) << 40) + 5ul;
    check(43u, uint(wide >> 32) == 256u && uint(wide) == 5u && unpack32(wide).y == 256u);
    check(44u, pack64(uvec2(u(5u), u(256u))) == wide && wide * 3ul == (3ul << 40) + 15ul);
    check(45u, int64_t(i(-5)) / 2l == -2l && int64_t(i(-5)) % 2l == 1l);  // OpSMod: the sign of the divisor
    uint8_t small = uint8_t(u(250u));
    check(46u, uint(small + uint8_t(u(10u))) == 4u && int(int8_t(i(200))) == -56);
    int16_t half_word = int16_t(i(-300));
    check(47u, int(half_word * int16_t(i(200))) == 5536);
    float16_t h = float16_t(f(1.0) / f(3.0));
    check(48u, float(h) == 0.333251953125 && float(h + float16_t(f(1.0))) == 1.3330078125);
    double d = double(f(1.0)) / 3.0lf;
    check(49u, d > 0.3333333333333333lf - 1e-16lf && d < 0.3333333333333334lf && float(sqrt(double(f(2.0)))) == sqrt(2.0));
    uvec4 v = uvec4(u(1u), u(2u), u(3u), u(4u));
    uint at = u(2u);
    check(50u, v.wzyx == uvec4(4u, 3u, 2u, 1u) && v[at] == 3u);
    v[at] = 9u;
    check(51u, v == uvec4(1u, 2u, 9u, 4u) && any(equal(v, uvec4(9u))) && !all(equal(v, uvec4(9u))));
    struct Pair {
        uint a;
        vec2 b[2];
    };
    Pair p = Pair(u(5u), vec2[2](vec2(f(1.0), f(2.0)), vec2(f(3.0), f(4.0))));
    Pair q = p;
    q.b[at - 1u].y = 7.0;
    check(52u, p.b[1] == vec2(3.0, 4.0) && q.b[1] == vec2(3.0, 7.0) && q.a == 5u && p != q);
    check(53u, (u(1u) == 1u ? u(6u) : u(7u)) == 6u && mix(uvec2(u(1u)), uvec2(u(2u)), bvec2(true, false)) == uvec2(2u, 1u));
    check(54u, reflect(vec2(f(1.0), f(-1.0)), vec2(0.0, 1.0)) == vec2(1.0, 1.0));
    check(55u, near(sinh(f(1.0)), 1.1752011936) && near(tanh(f(1.0)), 0.761594156) && near(radians(f(180.0)), 3.1415926536));
    if (gl_LocalInvocationIndex == 0u) {
        atomicAdd(data[900], u(5u));
        check(56u, data[900] == 905u && atomicMax(data[900], 7u) == 905u && atomicCompSwap(data[900], 905u, 1u) == 905u);
        check(57u, data[900] == 1u && atomicExchange(data[900], 8u) == 1u && atomicXor(data[900], 9u) == 8u && data[900] == 1u);
        check(58u, atomicOr(data[900], 6u) == 1u && atomicAnd(data[900], 5u) == 7u && atomicMin(data[900], 2u) == 5u && data[900] == 2u);
        result[0] = wrong;
        result[1] = last;
    }
}
