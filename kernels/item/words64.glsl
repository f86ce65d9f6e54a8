// 64-bit integers as two 32-bit words (x low, y high), so that no kernel needs shaderInt64.
#ifndef LW_ITEM_WORDS64_GLSL
#define LW_ITEM_WORDS64_GLSL

#include "item/select.glsl"

uvec2 add64(uvec2 a, uvec2 b) {
    uint carry;
    uint low = uaddCarry(a.x, b.x, carry);
    return uvec2(low, a.y + b.y + carry);
}

uvec2 subtract64(uvec2 a, uvec2 b) {
    uint borrow;
    uint low = usubBorrow(a.x, b.x, borrow);
    return uvec2(low, a.y - b.y - borrow);
}

// The low 64 bits, which are the same for signed and unsigned factors.
uvec2 multiply64(uvec2 a, uvec2 b) {
    uint high, low;
    umulExtended(a.x, b.x, high, low);
    return uvec2(low, high + a.x * b.y + a.y * b.x);
}

uvec2 multiply32(uint a, uint b) {
    uint high, low;
    umulExtended(a, b, high, low);
    return uvec2(low, high);
}

// Unsigned.
bool less64(uvec2 a, uvec2 b) { return mix(a.y < b.y, a.x < b.x, a.y == b.y); }

uvec2 min64(uvec2 a, uvec2 b) { return select(less64(b, a), b, a); }

uvec2 sign_extend64(uint a) { return uvec2(a, uint(int(a) >> 31)); }

#endif
