// Sums that workgroups publish for those after them, and looking back for those before: decoupled
// look-back (Merrill and Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back", NVIDIA
// 2016), with a wait that ends.
//
//   state     ticket, -, base 0, epoch 0, base 1, epoch 1, -, -, then the tiles' words
//   a tile    nothing  ->  its own sum (kFlagSum)  ->  what all up to it combine to (kFlagPrefix)
//
//   tile 9 looks back      4    5    6    7    8        an empty one is looked at again; after
//                          P    S    P    S    S        `patience` times in vain the workgroup sums
//                                    ^----------'       that tile itself and goes on
//
// A flag travels with the value in one relaxed atomic word, so that no order between words matters:
//
//   LW_ATOMIC64   64 bits for each word of the value    | epoch, 30 bits | flag, 2 | value, 32 |
//   else          32 bits for each half of a word       | epoch, 14 bits | flag, 2 | half, 16 |
//
// Words of one tile count together only when all have one flag. The epoch counts the uses of the
// state, so that nothing is cleared between two uses: a word of another epoch is an empty one.
//
// Tickets run on from use to use. A use begins at its base; bases and epochs of this use and of one
// next to it stand in two places by turns:
//
//     tickets of use u - 1 | use u               | use u + 1       a workgroup takes the base that
//                          ^ base u              ^ base u + 1      its ticket is least above
//
// The workgroup with a use's last ticket writes what the next one begins with over what the one
// before began with, which nobody needs any more; whoever reads it meanwhile finds a base that is too
// low or too high, and takes the other. When the epochs begin again it also clears the words of tiles
// that this use does not have; the others are of this epoch. The state starts as zeros.
//
// The kernel defines before: LW_BINDINGS, LW_STATE_BINDING (tile/memory.glsl); LW_ATOMIC64 or not;
// item/accumulator.glsl's; kWorkgroupSize, kMostEpochs, kMostTiles, kSilentTile, kPatience
// (constants).
#ifndef LW_TILE_LOOK_BACK_GLSL
#define LW_TILE_LOOK_BACK_GLSL

#include "item/accumulator.glsl"
#include "item/select.glsl"
#include "tile/memory.glsl"

const uint kFlagEmpty = 0u;
const uint kFlagSum = 1u;
const uint kFlagPrefix = 2u;

LW_BUFFER(state, LW_STATE_BINDING, coherent)
#define LW_TICKET LW_WORD(state, 0)

#ifdef LW_ATOMIC64
#ifdef LW_DEVICE_ADDRESS
layout(buffer_reference, std430, buffer_reference_align = 8) coherent buffer state_longs {
    uint64_t at[];
};
#define LW_STATE_LONG(i) state_longs(parameters.addresses[LW_STATE_BINDING]).at[i]
#else
layout(set = 0, binding = LW_STATE_BINDING, std430) coherent buffer state_longs_block {
    uint64_t at[];
} state_longs;
#define LW_STATE_LONG(i) state_longs.at[i]
#endif
#endif

const uint kStateHeaderWords = 8u;
const uint kStateBases = 2u;  // words before them

// Semantics: none. The flag and the value are one word.
uint load_relaxed(uint i) {
    return atomicLoad(LW_WORD(state, i), gl_ScopeDevice, gl_StorageSemanticsNone,
                      gl_SemanticsRelaxed);
}

void store_relaxed(uint i, uint value) {
    atomicStore(LW_WORD(state, i), value, gl_ScopeDevice, gl_StorageSemanticsNone,
                gl_SemanticsRelaxed);
}

// The mark of an epoch and flag, as it stands in the words.
uint mark_of(uint epoch, uint flag) { return (epoch + 1u) << 2 | flag; }

uint flag_of(uint mark, uint epoch) {
    return mark >> 2 == epoch + 1u ? mark & 3u : kFlagEmpty;
}

void publish(uint tile, uint epoch, uint flag, Accumulator a) {
    if (tile == kSilentTile) return;
    uint mark = mark_of(epoch, flag);
    uint words[LW_ACCUMULATOR_WORDS] = words_of_accumulator(a);
    [[unroll]] for (uint word = 0u; word < LW_ACCUMULATOR_WORDS; ++word) {
        uint i = tile * LW_ACCUMULATOR_WORDS + word;
#ifdef LW_ATOMIC64
        atomicStore(LW_STATE_LONG(kStateHeaderWords / 2u + i),
                    packUint2x32(uvec2(words[word], mark)), gl_ScopeDevice,
                    gl_StorageSemanticsNone, gl_SemanticsRelaxed);
#else
        store_relaxed(kStateHeaderWords + 2u * i, mark << 16 | words[word] & 0xffffu);
        store_relaxed(kStateHeaderWords + 2u * i + 1u, mark << 16 | words[word] >> 16);
#endif
    }
}

// What a tile has published in this epoch: its flag, and the sum where that is not empty.
uint look_at(uint tile, uint epoch, out Accumulator a) {
    uint words[LW_ACCUMULATOR_WORDS];
    uint flag = kFlagEmpty;
    bool agree = true;
    [[unroll]] for (uint word = 0u; word < LW_ACCUMULATOR_WORDS; ++word) {
        uint i = tile * LW_ACCUMULATOR_WORDS + word;
#ifdef LW_ATOMIC64
        uvec2 pair = unpackUint2x32(atomicLoad(LW_STATE_LONG(kStateHeaderWords / 2u + i),
                                               gl_ScopeDevice, gl_StorageSemanticsNone,
                                               gl_SemanticsRelaxed));
        words[word] = pair.x;
        uint mark = pair.y;
#else
        uint low = load_relaxed(kStateHeaderWords + 2u * i);
        uint high = load_relaxed(kStateHeaderWords + 2u * i + 1u);
        words[word] = high << 16 | low & 0xffffu;
        uint mark = low >> 16;
        agree = agree && mark == high >> 16;
#endif
        if (word == 0u) flag = flag_of(mark, epoch);
        agree = agree && flag == flag_of(mark, epoch);
    }
    a = accumulator_of_words(words);
    return agree ? flag : kFlagEmpty;
}

// Takes a ticket; one lane calls it. The tile and the epoch. groups: workgroups of this use.
uvec2 take_ticket(uint groups, uint tiles) {
    uint ticket = atomicAdd(LW_TICKET, 1u);
    uint base[2], epoch[2];
    [[unroll]] for (uint i = 0u; i < 2u; ++i) {
        base[i] = load_relaxed(kStateBases + 2u * i);
        epoch[i] = load_relaxed(kStateBases + 2u * i + 1u);
    }
    bool second = ticket - base[1] < ticket - base[0];
    uint tile = ticket - select(second, base[1], base[0]);
    uint own = select(second, epoch[1], epoch[0]);
    if (tile == groups - 1u) {
        bool again = own + 1u == kMostEpochs;
        if (again) {
            const uint words = 2u * LW_ACCUMULATOR_WORDS;
            for (uint i = tiles * words; i < kMostTiles * words; ++i) {
                store_relaxed(kStateHeaderWords + i, 0u);
            }
        }
        uint next = kStateBases + select(second, 0u, 2u);
        store_relaxed(next, ticket + 1u);
        store_relaxed(next + 1u, again ? 0u : own + 1u);
    }
    return uvec2(tile, own);
}

#endif
