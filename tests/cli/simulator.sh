#!/usr/bin/env bash
# --api simulator: the verbs that run on a machine without a GPU, at every subgroup size.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"
# No driver at all: nothing here may ask for one.
export VK_DRIVER_FILES=/nonexistent VK_ICD_FILENAMES=/nonexistent

npy "$work/a.npy" '<i4' '[(i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)]'
sum=$(python3 -c 'print(sum((i * 2654435761 >> 7) % 1000 - 500 for i in range(5000)))')
kept=$(python3 -c 'print(sum((i * 2654435761 >> 7) % 1000 - 500 > 15 for i in range(5000)))')
for size in 4 8 16 32 64 128; do
    for tier in pinned portable barrier; do
        run reduce "$work/a.npy" --api simulator --subgroup-size $size --tier $tier --verify --quiet
        expect_value "$sum"
        run scan "$work/a.npy" -o "$work/out.npy" --api simulator --subgroup-size $size --tier $tier --verify --quiet
        expect_value ""
        run select "$work/a.npy" -o "$work/out.npy" --where "x > 15" --api simulator --subgroup-size $size --tier $tier --quiet
        expect_value "$kept"
    done
done
run reduce "$work/a.npy" --api simulator --subgroup-size 64 --json
expect_good
check "valid JSON" valid_json
check "the device" json '"subgroups of 64" in j["device"]'
check "no faults" json '"faults" not in j'

run info --api simulator --subgroup-size 128 --json
expect_good
check "the size" json 'j["devices"][0]["caps"]["subgroup"]["size"] == 128'
run info --api simulator --subgroup-size 16
expect_good
check "the tier" holds "$out" "pinned: size and full subgroups can be required"
run plan reduce --api simulator --subgroup-size 8
expect_good
check "the size" holds "$out" "subgroups of 8"

for size in 0 2 5 256; do
    run reduce "$work/a.npy" --api simulator --subgroup-size $size
    expect_refused subgroup_size $size
done
run reduce "$work/a.npy" --subgroup-size 8
expect_refused --subgroup-size --api
run plan scan --api simulator --subgroup-size 8
expect_good
check "scan" holds "$out" "scan: "
run bench reduce --api simulator
expect_refused simulator
run reduce "$work/a.npy" --api metal
expect_refused metal vulkan simulator
finish
