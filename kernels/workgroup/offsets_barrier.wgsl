// Offsets: of one number from each lane, the sum of those before it, without subgroup operations: the
// twin of offsets_barrier.glsl, which draws the steps.
//
//     fn workgroup_offset_barrier(value: u32, vlane: u32, total: ptr<function, u32>) -> u32
//     fn workgroup_offset(value: u32, vlane: u32, total: ptr<function, u32>) -> u32
//
// All lanes call it, in uniform flow; vlane is any numbering of the invocations. A barrier must stand
// between two calls. Control barriers: 2. Where the values are pairs of 16 bits whose sums fit, it adds
// both.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: LW_FORM_SUBGROUP; kWorkgroupSize (constant).

//#if kWorkgroupSize > 256
const kOffsetsGroup = 32u;
//#elif kWorkgroupSize > 64
const kOffsetsGroup = 16u;
//#elif kWorkgroupSize > 16
const kOffsetsGroup = 8u;
//#else
const kOffsetsGroup = 4u;
//#endif
const kOffsetsGroups = kWorkgroupSize / kOffsetsGroup;

var<workgroup> sh_offsets: array<u32, kWorkgroupSize + kOffsetsGroups>;

fn workgroup_offset_barrier(value: u32, vlane: u32, total: ptr<function, u32>) -> u32 {
    sh_offsets[vlane] = value;
    workgroupBarrier();
    if (vlane < kOffsetsGroups) {
        var sum = 0u;
        for (var i = 0u; i < kOffsetsGroup; i++) { sum += sh_offsets[vlane * kOffsetsGroup + i]; }
        sh_offsets[kWorkgroupSize + vlane] = sum;
    }
    workgroupBarrier();
    let own = vlane / kOffsetsGroup;
    var before = 0u;
    *total = 0u;
    for (var i = 0u; i < kOffsetsGroups; i++) {
        let sum = sh_offsets[kWorkgroupSize + i];
        before += select(0u, sum, i < own);
        *total += sum;
    }
    for (var i = own * kOffsetsGroup; i < vlane; i++) { before += sh_offsets[i]; }
    return before;
}

//#if !LW_FORM_SUBGROUP
fn workgroup_offset(value: u32, vlane: u32, total: ptr<function, u32>) -> u32 {
    return workgroup_offset_barrier(value, vlane, total);
}
//#endif
