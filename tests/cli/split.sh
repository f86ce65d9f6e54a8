#!/usr/bin/env bash
# lanewise split: buckets, offsets, values, indices, files, --json, --verify, tiers.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

o=$work/out.npy
s=$work/offsets.npy
w=$work/values_out.npy
i=$work/indices.npy
# Python that the expectations share: v, the keys, x, what travels with them.
python='import struct
v = [(i * 2654435761 >> 7) % 1000 for i in range(3000)]
x = [i * 7 for i in range(3000)]
def bucket(key): return key >> 3 & 15
def order(): return sorted(range(len(v)), key=lambda i: bucket(v[i]))
def offsets(): return [sum(bucket(key) < b for key in v) for b in range(17)]'
# same_array PATH TYPE EXPRESSION
same_array() { python3 "$here/read_npy.py" "$1" "$2" "$3" "$python"; }

npy "$work/u4.npy" '<u4' '[(i * 2654435761 >> 7) % 1000 for i in range(3000)]'
npy "$work/x4.npy" '<u4' '[i * 7 for i in range(3000)]'
run split "$work/u4.npy" -o "$o" --offsets-out "$s" --bits 3:7
expect_good
check "standard output is empty" same "$out" ""
check "standard error is empty" same "$err" ""
check "keys" same_array "$o" '<u4' '[v[i] for i in order()]'
check "offsets" same_array "$s" '<u4' 'offsets()'
run split "$work/u4.npy" -o "$o" --offsets-out "$s" --bits 3:7 --indices "$i" --verify --quiet
expect_good
check "indices" same_array "$i" '<u4' 'order()'
run split "$work/u4.npy" -o "$o" --offsets-out "$s" --bits 3:7 --values "$work/x4.npy" --values-out "$w"
expect_good
check "values" same_array "$w" '<u4' '[x[i] for i in order()]'
# All of a key that has so few bits, and none of its bits.
npy "$work/u1.npy" '|u1' '[i * 37 % 251 for i in range(500)]'
run split "$work/u1.npy" -o "$o" --offsets-out "$s"
expect_good
check "keys" same_array "$o" '|u1' 'sorted(i * 37 % 251 for i in range(500))'
check "offsets" same_array "$s" '<u4' '[sum(i * 37 % 251 < b for i in range(500)) for b in range(257)]'
run split "$work/u1.npy" -o "$o" --offsets-out "$s" --bits 4:4
check "one bucket" same_array "$s" '<u4' '[0, 500]'
npy "$work/empty.npy" '<u4' '[]'
run split "$work/empty.npy" -o "$o" --offsets-out "$s" --bits 0:2 --verify --quiet
expect_good
check "empty buckets" same_array "$s" '<u4' '[0, 0, 0, 0, 0]'

# What cannot be done leaves old files as they were.
printf 'before' >"$work/old.npy"
refused() {
    run split "$@" -o "$work/old.npy"
    expect_refused
    check "the old file is as it was" same "$(cat "$work/old.npy")" before
}
refused "$work/u4.npy"
check "names the option" holds "$err" --offsets-out
refused "$work/u4.npy" --offsets-out "$s"
check "says how many bits" holds "$err" "2^16"
refused "$work/u4.npy" --offsets-out "$s" --bits 9:5
refused "$work/u4.npy" --offsets-out "$s" --bits 5
refused "$work/u4.npy" --offsets-out "$work/old.npy" --bits 0:4
check "names the file" holds "$err" old.npy
refused "$work/u4.npy" --offsets-out "$s" --bits 0:4 --indices "$i" --values "$work/x4.npy" --values-out "$w"

# JSON, and each tier that info says is possible.
run split "$work/u4.npy" -o "$o" --offsets-out "$s" --bits 3:7 --json --verify
expect_good
check "valid JSON" valid_json
check "what was asked" json 'j["key"] == "u32" and j["buckets"] == 16 and j["count"] == 3000'
check "the files" json "j['output'] == '$o' and j['offsets_output'] == '$s' and j['verified'] is True"
check "passes" json 'j["passes"][-1]["name"] == "split_offsets"'
tiers=0
for tier in pinned portable barrier; do
    run split "$work/u4.npy" -o "$o" --offsets-out "$s" --bits 3:7 --tier "$tier" --verify
    if [ "$status" -eq 2 ]; then
        check "a refused tier is named" holds "$err" "$tier"
        continue
    fi
    tiers=$((tiers + 1))
    expect_good
    check "says verified" holds "$err" "verified: 3000 u32 into 16 buckets"
    check "keys in tier $tier" same_array "$o" '<u4' '[v[i] for i in order()]'
done
check "portable and barrier run" test "$tiers" -ge 2
run split "$work/u4.npy" -o "$o" --offsets-out "$s" --bits 3:7 --api simulator --subgroup-size 32 --verify --quiet
expect_good
check "offsets" same_array "$s" '<u4' 'offsets()'

# Its plan.
run plan split --count 2^20 --bits 0:5 --indices --json
check "valid JSON" valid_json
check "the pass" json 'j["primitive"] == "split" and j["passes"][-1]["name"] == "split_offsets"'
finish
