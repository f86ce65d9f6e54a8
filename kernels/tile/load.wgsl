// The input, read in tiles of vectors: kVectors for each lane, those of neighbouring lanes side by
// side. The twin of load.glsl, which draws a tile.
//
// What differs: the input has one view, of 16-byte vectors, of which a last one is read by components;
// it is bound with its bytes rounded up to a multiple of 16 (kernels.md). Where custom elements fill no
// whole vectors of 16 bytes, it is a view of words (LW_INPUT_QUADS 0).
//
// The kernel defines before: LW_ELEMENT_BITS, LW_INPUT_QUADS; a buffer named input (tile/memory.wgsl);
// kWorkgroupSize, kVectors (constants).

const kTileVectors = kWorkgroupSize * kVectors;

// Where a tile begins, in vectors: a binding holds less than 2^32 bytes.
alias Place = u32;

fn tile_place(tile: u32) -> Place { return tile * kTileVectors; }

//#if 128 % LW_ELEMENT_BITS == 0

alias Vector = vec4<u32>;
const kVectorWords = 4u;

fn load_vector(tile: Place, i: u32) -> Vector { return input[tile + i]; }

// Word `word` of vector i.
fn load_word(tile: Place, i: u32, word: u32) -> u32 { return input[tile + i][word]; }

//#else

const kVectorWords = LW_ELEMENT_BITS / 32u;
alias Vector = array<u32, kVectorWords>;

//#if LW_INPUT_QUADS

const kVectorQuads = kVectorWords / 4u;

fn load_vector(tile: Place, i: u32) -> Vector {
    var vector: Vector;
    for (var q = 0u; q < kVectorQuads; q++) {
        let quad = input[(tile + i) * kVectorQuads + q];
        vector[4u * q] = quad.x;
        vector[4u * q + 1u] = quad.y;
        vector[4u * q + 2u] = quad.z;
        vector[4u * q + 3u] = quad.w;
    }
    return vector;
}

fn load_word(tile: Place, i: u32, word: u32) -> u32 {
    return input[(tile + i) * kVectorQuads + word / 4u][word % 4u];
}

//#else

fn load_word(tile: Place, i: u32, word: u32) -> u32 {
    return input[(tile + i) * kVectorWords + word];
}

fn load_vector(tile: Place, i: u32) -> Vector {
    var vector: Vector;
    for (var word = 0u; word < kVectorWords; word++) { vector[word] = load_word(tile, i, word); }
    return vector;
}

//#endif

//#endif
