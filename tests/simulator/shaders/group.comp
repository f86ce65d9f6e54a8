// Subgroup operations against their definition, computed by each lane from the values of all lanes in
// workgroup memory. One subgroup; data[i] = i. result[lane] counts what is wrong, result[128 + lane]
// names the last.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_shuffle_relative : require
#extension GL_KHR_shader_subgroup_clustered : require
#extension GL_KHR_shader_subgroup_quad : require
layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) buffer Result { uint result[]; };
shared uint sh_values[128];

uint wrong = 0u;
uint last = 0u;
void check(uint number, bool right) {
    if (!right) {
        ++wrong;
        last = number;
    }
}

void main() {
    uint lane = gl_SubgroupInvocationID;
    uint size = gl_SubgroupSize;
    uint x = data[lane] * 2654435761u >> 7;
    sh_values[lane] = x;
    barrier();
    uint sum = 0u, before = 0u, least = 0xffffffffu, bits = 0u, quad = 0u, cluster = 0u, votes = 0u, votes_before = 0u;
    for (uint i = 0u; i < size; ++i) {
        uint y = sh_values[i];
        sum += y;
        if (i < lane) before += y;
        least = min(least, y);
        bits ^= y;
        if (i / 4u == lane / 4u) cluster += y;
        if (y % 3u == 0u) {
            ++votes;
            if (i < lane) ++votes_before;
        }
    }
    check(1u, subgroupAdd(x) == sum);
    check(2u, subgroupExclusiveAdd(x) == before && subgroupInclusiveAdd(x) == before + x);
    check(3u, subgroupMin(x) == least && subgroupXor(x) == bits);
    check(4u, subgroupMax(-int(lane)) == 0 && subgroupMin(-int(lane)) == 1 - int(size));
    check(5u, subgroupAdd(float(lane)) == float(size * (size - 1u) / 2u));
    check(6u, subgroupClusteredAdd(x, 4u) == cluster);
    check(7u, subgroupMul(lane == 1u ? 3u : 1u) == 3u && subgroupExclusiveMax(lane + 1u) == lane);
    bool keep = x % 3u == 0u;
    uvec4 ballot = subgroupBallot(keep);
    check(8u, subgroupBallotBitCount(ballot) == votes && subgroupBallotExclusiveBitCount(ballot) == votes_before);
    check(9u, subgroupBallotInclusiveBitCount(ballot) == votes_before + (keep ? 1u : 0u));
    check(10u, subgroupInverseBallot(ballot) == keep && subgroupBallotBitExtract(ballot, lane) == keep);
    check(11u, subgroupBallotFindLSB(subgroupBallot(lane >= 2u)) == 2u && subgroupBallotFindMSB(subgroupBallot(lane != 0u)) == size - 1u);
    check(12u, subgroupAll(lane < size) && !subgroupAll(lane != 3u) && subgroupAny(lane == 3u) && !subgroupAny(lane == 200u));
    check(13u, subgroupAllEqual(size) && !subgroupAllEqual(lane));
    check(14u, subgroupElect() == (lane == 0u) && subgroupBroadcastFirst(x) == sh_values[0] && subgroupBroadcast(x, 3u) == sh_values[3]);
    check(15u, subgroupShuffle(x, size - 1u - lane) == sh_values[size - 1u - lane]);
    check(16u, subgroupShuffleXor(x, 3u) == sh_values[lane ^ 3u]);
    uint up = subgroupShuffleUp(x, 1u);
    uint down = subgroupShuffleDown(x, 2u);
    if (lane >= 1u) check(17u, up == sh_values[lane - 1u]);
    if (lane + 2u < size) check(18u, down == sh_values[lane + 2u]);
    check(19u, subgroupQuadBroadcast(x, 2u) == sh_values[(lane & ~3u) | 2u] && subgroupQuadSwapHorizontal(x) == sh_values[lane ^ 1u]);
    check(20u, subgroupQuadSwapVertical(x) == sh_values[lane ^ 2u] && subgroupQuadSwapDiagonal(x) == sh_values[lane ^ 3u]);
    check(21u, subgroupBallotBitCount(gl_SubgroupLtMask) == lane && subgroupBallotBitCount(gl_SubgroupGeMask) == size - lane);
    check(22u, subgroupBallotBitCount(gl_SubgroupLeMask) == lane + 1u && subgroupBallotFindLSB(gl_SubgroupEqMask) == lane);
    check(23u, subgroupClusteredMax(lane, 2u) == (lane | 1u) && subgroupAnd(lane | 256u) == 256u);
    check(24u, gl_NumSubgroups == 1u && gl_SubgroupID == 0u);
    vec2 pair = subgroupInclusiveAdd(vec2(1.0, lane));
    check(25u, pair == vec2(lane + 1u, lane * (lane + 1u) / 2u));
    result[lane] = wrong;
    result[128u + lane] = last;
}
