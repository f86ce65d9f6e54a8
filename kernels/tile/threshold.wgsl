// The threshold of a selection: the twin of threshold.glsl, which draws it.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: a buffer named scratch (u32); kTableOffset (constant); item/key.wgsl's.

//#include "item/key.wgsl"

struct Threshold {
    key: Key,
    wanted: u32,
}

fn load_threshold() -> Threshold {
    var threshold: Threshold;
    threshold.key.low = scratch[kTableOffset];
//#if LW_KEY_WORDS == 2
    threshold.key.high = scratch[kTableOffset + 1u];
//#endif
    threshold.wanted = scratch[kTableOffset + 2u];
    return threshold;
}

// Whether the bits from `bit` on are the same; bit is at least 1, and below the bits of a key.
fn same_above(a: Key, b: Key, bit: u32) -> bool {
//#if LW_KEY_WORDS == 2
    let low = select(0u, 0xffffffffu << (bit & 31u), bit < 32u);
    let high = select(0xffffffffu << ((bit - 32u) & 31u), 0xffffffffu, bit < 32u);
    return (((a.low ^ b.low) & low) | ((a.high ^ b.high) & high)) == 0u;
//#else
    return ((a.low ^ b.low) >> (bit & 31u)) == 0u;
//#endif
}

// 0: before the threshold; 1: equal to it; 2: behind it.
fn side_of(image: Key, threshold: Key) -> u32 {
    var side = select(select(2u, 1u, image.low == threshold.low), 0u, image.low < threshold.low);
//#if LW_KEY_WORDS == 2
    if (image.high != threshold.high) { side = select(2u, 0u, image.high < threshold.high); }
//#endif
    return side;
}
