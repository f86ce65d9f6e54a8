// 64-bit integers as two 32-bit words (x low, y high): the twin of words64.glsl.
//
// What differs: WGSL has neither carries nor products of 64 bits; they are made of comparisons and of
// products of halves.

fn add64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = a.x + b.x;
    return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}

fn subtract64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}

// a and b in halves:     a1 b1 | a0 b0
//                           a1 b0             each sum of a product and a carry fits 32 bits
//                           a0 b1
fn multiply32(a: u32, b: u32) -> vec2<u32> {
    let a0 = a & 0xffffu;
    let a1 = a >> 16u;
    let b0 = b & 0xffffu;
    let b1 = b >> 16u;
    let middle = a1 * b0 + ((a0 * b0) >> 16u);
    let other = a0 * b1 + (middle & 0xffffu);
    return vec2<u32>(a * b, a1 * b1 + (middle >> 16u) + (other >> 16u));
}

// The low 64 bits, which are the same for signed and unsigned factors.
fn multiply64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
    let low = multiply32(a.x, b.x);
    return vec2<u32>(low.x, low.y + a.x * b.y + a.y * b.x);
}

// Unsigned.
fn less64(a: vec2<u32>, b: vec2<u32>) -> bool {
    return select(a.y < b.y, a.x < b.x, a.y == b.y);
}

fn min64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> { return select(a, b, less64(b, a)); }

fn sign_extend64(a: u32) -> vec2<u32> { return vec2<u32>(a, u32(i32(a) >> 31u)); }
