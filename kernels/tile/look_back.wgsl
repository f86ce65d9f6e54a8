// Sums that workgroups publish for those after them, and looking back for those before: the twin of
// look_back.glsl, which explains the state, its words and its epochs.
//
// What differs: no 64-bit atomics, so that values go in halves of words. Atomics of WGSL are relaxed;
// nothing here needs more.
//
// The kernel defines before: a buffer named state, of atomic<u32> (tile/memory.wgsl);
// item/accumulator.wgsl's; kMostEpochs, kMostTiles, kSilentTile (constants).

//#include "item/accumulator.wgsl"
//#include "tile/memory.wgsl"

const kFlagEmpty = 0u;
const kFlagSum = 1u;
const kFlagPrefix = 2u;

const kStateHeaderWords = 8u;
const kStateBases = 2u;  // words before them

// The mark of an epoch and flag, as it stands in the words.
fn mark_of(epoch: u32, flag: u32) -> u32 { return ((epoch + 1u) << 2u) | flag; }

fn flag_of(mark: u32, epoch: u32) -> u32 {
    return select(kFlagEmpty, mark & 3u, (mark >> 2u) == epoch + 1u);
}

fn publish(tile: u32, epoch: u32, flag: u32, a: Accumulator) {
    if (tile != kSilentTile) {
        let mark = mark_of(epoch, flag) << 16u;
        var words = words_of_accumulator(a);
        for (var word = 0u; word < kAccumulatorWords; word++) {
            let i = kStateHeaderWords + 2u * (tile * kAccumulatorWords + word);
            atomicStore(&state[i], mark | (words[word] & 0xffffu));
            atomicStore(&state[i + 1u], mark | (words[word] >> 16u));
        }
    }
}

struct Look {
    flag: u32,
    sum: Accumulator,  // where the flag is not empty
}

// What a tile has published in this epoch.
fn look_at(tile: u32, epoch: u32) -> Look {
    var words: AccumulatorWords;
    var flag = kFlagEmpty;
    var agree = true;
    for (var word = 0u; word < kAccumulatorWords; word++) {
        let i = kStateHeaderWords + 2u * (tile * kAccumulatorWords + word);
        let low = atomicLoad(&state[i]);
        let high = atomicLoad(&state[i + 1u]);
        words[word] = (high << 16u) | (low & 0xffffu);
        let found = flag_of(low >> 16u, epoch);
        if (word == 0u) { flag = found; }
        agree = agree && (low >> 16u) == (high >> 16u) && flag == found;
    }
    return Look(select(kFlagEmpty, flag, agree), accumulator_of_words(words));
}

// Takes a ticket; one lane calls it. The tile and the epoch. groups: workgroups of this use.
fn take_ticket(groups: u32, tiles: u32) -> vec2<u32> {
    let ticket = atomicAdd(&state[0], 1u);
    let base0 = atomicLoad(&state[kStateBases]);
    let epoch0 = atomicLoad(&state[kStateBases + 1u]);
    let base1 = atomicLoad(&state[kStateBases + 2u]);
    let epoch1 = atomicLoad(&state[kStateBases + 3u]);
    let second = ticket - base1 < ticket - base0;
    let tile = ticket - select(base0, base1, second);
    let own = select(epoch0, epoch1, second);
    if (tile == groups - 1u) {
        let again = own + 1u == kMostEpochs;
        if (again) {
            const words = 2u * kAccumulatorWords;
            for (var i = tiles * words; i < kMostTiles * words; i++) {
                atomicStore(&state[kStateHeaderWords + i], 0u);
            }
        }
        let next = kStateBases + select(2u, 0u, second);
        atomicStore(&state[next], ticket + 1u);
        atomicStore(&state[next + 1u], select(own + 1u, 0u, again));
    }
    return vec2<u32>(tile, own);
}
