// Buffers by address: data at binding 0 holds, the push constants say where the others lie.
#version 450
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 32) in;
layout(buffer_reference, std430, buffer_reference_align = 16) buffer Rows { uvec4 at[]; };
layout(push_constant) uniform P { uvec2 rows; uint count; } p;
layout(set = 0, binding = 1) buffer Result { uint result[]; };
layout(set = 0, binding = 0, std140) buffer Data { layout(row_major) mat3x2 m; layout(column_major) mat3x2 c; uint rest[4]; };
void main() {
    uint i = gl_LocalInvocationIndex;
    uvec4 row = Rows(p.rows).at[i];
    result[i] = row.x + row.w;
    if (i == 0u) {
        result[40] = uint(m[2][1] * 100.0 + m[0].x);
        c = m;
        c[1] = vec2(5.0, 6.0);
        result[41] = uint(c[1].y + c[2].x);
        rest[3] = rest.length();
    }
}
