// Counts in ballots of up to 128 lanes. Unlike subgroupBallotBitCount and its kin, these do not
// depend on the size that the device reports.
#ifndef LW_SUBGROUP_BALLOT_GLSL
#define LW_SUBGROUP_BALLOT_GLSL

uint ballot_count(uvec4 ballot) {
    ivec4 counts = bitCount(ballot);
    return uint(counts.x + counts.y + counts.z + counts.w);
}

// Set bits of the lanes below `lane`.
uint ballot_count_below(uvec4 ballot, uint lane) {
    int count = 0;
    [[unroll]] for (int word = 0; word < 4; ++word) {
        count += bitCount(bitfieldExtract(ballot[word], 0, clamp(int(lane) - 32 * word, 0, 32)));
    }
    return uint(count);
}

// The lowest lane whose bit is set; 0 where none is.
uint ballot_first(uvec4 ballot) {
    uint first = 0u;
    [[unroll]] for (int word = 3; word >= 0; --word) {
        if (ballot[word] != 0u) first = uint(32 * word + findLSB(ballot[word]));
    }
    return first;
}

// One more than the highest lane whose bit is set; 0 where none is.
uint ballot_end(uvec4 ballot) {
    uint end = 0u;
    [[unroll]] for (int word = 0; word < 4; ++word) {
        if (ballot[word] != 0u) end = uint(32 * word + findMSB(ballot[word]) + 1);
    }
    return end;
}

#endif
