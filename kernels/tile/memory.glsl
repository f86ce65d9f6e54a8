// Parameters and storage buffers, in one spelling for both addressings: by descriptor, or by 64-bit
// device address (LW_DEVICE_ADDRESS), where the addresses follow the parameters.
//
//   LW_BUFFER(scratch, 2, coherent)    binding 2, of 32-bit words, and how it may be accessed
//   LW_WORD(scratch, i)                its word i: read, written, or given to an atomic
//
// The kernel defines before: LW_BINDINGS, how many buffers it has.
#ifndef LW_TILE_MEMORY_GLSL
#define LW_TILE_MEMORY_GLSL

// kernels.md describes the fields.
layout(push_constant, std430) uniform Parameters {
    uint count_low;
    uint count_high;
    uint tiles;
    uint tiles_per_group;
    uint groups;
    uint first_group;
    uint flags;
    uint offset_words;
#ifdef LW_DEVICE_ADDRESS
    uvec2 addresses[LW_BINDINGS];
#endif
} parameters;

#ifdef LW_DEVICE_ADDRESS
#define LW_BUFFER(name, number, qualifiers)                      \
    layout(buffer_reference, std430, buffer_reference_align = 4) \
    qualifiers buffer name##_words {                             \
        uint at[];                                               \
    };                                                           \
    const uint name##_binding = number;
#define LW_WORD(name, i) name##_words(parameters.addresses[name##_binding]).at[i]
#else
#define LW_BUFFER(name, number, qualifiers) \
    layout(set = 0, binding = number, std430) qualifiers buffer name##_words { uint at[]; } name;
#define LW_WORD(name, i) name.at[i]
#endif

#endif
