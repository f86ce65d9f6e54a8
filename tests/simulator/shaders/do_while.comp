// Loops whose condition stands at their end, which lanes go round differently often. shaders_test.cpp
// has the same loops in plain C++. 32 words of `result` for each, by invocation; data[i] is i.
#version 450
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) readonly buffer Data { uint data[]; };
layout(set = 0, binding = 1) buffer Result { uint result[]; };

void put(uint loop, uint value) { result[loop * 32u + gl_LocalInvocationIndex] = value; }

// 7: left by return. After it nothing is promised of where lanes are: so it comes last.
uint search(uint x) {
    do {
        x = x * 3u + 1u;
        if (x % 7u == 2u) return x + 1000u;
    } while (x < 500u);
    return x;
}

void main() {
    const uint lane = data[gl_LocalInvocationIndex];
    uint n, m, s;
    // 0: a body without branches, which optimisers make a single block.
    n = 0u;
    s = 1u;
    do {
        ++n;
        s = s * 5u + n;
    } while (n < lane % 7u);
    put(0u, s);
    // 1: break and continue, the latter to the condition.
    n = 0u;
    s = 0u;
    do {
        ++n;
        if (n == lane % 11u) continue;
        s = s * 3u + n;
        if (s % 5u == lane % 4u) break;
        s += 7u;
    } while (n < 6u);
    put(1u, s * 16u + n);
    // 2: values that change places: what the one becomes the other was.
    n = 0u;
    uint a = lane, b = lane + 100u;
    do {
        const uint t = a;
        a = b;
        b = t + 1u;
    } while (++n < lane % 5u);
    put(2u, a * 1000u + b);
    // 3: nested, the inner one in an arm, left by way of a switch.
    n = 0u;
    s = 0u;
    do {
        if ((lane & 1u) == 0u) {
            m = 0u;
            do {
                switch ((lane + m) % 4u) {
                    case 0u: s += 1u;
                    default: s += 10u; break;
                    case 3u: s += 100u; continue;
                }
                s = s * 2u;
            } while (++m <= n);
        } else {
            do {
                s += lane;
            } while (s < n * 20u);
        }
    } while (++n < lane % 6u);
    put(3u, s);
    // 6: a condition that has parts, and is false at once.
    n = 0u;
    do {
        n += lane + 1u;
    } while (n < 40u && (n & 1u) == 1u || n == 2u);
    put(6u, n);
    // 4: lanes in the loop, counted in each iteration by those that are in it.
    n = 0u;
    s = 0u;
    do {
        ++n;
        s = s * 32u + subgroupBallotBitCount(subgroupBallot(true));
    } while (n < lane % 3u);
    put(4u, s);
    // 5: a value of the last iteration that was read there, and is used afterwards.
    n = 0u;
    do {
        ++n;
        s = data[lane * 8u + n];
    } while (n < lane % 4u);
    put(5u, s);
    put(7u, search(lane));
}
