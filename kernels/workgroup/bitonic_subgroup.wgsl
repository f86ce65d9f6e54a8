// Bitonic sort by subgroup shuffles: the twin of bitonic_subgroup.glsl, which draws the steps. Same contract
// as bitonic_barrier.wgsl.
//
// With full subgroups lane.number must be subgroup * size + lane; otherwise records take the barrier module's
// ways, with any numbering.
//
// What differs: nothing but the spelling.
//
// The kernel defines before: what bitonic_barrier.wgsl and subgroup/lane_number.wgsl ask for;
// `enable subgroups`.

//#include "workgroup/bitonic_barrier.wgsl"

// Base 0: exchanges with the lane whose number differs in one bit.
fn subgroup_bitonic_exchange(lane: Lane, apart: u32, keys: ptr<function, Keys>,
                             numbers: ptr<function, Ranks>) {
    let partner = lane.in_subgroup ^ apart;
    let is_upper = (lane.in_subgroup & apart) != 0u;
    for (var k = 0u; k < kItems; k++) {
        let own = (*keys)[k];
        let own_number = (*numbers)[k];
        var key = own;
        key.low = subgroupShuffle(own.low, partner);
//#if LW_KEY_WORDS == 2
        key.high = subgroupShuffle(own.high, partner);
//#endif
        var number = own_number;
//#if kNumbers
        number = subgroupShuffle(own_number, partner);
//#endif
        // Of equal records, which are the same, it does not matter who keeps which.
        let takes = bitonic_less(key, number, own, own_number) != is_upper;
        (*keys)[k].low = select(own.low, key.low, takes);
//#if LW_KEY_WORDS == 2
        (*keys)[k].high = select(own.high, key.high, takes);
//#endif
        (*numbers)[k] = select(own_number, number, takes);
    }
}

fn workgroup_bitonic_sort(lane: Lane, group: Group, items: u32, keys: ptr<function, Keys>,
                          numbers: ptr<function, Ranks>) {
    let vlane = lane.number;
    var near = kItemBits;
    if (group.subgroups_are_full) { near += firstTrailingBit(group.subgroup_size); }
    workgroup_bitonic_move(vlane, kLaneBits, 0u, keys, numbers);
    // The block with all of the items is the first: it comes out the right way round.
    var stage = 1u;
    while ((1u << (stage - 1u)) < items) {
        bitonic_turn(vlane, stage, keys, numbers);
        var bits = workgroup_bitonic_exchange_far(vlane, stage, near, keys, numbers);
        while (bits > kItemBits) {
            bits -= 1u;
            subgroup_bitonic_exchange(lane, 1u << (bits - kItemBits), keys, numbers);
        }
        bitonic_exchange_own(bits, keys, numbers);
        bitonic_turn(vlane, stage, keys, numbers);
        stage += 1u;
    }
    workgroup_bitonic_move(vlane, 0u, kLaneBits, keys, numbers);
}
