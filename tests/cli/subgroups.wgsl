// Subgroup operations for tests/cli/check.sh: the second sum is under a condition that differs among
// lanes, which WGSL forbids and this file's translation to SPIR-V allows.
enable subgroups;

@group(0) @binding(0) var<storage, read> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> result: array<u32>;

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lid: u32) {
    var sum = subgroupAdd(data[lid]);
    if data[lid] % 2u == 0u {
        sum += subgroupAdd(data[lid]);  // fault
    }
    result[lid] = sum;
}
