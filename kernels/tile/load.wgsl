// The input, read in tiles of vectors: kVectors for each lane, those of neighbouring lanes side by
// side. The twin of load.glsl, which draws a tile.
//
// What differs: the input has one view, of 16-byte vectors, of which a last one is read by components;
// it is bound with its bytes rounded up to a multiple of 16 (kernels.md).
//
// The kernel defines before: a buffer named input (tile/memory.wgsl); kWorkgroupSize, kVectors
// (constants).

const kTileVectors = kWorkgroupSize * kVectors;

alias Vector = vec4<u32>;
const kVectorWords = 4u;

// Where a tile begins, in vectors: a binding holds less than 2^32 bytes.
alias Place = u32;

fn tile_place(tile: u32) -> Place { return tile * kTileVectors; }

fn load_vector(tile: Place, i: u32) -> Vector { return input[tile + i]; }

// Word `word` of vector i.
fn load_word(tile: Place, i: u32, word: u32) -> u32 { return input[tile + i][word]; }
