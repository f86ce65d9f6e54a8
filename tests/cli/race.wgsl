// A race on workgroup memory for tests/cli/check.sh, which makes the corrected twin by taking the
// mark of the barrier out.
@group(0) @binding(0) var<storage, read> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;

var<workgroup> sh_row: array<u32, 64>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lid: u32) {
    sh_row[lid] = data[lid];
    // FIXED: workgroupBarrier();
    let neighbour = sh_row[(lid + 1u) % 64u];  // fault
    result[lid] = neighbour;
}
