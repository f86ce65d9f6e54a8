// Counts in ballots of up to 128 lanes: the twin of ballot.glsl.
//
// What differs: nothing but the spelling.

fn ballot_count(ballot: vec4<u32>) -> u32 {
    let counts = countOneBits(ballot);
    return counts.x + counts.y + counts.z + counts.w;
}

// Set bits of the lanes below `lane`.
fn ballot_count_below(ballot: vec4<u32>, lane: u32) -> u32 {
    var count = 0u;
    for (var word = 0u; word < 4u; word++) {
        let bits = min(max(lane, 32u * word) - 32u * word, 32u);
        count += countOneBits(extractBits(ballot[word], 0u, bits));
    }
    return count;
}

// The lowest lane whose bit is set; 0 where none is.
fn ballot_first(ballot: vec4<u32>) -> u32 {
    var first = 0u;
    for (var word = 4u; word > 0u; word -= 1u) {
        if (ballot[word - 1u] != 0u) {
            first = 32u * (word - 1u) + firstTrailingBit(ballot[word - 1u]);
        }
    }
    return first;
}

// One more than the highest lane whose bit is set; 0 where none is.
fn ballot_end(ballot: vec4<u32>) -> u32 {
    var end = 0u;
    for (var word = 0u; word < 4u; word++) {
        if (ballot[word] != 0u) { end = 32u * word + firstLeadingBit(ballot[word]) + 1u; }
    }
    return end;
}
