#!/usr/bin/env bash
# lanewise segmented-sort: segments, values, indices, files, --json, --verify, tiers.
source "$(dirname "${BASH_SOURCE[0]}")/common.bash"

o=$work/out.npy
w=$work/values_out.npy
# Python that the expectations share: v, the keys, s, the offsets, x, what travels with the keys.
python='import struct
v = [(i * 2654435761 >> 7) % 1000 - 500 for i in range(3000)]
s = [4, 4, 40, 41, 300, 2000, 2000, 2990]
x = [i * 7 for i in range(3000)]
def order(down=False):
    all = list(range(len(v)))
    for begin, end in zip(s, s[1:]):
        all[begin:end] = sorted(all[begin:end], key=lambda i: -v[i] if down else v[i])
    return all'
# same_array PATH TYPE EXPRESSION
same_array() { python3 "$here/read_npy.py" "$1" "$2" "$3" "$python"; }
# expect_array TYPE EXPRESSION: status 0, nothing on standard output, and that in $o.
expect_array() {
    expect_good
    check "standard output is empty" same "$out" ""
    check "standard error is empty" same "$err" ""
    check "keys" same_array "$o" "$1" "$2"
    rm -f "$o"
}

npy "$work/i4.npy" '<i4' '[(i * 2654435761 >> 7) % 1000 - 500 for i in range(3000)]'
npy "$work/s.npy" '<u4' '[4, 4, 40, 41, 300, 2000, 2000, 2990]'
npy "$work/x4.npy" '<u4' '[i * 7 for i in range(3000)]'
run segmented-sort "$work/i4.npy" --offsets "$work/s.npy" -o "$o"
expect_array '<i4' '[v[i] for i in order()]'
run segmented-sort "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --descending
expect_array '<i4' '[v[i] for i in order(down=True)]'
run segmented-sort "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --argsort
expect_array '<u4' 'order()'
run segmented-sort "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --values "$work/x4.npy" --values-out "$w"
expect_array '<i4' '[v[i] for i in order()]'
check "values" same_array "$w" '<u4' '[x[i] for i in order()]'
# Offsets of NumPy's own type, and bits.
npy "$work/s8.npy" '<i8' '[4, 4, 40, 41, 300, 2000, 2000, 2990]'
run segmented-sort "$work/i4.npy" --offsets "$work/s8.npy" -o "$o" --argsort --bits 0:32 --verify --quiet
expect_array '<u4' 'order()'
npy "$work/u1.npy" '|u1' '[i * 37 % 101 for i in range(3000)]'
run segmented-sort "$work/u1.npy" --offsets "$work/s.npy" -o "$o" --bits 1:6 --verify --quiet
expect_good

# No segments, and no keys.
npy "$work/empty.npy" '<i4' '[]'
npy "$work/zeros.npy" '<u4' '[0, 0, 0]'
run segmented-sort "$work/i4.npy" --offsets "$work/empty.npy" -o "$o"
expect_array '<i4' 'v'
run segmented-sort "$work/empty.npy" --offsets "$work/zeros.npy" -o "$o" --verify --quiet
expect_array '<i4' '[]'

# What cannot be done leaves an old file as it was.
printf 'before' >"$work/old.npy"
refused() {
    run segmented-sort "$@" -o "$work/old.npy"
    expect_refused
    check "the old file is as it was" same "$(cat "$work/old.npy")" before
}
refused "$work/i4.npy"
check "names the option" holds "$err" --offsets
refused "$work/i4.npy" --offsets "$work/none.npy"
check "names the file" holds "$err" none.npy
npy "$work/falls.npy" '<u4' '[0, 7, 5, 9]'
refused "$work/i4.npy" --offsets "$work/falls.npy"
check "says which" holds "$err" "offset 2 is 5"
npy "$work/far.npy" '<u4' '[0, 3001]'
refused "$work/i4.npy" --offsets "$work/far.npy"
check "says how far" holds "$err" "3001, past the 3000 keys"
npy "$work/negative.npy" '<i4' '[-1, 5]'
refused "$work/i4.npy" --offsets "$work/negative.npy"
check "says that it is negative" holds "$err" "offset 0 is negative"
npy "$work/huge.npy" '<i8' '[0, 4294967296]'
refused "$work/i4.npy" --offsets "$work/huge.npy"
check "says which" holds "$err" "offset 1 is 2^32"
npy "$work/f4.npy" '<f4' '[0.0, 5.0]'
refused "$work/i4.npy" --offsets "$work/f4.npy"
check "names the type" holds "$err" f32
refused "$work/i4.npy" --offsets "$work/s.npy" --argsort --values "$work/x4.npy" --values-out "$w"

# JSON, and each tier that info says is possible.
run segmented-sort "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --json --verify
expect_good
check "valid JSON" valid_json
check "what was asked" json 'j["key"] == "i32" and j["segments"] == 7 and j["count"] == 3000'
check "the file" json "j['output'] == '$o' and j['verified'] is True"
check "passes" json 'any(p["name"] == "segmented_sort_tiles" for p in j["passes"])'
tiers=0
for tier in pinned portable barrier; do
    run segmented-sort "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --tier "$tier" --verify
    if [ "$status" -eq 2 ]; then
        check "a refused tier is named" holds "$err" "$tier"
        continue
    fi
    tiers=$((tiers + 1))
    expect_good
    check "says verified" holds "$err" "verified: ascending 3000 i32, in 7 segments"
    check "keys in tier $tier" same_array "$o" '<i4' '[v[i] for i in order()]'
done
check "portable and barrier run" test "$tiers" -ge 2
rm -f "$o"
run segmented-sort "$work/i4.npy" --offsets "$work/s.npy" -o "$o" --api simulator --subgroup-size 32 --verify --quiet
expect_array '<i4' '[v[i] for i in order()]'

# Its plan.
run plan segmented-sort --count 2^20 --type u8 --value-bytes 8 --json
check "valid JSON" valid_json
check "the passes" json '[p["name"] for p in j["passes"]] == ["count_to_groups", "segmented_sort_tiles", "sort_pack"]'
check "the offsets" json 'any(a["role"] == "offsets" and a["access"] == "read" for a in j["arguments"])'
finish
