// Litmus shapes: what a ballot sees after lanes parted. Eight words of `result` for each shape, of
// lane 0 and of the last lane: the number of lanes that the ballot counted.
#version 450
#extension GL_KHR_shader_subgroup_ballot : require
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) buffer Result { uint result[]; };

uint together() { return subgroupBallotBitCount(subgroupBallot(true)); }
void note(uint shape, uint seen) { result[shape * 32u + gl_LocalInvocationIndex] = seen; }

uint early(uint x) {
    if (x % 2u == 1u) return 0u;
    return x;
}

void main() {
    uint lane = gl_LocalInvocationIndex;
    // 0: after an if that all entered together.
    uint x = 0u;
    if (data[lane] % 2u == 0u) x = 1u;
    note(0u, together());
    // 1: inside one arm.
    if (data[lane] % 4u == 0u) note(1u, together());
    else note(1u, 0u);
    // 2: after a loop that lanes leave one after the other.
    for (uint i = 0u; i < data[lane] % 5u; ++i) x += i;
    note(2u, together());
    // 3: after an inner if, in an arm that only half the lanes took.
    if (data[lane] % 2u == 0u) {
        if (data[lane] % 4u == 0u) x += 3u;
        note(3u, together());
    }
    // 4: in the second iteration, after a divergent continue in the first.
    for (uint i = 0u; i < 2u; ++i) {
        if (i == 1u) note(4u, together());
        if (data[lane] % 2u == 0u) continue;
        x += i;
    }
    // 5: after a call from which lanes returned at two places.
    x += early(data[lane]);
    note(5u, together());
    // 6: after a switch.
    switch (data[lane] % 3u) {
        case 0u: x += 1u; break;
        case 1u: x += 2u; break;
        default: x += 4u;
    }
    note(6u, together());
    data[lane + 32u] = x;
}
